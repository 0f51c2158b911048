"""Processes that die, stores that fail, and what is left afterwards.

A crash can only be told from no crash by what reached the store, and everything that does has a name (`Call`). So the harness has
three parts:

* **operations**: every kind of write, each as a function of a place, with the call that makes it visible;
* **effects** that count the calls of an operation, or strike before or after the n-th of them: by killing the process (a real
  process, killed by a real SIGKILL) or by raising;
* **`describe`**: all a reader could see of a graph, as a value, without the random pins. Ids and clocks are handed in, so two
  runs of one operation on two copies of one graph describe equally, and "exactly the old or the new graph" is `==`.
"""

from __future__ import annotations

import errno
import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum
from functools import cache
from pathlib import Path
from unittest import mock

import pyarrow as pa
import pyarrow.compute as pc
from tests import children
from tests.storage.graphs import DOCUMENT, PEOPLE, SCHEMA, TABLES, THINGS, content, delete, insert, overwrite, place, rows, upsert

from omnigraph.errors import HistoryReclaimed, NotFound, StorageError
from omnigraph.storage.commits.lineage import Commit, OpClass
from omnigraph.storage.commits.manifest import SchemaDocument
from omnigraph.storage.commits.plan import PlannedChange, PublishPlan, Replacement
from omnigraph.storage.commits.waiting import Waiting
from omnigraph.storage.files import place as place_module
from omnigraph.storage.files.effects import Call, Effects
from omnigraph.storage.files.place import Durability, Place
from omnigraph.storage.graph_store import MAIN, GraphStore, NewTable, Snapshot
from omnigraph.storage.reclaiming.reclaim import reclaim
from omnigraph.storage.rewriting.columns import add_computed_columns, drop_columns
from omnigraph.storage.rewriting.indexes import IndexKind, IndexSpec, extend_indexes, key_indexes
from omnigraph.storage.rewriting.rewrites import FOLD_FRAGMENTS, compact
from omnigraph.storage.tables.changes import Append, Applied, Change, Delete, Overwrite, TableState, Upsert
from omnigraph.storage.tables.table import Tables

# ── ids and time that repeat ─────────────────────────────────────────────────────────────────────────────────────────────────


class NumberedIds:
    """ULIDs that count."""

    def __init__(self, first: int) -> None:
        self._next = first

    def next(self) -> str:
        self._next += 1
        return f"01J{self._next:023d}"


class StoppedClock:
    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC)


class DistantClock:
    def now(self) -> datetime:
        return datetime(2126, 1, 1, tzinfo=UTC)


def opened(where: Place) -> GraphStore:
    """The graph at a place, with ids and times that are the same in every run."""
    return GraphStore.open(where, ids=NumberedIds(1_000_000), clock=StoppedClock())


# ── effects that watch or strike ─────────────────────────────────────────────────────────────────────────────────────────────


class Moment(Enum):
    BEFORE = "before"
    AFTER = "after"


class Counting(Effects):
    """Remembers the calls that have run."""

    def __init__(self) -> None:
        self.calls: list[Call] = []

    def after(self, call: Call) -> None:
        self.calls.append(call)


class Striking(Effects):
    """Does something before or after the n-th call, once; counts like `Counting`."""

    def __init__(self, number: int, moment: Moment, strike: Callable[[], None]) -> None:
        self.number = number
        self.moment = moment
        self.strike = strike
        self.begun = 0
        self.calls: list[Call] = []
        self._counting = threading.Lock()  # some calls run side by side

    def before(self, call: Call) -> None:
        with self._counting:
            self.begun += 1
            number = self.begun
        if self.moment is Moment.BEFORE and number == self.number:
            self.strike()

    def after(self, call: Call) -> None:
        with self._counting:
            self.calls.append(call)
            number = len(self.calls)
        if self.moment is Moment.AFTER and number == self.number:
            self.strike()


class Died(BaseException):
    """A crash played in one process: nothing that catches errors may catch it."""


def die() -> None:
    raise Died


def kill_this_process() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def store_error() -> None:
    raise StorageError("the store went away")


def timeout() -> None:
    raise TimeoutError(errno.ETIMEDOUT, "timed out")


def disk_full() -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def not_permitted() -> None:
    raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


# ── operations ───────────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Operation:
    """A kind of write."""

    run: Callable[[GraphStore], object]
    visible: Call = Call.PUBLISH
    """The call that makes it visible."""
    template: str = "graph"
    """What it runs on: see `build_template`."""


def start(where: Place, first_id: int = 1_000_000) -> GraphStore:
    """A new graph."""
    return GraphStore.init(where, DOCUMENT, TABLES, ids=NumberedIds(first_id), clock=StoppedClock())


def perform(name: str, where: Place) -> GraphStore:
    """Run an operation at a place and give the store it ran on."""
    if name == "init":
        return start(where)
    store = opened(where)
    OPERATIONS[name].run(store)
    return store


def _several_tables(store: GraphStore) -> None:
    snapshot = store.snapshot()
    people, things = (store.tables.open(snapshot.tables[t]) for t in (PEOPLE, THINGS))
    changes = (
        PlannedChange(PEOPLE, Append(people.write(rows(p=1)), ("p",))),
        PlannedChange(THINGS, Overwrite(things.write(rows(q=2, r=3)))),
    )
    store.publish(MAIN, PublishPlan(OpClass.LOGICAL, "both", snapshot.commit, changes, actor="ada", message="why"))


def _schema_change(store: GraphStore) -> None:
    snapshot = store.snapshot()
    created = store.create_tables([NewTable("edge:9-10", "edges/9-10", SCHEMA)])
    people = store.tables.open(snapshot.tables[PEOPLE])
    plan = PublishPlan(
        OpClass.LOGICAL,
        "schema apply",
        snapshot.commit,
        (PlannedChange(PEOPLE, Append(people.write(rows(s=1)), ("s",))),),
        creates=created,
        drops=(THINGS,),
        expected_head=snapshot.commit,
        schema=SchemaDocument("schema-2", "edge Knows: Person -> Person", "{}"),
    )
    store.publish(MAIN, plan)


INDEXES = (*key_indexes(SCHEMA), IndexSpec("text_search", "text", IndexKind.FULL_TEXT))


def _replacing(store: GraphStore, operation: str, table: str, make: Callable[[Tables, TableState], Applied]) -> None:
    """Publish another way to store the same entities, or other columns, for a table of `main`."""
    snapshot = store.snapshot()
    state = snapshot.tables[table]
    replacement = Replacement(table, state.pin, make(store.tables, state))
    store.publish(MAIN, PublishPlan(OpClass.MAINTENANCE, operation, snapshot.commit, replacements=(replacement,)))


def _computed(tables: Tables, state: TableState) -> Applied:
    def twice(batch: pa.RecordBatch) -> pa.RecordBatch:
        return pa.record_batch({"twice": pc.multiply(batch["n"], 2)})

    return add_computed_columns(tables, state, [pa.field("twice", pa.int64())], twice, ["n"])


def _later(store: GraphStore) -> GraphStore:
    """The same graph, long after: everything in it is older than any grace period."""
    return GraphStore.open(store.place, ids=NumberedIds(3_000_000), clock=DistantClock())


def _group(store: GraphStore) -> None:
    """Two inserts that share a swap, a data file, and all but a small part of their versions."""
    handle = store.tables.open(store.snapshot().tables[PEOPLE])
    _publish_together(store, *(Append(handle.write(rows(**{key: 1})), (key,)) for key in ("g", "h")))


def _mixed_group(store: GraphStore) -> None:
    """Every kind of small change in one swap; one takes a whole fragment away."""
    handle = store.tables.open(store.snapshot().tables[PEOPLE])
    _publish_together(
        store,
        Append(handle.write(rows(g=1)), ("g",), or_replace=True),
        Upsert(handle.write(rows(a=10)), ("a",)),
        Delete(("b",)),
        Delete(("d",)),
        Append(handle.write(rows(h=1)), ("h",)),
    )


def _publish_together(store: GraphStore, *changes: Change) -> None:
    base = store.snapshot().commit
    plans = [PublishPlan(OpClass.LOGICAL, "change", base, (PlannedChange(PEOPLE, change),)) for change in changes]
    waiting = [Waiting(store.ids.next(), plan) for plan in plans]
    store.publisher(store.ref(MAIN))._publish_batch(waiting)
    for each in waiting:
        each.outcome()


def _reclaim(store: GraphStore) -> None:
    """Everything but the newest commit goes, each file by a call of its own."""
    with mock.patch.object(place_module, "DELETED_AT_ONCE", 1):
        reclaim(_later(store), keep=1, older_than=None, dry_run=False)


def _revert(store: GraphStore) -> None:
    """An old commit is held while its pins are published again."""
    now, old = store.snapshot(), store.tags()[0].commit
    with store.in_flight(old):
        target = store.snapshot_at(old).tables[PEOPLE]
        replacement = Replacement(PEOPLE, now.tables[PEOPLE].pin, Applied(target, 0, 0, (), (), ()))
        store.publish(MAIN, PublishPlan(OpClass.LOGICAL, "revert", now.commit, replacements=(replacement,)))


OPERATIONS: Mapping[str, Operation] = {
    "init": Operation(lambda _: None, Call.PUT_NEW, template="nothing"),
    "append": Operation(lambda s: insert(s, n=1, m=2)),
    "append on a branch": Operation(lambda s: insert(s, "work", n=1)),
    "append to a full tail": Operation(lambda s: insert(s, n=1), template="full tail"),
    "upsert": Operation(lambda s: upsert(s, a=10, n=1)),
    "delete": Operation(lambda s: delete(s, "a", "d")),
    "delete of everything": Operation(lambda s: delete(s, "a", "b", "c", "d")),
    "overwrite": Operation(lambda s: overwrite(s, z=26)),
    "overwrite with nothing": Operation(lambda s: overwrite(s)),
    "several tables": Operation(_several_tables),
    "schema change": Operation(_schema_change),
    "branch create": Operation(lambda s: s.create_branch("new", at="work"), Call.PUT_NEW),
    "branch delete": Operation(lambda s: s.delete_branch("work")),
    "tag create": Operation(lambda s: s.create_tag("v2", s.snapshot("work").commit), Call.PUT_NEW),
    "tag delete": Operation(lambda s: s.delete_tag("v1"), Call.DELETE),
    "compact": Operation(lambda s: _replacing(s, "compact", PEOPLE, lambda t, state: compact(t, state, key_indexes(SCHEMA)))),
    "index": Operation(lambda s: _replacing(s, "index", PEOPLE, lambda t, state: extend_indexes(t, state, INDEXES))),
    "column added": Operation(lambda s: _replacing(s, "add column", THINGS, _computed)),
    "column dropped": Operation(
        lambda s: _replacing(s, "drop column", THINGS, lambda t, state: drop_columns(t, state, ["text"]))
    ),
    "append that folds": Operation(lambda s: insert(s, n=1), template="many fragments"),
    "group": Operation(_group),
    "mixed group": Operation(_mixed_group),
    "revert": Operation(_revert),
    "reclaim": Operation(_reclaim, Call.PUT_NEW),
}
"""Reclaim makes old commits unreadable by the record it puts."""


def build_template(name: str, folder: Path) -> None:
    """A graph to copy: two branches besides main (one from the other), a tag, every kind of change."""
    folder.mkdir(parents=True, exist_ok=True)
    if name == "nothing":
        (folder / "graph").mkdir()
        return
    store = start(place(folder), 0)
    if name == "full tail":
        for number in range(63):
            upsert(store, MAIN, PEOPLE, **{f"k{number % 7}": number})
        return
    if name == "many fragments":
        for number in range(FOLD_FRAGMENTS + 1):
            insert(store, MAIN, PEOPLE, **{f"k{number}": number})
        return
    first = insert(store, a=1, b=2, c=3)
    insert(store, MAIN, THINGS, x=24, y=25)
    store.create_tag("v1", first.id)
    store.create_branch("work")
    upsert(store, "work", b=20)
    store.create_branch("side", at="work")
    delete(store, "a", branch="side")
    insert(store, d=4)


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder for many small graphs: in memory where that is possible, since what is tested is not the disk."""
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory, prefix="omnigraph-test-") as folder:
        yield Path(folder)


def copied(template: Path, to: Path) -> Path:
    """A copy of a template's folder: Lance datasets hold no absolute path, so a copy is a graph."""
    shutil.copytree(template, to)
    return to


# ── what a reader can see ────────────────────────────────────────────────────────────────────────────────────────────────────

Contents = dict[str, list[tuple[object, ...]]] | None
"""Rows of every table; None at a commit that was reclaimed."""


@dataclass(frozen=True)
class BranchSeen:
    head: str
    schema: SchemaDocument
    lineage: tuple[tuple[object, ...], ...]
    contents: tuple[Contents, ...]
    """Every table at the youngest commits and at the first."""


@dataclass(frozen=True)
class GraphSeen:
    branches: dict[str, BranchSeen]
    tags: dict[str, tuple[str, Contents]]
    unfinished: frozenset[str] = field(default=frozenset())
    """Names of branches that are sealed but still listed: the only trace a crash may leave, and `delete_branch` removes it."""


def describe(where: Place) -> GraphSeen | None:
    """All there is to see, or None if there is no graph. Fails if a lineage is not one unbroken line."""
    try:
        store = GraphStore.open(where, read_only=True)
    except NotFound:
        return None
    contents = _contents_of(store)
    branches, unfinished = {}, set()
    for name in store.branches():
        try:
            branches[name] = _branch_seen(store, name, contents)
        except NotFound as error:
            if f"no branch `{name}`" not in error.message:
                raise
            unfinished.add(name)
    tags = {t.name: (t.commit, contents(t.name)) for t in store.tags()}
    return GraphSeen(branches, tags, frozenset(unfinished))


def _branch_seen(store: GraphStore, name: str, contents: Callable[[str | Snapshot], Contents]) -> BranchSeen:
    snapshot = store.snapshot(name)
    commits = store.commits(name)
    assert_linear(commits)
    assert commits[0].id == snapshot.layout
    seen = (contents(snapshot), *(contents(c.id) for c in [*commits[1:5], commits[-1]]))
    return BranchSeen(snapshot.commit, store.schema(snapshot), tuple(_without_pins(c) for c in commits), seen)


def assert_is_new(name: str, seen: GraphSeen | None, new: GraphSeen | None) -> None:
    """That an operation has happened, to a graph that should be as `new`."""
    if name == "branch delete" and seen is not None and seen.unfinished:
        # Sealed, so nobody can read or write it; the name is listed until the deletion is asked for again.
        assert seen.unfinished == {"work"}
        assert new is not None
        assert (seen.branches, seen.tags) == (new.branches, new.tags)
    else:
        assert seen == new


def assert_linear(commits: list[Commit]) -> None:
    """Youngest first: each commit is the parent of the one before, down to the first of the graph."""
    assert [c.parent for c in commits] == [*(c.id for c in commits[1:]), None]
    assert [c.seq for c in commits] == list(range(len(commits) - 1, -1, -1))


def _contents_of(store: GraphStore) -> Callable[[str | Snapshot], Contents]:
    """Reads the tables of commits. Commits share pins, and a pin that was read is not read again."""

    @cache
    def rows(state: TableState) -> list[tuple[object, ...]]:
        table = store.tables.open(state)
        found = sorted(tuple(row.values()) for row in table.read().to_pylist())
        assert len(found) == table.count() == state.rows, state
        return found

    def contents(at: str | Snapshot) -> Contents:
        try:
            snapshot = store.snapshot_at(at) if isinstance(at, str) else at
            return {name: rows(state) for name, state in snapshot.tables.items()}
        except HistoryReclaimed:
            return None

    return contents


def _without_pins(commit: Commit) -> tuple[object, ...]:
    changes = tuple(
        (c.table, None if c.before is None else c.before.rows, None if c.after is None else c.after.rows, c.added, c.removed)
        for c in commit.changes
    )
    about = (commit.branch, commit.actor, commit.op_class, commit.operation, commit.message, commit.schema, commit.created_at)
    return (commit.id, commit.seq, commit.parent, commit.merged_parent, *about, changes)


def assert_writable(where: Place, seen: GraphSeen) -> None:
    """The next writes on the graph that was seen succeed: on every branch, and for a new one."""
    store = GraphStore.open(where)
    for name in seen.branches:
        before = content(store, name)
        upsert(store, name, afterwards=1)
        assert content(store, name) == {**before, "afterwards": 1}
    for name in seen.unfinished:
        store.delete_branch(name)
        store.create_branch(name)
    store.create_branch("afterwards")
    assert store.branches() == sorted({*seen.branches, *seen.unfinished, "afterwards"})


# ── children ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def run_and_die(operation: str, folder: Path, number: int, moment: Moment, durability: Durability) -> None:
    """Run an operation in a child process that is killed before or after its n-th durable call."""
    child = children.started(_run, operation, folder, number, moment, durability)
    child.join()
    assert child.exitcode == -signal.SIGKILL, f"{operation} lived on: {child.exitcode}"


def _run(operation: str, folder: Path, number: int, moment: Moment, durability: Durability) -> None:
    effects = Striking(number, moment, kill_this_process)
    perform(operation, place(folder, durability=durability, effects=effects))
