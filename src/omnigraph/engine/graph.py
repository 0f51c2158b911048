"""The front door: a graph, to be asked and changed.

    g = init("people.omni", schema="node Person { name: String @key }")
    g = open("people.omni")
    g.query("query all() { match { $p: Person } return { $p.name } }").rows

What reads do not need is imported where it is needed: a command that asks one question should not wait for the rest.

A `Graph` holds no locks and no open transaction; it may be used from several threads, and the same folder from several processes.
"""

from __future__ import annotations

import os
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from functools import cached_property, partial
from pathlib import Path
from threading import Event, Lock
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from omnigraph.catalog import logical as lg
from omnigraph.catalog.catalog import Catalog
from omnigraph.embedding import Embedder
from omnigraph.embedding.paced import Pace
from omnigraph.engine.arrays.column import Vec
from omnigraph.engine.blobs.policy import ExternalBlobs
from omnigraph.engine.blobs.settling import External
from omnigraph.engine.branches import Branches
from omnigraph.engine.calls.arguments import AnyPath, State, either, flag, function, having, name_of, path, texts
from omnigraph.engine.calls.arguments import source as source_to_load
from omnigraph.engine.calls.guard import door, inside
from omnigraph.engine.execution.budget import Budget
from omnigraph.engine.execution.explain import Explanation, explained
from omnigraph.engine.execution.operators import run_steps
from omnigraph.engine.execution.result import Result
from omnigraph.engine.execution.run import Run, Traversal
from omnigraph.engine.execution.tail import collected, finish
from omnigraph.engine.execution.trace import Trace
from omnigraph.engine.export.lines import ByteSink, Exported, export
from omnigraph.engine.history.front import PastMethods
from omnigraph.engine.history.past import Past
from omnigraph.engine.inspect import LookingMethods
from omnigraph.engine.planning.estimate import estimates
from omnigraph.engine.planning.parameters import Value, bind, require
from omnigraph.engine.planning.prepared import Prepared, PreparedQueries, QueryText
from omnigraph.engine.planning.steps import Plan
from omnigraph.engine.schema.documents import catalog_of, first_schema, schema_source, tables_of
from omnigraph.engine.session import Session as Session
from omnigraph.engine.snapshot.saved import LEAST_ROWS
from omnigraph.engine.snapshot.view import View, Workspace
from omnigraph.engine.tags import Tags
from omnigraph.engine.upkeep.embedding import EMBED_THREADS, Embedded, embed, require_embedder
from omnigraph.engine.upkeep.reconcile import Optimized, Reconciler, TableOutcome, optimize
from omnigraph.engine.write.commit import Intent, commit
from omnigraph.engine.write.mutate import stage
from omnigraph.engine.write.receipt import Receipt as Receipt
from omnigraph.errors import PreconditionFailed, UsageError
from omnigraph.model.times import duration
from omnigraph.storage.files.place import Durability, Place
from omnigraph.storage.graph_store import MAIN, GraphStore, Snapshot
from omnigraph.storage.tables.work import in_threads

if TYPE_CHECKING:
    from omnigraph.catalog.migration import MigrationPlan
    from omnigraph.engine.analytics import Analytics, Measured
    from omnigraph.engine.load.read.sources import Source
    from omnigraph.engine.load.run.progress import Report
    from omnigraph.engine.load.run.result import LoadResult
    from omnigraph.engine.load.run.runners import Runner
    from omnigraph.engine.schema.apply import Backfills, SchemaApplied
    from omnigraph.storage.reclaiming.reclaim import ReclaimReport

MEMORY_BUDGET = 2 << 30
"""Bytes an open graph may keep in memory between queries, unless told otherwise."""

_VIEWS = 16

TraversalName = Literal["auto", "csr", "btree"]


@door()
def init(
    path: AnyPath,
    schema: str | Path,
    *,
    durability: Literal["full", "os"] = "full",
    memory: int = MEMORY_BUDGET,
    save_from: int | None = LEAST_ROWS,
    actor: str | None = None,
    storage_options: Mapping[str, str] | None = None,
    embedder: Embedder | None = None,
    external_blobs: ExternalBlobs | None = None,
) -> Graph:
    """A new graph in a folder (or below an `s3://` address) that does not hold one yet."""
    source = schema_source(schema)
    place = Place.at(str(path), durability=Durability(durability), options=dict(storage_options or {}))
    store = GraphStore(place)
    ir, document = first_schema(source, store.ids.next())
    store = GraphStore.init(place, document, tables_of(Catalog.of(ir)), actor=actor)
    return Graph(store, memory=memory, save_from=save_from, embedder=embedder, external_blobs=external_blobs)


@door()
def open(
    path: AnyPath,
    *,
    read_only: bool = False,
    durability: Literal["full", "os"] = "full",
    memory: int = MEMORY_BUDGET,
    save_from: int | None = LEAST_ROWS,
    storage_options: Mapping[str, str] | None = None,
    embedder: Embedder | None = None,
    external_blobs: ExternalBlobs | None = None,
) -> Graph:
    """An existing graph. Opening writes nothing. `external_blobs`: which URIs may be given for Blobs; unless told, none.

    What was made of a type of `save_from` entities or more (numbers, neighbours, terms, vectors) is saved for the next process;
    None: nothing is saved, and nothing that was is used.
    """
    place = Place.at(str(path), durability=Durability(durability), options=dict(storage_options or {}))
    store = GraphStore.open(place, read_only=read_only)
    return Graph(store, memory=memory, save_from=save_from, embedder=embedder, external_blobs=external_blobs)


class Graph(PastMethods, LookingMethods):
    """An open graph."""

    def __init__(
        self,
        store: GraphStore,
        *,
        memory: int = MEMORY_BUDGET,
        save_from: int | None = LEAST_ROWS,
        embedder: Embedder | None = None,
        external_blobs: ExternalBlobs | None = None,
    ) -> None:
        self.store = store
        self.embedder = embedder
        """Turns texts into vectors where a query asks for it."""
        self.external_blobs = external_blobs or ExternalBlobs.deny()
        """Which URIs may be given for Blobs."""
        self.reconciler = Reconciler(store)
        self.workspace = Workspace(store, memory, save_from, _reopened)
        self.past = Past(self.workspace, self.view, self._catalog)
        self.branches = Branches(store)
        self.tags = Tags(store)
        self._prepared = PreparedQueries()
        self._views: OrderedDict[str, View] = OrderedDict()
        self._catalogs: dict[str, Catalog] = {}
        self._lock = Lock()

    @cached_property
    def analytics(self) -> Analytics[Measured]:
        """Measures over the whole graph."""
        from omnigraph.engine.analytics import Analytics, Local

        return Analytics(self.view, Local(self.workspace, self._after_write))

    def __enter__(self) -> Graph:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Graph {self.store.place.uri}>"

    def __reduce__(self) -> tuple[object, ...]:
        """In another process, the same place opened anew."""
        place = self.store.place
        how: dict[str, Any] = {
            "read_only": self.store.read_only,
            "durability": place.durability.value,
            "storage_options": dict(place.options),
        }
        return partial(open, **how, embedder=self.embedder, external_blobs=self.external_blobs), (place.uri,)

    def close(self) -> None:
        """Let go of the memory, and wait for what is being saved. The graph itself needs no closing."""
        self.workspace.saved.wait()
        self.reconciler.wait()
        self.workspace.memory.forget()
        with self._lock:
            self._views.clear()

    # ── views ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

    @door()
    def view(self, branch: str | None = None, at: State | None = None) -> View:
        """One coherent view: the newest state of a branch, or the graph as a commit (or a tag) left it."""
        at = name_of(at)
        if at is not None:
            if branch is not None:
                raise UsageError("give a branch or a commit, not both")
            with self._lock:
                known = self._views.get(at)
            if known is not None:
                return known
            snapshot = self.store.snapshot_at(at)
        else:
            snapshot = self.store.snapshot(MAIN if branch is None else branch)
        found = self._views.get(snapshot.commit)
        if found is not None:
            return found
        made = View(self.workspace, snapshot, self._catalog(snapshot))
        with self._lock:
            found = self._views.setdefault(snapshot.commit, made)
            while len(self._views) > _VIEWS:
                self._views.popitem(last=False)
        return found

    def _catalog(self, snapshot: Snapshot) -> Catalog:
        """The schema of a snapshot."""
        catalog = self._catalogs.get(snapshot.schema)
        if catalog is None:
            catalog = self._catalogs[snapshot.schema] = catalog_of(self.store.schema(snapshot))
        return catalog

    # ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

    @door()
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
        budget = Budget(timeout, memory_limit, cancel)
        return self._query(self.view(branch, at), source, params, name, traversal, budget, branch, name_of(at))

    def _query(
        self,
        view: View,
        source: QueryText,
        params: Mapping[str, object] | None,
        name: str | None,
        traversal: TraversalName | None,
        budget: Budget,
        branch: str | None,
        at: str | None,
    ) -> Result:
        prepared, run = self._ready(view, source, params, name, traversal, budget)
        budget.check("planning")
        plan = prepared.plan(view)
        return _result(prepared, view, branch, at, collected(plan, run_steps(plan.steps, run, plan.bindings), run))

    def answer(self, view: View, prepared: Prepared, params: Mapping[str, object] | None) -> Result:
        """The answer to a prepared read."""
        run = self._run(view, prepared, params, None, Budget())
        return _result(prepared, view, None, view.snapshot.commit, list(_parts(prepared.plan(view), run)))

    @door()
    def session(self, branch: str | None = None, at: State | None = None) -> Session:
        """One view for several reads: what others commit meanwhile is not seen."""
        view = self.view(branch, at)
        return Session(view.snapshot.commit, partial(self._query, view, traversal=None, branch=branch, at=name_of(at)))

    @door()
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
        view = self.view(branch, at)
        prepared, run = self._ready(view, source, params, name, None, Budget(timeout, memory_limit, cancel))
        plan = prepared.plan(view)
        names = [p.column for p in plan.tail.projections]

        def batches() -> Iterator[pa.RecordBatch]:
            with inside("stream"):
                for part in _parts(plan, run):
                    if part and len(part[0]):
                        yield pa.RecordBatch.from_arrays([vec.to_arrow() for vec in part], names=names)

        return batches()

    @door()
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
        view = self.view(branch, at)
        prepared = self._prepared.get(source, name, view.snapshot.schema, view.catalog)
        _require_read(prepared)
        plan = prepared.plan(view)
        estimated = estimates(plan.steps, view)
        target = f"{name_of(at) or branch or MAIN} @ {view.snapshot.commit}"
        if not analyze:
            return explained(prepared.query.name, target, plan, estimated, None, None, None)
        trace = Trace()
        _, run = self._ready(view, source, params, name, traversal, Budget())
        run.trace = trace
        started = time.perf_counter()
        parts = list(_parts(plan, run))
        elapsed = (time.perf_counter() - started) * 1000
        rows = sum(len(part[0]) for part in parts if part)
        return explained(prepared.query.name, target, plan, estimated, trace, rows, elapsed)

    def _ready(
        self,
        view: View,
        source: QueryText,
        params: Mapping[str, object] | None,
        name: str | None,
        traversal: TraversalName | None,
        budget: Budget,
    ) -> tuple[Prepared, Run]:
        prepared = self._prepared.get(source, name, view.snapshot.schema, view.catalog)
        _require_read(prepared)
        return prepared, self._run(view, prepared, params, traversal, budget)

    def _run(
        self,
        view: View,
        prepared: Prepared,
        params: Mapping[str, object] | None,
        traversal: TraversalName | None,
        budget: Budget,
    ) -> Run:
        values: dict[str, Value] = bind(prepared.query.parameters, params)
        for parameter in prepared.parameters:
            require(values, parameter)
        mode = Traversal.AUTO if traversal is None else Traversal(traversal)
        return Run(view, values, self.store.clock, budget, mode, embedder=self.embedder)

    # ── writing ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

    @door()
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
        self.store.require_writable()
        view, if_commit = self.view(branch), name_of(if_commit)
        prepared = self._prepared.get(source, name, view.snapshot.schema, view.catalog)
        if not isinstance(prepared.query, lg.MutationQuery):
            raise UsageError(f"`{prepared.query.name}` only reads", hint="Use query for reads.")
        if if_commit is not None and if_commit != view.snapshot.commit:
            now = view.snapshot.commit
            raise PreconditionFailed(f"branch `{branch}` is at {now}, not at {if_commit}", expected=if_commit, actual=now)
        run = self._run(view, prepared, params, None, Budget())
        external = External.of(self.external_blobs, self.store.place.options, copies=True)
        outcome = stage(prepared.query, run, self.store.ids, external)
        intent = Intent("mutate", actor, message, if_commit, strict=outcome.searched)
        commit_ = commit(self.workspace, view, branch, outcome.changes, intent)
        self._after_write(branch, view.catalog)
        recorded = None if commit_ is None else commit_.actor
        return Receipt(branch, prepared.query.name, outcome.nodes, outcome.edges, recorded, commit_)

    @door(source=source_to_load, types=texts, progress=either("True, False or a function", flag, function))
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
        self.store.require_writable()
        from omnigraph.engine.load.run.request import asked
        from omnigraph.engine.load.run.runner import runner_for

        view, request = asked(
            self.store,
            self.past.named,
            source,
            mode=mode,
            branch=branch,
            from_=name_of(from_),
            actor=actor,
            message=message,
            quarantine=quarantine,
            max_bad=max_bad,
            allow_empty=allow_empty,
            skip_unknown=skip_unknown,
            dialect=dialect,
            progress=progress,
            types=types,
            external_blobs=self.external_blobs,
            lossy=lossy,
        )
        result = runner_for(engine, request)(self.workspace, view, request)
        self._after_write(branch, view.catalog)
        return result

    @door(target=either("a path, or something to write to", path, having("a sink", "write")))
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

        `progress` is told how many entities have been written since it was told last.
        """
        sink = Path(target) if isinstance(target, os.PathLike) else target
        return export(self.view(branch, at), sink, types, progress)

    @door()
    def plan_schema(
        self, schema: str | Path, *, branch: str = MAIN, allow_data_loss: bool = False, backfill: Backfills | None = None
    ) -> MigrationPlan:
        """What it takes to get from the schema of a branch to another one. Nothing is changed."""
        from omnigraph.engine.schema.apply import plan_schema

        source = schema_source(schema)
        return plan_schema(self.view(branch), source, allow_data_loss=allow_data_loss, backfill=backfill)

    @door()
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

        self.store.require_writable()
        return apply_schema(
            self.workspace,
            self.view(branch),
            branch,
            schema_source(schema),
            allow_data_loss=allow_data_loss,
            backfill=backfill,
            actor=actor,
        )

    @door()
    def schema(self, branch: str | None = None, at: State | None = None) -> str:
        """The text of the schema."""
        return self.store.schema(self.view(branch, at).snapshot).source

    def _after_write(self, branch: str, catalog: Catalog) -> None:
        """Let indexes catch up in the background, once they are behind."""
        if self.store.place.is_local:
            self.reconciler.start(branch, catalog)

    # ── maintenance ──────────────────────────────────────────────────────────────────────────────────────────────────────────

    @door()
    def optimize(
        self, branch: str = MAIN, *, progress: Callable[[TableOutcome], None] | None = None, actor: str | None = None
    ) -> Optimized:
        """Pack small pieces and complete every declared index. Safe beside writers, and never needed for an answer."""
        self.store.require_writable()
        return optimize(self.store, branch, self.view(branch).catalog, progress, actor=actor)

    @door()
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
        self.store.require_writable()
        provider = require_embedder(self.embedder if embedder is None else embedder)
        view = self.view(branch)
        run = in_threads(EMBED_THREADS)
        done = embed(
            self.workspace,
            self.past,
            view,
            branch,
            provider,
            types=types,
            pace=pace,
            again=again,
            actor=actor,
            run=run,
            workers=EMBED_THREADS,
        )
        self._after_write(branch, view.catalog)
        return done

    @door()
    def cleanup(
        self, keep: int = 10, older_than: str | timedelta = "7d", *, dry_run: bool = True, actor: str | None = None
    ) -> ReclaimReport:
        """Give back the space of old commits: those that are not among the newest `keep` of a branch and are older than a while.

        Says what would go; with `dry_run=False` it goes, and the record of what is gone says who cleaned up last.
        """
        from omnigraph.storage.reclaiming.reclaim import reclaim

        self.view()  # a graph that is gone has nothing to give back
        age = duration(older_than) if isinstance(older_than, str) else older_than
        return reclaim(self.store, keep=keep, older_than=age, dry_run=dry_run, actor=actor)


def _reopened(uri: str, options: dict[str, str], commit: str) -> View:
    """The view of a commit in a process it was sent to."""
    return open(uri, read_only=True, storage_options=options).past.view_at(commit)


def _parts(plan: Plan, run: Run) -> Iterator[list[Vec]]:
    """The rows of a plan, some at a time."""
    return finish(plan, run_steps(plan.steps, run, plan.bindings), run)


def _require_read(prepared: Prepared) -> None:
    if isinstance(prepared.query, lg.MutationQuery):
        raise UsageError(f"`{prepared.query.name}` changes the graph", hint="Use mutate for inserts, updates and deletes.")


def _result(prepared: Prepared, view: View, branch: str | None, at: str | None, parts: list[list[Vec]]) -> Result:
    return Result(
        prepared.columns,
        prepared.types,
        parts,
        query_name=prepared.query.name,
        graph_commit_id=view.snapshot.commit,
        branch=None if at is not None else branch or MAIN,
        snapshot=at,
    )
