"""What an open graph is made of, for those who work with it in bulk."""

from __future__ import annotations

from collections.abc import Callable

from omnigraph.engine.calls.arguments import State
from omnigraph.engine.execution.reader import Reader
from omnigraph.engine.graph import Graph
from omnigraph.engine.history.past import Past
from omnigraph.engine.snapshot.view import View, Workspace
from omnigraph.model.frozen import frozen
from omnigraph.storage.graph_store import GraphStore


@frozen
class Parts:
    """The parts of one open graph."""

    store: GraphStore
    workspace: Workspace
    past: Past
    reader: Reader
    _view: Callable[[str | None, State | None], View]

    def view(self, branch: str | None = None, at: State | None = None) -> View:
        """One coherent view: the newest state of a branch, or the graph as a commit or tag left it."""
        return self._view(branch, at)


def parts_of(graph: Graph) -> Parts:
    """The parts of an open graph. People hold the graph; the pipeline needs what is below."""
    return Parts(graph._store, graph._workspace, graph._past, graph._reader, graph._view)
