"""Plans that wait to be published, and which of them share a swap."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Event

from omnigraph.errors import GraphError
from omnigraph.storage.commits.lineage import Commit
from omnigraph.storage.commits.manifest import Manifest, ManifestState
from omnigraph.storage.commits.plan import PlannedChange, PublishPlan
from omnigraph.storage.tables.changes import Applied, Change, Delete, Overwrite, WrittenRows
from omnigraph.storage.tables.small_changes import is_small
from omnigraph.storage.tables.table import Tables

Revalidate = Callable[[ManifestState, Sequence[Commit]], None]
"""Asked before a plan is applied on top of commits it has not seen; raises if it may not be."""

Prepare = Callable[[ManifestState], tuple[PublishPlan, Revalidate] | None]
"""Makes a plan on top of a state, quickly, in whatever thread; None: there is nothing to publish. What it raises is told to who
waits for it."""


@dataclass(slots=True, eq=False)
class Waiting:
    commit_id: str
    made: PublishPlan | None = None
    """None: it is made by who leads (`prepare`)."""
    revalidate: Revalidate | None = None
    prepare: Prepare | None = None
    fence: int = 0
    """The newest fence that was known before the first of its files was begun."""
    is_gone: bool = False
    """The thread that waited for it was interrupted."""
    called: Event = field(default_factory=Event)
    """There is an outcome, or it is this one's turn to lead."""
    outcome: Future[Commit | None] = field(default_factory=Future)
    applied: dict[tuple[str, int], Applied] = field(default_factory=dict)
    """What applying a change to a pin gave: an attempt that finds the same pin again reuses it."""
    stored: dict[str, WrittenRows] = field(default_factory=dict)
    """Rows of the plan that got a file of their own, by table: however often it is applied, they are written once."""
    foreseen: dict[tuple[str, int], Applied] = field(default_factory=dict)
    """The same, made before anybody knows whether the change will be applied to that pin."""

    @property
    def plan(self) -> PublishPlan:
        assert self.made is not None
        return self.made

    @property
    def is_first(self) -> bool:
        """Whether it has to be the first of its swap."""
        return self.made is not None and (self.made.schema is not None or self.made.seals)


@dataclass(slots=True, eq=False)
class Queue:
    """Small changes of one table, by those of a group who will be published one after the other."""

    waiting: list[Waiting] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    ids: set[str] = field(default_factory=set)
    """Rows they touch."""
    closed: bool = False
    """Whatever follows is made on top of that, one by one."""

    def touches(self, ids: Iterable[str]) -> bool:
        return not self.ids.isdisjoint(ids)

    def add(self, waiting: Waiting, change: Change) -> None:
        ids = () if isinstance(change, Overwrite) else change.ids
        self.closed = self.closed or not is_small(change) or self.touches(ids)
        if not self.closed:
            self.waiting.append(waiting)
            self.changes.append(change)
            self.ids.update(ids)


def first_batch(queue: list[Waiting]) -> tuple[list[Waiting], list[Waiting]]:
    """Those that share the next swap, and those that wait: a new schema or a seal is the first of its swap."""
    at = next((n for n, w in enumerate(queue) if n and w.is_first), len(queue))
    return queue[:at], queue[at:]


class Unprepared(Exception):
    """Not an error: the thread that led could not prepare a plan for want of stack or memory, which another one may have."""


def prepared(batch: Sequence[Waiting], manifest: Manifest) -> tuple[list[Waiting], list[Waiting]]:
    """Those of a batch that are published now, with their plans, and those that depend on what becomes of these: they rely on
    what these change, or have the same idempotency key. What is wrong with one is told to who waits for it alone."""
    ready, later = list[Waiting](), list[Waiting]()
    changes, keys = list[PlannedChange](), set[str]()
    state: ManifestState | None = None
    for waiting in batch:
        plan, revalidate, known = waiting.made, waiting.revalidate, waiting.fence
        if waiting.prepare is not None:
            try:
                state = state or manifest.load()
                known = manifest.place.fence
                found = waiting.prepare(state)
            except (RecursionError, MemoryError):
                waiting.outcome.set_exception(Unprepared())
                continue
            except Exception as error:
                waiting.outcome.set_exception(error)
                continue
            if found is None:
                waiting.outcome.set_result(None)
                continue
            plan, revalidate = found
            known = plan.fence(known)
        assert plan is not None
        is_overtaken = waiting.prepare is not None and plan.relies_on_anything and any(map(plan.is_about, changes))
        if is_overtaken or plan.idempotency_key in keys:
            later.append(waiting)
            continue
        waiting.made, waiting.revalidate, waiting.fence = plan, revalidate, known
        ready.append(waiting)
        changes += plan.changes
        keys |= set() if plan.idempotency_key is None else {plan.idempotency_key}
    return ready, later


def fail(batch: Sequence[Waiting], error: Exception) -> None:
    """Tell those that have no outcome yet why there is none."""
    for waiting in batch:
        if not waiting.outcome.done():
            waiting.outcome.set_exception(error)


def write_meanwhile(batch: Sequence[Waiting], tables: Tables, manifest: Manifest) -> None:
    """Put the rows of a plan that is alone into their files while it waits for its turn: in its turn others wait for it."""
    if len(batch) != 1:
        return  # their rows share a file
    (waiting,), state = batch, manifest.last_known()
    for planned in waiting.plan.changes:
        change, table = planned.change, state.tables.get(planned.table)
        if table is None or isinstance(change, Delete) or change.written.unstored is None or planned.table in waiting.stored:
            continue
        with suppress(GraphError):  # whoever applies it says what is wrong
            waiting.stored[planned.table] = tables.stored(table, change.written)
