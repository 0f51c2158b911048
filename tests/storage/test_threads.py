"""Several threads of one process on one graph: their writes share swaps, and each is told what happened to its own."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from lance.fragment import DataFile
from tests.storage.crashing import Died, assert_linear, die
from tests.storage.graphs import PEOPLE, TABLES, THINGS, content, insert, new_graph, place, rows
from tests.storage.latencies import is_busy, percentiles

from omnigraph.errors import StorageError
from omnigraph.storage.commits import publisher
from omnigraph.storage.commits.lineage import OpClass
from omnigraph.storage.commits.manifest import TAIL_COMMITS, SchemaDocument
from omnigraph.storage.commits.plan import PlannedChange, PublishPlan
from omnigraph.storage.commits.waiting import Waiting
from omnigraph.storage.files.effects import Call, Effects
from omnigraph.storage.graph_store import MAIN, GraphStore, NewTable
from omnigraph.storage.reclaiming.verify import verify
from omnigraph.storage.tables.changes import Append, Change, Delete, Named, Overwrite, Upsert
from omnigraph.storage.tables.table import Table

THREADS = 16


def run_in_threads(work: list[threading.Thread]) -> None:
    for thread in work:
        thread.start()
    for thread in work:
        thread.join(60)
        assert not thread.is_alive()


@pytest.mark.slow
def test_writes_of_sixteen_threads_share_swaps_and_each_is_a_commit_of_its_own(
    folder: Path, record_property: pytest.FixtureRequest
) -> None:
    each = 8
    swaps = Counter[Call]()

    class CountingSwaps(Effects):
        def after(self, call: Call) -> None:
            swaps[call] += 1

    store = new_graph(folder, effects=CountingSwaps())
    failures: list[BaseException] = []
    latencies: list[float] = []
    started = threading.Barrier(THREADS)

    def write(name: int) -> None:
        try:
            started.wait()
            for number in range(each):
                begun = time.perf_counter()
                insert(store, MAIN, PEOPLE, **{f"t{name}-{number}": number})
                latencies.append((time.perf_counter() - begun) * 1000)
        except BaseException as error:
            failures.append(error)

    def read_along() -> None:
        """Whoever reads meanwhile sees a whole line, and a head that holds what its number says."""
        try:
            while len(latencies) < THREADS * each and not failures:
                snapshot = store.snapshot()
                commits = store.commits()
                assert_linear(commits)
                assert snapshot.commit in {c.id for c in commits}
                seq = next(c.seq for c in commits if c.id == snapshot.commit)
                assert store.tables.open(snapshot.tables[PEOPLE]).count() == snapshot.tables[PEOPLE].rows == seq
                assert len(content(store, at=commits[len(commits) // 2].id)) == commits[len(commits) // 2].seq
        except BaseException as error:
            failures.append(error)

    begun = time.perf_counter()
    readers = [threading.Thread(target=read_along, daemon=True) for _ in range(2)]
    run_in_threads([*(threading.Thread(target=write, args=(n,), daemon=True) for n in range(THREADS)), *readers])
    seconds = time.perf_counter() - begun
    assert failures == []
    commits = store.commits()
    assert_linear(commits)
    assert len(commits) == THREADS * each + 1
    assert len({c.id for c in commits}) == len(commits)
    assert content(GraphStore.open(place(folder))) == {f"t{n}-{k}": k for n in range(THREADS) for k in range(each)}
    for commit in commits:
        assert len(content(store, at=commit.id)) == commit.seq
    assert swaps[Call.PUBLISH] < THREADS * each
    p50, p99 = percentiles(latencies)
    note = (
        f"{THREADS} threads x {each} commits in {seconds:.1f} s, {swaps[Call.PUBLISH]} swaps: "
        f"p50 {p50:.0f} ms, p99 {p99:.0f} ms, longest {max(latencies):.0f} ms, busy: {is_busy()}"
    )
    record_property("latency", note)  # type: ignore[operator]
    print(note)


class Holding(Effects):
    """Keeps the first swap waiting until it is let go, and fails some of those that follow."""

    def __init__(self, failing: range = range(0)) -> None:
        self.reached, self.release = threading.Event(), threading.Event()
        self.failing = failing
        self.swaps = 0

    def before(self, call: Call) -> None:
        if call is not Call.PUBLISH:
            return
        self.swaps += 1
        if self.swaps == 1:
            self.reached.set()
            assert self.release.wait(30)
        if self.swaps in self.failing:
            raise StorageError("the store went away")


Write = Callable[[GraphStore], object]


def outcomes_of_one_group(folder: Path, effects: Holding, *writes: Write, branch: str = MAIN) -> tuple[GraphStore, list[str]]:
    """Run the first write in a swap of its own and the others as far as they can share the next; what each was told."""
    store = GraphStore.open(place(folder, effects=effects))
    publisher = store.publisher(store.ref(branch))
    told = ["nothing"] * len(writes)

    def run(number: int) -> None:
        try:
            writes[number](store)
            told[number] = "done"
        except Exception as error:
            told[number] = type(error).__name__

    threads = [threading.Thread(target=run, args=(n,), daemon=True) for n in range(len(writes))]
    threads[0].start()
    assert effects.reached.wait(30)
    for queued, thread in enumerate(threads[1:], 1):
        thread.start()
        deadline = time.monotonic() + 30
        while len(publisher._queue) < queued and time.monotonic() < deadline:
            time.sleep(0.001)
    effects.release.set()
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive()
    return store, told


def inserting(key: str) -> Write:
    return lambda store: insert(store, MAIN, PEOPLE, **{key: 1})


def test_every_commit_of_a_group_that_overflows_the_tail_can_be_travelled_to(folder: Path) -> None:
    store = new_graph(folder)
    for number in range(TAIL_COMMITS - 4):
        insert(store, MAIN, PEOPLE, **{f"k{number}": number})
    _, told = outcomes_of_one_group(folder, Holding(), *(inserting(f"t{n}") for n in range(THREADS)))
    assert told == ["done"] * THREADS
    for number in range(3):
        insert(store, MAIN, PEOPLE, **{f"z{number}": number})
    reopened = GraphStore.open(place(folder))
    commits = reopened.commits()
    assert_linear(commits)
    assert len(commits) == TAIL_COMMITS - 4 + THREADS + 3 + 1
    for commit in commits:
        assert len(content(reopened, at=commit.id)) == commit.seq


def test_a_plan_of_a_group_that_is_void_fails_alone(folder: Path) -> None:
    new_graph(folder)
    effects = Holding()
    store, told = outcomes_of_one_group(folder, effects, *(inserting(k) for k in ("first", "same", "same", "other")))
    assert told == ["done", "done", "KeyConflict", "done"]
    assert effects.swaps == 2
    assert content(store) == {"first": 1, "same": 1, "other": 1}
    assert_linear(store.commits())


def test_a_write_of_a_group_that_cannot_be_stored_fails_alone(folder: Path) -> None:
    store = new_graph(folder)
    snapshot = store.snapshot()
    written = store.tables.open(snapshot.tables[PEOPLE]).store(rows(bad=1))
    (fragment,) = written.fragments
    (file,) = fragment.files
    broken = replace(written, fragments=(replace(fragment, files=[DataFile(file.path, [0])]),))

    def storing_what_lance_refuses(handle: GraphStore) -> object:
        change = PlannedChange(PEOPLE, Append(broken, ("bad",)))
        return handle.publish(MAIN, PublishPlan(OpClass.LOGICAL, "insert", snapshot.commit, (change,)))

    writes = [inserting("a"), inserting("b"), storing_what_lance_refuses, inserting("c")]
    store, told = outcomes_of_one_group(folder, Holding(), *writes)
    assert told == ["done", "done", "StorageError", "done"]
    assert content(store) == {"a": 1, "b": 1, "c": 1}
    assert_linear(store.commits())


def changing(change: Callable[[Table], Change], read: frozenset[str] = frozenset()) -> Write:
    """A change, and the rows that it relies on."""

    def write(store: GraphStore) -> object:
        snapshot = store.snapshot()
        made = change(store.tables.open(snapshot.tables[PEOPLE]))
        ids = frozenset(made.ids) if not isinstance(made, Overwrite) else frozenset[str]()
        came = () if isinstance(made, Delete) else tuple(sorted(ids))
        named = Named(came, tuple(sorted(ids - set(came))))
        planned = PlannedChange(PEOPLE, made, named)
        reading = {PEOPLE: read} if read else {}
        return store.publish(MAIN, PublishPlan(OpClass.LOGICAL, "change", snapshot.commit, (planned,), read_rows=reading))

    return write


def put(**values: int) -> Write:
    """Rows that are new to whoever puts them, and take the place of what is there by then."""
    return changing(lambda table: Append(table.write(rows(**values)), tuple(values), or_replace=True))


def update(**values: int) -> Write:
    return changing(lambda table: Upsert(table.write(rows(**values)), tuple(values)), frozenset(values))


def remove(*ids: str) -> Write:
    return changing(lambda _: Delete(ids), frozenset(ids))


@pytest.mark.parametrize(
    ("writes", "told", "after"),
    [
        ([put(x=1), put(y=2), put(x=3), put(z=4)], [], {"a": 1, "b": 2, "c": 3, "x": 3, "y": 2, "z": 4}),
        ([put(x=1), update(a=5), remove("b"), put(y=2)], [], {"a": 5, "c": 3, "x": 1, "y": 2}),
        ([put(x=1), update(a=5), update(a=6), update(b=7)], [2], {"a": 5, "b": 7, "c": 3, "x": 1}),
        ([put(x=1), remove("a"), update(a=6), remove("b"), remove("a")], [2, 4], {"c": 3, "x": 1}),
        ([put(x=1), remove("a"), put(a=9), update(c=8)], [], {"a": 9, "b": 2, "c": 8, "x": 1}),
        ([put(x=1), remove("a"), remove("b"), remove("c")], [], {"x": 1}),
        ([put(x=1), inserting("y"), put(y=2), inserting("y")], [3], {"a": 1, "b": 2, "c": 3, "x": 1, "y": 2}),
    ],
    ids=["same key", "every kind", "same row", "gone row", "put back", "all gone", "must be new"],
)
def test_changes_of_a_group_come_to_what_they_come_to_one_after_the_other(
    folder: Path, writes: list[Write], told: list[int], after: dict[str, int]
) -> None:
    insert(new_graph(folder), MAIN, PEOPLE, a=1, b=2, c=3)
    effects = Holding()
    store, outcomes = outcomes_of_one_group(folder, effects, *writes)
    assert [n for n, outcome in enumerate(outcomes) if outcome != "done"] == told
    assert set(outcomes) <= {"done", "ReadSetChanged", "KeyConflict"}
    assert effects.swaps == 2
    assert content(store) == content(GraphStore.open(place(folder))) == after
    commits = store.commits()
    assert_linear(commits)
    sizes = [len(content(store, at=commit.id)) for commit in commits]
    assert sizes == [commit.changes[0].after.rows for commit in commits[:-1] if commit.changes[0].after is not None] + [0]
    assert verify(store, deep=True).problems == ()


def test_a_group_whose_versions_could_not_be_made_side_by_side_is_published_one_by_one(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new_graph(folder)

    def failing(*_: object) -> None:
        raise StorageError("the store went away")

    monkeypatch.setattr(publisher, "apply_each", failing)
    store, told = outcomes_of_one_group(folder, Holding(), *(inserting(key) for key in "abcd"))
    assert told == ["done"] * 4
    for commit in store.commits():
        assert len(content(store, at=commit.id)) == commit.seq


def test_a_schema_change_behind_a_group_that_fails_is_told_what_happened_to_itself(folder: Path) -> None:
    new_graph(folder)
    document = SchemaDocument("schema-2", "", "")

    def change_the_schema(store: GraphStore) -> object:
        return store.publish(MAIN, PublishPlan(OpClass.LOGICAL, "schema", store.snapshot().commit, schema=document))

    effects = Holding(failing=range(2, 6))  # as often as the group of the second write tries
    store, told = outcomes_of_one_group(folder, effects, inserting("a"), inserting("b"), change_the_schema)
    assert told == ["done", "StorageError", "done"]
    assert content(store) == {"a": 1}
    assert store.schema(store.snapshot()) == document
    assert_linear(store.commits())


def test_a_leader_returns_when_its_own_write_is_done_however_many_follow(folder: Path) -> None:
    store = new_graph(folder)
    returned = threading.Event()
    failures: list[BaseException] = []
    followed = Counter[str]()
    most = 60

    def follow(name: str) -> None:
        try:
            while not returned.is_set() and followed[name] < most:
                insert(store, MAIN, PEOPLE, **{f"{name}-{followed[name]}": 1})
                followed[name] += 1
        except BaseException as error:
            failures.append(error)

    def lead() -> None:
        while len(followed) < 3 and not failures:
            time.sleep(0.001)
        insert(store, MAIN, PEOPLE, first=1)
        returned.set()

    run_in_threads(
        [threading.Thread(target=lead, daemon=True)] + [threading.Thread(target=follow, args=(n,), daemon=True) for n in "abc"]
    )
    assert failures == []
    assert max(followed.values()) < most
    assert_linear(store.commits())


def test_a_follower_that_is_interrupted_neither_writes_nor_keeps_others_waiting(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new_graph(folder)
    effects = Holding()
    store = GraphStore.open(place(folder, effects=effects))
    leader = threading.Thread(target=inserting("a"), args=(store,), daemon=True)
    leader.start()
    assert effects.reached.wait(30)
    with monkeypatch.context() as patch:
        patch.setattr(Waiting, "wait", lambda *_: die())
        with pytest.raises(Died):
            insert(store, gone=1)
    effects.release.set()
    leader.join(30)
    insert(store, b=1)
    assert content(store) == {"a": 1, "b": 1}


@pytest.mark.parametrize("change", ["creates", "drops"])
def test_of_two_schema_changes_at_once_the_second_is_void_and_others_go_on(folder: Path, change: str) -> None:
    store = new_graph(folder)
    base = store.snapshot().commit
    insert(store, a=1)
    created = store.create_tables([NewTable("edge:9-10", "edges/9-10", TABLES[0].schema)])

    def publish_on_the_old_base(handle: GraphStore) -> object:
        if change == "creates":
            plan = PublishPlan(OpClass.LOGICAL, "schema", base, creates=created, schema=SchemaDocument("schema-2", "", ""))
        else:
            plan = PublishPlan(OpClass.LOGICAL, "schema", base, drops=(THINGS,), schema=SchemaDocument("schema-2", "", ""))
        return handle.publish(MAIN, plan)

    writes = [publish_on_the_old_base, inserting("b"), publish_on_the_old_base, inserting("c")]
    store, told = outcomes_of_one_group(folder, Holding(), *writes)
    assert told == ["done", "done", "ReadSetChanged", "done"]
    assert content(store) == {"a": 1, "b": 1, "c": 1}
    assert_linear(store.commits())


def test_writes_behind_a_seal_are_refused_and_those_before_it_are_kept(folder: Path) -> None:
    first = new_graph(folder)
    first.create_branch("work")
    incarnation = first.ref("work").incarnation

    def on_work(key: str) -> Write:
        return lambda store: insert(store, "work", PEOPLE, **{key: 1})

    writes = [on_work("a"), on_work("b"), lambda store: store.delete_branch("work"), on_work("c")]
    store, told = outcomes_of_one_group(folder, Holding(), *writes, branch="work")
    assert told == ["done", "done", "done", "NotFound"]
    assert [c.operation for c in store._manifest(incarnation).history()] == ["branch delete", "insert", "insert"]
    assert store.branches() == [MAIN]
