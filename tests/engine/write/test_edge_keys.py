"""Mutations of edges with keys: an insert is of the edge with that key, whether it is there or not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.engine.graphs import make_graph
from tests.engine.history.graphs import calm, contents

import omnigraph as og
from omnigraph.engine import writing
from omnigraph.engine.write.mutate import stage

SCHEMA = """
node Person { name: String @key }
edge Knows: Person -> Person @card(0..2) @key(src, dst) { weight: F64? }
edge Met: Person -> Person @key(src, dst, day) { day: Date }
"""


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    made = make_graph(tmp_path, SCHEMA, {"Person": [{"name": name} for name in "abcd"]})
    calm(made)
    return made


def run(graph: og.Graph, text: str) -> tuple[int, int]:
    receipt = graph.mutate(f"query q() {{ {text} }}")
    return receipt.affected_nodes, receipt.affected_edges


def edges(graph: og.Graph, type_: str = "Knows") -> dict[str, object]:
    return {id_: row.get("weight") for (name, id_), row in contents(graph).items() if name == type_}


def test_an_insert_replaces_the_edge_with_its_key(graph: og.Graph) -> None:
    assert run(graph, 'insert Knows { from: "a", to: "b", weight: 1.0 }') == (0, 1)
    assert run(graph, 'insert Knows { from: "a", to: "b" }') == (0, 1)
    assert edges(graph) == {'["a","b"]': None}


def test_of_several_inserts_of_one_key_the_last_counts(graph: og.Graph) -> None:
    both = 'insert Knows { from: "a", to: "b", weight: 1.0 } insert Knows { from: "a", to: "b", weight: 2.0 }'
    assert run(graph, both) == (0, 2)
    assert edges(graph) == {'["a","b"]': 2.0}


def test_an_edge_that_is_replaced_counts_once(graph: og.Graph) -> None:
    run(graph, 'insert Knows { from: "a", to: "b" } insert Knows { from: "a", to: "c" }')
    run(graph, 'insert Knows { from: "a", to: "b", weight: 3.0 }')
    with pytest.raises(og.ValidationError, match="max 2"):
        run(graph, 'insert Knows { from: "a", to: "d" }')


def test_properties_may_be_part_of_a_key(graph: og.Graph) -> None:
    run(
        graph,
        'insert Met { from: "a", to: "b", day: date("2024-01-01") } insert Met { from: "a", to: "b", day: date("2024-01-02") }',
    )
    run(graph, 'insert Met { from: "a", to: "b", day: date("2024-01-01") }')
    assert sorted(edges(graph, "Met")) == ['["a","b","19723"]', '["a","b","19724"]']


def test_an_end_that_is_not_there_is_refused_as_ever(graph: og.Graph) -> None:
    with pytest.raises(og.ValidationError, match="not found in Person"):
        run(graph, 'insert Knows { from: "a", to: "nobody" }')


def test_whether_an_edge_is_there_is_told_without_reading_all_edges(tmp_path: Path) -> None:
    """One row of many is looked for by its id, whatever else there is."""
    many = [{"name": f"p{n}"} for n in range(2_000)]
    graph = make_graph(tmp_path, SCHEMA, {"Person": many})
    graph.load({"Knows": [{"from": f"p{n}", "to": f"p{n + 1}"} for n in range(1_999)]})
    graph.optimize()
    calm(graph)
    run(graph, 'insert Knows { from: "p5", to: "p6", weight: 1.0 } insert Knows { from: "p5", to: "p7", weight: 2.0 }')
    found = edges(graph)
    assert len(found) == 2_000
    assert (found['["p5","p6"]'], found['["p5","p7"]']) == (1.0, 2.0)
    assert graph.verify(content=True).ok


PATCHED = """
node Person { name: String @key }
edge Knows: Person -> Person @key(src, dst) { weight: F64?  note: String?  proof: Blob? }
edge Met: Person -> Person @key(src, dst, day) { day: Date  place: String }
edge Saw: Person -> Person
"""


@pytest.fixture
def patched(tmp_path: Path) -> og.Graph:
    made = make_graph(tmp_path, PATCHED, {"Person": [{"name": name} for name in "abcd"]})
    calm(made)
    made.put_edge("Knows", "a", "b", {"weight": 1.0, "note": "x", "proof": b"hi"})
    return made


def test_a_patch_changes_what_is_given(patched: og.Graph) -> None:
    done = patched.put_edge("Knows", "a", "b", {"weight": 2.0}, patch=True)
    assert (done.affected_nodes, done.affected_edges, done.query_name) == (0, 1, "put_Knows")
    edge = patched.get("Knows", ("a", "b"))
    assert edge is not None
    assert edge.properties == {"weight": 2.0, "note": "x"}
    assert patched.blob("edge", "Knows", edge.id, "proof").data == b"hi"
    assert patched.put_edge("Knows", "a", "b", {"weight": 2.0}, patch=True).commit is None  # as it is
    assert patched.put_edge("Knows", "a", "b", patch=True).commit is None
    patched.put_edge("Knows", "a", "b", {"note": None}, patch=True)
    assert patched.get("Knows", ("a", "b")).properties == {"weight": 2.0, "note": None}  # type: ignore[union-attr]
    patched.put_edge("Knows", "a", "b", {"note": "y"})  # without it, the edge is replaced
    assert patched.get("Knows", ("a", "b")).properties == {"weight": None, "note": "y"}  # type: ignore[union-attr]


def test_a_patch_inserts_an_edge_that_is_not_there(patched: og.Graph) -> None:
    patched.put_edge("Knows", "a", "c", {"weight": 3.0}, patch=True)
    assert patched.get("Knows", ("a", "c")).properties == {"weight": 3.0, "note": None}  # type: ignore[union-attr]
    with pytest.raises(og.ValidationError, match="`z` not found"):
        patched.put_edge("Knows", "a", "z", {"weight": 3.0}, patch=True)
    with pytest.raises(og.ValidationError, match="place"):
        patched.put_edge("Met", "a", "b", {"day": "2024-01-01"}, patch=True)


def test_a_patch_needs_the_whole_key(patched: og.Graph) -> None:
    patched.put_edge("Met", "a", "b", {"day": "2024-01-01", "place": "x"})
    patched.put_edge("Met", "a", "b", {"day": "2024-01-01"}, patch=True)
    assert patched.get("Met", ("a", "b", "2024-01-01"))["place"] == "x"  # type: ignore[index]
    with pytest.raises(og.KeyValueError, match="key property `day` has no value"):
        patched.put_edge("Met", "a", "b", {"place": "y"}, patch=True)
    with pytest.raises(og.UsageError, match="Saw has no key: which of its edges is to change cannot be told"):
        patched.put_edge("Saw", "a", "b", patch=True)


def test_a_patch_in_a_transaction(patched: og.Graph) -> None:
    with patched.transaction() as t:
        t.put_edge("Knows", "c", "d", {"weight": 1.0, "note": "n"})
        assert t.put_edge("Knows", "c", "d", {"weight": 2.0}, patch=True).affected_edges == 1
        t.put_edge("Knows", "a", "b", {"weight": 5.0}, patch=True)
    found = {id_: (row.get("weight"), row.get("note")) for (name, id_), row in contents(patched).items() if name == "Knows"}
    assert found == {'["a","b"]': (5.0, "x"), '["c","d"]': (2.0, "n")}


def test_a_patch_is_void_if_somebody_else_changes_the_edge(patched: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    other, staged = og.open(patched.uri), stage

    def late(*given: Any) -> Any:
        outcome = staged(*given)
        monkeypatch.setattr(writing, "stage", staged)
        other.put_edge("Knows", "a", "b", {"note": "late"}, patch=True)
        return outcome

    monkeypatch.setattr(writing, "stage", late)
    with pytest.raises(og.ReadSetChanged, match="Knows"):
        patched.put_edge("Knows", "a", "b", {"weight": 9.0}, patch=True)
    assert patched.get("Knows", ("a", "b")).properties == {"weight": 1.0, "note": "late"}  # type: ignore[union-attr]
