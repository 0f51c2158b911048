"""Several processes, and several threads, on one graph: the normal case."""

from __future__ import annotations

import os
import statistics
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from lance.fragment import DataFile
from tests.storage.crashing import Died, assert_linear, die, scratch_folder
from tests.storage.graphs import PEOPLE, TABLES, THINGS, content, insert, new_graph, place, rows
from tests.storage.writers import Writer

from omnigraph.errors import NotFound, StorageError
from omnigraph.storage import publisher
from omnigraph.storage.changes import Append
from omnigraph.storage.effects import Call, Effects
from omnigraph.storage.graph_store import MAIN, GraphStore, NewTable
from omnigraph.storage.lineage import OpClass
from omnigraph.storage.manifest import TAIL_COMMITS, SchemaDocument
from omnigraph.storage.plan import PlannedChange, PublishPlan

PROCESSES = 8
COMMITS = 25
THREADS = 16


@pytest.fixture
def folder() -> Iterator[Path]:
    with scratch_folder() as path:
        yield path


@contextmanager
def writers(*started: Writer) -> Iterator[Sequence[Writer]]:
    with ExitStack() as stack:
        for writer in started:
            stack.enter_context(writer)
        for writer in started:
            writer.expect("ready")
        yield started


def let_go(those: Sequence[Writer]) -> None:
    for writer in those:
        writer.go()


def outcomes(those: Sequence[Writer]) -> list[tuple[str, object]]:
    """(`done` or `error`, what), one per writer."""
    return [next(iter(writer.outcome().items())) for writer in those]


def percentiles(milliseconds: Sequence[float]) -> tuple[float, float]:
    cuts = statistics.quantiles(milliseconds, n=100, method="inclusive")
    return cuts[49], cuts[98]


def is_busy() -> bool:
    """Whether others were using this machine: then latencies say nothing."""
    return os.getloadavg()[0] > 0.7 * (os.cpu_count() or 1)


# ── processes on one branch, and on many ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.slow
def test_commits_of_eight_processes_on_one_branch_form_one_line_and_none_is_lost(
    folder: Path, record_property: pytest.FixtureRequest
) -> None:
    busy = is_busy()
    store = new_graph(folder)
    with writers(*(Writer("commits", folder, branch=MAIN, name=f"p{n}", count=COMMITS) for n in range(PROCESSES))) as those:
        begun = time.perf_counter()
        let_go(those)
        answers = outcomes(those)
        seconds = time.perf_counter() - begun
    assert [kind for kind, _ in answers] == ["done"] * PROCESSES, answers
    commits = store.commits()
    assert_linear(commits)
    assert len(commits) == PROCESSES * COMMITS + 1
    assert content(store) == {f"p{n}-{k}": k for n in range(PROCESSES) for k in range(COMMITS)}
    assert store.tables.open(store.snapshot().tables[PEOPLE]).count() == PROCESSES * COMMITS
    for commit in commits[:: len(commits) // 7]:
        assert len(content(store, at=commit.id)) == commit.seq
    latencies = [ms for _, each in answers for ms in each]  # type: ignore[attr-defined]
    p50, p99 = percentiles(latencies)
    note = f"{PROCESSES} processes x {COMMITS} commits in {seconds:.1f} s: p50 {p50:.0f} ms, p99 {p99:.0f} ms, busy: {busy}"
    record_property("latency", note)  # type: ignore[operator]
    print(note)


@pytest.mark.slow
def test_processes_on_branches_of_their_own_never_conflict(folder: Path) -> None:
    store = new_graph(folder)
    insert(store, shared=1)
    names = [f"agent/{n}" for n in range(PROCESSES)]
    for name in names:
        store.create_branch(name)
    with writers(*(Writer("commits", folder, branch=name, name="k", count=10) for name in names)) as those:
        let_go(those)
        answers = outcomes(those)
    assert [kind for kind, _ in answers] == ["done"] * PROCESSES, answers
    for name in names:
        assert content(store, name) == {"shared": 1, **{f"k-{k}": k for k in range(10)}}
        assert_linear(store.commits(name))
    assert content(store) == {"shared": 1}


# ── two at one point ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_of_two_processes_that_insert_one_new_key_exactly_one_wins(folder: Path) -> None:
    store = new_graph(folder)
    with writers(*(Writer("insert", folder, key="a", value=n, pause="PUBLISH") for n in (1, 2))) as both:
        let_go(both)
        for writer in both:  # each has read the same head and stands before the swap
            writer.expect("paused")
        let_go(both)
        answers = outcomes(both)
    assert sorted(kind for kind, _ in answers) == ["done", "error"]
    assert ("error", "key_conflict") in answers
    winner = next(n for n, (kind, _) in zip((1, 2), answers, strict=True) if kind == "done")
    assert content(store) == {"a": winner}
    assert len(store.commits()) == 2


def test_two_processes_that_insert_different_keys_at_once_both_win(folder: Path) -> None:
    store = new_graph(folder)
    with writers(*(Writer("insert", folder, key=f"k{n}", value=n, pause="PUBLISH") for n in (1, 2))) as both:
        let_go(both)
        for writer in both:
            writer.expect("paused")
        let_go(both)
        assert [kind for kind, _ in outcomes(both)] == ["done", "done"]
    assert content(store) == {"k1": 1, "k2": 2}
    assert_linear(store.commits())


def test_of_two_processes_that_start_one_graph_exactly_one_wins(folder: Path) -> None:
    with writers(*(Writer("init", folder, pause="PUT_NEW") for _ in range(2))) as both:
        let_go(both)
        for writer in both:  # each has made tables and a manifest
            writer.expect("paused")
        let_go(both)
        answers = outcomes(both)
    assert ("error", "already_exists") in answers
    (first,) = (what for kind, what in answers if kind == "done")
    store = GraphStore.open(place(folder))
    assert [c.id for c in store.commits()] == [first]
    insert(store, a=1)
    assert content(store) == {"a": 1}


def test_of_two_processes_that_create_one_branch_exactly_one_wins(folder: Path) -> None:
    store = new_graph(folder)
    insert(store, a=1)
    with writers(*(Writer("create branch", folder, name="work", pause="PUT_NEW") for _ in range(2))) as both:
        let_go(both)
        for writer in both:
            writer.expect("paused")
        let_go(both)
        answers = outcomes(both)
    assert ("error", "already_exists") in answers
    (winner,) = (what for kind, what in answers if kind == "done")
    assert store.ref("work").incarnation == winner
    insert(store, "work", b=2)
    assert content(store, "work") == {"a": 1, "b": 2}


# ── deleting a branch under a writer ─────────────────────────────────────────────────────────────────────────────────────────


def sealed_history(store: GraphStore, incarnation: str) -> list[str]:
    manifest = store._manifest(incarnation)
    assert manifest.load().head.sealed
    return [c.id for c in manifest.history()]


def test_a_writer_that_prepared_its_write_before_the_branch_was_deleted_is_told(folder: Path) -> None:
    store = new_graph(folder)
    store.create_branch("work")
    with writers(Writer("insert", folder, branch="work", key="a", value=1)) as (late,):
        store.delete_branch("work")
        late.go()
        assert late.outcome() == {"error": "not_found"}


def test_a_writer_that_stands_before_its_swap_when_the_branch_is_deleted_is_told(folder: Path) -> None:
    store = new_graph(folder)
    ref = store.create_branch("work")
    with writers(Writer("insert", folder, branch="work", key="a", value=1, pause="PUBLISH")) as (late,):
        late.go()
        late.expect("paused")
        store.delete_branch("work")
        late.go()
        assert late.outcome() == {"error": "not_found"}
    assert len(sealed_history(store, ref.incarnation)) == 1
    store.create_branch("work")
    assert content(store, "work") == {}


def test_a_write_acknowledged_before_the_seal_is_under_it(folder: Path) -> None:
    store = new_graph(folder)
    ref = store.create_branch("work")
    with writers(Writer("delete branch", folder, name="work", pause="PUBLISH")) as (deleter,):
        deleter.go()
        deleter.expect("paused")  # the seal is prepared on a head that is about to be replaced
        commit = insert(store, "work", a=1)
        deleter.go()
        assert deleter.outcome() == {"done": None}
    seal, acknowledged = sealed_history(store, ref.incarnation)
    assert acknowledged == commit.id != seal
    with pytest.raises(NotFound):
        insert(GraphStore.open(place(folder)), "work", b=1)


def test_no_write_is_acknowledged_into_a_branch_that_is_gone(folder: Path) -> None:
    store = new_graph(folder)
    ref = store.create_branch("work")
    with writers(Writer("until refused", folder, branch="work", announce=3)) as (writer,):
        writer.go()
        writer.expect("well under way")
        store.delete_branch("work")
        done = writer.outcome()["done"]
    assert isinstance(done, list)
    assert done[0] == "not_found"
    assert sealed_history(store, ref.incarnation)[1:] == done[:0:-1]


def test_deleting_a_branch_that_was_deleted_and_made_again_meanwhile_seals_the_new_one(folder: Path) -> None:
    store, stale = new_graph(folder), GraphStore.open(place(folder))
    store.create_branch("work")
    stale.snapshot("work")
    store.delete_branch("work")
    ref = store.create_branch("work")
    stale.delete_branch("work")
    with pytest.raises(NotFound):
        insert(store, "work", a=1)
    sealed_history(store, ref.incarnation)


class Meeting(Effects):
    """Lets somebody else act just before the first call of a kind."""

    def __init__(self, call: Call) -> None:
        self.call: Call | None = call
        self.act: Callable[[], object] = lambda: None

    def before(self, call: Call) -> None:
        if call is self.call:
            self.call = None
            self.act()


def test_a_slow_deleter_does_not_remove_the_ref_of_a_branch_made_in_between(folder: Path) -> None:
    store = new_graph(folder)
    store.create_branch("work")
    effects = Meeting(Call.DELETE)

    def finish_the_deletion_and_make_it_again() -> None:
        store.delete_branch("work")
        store.create_branch("work")
        insert(store, "work", a=1)

    effects.act = finish_the_deletion_and_make_it_again
    GraphStore.open(place(folder, effects=effects)).delete_branch("work")
    assert content(GraphStore.open(place(folder)), "work") == {"a": 1}


def test_a_branch_from_a_name_that_was_given_to_a_new_branch_starts_at_the_new_one(folder: Path) -> None:
    store, stale = new_graph(folder), GraphStore.open(place(folder))
    store.create_branch("work")
    stale.snapshot("work")
    store.delete_branch("work")
    store.create_branch("work")
    insert(store, "work", a=1)
    stale.create_branch("next", at="work")
    insert(stale, "next", b=2)
    assert content(store, "next") == {"a": 1, "b": 2}
    assert_linear(store.commits("next"))
    assert len(store.commits("next")) == 3


def test_a_stale_handle_finds_what_another_process_did_to_a_branch_made_again(folder: Path) -> None:
    store, stale = new_graph(folder), GraphStore.open(place(folder))
    store.create_branch("work")
    stale.snapshot("work")
    store.delete_branch("work")
    store.create_branch("work")
    commit = insert(store, "work", a=1)
    assert stale.commit(commit.id).id == commit.id
    assert stale.commits("work")[0].id == commit.id
    assert content(stale, at=commit.id) == {"a": 1}


def test_a_plan_made_by_a_fresh_handle_is_published_by_a_stale_one(folder: Path) -> None:
    fresh, stale = new_graph(folder), GraphStore.open(place(folder))
    stale.snapshot()
    head = insert(fresh, a=1).id
    for expected, key in ((None, "b"), ("head", "c")):
        snapshot = fresh.snapshot()
        written = fresh.tables.open(snapshot.tables[PEOPLE]).write(rows(**{key: 1}))
        change = PlannedChange(PEOPLE, Append(written, (key,)))
        plan = PublishPlan(OpClass.LOGICAL, "x", snapshot.commit, (change,), expected_head=expected and snapshot.commit)
        stale.publish(MAIN, plan)
        insert(fresh, MAIN, PEOPLE, **{f"{key}{key}": 1})
    assert head in {c.id for c in stale.commits()}
    assert set(content(stale)) == {"a", "b", "bb", "c", "cc"}


# ── threads of one process ───────────────────────────────────────────────────────────────────────────────────────────────────


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


def outcomes_of_one_group(folder: Path, effects: Holding, *writes: Write) -> tuple[GraphStore, list[str]]:
    """Run the first write in a swap of its own and the others as far as they can share the next; what each was told."""
    store = GraphStore.open(place(folder, effects=effects))
    publisher = store._publisher(store.ref(MAIN))
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


def test_a_group_whose_versions_could_not_be_made_side_by_side_is_published_one_by_one(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new_graph(folder)

    def failing(*_: object) -> None:
        raise StorageError("the store went away")

    monkeypatch.setattr(publisher, "append_each", failing)
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
        patch.setattr(threading.Event, "wait", lambda *_: die())
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
    new_graph(folder).create_branch("work")
    effects = Holding()
    store = GraphStore.open(place(folder, effects=effects))
    ref = store.ref("work")
    told: dict[str, str] = {}

    def run(name: str, write: Write) -> None:
        try:
            write(store)
            told[name] = "done"
        except Exception as error:
            told[name] = type(error).__name__

    def on_work(key: str) -> Write:
        return lambda s: insert(s, "work", PEOPLE, **{key: 1})

    publisher = store._publisher(ref)
    plan = [("a", on_work("a")), ("b", on_work("b")), ("seal", lambda s: s.delete_branch("work")), ("c", on_work("c"))]
    threads = [threading.Thread(target=run, args=entry, daemon=True) for entry in plan]
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
    assert told == {"a": "done", "b": "done", "seal": "done", "c": "NotFound"}
    assert [c.operation for c in store._manifest(ref.incarnation).history()] == ["branch delete", "insert", "insert"]
    assert store.branches() == [MAIN]
