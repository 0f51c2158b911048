"""A name that is first bound inside `not { }` is another variable than the same name bound outside, later."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

import omnigraph as og


@pytest.mark.parametrize("traversal", ["csr", "btree"])
def test_a_later_binding_does_not_reach_into_a_block_before_it(tmp_path: Path, traversal: Literal["csr", "btree"]) -> None:
    schema = "node City { k: String @key }\nnode Person { k: String @key }\nedge Knows: City -> City\nedge Likes: City -> Person"
    graph = og.init(tmp_path / "g", schema=schema)
    graph.load({"City": [{"k": k} for k in "abc"], "Person": [{"k": "h"}]})
    graph.load({"Knows": [{"from": "a", "to": "b"}, {"from": "b", "to": "c"}], "Likes": [{"from": "a", "to": "h"}]})
    inside = '$f.k != "x"  $z likes $e'
    apart = f"query q() {{ match {{ $p: Person  $e knows $f  not {{ {inside} }}  $z: City }} return {{ $e.k, $z.k }} order {{ $z.k }} }}"
    renamed = apart.replace(inside, inside.replace("$z", "$other"))
    rows = graph.query(apart, traversal=traversal).rows
    assert rows == graph.query(renamed, traversal=traversal).rows
    assert rows == [{"e.k": "b", "z.k": k} for k in "abc"]
