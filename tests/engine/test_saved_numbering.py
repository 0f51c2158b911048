"""Histories after which saved neighbours and saved numbers came from different numberings."""

from __future__ import annotations

from pathlib import Path

import pytest

import omnigraph as og

SCHEMA = "node P { k: String @key  grp: I32 }\nedge Next: P -> P"
NODES = 25_000
HOPS = "query q() { match { $p: P  $p next $q } return { $p.k, $q.k } }"


def pairs(graph: og.Graph, branch: str | None = None) -> list[tuple[str, str]]:
    return sorted((row["p.k"], row["q.k"]) for row in graph.query(HOPS, branch=branch, traversal="csr").rows)


def chain(count: int) -> list[tuple[str, str]]:
    return [(f"n{i}", f"n{i + 1}") for i in range(count - 1)]


@pytest.fixture
def chained(tmp_path: Path) -> Path:
    graph = og.init(tmp_path / "g", SCHEMA, durability="os")
    nodes = [{"k": f"n{i}", "grp": i % 100} for i in range(NODES)]
    graph.load({"P": nodes, "Next": [{"from": a, "to": b} for a, b in chain(NODES)]})
    assert len(pairs(graph)) == NODES - 1
    graph.close()
    return tmp_path / "g"


@pytest.mark.slow
def test_numbers_that_were_given_away_between_two_savings(chained: Path) -> None:
    graph = og.open(chained)
    pairs(graph)
    graph.mutate('query add() { insert P { k: "gone", grp: 1 } }')
    pairs(graph)
    graph.mutate('query remove() { delete P where k = "gone" }')
    new = [(f"n{i}", f"new{i % 100}") for i in range(6_000)]
    graph.load(
        {"P": [{"k": f"new{i}", "grp": 1} for i in range(100)], "Next": [{"from": a, "to": b} for a, b in new]}, mode="append"
    )
    expected = sorted([*chain(NODES), *new])
    assert pairs(graph) == expected
    graph.close()
    assert pairs(og.open(chained)) == expected


@pytest.mark.slow
def test_numbers_that_a_branch_was_first_to_see(chained: Path) -> None:
    graph = og.open(chained)
    graph.branches.create("side")
    graph.load({"P": [{"k": f"side{i}", "grp": 1} for i in range(3)]}, branch="side", mode="append")
    pairs(graph)
    pairs(graph, "side")
    new = [(f"n{i}", f"new{i % 100}") for i in range(6_000)]
    graph.load(
        {"P": [{"k": f"new{i}", "grp": 1} for i in range(100)], "Next": [{"from": a, "to": b} for a, b in new]}, mode="append"
    )
    expected = sorted([*chain(NODES), *new])
    assert pairs(graph) == expected
    graph.close()
    again = og.open(chained)
    assert pairs(again) == expected
    assert pairs(again, "side") == sorted(chain(NODES))
    assert sorted(row["p.k"] for row in again.query("query q() { match { $p: P {grp: 8} } return { $p.k } }").rows) == sorted(
        f"n{i}" for i in range(NODES) if i % 100 == 8
    )


@pytest.mark.slow
def test_a_page_of_zeros_in_a_derived_file_deletes_nothing_else(chained: Path) -> None:
    files = [path for path in (chained / "__cache").rglob("*") if path.is_file() and path.stat().st_size > 3 * 4096]
    assert files
    for path in files:
        with path.open("r+b") as out:
            for page in range(1, path.stat().st_size // 4096, 8):
                out.seek(page * 4096)
                out.write(bytes(4096))
    graph = og.open(chained)
    graph.mutate("query remove() { delete P where grp = 8 }")
    graph.close()
    left = og.open(chained).query("query q() { match { $p: P } return { $p.k } }").rows
    assert sorted(row["p.k"] for row in left) == sorted(f"n{i}" for i in range(NODES) if i % 100 != 8)
