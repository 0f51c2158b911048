"""Ids in queries: of nodes and of bound edges, returned, compared, ordered and counted, whichever way edges are followed."""

from __future__ import annotations

from typing import Any

import pytest
from tests.engine.graphs import make_graph

import omnigraph as og

SCHEMA = """
node Person { name: String @key }
node Note { text: String }
edge Knows: Person -> Person @key(src, dst) { weight: F64? }
edge Wrote: Person -> Note
"""
DATA: dict[str, list[dict[str, Any]]] = {
    "Person": [{"name": name} for name in "abc"],
    "Note": [{"id": "n1", "text": "x"}, {"id": "n2", "text": "x"}],
    "Knows": [{"id": f'["{s}","{t}"]', "src": s, "dst": t} for s, t in ("ab", "ac", "bc")],
    "Wrote": [{"id": f"w{n}", "src": "a", "dst": f"n{n % 2 + 1}"} for n in range(3)],
}


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> og.Graph:
    return make_graph(tmp_path_factory.mktemp("ids"), SCHEMA, DATA)


CASES = {
    "returned": ('$p: Person { name: "a" }  $p $e:knows $f', "$e.id as i } order { i", ['["a","b"]', '["a","c"]']),
    "by itself": ('$p: Person { name: "a" }  $p $e:knows $f', "$e as i } order { $e desc", ['["a","c"]', '["a","b"]']),
    "backwards": ('$f: Person { name: "c" }  $p $e:knows $f', "$e.id as i } order { $e.id", ['["a","c"]', '["b","c"]']),
    "compared": ('$p: Person  $p $e:wrote $n  $e.id in ["w0", "w2", "w9"]', "$e.id as i } order { i", ["w0", "w2"]),
    "with a node": ("$p: Person  $p $e:wrote $n  $e.id > $n.id", "$e.id as i } order { i", ["w0", "w1", "w2"]),
    "counted": ("$p: Person  $p $e:wrote $n", "count($e) as i", [3]),
    "counted once": ("$p: Person  $p $e:wrote $n  $q: Person", "count(distinct $e) as i", [3]),
    "counted by node": ("$p: Person  $p $e:wrote $n", "$n.id, count($e) as i } order { $n.id", [2, 1]),
    "grouped by edge": ("$p: Person  $p $e:wrote $n  $q: Person", "$e, count($q) as i", [3, 3, 3]),
    "the first": ("$p: Person  $p $e:wrote $n", "min($e.id) as i", ["w0"]),
    "of nodes": ("$n: Note  $n.id starts_with $x", "$n.id as i } order { $n.id desc", ["n2", "n1"]),
    "of one node": ("$n: Note  $n.id = $y", "$n as i", ["n2"]),
    "inline": ('$p: Person { id: "a" }  $p $e:wrote $n', "count($e) as i", [3]),
    "of nobody": ('$n: Note  $n.id = "n7"', "$n as i", []),
    "missing": ('$p: Person { name: "b" }  optional { $p $e:wrote $n }', "$e.id as i", [None]),
    "missing, counted": ("$p: Person  optional { $p $e:wrote $n }", "count($e) as i", [3]),
    "missing, tested": ("$p: Person  optional { $p $e:wrote $n }  $e is null", "$p.id as i } order { i", ["b", "c"]),
}


@pytest.mark.parametrize("traversal", ["csr", "btree", "auto"])
@pytest.mark.parametrize("case", CASES)
def test_ids_in_queries(graph: og.Graph, case: str, traversal: Any) -> None:
    clauses, returned, expected = CASES[case]
    text = f"query q($x: String, $y: String) {{ match {{ {clauses} }} return {{ {returned} }} }}"
    found = graph.query(text, {"x": "n", "y": "n2"}, traversal=traversal)
    assert [row["i"] for row in found.rows] == expected


def test_an_id_finds_its_node_without_a_scan(graph: og.Graph) -> None:
    plan = str(graph.explain('query q() { match { $n: Note  $n.id = "n1" } return { $n.text } }'))
    assert "Lookup" in plan
    assert "Scan" not in plan
