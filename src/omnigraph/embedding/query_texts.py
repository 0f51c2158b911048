"""Texts that queries look for: embedded by the provider of the graph or of the environment, each once while it is kept."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock
from typing import Final, TypeAlias

import numpy as np

from omnigraph.embedding.configuration import MOCK_VARIABLE, configured
from omnigraph.embedding.paced import Paced
from omnigraph.embedding.port import Embedder, Provider, Purpose
from omnigraph.embedding.space import Space
from omnigraph.errors import QueryError
from omnigraph.hints import Hint, Option

Vector: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.float32]]"

KEPT: Final = 1024
"""Vectors of texts that an open graph keeps."""


class QueryTexts:
    """The vectors of texts that were looked for. Safe from any thread."""

    def __init__(self, embedder: object | None) -> None:
        self._embedder = embedder
        self._kept: OrderedDict[tuple[object, int, str], Vector] = OrderedDict()
        self._lock = Lock()

    def vectors(self, texts: Sequence[str], dimension: int, *, field: str, spaces: Sequence[Space] = ()) -> list[Vector]:
        """The vectors of texts, to be compared with those of a property, all of which are in these spaces."""
        embedder = self._chosen(field)
        require_same_space(embedder, field, spaces)
        identity = _identity(embedder)
        found: dict[str, Vector] = {}
        with self._lock:
            for text in texts:
                kept = self._kept.get((identity, dimension, text))
                if kept is not None:
                    self._kept.move_to_end((identity, dimension, text))
                    found[text] = kept
        missing = [text for text in dict.fromkeys(texts) if text not in found]
        if missing:
            if isinstance(embedder, Provider):
                embedder.prepare(dimension)
            made = Paced(embedder, purpose=Purpose.QUERY).embed(missing, dimension)
            found.update(zip(missing, made, strict=True))
            with self._lock:
                self._kept.update({(identity, dimension, text): vector for text, vector in zip(missing, made, strict=True)})
                while len(self._kept) > KEPT:
                    self._kept.popitem(last=False)
        return [found[text] for text in texts]

    def _chosen(self, field: str) -> Embedder:
        embedder = self._embedder if self._embedder is not None else configured(os.environ)
        if embedder is None:
            raise QueryError(
                f"comparing a text with the vectors of `{field}` needs an embedding provider, and none is configured",
                hint=Hint(
                    f"Give a vector, or set {MOCK_VARIABLE}=1 for made-up vectors.",
                    Hint(" Or pass a provider: ", Option("embedder"), "."),
                    " OMNIGRAPH_EMBED_PROVIDER chooses one; it needs its key, such as OPENROUTER_API_KEY or OPENAI_API_KEY.",
                ),
            )
        if not isinstance(embedder, Embedder):
            raise QueryError(
                f"{type(embedder).__name__} is not an embedding provider", hint="It needs `model` and `embed(texts, dimension)`."
            )
        return embedder


def require_same_space(embedder: Embedder, field: str, spaces: Sequence[Space]) -> None:
    """Refuse to compare what cannot be compared."""
    asked = Space.of(embedder)
    for space in spaces:
        if not space.is_that_of(asked):
            raise QueryError(
                f"`{field}` was embedded with {space}, the query would use {asked}",
                hint="Vectors of different models cannot be compared: configure the recorded model, or give a vector.",
            )


def _identity(embedder: Embedder) -> object:
    """What tells a provider from others: its values, or itself."""
    return embedder if isinstance(embedder, Provider) else (type(embedder), embedder.model)
