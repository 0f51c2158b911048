"""Files of a graph that are lost or hold something else: what they said is named as missing, and nothing else is answered in its place."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.engine.graph import Graph
from omnigraph.errors import ConflictError, DamagedRecord, NotFound
from omnigraph.storage.commits.manifest import FENCE_RACES
from omnigraph.storage.files.lance_errors import LostRace
from omnigraph.storage.files.place import Place

SCHEMA = "node P { k: String @key }"


@pytest.fixture
def g(tmp_path: Path) -> Graph:
    graph = og.init(tmp_path / "g", SCHEMA, durability="os", save_from=None)
    for number in range(4):
        add(graph, f"k{number}")
    return graph


def add(graph: Graph, key: str, branch: str = "main") -> None:
    graph.mutate("query q($k: String) { insert P { k: $k } }", {"k": key}, branch=branch)


@pytest.mark.parametrize(
    "damage",
    [lambda said: bytes(len(said)), lambda said: b"", lambda said: said + b"more", lambda said: said[:-9]],
    ids=["zeros", "empty", "more", "cut"],
)
def test_the_damaged_record_of_a_deleted_tag_is_named_and_hides_no_other(
    g: Graph, tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    for name in ("a", "b", "c"):
        g.tags.create(name, "main")
        g.tags.delete(name, actor="ada")
    path = tmp_path / "g" / "__deleted_tags" / "b"
    path.write_bytes(damage(path.read_bytes()))
    shown = {deleted.tag.name: deleted for deleted in g.tags.deleted()}
    assert [(name, deleted.deleted_by) for name, deleted in shown.items()] == [("a", "ada"), ("b", None), ("c", "ada")]
    assert "__deleted_tags/b is damaged" in shown["b"].tag.commit
    assert "is damaged" in repr(shown["b"])
    assert [(p.kind.name, p.path) for p in g.verify().problems] == [("RECORD", "__deleted_tags/b")]
    g.tags.create("b", "main")
    g.tags.delete("b", actor="bob")
    assert g.verify().ok
    assert [deleted.deleted_by for deleted in g.tags.deleted()] == ["ada", "bob", "ada"]


def versions(graph: Graph, branch: str = "main") -> list[Path]:
    """The versions of the manifest of a branch, newest first."""
    incarnation = graph.branches.get(branch).incarnation
    return sorted(Path(graph.uri, "__manifest", incarnation, "_versions").glob("*.manifest"))


def keys(graph: Graph, branch: str = "main") -> list[str]:
    return [row["p.k"] for row in graph.query("query q() { match { $p: P } return { $p.k } order { $p.k } }", branch=branch).rows]


def lose(newest: Path, older: Path) -> None:
    newest.unlink()


def replace(newest: Path, older: Path) -> None:
    newest.write_bytes(older.read_bytes())


def replace_without_hint(newest: Path, older: Path) -> None:
    replace(newest, older)
    (newest.parent / "latest_version_hint.json").unlink()


DAMAGES = [lose, replace, replace_without_hint]


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
@pytest.mark.parametrize("behind", [1, 3])
def test_a_newest_version_that_is_lost_is_named_and_nothing_older_is_answered(
    g: Graph, damage: Callable[[Path, Path], None], behind: int
) -> None:
    newest, *older = versions(g)
    was = newest.read_bytes()
    g.close()
    damage(newest, older[behind - 1])
    graph = og.open(g.uri, save_from=None)
    for use in (keys, add_one, lambda g: g.commits(), lambda g: g.branches.create("new"), clean):
        with pytest.raises(DamagedRecord, match="Commits would be missing") as caught:
            use(graph)
        assert newest.name in str(caught.value)
        assert "from a copy" in str(caught.value.hint)
    found = graph.verify().problems
    assert [p.kind.name for p in found if p.branch == "main"] == ["MANIFEST"]
    assert newest.name in found[0].message
    newest.write_bytes(was)
    assert keys(graph) == ["k0", "k1", "k2", "k3"]
    assert og.open(g.uri).verify(deep=True).ok


def test_one_who_goes_on_without_the_lost_commit_does_as_the_error_says(g: Graph) -> None:
    versions(g)[0].unlink()
    (Path(versions(g)[0]).parent / "latest_version_hint.json").unlink()
    assert keys(og.open(g.uri, save_from=None)) == ["k0", "k1", "k2"]


@pytest.mark.parametrize("damage", [lose, replace], ids=lambda damage: damage.__name__)
def test_an_open_graph_does_not_go_back_to_an_older_state(g: Graph, damage: Callable[[Path, Path], None]) -> None:
    assert len(keys(g)) == 4
    with og.open(g.uri) as other:
        add(other, "k4")
    assert len(keys(g)) == 5
    damage(*versions(g)[:2])
    if damage is lose:
        with pytest.raises(DamagedRecord, match="Commits would be missing"):
            keys(g)
    with pytest.raises(DamagedRecord, match="Commits would be missing"):
        keys(og.open(g.uri, save_from=None))


def test_a_fence_that_always_loses_gives_up(g: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    manifest = g._store.manifest(g.branches.get("main"))
    attempts = 0

    def publish(*_: object) -> None:
        nonlocal attempts
        attempts += 1
        raise LostRace("somebody else")

    monkeypatch.setattr(manifest, "publish", publish)
    with pytest.raises(ConflictError, match="too busy"):
        manifest.fence(7)
    assert attempts == FENCE_RACES


def add_one(graph: Graph) -> None:
    add(graph, "new")


def clean(graph: Graph) -> None:
    graph.cleanup(keep=1, older_than="0s", dry_run=False)


@pytest.mark.parametrize("lost", ["__refs", "__refs/main", "."])
def test_a_graph_without_its_main_branch_is_not_whole(g: Graph, lost: str) -> None:
    path = Path(g.uri, lost)
    path.unlink() if path.is_file() else shutil.rmtree(path)
    assert ("RECORD", "__refs/main") in [(p.kind.name, p.path) for p in g.verify().problems]
    for use in (lambda g: g.branches.list(), clean, lambda g: g.cleanup()):
        with pytest.raises((NotFound, DamagedRecord), match=r"holds no graph|lost their names"):
            use(g)


class _Killed(BaseException):
    pass


def half_deleted(graph: Graph, name: str, monkeypatch: pytest.MonkeyPatch) -> Graph:
    """A graph in which whoever deleted a branch died after it was sealed."""

    def die(*_: object) -> None:
        raise _Killed

    with monkeypatch.context() as patch:
        patch.setattr(Place, "remove", die)
        with pytest.raises(_Killed):
            graph.branches.delete(name, actor="ada")
    return og.open(graph.uri, save_from=None)


@pytest.mark.parametrize("again", ["b", "b/below"])
def test_a_branch_whose_deletion_did_not_end_counts_as_deleted(g: Graph, again: str, monkeypatch: pytest.MonkeyPatch) -> None:
    g.branches.create("b")
    add(g, "on b", "b")
    graph = half_deleted(g, "b", monkeypatch)
    with pytest.raises(NotFound, match="no branch `b`"):
        keys(graph, "b")
    assert graph.verify(deep=True, content=True).problems == ()
    graph.branches.create(again)
    assert graph.branches.list() == sorted([again, "main"])
    assert keys(graph, again) == keys(graph)
    add(graph, "anew", again)
    assert graph.verify(deep=True, content=True).ok


def test_a_tag_takes_the_name_of_a_branch_whose_deletion_did_not_end(g: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    g.branches.create("b")
    graph = half_deleted(g, "b", monkeypatch)
    graph.tags.create("b", "main")
    assert graph.branches.list() == ["main"]


def test_a_second_deletion_ends_the_first(g: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    g.branches.create("b")
    graph = half_deleted(g, "b", monkeypatch)
    assert graph.branches.delete("b") is None
    assert graph.branches.list() == ["main"]
