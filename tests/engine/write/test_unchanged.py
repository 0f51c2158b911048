"""A load or a mutation that changes nothing commits nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.engine.write import unchanged

SCHEMA = "node P { name: String @key  a: I32?  f: F64?  l: [F64]? }\nedge K: P -> P"


def rows(count: int) -> list[dict[str, Any]]:
    return [{"name": f"p{n}", "a": n, "f": 0.0, "l": [1.0, float(n)]} for n in range(count)]


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    graph = og.init(tmp_path / "g", SCHEMA, durability="os")
    graph.load({"P": rows(700)})
    return graph


def test_a_load_of_what_is_there_commits_nothing(graph: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unchanged, "ROWS", 300)
    before = graph.commits()
    again = graph.load({"P": rows(700)}, message="once more")
    assert (again.changed, again.commit, again.rows) == (False, before[0], 700)
    assert again.to_dict()["commit"] == before[0].id
    assert graph.commits() == before
    graph.optimize()
    assert graph.load({"P": rows(10)}).commit == before[0]


@pytest.mark.parametrize("change", [{"a": 9_999}, {"a": None}, {"f": -0.0}, {"l": [1.0]}, {"l": [-0.0]}, {"name": "new"}])
def test_one_other_value_in_the_last_row_is_a_change(graph: og.Graph, change: dict[str, Any]) -> None:
    given = rows(700)
    given[-1].update(change)
    loaded = graph.load({"P": given})
    assert loaded.changed
    assert loaded.commit.number == 3
    assert not graph.load({"P": given}).changed


def test_edges_without_ids_are_new_each_time_and_an_empty_load_is_a_commit(graph: og.Graph) -> None:
    assert graph.load({"P": rows(700)}, mode="overwrite").changed
    made = graph.load({"P": rows(3)}, branch="side", from_="main")
    assert (made.changed, made.branch_created, made.commit) == (False, True, graph.commits()[0])
    edge = [{"edge": "K", "from": "p1", "to": "p2"}]
    assert graph.load(edge).changed
    assert graph.load(edge).changed
    assert graph.load([]).changed


def test_an_update_to_equal_values_commits_nothing(graph: og.Graph) -> None:
    equal = graph.mutate('query q() { update P set { a: 5, f: 0.0 } where name = "p5" }')
    assert (equal.affected_nodes, equal.commit) == (1, None)
    signed = graph.mutate('query q($f: F64) { update P set { f: $f } where name = "p5" }', {"f": -0.0})
    assert signed.commit is not None
    assert graph.mutate("query q() { update P set { a: 5 } where a = 5 }").commit is None
    assert graph.mutate('query q() { delete P where name = "nobody" }').commit is None
    twice = graph.mutate('query q() { update P set { a: 6 } where name = "p5" update P set { a: 5 } where name = "p5" }')
    assert twice.affected_nodes == 2
