"""Cleanups that die at any durable call, and whoever names, deletes or cleans up at any durable call of a cleanup.

The graph has something of everything that goes: commits beyond the policy, the manifest of a deleted branch, garbage. The clock of
cleanups is two hours ahead, so nothing is young. Whatever happens: `verify` finds nothing wrong, every branch and tag can be read by its name and
by the id of its commit, whoever was refused is told why in one of three errors, and the next cleanup succeeds.
"""

from __future__ import annotations

import random
import re
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from unittest import mock

import pytest
from tests.storage.aging import MovedClock
from tests.storage.crashing import Counting, Died, Moment, Striking, copied, die, scratch_folder
from tests.storage.graphs import PEOPLE, content, insert, new_graph, overwrite, place, rows

from omnigraph.errors import CleanupUnderWay, HistoryReclaimed, NotFound, StalledWrite
from omnigraph.storage import graph_store
from omnigraph.storage.commits import turns
from omnigraph.storage.commits.leases import leases
from omnigraph.storage.commits.reclaimed_commits import FOLDER, Overtaken, Reclaimed, forget_older, ledger, put_record
from omnigraph.storage.files.effects import Call, Effects
from omnigraph.storage.files.place import Place
from omnigraph.storage.files.records import encoded
from omnigraph.storage.graph_store import MAIN, GraphStore
from omnigraph.storage.reclaiming import reclaim as reclaim_module
from omnigraph.storage.reclaiming.reclaim import reclaim
from omnigraph.storage.reclaiming.verify import verify

REFUSALS = (CleanupUnderWay, HistoryReclaimed, StalledWrite)


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "STALLED", 0.002)
    monkeypatch.setattr(reclaim_module, "PAUSE", 0.0)


@pytest.fixture(scope="module")
def scratch() -> Iterator[Path]:
    with scratch_folder() as folder:
        yield folder


@pytest.fixture(scope="module")
def template(scratch: Path) -> Path:
    store = new_graph(scratch / "template")
    for n in range(3):
        overwrite(store, a=n)
    store.create_branch("side")
    overwrite(store, "side", b=1)
    overwrite(store, "side", b=2)
    store.create_branch("dead")
    insert(store, "dead", c=1)
    store.delete_branch("dead")
    store.create_tag("v1", store.commits()[-2].id)
    store.tables.open(store.snapshot().tables[PEOPLE]).store(rows(lost=1))
    return scratch / "template"


def cleaner(where: Place, keep: int = 1) -> None:
    clock = MovedClock()
    clock.pass_time(timedelta(hours=2))
    reclaim(GraphStore.open(where, clock=clock), keep=keep, older_than=None, dry_run=False)


# ── what happens beside a cleanup ────────────────────────────────────────────────────────────────────────────────────────────


def _tag(where: Place) -> None:
    store = GraphStore.open(where)
    store.create_tag("tagged", store.commits()[1].id)


def _branch(where: Place) -> None:
    store = GraphStore.open(where)
    store.create_branch("late", at=store.commits()[1].id)


def _branch_of_a_head(where: Place) -> None:
    try:
        GraphStore.open(where).create_branch("later", at="side")
    except NotFound as gone:
        if re.search("being deleted|no branch, tag or commit|no branch `side`", gone.message) is None:
            raise


def _delete(where: Place) -> None:
    store = GraphStore.open(where)
    if "side" in store.branches():
        store.delete_branch("side")


def _write(where: Place) -> None:
    store = GraphStore.open(where)
    insert(store, MAIN, PEOPLE, **{f"w{len(store.commits())}": 1})


def _hold(where: Place) -> None:
    store = GraphStore.open(where)
    commit = store.commits()[2].id
    with store.in_flight(commit):
        content(store, at=commit)


EVENTS: dict[str, Callable[[Place], None]] = {
    "tag": _tag,
    "branch": _branch,
    "branch of a head": _branch_of_a_head,
    "delete": _delete,
    "write": _write,
    "hold": _hold,
    "cleanup": cleaner,
    "cleanup that keeps more": lambda where: cleaner(where, keep=3),
}

STANDING = "a branch whose maker stood still before it had its name"


def attempt(event: Callable[[Place], None], where: Place) -> None:
    with suppress(*REFUSALS):
        event(where)


class Stepping(Effects):
    """Stops before every call until it is told to go on, or to die."""

    def __init__(self, run: Callable[[Place], None], graph: Path) -> None:
        self.outcome: BaseException | None = None
        self.ended = self._dies = False
        self._go, self._stopped = threading.Semaphore(0), threading.Semaphore(0)
        self._thread = threading.Thread(target=self._run, args=(run, place(graph, effects=self)), daemon=True)
        self._thread.start()

    def _run(self, run: Callable[[Place], None], where: Place) -> None:
        self._go.acquire()
        try:
            run(where)
        except BaseException as error:
            self.outcome = error
        self.ended = True
        self._stopped.release()

    def before(self, call: Call) -> None:
        self._stopped.release()
        self._go.acquire()
        if self._dies:
            raise Died

    def step(self, *, dies: bool = False) -> None:
        self._dies = dies
        self._go.release()
        assert self._stopped.acquire(timeout=30), "it hangs"


def sound(graph: Path) -> None:
    """Everything that has a name can be read, by that and by id, and branches can be written; also after the next cleanups."""
    for keep in (None, 3, 1, 2):
        if keep is not None:
            cleaner(place(graph), keep)
        store = GraphStore.open(place(graph))
        assert verify(store, deep=True).problems == ()
        for name in store.branches():
            assert content(store, at=store.snapshot(name).commit) == content(store, at=name) == content(store, name)
            insert(store, name, PEOPLE, **{f"kept{keep}": 1})
        for tag in store.tags():
            assert content(store, at=tag.name) == content(store, at=tag.commit)
    assert ledger(place(graph)).is_alone
    assert ledger(place(graph)).record.announced is None


def calls_of(template: Path, folder: Path) -> list[Call]:
    counting = Counting()
    cleaner(place(copied(template, folder / "counted"), effects=counting))
    return counting.calls


def test_a_cleanup_that_dies_anywhere_is_finished_by_the_next(template: Path, folder: Path) -> None:
    calls = calls_of(template, folder)
    assert {Call.ANNOUNCE, Call.DOOM, Call.PUBLISH, Call.PUT_NEW, Call.RECLAIM} <= set(calls)
    for number in range(1, len(calls) + 1):
        graph = copied(template, folder / f"{number}")
        with pytest.raises(Died):
            cleaner(place(graph, effects=Striking(number, Moment.AFTER, die)))
        sound(graph)
        shutil.rmtree(graph)


class Meeting(Effects):
    """Lets somebody act before one call, and dies before another."""

    def __init__(self, number: int, act: Callable[[], None], dies: int | None) -> None:
        self.number, self.act, self.dies, self.begun = number, act, dies, 0

    def before(self, call: Call) -> None:
        self.begun += 1
        if self.begun == self.number:
            self.act()
        if self.begun == self.dies:
            die()


def beside(template: Path, folder: Path, name: str, number: int, dies: int | None) -> None:
    """An event before a call of a cleanup, which goes on, or dies before a later one."""
    graph = copied(template, folder / f"{number}-{dies}")
    maker = Stepping(_branch_of_a_head, graph) if name == STANDING else None
    for _ in range(2 if maker else 0):
        maker.step()  # type: ignore[union-attr]

    def act() -> None:
        if maker is None:
            attempt(EVENTS[name], place(graph))
        while maker is not None and not maker.ended:
            maker.step()

    with suppress(Died) if dies else nullcontext():  # it may be over before, or begin anew
        cleaner(place(graph, effects=Meeting(number, act, dies)))
    assert maker is None or maker.outcome is None or isinstance(maker.outcome, REFUSALS)
    sound(graph)
    shutil.rmtree(graph)


@pytest.mark.parametrize("name", [*EVENTS, STANDING])
def test_whoever_comes_beside_a_cleanup_wins_or_is_told(template: Path, folder: Path, name: str) -> None:
    """Before it announces, just after, or before it settles; and it goes on, or has announced and dies."""
    settled = calls_of(template, folder).index(Call.PUT_NEW) + 1
    for number, dies in ((1, None), (1, 2), (2, 3), (settled, None)):
        beside(template, folder, name, number, dies)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*EVENTS, STANDING])
def test_whoever_comes_at_any_call_of_a_cleanup_wins_or_is_told(template: Path, folder: Path, name: str) -> None:
    settled = calls_of(template, folder).index(Call.PUT_NEW) + 1
    for number in range(1, settled + 2):
        beside(template, folder, name, number, dies=None if number % 2 else max(settled, number) + 1)


# ── interleaved ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def interleaved(template: Path, folder: Path, seed: int) -> None:
    rng = random.Random(seed)
    graph = copied(template, folder / f"{seed}")
    cleaners = [cleaner, EVENTS["cleanup that keeps more"]][: rng.choice([1, 2, 2])]
    others = rng.sample([event for name, event in EVENTS.items() if not name.startswith("cleanup")], 2)
    everybody = [Stepping(run, graph) for run in (*cleaners, *others)]
    while alive := [one for one in everybody if not one.ended]:
        chosen = rng.choice(alive)
        dies = chosen in everybody[: len(cleaners)] and rng.random() < 0.02
        for _ in range(rng.choice([1, 1, 2, 8])):
            if not chosen.ended:
                chosen.step(dies=dies)
    for one in everybody:
        assert one.outcome is None or isinstance(one.outcome, (*REFUSALS, Died)), repr(one.outcome)
    sound(graph)
    shutil.rmtree(graph)


def test_cleanups_and_others_interleaved(template: Path, folder: Path) -> None:
    for seed in range(6):
        interleaved(template, folder, seed)


@pytest.mark.slow
def test_many_cleanups_and_others_interleaved(template: Path, folder: Path) -> None:
    for seed in range(6, 20):
        interleaved(template, folder, seed)


# ── records ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_of_two_that_follow_one_record_one_is_too_late(folder: Path) -> None:
    new_graph(folder)
    where, gone = place(folder), Reclaimed(1, {"x": ((0, 3),)})
    first = put_record(where, ledger(where), gone)
    announced = put_record(where, first, replace(gone, announced=Reclaimed(2, {"x": ((4, 4),)})))
    assert (announced.settled.holds("x", 4), announced.feared.holds("x", 4)) == (False, True)
    with pytest.raises(Overtaken):
        put_record(where, first, gone)
    second = put_record(where, announced, replace(gone, announced=Reclaimed(3, {"x": ((5, 5),)})))
    assert not second.feared.holds("x", 4), "what the first announced counts no more"
    forget_older(where, put_record(where, second, Reclaimed(4, {"x": ((0, 3), (5, 5))})))
    with pytest.raises(Overtaken):
        put_record(where, announced, Reclaimed(5, {"x": ((0, 4),)}))  # number 3 is free again
    assert ledger(where).is_alone
    assert ledger(where).record == Reclaimed(4, {"x": ((0, 3), (5, 5))})


def test_a_record_of_before_does_not_count_against_a_branch_that_is_alive(template: Path, folder: Path) -> None:
    graph = copied(template, folder / "graph")
    store = GraphStore.open(place(graph))
    path = f"{FOLDER}/01J8ZZZZZZZZZZZZZZZZZZZZZZ"
    store.place.put_new(path, encoded(Reclaimed(1, {}, (store.ref("side").incarnation,)), path))
    with pytest.raises(HistoryReclaimed):
        store.snapshot_at(store.snapshot("side").commit)
    cleaner(place(graph))
    assert content(store, at=store.snapshot("side").commit) == {"b": 2}
    sound(graph)


def test_a_name_put_after_its_manifest_was_settled_keeps_nothing_and_can_be_deleted(template: Path, folder: Path) -> None:
    """Whoever makes a branch dies after it has put the name, and before it looks whether cleanup took the manifest."""
    graph = copied(template, folder / "graph")
    maker = Stepping(_branch_of_a_head, graph)
    for _ in range(2):
        maker.step()
    cleaner(place(graph))
    with mock.patch.object(GraphStore, "_manifest", side_effect=Died), mock.patch.object(graph_store, "ledger", side_effect=Died):
        maker.step()
    assert isinstance(maker.outcome, Died)
    for keep in (3, 1):
        cleaner(place(graph), keep)
    store = GraphStore.open(place(graph))
    store.delete_branch("later")
    sound(graph)


def test_a_branch_of_a_commit_that_went_whose_maker_died_is_named(template: Path, folder: Path) -> None:
    graph = copied(template, folder / "graph")
    maker = Stepping(_branch, graph)
    maker.step()
    cleaner(place(graph))
    with mock.patch.object(graph_store, "ledger", side_effect=Died):
        for _ in range(2):
            maker.step()
    assert isinstance(maker.outcome, Died)
    with pytest.raises(CleanupUnderWay, match="branch `late` is being made"):
        cleaner(place(graph))
    GraphStore.open(place(graph)).delete_branch("late")
    sound(graph)


def test_half_a_put_is_no_record_and_is_swept(template: Path, folder: Path) -> None:
    graph = copied(template, folder / "graph")
    store = GraphStore.open(place(graph))
    before = (store.branches(), store.tags())
    with store.in_flight():
        halves = []
        for whole in (p for name in ("__refs", "__tags", "__inflight") for p in list((graph / "graph" / name).iterdir())):
            halves.append(whole.with_name(f"{whole.name}#1"))
            shutil.copy(whole, halves[-1])
        assert len(halves) == 4
        assert (store.branches(), store.tags()) == before
        assert len(leases(store.place)) == 1
        store.create_branch("sides")
    cleaner(place(graph))
    assert not any(half.exists() for half in halves)
    sound(graph)
