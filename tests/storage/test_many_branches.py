"""With many branches, what concerns one of them costs what it did with few: counted, not timed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.storage.crashing import scratch_folder
from tests.storage.graphs import PEOPLE, content, insert, new_graph, place, rows

from omnigraph.errors import AlreadyExists, HistoryReclaimed, NotFound, UsageError
from omnigraph.storage import graph_store
from omnigraph.storage.commits import open_manifests
from omnigraph.storage.commits.lineage import OpClass
from omnigraph.storage.commits.manifest import Manifest
from omnigraph.storage.commits.plan import PlannedChange, PublishPlan
from omnigraph.storage.files.place import Place
from omnigraph.storage.graph_store import GraphStore
from omnigraph.storage.tables.changes import Append

FEW, MANY = 5, 120
UNKNOWN = "01M7HQM0E7R45F2WXMGJJAV6JA"


@pytest.fixture(scope="module")
def graphs() -> Iterator[dict[int, Path]]:
    """Graphs with few and many branches. Every fifth branch has a commit of its own."""
    with scratch_folder() as folder:
        made = {}
        for count in (FEW, MANY):
            made[count] = folder / f"{count}"
            made[count].mkdir()
            store = new_graph(made[count])
            insert(store, a=1)
            for n in range(count):
                store.create_branch(f"agent/{n}")
                if n % 5 == 0:
                    insert(store, f"agent/{n}", PEOPLE, b=1)
        yield made


class Counted:
    """How often the place, manifests and the disk were asked."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.opened: list[str] = []
        self.objects = 0
        for owner, name in ((Place, "get"), (Place, "look"), (Place, "exists"), (Place, "objects")):
            self._count(monkeypatch, owner, name)
        original = Manifest._look

        def look(manifest: Manifest) -> object:
            self.opened.append(manifest.incarnation)
            return original(manifest)

        monkeypatch.setattr(Manifest, "_look", look)

    def _count(self, monkeypatch: pytest.MonkeyPatch, owner: type, name: str) -> None:
        original: Callable[..., object] = getattr(owner, name)

        def counted(*given: object) -> object:
            self.objects += 1
            return original(*given)

        monkeypatch.setattr(owner, name, counted)


def test_creating_and_deleting_a_branch_asks_for_nothing_of_the_others(
    graphs: dict[int, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = {}
    for count, folder in graphs.items():
        store = GraphStore.open(place(folder))
        with monkeypatch.context() as patched:
            counted = Counted(patched)
            store.create_branch("agent/new")
            insert(store, "agent/new", PEOPLE, c=1)
            store.delete_branch("agent/new")
            asked[count] = (counted.objects, len(counted.opened))
    assert asked[FEW] == asked[MANY]
    assert asked[MANY][0] <= 15, "among them the version that the insert is made on, and that of the manifest with its tail"


def test_an_unknown_commit_is_looked_for_once_in_each_manifest_that_has_any(
    graphs: dict[int, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    store = GraphStore.open(place(graphs[MANY]))
    counted = Counted(monkeypatch)
    scanned, scan = list[str](), Manifest._scan

    def scanning(self: Manifest, *given: Any, **more: Any) -> Any:
        scanned.append(self.incarnation)
        return scan(self, *given, **more)

    monkeypatch.setattr(Manifest, "_scan", scanning)
    with pytest.raises(HistoryReclaimed):
        store.snapshot_at(UNKNOWN)
    assert len(counted.opened) == len(set(counted.opened)) == MANY // 5
    assert len(scanned) == len(set(scanned)) == MANY // 5 + 1, "main was open"
    counted.opened.clear()
    counted.objects = 0
    with pytest.raises(HistoryReclaimed):
        store.snapshot_at(UNKNOWN)
    assert counted.opened == []
    assert counted.objects <= 8, "two listings, and nothing is read again"


def test_a_commit_of_any_branch_is_found_and_of_none_that_is_gone(graphs: dict[int, Path]) -> None:
    store, other = (GraphStore.open(place(graphs[FEW])) for _ in range(2))
    store.create_branch("late")
    commit = insert(store, "late", PEOPLE, late=1).id
    assert other.locate(commit)[0].branch == "late"
    store.delete_branch("late")
    with pytest.raises(HistoryReclaimed):
        other.locate(commit)
    store.create_branch("late")
    again = insert(store, "late", PEOPLE, late=2).id
    assert other.locate(again)[1].id == again
    store.delete_branch("late")


@pytest.mark.parametrize(
    ("there", "new", "error"),
    [
        ("a", "a", AlreadyExists),
        ("a/b", "a", UsageError),
        ("a", "a/b", UsageError),
        ("a", "a/b/c", UsageError),
        ("a/b/c", "a", UsageError),
        ("a/b", "a-b", None),
        ("ab", "a", None),
        ("a", "ab", None),
        ("a-b", "a", None),
        ("a.b/c", "a", None),
    ],
)
def test_names_that_are_in_the_way_are_found_without_reading_all(
    tmp_path: Path, there: str, new: str, error: type[Exception] | None
) -> None:
    store = new_graph(tmp_path)
    store.create_branch(there)
    if error is None:
        store.create_branch(new)
    else:
        with pytest.raises(error):
            store.create_branch(new)
    assert store.branches() == sorted({"main", there} | ({new} if error is None else set()))


def test_a_message_names_a_few_branches_and_says_how_many_there_are(graphs: dict[int, Path]) -> None:
    with pytest.raises(NotFound) as told:
        GraphStore.open(place(graphs[MANY])).snapshot("nowhere")
    assert f"and {MANY + 1 - 10} more" in (told.value.hint or "")


def test_few_manifests_stay_open_and_those_of_deleted_branches_do_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_manifests, "MOST", 4)
    monkeypatch.setattr(graph_store, "MOST", 4)
    store = new_graph(tmp_path)
    insert(store, first=1)
    for n in range(10):
        store.create_branch(f"agent/{n}")
        insert(store, f"agent/{n}", PEOPLE, **{f"of{n}": n})
        store.snapshot()
        assert len(store._open) <= 4
        assert len(store._newest) <= 4
    main = store.publisher("main")
    assert main is store.publisher("main")
    for n in range(10):  # all but a few are opened again
        assert set(content(store, f"agent/{n}")) == {"first", f"of{n}"}
        insert(store, f"agent/{n}", PEOPLE, again=n)
    for n in range(10):
        store.delete_branch(f"agent/{n}")
        with pytest.raises(NotFound):
            store.snapshot(f"agent/{n}")
    assert set(store._newest) <= {"main"}
    assert len(store._open) <= 4
    store.snapshot()
    for n in range(4):  # nothing is left of them that would make others go
        store.create_branch("short")
        incarnation = store.ref("short").incarnation
        insert(store, "short", PEOPLE, some=n)
        store.delete_branch("short")
        assert incarnation not in store._open._known
        assert incarnation not in store._open._publishers


def test_who_writes_to_a_branch_that_was_let_go_of_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_manifests, "MOST", 1)
    store = new_graph(tmp_path)
    insert(store, a=1)
    store.create_branch("b")
    held = store.publisher("main")
    insert(store, "b", PEOPLE, b=1)
    assert store.publisher("main") is not held  # another one, as in another process
    before = held.manifest.last_known()
    insert(store, c=1)
    handed = store.tables.open(before.tables[PEOPLE]).write(rows(d=1))
    held.publish(PublishPlan(OpClass.LOGICAL, "insert", before.head.commit, (PlannedChange(PEOPLE, Append(handed, ("d",))),)))
    insert(store, e=1)
    assert set(content(store)) == {"a", "c", "d", "e"}


def test_branches_that_others_deleted_are_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph_store, "MOST_REFS", 8)
    mine, other = new_graph(tmp_path), GraphStore.open(place(tmp_path))
    for n in range(20):
        mine.create_branch(f"agent/{n}")
        other.snapshot(f"agent/{n}")
        mine.delete_branch(f"agent/{n}")
        assert len(other._refs) <= 8
        assert len(mine._refs) == 1
    with pytest.raises(HistoryReclaimed):
        other.locate(UNKNOWN)  # looks at all that there are
    assert set(other._refs) == {"main"}
