"""Reviews as they are stored: numbers, damage, what cleanup leaves alone, on a folder and in a bucket."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from itertools import count
from pathlib import Path
from threading import Barrier, Thread

import pytest
from tests.storage.s3 import server

import omnigraph as og
from omnigraph.storage.commits import reviews
from omnigraph.storage.reclaiming.reclaim import reclaim

SCHEMA = "node Person { name: String @key }"


@pytest.fixture(scope="module")
def buckets() -> Iterator[Callable[[], og.Graph]]:
    """A server, and new graphs on it."""
    numbers = count()
    with server() as running:
        yield lambda: og.init(f"s3://graphs/g{next(numbers)}", SCHEMA, storage_options=running.options)


@pytest.fixture(params=["folder", "bucket"])
def graph(request: pytest.FixtureRequest, folder: Path) -> og.Graph:
    """Two branches, and a review of each."""
    if request.param == "folder":
        return made(og.init(folder / "g", SCHEMA, durability="os"))
    return made(request.getfixturevalue("buckets")())


def made(g: og.Graph) -> og.Graph:
    for name in ("one", "two"):
        g.branches.create(name)
        g.put("Person", {"name": name}, branch=name)
        g.reviews.create(name, title=name, actor="agent")
    return g


def again(g: og.Graph) -> og.Graph:
    return og.open(g.uri, storage_options=g._store.place.options)


def damage(g: og.Graph, number: int, content: bytes) -> None:
    g._store.place.put(reviews.review_path(number), content)


def clean(g: og.Graph) -> None:
    reclaim(g._store, keep=1, older_than=timedelta(0), grace=timedelta(0), dry_run=False)


def test_a_review_is_one_object_with_a_checksum(graph: og.Graph) -> None:
    place = graph._store.place
    assert [o.path for o in place.names(reviews.FOLDER)] == ["__reviews/0000000001", "__reviews/0000000002"]
    content = place.get(reviews.review_path(1))
    assert b'"sum":"' in content
    for at in range(0, len(content), 29):
        turned = bytes([*content[:at], content[at] ^ 1, *content[at + 1 :]])
        damage(graph, 1, turned)
        with pytest.raises(og.GraphError):
            graph.reviews.get(1)


@pytest.mark.parametrize("content", [b"{}", b"\x00\xff", b'{"id": 1}'])
def test_a_damaged_review_hides_neither_the_others_nor_the_graph(graph: og.Graph, content: bytes) -> None:
    damage(graph, 1, content)
    g = again(graph)
    with pytest.raises(og.DamagedRecord, match="review 1") as refused:
        g.reviews.get(1)
    assert "Other reviews" in refused.value.hint
    with pytest.raises(og.DamagedRecord):
        g.reviews.comment(1, "x")
    found = g.reviews.list()
    assert [r.id for r in found] == [2]
    assert list(found.unreadable) == [1]
    assert "review 1 cannot be read" in repr(found)
    assert g.reviews.approve(2, actor="eve").state == "approved"
    assert g.reviews.merge(2, actor="eve").state == "merged"
    assert g.reviews.create("one", title="again").id == 3
    problems = g.verify().problems
    assert [(p.branch, p.path) for p in problems] == [("review 1", "__reviews/0000000001")]
    with pytest.raises(og.DamagedRecord, match="review 1"):  # what it keeps is not known
        clean(g)


def test_one_review_in_the_place_of_another_is_damage(graph: og.Graph) -> None:
    place = graph._store.place
    damage(graph, 1, place.get(reviews.review_path(2)))
    with pytest.raises(og.DamagedRecord, match="checksum"):
        graph.reviews.get(1)


def test_open_reviews_keep_their_commits_and_others_keep_nothing(graph: og.Graph) -> None:
    kept = graph.reviews.get(1)
    lost = graph.reviews.get(2)
    assert kept.keeps == (kept.base, kept.source_commit)
    graph.reviews.close(2)
    graph.put("Person", {"name": "later"})
    graph.put("Person", {"name": "later still"})
    for name in ("one", "two"):
        graph.branches.delete(name)
    clean(graph)
    clean(graph)
    g = again(graph)
    assert [c.id for c in g.reviews.diff(1).diff] == ["one"]
    assert g.commit(kept.source_commit or "").id == kept.source_commit
    with pytest.raises(og.HistoryReclaimed):
        g.query("query q() { match { $p: Person } return { $p.name } }", at=lost.source_commit)
    assert g.reviews.get(2).state == "closed"
    assert g.verify(deep=True).problems == ()
    g.branches.create("one", kept.source_commit or "")
    assert g.reviews.merge(1).state == "merged"
    g.branches.delete("one")
    clean(g)
    assert g.reviews.get(1).keeps == ()
    assert g.reviews.get(1).state == "merged"
    assert again(g).verify(deep=True).problems == ()


def test_editors_in_threads_lose_nothing(graph: og.Graph) -> None:
    """On a bucket: every put is conditional on what was read."""
    start, failed = Barrier(4), list[BaseException]()

    def talk(name: str) -> None:
        try:
            g = again(graph)
            start.wait()
            for number in range(4):
                g.reviews.comment(1, f"{number}", actor=name)
            g.reviews.create("two", title=name, actor=name)
        except BaseException as error:
            failed.append(error)

    threads = [Thread(target=talk, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failed == []
    said = [(c.actor, c.text) for c in graph.reviews.get(1).comments]
    assert sorted(said) == sorted((name, f"{number}") for name in "abcd" for number in range(4))
    assert sorted(r.id for r in graph.reviews.list()) == [1, 2, 3, 4, 5, 6]


def test_an_event_whose_acknowledgement_got_lost_is_not_added_twice(graph: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    place = type(graph._store.place)
    swap, puts = place.replace, list[bool]()

    def deaf(self: object, path: str, data: bytes, expected: bytes) -> bool:
        puts.append(swap(self, path, data, expected))  # type: ignore[arg-type]
        return False if len(puts) == 1 else puts[-1]

    monkeypatch.setattr(place, "replace", deaf)
    assert [c.text for c in graph.reviews.comment(1, "once").comments] == ["once"]
    assert puts == [True]


def test_a_review_has_a_size(graph: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reviews, "MAX_REVIEW_BYTES", 20_000)
    for _ in range(3):
        graph.reviews.comment(1, "x" * 5_000)
    with pytest.raises(og.ResourceLimit) as refused:
        graph.reviews.comment(1, "x" * 5_000)
    assert refused.value.resource == "review_bytes"
    assert len(graph.reviews.get(1).comments) == 3


@pytest.mark.parametrize("holds", ["review", "tag"])
def test_a_branch_that_lost_its_name_is_found_although_something_else_holds_its_commit(folder: Path, holds: str) -> None:
    with og.init(folder / "g", SCHEMA, durability="os") as g:
        g.branches.create("lost")
        g.put("Person", {"name": "Ada"}, branch="lost")
        if holds == "review":
            g.reviews.create("lost", title="please")
        else:
            g.tags.create("kept", "lost")
    (folder / "g" / "__refs" / "lost").unlink()
    with og.open(folder / "g") as g:
        assert [problem.message for problem in g.verify().problems] == ["no ref names it: the ref of branch `lost` is lost"]
