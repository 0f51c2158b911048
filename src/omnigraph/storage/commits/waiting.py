"""Plans that wait to be published, and which of them share a swap."""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Protocol, Self

from omnigraph.errors import GraphError
from omnigraph.storage.commits.lineage import Commit
from omnigraph.storage.commits.manifest import Manifest, ManifestState
from omnigraph.storage.commits.plan import PlannedChange, PublishPlan
from omnigraph.storage.commits.since import Since
from omnigraph.storage.tables.changes import Applied, Change, Delete, Overwrite, WrittenRows
from omnigraph.storage.tables.small_changes import is_small
from omnigraph.storage.tables.table import Tables

_log = logging.getLogger(__name__)

Revalidate = Callable[[ManifestState, Since], None]
"""Asked before a plan is applied on top of commits it has not seen; raises if it may not be."""

Ready = tuple[PublishPlan, Revalidate]
"""A plan, and what is asked before it is applied on top of what it has not seen."""


class Prepare(Protocol):
    """Makes a plan on top of a state, quickly, in whatever thread. What it raises is told to who waits for it."""

    @property
    def kind(self) -> Hashable:
        """Those of one kind can be made in one go; None: each by itself."""
        ...

    def alone(self, state: ManifestState) -> Ready | None:
        """The plan; None: there is nothing to publish."""
        ...

    def together(self, state: ManifestState, alike: Sequence[Self]) -> Sequence[Ready | None]:
        """The plans of several of one kind, which have nothing to do with one another; None of those to be made alone."""
        ...


@dataclass(slots=True, eq=False)
class Waiting:
    """A plan that waits, or what will make one. Nothing that it holds refers to it: it goes with the thread that waited."""

    commit_id: str
    made: PublishPlan | None = None
    """None: it is made by who leads (`prepare`)."""
    revalidate: Revalidate | None = None
    prepare: Prepare | None = None
    fence: int = 0
    """The newest fence that was known before the first of its files was begun."""
    is_gone: bool = False
    """The thread that waited for it was interrupted."""
    is_done: bool = False
    commit: Commit | None = None
    """What it came to, if it was published."""
    error: BaseException | None = None
    """Why it was not."""
    _calls: SimpleQueue[None] = field(default_factory=SimpleQueue)
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

    def call(self) -> None:
        """Wake who waits: there is an outcome, or it is this one's turn to lead."""
        self._calls.put(None)

    def wait(self) -> None:
        """Until it is called."""
        self._calls.get()

    def succeeded(self, commit: Commit | None) -> None:
        """It was published, or there was nothing to publish."""
        self.commit, self.is_done = commit, True
        self.call()

    def failed(self, error: BaseException) -> None:
        """It was not."""
        self.error, self.is_done = error, True
        self.call()

    def outcome(self) -> Commit | None:
        """What it came to; raises why it was not published. Asked once."""
        error, self.error = self.error, None  # whose traceback refers to who asks
        if error is not None:
            raise error
        return self.commit

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
    made: dict[int, Ready] = {}
    for waiting in batch:
        plan, revalidate, known = waiting.made, waiting.revalidate, waiting.fence
        if waiting.prepare is not None:
            try:
                if state is None:
                    state = manifest.load()
                    made = _made_together(batch, state)
                known = manifest.place.fence
                found = made.pop(id(waiting), None) or waiting.prepare.alone(state)
            except (RecursionError, MemoryError):
                waiting.failed(Unprepared())
                continue
            except Exception as error:
                waiting.failed(error)
                continue
            if found is None:
                waiting.succeeded(None)
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


def _made_together(batch: Sequence[Waiting], state: ManifestState) -> dict[int, Ready]:
    """Plans of those that are alike, as far as they can be made in one go, by who waits for them."""
    kinds: dict[Hashable, list[tuple[Waiting, Prepare]]] = {}
    for waiting in batch:
        if waiting.prepare is not None and waiting.prepare.kind is not None:
            kinds.setdefault(waiting.prepare.kind, []).append((waiting, waiting.prepare))
    made: dict[int, Ready] = {}
    for alike in kinds.values():
        if len(alike) > 1:
            try:
                plans = alike[0][1].together(state, [prepare for _, prepare in alike])
            except Exception as error:  # each is then made alone, and whoever is to blame is told
                _log.debug("plans of a group are made one by one: %s", error)
                continue
            made.update((id(waiting), plan) for (waiting, _), plan in zip(alike, plans, strict=True) if plan is not None)
    return made


def fail(batch: Sequence[Waiting], error: Exception) -> None:
    """Tell those that have no outcome yet why there is none."""
    for waiting in batch:
        if not waiting.is_done:
            waiting.failed(error)


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
