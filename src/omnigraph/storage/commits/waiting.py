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
from omnigraph.storage.commits.plan import PublishPlan
from omnigraph.storage.tables.changes import Applied, Change, Delete, Overwrite, WrittenRows
from omnigraph.storage.tables.small_changes import is_small
from omnigraph.storage.tables.table import Tables

Revalidate = Callable[[ManifestState, Sequence[Commit]], None]
"""Asked before a plan is applied on top of commits it has not seen; raises if it may not be."""


@dataclass(slots=True, eq=False)
class Waiting:
    plan: PublishPlan
    commit_id: str
    revalidate: Revalidate | None
    fence: int = 0
    """The newest fence that was known before the first of its files was begun."""
    called: Event = field(default_factory=Event)
    """There is an outcome, or it is this one's turn to lead."""
    outcome: Future[Commit] = field(default_factory=Future)
    applied: dict[tuple[str, int], Applied] = field(default_factory=dict)
    """What applying a change to a pin gave: an attempt that finds the same pin again reuses it."""
    stored: dict[str, WrittenRows] = field(default_factory=dict)
    """Rows of the plan that got a file of their own, by table: however often it is applied, they are written once."""
    foreseen: dict[tuple[str, int], Applied] = field(default_factory=dict)
    """The same, made before anybody knows whether the change will be applied to that pin."""


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
    at = next((n for n, w in enumerate(queue) if n and (w.plan.schema is not None or w.plan.seals)), len(queue))
    return queue[:at], queue[at:]


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
