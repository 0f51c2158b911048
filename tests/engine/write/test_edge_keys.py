"""Mutations of edges with keys: an insert is of the edge with that key, whether it is there or not."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.engine.graphs import make_graph
from tests.engine.history.graphs import calm, contents

import omnigraph as og

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
