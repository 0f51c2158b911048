"""Several processes on one graph: the normal case. Threads of one process have `test_threads`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from tests.storage.crashing import assert_linear
from tests.storage.graphs import PEOPLE, content, insert, new_graph, place, rows
from tests.storage.latencies import is_busy, percentiles
from tests.storage.writers import Writer

from omnigraph.errors import NotFound
from omnigraph.storage.commits.lineage import Commit, OpClass
from omnigraph.storage.commits.plan import PlannedChange, PublishPlan
from omnigraph.storage.files.effects import Call, Effects
from omnigraph.storage.graph_store import MAIN, GraphStore
from omnigraph.storage.tables.changes import Append

PROCESSES = 8
COMMITS = 50
THREADS = 16


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
        told = deleter.outcome()["done"]
    seal, acknowledged = sealed_history(store, ref.incarnation)
    assert isinstance(told, Commit)
    assert told.id == seal
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
