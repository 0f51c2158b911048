"""The store for LangGraph does what LangGraph's own store in memory does, on a branch, open here and connected."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.engine.served import Server
from tests.memory.conftest import DIMENSION, EMBEDDER

import omnigraph as og
from omnigraph.memory import schema

pytest.importorskip("langgraph.store.base", reason="langgraph is not installed: pip install 'omnigraph[langgraph]'")

from langgraph.store.base import GetOp, InvalidNamespaceError, ListNamespacesOp, MatchCondition, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore

from omnigraph.memory.langgraph import OmniGraphStore

USERS = ("users", "42")


@pytest.fixture(params=["here", "served"])
def items(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    """A graph for items, open here or connected to as ada."""
    with og.init(tmp_path / "items.omni", schema=schema("items", dimension=DIMENSION), durability="os") as opened:
        if request.param == "here":
            yield opened
            return
        server: Server = request.getfixturevalue("memory_server")
        with og.connect(server.url, graph=server.graphs.hold(opened), token="ada") as connected:
            yield connected


@pytest.fixture
def store(items: Any) -> OmniGraphStore:
    return OmniGraphStore(items, agent="ada", embedder=EMBEDDER)


def in_memory(fields: list[str] | None = None) -> InMemoryStore:
    def embed(texts: Any) -> list[list[float]]:
        return [list(map(float, vector)) for vector in EMBEDDER.embed(list(texts), DIMENSION)]

    return InMemoryStore(index={"dims": DIMENSION, "embed": embed, "fields": fields or ["$"]})


def test_values_by_namespace_and_key(items: Any, store: OmniGraphStore) -> None:
    assert store.get(USERS, "prefs") is None
    assert items.branches.list() == ["main"], "asking creates nothing"
    value = {"theme": "dark", "n": 3, "nested": {"a": [1, 2.5, None, True]}, "text": "Grüße, 漢字 / 50%"}
    store.put(USERS, "a/b%2F", value)
    found = store.get(USERS, "a/b%2F")
    assert found is not None
    assert (found.namespace, found.key, found.value) == (USERS, "a/b%2F", value)
    assert found.created_at == found.updated_at
    assert found.created_at.tzinfo is not None
    assert items.branches.list() == ["agent/ada", "main"]
    assert items.commit("agent/ada").actor == "ada"
    store.put(USERS, "a/b%2F", {"theme": "light"})
    again = store.get(USERS, "a/b%2F")
    assert again is not None
    assert (again.value, again.created_at) == ({"theme": "light"}, found.created_at)
    store.delete(USERS, "a/b%2F")
    assert store.get(USERS, "a/b%2F") is None
    before = items.commit("agent/ada").id
    store.delete(USERS, "a/b%2F")
    assert items.commit("agent/ada").id == before, "there was nothing to delete"


def test_a_batch_is_one_commit_and_reads_what_was_before(items: Any, store: OmniGraphStore) -> None:
    store.put(("a",), "x", {"n": 1})
    before = len(list(items.commits(branch="agent/ada")))
    ops = [
        PutOp(("a",), "x", {"n": 2}),
        GetOp(("a",), "x"),
        PutOp(("a",), "y", {"n": 3}),
        PutOp(("a",), "y", {"n": 4}),
        SearchOp(("a",)),
    ]
    results = store.batch(ops)
    assert results[1].value == {"n": 1}
    assert [one.value for one in results[4]] == [{"n": 1}]
    assert len(list(items.commits(branch="agent/ada"))) == before + 1
    assert {one.key: one.value for one in store.search(("a",))} == {"x": {"n": 2}, "y": {"n": 4}}
    store.batch([PutOp(("a",), "x", None), PutOp(("a",), "z", {"n": 5})])
    assert {one.key for one in store.search(("a",))} == {"y", "z"}


def test_searching_by_meaning(store: OmniGraphStore) -> None:
    own = in_memory(["text"])
    texts = ["Grace drinks tea", "The kettle is on", "It will rain", "Ada wrote a program", "nothing"]
    for one in (store_with(store, ["text"]), own):
        for number, text in enumerate(texts):
            one.put(("docs", str(number % 2)), f"d{number}", {"text": text, "n": number})
        one.put(("docs", "0"), "hidden", {"text": "not searched"}, index=False)
        one.put(("other",), "o", {"text": "Grace drinks tea"})
    for query in texts:
        ours, theirs = ([(i.key, i.score) for i in one.search(("docs",), query=query, limit=3)] for one in (store, own))
        assert [key for key, _ in ours] == [key for key, _ in theirs]
        assert [score for _, score in ours] == pytest.approx([score for _, score in theirs], abs=1e-5)
    everything = store.search(("docs",), query="tea", limit=10)
    assert (everything[-1].key, everything[-1].score) == ("hidden", None), "what has no vector comes last"
    assert len(everything) == 6
    only = store.search(("docs",), query="tea", filter={"n": {"$gte": 3}}, limit=10)
    assert {one.key for one in only} == {"d3", "d4"}


def store_with(store: OmniGraphStore, fields: list[str]) -> OmniGraphStore:
    store._fields = fields
    return store


def test_searching_by_words_without_a_provider(items: Any) -> None:
    store = OmniGraphStore(items, branch="agent/words")
    store.put(("docs",), "a", {"text": "Grace drinks tea"})
    store.put(("docs",), "b", {"text": "It will rain"})
    found = store.search(("docs",), query="rain")
    assert [(one.key, one.score is None) for one in found] == [("b", False), ("a", True)]
    store.put(("docs",), "b", {"text": "It was sunny"})
    assert [one.score for one in store.search(("docs",), query="rain")] == [None, None]


def test_a_text_that_changes_has_another_vector(items: Any, store: OmniGraphStore) -> None:
    store.put(("docs",), "a", {"text": "tea"})
    store.put(("docs",), "b", {"text": "rain"})
    store.put(("docs",), "a", {"text": "snow"})
    best = store.search(("docs",), query='{"text": "snow"}', limit=1)[0]
    assert best.key == "a"
    assert best.score == pytest.approx(1, abs=1e-5)
    store.put(("docs",), "a", {"text": "snow"}, index=False)
    assert {one.key: one.score is None for one in store.search(("docs",), query="snow")} == {"a": True, "b": False}
    OmniGraphStore(items, branch="agent/ada").put(("docs",), "b", {"text": "sun"})
    assert {one.score for one in store.search(("docs",), query="sun")} == {None}, "an old vector does not stand for a new text"


@pytest.mark.parametrize(
    ("wanted", "keys"),
    [
        ({"color": "red"}, {"a", "c"}),
        ({"n": {"$gt": 1}}, {"b", "c"}),
        ({"n": {"$gte": 1, "$lt": 3}}, {"a", "b"}),
        ({"n": {"$ne": 2}, "color": "red"}, {"a", "c"}),
        ({"in": {"a": 1}}, {"b"}),
        ({"list": [1, {"$gt": 1}]}, {"c"}),
        ({"missing": {"$lte": 3}}, set()),
        ({"missing": None}, {"a", "b", "c"}),
    ],
)
def test_filters(store: OmniGraphStore, wanted: dict[str, Any], keys: set[str]) -> None:
    store.put(("f",), "a", {"color": "red", "n": 1})
    store.put(("f",), "b", {"color": "blue", "n": 2, "in": {"a": 1, "b": 2}})
    store.put(("f",), "c", {"color": "red", "n": 3, "list": [1, 2]})
    assert {one.key for one in store.search(("f",), filter=wanted)} == keys


def test_pages_and_filters_go_through_everything(store: OmniGraphStore) -> None:
    store.batch([PutOp(("many",), f"k{n:03}", {"n": n}, index=False) for n in range(60)])
    pages = [store.search(("many",), limit=7, offset=at, filter={"n": {"$gte": 20}}) for at in range(0, 60, 7)]
    found = [one.value["n"] for page in pages for one in page]
    assert sorted(found) == list(range(20, 60))
    assert store.search(("many",), limit=0) == []


def test_namespaces(store: OmniGraphStore) -> None:
    own = InMemoryStore()
    spaces = [("a", "b", "c"), ("a", "b", "d"), ("a", "x", "c"), ("z",), ("a/b",), ("a%", "é")]
    for one in (store, own):
        one.batch([PutOp(space, "k", {"v": 1}) for space in spaces])
    for op in (
        ListNamespacesOp(),
        ListNamespacesOp(max_depth=2),
        ListNamespacesOp(match_conditions=(MatchCondition("prefix", ("a", "*")),)),
        ListNamespacesOp(match_conditions=(MatchCondition("suffix", ("c",)), MatchCondition("prefix", ("a", "x")))),
        ListNamespacesOp(limit=2, offset=1),
    ):
        assert store.batch([op]) == own.batch([op])
    assert {one.namespace for one in store.search(("a",))} == {("a", "b", "c"), ("a", "b", "d"), ("a", "x", "c")}
    store.delete(("z",), "k")
    assert ("z",) not in store.list_namespaces()


def test_in_an_event_loop(store: OmniGraphStore) -> None:
    async def work() -> Any:
        await asyncio.gather(*(store.aput(("loop",), f"k{n}", {"n": n}) for n in range(3)))
        return await store.asearch(("loop",), query="k", limit=5)

    assert {one.key for one in asyncio.run(work())} == {"k0", "k1", "k2"}


def test_what_is_refused(items: Any, store: OmniGraphStore) -> None:
    with pytest.raises(og.UsageError, match="cannot be written as JSON"):
        store.put(("a",), "k", {"v": object()})
    with pytest.raises(og.UsageError, match="cannot be written as JSON"):
        store.put(("a",), "k", {"v": float("nan")})
    with pytest.raises(InvalidNamespaceError):
        store.put((), "k", {"v": 1})
    with pytest.raises(NotImplementedError):
        store.put(("a",), "k", {"v": 1}, ttl=1)
    store.put(("a",), "k", {"v": 1})
    with pytest.raises(og.UsageError, match="no operator `\\$near`"):
        store.search(("a",), filter={"v": {"$near": 1}})
    with pytest.raises(og.UsageError, match="`fields` must be paths"):
        OmniGraphStore(items, agent="ada", fields="text")


def test_a_graph_without_the_schema(tmp_path: Path) -> None:
    with (
        og.init(tmp_path / "g.omni", schema="node Item { text: String }", durability="os") as graph,
        pytest.raises(og.UsageError, match="has no schema for items"),
    ):
        OmniGraphStore(graph, agent="ada").get(("a",), "k")


@pytest.mark.parametrize("seed", range(3))
def test_long_sequences_go_as_in_memory(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    spaces = [("a",), ("a", "b"), ("a", "b", "c"), ("b",)]
    own = InMemoryStore()
    with og.init(tmp_path / "g.omni", schema=schema("items", dimension=DIMENSION), durability="os") as graph:
        store = OmniGraphStore(graph, agent="ada")
        for step in range(40):
            space, key = chance.choice(spaces), chance.choice("klm")
            if chance.random() < 0.6:
                for one in (store, own):
                    one.put(space, key, {"step": step, "even": step % 2 == 0})
            elif chance.random() < 0.5:
                for one in (store, own):
                    one.delete(space, key)
            found, expected = (
                {(i.namespace, i.key): i.value for i in one.search(space, filter=f, limit=100)}
                for f in [chance.choice([None, {"even": True}, {"step": {"$gt": step / 2}}])]
                for one in (store, own)
            )
            assert found == expected, step
            mine, theirs = store.get(space, key), own.get(space, key)
            assert (mine and mine.value) == (theirs and theirs.value)


@pytest.mark.parametrize(
    "call",
    [
        lambda store: store.search(("a",), query=1),
        lambda store: store.search(("a",), query="\ud800"),
        lambda store: store.search(("a",), limit="1"),
        lambda store: store.search(("a",), offset=float("nan")),
        lambda store: store.list_namespaces(limit="1"),
    ],
)
def test_what_cannot_be_meant_is_refused(store: OmniGraphStore, call: Any) -> None:
    with pytest.raises(og.UsageError):
        call(store)


def test_what_two_agents_put_alike_is_one_item(tmp_path: Path) -> None:
    with og.init(tmp_path / "items.omni", schema=schema("items", dimension=DIMENSION), durability="os") as graph:
        ada, bob = (OmniGraphStore(graph, agent=name, embedder=EMBEDDER) for name in ("ada", "bob"))
        with pytest.raises(og.NotFound, match="nothing was written on agent/bob yet"):
            bob.catch_up()
        ada.put(USERS, "prefs", {"theme": "dark"})
        bob.put(USERS, "prefs", {"theme": "dark"})
        bob.put(USERS, "other", {"n": 1})
        first, last = ada.get(USERS, "prefs"), bob.get(USERS, "prefs")
        graph.merge("agent/ada")
        with pytest.raises(og.MergeConflict):
            graph.merge("agent/bob")
        bob.catch_up()
        assert bob.catch_up().outcome == "already_up_to_date"
        graph.merge("agent/bob")
        found = OmniGraphStore(graph, branch="main", embedder=EMBEDDER).get(USERS, "prefs")
        assert found is not None
        assert first is not None
        assert last is not None
        assert (found.created_at, found.updated_at) == (first.created_at, last.updated_at)


def test_what_they_put_differently_is_for_somebody_to_decide(tmp_path: Path) -> None:
    with og.init(tmp_path / "items.omni", schema=schema("items", dimension=DIMENSION), durability="os") as graph:
        ada, bob = (OmniGraphStore(graph, agent=name, embedder=EMBEDDER) for name in ("ada", "bob"))
        ada.put(USERS, "prefs", {"theme": "dark"})
        bob.put(USERS, "prefs", {"theme": "light"})
        graph.merge("agent/ada")
        with pytest.raises(og.MergeConflict):
            bob.catch_up()
