"""What an open graph is made of, for those who work with it in bulk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, cast

from omnigraph.catalog.catalog import EntityType, Property
from omnigraph.embedding.space import Space
from omnigraph.engine.any_graph import AnyGraph
from omnigraph.engine.calls.arguments import State
from omnigraph.engine.execution.reader import Reader, Target
from omnigraph.engine.graph import Graph
from omnigraph.engine.history.past import Past
from omnigraph.engine.schema.documents import AcceptedSchema
from omnigraph.engine.search.spaces import record_space, require_one_space, spaces_of
from omnigraph.engine.session import Session
from omnigraph.engine.snapshot.view import View, Workspace
from omnigraph.errors import ScopeError, UsageError
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

    def _vector_property(self, branch: str, type_: str, prop: str) -> VectorProperty: ...

    def _whoever_acts(self) -> str | None: ...


class VectorProperty(Protocol):
    """A Vector property of a graph, and what is known of the model that makes its vectors."""

    def spaces(self) -> list[Space]:
        """What made its vectors, by the schema and as it was recorded."""
        ...

    def require(self, mine: Space) -> None:
        """Refuse another model than the one that made those that are there."""
        ...

    def record(self, mine: Space, to: str, actor: str | None) -> None:
        """Note down what makes vectors that are about to be written to a branch, if nobody has; refuse another model."""
        ...


@frozen
class _OpenVectors:
    """Of an open graph."""

    workspace: Workspace
    type: EntityType
    property: Property

    def spaces(self) -> list[Space]:
        return spaces_of(self.workspace, self.type, self.property)

    def require(self, mine: Space) -> None:
        require_one_space(f"{self.type.name}.{self.property.name}", self.spaces(), mine)

    def record(self, mine: Space, to: str, actor: str | None) -> None:
        self.require(mine)
        record_space(self.workspace, self.type, self.property, mine, actor)


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


def vector_property(graph: AnyGraph, branch: str, type_: str, prop: str) -> VectorProperty:
    """A Vector property of a node type, wherever the graph is."""
    if not isinstance(graph, Graph):
        return cast(Behind, graph)._vector_property(branch, type_, prop)
    found = graph._view(branch, None).catalog.nodes.get(type_)
    if found is None or prop not in found.properties or found.properties[prop].type.dimension is None:
        raise UsageError(f"{branch} has no Vector property `{type_}.{prop}`", hint="Look at its schema.")
    return _OpenVectors(graph._workspace, found, found.properties[prop])


def whoever_acts(graph: AnyGraph) -> str | None:
    """Who a server takes the caller for, by the token; None if it knows nobody, or the graph is open here."""
    return None if isinstance(graph, Graph) else cast(Behind, graph)._whoever_acts()
