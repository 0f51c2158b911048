"""What an open graph is made of, for those who work with it in bulk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, cast

from omnigraph.engine.any_graph import AnyGraph
from omnigraph.engine.calls.arguments import State
from omnigraph.engine.execution.reader import Reader, Target
from omnigraph.engine.graph import Graph
from omnigraph.engine.history.past import Past
from omnigraph.engine.schema.documents import AcceptedSchema
from omnigraph.engine.session import Session
from omnigraph.engine.snapshot.view import View, Workspace
from omnigraph.errors import ScopeError
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

    def session(self, view: View, branch: str | None, at: str | None) -> Session:
        """Reads of one view, as somebody asked for it."""
        return Session(self.reader, view, Target(branch, at))

    def view(self, branch: str | None = None, at: State | None = None) -> View:
        """One coherent view: the newest state of a branch, or the graph as a commit or tag left it."""
        return self._view(branch, at)


class Behind(Protocol):
    """A graph behind a server, asked for what the parts of an open one would say."""

    def _accepted_schema(self, branch: str | None = None, at: State | None = None) -> AcceptedSchema: ...


def accepted_schema(graph: AnyGraph, branch: str | None = None, at: State | None = None) -> AcceptedSchema:
    """The schema of a branch, commit or tag, wherever the graph is."""
    if not isinstance(graph, Graph):
        return cast(Behind, graph)._accepted_schema(branch, at)
    view = graph._view(branch, at)
    return AcceptedSchema(graph.schema(at=view.snapshot.commit), view.catalog, view.snapshot.commit)


def parts_of(graph: AnyGraph) -> Parts:
    """The parts of an open graph. People hold the graph; the pipeline needs what is below."""
    if not isinstance(graph, Graph):
        raise ScopeError(
            f"{graph.uri} is behind a server, and this needs the graph itself", hint="Open it by its path or address."
        )
    return Parts(graph._store, graph._workspace, graph._past, graph._reader, graph._view)
