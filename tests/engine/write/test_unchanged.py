"""A load or a mutation that changes nothing commits nothing."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import omnigraph as og
from omnigraph.engine.write import unchanged
from omnigraph.storage.tables.changes import TableState
from omnigraph.storage.tables.lookups import images_with
from omnigraph.storage.tables.table import Tables

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


def test_edges_without_ids_are_new_each_time(graph: og.Graph) -> None:
    assert graph.load({"P": rows(700)}, mode="overwrite").changed
    made = graph.load({"P": rows(3)}, branch="side", from_="main")
    assert (made.changed, made.branch_created, made.commit) == (False, True, graph.commits()[0])
    edge = [{"edge": "K", "from": "p1", "to": "p2"}]
    assert graph.load(edge).changed
    assert graph.load(edge).changed


@pytest.mark.parametrize("mode", ["merge", "append", "overwrite"])
@pytest.mark.parametrize("given", [[], {"K": []}, {}], ids=["records", "a type without entities", "no types"])
def test_a_load_of_nothing_commits_nothing(graph: og.Graph, mode: Any, given: Any) -> None:
    before = graph.commits()
    loaded = graph.load(given, mode=mode, actor="ada")
    assert (loaded.changed, loaded.commit, loaded.actor) == (False, before[0], None)
    assert graph.commits() == before
    made = graph.load(given, mode=mode, branch="side", from_="main", actor="ada")
    assert (made.changed, made.branch_created, made.actor) == (False, True, "ada")
    assert graph.load({"P": []}, mode="overwrite", allow_empty=True).changed, "there was something in its place"


def test_an_update_to_equal_values_commits_nothing(graph: og.Graph) -> None:
    equal = graph.mutate('query q() { update P set { a: 5, f: 0.0 } where name = "p5" }')
    assert (equal.affected_nodes, equal.commit) == (1, None)
    signed = graph.mutate('query q($f: F64) { update P set { f: $f } where name = "p5" }', {"f": -0.0})
    assert signed.commit is not None
    assert graph.mutate("query q() { update P set { a: 5 } where a = 5 }").commit is None
    assert graph.mutate('query q() { delete P where name = "nobody" }').commit is None
    twice = graph.mutate('query q() { update P set { a: 6 } where name = "p5" update P set { a: 5 } where name = "p5" }')
    assert twice.affected_nodes == 2


def test_an_insert_of_what_is_there_commits_nothing(graph: og.Graph) -> None:
    before = graph.commits()
    given = "insert P { name: $n, a: $a, f: 0.0, l: [1.0, 5.0] }"
    equal = graph.mutate(f"query q($n: String, $a: I32?) {{ {given} {given} }}", {"n": "p5", "a": 5}, actor="ada")
    assert (equal.affected_nodes, equal.commit, equal.actor) == (2, None, None)
    assert graph.commits() == before
    with pytest.raises(og.PreconditionFailed):
        graph.mutate(f"query q($n: String, $a: I32?) {{ {given} }}", {"n": "p5", "a": 5}, if_commit=before[-1])
    for other in ({"n": "p5", "a": 6}, {"n": "p5", "a": None}, {"n": "new", "a": 5}):
        assert graph.mutate(f"query q($n: String, $a: I32?) {{ {given} }}", other).commit is not None
        assert graph.mutate(f"query q($n: String, $a: I32?) {{ {given} }}", other).commit is None
    assert graph.mutate('query q() { insert P { name: "p6" } }').commit is not None, "what is not named becomes null"
    assert graph.mutate('query q() { insert P { name: "p6" } insert P { name: "p7" } }').commit is not None
    assert graph.mutate('query q() { insert K { from: "p1", to: "p2" } }').commit is not None
    assert graph.mutate('query q() { insert P { name: "p6" } insert K { from: "p1", to: "p2" } }').commit is not None
    changed = graph.mutate('query q() { insert P { name: "p6" } update P set { a: 1 } where name = "p6" }')
    assert changed.commit is not None


@pytest.fixture
def worn(graph: og.Graph) -> og.Graph:
    """Rows in several fragments, some of them deleted and written again."""
    graph.load({"P": [{"name": f"q{n}", "a": n, "f": -0.5, "l": [float(n)]} for n in range(300)]})
    graph.mutate("query q() { delete P where a = 40 }")
    graph.mutate('query q() { update P set { a: -1 } where name = "p7" }')
    return graph


def there(graph: og.Graph) -> list[dict[str, Any]]:
    found = graph.query("query q() { match { $p: P } return { $p.name as name, $p.a as a, $p.f as f, $p.l as l } }").rows
    return [dict(row) for row in found]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("share", [1.0, 0.6, 0.04])
@pytest.mark.parametrize("block", [64, 20_000])
def test_rows_are_compared_wherever_they_stand(
    worn: og.Graph, seed: int, share: float, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unchanged, "ROWS", block)
    monkeypatch.setattr(unchanged, "FIRST_ROWS", 10)
    rng = Random(seed)
    given = there(worn)
    if seed:
        rng.shuffle(given)
    given = given[: int(share * len(given))]
    before = worn.commits()[0]
    assert worn.load({"P": given}).commit == before
    one = rng.choice(given)
    one["l"] = [*one["l"], -0.0]
    assert worn.load({"P": given}).changed
    assert not worn.load({"P": given}).changed
    one["l"][-1] = 0.0
    assert worn.load({"P": given}).changed


def test_many_rows_are_read_where_they_stand_and_few_are_looked_up(worn: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    looked_up: list[int] = []

    def counted(tables: Tables, state: TableState, ids: list[str]) -> pa.Table:
        looked_up.append(len(ids))
        return images_with(tables, state, ids)

    monkeypatch.setattr(unchanged, "images_with", counted)
    monkeypatch.setattr(unchanged, "FIRST_ROWS", 10)
    given = there(worn)
    assert not worn.load({"P": given}).changed
    assert looked_up == [10]
    assert not worn.load({"P": given[:50]}).changed
    assert looked_up == [10, 10, 40]
    given[3]["a"] = 77
    assert worn.load({"P": given}).changed
    assert looked_up == [10, 10, 40, 10], "a change at the beginning is found by one lookup"
