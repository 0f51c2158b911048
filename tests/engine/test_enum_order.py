"""Enums are ordered as they are declared: in `order`, in `min` and `max`, in `collect`; after opening and from interfaces too."""

from __future__ import annotations

from pathlib import Path

import omnigraph as og

SCHEMA = """interface Ranked { level: enum(low, mid, high)? }
node Task implements Ranked { k: String @key  state: enum(open, doing, done)  size: enum(a, b, c)? }
edge Next: Task -> Task { why: enum(zero, one)? }"""
ROWS = [
    {"k": "1", "state": "done", "level": "high", "size": "c"},
    {"k": "2", "state": "open", "level": "mid", "size": "a"},
    {"k": "3", "state": "doing", "level": "low"},
    {"k": "4", "state": "open"},
]


def made(folder: Path) -> og.Graph:
    graph = og.init(folder / "g", schema=SCHEMA)
    graph.load({"Task": ROWS, "Next": [{"from": "1", "to": "2", "why": "one"}, {"from": "2", "to": "3", "why": "zero"}]})
    return graph


def keys(graph: og.Graph, order: str) -> str:
    text = f"query q() {{ match {{ $t: Task }} return {{ $t.k, $t.state as s }} order {{ {order}, $t.k }} }}"
    return "".join(row["t.k"] for row in graph.query(text).rows)


def test_results_are_ordered_as_enums_declare(tmp_path: Path) -> None:
    first = made(tmp_path)
    for graph in (first, og.open(first.uri)):
        assert keys(graph, "$t.state") == keys(graph, "s") == "2431"
        assert keys(graph, "$t.state desc") == "1324"
        assert keys(graph, "$t.level nulls last") == "3214"
        assert keys(graph, 'coalesce($t.level, "low") desc') == "1234"
        assert keys(graph, "lower($t.state)") == "3124", "what is computed is text"
        extremes = "query q() { match { $t: Task } return { min($t.state) as a, max($t.state) as b, max($t.level) as c, collect($t.state) as d } }"
        assert graph.query(extremes).rows == [{"a": "open", "b": "done", "c": "high", "d": ["open", "open", "doing", "done"]}]
        grouped = "query q() { match { $t: Task } return { $t.state as s, count($t) as n } order { s desc } }"
        assert [row["s"] for row in graph.query(grouped).rows] == ["done", "doing", "open"]
        having = "query q() { match { $t: Task } return { $t.state as s } having { count($t) > 0 } order { s } limit 2 }"
        assert [row["s"] for row in graph.query(having).rows] == ["open", "doing"]
        once = "query q() { match { $t: Ranked } return distinct { $t.level as s } order { s desc } }"
        assert [row["s"] for row in graph.query(once).rows] == ["high", "mid", "low", None]
        edges = "query q() { match { $t: Task  $t $e:next $u } return { $e.why } order { $e.why } }"
        assert [row["e.why"] for row in graph.query(edges).rows] == ["zero", "one"]


def test_comparisons_stay_those_of_texts(tmp_path: Path) -> None:
    text = 'query q() { match { $t: Task  $t.state < "done" } return { $t.k } }'
    assert [row["t.k"] for row in made(tmp_path).query(text).rows] == ["3"]


def test_what_may_be_no_value_of_an_enum_is_ordered_as_a_text(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "g.omni", schema="node P { k: String @key  level: enum(low, high)? }")
    graph.load([{"type": "P", "data": {"k": k, "level": level}} for k, level in (("a", "low"), ("b", "high"), ("c", None))])
    asked = 'query q() { match { $p: P } return { coalesce($p.level, "none") as level } order { level } }'
    assert [row["level"] for row in graph.query(asked)] == ["high", "low", "none"]
