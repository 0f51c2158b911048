"""The front door: a graph, to be read and changed.

    g = init("people.omni", schema="node Person { name: String @key }")
    g = open("people.omni")
    g.query("query all() { match { $p: Person } return { $p.name } }").rows

What reads do not need is imported where it is needed: a command that asks one question should not wait for the rest.

A `Graph` holds no locks and no open transaction; it may be used from several threads, and the same folder from several processes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from omnigraph.embedding.port import Embedder
from omnigraph.engine import on_demand as later
from omnigraph.engine.calls import arguments
from omnigraph.engine.calls.arguments import AnyPath, State, either, flag, function, having, name_of, path, texts
from omnigraph.engine.calls.guard import guarded
from omnigraph.engine.planning.prepared import QueryText
from omnigraph.engine.reading import Reading
from omnigraph.engine.schema.documents import schema_source
from omnigraph.engine.session import Session as Session
from omnigraph.errors import ScopeError
from omnigraph.model.times import duration
from omnigraph.storage.graph_store import MAIN

if TYPE_CHECKING:
    from threading import Event

    from omnigraph.catalog.migration import MigrationPlan
    from omnigraph.catalog.signature import QuerySignature
    from omnigraph.embedding.pace import Pace
    from omnigraph.engine.execution.result import Result
    from omnigraph.engine.export.entities import Key
    from omnigraph.engine.export.lines import ByteSink, Exported
    from omnigraph.engine.history.conflicts import Resolve
    from omnigraph.engine.history.merge import Merge
    from omnigraph.engine.load.read.inputs.sources import Source
    from omnigraph.engine.load.read.rows.modes import ModeName
    from omnigraph.engine.load.run.progress import Report
    from omnigraph.engine.load.run.result import LoadResult
    from omnigraph.engine.load.run.runners import Runner
    from omnigraph.engine.query_files import Queries
    from omnigraph.engine.reviews.front import Reviews
    from omnigraph.engine.schema.apply import Backfills, Expressions, SchemaApplied
    from omnigraph.engine.transaction import Transaction
    from omnigraph.engine.upkeep.embedding import Embedded
    from omnigraph.engine.upkeep.reconcile import Optimized, TypeOutcome
    from omnigraph.engine.write.receipt import Receipt
    from omnigraph.engine.write.vectors import Embedding
    from omnigraph.engine.writing import Writing
    from omnigraph.storage.reclaiming.reclaim import ReclaimReport
    from omnigraph.storage.reclaiming.verify import VerifyReport


class Graph(Reading):
    """An open graph."""

    @cached_property
    def _writing(self) -> Writing:
        about = (self._workspace, self._reader, self._past, self._view, self._views.of)
        return later.writing_.Writing(*about, lambda: self.external_blobs, self._after_write)

    @cached_property
    def reviews(self) -> Reviews:
        """Its reviews: branches that somebody asks to be merged."""
        return later.reviewing.Reviews(self._store, self._past, self._view, self._merged)

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
        idempotency_key: str | None = None,
    ) -> Merge:
        """Merge a branch into another, as one commit with two parents.

        Two sides that changed different properties of one entity are merged; with `strict` that is a conflict too. Conflicts are
        raised as `MergeConflict`, all together, and nothing is changed; `dry_run` gives them, and what would change, without
        raising. `resolve` is `"ours"` (the branch that is merged into), `"theirs"`, or a mapping from the keys of conflicts to a
        side or to values.

            g.merge("agent/7", resolve={"divergent_update:node:Person:Ada": {"age": 40}})
        """
        wanted = later.merging.Wanted(dry_run, resolve, strict, actor, message, idempotency_key)
        return self._merged(self._past.merge(source, into, wanted))

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
        idempotency_key: str | None = None,
        embed: bool = False,
    ) -> Receipt:
        """Run inserts and updates, or deletes, as one commit. `if_commit`: only while the branch is at this commit.

        With an `idempotency_key` it may be run again: what a commit of the last day carries the key of is not done twice. With
        `embed` the vectors of texts that it writes (`@embed`) are made first, by the provider of the graph, and are part of it.
        """
        embedding = self._embedding() if embed else None
        onto = later.writing_.Onto(branch, name_of(if_commit), actor, message, idempotency_key, embedding=embedding)
        return self._writing.mutate(source, params, name, onto)

    def _embedding(self) -> Embedding:
        """How a write gets its vectors."""
        from omnigraph.embedding.paced import pace_of
        from omnigraph.engine.write.vectors import Embedding

        provider = later.embedding.require_embedder(self.embedder)
        return Embedding(provider, pace_of(provider, None))

    @guarded()
    def queries(self, path: AnyPath, *, branch: str | None = None, at: State | None = None, actor: str | None = None) -> Queries:
        """The queries of a `.gq` file as functions with typed parameters: `g.queries("lib.gq").friends(n="Ada")`.

        A read gives a `Result`, a mutation is committed and gives a `Receipt`. With `at` they read the past.
        """
        from omnigraph.engine.query_files import queries_of

        return queries_of(self, str(path), branch, at, actor)

    @guarded()
    def stored_queries(self) -> list[QuerySignature]:
        """Queries are stored with a graph by a server: connect to it. Those of a file are functions here: `g.queries(path)`."""
        raise _stored_elsewhere()

    @guarded()
    def invoke(
        self,
        name: str,
        params: Mapping[str, object] | None = None,
        *,
        branch: str | None = None,
        at: State | None = None,
        if_commit: State | None = None,
        expect_mutation: bool | None = None,
        message: str | None = None,
        idempotency_key: str | None = None,
        cancel: Event | None = None,
    ) -> Result | Receipt:
        """A stored query is invoked through the server that stores it."""
        raise _stored_elsewhere()

    @guarded()
    def put(
        self,
        type: str,
        values: Mapping[str, object],
        *,
        patch: bool = False,
        branch: str = MAIN,
        if_commit: State | None = None,
        actor: str | None = None,
        message: str | None = None,
        idempotency_key: str | None = None,
    ) -> Receipt:
        """A node, as one commit. It *replaces* the node with its key: what is not given is null afterwards.

        With `patch` only what is given changes, and a node that is not there is inserted. A type without a key gets a new node
        each time.
        """
        row = later.writing_.Row(type, values, None, patch)
        return self._writing.put(row, later.writing_.Onto(branch, name_of(if_commit), actor, message, idempotency_key))

    @guarded(from_=arguments.key, to=arguments.key)
    def put_edge(
        self,
        type: str,
        from_: Key,
        to: Key,
        values: Mapping[str, object] | None = None,
        *,
        patch: bool = False,
        branch: str = MAIN,
        if_commit: State | None = None,
        actor: str | None = None,
        message: str | None = None,
        idempotency_key: str | None = None,
    ) -> Receipt:
        """An edge between two nodes, by their keys, as one commit. It *replaces* the edge with its key, if its type has one:
        what is not given is null afterwards.

        With `patch` only what is given changes, and an edge that is not there is inserted. A type without a key gets a new edge
        each time.
        """
        row = later.writing_.Row(type, values or {}, (from_, to), patch)
        return self._writing.put(row, later.writing_.Onto(branch, name_of(if_commit), actor, message, idempotency_key))

    @guarded()
    def transaction(
        self, branch: str = MAIN, *, if_commit: State | None = None, actor: str | None = None, message: str | None = None
    ) -> Transaction:
        """Several changes as one commit, or none: `with g.transaction() as t: t.put(…); t.mutate(…)`.

        What is read inside is the state it began with and what it did since. An exception in the block discards everything.
        """
        return later.transactions.Transaction(self._writing, later.writing_.Onto(branch, name_of(if_commit), actor, message))

    @guarded(source=arguments.source, types=texts, progress=either("True, False or a function", flag, function))
    def load(
        self,
        source: Source,
        *,
        mode: ModeName = "merge",
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
        idempotency_key: str | None = None,
        embed: bool = False,
    ) -> LoadResult:
        """Load files, frames or records as one commit. All that is wrong with them is reported, and then nothing is changed.

        `merge` REPLACES WHOLE ENTITIES: a property that a row does not give becomes null. `patch` changes only what is given, and
        inserts what does not exist; `update` changes only what exists. `append` refuses ids that exist, `overwrite` leaves only
        what is given of the types that occur, and needs `allow_empty` where that is nothing.

        `source` is a path, a folder, a pattern or several (`.jsonl`, `.csv`, `.parquet`, …), a mapping of types to frames, rows
        or paths, or an iterable of records. `types` says which type the rows of a file have that is not called after it. Of a
        folder every file is loaded; what cannot be is named and refused, or left out with `skip_unknown`. Large files and Spark's
        data frames are loaded by Spark, other things by this process, unless `engine` says who. With `quarantine`, a folder, rows
        that break a rule are left out and written to a file there, and the rest is loaded, unless more than `max_bad` are wrong,
        a number of rows or a share of them (`0.01`).
        A value that its type cannot hold exactly is a violation; `lossy="round"` rounds such numbers and times. With an
        `idempotency_key` the load may be repeated: what a commit of the last day carries the key of is not loaded twice. With
        `embed` the vectors of loaded texts (`@embed`) are made by the provider of the graph, and are part of the commit.
        """
        from omnigraph.engine.load.run.request import LoadOptions, request_of
        from omnigraph.engine.load.run.runner import runner_for

        self._store.require_writable()
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
            embedding=self._embedding() if embed else None,
        )
        view, request = request_of(self._store, self._past.named, source, options, self.external_blobs)
        run = runner_for(engine, request)
        if idempotency_key is not None:
            from omnigraph.engine.history.repeated_loads import once

            run = once(self._past, run, idempotency_key)
        result = run(self._workspace, view, request)
        self._after_write(branch, view.catalog)
        return result

    @guarded(source=arguments.keys_by_type)
    def delete(
        self,
        source: Mapping[str, Any],
        *,
        branch: str = MAIN,
        actor: str | None = None,
        message: str | None = None,
        engine: Literal["auto", "local", "spark"] | Runner = "auto",
        idempotency_key: str | None = None,
    ) -> LoadResult:
        """Delete entities by their keys, as one commit: `g.delete({"Person": ["Ada", "Bob"], "Knows": frame_of_ids})`.

        Each type is given a list of keys (ids where it has none, tuples, mappings, what `get` gave) or a frame with columns of
        them; edges also by `from` and `to`, where there is one. Edges of nodes that go, go too: `result.cascaded`. Who is not
        there is counted, not refused: `result.missing`.
        """
        from omnigraph.engine.export.entities import keys_of
        from omnigraph.engine.load.read.inputs.deleting import deletions

        keys = deletions(source, keys_of(self._view(branch)))
        return self.load(
            keys,
            mode="update",
            branch=branch,
            actor=actor,
            message=message,
            engine=engine,
            idempotency_key=idempotency_key,
        )

    @guarded(target=either("a path, or something to write to", path, having("a sink", "write")))
    def export(
        self,
        target: AnyPath | ByteSink,
        *,
        format: Literal["jsonl", "parquet", "csv"] = "jsonl",
        types: Iterable[str] | None = None,
        branch: str | None = None,
        at: State | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> Exported:
        """Write a graph, or some of its types, as JSON lines, or as a folder of Parquet or CSV files, one per type.

        What is written loads back to an equal graph, and appears under its name when it is complete. `progress` is called with
        the number of entities written since its last call.
        """
        sink = Path(target) if isinstance(target, os.PathLike) else target
        if format != "jsonl":
            return later.tables.export_tables(self._view(branch, at), sink, format, types, progress)
        return later.lines.export(self._view(branch, at), sink, types, progress)

    @guarded()
    def plan_schema(
        self,
        schema: str | Path,
        *,
        branch: str = MAIN,
        allow_data_loss: bool = False,
        backfill: Backfills | None = None,
        compute: Expressions | None = None,
    ) -> MigrationPlan:
        """What it takes to get from the schema of a branch to another one. Nothing is changed."""
        from omnigraph.engine.schema.apply import SchemaRequest, plan_schema

        request = SchemaRequest(schema_source(schema), allow_data_loss, backfill or {}, compute or {})
        return plan_schema(self._view(branch), request)

    @guarded()
    def apply_schema(
        self,
        schema: str | Path,
        *,
        branch: str = MAIN,
        also: Sequence[str] = (),
        allow_data_loss: bool = False,
        backfill: Backfills | None = None,
        compute: Expressions | None = None,
        actor: str | None = None,
    ) -> SchemaApplied:
        """Give a branch another schema, as one commit. Other branches keep theirs; older commits are read with their own.

        Entities that exist have to keep what is newly promised, or all violations are raised. `backfill` gives those without a
        value one (`{"Person.email": "unknown"}`), `compute` an expression over what they had
        (`{"Person.name": 'concat(first, " ", last)'}`). Branches named in `also` get the schema too, each by a commit of its own;
        all are looked at before the first is changed.
        """
        from omnigraph.engine.schema.apply import SchemaRequest, apply_schema

        self._store.require_writable()
        request = SchemaRequest(schema_source(schema), allow_data_loss, backfill or {}, compute or {}, actor)
        views = {name: self._view(name) for name in dict.fromkeys([branch, *also])}
        first, *others = apply_schema(self._workspace, views, request)
        return first if not others else replace(first, also=dict(zip(list(views)[1:], others, strict=True)))

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
        timeout: float | None = None,
        actor: str | None = None,
    ) -> Embedded:
        """Vectors of `@embed` properties where they are missing or their text has changed, one commit per property.

        `again` embeds every text anew. `pace` says how large requests are, how many are under way and how many texts a second,
        and how often one is repeated. After `timeout` seconds it ends with an error; what was embedded by then is kept, and the
        next call goes on from there, as after any failure.
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
            timeout=timeout,
            actor=actor,
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


def _stored_elsewhere() -> ScopeError:
    hint = "Connect to that server, or use the queries of a file."
    return ScopeError("queries are stored with a graph by a server, and this graph is opened directly", hint=hint)
