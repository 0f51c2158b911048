"""Shortest paths: which one of several, within which bounds, in both directions, with and without adjacency, within limits."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.engine.reference_graph import World

import omnigraph as og
from omnigraph.catalog import logical as lg
from omnigraph.catalog.opening import offline_catalog
from omnigraph.errors import ResourceLimit
from omnigraph.language import Source

SCHEMA = "node P { k: String @key  n: I32? }\nedge To: P -> P"


def made(folder: Path, edges: list[str], extra: str = "") -> og.Graph:
    graph = og.init(folder / "g", schema=SCHEMA)
    nodes = sorted({node for edge in edges for node in edge.split(">")} | set(extra))
    graph.load({"P": [{"k": k, "n": at} for at, k in enumerate(nodes)]})
    graph.load({"To": [dict(zip(("from", "to"), edge.split(">"), strict=True)) for edge in edges]})
    return graph


def paths(
    graph: og.Graph, hop: str, start: str | None = None, end: str | None = None, **more: Any
) -> dict[tuple[str, str], list[str]]:
    first, last = (f'{{ k: "{k}" }}' if k else "" for k in (start, end))
    text = f"query q() {{ match {{ $a: P {first}  $b: P {last}  $a $w:shortest {hop} $b }} return {{ $a, $b, $w.length as n, $w.nodes as via }} order {{ $a.k, $b.k }} }}"
    found = [graph.query(text, traversal=way, **more).rows for way in ("csr", "btree")]
    assert found[0] == found[1]
    assert all(row["n"] == len(row["via"]) - 1 for row in found[0])
    return {(row["a"], row["b"]): row["via"] for row in found[0]}


def test_the_smallest_ids_of_equally_short_paths(tmp_path: Path) -> None:
    graph = made(tmp_path, ["a>z", "a>c", "a>b", "z>m", "c>m", "b>y", "y>e", "m>e", "c>x", "x>e"])
    assert paths(graph, "to{1,6}", "a", "e") == {("a", "e"): ["a", "b", "y", "e"]}
    assert paths(graph, "to{1,6}", "c", "e") == {("c", "e"): ["c", "m", "e"]}
    assert paths(graph, "<to>{1,6}", "e", "a") == {("e", "a"): ["e", "m", "c", "a"]}
    assert paths(graph, "to{1,6}", "e", "a") == {}


def test_bounds_and_loops(tmp_path: Path) -> None:
    graph = made(tmp_path, ["a>b", "b>c", "a>c", "c>d", "b>b", "d>a"], extra="s")
    assert paths(graph, "to{2,3}", "a") == {("a", "d"): ["a", "c", "d"]}
    assert paths(graph, "to{1,1}", "a") == {("a", "b"): ["a", "b"], ("a", "c"): ["a", "c"]}
    assert paths(graph, "to{1,3}", "b", "b") == {("b", "b"): ["b", "b"]}
    assert paths(graph, "to{2,2}", "a", "b") == {}, "b has an edge to itself, and is one step away all the same"
    assert paths(graph, "to{1,9}", "a", "a") == {}
    assert paths(graph, "to{1,9}", "s") == {}
    assert ("d", "b") in paths(graph, "to{1,4}")


def test_paths_that_are_not_there_and_paths_in_blocks(tmp_path: Path) -> None:
    graph = made(tmp_path, ["a>b", "b>c"], extra="s")
    text = """query q() {
        match { $a: P { k: "a" }  $b: P  optional { $a $w:shortest to{1,3} $b } }
        return { $b.k, $w.length as n, $w.nodes as via } order { n nulls last, $b.k }
    }"""
    assert graph.query(text).rows == [
        {"b.k": "b", "n": 1, "via": ["a", "b"]},
        {"b.k": "c", "n": 2, "via": ["a", "b", "c"]},
        {"b.k": "a", "n": None, "via": None},
        {"b.k": "s", "n": None, "via": None},
    ]
    far = (
        'query q() { match { $a: P { k: "a" }  $a to{1,3} $b  not { $a $w:shortest to{1,3} $b  $w.length > 1 } } return { $b } }'
    )
    assert graph.query(far).rows == [{"b": "b"}]
    grouped = "query q() { match { $a: P  $a $w:shortest to{1,3} $b } return { $w.length as n, count($b) as pairs } order { n } }"
    assert graph.query(grouped).rows == [{"n": 1, "pairs": 2}, {"n": 2, "pairs": 1}]
    via = 'query q() { match { $a: P  $a $w:shortest to{1,3} $b  $w.nodes contains "b"  $w.length = 2 } return { $a, $b } }'
    assert graph.query(via).rows == [{"a": "a", "b": "c"}]
    assert "Shortest path w: a -To{1,3}-> b" in str(graph.explain(via))


@pytest.mark.parametrize("seed", range(4))
def test_many_pairs_at_once_as_one_by_one(tmp_path: Path, seed: int) -> None:
    rng = Random(seed)
    names = [f"{rng.randrange(10**6):06d}" for _ in range(60)]
    edges = [f"{rng.choice(names)}>{rng.choice(names)}" for _ in range(130)]
    graph = made(tmp_path, edges)
    ends = [edge.split(">") for edge in edges]
    stored = {"P": [{"id": k} for k in sorted({e for pair in ends for e in pair})]}
    stored["To"] = [{"id": f"e{at}", "src": s, "dst": d} for at, (s, d) in enumerate(ends)]
    world = World(offline_catalog(Source(SCHEMA)), stored)
    for spelling, direction in (("to", lg.HopDirection.OUT), ("<to>", lg.HopDirection.BOTH)):
        hop = lg.Hop("a", "b", "To", direction, "P", "P", 1, 4, None, "w")
        found = paths(graph, f"{spelling}{{1,4}}")
        pairs = [(a["id"], b["id"]) for a in stored["P"] for b in stored["P"]]
        assert found == {pair: via for pair in pairs if (via := world.shortest(hop, *pair)) is not None}
        assert len(found) > 100
        assert paths(graph, f"{spelling}{{1,4}}", memory_limit=50_000_000, timeout=60) == found


def test_paths_are_counted_as_memory(tmp_path: Path) -> None:
    graph = made(tmp_path, [f"{n:03d}>{n + 1:03d}" for n in range(400)])
    text = "query q() { match { $a: P  $a $w:shortest to{1,300} $b } return { max($w.length) as n } }"
    with pytest.raises(ResourceLimit):
        graph.query(text, memory_limit=2_000_000)
    assert graph.query(text).rows == [{"n": 300}]
