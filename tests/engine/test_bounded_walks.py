"""A traversal of bounded length means the same from wherever it is walked: 512 graphs, every one there is on three nodes, loops included.

They are stored side by side, so one query asks about all of them. What must come out is the walk of the specification (4.6.2) from the
variable that is written first. Each question is put so that the plan expands from the source, expands from the target, closes between
both, or denies; from every node at once and from a single one; over adjacency in memory and over the index.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import pytest
from tests.engine import graphs
from tests.engine.reference_graph import World

from omnigraph.catalog import logical as lg
from omnigraph.catalog.opening import offline_catalog
from omnigraph.language import Source

SCHEMA = "node N { k: String @key  g: I32 }\nedge To: N -> N"
NODES = "abc"
EVERY = [tuple(p) for p in product(NODES, NODES)]
BOUNDS = ((1, 2), (2, 2), (2, 3), (3, 3))
TRAVERSALS = ("csr", "btree")
SINGLE = (0b000000011, 0b000110011, 0b110010111)
"""Graphs whose nodes are asked about one by one."""

Pairs = set[tuple[str, str]]


def _rows() -> dict[str, list[dict[str, Any]]]:
    nodes = [{"id": f"{g}{k}", "k": f"{g}{k}", "g": g} for g in range(512) for k in NODES]
    edges = [
        {"id": f"{g}{a}{b}", "src": f"{g}{a}", "dst": f"{g}{b}"}
        for g in range(512)
        for place, (a, b) in enumerate(EVERY)
        if g >> place & 1
    ]
    return {"N": nodes, "To": edges}


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder: Path = tmp_path_factory.mktemp("walks")
    return graphs.make_graph(folder, SCHEMA, _rows())


@pytest.fixture(scope="module")
def worlds() -> list[World]:
    catalog = offline_catalog(Source(SCHEMA))
    rows = _rows()
    return [
        World(catalog, {"N": rows["N"][g * 3 : g * 3 + 3], "To": [e for e in rows["To"] if e["id"][:-2] == str(g)]})
        for g in range(512)
    ]


def _expected(worlds: list[World], least: int, most: int, both: bool) -> Pairs:
    way = lg.HopDirection.BOTH if both else lg.HopDirection.OUT
    hop = lg.Hop("x", "y", "To", way, "N", "N", least, most)
    return {(s, d) for world in worlds for s in world.nodes["N"] for d in world.reached(hop, s)}


def _pairs(stored: Any, traversal: str, pattern: str) -> Pairs:
    found = stored.query(f"query q() {{ match {{ {pattern} }} return {{ $x.k as x, $y.k as y }} }}", traversal=traversal).rows
    assert len(found) == len({(row["x"], row["y"]) for row in found})
    return {(row["x"], row["y"]) for row in found}


@pytest.mark.parametrize("traversal", TRAVERSALS)
@pytest.mark.parametrize("both", [False, True], ids=["directed", "undirected"])
@pytest.mark.parametrize("bounds", BOUNDS, ids=str)
def test_a_bounded_traversal_means_the_same_from_both_ends(
    stored: Any, worlds: list[World], bounds: tuple[int, int], both: bool, traversal: str
) -> None:
    edge = "<to>" if both else "to"
    hop = f"$x {edge}{{{bounds[0]},{bounds[1]}}} $y"
    expected = _expected(worlds, *bounds, both)
    assert _pairs(stored, traversal, f"$x: N  {hop}") == expected
    assert _pairs(stored, traversal, f"$y: N  {hop}") == expected
    near = _pairs(stored, traversal, f"$x: N  $x {edge}{{1,3}} $y")
    for first in ("$x: N", "$y: N"):
        assert _pairs(stored, traversal, f"{first}  $x {edge}{{1,3}} $y  {hop}") == expected & near
        assert _pairs(stored, traversal, f"{first}  $x {edge}{{1,3}} $y  not {{ {hop} }}") == near - expected
    for number in SINGLE:
        for node in (f"{number}{k}" for k in NODES):
            of_source = {pair for pair in expected if pair[0] == node}
            of_target = {pair for pair in expected if pair[1] == node}
            assert _pairs(stored, traversal, f'$x: N {{ k: "{node}" }}  {hop}') == of_source
            assert _pairs(stored, traversal, f'$y: N {{ k: "{node}" }}  {hop}') == of_target
            assert _pairs(stored, traversal, f'$x: N  $y: N {{ k: "{node}" }}  {hop}') == of_target
            assert _pairs(stored, traversal, f'$y: N  $x: N {{ k: "{node}" }}  {hop}') == of_source
