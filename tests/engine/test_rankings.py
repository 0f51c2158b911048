"""Ordering by a ranking: either direction, by itself or by its alias, with other keys, limits and rows that have no score."""

from __future__ import annotations

from typing import Any

import pytest
from tests.engine import graphs

SCHEMA = """
node Doc { slug: String @key  body: String? @index  v: Vector(2)? @index  part: I32? }
node Tag { slug: String @key }
edge Has: Tag -> Doc
"""
ROWS: dict[str, list[dict[str, Any]]] = {
    "Doc": [
        {"id": "a", "slug": "a", "body": "wolf", "v": [0.0, 1.0], "part": 1},
        {"id": "b", "slug": "b", "body": "wolf lamp lamp lamp", "v": [0.0, 3.0], "part": 2},
        {"id": "c", "slug": "c", "body": "lamp", "v": [0.0, 2.0], "part": 1},
        {"id": "d", "slug": "d", "body": "wolf", "part": 2},
        {"id": "e", "slug": "e", "v": [0.0, 1.0], "part": 2},
    ],
    "Tag": [{"id": "t", "slug": "t"}],
    "Has": [{"id": f"e{name}", "src": "t", "dst": name} for name in "abcde"],
}
BM25 = 'bm25($d.body, "wolf")'
NEAR = "nearest($d.v, [0.0, 0.0])"


@pytest.fixture(scope="module", params=["plain", "indexed"])
def graph(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory):  # type: ignore[no-untyped-def]
    made = graphs.make_graph(tmp_path_factory.mktemp("rankings"), SCHEMA, ROWS)
    if request.param == "indexed":
        made.optimize()
    return made


def slugs(graph: Any, order: str, returned: str = "$d.slug", match: str = "$d: Doc") -> str:
    order_, _, rest = order.partition(" limit")
    text = f"query q() {{ match {{ {match} }} return {{ {returned} }} order {{ {order_} }}{' limit' + rest if rest else ''} }}"
    return "".join(row["d.slug"] for row in graph.query(text).rows)


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        (BM25, "dab"),
        (f"{BM25} desc", "dab"),
        (f"{BM25} asc", "bad"),
        (f"{BM25} asc limit 1", "b"),
        (f"{BM25} asc limit 1 offset 1", "a"),
        (f"{BM25} limit 1", "d"),
        (f"{BM25}, $d.part", "adb"),
        (f"{BM25}, $d.part desc", "dab"),
        (f"{BM25} asc, $d.part", "bad"),
        (f"{BM25}, $d.part limit 1", "a"),
        (f"$d.part, {BM25}", "acdbe"),
        (f"$d.part desc, {BM25} asc", "bdeac"),
        (f"{NEAR} limit 9", "aecb"),
        (f"{NEAR}, $d.part desc limit 1", "e"),
        (f"{NEAR}, $d.slug desc limit 3", "eac"),
        (f"rrf({BM25}, {NEAR}) limit 9", "abdec"),
        (f"rrf({BM25}, {NEAR}) asc limit 9", "cedba"),
        (f"rrf({BM25}, {NEAR}) asc limit 2", "ce"),
    ],
)
def test_rankings_in_either_direction(graph: Any, order: str, expected: str) -> None:
    assert slugs(graph, order) == expected
    assert slugs(graph, order, match="$t: Tag  $t has $d") == expected


@pytest.mark.parametrize(
    ("ranking", "direction", "expected"),
    [
        (BM25, "", "dab"),
        (BM25, "desc", "dab"),
        (BM25, "asc", "bad"),
        (BM25, "limit 1", "d"),
        (BM25, "asc limit 1", "b"),
        (NEAR, "limit 9", "aecb"),
        (NEAR, "asc limit 9", "aecb"),
        (NEAR, "desc limit 9", "bcea"),
        (NEAR, "desc limit 2", "bc"),
        (f"rrf({BM25}, {NEAR})", "limit 2", "ad"),
        (f"rrf({BM25}, {NEAR})", "asc limit 2", "ce"),
    ],
)
def test_a_ranking_orders_the_same_by_its_alias(graph: Any, ranking: str, direction: str, expected: str) -> None:
    assert slugs(graph, f"s {direction}", f"$d.slug, {ranking} as s") == expected
    assert slugs(graph, f"r {direction}", f"$d.slug, {ranking} as s, s as r") == expected


def test_rows_whose_node_is_missing_have_no_score(graph: Any) -> None:
    match = "$t: Doc  optional { $x: Tag  $x has $d  $d.slug = $t.slug  $d.part = 2 }"
    assert slugs(graph, f"{BM25} asc", match=match) == "bd"
    rows = graph.query(f"query q() {{ match {{ {match} }} return {{ $t.slug }} order {{ $t.part, {BM25} asc }} }}").rows
    assert [row["t.slug"] for row in rows] == ["a", "c", "b", "d", "e"]


def test_groups_come_as_a_ranking_finds_them(graph: Any) -> None:
    text = "query q() {{ match {{ $d: Doc }} return {{ $d.part, count($d) as n }} order {{ {} }} }}"
    assert [row["d.part"] for row in graph.query(text.format(BM25)).rows] == [2, 1]
    assert [row["d.part"] for row in graph.query(text.format(f"{BM25} asc")).rows] == [2, 1]
    assert graph.query(text.format(f"{BM25} asc")).rows[0] == {"d.part": 2, "n": 2}


def test_distinct_rows_come_in_the_order_of_a_ranking(graph: Any) -> None:
    text = f"query q() {{ match {{ $d: Doc }} return distinct {{ {BM25} as s }} order {{ s{{}} }} }}"
    best, worst = ([row["s"] for row in graph.query(text.replace("{}", way)).rows] for way in ("", " asc"))
    assert len(best) == 2
    assert best == worst[::-1] == sorted(best, reverse=True)
