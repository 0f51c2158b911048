"""Graphs that are opened where they are: a folder, a bucket. Importing this imports the engine."""

from __future__ import annotations

from pathlib import Path

from omnigraph.engine.graph import Graph
from omnigraph.engine.opening import init as init_graph
from omnigraph.engine.opening import open as open_graph
from omnigraph.errors import UsageError
from omnigraph.service.graphs import GraphRef


class DirectGraphs:
    """Opens each graph at its first use and keeps it open."""

    def __init__(self) -> None:
        self._open: dict[GraphRef, Graph] = {}

    def open(self, ref: GraphRef) -> Graph:
        found = self._open.get(ref)
        if found is None:
            found = self._open[ref] = open_graph(ref.uri, read_only=ref.read_only)
        return found

    def create(self, ref: GraphRef, schema: str | Path, actor: str | None) -> Graph:
        made = self._open[ref] = init_graph(ref.uri, schema, actor=actor)
        return made

    def close(self) -> None:
        while self._open:
            _, graph = self._open.popitem()
            graph.close()


class OneGraph:
    """The graph that a program has open already: every operation runs on it, and it stays open."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    @property
    def ref(self) -> GraphRef:
        """What it is called."""
        return GraphRef(self._graph.uri)

    def open(self, ref: GraphRef) -> Graph:
        return self._graph

    def create(self, ref: GraphRef, schema: str | Path, actor: str | None) -> Graph:
        raise UsageError(f"{self.ref.uri} is open; a new graph is created elsewhere")

    def close(self) -> None:
        pass
