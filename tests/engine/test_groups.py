"""Groups that are kept or not, values collected, pages by parameters, and where missing values come."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.errors import ParameterError, QueryError, ResourceLimit

SCHEMA = "node P { k: String @key  city: String?  n: I32?  d: Date?  f: F32? }\nedge E: P -> P { w: I32? }"
PEOPLE = [
    {"k": "a", "city": "Oslo", "n": 3, "d": "2024-01-02", "f": 0.1},
    {"k": "b", "city": "Oslo", "n": 1, "d": "2024-01-01"},
    {"k": "c", "city": "Bergen", "n": 2},
    {"k": "d"},
]
EDGES = [
    {"from": s, "to": t, "w": w} for s, t, w in [("a", "b", 1), ("a", "c", 2), ("b", "c", 2), ("c", "d", None), ("a", "d", 5)]
]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> og.Graph:
    graph = og.init(tmp_path_factory.mktemp("groups") / "g", schema=SCHEMA)
    graph.load({"P": PEOPLE, "E": EDGES})
    return graph


def rows(made: og.Graph, text: str, parameters: str = "", **params: object) -> list[dict[str, Any]]:
    found = [made.query(f"query q({parameters}) {{ {text} }}", params=params, traversal=way).rows for way in ("csr", "btree")]
    assert found[0] == found[1]
    return found[0]


def test_groups_are_kept_by_aggregates_returned_or_not(made: og.Graph) -> None:
    match = "match { $p: P  $p e $q }"
    every = [{"p.k": "a", "n": 3}, {"p.k": "b", "n": 1}, {"p.k": "c", "n": 1}]
    returned = "return { $p.k, count($q) as n }"
    assert rows(made, f"{match} {returned} order {{ $p.k }}") == every
    assert rows(made, f"{match} {returned} having {{ n > 1 }}") == every[:1]
    assert rows(made, f"{match} {returned} having {{ count($q) > 1 }}") == every[:1]
    assert rows(made, f'{match} {returned} having {{ count(distinct $q.city) = 0 or $p.k = "b" }} order {{ $p.k }}') == every[1:]
    assert rows(made, f"{match} return {{ $p.k }} having {{ count($q) > $least }}", "$least: I32", least=2) == [{"p.k": "a"}]
    assert rows(made, f"{match} return {{ count($q) as n }} having {{ n > 99 }}") == []
    assert rows(made, f"{match} {returned} having {{ sum($q.n) is null }} order {{ n }}") == every[2:]
    limited = f"{match} return distinct {{ $p.city, count($q) as n }} having {{ n > 0 }} order {{ n desc }} limit 1 offset 1"
    assert rows(made, limited) == [{"p.city": "Bergen", "n": 1}]


def test_hops_are_still_only_counted_where_groups_are_kept(made: og.Graph) -> None:
    text = "query q() { match { $p: P  $p e $q  $q e $r } return { $p.k, count($r) as n } having { n > 0 } }"
    shown = str(made.explain(text))
    assert "Count walks" in shown
    assert "Having count(r) > 0" in shown
    assert sorted((row["p.k"], row["n"]) for row in made.query(text).rows) == [("a", 2), ("b", 1)]


COLLECTED = {
    "collect($q.k)": ["b", "c", "c", "d", "d"],
    "collect(distinct $q.k)": ["b", "c", "d"],
    "collect($q)": ["b", "c", "c", "d", "d"],
    "collect($q.n)": [1, 2, 2],
    "collect($q.d)": [date(2024, 1, 1)],
    "collect($e.w)": [1, 2, 2, 5],
    "collect(distinct $q.n * 2)": [2, 4],
    "collect($p.f)": [0.1, 0.1, 0.1],
    "length(collect($q.city))": 3,
}


@pytest.mark.parametrize("call", COLLECTED, ids=COLLECTED.keys())
def test_values_are_collected_in_order(made: og.Graph, call: str) -> None:
    edge = "$e:e" if "$e" in call else "e"
    assert rows(made, f"match {{ $p: P  $p {edge} $q }} return {{ {call} as x }}") == [{"x": COLLECTED[call]}]


def test_collecting_nothing_gives_an_empty_list(made: og.Graph) -> None:
    nobody = 'match { $p: P { k: "nobody" } }'
    assert rows(made, f"{nobody} return {{ collect($p.n) as x, count($p) as n }}") == [{"x": [], "n": 0}]
    assert rows(made, f"{nobody} return {{ $p.k, collect($p.n) as x }}") == []
    grouped = rows(made, "match { $p: P } return { $p.city as city, collect($p.n) as x } order { city nulls last }")
    assert grouped == [{"city": "Bergen", "x": [2]}, {"city": "Oslo", "x": [1, 3]}, {"city": None, "x": []}]


def test_lists_of_groups_have_no_order(made: og.Graph) -> None:
    with pytest.raises(QueryError, match="no order"):
        made.query("query q() { match { $p: P } return { $p.city, collect($p.n) as x } order { x } }")


def test_memory_is_counted_while_values_are_collected(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "g", schema="node P { k: String @key  s: String }")
    graph.load({"P": [{"k": f"{n:05d}", "s": "x" * 500} for n in range(4000)]})
    text = "query q() { match { $p: P } return { length(collect($p.s)) as n } }"
    with pytest.raises(ResourceLimit):
        graph.query(text, memory_limit=1_500_000)
    assert graph.query(text, memory_limit=50_000_000).rows == [{"n": 4000}]


def test_pages_by_parameters(made: og.Graph) -> None:
    text = "match { $p: P } return { $p.k } order { $p.k } limit $k offset $skip"
    declared = "$k: I64, $skip: U32"
    assert rows(made, text, declared, k=2, skip=1) == [{"p.k": "b"}, {"p.k": "c"}]
    assert rows(made, text, declared, k=3, skip=0) == [{"p.k": k} for k in "abc"]
    assert rows(made, text, declared, k=0, skip=0) == []
    assert rows(made, "match { $p: P } return { $p.k } limit $k", "$k: I64", k=1) == [{"p.k": "a"}]
    shown = str(made.explain(f"query q({declared}) {{ {text} }}"))
    assert "Offset $skip Limit $k" in shown
    with pytest.raises(ParameterError, match="below zero"):
        rows(made, text, declared, k=-1, skip=0)
    with pytest.raises(ParameterError, match="not provided"):
        rows(made, text, declared, k=1)
    streamed = made.stream(f"query q({declared}) {{ {text} }}", params={"k": 2, "skip": 2})
    assert sum(batch.num_rows for batch in streamed) == 2


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("$p.n", "dbca"),
        ("$p.n nulls first", "dbca"),
        ("$p.n nulls last", "bcad"),
        ("$p.n desc", "acbd"),
        ("$p.n desc nulls first", "dacb"),
        ("$p.n desc nulls last", "acbd"),
        ("$p.city nulls last, $p.n desc", "cabd"),
        ("$p.d desc nulls first, $p.k desc", "dcab"),
        ("-$p.n nulls first", "dacb"),
    ],
)
def test_missing_values_come_where_they_are_said_to(made: og.Graph, key: str, expected: str) -> None:
    for limit in (4, 3, 2, 1):
        found = rows(made, f"match {{ $p: P }} return {{ $p.k }} order {{ {key} }} limit {limit}")
        assert "".join(row["p.k"] for row in found) == expected[:limit]
