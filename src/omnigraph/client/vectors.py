"""Which model makes the vectors of a property of a graph behind a server, for those who make vectors here."""

from __future__ import annotations

from omnigraph.client.transport import Transport
from omnigraph.embedding.space import Space
from omnigraph.engine.search.spaces import require_one_space
from omnigraph.model.frozen import frozen
from omnigraph.wire.own_outputs import EmbeddingModelsOutput


@frozen
class RemoteVectors:
    """A Vector property behind a server."""

    transport: Transport
    branch: str
    type: str
    property: str

    def spaces(self) -> list[Space]:
        """What made its vectors, by the schema and as it was recorded."""
        asked = {"type": self.type, "property": self.property, "branch": self.branch}
        return _spaces(self.transport.get("/embedding-model", EmbeddingModelsOutput, asked))

    def require(self, mine: Space) -> None:
        """Refuse another model than the one that made those that are there."""
        require_one_space(f"{self.type}.{self.property}", self.spaces(), mine)

    def record(self, mine: Space, to: str, actor: str | None) -> None:
        """Note down what makes vectors that are about to be written to a branch, if nobody has; refuse another model."""
        if mine in self.spaces():
            return
        wanted = {"type": self.type, "property": self.property, "branch": to, "from": self.branch}
        body = {**wanted, "model": mine.model, "made_up": mine.made_up}
        self.transport.post("/embedding-model", body, EmbeddingModelsOutput, again=True)


def _spaces(said: EmbeddingModelsOutput) -> list[Space]:
    return [Space(one.model, one.made_up) for one in said.models]
