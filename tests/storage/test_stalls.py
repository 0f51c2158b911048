"""Somebody stands still beside cleanup, for longer than any grace period, and goes on.

Whoever is stopped, and wherever: what is acknowledged is there and can be read, whoever lost something is told, and what is a
branch stays one. The other side is a cleanup by somebody whose clock is two hours ahead, so that everything is old.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from tests.storage.aging import MovedClock
from tests.storage.crashing import assert_linear
from tests.storage.graphs import PEOPLE, content, insert, new_graph, overwrite, place, rows
from tests.storage.writers import Writer

from omnigraph.errors import HistoryReclaimed, StalledWrite
from omnigraph.storage.commits import reclaim_fence as doomed
from omnigraph.storage.commits.leases import GRACE
from omnigraph.storage.commits.lineage import OpClass
from omnigraph.storage.commits.plan import PlannedChange, PublishPlan, Replacement
from omnigraph.storage.files.effects import Call, Effects
from omnigraph.storage.files.lance_errors import LostRace
from omnigraph.storage.files.place import Place, StoredObject
from omnigraph.storage.graph_store import MAIN, GraphStore
from omnigraph.storage.reclaiming import reclaim as reclaim_module
from omnigraph.storage.reclaiming.reclaim import ReclaimReport, reclaim
from omnigraph.storage.reclaiming.verify import verify
from omnigraph.storage.tables.changes import Append, Applied, WrittenRows

NOW = timedelta(0)


def cleaned(folder: Path, *, ahead: float = 2, keep: int = 1, grace: timedelta | None = None) -> ReclaimReport:
    """A cleanup by somebody whose clock is some hours ahead."""
    clock = MovedClock()
    clock.pass_time(timedelta(hours=ahead))
    store = GraphStore.open(place(folder), clock=clock)
    return reclaim(store, keep=keep, older_than=None, dry_run=False, grace=GRACE if grace is None else grace)


def sound(folder: Path, **values: int) -> None:
    """The graph holds these and can be read and written."""
    store = GraphStore.open(place(folder))
    assert content(store) == values
    assert verify(store, deep=True).problems == ()
    insert(store, afterwards=1)
    assert content(GraphStore.open(place(folder))) == {**values, "afterwards": 1}


@contextmanager
def waiting(writer: Writer, *words: str) -> Iterator[Writer]:
    with writer:
        writer.expect("ready")
        for word in words:
            writer.go()
            writer.expect(word)
        yield writer


# ── writers ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("cleaner", [{"ahead": 2.0}, {"ahead": 0.0, "grace": NOW}], ids=["a clock ahead", "no grace"])
@pytest.mark.parametrize("where", ["PIN", "WRITE_MANIFEST", "PUBLISH"])
def test_a_writer_stopped_on_its_way_is_told_that_its_files_are_gone(folder: Path, where: str, cleaner: dict[str, float]) -> None:
    insert(new_graph(folder), a=1)
    with waiting(Writer("insert", folder, key="late", value=1, pause=where), "paused") as late:
        assert cleaned(folder, **cleaner).files_removed > 0  # type: ignore[arg-type]
        late.go()
        assert late.outcome() == {"error": "stalled_write"}
    sound(folder, a=1)


def test_a_writer_whose_process_is_stopped_just_before_its_swap_is_told(folder: Path) -> None:
    insert(new_graph(folder), a=1)
    with waiting(Writer("stored insert", folder, key="late", pause="PUBLISH"), "paused") as late:
        late.stop()
        late.go()
        cleaned(folder)
        late.resume()
        assert late.outcome() == {"error": "stalled_write"}
    sound(folder, a=1)


def test_a_writer_stopped_before_it_publishes_is_told(folder: Path) -> None:
    insert(new_graph(folder), a=1)
    with waiting(Writer("stored insert", folder, key="late")) as late:
        cleaned(folder)
        insert(GraphStore.open(place(folder)), b=2)  # the fence goes on from head to head
        late.go()
        assert late.outcome() == {"error": "stalled_write"}
    sound(folder, a=1, b=2)


def test_a_writer_that_is_young_goes_through_whatever_else_was_reclaimed(folder: Path) -> None:
    store = new_graph(folder)
    insert(store, a=1)
    garbage = store.tables.open(store.snapshot().tables[PEOPLE]).store(rows(lost=1)).unsynced
    clock = MovedClock()
    clock.pass_time()
    with waiting(Writer("stored insert", folder, key="late", pause="PUBLISH"), "paused") as late:
        for path in (folder / "graph").rglob("*"):
            if path.is_file() and f"nodes/1-3/{path.parent.name}/{path.name}" not in garbage:
                os.utime(path, (clock.now().timestamp(),) * 2)
        assert reclaim(GraphStore.open(place(folder), clock=clock), keep=None, older_than=None, dry_run=False).files_removed
        assert doomed.newest(place(folder)) == 1
        late.go()
        assert "done" in late.outcome()
    sound(folder, a=1, late=1)


def test_a_writer_to_a_branch_that_cleanup_did_not_see_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The branch is made after cleanup has looked for branches, and before it deletes."""
    store = new_graph(folder)
    insert(store, a=1)
    written = store.tables.open(store.snapshot().tables[PEOPLE]).store(rows(late=1))
    remove = reclaim_module._remove

    def late(*arguments: object) -> None:
        store.create_branch("new")
        assert store.manifest(store.ref("new")).load().head.fence == 1
        store.create_branch("newer", at=store.snapshot().commit)
        for name in ("new", "newer"):
            with pytest.raises(StalledWrite) as refused:
                publish(store, written, name)
            assert refused.value.retryable
        remove(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(reclaim_module, "_remove", late)
    cleaned(folder)
    insert(store, "new", b=2)
    insert(store, "newer", b=2)
    assert content(GraphStore.open(place(folder)), "newer") == {"a": 1, "b": 2}
    sound(folder, a=1)


def publish(store: GraphStore, written: WrittenRows, branch: str = MAIN) -> None:
    change = PlannedChange(PEOPLE, Append(written, ("late",)))
    store.publish(branch, PublishPlan(OpClass.LOGICAL, "load", store.snapshot(branch).commit, (change,)))


def test_pins_of_a_commit_that_went_are_not_published_again(folder: Path) -> None:
    """Who brings back an old state and was stopped after looking for it."""
    store = new_graph(folder)
    insert(store, a=1)
    old = store.snapshot().tables[PEOPLE]
    overwrite(store, b=2)
    now = store.snapshot()
    revert = Replacement(PEOPLE, now.tables[PEOPLE].pin, Applied(old, 1, 1, (), (), ()))
    cleaned(folder)
    with pytest.raises(StalledWrite):
        store.publish(MAIN, PublishPlan(OpClass.LOGICAL, "revert", now.commit, replacements=(revert,)))
    sound(folder, b=2)


def test_after_a_reclaim_an_ordinary_commit_looks_at_no_list(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = new_graph(folder)
    insert(store, a=1)
    cleaned(folder)
    insert(store, b=1)  # has not seen the fence before
    listings, objects = list[str](), Place.objects

    def listing(self: Place, prefix: str) -> list[StoredObject]:
        listings.append(prefix)
        return objects(self, prefix)

    monkeypatch.setattr(Place, "objects", listing)
    for handle in (store, GraphStore.open(place(folder))):
        for n in range(3):
            insert(handle, MAIN, PEOPLE, **{f"k{len(content(store))}-{n}": n})
    assert listings == []
    store.create_branch("new")
    insert(store, "new", c=1)
    assert doomed.FOLDER in listings, "the first on a branch looks"


# ── swaps ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_swap_on_a_version_that_was_pruned_loses_to_what_came_after_it(folder: Path) -> None:
    store = new_graph(folder)
    insert(store, a=1)
    stale = GraphStore.open(place(folder))
    known = stale.manifest(stale.ref(MAIN)).load()
    for n in range(3):
        insert(store, MAIN, PEOPLE, **{f"b{n}": n})
    cleaned(folder, keep=100)
    with pytest.raises(LostRace):
        stale.manifest(stale.ref(MAIN)).publish(known, known, None, ())
    assert len(GraphStore.open(place(folder)).commits()) == 5
    sound(folder, a=1, b0=0, b1=1, b2=2)


def test_commits_made_while_a_writer_stood_before_its_swap_are_not_lost(folder: Path) -> None:
    store = new_graph(folder)
    insert(store, a=1)
    with waiting(Writer("insert", folder, key="late", value=1, pause="PUBLISH"), "paused") as late:
        for n in range(5):
            insert(store, MAIN, PEOPLE, **{f"b{n}": n})
        cleaned(folder, keep=100)
        late.go()
        assert late.outcome() == {"error": "stalled_write"}
    assert_linear(store.commits())
    sound(folder, a=1, **{f"b{n}": n for n in range(5)})


def test_a_swap_into_a_number_that_was_pruned_is_not_taken_for_a_commit(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that is stopped in its swap, after it has looked for others and before it puts its version."""
    store = new_graph(folder)
    insert(store, a=1)
    link = os.link

    def stopped(staged: str, version: str) -> None:
        monkeypatch.setattr(os, "link", link)
        content_ = Path(staged).read_bytes()
        rival = GraphStore.open(place(folder))
        for n in range(3):
            insert(rival, MAIN, PEOPLE, **{f"b{n}": n})
        cleaned(folder, keep=100)
        assert not Path(version).exists()
        Path(staged).write_bytes(content_)  # cleanup takes it, too; here it was a moment later
        link(staged, version)

    plan = PublishPlan(OpClass.LOGICAL, "nothing", store.snapshot().commit)
    monkeypatch.setattr(os, "link", stopped)
    published = store.publish(MAIN, plan)
    commits = GraphStore.open(place(folder)).commits()
    assert_linear(commits)
    assert commits[0].id == published.id
    assert len(commits) == 6
    sound(folder, a=1, b0=0, b1=1, b2=2)


def test_the_next_version_of_a_manifest_is_not_deleted_under_its_writer(folder: Path) -> None:
    """Nothing of a table goes, but the tail that a writer has put and not yet named looks like garbage."""
    new_graph(folder)
    for written in (False, True):
        effects = Meeting(Call.PUBLISH)
        store = GraphStore.open(place(folder, effects=effects))
        effects.act = lambda: cleaned(folder)
        store.publish(MAIN, PublishPlan(OpClass.LOGICAL, "nothing", store.snapshot().commit))
        assert len(GraphStore.open(place(folder)).commits()) == 2 + written
    sound(folder)


def test_a_branch_whose_manifest_was_taken_for_garbage_is_not_made(folder: Path) -> None:
    store, effects = new_graph(folder), Meeting(Call.PUT_NEW)
    slow = GraphStore.open(place(folder, effects=effects))
    effects.act = lambda: cleaned(folder)
    with pytest.raises(StalledWrite):
        slow.create_branch("child")
    assert store.branches() == [MAIN]
    slow.create_branch("child")
    sound(folder)


# ── branches ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("deleted", [False, True])
def test_a_branch_is_not_made_of_a_head_that_went_meanwhile(folder: Path, deleted: bool) -> None:
    store = new_graph(folder)
    store.create_branch("parent")
    insert(store, "parent", a=1)
    effects = Meeting(Call.PUT_NEW)
    slow = GraphStore.open(place(folder, effects=effects))

    def replaced() -> None:
        overwrite(store, "parent", b=2)
        if deleted:
            store.delete_branch("parent")
        cleaned(folder)

    effects.act = replaced
    with pytest.raises(
        (HistoryReclaimed, StalledWrite)
    ):  # the head it was made of, or its own manifest, whatever is looked at first
        slow.create_branch("child", at="parent")
    assert "child" not in store.branches()
    store.create_branch("child", at=MAIN if deleted else "parent")
    assert content(store, "child") == ({} if deleted else {"b": 2})
    sound(folder)


class Meeting(Effects):
    """Lets somebody act just before the first call of a kind."""

    def __init__(self, call: Call) -> None:
        self.call = call
        self.act: Callable[[], object] = lambda: None

    def before(self, call: Call) -> None:
        if call is self.call:
            act, self.act = self.act, lambda: None
            act()


# ── cleanup ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_cleanup_that_died_is_finished_by_the_next_and_does_not_let_anybody_name_what_it_was_to_delete(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = new_graph(folder)
    insert(store, a=1)
    written = store.tables.open(store.snapshot().tables[PEOPLE]).store(rows(late=1))

    def dying(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(reclaim_module, "_remove", dying)
        with pytest.raises(KeyboardInterrupt):
            cleaned(folder)
    assert (folder / "graph" / written.unsynced[0]).exists()
    with pytest.raises(StalledWrite, match="is being reclaimed"):
        publish(store, written)
    insert(store, b=2)
    # The clock of the next one is right: to it the files are young. But their writers were told that they are gone.
    assert cleaned(folder, ahead=0).files_removed > 0
    assert not (folder / "graph" / written.unsynced[0]).exists()
    assert list(doomed.lists(place(folder))) == [2]
    with pytest.raises(StalledWrite, match="reclaimed"):
        publish(store, written)
    sound(folder, a=1, b=2)


def test_a_cleanup_that_was_stopped_before_it_deletes_takes_nothing_that_was_published_meanwhile(folder: Path) -> None:
    store = new_graph(folder)
    insert(store, a=1)
    early = store.tables.open(store.snapshot().tables[PEOPLE]).store(rows(late=1))
    with waiting(Writer("reclaim", folder, ahead=2, pause="RECLAIM"), "paused") as slow:
        cleaned(folder, ahead=0)
        insert(store, b=2)
        with pytest.raises(StalledWrite):
            publish(store, early)
        publish(store, store.tables.open(store.snapshot().tables[PEOPLE]).store(rows(late=1)))
        slow.go()
        assert "done" in slow.outcome()
    sound(folder, a=1, b=2, late=1)


@pytest.mark.parametrize("where", ["ANNOUNCE", "DOOM", "WRITE_MANIFEST", "PUBLISH", "PUT_NEW", "RECLAIM"])
def test_what_is_published_before_the_fence_comes_stays(folder: Path, where: str) -> None:
    """The cleaner stands somewhere; a writer publishes files that it has taken for garbage, or is told that it may not."""
    store = new_graph(folder)
    overwrite(store, a=1)
    overwrite(store, a=2)
    written = store.tables.open(store.snapshot().tables[PEOPLE]).store(rows(late=1))
    with waiting(Writer("reclaim", folder, ahead=2, pause=where), "paused") as slow:
        told = False
        try:
            publish(store, written)
        except StalledWrite:
            told = True
        assert told == (where in ("PUT_NEW", "RECLAIM"))
        slow.go()
        assert "done" in slow.outcome()
    sound(folder, a=2, **({} if told else {"late": 1}))


def test_two_cleanups_never_have_the_same_number(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    where = place(folder)
    new_graph(folder)
    assert [doomed.announce(where, ["nodes/1-3/data/x"], 0) for _ in range(3)] == [1, 2, 3]
    doomed.forget(where, [1, 2])
    put_new, said = type(where).put_new, list[str]()

    def late(self: object, path: str, *given: object, **more: object) -> None:
        said.append(path)
        put_new(self, path, *given, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(type(where), "put_new", late)
    newest, old = doomed.newest, [0]
    monkeypatch.setattr(doomed, "newest", lambda place: old.pop() if old else newest(place))
    assert doomed.announce(where, ["nodes/1-3/data/x"], 0) == 4
    assert len(said) == 2, "the first was by an old listing"
    assert sorted(doomed.lists(where)) == [3, 4]
