"""A process may die, a store may fail at any durable call: what is left is the graph as it was, or as it was to be, and the next
write succeeds. The power may fail, too: `test_power_failure`."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from tests.storage.crashing import (
    OPERATIONS,
    Counting,
    Died,
    GraphSeen,
    Moment,
    Striking,
    assert_is_new,
    assert_writable,
    build_template,
    copied,
    describe,
    die,
    disk_full,
    opened,
    perform,
    run_and_die,
    scratch_folder,
    start,
    store_error,
    timeout,
)
from tests.storage.graphs import PEOPLE, content, insert, new_graph, place, upsert

from omnigraph.errors import GraphError, StorageError
from omnigraph.storage.commits import turns
from omnigraph.storage.files.effects import Call, Effects
from omnigraph.storage.files.place import Durability, Place
from omnigraph.storage.graph_store import MAIN, GraphStore
from omnigraph.storage.reclaiming.verify import verify

REPEATABLE = ("reclaim",)
"""Operations that are finished by asking for them again."""

TURNING = (Call.PUBLISH, Call.PUT_NEW, Call.DELETE)
"""Calls that can make something visible."""

NAMES = list(OPERATIONS)


@pytest.fixture(scope="module")
def scratch() -> Iterator[Path]:
    with scratch_folder() as folder:
        yield folder


@pytest.fixture(scope="module")
def templates(scratch: Path) -> Path:
    for name in {operation.template for operation in OPERATIONS.values()}:
        build_template(name, scratch / "templates" / name)
    return scratch / "templates"


@dataclass(frozen=True)
class Course:
    """An undisturbed run of an operation: the graph before, the calls it makes, the graph after."""

    template: Path
    old: GraphSeen | None
    calls: list[Call]
    new: GraphSeen | None
    visible: int
    """Number of the call that makes it visible."""


Courses = Callable[[str], Course]


@pytest.fixture(scope="module")
def courses(templates: Path, scratch: Path) -> Courses:
    @cache
    def course(name: str) -> Course:
        operation, counting = OPERATIONS[name], Counting()
        template = templates / operation.template
        done = copied(template, scratch / f"done {name}")
        old = describe(place(done))
        perform(name, place(done, durability=Durability.FULL, effects=counting))
        new = describe(place(done))
        assert old != new
        assert counting.calls.count(operation.visible) == 1
        return Course(template, old, counting.calls, new, counting.calls.index(operation.visible) + 1)

    return course


# ── killed ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_process_killed_at_any_durable_call_leaves_the_old_graph_or_the_new_one(
    name: str, courses: Courses, folder: Path
) -> None:
    course = courses(name)

    def case(number: int, moment: Moment) -> None:
        graph = copied(course.template, folder / f"{number}-{moment.value}")
        run_and_die(name, graph, number, moment, Durability.FULL)
        seen = describe(place(graph))
        if number >= course.visible if moment is Moment.AFTER else number > course.visible:
            assert_is_new(name, seen, course.new)
        else:
            assert seen == course.old
        if seen is None:
            start(place(graph), 2_000_000)
            seen = describe(place(graph))
        assert seen is not None
        assert verify(GraphStore.open(place(graph), read_only=True), deep=True).problems == ()
        if name in REPEATABLE:
            perform(name, place(graph))
            assert_is_new(name, describe(place(graph)), course.new)
        assert_writable(place(graph), seen)
        shutil.rmtree(graph)

    # Between two calls nothing reaches the store, and a sync changes no file: see a test below. So "before the n-th call" is "after
    # the one before it", and is tried for those that make something visible; syncs are left out.
    calls = course.calls
    cases = [(n, Moment.AFTER) for n, call in enumerate(calls, 1) if call is not Call.SYNC]
    cases += [(n, Moment.BEFORE) for n, call in enumerate(calls, 1) if call in TURNING]
    for number, moment in cases:
        case(number, moment)


def of_tables(graph: Path) -> set[Path]:
    return {path for path in dataset_files(graph) if path.parts[0] != "__manifest"}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["reclaim"])
def test_a_long_operation_that_dies_at_any_call_is_finished_by_the_next_one(name: str, courses: Courses, folder: Path) -> None:
    course = courses(name)
    done = copied(course.template, folder / "done")
    perform(name, place(done))
    for number in range(1, len(course.calls) + 1):
        graph = copied(course.template, folder / f"{number}")
        with pytest.raises(Died):
            perform(name, place(graph, durability=Durability.FULL, effects=Striking(number, Moment.AFTER, die)))
        assert describe(place(graph)) == (course.new if number >= course.visible else course.old)
        perform(name, place(graph))
        assert describe(place(graph)) == course.new
        assert of_tables(graph) == of_tables(done)  # manifests were fenced once more
        shutil.rmtree(graph)


def dataset_files(folder: Path) -> set[Path]:
    graph = folder / "graph"
    return {p.relative_to(graph) for top in ("nodes", "edges", "__manifest") for p in files_below(graph / top)}


class Listing(Effects):
    """Fails when a file came, went or grew between two durable calls, or in a sync."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.known = files_below(folder)

    def before(self, call: Call) -> None:
        assert files_below(self.folder) == self.known, f"something reached the store before {call}"

    def after(self, call: Call) -> None:
        found = files_below(self.folder)
        assert call is not Call.SYNC or found == self.known
        self.known = found


def files_below(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_size for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", NAMES)
def test_nothing_reaches_the_store_between_two_durable_calls(name: str, templates: Path, folder: Path) -> None:
    graph = copied(templates / OPERATIONS[name].template, folder / "copy")
    effects = Listing(graph)
    perform(name, place(graph, durability=Durability.FULL, effects=effects))
    assert files_below(graph) == effects.known


def test_opening_and_reading_writes_nothing(templates: Path) -> None:
    before = files_below(templates)
    for template in templates.iterdir():
        describe(place(template))
    assert files_below(templates) == before


def test_an_init_that_died_can_be_repeated_with_another_schema(folder: Path) -> None:
    from omnigraph.storage.commits.manifest import SchemaDocument
    from omnigraph.storage.graph_store import NewTable

    with pytest.raises(Died):
        start(place(folder, effects=Striking(2, Moment.AFTER, die)))
    import pyarrow as pa

    schema = pa.schema([pa.field("id", pa.string(), nullable=False), pa.field("other", pa.bool_())])
    store = GraphStore.init(place(folder), SchemaDocument("s", "", ""), [NewTable(PEOPLE, "nodes/1-3", schema)])
    assert store.tables.open(store.snapshot().tables[PEOPLE]).schema.names == ["id", "other"]


# ── the store fails ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.slow
@pytest.mark.parametrize(
    ("moment", "fault"),
    [(Moment.BEFORE, store_error), (Moment.AFTER, timeout)],
    ids=lambda given: given.value if isinstance(given, Moment) else given.__name__,
)
@pytest.mark.parametrize("name", NAMES)
def test_a_call_that_fails_once_leaves_the_old_graph_or_the_new_one_and_a_store_that_can_be_written(
    name: str, moment: Moment, fault: Callable[[], None], courses: Courses, folder: Path
) -> None:
    course = courses(name)
    for number, call in enumerate(course.calls, 1):
        graph = copied(course.template, folder / f"{number}")
        effects = Striking(number, moment, fault)
        failed = False
        try:
            perform(name, place(graph, durability=Durability.FULL, effects=effects))
        except GraphError as error:
            failed = bool(error.message)
        seen = describe(place(graph))
        if not failed:
            assert seen == course.new
        else:
            assert call is not Call.PUBLISH, "an unclear publish is settled by looking"
            if seen != course.old:  # an unclear put or delete of a ref or tag is reported, and may have happened
                assert OPERATIONS[name].visible in effects.calls
                assert_is_new(name, seen, course.new)
        if seen is None:
            start(place(graph), 2_000_000)
        upsert(GraphStore.open(place(graph)), afterwards=1)
        shutil.rmtree(graph)


@pytest.mark.parametrize("name", ["init", "branch create", "branch delete", "tag create", "tag delete", "revert", "reclaim"])
def test_a_look_at_the_store_that_fails_leaves_the_old_graph_or_the_new_one(
    name: str, courses: Courses, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Listings and reads of small objects, each in turn."""
    course = courses(name)
    looks = 0
    failing: int | None = None

    def look(really: Callable[..., object]) -> Callable[..., object]:
        def looking(self: Place, path: str) -> object:
            nonlocal looks
            looks += 1
            if looks == failing:
                raise StorageError("the store went away")
            return really(self, path)

        return looking

    for method in ("objects", "_read"):
        monkeypatch.setattr(Place, method, look(getattr(Place, method)))
    perform(name, place(copied(course.template, folder / "counted")))
    assert looks
    for number in range(1, looks + 1):
        graph = copied(course.template, folder / f"{number}")
        looks, failing = 0, number
        done = False
        with suppress(StorageError):
            perform(name, place(graph))
            done = True  # it was a look at what is only noted down, to be quicker: without it the same is done
        failing = None
        seen = describe(place(graph))
        if done or seen != course.old:
            assert_is_new(name, seen, course.new)
        if seen is None:
            start(place(graph), 2_000_000)
        upsert(GraphStore.open(place(graph)), afterwards=1)
        assert verify(GraphStore.open(place(graph)), deep=True).problems == ()
        shutil.rmtree(graph)


@pytest.mark.parametrize("name", ["append", "upsert", "delete", "overwrite", "several tables", "group", "append that folds"])
def test_a_timeout_after_the_swap_is_a_success_reported_once_and_applied_once(name: str, courses: Courses, folder: Path) -> None:
    course = courses(name)
    graph = copied(course.template, folder / "copy")
    effects = Striking(course.visible, Moment.AFTER, timeout)
    perform(name, place(graph, durability=Durability.FULL, effects=effects))
    assert effects.calls.count(Call.PUBLISH) == 1
    assert describe(place(graph)) == course.new


def test_a_timeout_after_the_swap_is_settled_even_when_others_have_committed_since(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "STALLED", 0.0)  # the others commit while this process has the turn
    other = new_graph(folder)
    calls = Counting()
    insert(GraphStore.open(place(folder, effects=calls)), first=1)

    def lose_the_answer() -> None:
        for number in range(70):  # so many that the commit in doubt is no longer in the tail
            upsert(other, k=number)
        timeout()

    effects = Striking(calls.calls.index(Call.PUBLISH) + 1, Moment.AFTER, lose_the_answer)
    commit = insert(GraphStore.open(place(folder, effects=effects)), a=1)
    assert content(other) == {"first": 1, "a": 1, "k": 69}
    assert [c.id for c in other.commits()].count(commit.id) == 1


class Down(Effects):
    """A store that is gone from the n-th call on, until it is back."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.begun = 0
        self.back = False

    def before(self, call: Call) -> None:
        self.begun += 1
        if not self.back and self.begun >= self.number:
            store_error()


def test_a_store_that_stays_down_gives_a_typed_error_soon_and_the_handle_works_once_it_is_back(
    courses: Courses, folder: Path
) -> None:
    course = courses("append")
    for number in range(1, len(course.calls) + 1):
        effects = Down(number)
        graph = copied(course.template, folder / f"{number}")
        store = opened(place(graph, durability=Durability.FULL, effects=effects))
        before = content(store)
        with pytest.raises(StorageError, match="the store went away"):
            insert(store, n=1)
        effects.back = True
        assert effects.begun < 50
        swapped = number > course.visible  # only the sync of the swap failed: it is there, but nobody was promised that it stays
        assert content(store) == ({**before, "n": 1} if swapped else before)
        upsert(store, n=2)
        assert content(store) == {**before, "n": 2}


def test_a_failed_write_over_several_tables_leaves_both_queryable_and_unblocks_the_next_write(
    templates: Path, folder: Path
) -> None:
    graph = copied(templates / "graph", folder / "copy")
    old = describe(place(graph))
    effects = Striking(2, Moment.AFTER, disk_full)  # one table has its new version, the other has not
    store = opened(place(graph, effects=effects))
    with pytest.raises(StorageError, match="no space left"):
        OPERATIONS["several tables"].run(store)
    assert effects.calls == [Call.WRITE_ROWS, Call.PIN]
    assert describe(place(graph)) == old
    OPERATIONS["several tables"].run(store)
    assert content(store)["p"] == 1


class HoldingTheSwap(Effects):
    """Stops the first publisher just before its swap until it is let go, and interrupts it then."""

    def __init__(self) -> None:
        self.reached, self.release = threading.Event(), threading.Event()
        self.struck = False

    def before(self, call: Call) -> None:
        if call is Call.PUBLISH and not self.struck:
            self.struck = True
            self.reached.set()
            assert self.release.wait(10)
            die()


def test_an_interrupted_leader_does_not_strand_those_who_queue_behind_it(folder: Path) -> None:
    new_graph(folder)
    effects = HoldingTheSwap()
    store = GraphStore.open(place(folder, effects=effects))
    publisher = store.publisher(store.ref(MAIN))
    outcomes: dict[str, object] = {}

    def write(key: str) -> None:
        try:
            outcomes[key] = insert(store, MAIN, PEOPLE, **{key: 1}).id
        except BaseException as error:
            outcomes[key] = error

    leader, follower = (threading.Thread(target=write, args=(k,), daemon=True) for k in ("a", "b"))
    leader.start()
    assert effects.reached.wait(10)
    follower.start()
    deadline = time.monotonic() + 10
    while not publisher._queue and time.monotonic() < deadline:
        time.sleep(0.001)
    effects.release.set()
    for thread in (leader, follower):
        thread.join(10)
        assert not thread.is_alive(), "a writer waits for a leader that is gone"
    assert isinstance(outcomes["a"], Died)
    # The follower either committed or was told; it may not be told one thing while the other is true.
    assert ("b" in content(store)) == isinstance(outcomes["b"], str)
    assert "a" not in content(store)
