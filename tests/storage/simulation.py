"""Random histories against a model that fits in a page.

A seed decides everything: which of two handles (two processes, as far as storage can tell) does what, to which branch, whether
its plan is published at once or kept until it is stale, whether somebody else commits just before the swap, whether a call fails
or the process dies at it. Each has a clock of its own that jumps by hours, and cleans up whenever it likes: between the steps, in
the middle of a write of the other, or with a write of the other in its middle. After every step the newest state of some branch is
compared with the model (`simulated`); at the end everything is: heads, lineages, every commit that can still be reached, tags,
merge bases.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Generic, TypeVar

import pytest
from tests.storage.aging import MovedClock
from tests.storage.crashing import Died, assert_linear, die, timeout
from tests.storage.graphs import PEOPLE, SCHEMA, THINGS, held, place, rows
from tests.storage.simulated import Content, Made, Model, Prepared, Wanted

from omnigraph.errors import (
    AlreadyExists,
    CleanupUnderWay,
    GraphError,
    HistoryReclaimed,
    NotFound,
    StalledWrite,
    StorageError,
)
from omnigraph.storage.commits.leases import GRACE
from omnigraph.storage.commits.lineage import OpClass, merge_base
from omnigraph.storage.commits.plan import PlannedChange, PublishPlan, Replacement
from omnigraph.storage.files.effects import Call, Effects
from omnigraph.storage.graph_store import MAIN, GraphStore, Snapshot
from omnigraph.storage.reclaiming.reclaim import reclaim
from omnigraph.storage.reclaiming.verify import verify
from omnigraph.storage.rewriting.indexes import key_indexes
from omnigraph.storage.rewriting.rewrites import compact
from omnigraph.storage.tables.changes import NO_ROWS, Append, Change, Delete, Overwrite, Upsert, WrittenRows

STEPS = 12
"""Steps of a history, on average."""

KEYS = [f"k{n}" for n in range(6)]
TABLES = (PEOPLE, THINGS)
BRANCHES = ["a", "b", "c/d"]

# ── trouble ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────


Trap = tuple[int | Call, bool, Callable[[], None]]
"""At which call, whether after it, and what happens."""

NO_TROUBLE = (None, False, die)


class Trouble(Effects):
    """Does something once, at the n-th call or at the first of a kind, when it was told to."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.begun = 0
        self.at: int | Call | None = None
        self.late = False
        self.action: Callable[[], None] = die

    def arm(self, at: int | Call | None, late: bool, action: Callable[[], None]) -> None:
        self.calls, self.begun, self.at, self.late, self.action = [], 0, at, late, action

    def before(self, call: Call) -> None:
        self.begun += 1
        if not self.late:
            self._strike(call)

    def after(self, call: Call) -> None:
        self.calls.append(call)
        if self.late:
            self._strike(call)

    def _strike(self, call: Call) -> None:
        if self.at in (call, self.begun):
            self.at = None
            self.action()


Result = TypeVar("Result")


@dataclass(frozen=True)
class Outcome(Generic[Result]):
    value: Result | None
    error: BaseException | None
    calls: list[Call]
    """Those that ran."""


# ── a history ────────────────────────────────────────────────────────────────────────────────────────────────────────────────


class History:
    """One graph, two handles on it, and the model of it."""

    def __init__(self, seed: int, folder: Path, first: str) -> None:
        self.random = random.Random(seed)
        self.folder = folder
        self.model = Model()
        self.model.create_branch(MAIN, first)
        self.model.commits[first] = Made(
            first, None, self.model.branches[MAIN].number, {t: {} for t in TABLES}, frozenset(), frozenset()
        )
        self.troubles = [Trouble(), Trouble()]
        self.clocks = [MovedClock(), MovedClock()]
        self.handles = [self._open(0), self._open(1)]
        self.pending: list[Prepared] = []
        self.told: list[str] = []
        self.values = 0
        self.read: dict[tuple[str, int], Content] = {}
        """What pins hold. A pin never changes, so between the steps each is read once; in the end they are read again."""

    def _open(self, number: int) -> GraphStore:
        return GraphStore.open(place(self.folder, effects=self.troubles[number]), clock=self.clocks[number])

    def run(self) -> None:
        steps = {
            self.write: 36,
            self.prepare: 12,
            self.publish_a_pending_plan: 12,
            self.write_against_another: 6,
            self.maintain: 5,
            self.jump: 4,
            self.clean: 5,
            self.clean_against_another: 4,
            self.create_branch: 8,
            self.delete_branch: 5,
            self.create_tag: 3,
            self.delete_tag: 2,
            self.read_an_old_commit: 8,
            self.reopen: 4,
        }
        for _ in range(self.random.randint(STEPS // 2, STEPS * 3 // 2)):
            (step,) = self.random.choices(list(steps), list(steps.values()))
            step()
            self.compare(self.random.choice(list(self.model.branches)))
        self.compare_everything()

    def say(self, text: str) -> None:
        self.told.append(text)

    # ── writing ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def write(self) -> None:
        number = self.random.randrange(2)
        prepared = self._prepare(number)
        if prepared is not None:
            self._publish(number, prepared, self._trouble())

    def prepare(self) -> None:
        prepared = self._prepare(self.random.randrange(2))
        if prepared is not None and len(self.pending) < 4:
            self.pending.append(prepared)

    def publish_a_pending_plan(self) -> None:
        if self.pending:
            prepared = self.pending.pop(self.random.randrange(len(self.pending)))
            self._publish(self.random.randrange(2), prepared, self._trouble())

    def write_against_another(self) -> None:
        """Somebody else publishes, or deletes the branch, when this writer stands just before its swap."""
        prepared = self._prepare(0)
        if prepared is None:
            return
        if prepared.branch != MAIN and self.random.random() < 0.2:
            name = prepared.branch
            self._publish(0, prepared, (Call.PUBLISH, False, lambda: self._delete_branch(1, name)))
            return
        if self.random.random() < 0.4:
            at = self._moment(Call.PUBLISH, Call.WRITE_MANIFEST, Call.PIN)
            self._publish(0, prepared, (at, self.random.random() < 0.3, lambda: self._clean(1)))
            self.model.clean()  # what was the newest may have been replaced already when it came
            return
        other = self._prepare(1, prepared.branch)
        if other is not None:
            rival = other
            self._publish(0, prepared, (Call.PUBLISH, False, lambda: self._publish(1, rival, None)))

    def jump(self) -> None:
        """A clock is moved on, or back."""
        number, hours = self.random.randrange(2), self.random.choice([-26, -3, -1, 1, 2, 3, 26])
        self.say(f"the clock of handle {number} jumps by {hours} hours")
        self.clocks[number].pass_time(timedelta(hours=hours))

    def clean(self) -> None:
        self._clean(self.random.randrange(2), self._trouble())

    def clean_against_another(self) -> None:
        """A write lands, or tries to, at some moment of a cleanup."""
        if self.pending and self.random.random() < 0.6:
            prepared: Prepared | None = self.pending.pop(self.random.randrange(len(self.pending)))
        else:
            prepared = self._prepare(1)
        if prepared is not None:
            write = prepared
            at = self._moment(Call.DOOM, Call.PUBLISH, Call.RECLAIM, Call.PUT_NEW)
            self._clean(0, (at, self.random.random() < 0.5, lambda: self._publish(1, write, None)))

    def _moment(self, *calls: Call) -> int | Call:
        return self.random.randint(1, 8) if self.random.random() < 0.3 else self.random.choice(calls)

    def _clean(self, number: int, trouble: Trap | None = None) -> None:
        keep, grace = self.random.choice([None, 1, 1, 3]), self.random.choice([GRACE, timedelta(0), timedelta(0)])
        self.model.clean()
        outcome = self._do(
            number,
            f"cleans up, keeps {keep}, grace {grace}",
            trouble,
            lambda store: reclaim(store, keep=keep, older_than=None, grace=grace, dry_run=False),
        )
        self.model.clean()  # once more: somebody may have written in its middle
        assert outcome.error is None or isinstance(outcome.error, Died | StorageError), repr(outcome.error)
        self.read.clear()  # what was read is read again

    def maintain(self) -> None:
        """Store a table anew, with or without an index; published at once or when it may be too late."""
        number = self.random.randrange(2)
        name = self.random.choice([n for n, life in self.model.branches.items() if not life.sealed])
        table, indexes = self.random.choice(TABLES), self.random.choice([(), key_indexes(SCHEMA)])
        store = self.handles[number]
        snapshot = store.snapshot(name)
        state = snapshot.tables[table]
        applied = compact(store.tables, state, indexes)
        replacement = Replacement(table, state.pin, applied)
        plan = PublishPlan(OpClass.MAINTENANCE, "compact", snapshot.layout, replacements=(replacement,))
        moves = frozenset({table}) if applied.state.pin != state.pin else frozenset[str]()
        self.say(f"handle {number} compacts {table} on {name}, indexes {len(indexes)}, moves {bool(moves)}")
        prepared = Prepared(plan, name, self.model.branches[name].number, (), moves, self.model.cleanups)
        if self.random.random() < 0.6 or len(self.pending) == 4:
            self._publish(number, prepared, self._trouble())
        else:
            self.pending.append(prepared)

    def _prepare(self, number: int, branch: str | None = None) -> Prepared | None:
        name = branch or self.random.choice(list(self.model.branches))
        life = self.model.branches[name]
        if life.sealed:
            return None
        store = self.handles[number]
        snapshot = store.snapshot(name)
        assert (snapshot.layout, snapshot.commit) == (life.head, self.model.logical(life.head))
        chosen = self.random.sample(TABLES, 1 if self.random.random() < 0.75 else 2)
        wanted = tuple(self._wanted(table, self.model.head(name).contents[table]) for table in chosen)
        changes = []
        for each in wanted:
            handle = store.tables.open(snapshot.tables[each.table])
            written = NO_ROWS if each.kind == "delete" else handle.write(rows(**dict(each.values)))
            changes.append(PlannedChange(each.table, _change(each, written)))
        strict = self.random.random()
        plan = PublishPlan(
            OpClass.LOGICAL,
            "+".join(w.kind for w in wanted),
            snapshot.layout,
            tuple(changes),
            read_set=frozenset(chosen) if strict < 0.4 else frozenset(TABLES) if strict < 0.5 else frozenset(),
            expected_head=snapshot.commit if strict > 0.9 else None,
        )
        self.say(f"handle {number} prepares {plan.operation} on {name}: {wanted}, strict {strict:.2f}")
        return Prepared(plan, name, life.number, wanted, cleanups=self.model.cleanups)

    def _wanted(self, table: str, content: Content) -> Wanted:
        new = [k for k in KEYS if k not in content]
        kinds = ["upsert", "delete", "overwrite"] + ["insert"] * 3
        kind = self.random.choice(kinds if new else kinds[:3])
        keys = self.random.sample(
            new if kind == "insert" else KEYS, self.random.randint(kind != "overwrite", min(3, len(new) or 3))
        )
        self.values += 1
        return Wanted(table, kind, tuple((k, self.values) for k in keys))

    def _trouble(self) -> Trap | None:
        dice = self.random.random()
        if dice > 0.25:
            return None
        at: int | Call = Call.PUBLISH if self.random.random() < 0.3 else self.random.randint(1, 6)
        return at, self.random.random() < 0.5, die if dice < 0.17 else timeout

    def _do(self, number: int, what: str, trouble: Trap | None, action: Callable[[GraphStore], Result]) -> Outcome[Result]:
        """Let a handle do something. One that dies is opened again; an error of the store must have been caused by trouble."""
        effects = self.troubles[number]
        effects.arm(*(trouble or NO_TROUBLE))
        self.say(f"handle {number} {what}{'' if trouble is None else f', trouble: {trouble}'}")
        value: Result | None = None
        error: BaseException | None = None
        try:
            value = action(self.handles[number])
        except (Died, GraphError) as raised:
            error = raised
        calls = effects.calls
        effects.arm(*NO_TROUBLE)
        if error is not None:
            self.say(f"… {type(error).__name__}")
        if isinstance(error, Died):
            self._reopen(number)
        if isinstance(error, StorageError) and trouble is None:
            raise error
        return Outcome(value, error, calls)

    def _publish(self, number: int, prepared: Prepared, trouble: Trap | None) -> None:
        """Publish a plan; what comes of it must be what the model says *at the moment of the swap*."""
        what = f"publishes {prepared.plan.operation} on {prepared.branch}"
        outcome = self._do(number, what, trouble, lambda store: store.publish(prepared.branch, prepared.plan).id)
        match outcome.error:
            case None:
                assert outcome.value is not None
                refusal = self.model.refusal(prepared)
                assert not refusal or self._is_same_past(prepared), f"published, but should have been refused with {refusal}"
                self.model.publish(prepared, outcome.value)
            case Died():
                if Call.PUBLISH in outcome.calls:
                    self._landed(prepared)
            case StorageError():
                assert Call.PUBLISH not in outcome.calls, "an unclear outcome must be settled"
            case StalledWrite():
                assert self.model.cleanups > prepared.cleanups, "nobody cleaned up since it was prepared"
            case error:
                expected = self.model.refusal(prepared)
                assert isinstance(error, expected), f"{error!r} instead of {expected}"

    def _is_same_past(self, prepared: Prepared) -> bool:
        """A plan for a branch that was deleted and made again is valid if the new one grew from the commit it was made on."""
        life = self.model.branches[prepared.branch]
        return life.number != prepared.life and self.model.since(prepared.plan.base, life) is not None

    def _landed(self, prepared: Prepared) -> None:
        found = GraphStore.open(place(self.folder)).commits(prepared.branch, limit=1)[0]
        assert found.parent == self.model.branches[prepared.branch].head
        self.model.publish(prepared, found.id)
        self.say(f"… died, and {found.id} had landed")

    # ── branches and tags ────────────────────────────────────────────────────────────────────────────────────────────────────

    def create_branch(self) -> None:
        number, name = self.random.randrange(2), self.random.choice(BRANCHES)
        places = [n for n, life in self.model.branches.items() if not life.sealed] + self._by_age(self.model.reachable())
        at = self.random.choice(places)
        start = self.model.branches[at].head if at in self.model.branches else at
        outcome = self._do(
            number, f"creates branch {name} at {at}", self._trouble(), lambda store: store.create_branch(name, at=at)
        )
        if name in self.model.branches and self.model.branches[name].sealed and Call.DELETE in outcome.calls:
            del self.model.branches[name]  # whoever wants the name ends a deletion that somebody died in
        if isinstance(outcome.error, HistoryReclaimed | CleanupUnderWay):
            assert start in self.model.perhaps_gone
            assert _stays(outcome) is False
            return
        taken = name in self.model.branches and not self.model.branches[name].sealed
        assert isinstance(outcome.error, AlreadyExists) == taken or isinstance(outcome.error, StorageError)
        if _stays(outcome):
            layout = GraphStore.open(place(self.folder)).snapshot(name).layout
            assert self.model.logical(layout) == self.model.logical(start)
            self.model.create_branch(name, layout)

    def _by_age(self, commits: set[str]) -> list[str]:
        return [c for c in self.model.commits if c in commits]

    def delete_branch(self) -> None:
        names = [name for name in self.model.branches if name != MAIN]
        if names:
            self._delete_branch(self.random.randrange(2), self.random.choice(names), self._trouble())

    def _delete_branch(self, number: int, name: str, trouble: Trap | None = None) -> None:
        outcome = self._do(number, f"deletes branch {name}", trouble, lambda store: store.delete_branch(name))
        assert outcome.error is None or isinstance(outcome.error, Died | StorageError)
        if Call.DELETE in outcome.calls:
            del self.model.branches[name]
        elif Call.PUBLISH in outcome.calls:
            self.model.branches[name].sealed = True
        assert outcome.error is not None or name not in self.model.branches

    def create_tag(self) -> None:
        number, name = self.random.randrange(2), self.random.choice(["v1", "v2"])
        commit = self.random.choice(self._by_age(self.model.reachable()))
        outcome = self._do(number, f"tags {commit} as {name}", self._trouble(), lambda store: store.create_tag(name, commit))
        if isinstance(outcome.error, HistoryReclaimed | CleanupUnderWay):
            assert commit in self.model.perhaps_gone
            assert _stays(outcome) is False
            return
        if not isinstance(outcome.error, Died | StorageError):
            assert isinstance(outcome.error, AlreadyExists) == (name in self.model.tags)
        if _stays(outcome):
            self.model.tags[name] = self.model.logical(commit)

    def delete_tag(self) -> None:
        number, name = self.random.randrange(2), self.random.choice(["v1", "v2"])
        outcome = self._do(number, f"deletes tag {name}", self._trouble(), lambda store: store.delete_tag(name))
        assert isinstance(outcome.error, NotFound) == (name not in self.model.tags)
        if Call.DELETE in outcome.calls:
            del self.model.tags[name]

    # ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def reopen(self) -> None:
        self._reopen(self.random.randrange(2))

    def _reopen(self, number: int) -> None:
        self.handles[number] = self._open(number)

    def read_an_old_commit(self) -> None:
        commit = self.random.choice(list(self.model.commits))
        self.say(f"reads {commit}")
        self._compare_commit(self.handles[self.random.randrange(2)], commit, self.model.reachable())

    def compare(self, branch: str, store: GraphStore | None = None) -> None:
        store, life = store or self.handles[self.random.randrange(2)], self.model.branches[branch]
        if life.sealed:
            with pytest.raises(NotFound):
                store.snapshot(branch)
            return
        snapshot = store.snapshot(branch)
        assert (snapshot.layout, snapshot.commit) == (life.head, self.model.logical(life.head))
        for table in TABLES:
            assert self._content(store, snapshot, table) == self.model.head(branch).contents[table], f"{table} on {branch}"

    def _compare_commit(self, store: GraphStore, commit: str, reachable: set[str]) -> None:
        try:
            snapshot = store.snapshot_at(commit)
        except HistoryReclaimed:
            assert commit not in reachable or commit in self.model.perhaps_gone
            return
        assert snapshot.commit == self.model.logical(commit)
        if snapshot.layout in self.model.commits:  # or it is what sealed a branch
            assert self.model.logical(snapshot.layout) == snapshot.commit
        for table in TABLES:
            assert self._content(store, snapshot, table) == self.model.commits[commit].contents[table], f"{table} at {commit}"

    def _content(self, store: GraphStore, snapshot: Snapshot, table: str) -> Content:
        pinned = table, snapshot.tables[table].pin
        if pinned not in self.read:
            self.read[pinned] = held(store, snapshot.tables[table])
        return self.read[pinned]

    def compare_everything(self) -> None:
        self.say("at the end")
        self.read.clear()
        store, reachable = GraphStore.open(place(self.folder), read_only=True), self.model.reachable()
        assert store.branches() == sorted(self.model.branches)
        assert {t.name: t.commit for t in store.tags()} == self.model.tags
        for branch, life in self.model.branches.items():
            self.compare(branch, store)
            if not life.sealed:
                commits = store.commits(branch)
                assert_linear(commits)
                assert [c.id for c in commits] == self.model.lineage(life.head)
        for commit in {*self.model.tags.values(), *self._some(4)}:
            self._compare_commit(store, commit, reachable)
        if self.model.cleanups:
            assert verify(store).problems == ()
        first, second = (self.random.choice(self._by_age(reachable)) for _ in range(2))
        parents = {name: (made.parent,) if made.parent else () for name, made in self.model.commits.items()}
        assert merge_base(first, second, lambda c: store.commit(c).parents) == merge_base(first, second, parents.__getitem__)

    def _some(self, count: int) -> list[str]:
        return self.random.sample(list(self.model.commits), min(count, len(self.model.commits)))


def _stays(outcome: Outcome[Result]) -> bool:
    """Whether a name was put, and not taken back."""
    calls = list(outcome.calls)
    return Call.PUT_NEW in calls and Call.DELETE not in calls[calls.index(Call.PUT_NEW) :]


def _change(wanted: Wanted, written: WrittenRows) -> Change:
    ids = tuple(key for key, _ in wanted.values)
    match wanted.kind:
        case "insert":
            return Append(written, ids)
        case "upsert":
            return Upsert(written, ids)
        case "delete":
            return Delete(ids)
        case _:
            return Overwrite(written)
