"""Answers of many rows are the same JSON as those of few, whatever the types of their columns."""

from __future__ import annotations

import json

import pytest
from tests.engine.every_type import TYPES

import omnigraph as og
from omnigraph.surfaces.http.answering import answers
from omnigraph.surfaces.http.answering.answers import FEW_ROWS, rows_answer

ROWS = 3 * FEW_ROWS
PROPERTIES = {f"p{number}": type_ for number, type_ in enumerate(TYPES)}
RETURNED = ", ".join(f"$a.{name} as {name}" for name in PROPERTIES)


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> og.Graph:
    declared = "  ".join(f"{name}: {type_}?" for name, type_ in PROPERTIES.items())
    made = og.init(tmp_path_factory.mktemp("many") / "graph", f"node A {{ n: I64 @key  {declared} }}")
    values = {name: [*TYPES[type_], None] for name, type_ in PROPERTIES.items()}
    with made.transaction() as several:
        for n in range(ROWS):
            several.put("A", {"n": n, **{name: some[n % len(some)] for name, some in values.items()}})
    return made


def body(result: og.Result) -> str:
    return bytes(rows_answer(result).body).decode()


@pytest.mark.parametrize("legacy", [False, True])
def test_many_rows_of_every_type_are_spelt_as_few_are(graph: og.Graph, monkeypatch: pytest.MonkeyPatch, legacy: bool) -> None:
    result = graph.query(f"query q() {{ match {{ $a: A }} return {{ $a.n as n, {RETURNED} }} order {{ $a.n }} }}")
    assert len(result) == ROWS
    many = bytes(rows_answer(result, legacy=legacy).body)
    monkeypatch.setattr(answers, "FEW_ROWS", ROWS)
    assert many == bytes(rows_answer(result, legacy=legacy).body)
    assert list(json.loads(many)["rows"][5]) == ["n", *PROPERTIES]


def test_numbers_that_json_has_no_spelling_for_are_texts(graph: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    result = graph.query("query q() { match { $a: A  $a.n > 0 } return { $a.n as n, sum($a.p7) as s, avg($a.p7) as m } }")
    many = body(result)
    monkeypatch.setattr(answers, "FEW_ROWS", ROWS)
    assert many == body(result)


def test_sums_beyond_64_bits_come_whole(graph: og.Graph) -> None:
    largest = 2**64 - 1
    result = graph.query("query q() { match { $a: A  $a.p5 > 9 } return { $a.n as n, $a.p5 as p } order { $a.n } }")
    rows = json.loads(body(result))["rows"]
    assert {row["p"] for row in rows} == {2**63, largest}
