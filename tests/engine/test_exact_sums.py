"""Sums of integers are exact, or refused; both zeros of floats are one value, in every clause."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnigraph as og
from omnigraph.engine.execution.operators import aggregate, sums
from omnigraph.errors import QueryError

SCHEMA = "node P { k: String @key  g: I32?  i: I32?  u: U32?  l: I64?  w: U64?  f: F64?  s: F32? @index }\nedge E: P -> P"
TOP = 2**53


def graph(folder: Path, *rows: Mapping[str, object]) -> og.Graph:
    made = og.init(folder / "g", schema=SCHEMA)
    made.load({"P": [{"k": f"{at:03d}", **row} for at, row in enumerate(rows)]})
    return made


def total(made: og.Graph, name: str) -> object:
    return made.query(f"query q() {{ match {{ $p: P }} return {{ sum($p.{name}) as s }} }}").rows[0]["s"]


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("l", [TOP + 1, 2], TOP + 3),
        ("l", [2**63 - 1, 1, -1], 2**63 - 1),
        ("l", [-(2**63), 2**63 - 1, -5], -6),
        ("w", [2**63 + 1, 2**62], 2**63 + 2**62 + 1),
        ("w", [2**64 - 1, None, 0], 2**64 - 1),
        ("l", [None], None),
        ("i", [2**31 - 1] * 4, 4.0 * (2**31 - 1)),
        ("u", [2**32 - 1, 1], float(2**32)),
    ],
)
def test_a_sum_is_exact(tmp_path: Path, name: str, values: list[int | None], expected: object) -> None:
    made = graph(tmp_path, *({name: value, "g": 1} for value in values))
    assert total(made, name) == expected
    assert type(total(made, name)) is type(expected)
    grouped = made.query(f"query q() {{ match {{ $p: P }} return {{ $p.g, sum($p.{name}) as s }} }}")
    assert grouped.rows == [{"p.g": 1, "s": expected}]


@pytest.mark.parametrize(("name", "values"), [("l", [2**63 - 1, 1]), ("l", [-(2**63), -1]), ("w", [2**64 - 1, 1])])
def test_a_sum_that_does_not_fit_is_told(tmp_path: Path, name: str, values: list[int]) -> None:
    with pytest.raises(QueryError, match=r"a sum is beyond [IU]64"):
        total(graph(tmp_path, *({name: value} for value in values)), name)


def test_values_that_are_reached_often_count_as_often(tmp_path: Path) -> None:
    made = graph(tmp_path, *({"l": TOP + 1} for _ in range(3)))
    made.load([{"edge": "E", "from": f"{a:03d}", "to": f"{b:03d}", "data": {}} for a in range(3) for b in range(3)])
    found = made.query("query q() { match { $a: P $a e $b $b e $c } return { sum($c.l) as s } }")
    assert found.rows == [{"s": 27 * (TOP + 1)}]


@pytest.mark.parametrize("seed", range(20))
def test_partial_sums_are_those_of_python(seed: int) -> None:
    rng = random.Random(seed)
    kind: Any = rng.choice([np.int32, np.uint32, np.int64, np.uint64])
    about = np.iinfo(kind)
    values = [rng.choice([about.min, about.max, 0, 1, rng.randint(about.min, about.max)]) for _ in range(rng.randint(1, 40))]
    weights = rng.choice([None, [rng.choice([1, 2, 7, 1 << 20, 1 << 33]) for _ in values]])
    group, count = [rng.randrange(3) for _ in values], 3
    expected = [0] * count
    for place, value, times in zip(group, values, weights or [1] * len(values), strict=True):
        expected[place] += value * times
    given = np.array(values, kind), np.array(group), None if weights is None else np.array(weights, np.int64)
    if any(abs(one) >> 95 for one in expected):
        with pytest.raises(QueryError, match="beyond"):
            sums.exact_sums(*given, count)
        return
    high, low = sums.exact_sums(*given, count)
    assert [(h << 32) + lo for h, lo in zip(high.tolist(), low.tolist(), strict=True)] == expected


def test_a_sum_that_a_float_cannot_hold_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    made = graph(tmp_path, {"i": 3}, {"i": 6})
    monkeypatch.setattr(aggregate, "exact_sums", lambda *_: (np.array([1 << 21]), np.array([1])))
    with pytest.raises(QueryError, match="F64 holds exactly"):
        total(made, "i")


@pytest.mark.parametrize("name", ["f", "s"])
@pytest.mark.parametrize("more", [0, 3000])
def test_both_zeros_are_one_value(tmp_path: Path, name: str, more: int) -> None:
    zeros: list[dict[str, object]] = [{name: 0.0, "g": 3}, {name: -0.0, "g": 1}, {name: 0.0, "g": 2}, {name: -0.0, "g": 0}]
    made = graph(tmp_path, *zeros, *({name: 1.0 + at, "g": 9} for at in range(more)))

    def rows(text: str) -> list[list[object]]:
        return [list(row.values()) for row in made.query(f"query q() {{ match {{ $p: P {text} }}").rows]

    assert rows(f"$p.{name} = -0.0 }} return {{ count($p) as n }}") == [[4]]
    assert rows(f"$p.{name} < 1.0 }} return {{ $p.{name}, count($p) as n }}") == [[0.0, 4]]
    assert rows(f"$p.{name} < 1.0 }} return {{ count(distinct $p.{name}) as n }}") == [[1]]
    assert len(rows(f"}} return {{ $p.{name}, count($p) as n }}")) == 1 + more
    assert len(rows(f"$p.{name} < 1.0 }} return distinct {{ $p.{name} }}")) == 1
    for order in ("", " desc"):
        assert rows(f"$p.{name} < 1.0 }} return {{ $p.g }} order {{ $p.{name}{order}, $p.g }}") == [[0], [1], [2], [3]]


def test_a_sum_of_floats_that_does_not_fit_is_an_error(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "floats.omni", schema="node P { k: String @key  f: F64 }")
    graph.load([{"type": "P", "data": {"k": k, "f": f}} for k, f in (("a", 1e308), ("b", 1e308), ("c", -1e308))])
    asked = "query q() { match { $p: P } return { sum($p.f) as s, avg($p.f) as a } }"
    assert graph.query(asked).rows[0]["s"] == 1e308, "what leaves the range and comes back fits"
    graph.mutate('query q() { delete P where k = "c" }')
    with pytest.raises(og.QueryError, match="a sum"):
        graph.query(asked)
    assert graph.query("query q() { match { $p: P } return { avg($p.f) as a } }").one() == {"a": 1e308}
