"""Which model made the vectors of a property. Vectors of different models lie in different spaces and cannot be compared.

A schema may pin the model (`@embed("text", model="…")`); what really made vectors is recorded beside the graph when they are
written (`engine.search.spaces`), also whether they were made up. Both are held against whoever embeds a text.
"""

from __future__ import annotations

from omnigraph.embedding.mock import MockEmbedder
from omnigraph.embedding.port import Embedder
from omnigraph.model.frozen import frozen


@frozen
class Space:
    """What made vectors."""

    model: str
    made_up: bool | None = None
    """Whether by the mock, which may stand in for a model of this name. None: nobody has said."""

    @classmethod
    def of(cls, embedder: Embedder) -> Space:
        """What an embedder makes."""
        return cls(embedder.model, isinstance(embedder, MockEmbedder))

    def is_that_of(self, other: Space) -> bool:
        """Whether vectors can be compared."""
        known = self.made_up is not None and other.made_up is not None
        return self.model == other.model and not (known and self.made_up != other.made_up)

    def __str__(self) -> str:
        return f"model `{self.model}`{' (made up by the mock)' if self.made_up else ''}"
