"""One coherent view of a graph for a query: a snapshot, its schema, and the ways to its nodes and edges.

A `Workspace` belongs to an open graph and outlives every view: it holds the memory, the numbering of each node type, and the
pinned tables that were read lately. A `View` belongs to one commit.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING

from omnigraph.catalog.catalog import Catalog, EntityType
from omnigraph.engine.arrays.numbering import Numbering
from omnigraph.engine.snapshot.edges import Edges
from omnigraph.engine.snapshot.existence import Existence
from omnigraph.engine.snapshot.memory import Memory
from omnigraph.engine.snapshot.nodes import Nodes
from omnigraph.engine.snapshot.saved import Saved
from omnigraph.engine.snapshot.stored import Ancestors, Stored
from omnigraph.storage.graph_store import MAIN, GraphStore, Snapshot
from omnigraph.storage.tables.changes import RowPlace

if TYPE_CHECKING:
    from omnigraph.embedding.space import Space


def table_key(type_: EntityType) -> str:
    """The stable name of the table of a type: a renamed type keeps it, a re-created one gets another."""
    return f"{type_.kind}:{type_.type_id}-{type_.incarnation}"


def table_location(type_: EntityType) -> str:
    """Where the table of a type stands, below the graph."""
    return f"{'nodes' if type_.is_node else 'edges'}/{type_.type_id}-{type_.incarnation}"


Image = tuple[dict[str, object] | None, RowPlace | None]
"""An entity, if it exists, and where it stands, if that is known."""

Reopened = Callable[[str, dict[str, str], str], "View"]


class Workspace:
    """What an open graph remembers between queries. Safe from any thread."""

    def __init__(self, store: GraphStore, budget: int, save_from: int | None, reopened: Reopened) -> None:
        self.store = store
        self.reopened = reopened
        """A commit of a place that another process opens: what a view becomes that is sent there."""
        self.memory = Memory(budget)
        self.ancestors = Ancestors()
        self.existence = Existence()
        store.commit_index.in_use = save_from is not None
        self.saved = Saved(store.place, store.ref(MAIN).incarnation, read_only=store.read_only, least=save_from)
        self.spaces: dict[str, Space] = {}
        """Which models made vectors, as far as somebody has looked: see `search.spaces`."""
        self._numberings: dict[str, Numbering] = {}
        self._lock = Lock()

    def numbering(self, location: str) -> Numbering:
        """The numbering of a node type."""
        with self._lock:
            return self._numberings.setdefault(location, Numbering())

    def numberings(self) -> dict[str, Numbering]:
        """All numberings, by location."""
        with self._lock:
            return dict(self._numberings)

    def stored(self, snapshot: Snapshot, type_: EntityType) -> Stored:
        """The table of a type in a snapshot."""
        state = snapshot.tables[table_key(type_)]
        known = self.ancestors.known(state.location, state.pin)
        if known is not None and known.state == state:
            return known
        return Stored(self.store.tables, state, self.memory, self.ancestors, self.saved)


class View:
    """The graph at one commit."""

    def __init__(self, workspace: Workspace, snapshot: Snapshot, catalog: Catalog) -> None:
        self.workspace = workspace
        self.snapshot = snapshot
        self.catalog = catalog
        self.images: dict[str, dict[str, Image]] = {}
        """Entities that were looked up for several writers at once, by table and id; a view is looked at for a moment."""
        self._nodes: dict[str, Nodes] = {}
        self._edges: dict[str, Edges] = {}
        self._lock = Lock()

    def __reduce__(self) -> tuple[object, ...]:
        """In another process, the same commit of the place opened anew."""
        place = self.workspace.store.place
        return self.workspace.reopened, (place.uri, dict(place.options), self.snapshot.layout)

    def stored(self, type_: EntityType) -> Stored:
        """The entities of a type, as they are stored."""
        return self.nodes(type_.name).stored if type_.is_node else self.edges(type_.name).stored

    def nodes(self, name: str) -> Nodes:
        """The nodes of a type."""
        found = self._nodes.get(name)
        if found is None:
            type_ = self.catalog.nodes[name]
            stored = self.workspace.stored(self.snapshot, type_)
            with self._lock:
                numbering = self.workspace.numbering(stored.location)
                # Not a method of this view: it would keep alive what is of one commit until somebody looks for cycles.
                known = partial(self.workspace.existence.known, recent=self.snapshot.recent)
                found = self._nodes.setdefault(name, Nodes(type_, stored, numbering, self.workspace.saved, known))
        return found

    def edges(self, name: str) -> Edges:
        """The edges of a type."""
        found = self._edges.get(name)
        if found is None:
            type_ = self.catalog.edges[name]
            source, target = self.nodes(type_.source), self.nodes(type_.target)
            stored = self.workspace.stored(self.snapshot, type_)
            with self._lock:
                found = self._edges.setdefault(
                    name, Edges(type_, stored, source, target, self.workspace.memory, self.workspace.saved)
                )
        return found
