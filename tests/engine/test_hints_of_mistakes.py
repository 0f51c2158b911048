"""What to do about common mistakes: the hint is about the mistake."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.errors import GraphError
from omnigraph.surfaces.wording import COMMAND_LINE

BY_AGE = "query q($a: I32) { match { $p: Person  $p.age = $a } return { $p.name } }"

MISTAKES: dict[str, tuple[Callable[[Any], object], str]] = {
    "too large a number": (lambda g: g.query(BY_AGE, {"a": 3_000_000_000}), "Give a number from -2147483648 to 2147483647."),
    "a parameter that is missing": (lambda g: g.query(BY_AGE), 'It is I32. Give it among the parameters: params={"a": "…"}.'),
    "a review that is not there": (lambda g: g.reviews.get(9), "`g.reviews.list()` lists them."),
    "a moment in words": (lambda g: g.query(BY_AGE, {"a": 1}, at="yesterday"), "A moment is written as 2024-05-01T10:00:00Z"),
    "a quotient for an integer": (
        lambda g: g.mutate('query q() { update Person set { age: age / 2 } where name = "Ada" }'),
        "What `/` gives is an F64",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_hints(tmp_path: Path, mistake: str) -> None:
    make, hint = MISTAKES[mistake]
    with og.init(tmp_path / "g.omni", schema="node Person { name: String @key  age: I32? }", durability="os") as graph:
        graph.put("Person", {"name": "Ada", "age": 12})
        with pytest.raises(GraphError) as raised:
            make(graph)
    assert hint in raised.value.hint


def test_a_parameter_that_is_missing_on_the_command_line(tmp_path: Path) -> None:
    with (
        og.init(tmp_path / "g.omni", schema="node Person { name: String @key  age: I32? }", durability="os") as graph,
        pytest.raises(GraphError) as raised,
    ):
        graph.query(BY_AGE)
    assert raised.value.advice.worded(COMMAND_LINE) == 'It is I32. Give it among the parameters: --params \'{"a": "…"}\'.'


def test_an_aggregate_in_a_pattern_is_sent_to_having(tmp_path: Path) -> None:
    with og.init(tmp_path / "g.omni", schema="node Person { name: String @key }", durability="os") as graph:
        with pytest.raises(og.TypeCheckError, match="having"):
            graph.query("query q() { match { $p: Person  count($p) > 1 } return { $p.name } }")
        found = graph.query("query q() { match { $p: Person } return { $p.name, count($p) as n } having { n > 1 } }")
        assert found.rows == []


@pytest.mark.parametrize(("name", "value"), [("age", "12"), ("born", 1.5), ("large", "7")])
def test_a_put_takes_what_a_load_takes(tmp_path: Path, name: str, value: object) -> None:
    schema = "node Person { name: String @key  age: I32?  born: Date?  large: U64? }"
    with og.init(tmp_path / "g.omni", schema=schema, durability="os") as graph:
        row = {"name": "Ada", name: value}
        with pytest.raises(GraphError):
            graph.load({"Person": [row]})
        with pytest.raises(og.ParameterError):
            graph.put("Person", row)
        with pytest.raises(og.ParameterError):
            graph.put("Person", row, patch=True)
