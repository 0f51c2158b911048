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
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace

import pyarrow as pa

from omnigraph.catalog.catalog import EdgeType, NodeType
from omnigraph.engine.column import Mask
from omnigraph.engine.load.collected import Collected, duplicates, follow, kept
from omnigraph.engine.load.frames import csv_report
from omnigraph.engine.load.identity import with_ids
from omnigraph.engine.load.progress import Stage, Told
from omnigraph.engine.load.request import Dialect, Request
from omnigraph.engine.load.result import LoadResult
from omnigraph.engine.load.sources import Format
from omnigraph.engine.load.tasks import Task, tasks_of
from omnigraph.engine.load.types import Parsed, Rows, Type, Types, label
from omnigraph.engine.load.writers import Writer
from omnigraph.engine.view import View, Workspace
from omnigraph.engine.write.changeset import ChangeSet, Delta
from omnigraph.engine.write.commit import Intent, commit
from omnigraph.engine.write.committed import stored_of
from omnigraph.engine.write.validate import set_violations
from omnigraph.engine.write.violations import Violation, refuse
from omnigraph.model.limits import MAX_VIOLATIONS
from omnigraph.storage.rows import rows_of_written


def run(workspace: Workspace, view: View, request: Request) -> LoadResult:
    """Load everything as one commit on top of a view, or raise all that is wrong with it."""
    workspace.store.require_writable()
    sizes = [i.size for i in request.inputs]
    total = None if None in sizes else sum(size for size in sizes if size is not None)
    with ExitStack() as stack:
        # What is large may take longer than reclaim waits.
        small = all(i.is_small for i in request.inputs)
        lease = None if small else stack.enter_context(workspace.store.in_flight())
        loading = _Loading(workspace, view, request, Told(request.report, total))
        stack.callback(loading.abandon)
        loading.read()
        changes = ChangeSet(loading.deltas())
        loading.validate(changes)
        loading.tell(Stage.PUBLISH)
        if request.creates_branch:
            workspace.store.create_branch(request.branch, at=view.snapshot.commit)
        intent = Intent("load", request.actor, request.message, even_if_empty=True, checked=True, lease=lease)
        made = commit(workspace, view, request.branch, changes, intent)
        assert made is not None
        loading.tell(Stage.DONE)
        counts = [(d.type, d.rows.num_rows) for d in changes]
        return LoadResult(
            request.branch,
            request.from_,
            request.creates_branch,
            request.mode,
            {t.name: count for t, count in counts if isinstance(t, NodeType)},
            {t.name: count for t, count in counts if isinstance(t, EdgeType)},
            made,
            request.actor,
            loading.told.seconds,
        )


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

    def __init__(self, workspace: Workspace, view: View, request: Request, told: Told) -> None:
        self._workspace, self._view, self._request, self.told = workspace, view, request, told
        self._types = Types(view.catalog)
        self._lenient = request.dialect is Dialect.COMPATIBLE
        self._collected: dict[str, Collected] = {}
        self._writers: dict[str, Writer] = {}
        self._violations: list[Violation] = []
        self._doubtful: set[tuple[str, str]] = set()
        self._broken: set[str] = set()
        self._renamed: dict[str, dict[str, str]] = {}
        self._held: list[Rows] = []
        self._rows = 0
        self._bytes = 0

    def tell(self, stage: Stage) -> None:
        """Where the load is."""
        self.told.tell(stage, self._rows, self._bytes, len(self._violations), now=stage is not Stage.READ)

    def abandon(self) -> None:
        """Let writers go that nobody waits for."""
        for writer in self._writers.values():
            writer.abandon()
        self._writers.clear()

    # ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def read(self) -> None:
        """Parse everything; rows go to data files as long as nothing is wrong."""
        self.tell(Stage.READ)
        before = 0
        for input_ in self._request.inputs:
            if input_.type is not None:
                self._of(input_.type)
            for parsed in in_order(tasks_of(input_, self._types, lenient=self._lenient), self._request.workers):
                self._take(parsed)
                self._bytes = before + parsed.bytes
                self.tell(Stage.READ)
                if len(self._violations) > MAX_VIOLATIONS:
                    self._refuse(self._violations[:MAX_VIOLATIONS])
            before += input_.size or 0
        for rows in self._held:
            self._keep(self._followed(rows))
        self._held.clear()

    def _take(self, parsed: Parsed) -> None:
        self._doubtful.update(parsed.doubtful)
        self._broken |= parsed.broken
        for type_, old, id_ in parsed.renamed:
            known = self._renamed.setdefault(type_, {}).setdefault(old, id_)
            if known != id_:
                message = f"ambiguous edge endpoint remap: `{old}` of {type_} is `{known}` and `{id_}`"
                self._violations.append(Violation("id", type_, message, "id", id_, old))
        if parsed.violations:
            self._violations += parsed.violations
            self.abandon()
        for rows in parsed.rows:
            self._rows += rows.count
            if self._lenient and isinstance(rows.type, EdgeType):
                self._held.append(rows)
            else:
                self._keep(rows)

    def _keep(self, rows: Rows) -> None:
        batch = with_ids(rows.batch, self._workspace.store.ids)
        self._of(rows.type).add(rows, batch)
        if self._violations:
            return
        name = label(rows.type)
        writer = self._writers.get(name)
        if writer is None:
            table = stored_of(self._view, rows.type).table
            writer = self._writers[name] = Writer(table, self._types.schema(rows.type))
        writer.put(batch)

    def _of(self, type_: Type) -> Collected:
        name = label(type_)
        return self._collected.setdefault(name, Collected(type_, self._types.kept[name]))

    def _followed(self, rows: Rows) -> Rows:
        """Edges whose ends are spelt as an older writer spelt ids."""
        type_ = rows.type
        assert isinstance(type_, EdgeType)
        batch = rows.batch
        for column, node in (("src", type_.source), ("dst", type_.target)):
            renamed = self._renamed.get(node)
            if renamed:
                at = batch.schema.get_field_index(column)
                batch = batch.set_column(at, batch.schema.field(at), follow(batch.column(at), renamed))
        return replace(rows, batch=batch)

    # ── what it comes to ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def deltas(self) -> list[Delta]:
        """The change of each type, with its rows in data files unless something was wrong."""
        self.tell(Stage.CHECK)
        found = []
        for name, collected in self._collected.items():
            writer = self._writers.pop(name, None)
            written = writer.close() if writer is not None else None
            delta = collected.delta(self._request.mode, written)
            wrong, last = duplicates(delta, self._request.mode)
            self._violations += wrong
            found.append(delta if last is None else self._without_earlier(delta, last))
        self._collected.clear()
        return found

    def _without_earlier(self, delta: Delta, last: Mask) -> Delta:
        """Of rows with the same id, only the last one."""
        before = delta.written
        assert before is not None
        later = kept(delta, last)
        if self._violations:
            return later
        state = self._view.snapshot.tables[delta.key]
        table = stored_of(self._view, delta.type).table
        schema = self._types.schema(delta.type)

        def rows() -> Iterator[pa.RecordBatch]:
            at = 0
            for batch in rows_of_written(table, state, before):
                yield batch.filter(pa.array(last[at : at + batch.num_rows])).cast(schema)
                at += batch.num_rows

        written = table.write(pa.RecordBatchReader.from_batches(schema, rows()))
        return replace(later, written=written)

    def validate(self, changes: ChangeSet) -> None:
        """Refuse the load if anything is wrong with it."""
        found = [v for v in set_violations(changes, self._view) if not self._is_excused(v)]
        self._refuse(self._violations + found)

    def _is_excused(self, violation: Violation) -> bool:
        """Whether a violation only follows from rows that were left out because of another one."""
        edge = self._view.catalog.edges.get(violation.type)
        if edge is None or not self._violations:
            return False
        if violation.rule == "endpoint":
            node = edge.source if violation.property == "from" else edge.target
            return (node, violation.value) in self._doubtful
        few = violation.rule == "cardinality" and isinstance(violation.value, int) and violation.value < edge.minimum
        return few and label(edge) in self._broken

    def _refuse(self, violations: list[Violation]) -> None:
        if not violations:
            return
        for input_ in self._request.inputs:
            if input_.format is Format.CSV:
                violations = csv_report(input_, violations)
        order = {i.name: at for at, i in enumerate(self._request.inputs)}
        last = len(order)
        refuse(sorted(violations, key=lambda v: (order.get(v.file, last), -1 if v.line is None else v.line)))
