"""The front door: a graph, to be read and changed.

    g = init("people.omni", schema="node Person { name: String @key }")
    g = open("people.omni")
    g.query("query all() { match { $p: Person } return { $p.name } }").rows

What reads do not need is imported where it is needed: a command that asks one question should not wait for the rest.

A `Graph` holds no locks and no open transaction; it may be used from several threads, and the same folder from several processes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from functools import cached_property, partial
from pathlib import Path
from threading import Event
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from omnigraph.catalog import logical as lg
from omnigraph.catalog.catalog import Catalog, Kind
from omnigraph.embedding import Embedder
from omnigraph.engine import on_demand as later
from omnigraph.engine.blobs.policy import ExternalBlobs
from omnigraph.engine.branches import Branches
from omnigraph.engine.calls import arguments
from omnigraph.engine.calls.arguments import AnyPath, State, either, flag, function, having, name_of, path, texts
from omnigraph.engine.calls.guard import guarded, still_inside
from omnigraph.engine.execution.budget import Budget
from omnigraph.engine.execution.reader import Read, Reader, Target
from omnigraph.engine.execution.result import Result
from omnigraph.engine.execution.run import Traversal
from omnigraph.engine.export.bounds import SUBGRAPH_ROWS
from omnigraph.engine.history.bounds import DEFAULT_BYTES, DEFAULT_CHANGES, DEFAULT_COMMITS
from omnigraph.engine.planning.prepared import QueryText
from omnigraph.engine.schema.documents import catalog_of, schema_source
from omnigraph.engine.session import Session as Session
from omnigraph.engine.snapshot.saved import LEAST_ROWS
from omnigraph.engine.snapshot.view import View, Workspace
from omnigraph.engine.snapshot.views import Views
from omnigraph.engine.tags import Tags
from omnigraph.engine.upkeep.background import Background
from omnigraph.errors import PreconditionFailed, UsageError
from omnigraph.hints import Action, Hint
from omnigraph.model.phrases import one_line
from omnigraph.model.times import duration
from omnigraph.storage.commits.lineage import Commit, CommitList
from omnigraph.storage.graph_store import MAIN, GraphStore

if TYPE_CHECKING:
    from omnigraph.catalog.migration import MigrationPlan
    from omnigraph.embedding.paced import Pace
    from omnigraph.engine.analytics import Analytics, AnalyticsResult
    from omnigraph.engine.execution.explain import Explanation
    from omnigraph.engine.export.lines import ByteSink, Exported
    from omnigraph.engine.export.subgraph import Subgraph
    from omnigraph.engine.history.baseline import Baseline
    from omnigraph.engine.history.blocks import Block
    from omnigraph.engine.history.conflicts import Resolve
    from omnigraph.engine.history.diff import Diff
    from omnigraph.engine.history.feed import ChangePage
    from omnigraph.engine.history.merge import Merge
    from omnigraph.engine.history.past import Names, Past
    from omnigraph.engine.inspect import Blob, GraphSnapshot, Inspection, Stats
    from omnigraph.engine.load.read.sources import Source
    from omnigraph.engine.load.run.progress import Report
    from omnigraph.engine.load.run.result import LoadResult
    from omnigraph.engine.load.run.runners import Runner
    from omnigraph.engine.schema.apply import Backfills, SchemaApplied
    from omnigraph.engine.upkeep.embedding import Embedded
    from omnigraph.engine.upkeep.reconcile import Optimized, TypeOutcome
    from omnigraph.engine.write.receipt import Receipt
    from omnigraph.storage.reclaiming.reclaim import ReclaimReport
    from omnigraph.storage.reclaiming.verify import VerifyReport

MEMORY_BUDGET = 2 << 30
"""Bytes an open graph may keep in memory between queries, by default."""

TraversalName = Literal["auto", "csr", "btree"]

Reopen = Callable[..., "Graph"]
"""Opens the place of a graph anew, in another process."""


class Graph:
    """An open graph."""

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

    def __enter__(self) -> Graph:
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
        read = Read(source, params, name, Budget(timeout, memory_limit, cancel), Traversal(traversal or "auto"))
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
    ) -> Iterator[pa.RecordBatch]:
        """The answer as Arrow batches, each as soon as it is there."""
        read = Read(source, params, name, Budget(timeout, memory_limit, cancel))
        return still_inside("stream", self._reader.stream(self._view(branch, at), read))

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
        read = Read(source, params, name, traversal=Traversal(traversal or "auto"))
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
    def diff(self, before: State, after: State, *, kinds: Names = None, types: Names = None, ops: Names = None) -> Diff:
        """What differs between two branches, tags or commits. What it costs follows what differs.

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

    @guarded(source=arguments.branch)
    def merge(
        self,
        source: str,
        into: str = MAIN,
        *,
        dry_run: bool = False,
        resolve: Resolve = None,
        strict: bool = False,
        actor: str | None = None,
        message: str | None = None,
    ) -> Merge:
        """Merge a branch into another, as one commit with two parents.

        Two sides that changed different properties of one entity are merged; with `strict` that is a conflict too. Conflicts are
        raised as `MergeConflict`, all together, and nothing is changed; `dry_run` gives them, and what would change, without
        raising. `resolve` is `"ours"` (the branch that is merged into), `"theirs"`, or a mapping from the keys of conflicts to a
        side or to values.

            g.merge("agent/7", resolve={"divergent_update:node:Person:Ada": {"age": 40}})
        """
        return self._merged(self._past.merge(source, into, later.merging.Wanted(dry_run, resolve, strict, actor, message)))

    @guarded()
    def revert(
        self,
        commit: State,
        branch: str = MAIN,
        *,
        dry_run: bool = False,
        resolve: Resolve = None,
        strict: bool = False,
        actor: str | None = None,
        message: str | None = None,
    ) -> Merge:
        """Undo what a commit did, by a new commit. What happened to the same entities since comes up as conflicts, as in a merge:
        `ours` is the branch as it is, `theirs` the state before the commit."""
        wanted = later.merging.Wanted(dry_run, resolve, strict, actor, message)
        return self._merged(self._past.revert(name_of(commit), branch, wanted))

    def _merged(self, merge: Merge) -> Merge:
        if merge.commit is not None:
            self._after_write(merge.into, self._view(merge.into).catalog)
        return merge

    # ── writing ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

    @guarded()
    def mutate(
        self,
        source: QueryText,
        params: Mapping[str, object] | None = None,
        *,
        name: str | None = None,
        branch: str = MAIN,
        if_commit: State | None = None,
        actor: str | None = None,
        message: str | None = None,
    ) -> Receipt:
        """Run inserts and updates, or deletes, as one commit. `if_commit`: only while the branch is at this commit."""
        self._store.require_writable()
        view, if_commit = self._view(branch), name_of(if_commit)
        prepared = self._reader.prepare(view, source, name)
        if not isinstance(prepared.query, lg.MutationQuery):
            raise UsageError(f"`{prepared.query.name}` only reads", hint=Hint("To read, use ", Action("query"), "."))
        now = view.snapshot.commit
        if if_commit not in (None, now, view.snapshot.layout) and not self._past.is_layout(if_commit, now):
            raise PreconditionFailed.at(branch, expected=if_commit, actual=now)
        run = self._reader.run(view, prepared, params)
        external = later.settling.External.of(self.external_blobs, self._store.place.options, copies=True)
        outcome = later.staging.stage(prepared.query, run, self._store.ids, external)
        intent = later.committing.Intent("mutate", actor, message, None if if_commit is None else now, **outcome.relied_on)
        commit_ = later.committing.commit(self._workspace, view, branch, outcome.changes, intent)
        self._after_write(branch, view.catalog)
        recorded = None if commit_ is None else commit_.actor
        return later.receipts.Receipt(branch, prepared.query.name, outcome.nodes, outcome.edges, recorded, commit_)

    @guarded(source=arguments.source, types=texts, progress=either("True, False or a function", flag, function))
    def load(
        self,
        source: Source,
        *,
        mode: Literal["merge", "append", "overwrite"] = "merge",
        branch: str = MAIN,
        from_: State | None = None,
        actor: str | None = None,
        message: str | None = None,
        dialect: Literal["strict", "compatible"] = "strict",
        progress: bool | Report | None = None,
        engine: Literal["auto", "local", "spark"] | Runner = "auto",
        types: Mapping[str, str] | None = None,
        quarantine: str | os.PathLike[str] | None = None,
        lossy: Literal["round"] | None = None,
        max_bad: float | None = None,
        allow_empty: bool = False,
        skip_unknown: bool = False,
    ) -> LoadResult:
        """Load files, frames or records as one commit. All that is wrong with them is reported, and then nothing is changed.

        `source` is a path, a folder, a pattern or several (`.jsonl`, `.csv`, `.parquet`, …), a mapping of types to frames, rows
        or paths, or an iterable of records. `types` says which type the rows of a file have that is not called after it. Of a
        folder every file is loaded; what cannot be is named and refused, or left out with `skip_unknown`. Large files and Spark's
        data frames are loaded by Spark, other things by this process, unless `engine` says who. With `quarantine`, a folder, rows
        that break a rule are left out and written to a file there, and the rest is loaded, unless more than `max_bad` are wrong,
        a number of rows or a share of them (`0.01`). An overwrite that would leave a type without entities needs `allow_empty`.
        A value that its type cannot hold exactly is a violation; `lossy="round"` rounds such numbers and times.
        """
        self._store.require_writable()
        from omnigraph.engine.load.run.request import LoadOptions, request_of
        from omnigraph.engine.load.run.runner import runner_for

        options = LoadOptions(
            mode=mode,
            branch=branch,
            from_=name_of(from_),
            actor=actor,
            message=message,
            dialect=dialect,
            progress=progress,
            types=types,
            quarantine=quarantine,
            lossy=lossy,
            max_bad=max_bad,
            allow_empty=allow_empty,
            skip_unknown=skip_unknown,
        )
        view, request = request_of(self._store, self._past.named, source, options, self.external_blobs)
        result = runner_for(engine, request)(self._workspace, view, request)
        self._after_write(branch, view.catalog)
        return result

    @guarded(target=either("a path, or something to write to", path, having("a sink", "write")))
    def export(
        self,
        target: AnyPath | ByteSink,
        *,
        types: Iterable[str] | None = None,
        branch: str | None = None,
        at: State | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> Exported:
        """Write a graph, or some of its types, as JSON lines that load back to an equal graph.

        `progress` is called with the number of entities written since its last call.
        """
        sink = Path(target) if isinstance(target, os.PathLike) else target
        return later.lines.export(self._view(branch, at), sink, types, progress)

    @guarded()
    def plan_schema(
        self, schema: str | Path, *, branch: str = MAIN, allow_data_loss: bool = False, backfill: Backfills | None = None
    ) -> MigrationPlan:
        """What it takes to get from the schema of a branch to another one. Nothing is changed."""
        from omnigraph.engine.schema.apply import plan_schema

        source = schema_source(schema)
        return plan_schema(self._view(branch), source, allow_data_loss=allow_data_loss, backfill=backfill)

    @guarded()
    def apply_schema(
        self,
        schema: str | Path,
        *,
        branch: str = MAIN,
        allow_data_loss: bool = False,
        backfill: Backfills | None = None,
        actor: str | None = None,
    ) -> SchemaApplied:
        """Give a branch another schema, as one commit. Other branches keep theirs; older commits are read with their own.

        Entities that exist have to keep what is newly promised, or all violations are raised. `backfill` gives those without a
        value one: `{"Person.email": "unknown"}`.
        """
        from omnigraph.engine.schema.apply import apply_schema

        self._store.require_writable()
        return apply_schema(
            self._workspace,
            self._view(branch),
            branch,
            schema_source(schema),
            allow_data_loss=allow_data_loss,
            backfill=backfill,
            actor=actor,
        )

    @guarded()
    def schema(self, branch: str | None = None, at: State | None = None) -> str:
        """The text of the schema."""
        return self._store.schema(self._view(branch, at).snapshot).source

    def _after_write(self, branch: str, catalog: Catalog) -> None:
        """Let indexes catch up in the background, once they are behind."""
        if self._store.place.is_local:
            self._reconciler.start(branch, catalog)

    @guarded()
    def optimize(
        self, branch: str = MAIN, *, progress: Callable[[TypeOutcome], None] | None = None, actor: str | None = None
    ) -> Optimized:
        """Pack small fragments and complete every declared index. Safe beside writers, and never needed for an answer."""
        from omnigraph.engine.upkeep.reconcile import optimize

        self._store.require_writable()
        return optimize(self._store, branch, self._view(branch).catalog, progress, actor=actor)

    @guarded()
    def embed(
        self,
        *,
        types: Sequence[str] | None = None,
        branch: str = MAIN,
        embedder: Embedder | None = None,
        pace: Pace | None = None,
        again: bool = False,
        actor: str | None = None,
    ) -> Embedded:
        """Vectors of `@embed` properties where they are missing or their text has changed, one commit per property.

        `again` embeds every text anew. `pace` says how large requests are, how many a second, and how often one is repeated.
        """
        self._store.require_writable()
        provider = later.embedding.require_embedder(self.embedder if embedder is None else embedder)
        view = self._view(branch)
        done = later.embedding.embed(
            self._workspace,
            self._past,
            view,
            branch,
            provider,
            types=types,
            pace=pace,
            again=again,
            actor=actor,
            run=later.work.in_threads(later.embedding.EMBED_THREADS),
            workers=later.embedding.EMBED_THREADS,
        )
        self._after_write(branch, view.catalog)
        return done

    @guarded()
    def verify(self, *, deep: bool = False, content: bool = False) -> VerifyReport:
        """Whether everything the graph refers to is there; `deep` looks at every retained commit.

        `content` reads everything: files against their checksums, and for the newest state of every branch and tag repeated
        ids, edges that lost an end, broken promises of the schema, and indexes that disagree with their values.
        """
        from omnigraph.engine.upkeep.verify import broken_promises
        from omnigraph.storage.reclaiming.verify import verify

        return verify(self._store, deep=deep, content=content, further=lambda found: broken_promises(self._view, found))

    @guarded()
    def cleanup(
        self, keep: int = 10, older_than: str | timedelta = "7d", *, dry_run: bool = True, actor: str | None = None
    ) -> ReclaimReport:
        """Give back the space of old commits: those that are not among the newest `keep` of a branch and are older than a while.

        Says what would go; with `dry_run=False` it goes, and the record of what is gone says who cleaned up last.
        """
        from omnigraph.storage.reclaiming.reclaim import reclaim

        age = duration(older_than) if isinstance(older_than, str) else older_than
        self._views.afresh()
        return reclaim(self._store, keep=keep, older_than=age, dry_run=dry_run, actor=actor)


def _seen_again(reopen: Reopen, uri: str, options: dict[str, str], commit: str) -> View:
    """The view of a commit in a process it was sent to."""
    return reopen(uri, read_only=True, storage_options=options)._past.view_at(commit)
