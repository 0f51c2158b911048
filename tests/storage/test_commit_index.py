"""What is noted of commits saves opening manifests, and never hides a commit: whatever became of the file or of the graph since."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest
from tests.storage.crashing import scratch_folder
from tests.storage.graphs import DOCUMENT, PEOPLE, TABLES, insert, new_graph, place
from tests.storage.s3 import Server, server

from omnigraph.errors import DamagedRecord, HistoryReclaimed
from omnigraph.storage.commits import commit_index
from omnigraph.storage.commits.commit_index import PATH
from omnigraph.storage.commits.lineage import OpClass
from omnigraph.storage.commits.manifest import Manifest
from omnigraph.storage.commits.plan import PublishPlan
from omnigraph.storage.commits.version_hint import HINT
from omnigraph.storage.files.place import Place
from omnigraph.storage.graph_store import MAIN, GraphStore
from omnigraph.storage.lance_format.file_names import version_file

UNKNOWN = "01M7HQM0E7R45F2WXMGJJAV6JA"
BRANCHES = 40


@pytest.fixture(autouse=True)
def refs_are_long_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commit_index, "COARSEST_CLOCK_NS", 0)


@pytest.fixture(scope="module")
def made() -> Iterator[tuple[Path, dict[str, str]]]:
    """A graph with branches, every other one with a commit of its own, and which commit is on which branch. Nothing is noted yet."""
    with scratch_folder() as folder:
        store = new_graph(folder)
        commits = {MAIN: insert(store, a=1).id}
        for n in range(BRANCHES):
            store.create_branch(f"agent/{n}")
            if n % 2 == 0:
                commits[f"agent/{n}"] = insert(store, f"agent/{n}", PEOPLE, b=1).id
        yield folder, commits


@pytest.fixture
def graph(made: tuple[Path, dict[str, str]], tmp_path: Path) -> tuple[Path, dict[str, str]]:
    """A graph of one's own, in which a process has asked for an unknown commit."""
    shutil.copytree(made[0], tmp_path, dirs_exist_ok=True)
    assert is_unknown(cold(tmp_path), UNKNOWN)
    assert (tmp_path / "graph" / PATH).is_file()
    return tmp_path, dict(made[1])


def cold(folder: Path, *, read_only: bool = False) -> GraphStore:
    """A process that has just started."""
    return GraphStore.open(place(folder), read_only=read_only)


def is_unknown(store: GraphStore, commit: str) -> bool:
    try:
        return store.locate(commit)[1].id != commit
    except HistoryReclaimed:
        return True


class Counted:
    """Which manifests were opened, and which objects read."""

    def __init__(self, patched: pytest.MonkeyPatch) -> None:
        self.opened: list[str] = []
        self.read: list[str] = []
        look, get = Manifest._look, Place.get

        def looked(manifest: Manifest) -> object:
            self.opened.append(manifest.incarnation)
            return look(manifest)

        def got(where: Place, path: str) -> bytes:
            self.read.append(path)
            return get(where, path)

        patched.setattr(Manifest, "_look", looked)
        patched.setattr(Place, "get", got)


def test_a_second_process_opens_what_changed_and_nothing_else(
    graph: tuple[Path, dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, commits = graph
    counted = Counted(monkeypatch)
    assert is_unknown(cold(folder), UNKNOWN)
    assert len(counted.opened) == 1, "the main branch, with which every graph is opened"
    assert len(counted.read) <= 5, "the main branch, its newest version, the hint of that and its tail, and what is noted"
    writer = cold(folder)
    changed = {writer.ref(branch).incarnation for branch in ("agent/0", "agent/1")}
    for branch in ("agent/0", "agent/1"):
        commits[branch] = insert(writer, branch, PEOPLE, late=1).id
    counted.opened.clear()
    counted.read.clear()
    store = cold(folder)
    assert is_unknown(store, UNKNOWN)
    assert set(counted.opened) == {store.ref(MAIN).incarnation, *changed}
    assert len(counted.read) <= 5 + 3 * len(changed), "the newest version of each, its hint and its tail"
    for branch, commit in commits.items():
        assert cold(folder).locate(commit)[0].branch == branch


def test_a_commit_that_is_noted_is_found_in_the_manifest_that_holds_it(
    graph: tuple[Path, dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, commits = graph
    counted = Counted(monkeypatch)
    for branch, commit in commits.items():
        counted.opened.clear()
        assert cold(folder).locate(commit)[0].branch == branch
        assert len(counted.opened) <= 2


def test_commits_that_a_merge_carried_along_are_noted(
    graph: tuple[Path, dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commit_index, "WORTH_WRITING", 1)
    folder, commits = graph
    store = cold(folder)
    merged = store.locate(commits["agent/2"])[1]
    base = store.snapshot("agent/4").commit
    store.publish("agent/4", PublishPlan(OpClass.LOGICAL, "merge", base, merged_parent=merged.id, carried=(merged,)))
    store.delete_branch("agent/2")
    assert is_unknown(cold(folder), UNKNOWN)
    with pytest.raises(HistoryReclaimed):
        cold(folder).locate(merged.id)
    counted = Counted(monkeypatch)
    assert cold(folder).commit(merged.id) == merged
    assert len(counted.opened) == 2
    with pytest.raises(HistoryReclaimed):
        cold(folder).commit(UNKNOWN)
    assert len(counted.opened) == 3


def _flip(at: int) -> Callable[[Path], None]:
    def flipped(file: Path) -> None:
        data = bytearray(file.read_bytes())
        data[at % len(data)] ^= 1 << at % 8
        file.write_bytes(data)

    return flipped


def _zero_page(file: Path) -> None:
    data = file.read_bytes()
    file.write_bytes(data[:4096] + bytes(4096) + data[8192:])


def _folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def _link(file: Path) -> None:
    file.rename(file.parent.parent.parent / "elsewhere")
    file.symlink_to(file.parent.parent.parent / "elsewhere")


DAMAGE: dict[str, Callable[[Path], object]] = {
    "removed": Path.unlink,
    "empty": lambda file: file.write_bytes(b""),
    "cut off": lambda file: os.truncate(file, file.stat().st_size // 2),
    "a zero page": _zero_page,
    "something else": lambda file: file.write_bytes(b'{"graph":7}'),
    "a folder": _folder,
    "a link": _link,
    **{f"a bit at {at}": _flip(at) for at in (7, 101, 2_003, 5_501, -9, -40)},
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_hides_no_commit(graph: tuple[Path, dict[str, str]], damage: str) -> None:
    folder, commits = graph
    DAMAGE[damage](folder / "graph" / PATH)
    for branch, commit in commits.items():
        assert cold(folder).locate(commit)[0].branch == branch
    assert is_unknown(cold(folder), UNKNOWN)


def test_an_older_file_and_that_of_another_graph_hide_no_commit(graph: tuple[Path, dict[str, str]], tmp_path: Path) -> None:
    folder, commits = graph
    file = folder / "graph" / PATH
    older = file.read_bytes()
    writer = cold(folder)
    for n in range(BRANCHES):
        commits[f"agent/{n}"] = insert(writer, f"agent/{n}", PEOPLE, c=1).id
    writer.delete_branch("agent/3")
    writer.create_branch("agent/3")
    commits["agent/3"] = insert(writer, "agent/3", PEOPLE, d=1).id
    assert is_unknown(cold(folder), UNKNOWN)
    newer = file.read_bytes()
    assert newer != older
    shutil.copytree(folder / "graph", tmp_path / "copy" / "graph")
    for where, said in ((folder, older), (tmp_path / "copy", older), (tmp_path / "copy", newer)):
        (where / "graph" / PATH).write_bytes(said)
        for branch, commit in commits.items():
            assert cold(where).locate(commit)[0].branch == branch


def test_a_manifest_that_was_restored_from_a_copy_is_asked(graph: tuple[Path, dict[str, str]], tmp_path: Path) -> None:
    """Its version has the number that was noted, and other commits."""
    folder, commits = graph
    store = cold(folder)
    manifest = folder / "graph" / store.manifest(store.ref("agent/0")).location
    shutil.copytree(manifest, tmp_path / "kept")
    lost = [insert(store, "agent/0", PEOPLE, c=1).id, insert(store, "agent/0", PEOPLE, d=1).id]
    (folder / "graph" / PATH).unlink()
    assert is_unknown(cold(folder), UNKNOWN)
    shutil.rmtree(manifest)
    shutil.copytree(tmp_path / "kept", manifest)
    again = cold(folder)
    new = [insert(again, "agent/0", PEOPLE, e=1).id, insert(again, "agent/0", PEOPLE, f=1).id]
    assert again.manifest(again.ref("agent/0")).load().version == store.manifest(store.ref("agent/0")).load().version
    assert not any(is_unknown(cold(folder), commit) for commit in (*new, commits["agent/0"]))
    assert all(is_unknown(cold(folder), commit) for commit in lost)


@pytest.mark.parametrize("branch", ["agent/0", "agent/1"], ids=["with commits", "without"])
@pytest.mark.parametrize("noted", [True, False])
def test_a_lost_version_is_not_an_unknown_commit(graph: tuple[Path, dict[str, str]], branch: str, noted: bool) -> None:
    folder, _ = graph
    if not noted:
        (folder / "graph" / PATH).unlink()
    store = cold(folder)
    commit = insert(store, branch, PEOPLE, c=1).id
    manifest = store.manifest(store.ref(branch))
    assert (folder / "graph" / manifest.location / HINT).is_file()
    (folder / "graph" / manifest.location / version_file(manifest.load().version)).unlink()
    with pytest.raises(DamagedRecord, match="newest version"):
        cold(folder).locate(commit)


def test_a_version_that_is_not_hinted_at_yet_is_looked_for(graph: tuple[Path, dict[str, str]]) -> None:
    """Who dies after publishing leaves a version without its hint."""
    folder, commits = graph
    store = cold(folder)
    hint = folder / "graph" / store.manifest(store.ref("agent/0")).location / HINT
    hint.unlink()
    (folder / "graph" / PATH).unlink()
    assert is_unknown(cold(folder), UNKNOWN)
    commits["agent/0"] = insert(store, "agent/0", PEOPLE, c=1).id
    hint.unlink()
    assert cold(folder).locate(commits["agent/0"])[0].branch == "agent/0"


def test_nobody_writes_it_who_may_not_or_where_it_is_not_wanted(made: tuple[Path, dict[str, str]], tmp_path: Path) -> None:
    shutil.copytree(made[0], tmp_path, dirs_exist_ok=True)
    assert is_unknown(cold(tmp_path, read_only=True), UNKNOWN)
    store = cold(tmp_path)
    store.commit_index.in_use = False
    assert is_unknown(store, UNKNOWN)
    assert not (tmp_path / "graph" / "__cache").exists()
    (tmp_path / "graph" / "__cache").write_text("in the way")
    assert is_unknown(cold(tmp_path), UNKNOWN)


def test_a_damaged_ref_of_the_main_branch_does_not_hide_the_others(graph: tuple[Path, dict[str, str]]) -> None:
    folder, commits = graph
    store = cold(folder)
    (folder / "graph" / "__refs" / "main").write_bytes(b"{}")
    store._refs.clear()
    assert store.locate(commits["agent/4"])[0].branch == "agent/4"


@pytest.mark.parametrize("seed", range(6))
def test_whatever_happens_commits_are_found_as_without_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Random histories of several processes: each commit that was ever made is found by one that uses what is noted just when it
    is found by one that does not."""
    monkeypatch.setattr(commit_index, "WORTH_WRITING", 1)
    rng = Random(seed)
    stores = [new_graph(tmp_path), cold(tmp_path)]
    branches, commits = [MAIN], [stores[0].snapshot().commit]
    kept: list[bytes] = []
    for step in range(60):
        store = rng.choice(stores)
        what = rng.choice(["commit", "commit", "commit", "create", "create", "delete", "tag", "open", "ask", "ask", "old file"])
        branch = rng.choice(branches)
        if what == "commit":
            commits.append(insert(store, branch, PEOPLE, **{f"k{step}": step}).id)
        elif what == "create":
            store.create_branch(f"b{step}", at=branch)
            branches.append(f"b{step}")
        elif what == "delete" and branch != MAIN:
            store.delete_branch(branch)
            if rng.random() < 0.5:
                store.create_branch(branch, at=rng.choice([MAIN, rng.choice(commits[:1])]))
            else:
                branches.remove(branch)
        elif what == "tag":
            store.create_tag(f"t{step}", store.snapshot(branch).commit)
        elif what == "open":
            stores[rng.randrange(2)] = cold(tmp_path)
        elif what == "old file" and kept:
            (tmp_path / "graph" / PATH).write_bytes(rng.choice(kept))
        elif what == "ask":
            without = cold(tmp_path)
            without.commit_index.in_use = False
            with_it = rng.choice([store, cold(tmp_path)])
            for commit in (*commits, UNKNOWN):
                assert is_unknown(with_it, commit) == is_unknown(without, commit), (step, commit)
            if (tmp_path / "graph" / PATH).exists():
                kept.append((tmp_path / "graph" / PATH).read_bytes())
    assert kept


def test_on_an_object_store_one_listing_tells_what_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    with server() as s3:
        assert _asked_twice(s3, monkeypatch) == [1, 1, 2]


def _asked_twice(s3: Server, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    monkeypatch.setattr(commit_index, "WORTH_WRITING", 4)
    store = GraphStore.init(s3.place("many"), DOCUMENT, TABLES)
    for n in range(6):
        store.create_branch(f"b{n}")
        insert(store, f"b{n}", PEOPLE, a=1)
    found = []
    assert is_unknown(GraphStore.open(s3.place("many")), UNKNOWN)
    counted = Counted(monkeypatch)
    for late in (None, None, "b3"):
        commit = None if late is None else insert(store, late, PEOPLE, c=1).id
        counted.opened.clear()
        again = GraphStore.open(s3.place("many"))
        assert is_unknown(again, UNKNOWN)
        found.append(len(counted.opened))
        assert commit is None or not is_unknown(GraphStore.open(s3.place("many")), commit)
    return found
