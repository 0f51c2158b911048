"""A load whose portions are read by somebody else: what is to be read before, and what is concluded after.

    request → cuts → (read by whoever there is) → portions → the change of each type → set rules → one commit

The order of portions is the order of the inputs, whoever read them and whenever; so which of two rows with one id is the later
one, and which violation comes first, does not depend on who reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from omnigraph.engine.load.conclude import Reading, SetRules, publish, refuse_all, validate, without_repeats
from omnigraph.engine.load.portions import Cut, Placed, Portion, Work, deltas_of, placed
from omnigraph.engine.load.progress import Stage, Told
from omnigraph.engine.load.request import Dialect, Request
from omnigraph.engine.load.result import LoadResult
from omnigraph.engine.view import View, Workspace
from omnigraph.engine.write.changeset import ChangeSet
from omnigraph.engine.write.validate import set_violations
from omnigraph.errors import UsageError
from omnigraph.model.limits import MAX_VIOLATIONS
from omnigraph.storage.leases import Held


class Reader(Protocol):
    """Somebody who reads a load in portions."""

    def __call__(self, work: Work, request: Request, told: Told, lease: Held, /) -> tuple[Sequence[Cut], Sequence[Portion]]:
        """Every part of the inputs, in their order, and what came of each."""
        ...


def run_portioned(
    workspace: Workspace, view: View, request: Request, read: Reader, set_rules: SetRules = set_violations
) -> LoadResult:
    """Load everything as one commit on top of a view, or raise all that is wrong with it."""
    if request.dialect is Dialect.COMPATIBLE:
        raise UsageError("records of the compatible dialect are read one after the other", hint='Use engine="local".')
    workspace.store.require_writable()
    sizes = [i.size for i in request.inputs]
    told = Told(request.report, None if None in sizes else sum(size for size in sizes if size is not None))
    with workspace.store.in_flight() as lease:
        work = Work.of(workspace.store.place, view)
        told.tell(Stage.READ, 0, 0, 0, now=True)
        parts = placed(*read(work, request, told, lease))
        reading = _together(parts)
        if len(reading.violations) > MAX_VIOLATIONS:
            refuse_all(reading.violations[:MAX_VIOLATIONS], request.inputs)
        reading.tell(told, Stage.CHECK)
        declared = [i.type for i in request.inputs if i.type is not None]
        deltas = deltas_of(work, view, parts, request.mode, declared)
        changes = ChangeSet(without_repeats(d, request.mode, reading, view, work.types) for d in deltas)
        validate(reading, changes, view, request, set_rules)
        return publish(workspace, view, request, changes, reading, told, lease)


def _together(parts: Sequence[Placed]) -> Reading:
    found = Reading(rows=sum(p.portion.rows for p in parts), bytes=sum(p.portion.bytes for p in parts))
    for part in parts:
        found.violations += part.violations()
        found.doubtful |= part.portion.doubtful
        found.broken |= part.portion.broken
    return found
