"""What can be asked of a graph: queries, entities, numbers, history. `Graph` adds what changes it.

What reads do not need is imported where it is needed: a command that asks one question should not wait for the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property, partial
from threading import Event
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

from omnigraph.catalog.catalog import Catalog, Kind
from omnigraph.embedding.port import Embedder
from omnigraph.engine import on_demand as later
from omnigraph.engine.blobs.policy import ExternalBlobs
from omnigraph.engine.branches import Branches
from omnigraph.engine.calls.arguments import State, name_of
from omnigraph.engine.calls.guard import guarded
from omnigraph.engine.execution.budget import Budget
from omnigraph.engine.execution.reader import Read, Reader, Target
from omnigraph.engine.execution.result import Result
from omnigraph.engine.execution.run import traversal_of
from omnigraph.engine.export.bounds import SUBGRAPH_ROWS
from omnigraph.engine.history.bounds import DEFAULT_BYTES, DEFAULT_CHANGES, DEFAULT_COMMITS
from omnigraph.engine.planning.prepared import QueryText
from omnigraph.engine.schema.documents import catalog_of
from omnigraph.engine.session import Session as Session
from omnigraph.engine.snapshot.saved import LEAST_ROWS
from omnigraph.engine.snapshot.view import View, Workspace
from omnigraph.engine.snapshot.views import Views
from omnigraph.engine.tags import Tags
from omnigraph.engine.upkeep.background import Background
from omnigraph.model.phrases import one_line
from omnigraph.storage.commits.lineage import Commit, CommitList
from omnigraph.storage.graph_store import MAIN, GraphStore

if TYPE_CHECKING:
    import networkx

    from omnigraph.engine.analytics import Analytics, AnalyticsResult
    from omnigraph.engine.execution.explain import Explanation
    from omnigraph.engine.execution.stream import Stream
    from omnigraph.engine.export.entities import Direction, Edge, Key, Neighbor, Node
    from omnigraph.engine.export.subgraph import Subgraph
    from omnigraph.engine.history.baseline import Baseline
    from omnigraph.engine.history.blocks import Block
    from omnigraph.engine.history.diff import Diff
    from omnigraph.engine.history.entity import EntityHistory
    from omnigraph.engine.history.feed import ChangePage
    from omnigraph.engine.history.past import Names, Past
    from omnigraph.engine.inspect import Blob, GraphSnapshot, Inspection, Stats

MEMORY_BUDGET = 2 << 30
"""Bytes an open graph may keep in memory between queries, by default."""

TraversalName = Literal["auto", "csr", "btree"]

Reopen = Callable[..., "Reading"]
"""Opens the place of a graph anew, in another process."""


class Reading:
    """What can be asked of an open graph: its state, and its history."""

    def __init__(
        self,
        store: GraphStore,
        *,
        reopen: Reopen,
        memory: int = MEMORY_BUDGET,
        save_from: int | None = LEAST_ROWS,
        embedder: Embedder | None = None,
        external_blobs: ExternalBlobs | None = None,
    ) -> None:
        self._store = store
        self.embedder = embedder
        """Turns texts into vectors where a query asks for it."""
        self.external_blobs = external_blobs or ExternalBlobs.deny()
        """Which URIs may be given for Blobs."""
        self._reopen = reopen
        self._workspace = Workspace(store, memory, save_from, partial(_seen_again, reopen))
        self._reconciler = Background(store, self._workspace.saved.failures)
        self._views = Views(self._workspace, catalog_of)
        self._reader = Reader(store.clock, embedder)
        self.branches = Branches(store)
        self.tags = Tags(store)

    @cached_property
    def _past(self) -> Past:
        return later.past.Past(self._workspace, self._views)

    @cached_property
    def _inspection(self) -> Inspection:
        return later.inspection.Inspection(self._workspace, self._reader, self._past)

    @cached_property
    def analytics(self) -> Analytics[AnalyticsResult]:
        """Graph analytics: algorithms over the whole graph."""
        from omnigraph.engine.analytics import Analytics, Local

        return Analytics(self._view, Local(self._workspace, self._after_write))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    @property
    def uri(self) -> str:
        """Where the graph is: a folder, or an address in an object store."""
        return self._store.place.uri

    def __repr__(self) -> str:
        return one_line(f"Graph at {self.uri}{', read-only' if self._store.read_only else ''}")

    def __reduce__(self) -> tuple[object, ...]:
        """In another process, the same place opened anew."""
        place = self._store.place
        how: dict[str, Any] = {
            "read_only": self._store.read_only,
            "durability": place.durability.value,
            "storage_options": dict(place.options),
        }
        return partial(self._reopen, **how, embedder=self.embedder, external_blobs=self.external_blobs), (place.uri,)

    def close(self) -> None:
        """Let go of the memory, and wait for what is being saved. The graph itself needs no closing."""
        self._workspace.saved.wait()
        self._reconciler.wait()
        self._workspace.memory.forget()
        self._views.forget()

    # ── views ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _view(self, branch: str | None = None, at: State | None = None) -> View:
        """One coherent view: the newest state of a branch, or the graph as a commit (or a tag) left it."""
        return self._views.view(branch, name_of(at))

    def _after_write(self, branch: str, catalog: Catalog) -> None:
        """Let indexes catch up in the background, once they are behind."""
        if self._store.place.is_local:
            self._reconciler.start(branch, catalog)

    # ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

    @guarded()
    def query(
        self,
        source: QueryText,
        params: Mapping[str, object] | None = None,
        *,
        name: str | None = None,
        branch: str | None = None,
        at: State | None = None,
        traversal: TraversalName | None = None,
        timeout: float | None = None,
        memory_limit: int | None = None,
        cancel: Event | None = None,
    ) -> Result:
        """The answer to a read. `name` picks one query of a text that holds several; `at` reads the past."""
        at = name_of(at)
        read = Read(source, params, name, Budget(timeout, memory_limit, cancel), traversal_of(traversal))
        return self._reader.answer(self._views.view(branch, at), read, Target(branch, at))

    @guarded()
    def session(self, branch: str | None = None, at: State | None = None) -> Session:
        """One view for several reads: what others commit meanwhile is not seen."""
        at = name_of(at)
        return Session(self._reader, self._views.view(branch, at), Target(branch, at))

    @guarded()
    def stream(
        self,
        source: QueryText,
        params: Mapping[str, object] | None = None,
        *,
        name: str | None = None,
        branch: str | None = None,
        at: State | None = None,
        timeout: float | None = None,
        memory_limit: int | None = None,
        cancel: Event | None = None,
    ) -> Stream:
        """The answer as Arrow batches, each as soon as it is there; its `rows()` gives dicts, one after the other."""
        read = Read(source, params, name, Budget(timeout, memory_limit, cancel))
        return self._reader.stream(self._view(branch, at), read)

    @guarded()
    def explain(
        self,
        source: QueryText,
        params: Mapping[str, object] | None = None,
        *,
        name: str | None = None,
        branch: str | None = None,
        at: State | None = None,
        analyze: bool = False,
        traversal: TraversalName | None = None,
    ) -> Explanation:
        """How a read is answered. With `analyze` it is run, and rows and times are shown."""
        at = name_of(at)
        read = Read(source, params, name, traversal=traversal_of(traversal))
        return self._reader.explain(self._views.view(branch, at), read, Target(branch, at), analyze=analyze)

    @guarded()
    def subgraph(
        self,
        source: QueryText,
        params: Mapping[str, object] | None = None,
        *,
        name: str | None = None,
        branch: str | None = None,
        at: State | None = None,
        limit: int = SUBGRAPH_ROWS,
    ) -> Subgraph:
        """The nodes and edges that the pattern of a read matched, instead of the values it returns."""
        return self._inspection.subgraph(self._view(branch, at), source, params, name, limit)

    @guarded()
    def get(
        self, type: str, key: Key | None = None, *, id: str | None = None, branch: str | None = None, at: State | None = None
    ) -> Node | Edge | None:
        """A node or an edge by its key, or by its id; None if there is none.

        A key of several properties is a tuple in the order of the schema, or a mapping from names.
        """
        return later.one.get(self._view(branch, at), type, key, id)

    @guarded()
    def neighbors(
        self,
        type: str,
        key: Key,
        *,
        edges: Iterable[str] | str | None = None,
        direction: Direction = "both",
        limit: int | None = None,
        branch: str | None = None,
        at: State | None = None,
    ) -> list[Neighbor]:
        """The nodes next to one, each with the edge that connects them, by edge type; through all edge types or some."""
        return later.one.neighbors(self._view(branch, at), type, key, edges, direction, limit)

    @guarded()
    def to_networkx(
        self, *, types: Iterable[str] | str | None = None, branch: str | None = None, at: State | None = None
    ) -> networkx.MultiDiGraph:
        """The graph, or some of its types, as one of networkx (`pip install 'omnigraph[networkx]'`), in memory.

        Nodes are `(type, id)`, edges have the key `(type, id)`, and properties are attributes; Blobs are left out. Of chosen edge
        types those come along whose ends are chosen, too.
        """
        return later.network.whole_network(self._view(branch, at), types)

    @guarded()
    def blob(
        self, entity: Kind, type: str, id: str, property: str, *, branch: str | None = None, at: State | None = None
    ) -> Blob:
        """A Blob property of one node or edge: its bytes, or the URI it refers to."""
        return self._inspection.blob(self._view(branch, at), later.inspection.Cell(entity, type, id, property))

    @guarded()
    def stats(self, branch: str | None = None, at: State | None = None) -> Stats:
        """How many of what there is, what is indexed, and how memory is used."""
        return self._inspection.stats(self._view(branch, at))

    @guarded()
    def snapshot(self, branch: str | None = None, at: State | None = None) -> GraphSnapshot:
        """What stands where at the newest commit of a branch, or at a commit or tag."""
        return self._inspection.snapshot(self._view(branch, at))

    @guarded()
    def schema(self, branch: str | None = None, at: State | None = None) -> str:
        """The text of the schema."""
        return self._store.schema(self._view(branch, at).snapshot).source

    # ── history ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

    @guarded()
    def commits(self, branch: str = MAIN, limit: int | None = None, *, maintenance: bool = False) -> CommitList:
        """Commits of a branch, newest first; with `maintenance` also those that only changed how the graph is stored."""
        return CommitList(self._past.commits(branch, limit, maintenance=maintenance))

    @guarded()
    def commit(self, commit: State, *, maintenance: bool = False) -> Commit:
        """A commit by id, or the one that a branch or tag names.

        Maintenance lays out the commit before it anew, and by its id that one is meant; unless `maintenance` asks for itself.
        """
        return self._inspection.commit(name_of(commit), maintenance=maintenance)

    @guarded()
    def history(
        self, type: str, key: Key | None = None, *, id: str | None = None, branch: str = MAIN, limit: int | None = None
    ) -> EntityHistory:
        """Every commit of a branch that changed an entity, newest first, with its values before and after.

        The entity is named by its key or its id, and need not exist any more. What it costs follows the commits that touched it.
        """
        return self._past.history(branch, type, key, id, limit)

    @guarded()
    def diff(self, before: State, after: State, *, kinds: Names = None, types: Names = None, ops: Names = None) -> Diff:
        """What leads from one state to another, of branches, tags or commits: what only `before` has shows as deleted.

        d = g.diff("main", "agent/7", types="Person", ops=["insert", "update"])
        d.stats, d.changes, print(d)
        """
        return self._past.diff(name_of(before), name_of(after), kinds, types, ops)

    @guarded()
    def changes(
        self,
        since: str = "now",
        *,
        branch: str = MAIN,
        limit: int = DEFAULT_CHANGES,
        max_bytes: int = DEFAULT_BYTES,
        max_commits: int = DEFAULT_COMMITS,
        kinds: Names = None,
        types: Names = None,
        ops: Names = None,
    ) -> ChangePage:
        """What was committed to a branch since a cursor, `now`, the `beginning`, or `after:<commit>`: a page of it.

        page = g.changes(since="beginning")
        while not page.caught_up:
            page = g.changes(since=page.next)
        """
        return self._past.changes(
            branch, since, later.changes_.Filter.of(kinds, types, ops), later.feed.Limits(limit, max_bytes, max_commits)
        )

    @guarded()
    def commit_changes(
        self,
        commit: State,
        *,
        page_token: str | None = None,
        limit: int = DEFAULT_CHANGES,
        max_bytes: int = DEFAULT_BYTES,
        kinds: Names = None,
        types: Names = None,
        ops: Names = None,
    ) -> Block:
        """What one commit changed, against its first parent. `next_page_token` leads to the rest, if there is any."""
        wanted, limits = later.changes_.Filter.of(kinds, types, ops), later.feed.Limits(limit, max_bytes)
        return self._past.commit_changes(name_of(commit), wanted, limits, page_token)

    @guarded()
    def baseline(self, branch: str = MAIN, *, kinds: Names = None, types: Names = None, ops: Names = None) -> Baseline:
        """Everything at the newest commit of a branch, and the cursor to follow its changes from there.

        `ops` is for the cursor only.
        """
        return self._past.baseline(branch, later.changes_.Filter.of(kinds, types, ops))


def _seen_again(reopen: Reopen, uri: str, options: dict[str, str], commit: str) -> View:
    """The view of a commit in a process it was sent to."""
    return reopen(uri, read_only=True, storage_options=options)._past.view_at(commit)
