"""The local runner: threads that parse, one that keeps order, one per type that writes.

    reader ──chunks──▶ workers: parse, convert, row rules ──in order──▶ ids, what the set rules need ──▶ writers, one per type
                                                                                 │ at the end
                                                                                 ▼
                                                             set rules ──▶ one commit, or all violations and nothing

Arrow and Lance do the work outside Python's lock, so two threads are two cores. Only a few chunks are in memory at a time. Data
files are written before anybody knows whether the rows are right: nothing refers to them until the commit, and if there is none
they are garbage like any other.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.catalog.catalog import EntityType
from omnigraph.engine.arrays.column import to_mask
from omnigraph.engine.blobs.settling import Settling
from omnigraph.engine.load.check.precheck import require_columns
from omnigraph.engine.load.read.conversion.ends import each_end_in_texts
from omnigraph.engine.load.read.parallel.chunks import Chunk, Cut, Work, cuts_of, read_chunk
from omnigraph.engine.load.read.parallel.tasks import Task, tasks_of
from omnigraph.engine.load.read.parallel.writers import Writer
from omnigraph.engine.load.read.rows.collected import Collected, follow
from omnigraph.engine.load.read.rows.completing import Committed, Completed, Completing
from omnigraph.engine.load.read.rows.identity import ids_from_keys, mismatch, with_ids
from omnigraph.engine.load.read.rows.references import settled
from omnigraph.engine.load.read.rows.removals import Removals
from omnigraph.engine.load.read.rows.types import Parsed, Rows, Types, label
from omnigraph.engine.load.run.chunked import run_chunked
from omnigraph.engine.load.run.conclude import Reading, publish, refuse_all, validate, with_removals, without_repeats
from omnigraph.engine.load.run.progress import ProgressReporter, Stage
from omnigraph.engine.load.run.request import Dialect, Engine, Request, chosen_engine
from omnigraph.engine.load.run.result import LoadResult
from omnigraph.engine.load.run.runners import Runner, runner_of
from omnigraph.engine.snapshot.view import View, Workspace
from omnigraph.engine.write.changeset import ChangeSet, Delta
from omnigraph.engine.write.validate import set_violations
from omnigraph.engine.write.violations import Violation
from omnigraph.model.conversions import Door, shown
from omnigraph.model.limits import MAX_VIOLATIONS
from omnigraph.storage.commits.leases import Held


def runner_for(engine: str | Runner, request: Request) -> Runner:
    """Who runs a load: whoever is given, this module, or somebody of another layer."""
    if not isinstance(engine, str):
        return engine
    return run if chosen_engine(engine, request) is Engine.LOCAL else runner_of(Engine.SPARK.value)


def run(workspace: Workspace, view: View, request: Request) -> LoadResult:
    """Load everything as one commit on top of a view, or raise all that is wrong with it."""
    workspace.store.require_writable()
    if request.quarantine is not None:
        return run_chunked(workspace, view, request, _in_chunks)
    require_columns(request.inputs, partial=request.mode.is_partial)
    sizes = [i.size for i in request.inputs]
    total = None if None in sizes else sum(size for size in sizes if size is not None)
    with ExitStack() as stack:
        # What is large may take longer than reclaim waits.
        small = all(i.is_small for i in request.inputs)
        if not small:
            stack.enter_context(workspace.store.in_flight())
        reporter = ProgressReporter(request.report, total)
        loading = _Loading(workspace, view, request, reporter)
        stack.callback(loading.abandon)
        loading.read()
        changes = ChangeSet(loading.deltas())
        validate(loading.reading, changes, view, request, set_violations)
        return publish(workspace, view, request, changes, loading.reading, reporter)


def _in_chunks(work: Work, request: Request, reporter: ProgressReporter, lease: Held) -> tuple[Sequence[Cut], Sequence[Chunk]]:
    """Rows that may have to be taken apart again are read as by any other runner, in threads of this process."""
    cuts = cuts_of(request.inputs, request.workers)
    chunks, rows, bytes_ = list[Chunk](), 0, 0
    with ThreadPoolExecutor(request.workers, thread_name_prefix="omnigraph-load") as pool:
        for chunk in pool.map(partial(read_chunk, work), cuts):
            chunks.append(chunk)
            rows, bytes_ = rows + chunk.rows, bytes_ + chunk.bytes
            reporter.report(Stage.READ, rows, bytes_, 0)
    return cuts, chunks


def in_order(tasks: Iterable[Task], workers: int) -> Iterator[Parsed]:
    """What tasks give, in their order, a few of them at a time."""
    with ThreadPoolExecutor(workers, thread_name_prefix="omnigraph-load") as pool:
        waiting: deque[Future[Parsed]] = deque()
        for task in tasks:
            waiting.append(pool.submit(task))
            if len(waiting) > workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


class _Loading:
    """One load under way."""

    def __init__(self, workspace: Workspace, view: View, request: Request, reporter: ProgressReporter) -> None:
        self._workspace, self._view, self._request, self._reporter = workspace, view, request, reporter
        self.reading = Reading()
        self._types = Types(view.catalog, request.external, request.lossy, mode=request.mode)
        self._completing = Completing(self._types, self._committed)
        self._settling = Settling(request.external)
        self._lenient = request.dialect is Dialect.COMPATIBLE
        self._collected: dict[str, Collected] = {}
        self._writers: dict[str, Writer] = {}
        self._renamed: dict[str, dict[str, str]] = {}
        self._held: list[Rows] = []
        self._removals: list[Removals] = []

    def abandon(self) -> None:
        """Let writers go that nobody waits for."""
        for writer in self._writers.values():
            writer.abandon()
        self._writers.clear()

    # ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def read(self) -> None:
        """Parse everything; rows go to data files as long as nothing is wrong."""
        self.reading.report(self._reporter, Stage.READ)
        before = 0
        for input_ in self._request.inputs:
            if input_.type is not None:
                self._of(input_.type)
            for parsed in in_order(tasks_of(input_, self._types, lenient=self._lenient), self._request.workers):
                self._take(parsed)
                self.reading.bytes = before + parsed.bytes
                self.reading.report(self._reporter, Stage.READ)
                if len(self.reading.violations) > MAX_VIOLATIONS:
                    refuse_all(self.reading.violations[:MAX_VIOLATIONS], self._request.inputs)
            before += input_.size or 0
        for rows in self._held:
            self._keep(self._followed(rows))
        self._held.clear()
        for done in self._completing.rest():
            self._take_whole(done)

    def _take(self, parsed: Parsed) -> None:
        parsed = settled(parsed, self._settling)
        self._settling.use.require()
        self.reading.doubtful.update(parsed.doubtful)
        self.reading.broken |= parsed.broken
        for type_, old, id_ in parsed.renamed:
            known = self._renamed.setdefault(type_, {}).setdefault(old, id_)
            if known != id_:
                message = f"ambiguous edge endpoint remap: `{old}` of {type_} is `{known}` and `{id_}`"
                self.reading.violations.append(Violation("id", type_, message, "id", id_, old))
        if parsed.violations:
            self.reading.add(parsed.violations)
            self.abandon()
        self._removals += parsed.removals
        for removals in parsed.removals:
            self._of(removals.type).stepwise = True
        for rows in parsed.rows:
            self.reading.rows += rows.count
            if self._lenient and rows.type.is_edge:
                self._held.append(rows)
            elif self._types.partial:
                for done in self._completing.add(rows):
                    self._take_whole(done)
            else:
                self._keep(rows)

    def _take_whole(self, done: Completed) -> None:
        self.reading.doubtful.update(done.parsed.doubtful)
        self.reading.broken |= done.parsed.broken
        if done.parsed.violations:
            self.reading.add(done.parsed.violations)
            self.abandon()
        for rows in done.parsed.rows:
            self._of(rows.type).unchanged &= done.unchanged
            self._keep(rows)

    def _committed(self, type_: EntityType) -> Committed:
        stored = self._view.stored(type_)
        return Committed(stored.table, stored.rows)

    def _keep(self, rows: Rows) -> None:
        batch = with_ids(rows.batch, self._workspace.store.ids)
        self._of(rows.type).add(rows, batch)
        if self.reading.violations:
            return
        name = label(rows.type)
        writer = self._writers.get(name)
        if writer is None:
            table = self._view.stored(rows.type).table
            writer = self._writers[name] = Writer(table, self._types.schema(rows.type))
        writer.put(batch)

    def _of(self, type_: EntityType) -> Collected:
        name = label(type_)
        return self._collected.setdefault(name, Collected(type_, self._types.kept[name]))

    def _followed(self, rows: Rows) -> Rows:
        """Edges whose ends are spelt as an older writer spelt ids, or as keys."""
        type_ = rows.type
        assert type_.is_edge
        batch = rows.batch
        for column, node in (("src", type_.source), ("dst", type_.target)):
            at = batch.schema.get_field_index(column)
            followed = follow(batch.column(at), self._renamed.get(node, {}))
            ends = each_end_in_texts(self._types.catalog.nodes[node], followed, Door.RECORDS)
            batch = batch.set_column(at, batch.schema.field(at), ends)
        return replace(rows, batch=self._identified(rows, batch) if type_.key else batch)

    def _identified(self, rows: Rows, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Edges with the ids that their keys give, now that their ends are right. A given id is one of the two."""
        type_, given = rows.type, rows.batch.column(0)
        before, now = (ids_from_keys(type_, {p.name: b.column(p.name) for p in type_.key}) for b in (rows.batch, batch))
        wrong = pc.and_(pc.not_equal(given, before), pc.not_equal(given, now))
        for row in np.flatnonzero(to_mask(pc.fill_null(wrong, False))).tolist():
            id_, derived = given[row].as_py(), now[row].as_py()
            message = mismatch(type_, id_, derived)
            found = Violation("id", type_.name, message, "id", derived, shown(id_), rows.file, int(rows.lines[row]))
            self.reading.violations.append(found)
            self.abandon()
        return batch.set_column(0, batch.schema.field(0), now)

    # ── what it comes to ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def deltas(self) -> list[Delta]:
        """The change of each type, with its rows in data files unless something was wrong."""
        self.reading.report(self._reporter, Stage.CHECK)
        found = []
        for name, collected in self._collected.items():
            writer = self._writers.pop(name, None)
            written = writer.close() if writer is not None else None
            delta = collected.delta(self._request.mode, written)
            found.append(without_repeats(delta, self._request.mode, self.reading, self._view, self._types))
        self._collected.clear()
        return with_removals(found, self._removals, self.reading, self._view, self._types, self._request)
