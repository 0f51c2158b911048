"""A small merge says which entities it is about, so a write that was prepared beside it stands unless it is about one of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import omnigraph as og

SCHEMA = """
node Person { name: String @key  age: I32?  email: String? @unique }
edge Knows: Person -> Person @key(src, dst)
"""
AGE = "query q($n: String, $a: I32) { update Person set { age: $a } where name = $n }"


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    made = og.init(tmp_path / "g", schema=SCHEMA, durability="os")
    made.load({"Person": [{"name": name} for name in ("ada", "bo", "cy")]})
    made.branches.create("work")
    return made


def write_beside(graph: og.Graph, write: Callable[[og.Transaction], object]) -> None:
    """A write that is prepared while somebody else merges."""
    other = og.open(graph._store.place.uri)
    with graph.transaction() as t:
        write(t)
        other.put("Person", {"name": "beside"})
        other.merge("work")


MERGED: dict[str, Callable[[og.Graph], object]] = {
    "insert": lambda g: g.put("Person", {"name": "eve"}, branch="work"),
    "update": lambda g: g.put("Person", {"name": "cy", "age": 3}, branch="work"),
    "delete": lambda g: g.mutate('query q() { delete Person where name = "cy" }', branch="work"),
    "edge": lambda g: g.put_edge("Knows", "bo", "cy", branch="work"),
}


@pytest.mark.parametrize("what", MERGED)
def test_a_write_about_others_stands(graph: og.Graph, what: str) -> None:
    MERGED[what](graph)
    graph.put("Person", {"name": "dan"})  # so that the merge is no fast-forward
    write_beside(graph, lambda t: t.mutate(AGE, {"n": "ada", "a": 7}))
    ada = graph.get("Person", "ada")
    assert ada is not None
    assert ada["age"] == 7
    assert graph.verify(deep=True).ok
    for name in ("ada", "bo", "cy", "dan", "eve"):  # what this handle knows of ids is what a new one reads
        assert graph.get("Person", name) == og.open(graph._store.place.uri).get("Person", name), name


@pytest.mark.parametrize("merged", [{"name": "ada", "age": 1}, None])
def test_a_write_about_the_same_does_not(graph: og.Graph, merged: dict[str, object] | None) -> None:
    if merged is None:
        graph.mutate('query q() { delete Person where name = "ada" }', branch="work")
    else:
        graph.put("Person", merged, branch="work")
    graph.put("Person", {"name": "dan"})
    with pytest.raises(og.ConflictError):
        write_beside(graph, lambda t: t.mutate(AGE, {"n": "ada", "a": 7}))
    found = graph.get("Person", "ada")
    assert (None if found is None else found["age"]) == (None if merged is None else 1)


def test_a_value_that_no_two_may_have_is_found(graph: og.Graph) -> None:
    graph.put("Person", {"name": "eve", "email": "e@x"}, branch="work")
    graph.put("Person", {"name": "dan"})
    with pytest.raises(og.ValidationError, match="e@x"):
        write_beside(graph, lambda t: t.put("Person", {"name": "ada", "email": "e@x"}))


def test_an_edge_to_a_node_that_a_merge_removes_is_found(graph: og.Graph) -> None:
    graph.mutate('query q() { delete Person where name = "cy" }', branch="work")
    graph.put("Person", {"name": "dan"})
    with pytest.raises(og.GraphError, match="cy"):
        write_beside(graph, lambda t: t.put_edge("Knows", "ada", "cy"))
    assert graph.verify(deep=True).ok
