"""Edges with keys on branches: what is added on both sides is one edge, and diffs, merges and feeds speak of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.engine.graphs import add, make_graph
from tests.engine.history.graphs import calm, contents

import omnigraph as og

SCHEMA = """
node Person { name: String @key }
edge Knows: Person -> Person @key(src, dst) { weight: F64?  note: String? }
"""
ADA_BOB = '["Ada","Bob"]'


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    made = make_graph(tmp_path, SCHEMA, {"Person": [{"name": name} for name in ("Ada", "Bob", "Cy")]})
    calm(made)
    made.branches.create("x")
    return made


def know(graph: og.Graph, branch: str, weight: float, note: str | None = None) -> None:
    text = 'query q($w: F64, $n: String?) { insert Knows { from: "Ada", to: "Bob", weight: $w, note: $n } }'
    graph.mutate(text, {"w": weight, "n": note}, branch=branch)


def weights(graph: og.Graph, branch: str = "main") -> dict[str, object]:
    return {id_: row["weight"] for (type_, id_), row in contents(graph, branch).items() if type_ == "Knows"}


def test_the_same_edge_on_both_sides_is_one(graph: og.Graph) -> None:
    know(graph, "main", 1.0)
    know(graph, "x", 1.0)
    assert graph.merge("x").outcome == "merged"
    assert weights(graph) == {ADA_BOB: 1.0}


def test_another_edge_of_the_key_is_a_conflict_about_that_edge(graph: og.Graph) -> None:
    know(graph, "main", 1.0)
    know(graph, "x", 2.0)
    with pytest.raises(og.MergeConflict) as found:
        graph.merge("x")
    (conflict,) = found.value.conflicts
    assert (conflict.kind, conflict.type, conflict.entity) == ("divergent_insert", "Knows", ADA_BOB)
    with pytest.raises(og.UsageError, match="is the identity of an entity and cannot be changed"):
        graph.merge("x", resolve={conflict.key: {"from": "Cy", "weight": 3.0, "note": None}})
    graph.merge("x", resolve={conflict.key: {"weight": 3.0}})
    assert weights(graph) == {ADA_BOB: 3.0}


def test_a_diff_says_that_the_edge_changed(graph: og.Graph) -> None:
    know(graph, "main", 1.0)
    first = graph.commits(limit=1)[0].id
    know(graph, "main", 2.0)
    (change,) = graph.diff(first, "main").changes
    assert (change.op, change.type, change.id) == ("update", "Knows", ADA_BOB)
    (block,) = graph.changes(f"after:{first}").blocks
    assert [(c.op, c.id) for c in block.changes] == [("update", ADA_BOB)]


def test_properties_of_one_edge_that_each_side_changed_are_merged(graph: og.Graph) -> None:
    know(graph, "main", 1.0, "old")
    graph.branches.delete("x")
    graph.branches.create("x")
    know(graph, "main", 2.0, "old")
    know(graph, "x", 1.0, "new")
    graph.merge("x")
    assert weights(graph) == {ADA_BOB: 2.0}


def test_a_type_that_both_sides_added_is_one_if_its_key_is(tmp_path: Path) -> None:
    made = make_graph(tmp_path, "node Person { name: String @key }", {"Person": [{"name": "Ada"}, {"name": "Bob"}]})
    calm(made)
    made.branches.create("x")
    made.apply_schema(SCHEMA)
    made.apply_schema(SCHEMA, branch="x")
    know(made, "main", 1.0)
    know(made, "x", 1.0)
    made.merge("x")
    assert weights(made) == {ADA_BOB: 1.0}


def test_what_makes_ids_is_not_added_or_taken_away(graph: og.Graph) -> None:
    for text, words in (
        (SCHEMA.replace(" @key(src, dst)", ""), "@key(src, dst) cannot be removed from Knows"),
        (SCHEMA.replace("@key(src, dst)", "@key(src, dst, day)").replace("note:", "day: Date note:"), "cannot be"),
    ):
        with pytest.raises(og.UnsupportedChange) as found:
            graph.apply_schema(text)
        assert words in str(found.value)


def test_verify_finds_an_id_that_its_key_does_not_give(graph: og.Graph) -> None:
    add(graph, {"Knows": [{"id": "k", "src": "Ada", "dst": "Cy"}]})
    (problem,) = graph.verify(content=True).problems
    assert problem.message == """Knows `k` has the key of `["Ada","Cy"]`"""
