"""A load whose chunks are read elsewhere (by Spark): splitting the input before, and checking and committing the results after.

    request → cuts → (read by whoever there is) → chunks → the change of each type → set rules → one commit

The order of chunks is the order of the inputs, whoever read them and whenever; so which of two rows with one id is the later
one, and which violation comes first, does not depend on who reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Final, Protocol

from omnigraph.catalog.catalog import EntityType
from omnigraph.engine.blobs.settling import Use
from omnigraph.engine.load.check.narrowing import change_of, seen, staged_of, violations_of
from omnigraph.engine.load.check.precheck import require_columns
from omnigraph.engine.load.check.questions import Ask
from omnigraph.engine.load.read.parallel.chunks import Chunk, Cut, Placed, Work, deltas_of, placed
from omnigraph.engine.load.read.rows.types import label
from omnigraph.engine.load.run.conclude import (
    Reading,
    publish,
    refuse_all,
    require_entities,
    validate,
    with_removals,
    without_repeats,
)
from omnigraph.engine.load.run.progress import ProgressReporter, Stage
from omnigraph.engine.load.run.quarantine import Sieve, require_few
from omnigraph.engine.load.run.quarantine_files import Aside, give_names
from omnigraph.engine.load.run.request import Dialect, Request
from omnigraph.engine.load.run.result import LoadResult
from omnigraph.engine.snapshot.view import View, Workspace
from omnigraph.engine.write.changeset import ChangeSet, Delta
from omnigraph.engine.write.commit import SetRules
from omnigraph.engine.write.validate import set_violations
from omnigraph.engine.write.violations import Violation
from omnigraph.errors import ConflictError, UsageError
from omnigraph.hints import Hint, Option
from omnigraph.model.frozen import frozen
from omnigraph.model.limits import MAX_VIOLATIONS
from omnigraph.storage.commits.leases import Held
from omnigraph.storage.tables.replaced_rows import marks_for
from omnigraph.storage.tables.rows import written_without
from omnigraph.storage.tables.work import Run, here

MARKED_ABOVE: Final = 50_000
"""From so many rows on, in a load and in the table, what a merge replaces is looked for side by side."""


class Reader(Protocol):
    """Somebody who reads a load in chunks."""

    def __call__(
        self, work: Work, request: Request, reporter: ProgressReporter, lease: Held, /
    ) -> tuple[Sequence[Cut], Sequence[Chunk]]:
        """Every part of the inputs, in their order, and what came of each."""
        ...


@frozen(slots=False)
class Checked:
    """A change that is ready to be judged."""

    changes: ChangeSet
    set_rules: SetRules


class Checks(Protocol):
    """Somebody who puts chunks together and asks the rules about sets of rows."""

    def __call__(self, work: Work, view: View, request: Request, parts: Sequence[Placed], reading: Reading, /) -> Checked:
        """The change, and how the set rules are checked: now, and again if the branch moves. Repeated ids are settled."""
        ...


def in_memory(work: Work, view: View, request: Request, parts: Sequence[Placed], reading: Reading) -> Checked:
    """By this process, with the columns that rules look at in memory."""
    deltas = deltas_of(work, view, parts, request.mode, _declared(request))
    once = [without_repeats(d, request.mode, reading, view, work.types) for d in deltas]
    removals = [r for part in parts for r in part.removals()]
    return Checked(ChangeSet(with_removals(once, removals, reading, view, work.types, request)), set_violations)


def by_suspects(ask: Ask) -> Checks:
    """By whoever answers questions, with no more in memory than what is suspect."""

    def checks(work: Work, view: View, request: Request, parts: Sequence[Placed], reading: Reading, /) -> Checked:
        staged = staged_of(work, view, parts, request.mode, _declared(request))
        wrong, keep = violations_of(staged, work, view, request.mode, ask)
        changes = []
        for name, rows in staged.items():
            count, written, table = len(rows.places), rows.written, rows.table
            if name in keep and not reading.violations and not wrong:
                count, place = int(keep[name].sum()), work.tables[name]
                written = written_without(place.open(), place.state, written, keep[name], work.types.schema(rows.type))
                staged[name] = rows = rows.again(written, seen(place, written), keep[name])
                table = rows.table
            changes.append(change_of(rows, count, written, table))

        def set_rules(_: ChangeSet, now: View) -> list[Violation]:
            if now is view:
                return wrong
            return violations_of(staged, Work.of(work.place, now), now, request.mode, ask)[0]

        return Checked(ChangeSet(changes), set_rules)

    return checks


def run_chunked(
    workspace: Workspace,
    view: View,
    request: Request,
    read: Reader,
    checks: Checks = in_memory,
    mark: Run | None = None,
    lease: Held | None = None,
) -> LoadResult:
    """Load everything as one commit on top of a view, or raise all that is wrong with it.

    `mark`: who looks for the rows that a merge replaces, when there are many; otherwise the publisher does. `lease`: one that is
    held since before the first row was written; otherwise one is held from now on.
    """
    if request.dialect is Dialect.COMPATIBLE:
        raise UsageError(
            "records of the compatible dialect are read one after the other", hint=Hint("Use ", Option("engine", "local"), ".")
        )
    workspace.store.require_writable()
    require_columns(request.inputs, partial=request.mode.is_partial)
    sizes = [i.size for i in request.inputs]
    reporter = ProgressReporter(request.report, None if None in sizes else sum(size for size in sizes if size is not None))
    with workspace.store.in_flight() if lease is None else nullcontext(lease) as held:
        keeps = request.quarantine is not None
        work = Work.of(workspace.store.place, view, request.external, lossy=request.lossy, keeps=keeps, mode=request.mode)
        reporter.report(Stage.READ, 0, 0, 0, now=True)
        parts = placed(*read(work, request, reporter, held))
        sum((p.chunk.external for p in parts), Use()).require()
        reading = _together(parts)
        if len(reading.violations) > MAX_VIOLATIONS:
            refuse_all(reading.violations[:MAX_VIOLATIONS], request.inputs)
        reading.report(reporter, Stage.CHECK)
        if any(p.chunk.removals or any(t.stepwise for t in p.chunk.types.values()) for p in parts):
            checks = in_memory  # what goes, and who is last, is looked at as a whole
        if request.quarantine is not None and not any(p.chunk.removals for p in parts):
            return _quarantined(workspace, view, request, Sieve(work, view, request, parts), reading, reporter, mark or here)
        checked = checks(work, view, request, parts, reading)
        validate(reading, checked.changes, view, request, checked.set_rules)
        changes = checked.changes
        if mark is not None and request.mode.may_replace:
            changes = ChangeSet(_marked(delta, work, mark) for delta in changes)
        return publish(workspace, view, request, changes, reading, reporter, checked.set_rules, mark or here)


def _quarantined(
    workspace: Workspace, view: View, request: Request, sieve: Sieve, reading: Reading, reporter: ProgressReporter, run: Run
) -> LoadResult:
    """Load what is right, and write down what is wrong: aside before the commit, under its name after it."""
    assert request.quarantine is not None
    changes = sieve.sift(reading.violations)
    left_out = sieve.left_out()
    require_few(left_out, sieve.rows, request)
    require_entities(changes, view, request)
    file = Aside.of(request.quarantine, workspace.store.place)
    if not request.creates_branch:
        give_names(file.folder, workspace.store, request.branch)
    if not left_out:
        return publish(workspace, view, request, changes, reading, reporter, run=run)
    file.write(found.to_line() for found in left_out)
    request = replace(request, idempotency_key=request.idempotency_key or file.idempotency_key)
    try:
        result = publish(workspace, view, request, changes, reading, reporter, run=run)
    except ConflictError:  # nothing was committed, for sure
        file.forget()
        raise
    file.give_name()
    return replace(result, quarantined=len(left_out), quarantine=file.path)


def _marked(delta: Delta, work: Work, mark: Run) -> Delta:
    """A change that knows where the rows stand which it replaces."""
    table = work.tables[label(delta.type)]
    many = min(delta.rows.num_rows, table.state.rows) >= MARKED_ABOVE
    if delta.fresh or not many or delta.written is None or len(delta.removed):
        return delta
    new = seen(table, delta.written)
    return delta if new is None else replace(delta, marks=marks_for(table, new, mark))


def _declared(request: Request) -> list[EntityType]:
    return [i.type for i in request.inputs if i.type is not None]


def _together(parts: Sequence[Placed]) -> Reading:
    found = Reading(rows=sum(p.chunk.rows for p in parts), bytes=sum(p.chunk.bytes for p in parts))
    for part in parts:
        found.add(part.violations())
        found.doubtful |= part.chunk.doubtful
        found.broken |= part.chunk.broken
    return found
