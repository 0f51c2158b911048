"""How an operation names the graph it is about, and the port that finds it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from omnigraph.model.frozen import frozen

if TYPE_CHECKING:
    from pathlib import Path

    from omnigraph.engine.any_graph import AnyGraph


@frozen
class GraphRef:
    """A graph by its path or `s3://` address. `read_only`: it is opened so that a write is refused before it starts."""

    uri: str
    read_only: bool = False
    id: str | None = None
    """What a server calls it; decisions and their audit speak of that, not of where it is."""

    @property
    def name(self) -> str:
        """What it is called where somebody decides about it."""
        return self.uri if self.id is None else self.id


class Graphs(Protocol):
    """Finds open graphs. A server keeps them open between requests, a command until it ends."""

    def open(self, ref: GraphRef) -> AnyGraph:
        """The graph, open. Opening writes nothing."""
        ...

    def create(self, ref: GraphRef, schema: str | Path, actor: str | None) -> AnyGraph:
        """A new graph."""
        ...

    def close(self) -> None:
        """Let go of every graph, and wait for what they are still doing."""
        ...
