"""Names: what may be one, which of the three a name means, and that a name is never a branch and a tag at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import msgspec
import pytest
from tests.storage.graphs import content, insert, new_graph, place

import omnigraph as og
from omnigraph.errors import AlreadyExists, GraphError, HistoryReclaimed, NotFound, UsageError
from omnigraph.model.limits import MAX_NAME_BYTES
from omnigraph.storage.commits import name_rules
from omnigraph.storage.commits import name_rules as naming
from omnigraph.storage.commits.name_rules import is_possible, reads_like_id, tag_path
from omnigraph.storage.commits.refs import Tag
from omnigraph.storage.graph_store import GraphStore

ALL = "query all() { match { $p: Person } return { $p.name } }"


def test_what_reads_like_an_id_is_neither_a_branch_nor_a_tag(tmp_path: Path) -> None:
    store = new_graph(tmp_path)
    commit = insert(store, a=1)
    for name in (commit.id, commit.id.lower(), "7ZZZZZZZZZZZZZZZZZZZZZZZZZ", "0" * 26):
        assert reads_like_id(name)
        with pytest.raises(UsageError, match="it looks like a commit id"):
            store.create_tag(name, commit.id)
        with pytest.raises(UsageError, match="it looks like a commit id"):
            store.create_branch(name)
    for name in ("abcdefghijklmnopqrstuvwxyz", "8" + "0" * 25, "0" * 25, "0" * 27):
        assert not reads_like_id(name)
        store.create_tag(name, commit.id)
        assert content(store, at=name) == {"a": 1}


@pytest.mark.parametrize(
    "name", ["", ".", "./x", "a/.", "..", " x", "x\n", "x" * 300, "a/" * 100 + "a", "x" * (MAX_NAME_BYTES + 1)]
)
@pytest.mark.parametrize("kind", ["branch", "tag"])
def test_names_that_cannot_be_are_told_so(tmp_path: Path, name: str, kind: str) -> None:
    store = new_graph(tmp_path)
    before = sorted(p.relative_to(tmp_path) for p in tmp_path.rglob("*"))
    with pytest.raises(UsageError):
        store.create_branch(name) if kind == "branch" else store.create_tag(name, "main")
    assert sorted(p.relative_to(tmp_path) for p in tmp_path.rglob("*")) == before


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "x" * 300, "a/" * 100 + "a", "\0", "\ud800", "a b"])
def test_names_that_cannot_be_are_looked_for_nowhere(tmp_path: Path, name: str) -> None:
    store = new_graph(tmp_path)
    assert not is_possible(name)
    for look in (store.snapshot, store.snapshot_at, store.resolve, store.delete_branch, store.delete_tag):
        with pytest.raises(NotFound):
            look(name)


def test_the_longest_name_can_be_given_and_taken_back(tmp_path: Path) -> None:
    store = new_graph(tmp_path)
    for name in ("x" * MAX_NAME_BYTES, "/".join(["abc"] * 40)):
        store.create_branch(name)
        assert content(store, name) == {}
        store.delete_branch(name)
        store.create_tag(name, "main")
        assert content(store, at=name) == {}
        store.delete_tag(name)


def test_a_name_is_a_branch_or_a_tag(tmp_path: Path) -> None:
    store = new_graph(tmp_path)
    commit = insert(store, a=1)
    store.create_branch("work")
    store.create_tag("v1", commit.id)
    for taken in ("work", "main"):
        with pytest.raises(AlreadyExists, match="never both"):
            store.create_tag(taken, commit.id)
    with pytest.raises(AlreadyExists, match="never both"):
        store.create_branch("v1")
    assert [t.name for t in store.tags()] == ["v1"]
    assert store.branches() == ["main", "work"]
    store.delete_tag("v1")
    store.create_branch("v1")
    store.delete_branch("work")
    store.create_tag("work", commit.id)


def test_of_two_who_give_one_name_at_once_one_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(name_rules, "GIVE_WAY_SECONDS", 0.3)
    new_graph(tmp_path)
    stores = [GraphStore.open(place(tmp_path)) for _ in range(2)]
    start = Barrier(2)

    def branch(name: str) -> str:
        start.wait()
        stores[0].create_branch(name)
        return "branch"

    def tag(name: str) -> str:
        start.wait()
        stores[1].create_tag(name, "main")
        return "tag"

    with ThreadPoolExecutor(2) as threads:
        for number in range(12):
            name = f"n{number}"
            made: list[str] = []
            for future in [threads.submit(branch, name), threads.submit(tag, name)]:
                try:
                    made.append(future.result())
                except AlreadyExists:
                    continue
            assert len(made) == 1
            assert (name in stores[0].branches()) == (made == ["branch"])
            assert (name in [t.name for t in stores[0].tags()]) == (made == ["tag"])


def test_a_tag_that_was_put_just_before_keeps_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The branch is put after the tag's creator has looked: the tag is acknowledged, so the branch gives way."""
    monkeypatch.setattr(name_rules, "GIVE_WAY_SECONDS", 0.1)
    store, other = new_graph(tmp_path), GraphStore.open(place(tmp_path))
    put_new = store.place.put_new

    def late(path: str, data: bytes, removed: object = None) -> None:
        other.create_tag("x", "main")
        put_new(path, data)

    monkeypatch.setattr(type(store.place), "put_new", lambda self, *a: late(*a) if a[0] == "__refs/x" else put_new(*a))
    with pytest.raises(AlreadyExists, match="never both"):
        store.create_branch("x")
    assert store.branches() == ["main"]
    assert [t.name for t in store.tags()] == ["x"]


@pytest.fixture
def twice(tmp_path: Path) -> tuple[og.Graph, dict[str, str]]:
    """A graph of an earlier version: a tag named like a branch, and one named like a commit."""
    graph = og.init(tmp_path / "g", "node Person { name: String @key }")
    add = "query add($n: String) { insert Person { name: $n } }"
    commits = {}
    for name in ("a", "b"):
        receipt = graph.mutate(add, {"n": name})
        assert receipt.commit is not None
        commits[name] = receipt.commit.id
    graph.branches.create("work", from_=commits["a"])
    owner = graph._store.ref("main")
    for name, commit in (("work", commits["b"]), (commits["a"], commits["b"]), ("v1", commits["a"]), ("1" * 26, commits["a"])):
        said = msgspec.json.encode(Tag(name, commit, owner))
        graph._store.place.put_new(tag_path(name), said)
    return graph, commits


def test_a_name_means_one_thing_at_every_door(twice: tuple[og.Graph, dict[str, str]]) -> None:
    """Commit, branch, tag: the first there is. Also where a graph of an earlier version has a name twice."""
    graph, commits = twice
    meant = {
        commits["a"]: "a", commits["b"]: "b", "main": "b", "work": "a", "v1": "a", "1" * 26: "a",
    }  # fmt: skip
    for number, (name, last) in enumerate(meant.items()):
        expected, commit = (["a", "b"] if last == "b" else ["a"]), commits[last]
        assert [r["p.name"] for r in graph.query(ALL, at=name)] == expected
        assert graph.snapshot(at=name).commit == commit
        assert list(graph.diff(name, commit)) == []
        assert graph.branches.create(f"of{number}", from_=name).fork_commit == commit
        assert graph.tags.create(f"tag{number}", name).commit == commit
        if name != "1" * 26:
            assert graph.commit(name).id == commit
            assert graph.commit_changes(name).cause.commit == commit
            assert graph.revert(name, dry_run=True).base == commit
        loaded = graph.load([{"type": "Person", "data": {"name": "z"}}], branch=f"loaded{number}", from_=name)
        assert loaded.commit.parent == commit


def test_a_name_that_means_nothing(twice: tuple[og.Graph, dict[str, str]]) -> None:
    graph, _ = twice
    for look in (
        lambda name: graph.query(ALL, at=name),
        lambda name: graph.diff("main", name),
        lambda name: graph.branches.create("new", from_=name),
        lambda name: graph.tags.create("new", name),
        graph.commit,
        graph.commit_changes,
        graph.revert,
    ):
        for name in ("nope", "7" * 26):
            with pytest.raises((NotFound, HistoryReclaimed)) as caught:
                look(name)
            assert name in caught.value.message
            assert isinstance(caught.value, GraphError)


def test_a_name_that_stands_twice_can_be_given_up(twice: tuple[og.Graph, dict[str, str]]) -> None:
    graph, commits = twice
    tag = next(t for t in graph.tags.list() if t.name == "work")
    graph.tags.create("v2", tag.commit)
    graph.tags.delete("work")
    assert graph.snapshot(at="v2").commit == commits["b"]
    assert "work" in graph.branches.list()
    assert naming.name_in(tag_path("a/b")) == "a/b"
