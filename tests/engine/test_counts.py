"""Counts are exact or refused: numbers of walks, sums over groups and averages, against Python's own integers and fractions."""

from __future__ import annotations

import itertools
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as s

import omnigraph as og
from omnigraph.engine.execution.frame import Frame
from omnigraph.engine.execution.operators import counts
from omnigraph.engine.execution.operators.merge import merge_frame, merge_numbers
from omnigraph.engine.planning.estimate import estimates
from omnigraph.errors import QueryError

SCHEMA = "node N { k: String @key  g: I32  x: I64?  f: F64? }\nedge E: N -> N"


def told(exact: int) -> int:
    """A count as the engine keeps it."""
    return min(exact, counts.MOST)


COUNT = s.one_of(
    s.integers(0, 9),
    s.integers(0, 1 << 33),
    s.integers(0, counts.MOST),
    s.sampled_from([counts.MOST, counts.MOST - 1, 1 << 62, 1 << 32, (1 << 32) - 1, (1 << 31) + 1, 3_037_000_500]),
)
COUNTS = s.lists(COUNT, max_size=12)


@settings(max_examples=300)
@given(s.lists(s.tuples(COUNT, COUNT), max_size=12))
def test_products_are_those_of_python(pairs: list[tuple[int, int]]) -> None:
    left, right = (np.array([pair[at] for pair in pairs], np.int64) for at in (0, 1))
    assert counts.times(left, right).tolist() == [told(a * b) for a, b in pairs]


@settings(max_examples=300)
@given(COUNTS, s.integers(1, 4), s.randoms(use_true_random=False))
def test_sums_are_those_of_python(given_: list[int], groups: int, rng: Any) -> None:
    values = np.array(given_, np.int64)
    group = [rng.randrange(groups) for _ in given_]
    assert counts.total(values) == sum(given_)
    expected = [told(sum(v for v, at in zip(given_, group, strict=True) if at == one)) for one in range(groups)]
    assert counts.by_group(np.array(group, np.int64), values, groups).tolist() == expected
    lengths = [0] * groups
    for at in sorted(group):
        lengths[at] += 1
    bounds = [0, *itertools.accumulate(lengths)]
    in_turn = [told(sum(given_[a:b])) for a, b in itertools.pairwise(bounds)]
    assert counts.in_turn(values, np.array(lengths, np.int64)).tolist() == in_turn
    starts = sorted({a for a, b in itertools.pairwise(bounds) if a < b})
    runs = [told(sum(given_[a:b])) for a, b in itertools.pairwise([*starts, len(given_)])]
    assert counts.by_run(values, np.array(starts, np.int64)).tolist() == runs


@settings(max_examples=200)
@given(s.lists(s.tuples(s.integers(0, 3), s.integers(0, 2), COUNT), max_size=12), s.booleans())
def test_merged_rows_weigh_as_much_as_before(rows: list[tuple[int, int, int]], far: bool) -> None:
    first, second, weight = (np.array([row[at] for row in rows], np.int64) for at in range(3))
    second = second * (1 << 61) if far else second  # too far apart to be packed into one integer
    expected: dict[tuple[int, int], int] = {}
    for a, b, w in zip(first.tolist(), second.tolist(), weight.tolist(), strict=True):
        expected[a, b] = told(expected.get((a, b), 0) + w)
    found = merge_frame(Frame(len(rows), {"a": first, "b": second}, weight))
    assert found.weight is not None
    assert (
        dict(zip(zip(found.columns["a"].tolist(), found.columns["b"].tolist(), strict=True), found.weight.tolist(), strict=True))
        == expected
    )
    one: dict[int, int] = {}
    for a, w in zip(first.tolist(), weight.tolist(), strict=True):
        one[a] = told(one.get(a, 0) + w)
    values, weights = merge_numbers(first, weight)
    assert dict(zip(values.tolist(), weights.tolist(), strict=True)) == {a: w for a, w in one.items() if w or a in values}


# ── asked of a graph ─────────────────────────────────────────────────────────────────────────────────────────────────────────

DEGREE, NODES = 8, 12


@pytest.fixture(scope="module")
def ring(tmp_path_factory: pytest.TempPathFactory) -> og.Graph:
    """Twelve nodes, each with edges to the eight after it; and one that nobody reaches and that reaches nobody."""
    made = og.init(tmp_path_factory.mktemp("counts") / "g", SCHEMA, durability="os")
    keys = [f"n{at:02}" for at in range(NODES)]
    made.load({"N": pa.table({"k": [*keys, "alone"], "g": pa.array([*(at % 2 for at in range(NODES)), 7], pa.int32())})})
    ends = [(a, (a + step) % NODES) for a in range(NODES) for step in range(1, DEGREE + 1)]
    made.load({"E": pa.table({"from": [keys[a] for a, _ in ends], "to": [keys[b] for _, b in ends]})}, mode="append")
    return made


def hops(count: int) -> str:
    return " ".join(f"$a{at} e $a{at + 1}" for at in range(count))


SHAPES = {
    "from all": ("$a0: N", "", NODES),
    "by source": ("$a0: N", "$a0.k, ", 1),
    "by group": ("$a0: N", "$a0.g, ", NODES // 2),
    "by the last": ("$a0: N", "$a#.k, ", 1),
    "by the middle": ("$a0: N", "$a2.g, ", NODES // 2),
    "from one": ('$a0: N { k: "n03" }', "", None),
    "from some": ("$a0: N $a0.g = 1", "", NODES // 2),
}


@pytest.mark.parametrize("traversal", ["csr", "btree"])
@pytest.mark.parametrize("length", [3, 17, 19, 20, 21, 22, 23, 60])
@pytest.mark.parametrize("shape", SHAPES)
def test_walks_are_counted_exactly_or_refused(ring: og.Graph, shape: str, length: int, traversal: Any) -> None:
    clause, key, sources = SHAPES[shape]
    exact = DEGREE**length * (1 if sources is None else sources)  # as many walks begin at a node as end there
    text = f"query q() {{ match {{ {clause} {hops(length)} }} return {{ {key.replace('#', str(length))}count($a0) as c }} }}"
    if exact >= counts.MOST:
        with pytest.raises(QueryError, match="a count is beyond 64 bits"):
            ring.query(text, traversal=traversal)
        return
    rows = ring.query(text, traversal=traversal).rows
    assert {row["c"] for row in rows} == {exact}
    assert len(rows) == {"by source": NODES, "by group": 2, "by the last": NODES, "by the middle": 2}.get(shape, 1)


@pytest.mark.parametrize("limits", [{}, {"timeout": 60.0, "memory_limit": 1 << 26}], ids=["free", "limited"])
def test_walks_that_nobody_asks_about_may_be_many(ring: og.Graph, limits: Any) -> None:
    """From the far end inwards every node has more walks than can be counted; the one that is asked about has none."""
    text = f'query q() {{ match {{ $a0: N $a0.k = "alone" {hops(40)} }} return {{ count($a0) as c }} }}'
    assert ring.query(text, **limits).rows == [{"c": 0}]


def test_averages_and_sums_over_many_walks(ring: og.Graph) -> None:
    ten = f"query q() {{ match {{ $a0: N {hops(10)} }} return {{ sum($a0.g) as s, avg($a0.g) as m, max($a0.g) as t }} }}"
    assert ring.query(ten).rows == [{"s": 6.0 * 8**10, "m": 0.5, "t": 1}]
    with pytest.raises(QueryError, match="beyond"):
        ring.query(ten.replace(hops(10), hops(30)))


# ── floats ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────

TOP = 1.7976931348623157e308


@pytest.mark.parametrize(
    "values",
    [
        [1e308, 1e308],
        [TOP] * 5,
        [-TOP, -TOP, TOP],
        [TOP, TOP, -TOP, 1.0],
        [1e308, 1e308, -1e308, -1e308],
        [5e-324, 5e-324],
        [0.5],
    ],
    ids=["two", "five", "negative", "back again", "nothing left", "smallest", "half"],
)
@pytest.mark.parametrize("grouped", [False, True], ids=["all", "by group"])
def test_sums_and_averages_of_huge_floats(tmp_path: Path, values: list[float], grouped: bool) -> None:
    made = og.init(tmp_path / "g", SCHEMA, durability="os")
    made.load({"N": [{"k": str(at), "g": 1, "f": value} for at, value in enumerate(values)]})
    key = "$n.g, " if grouped else ""
    (row,) = made.query(f"query q() {{ match {{ $n: N }} return {{ {key}avg($n.f) as m }} }}").rows
    exact = sum(map(Fraction, values), Fraction(0))
    assert row["m"] == pytest.approx(float(exact / len(values)), rel=1e-15)
    total = f"query q() {{ match {{ $n: N }} return {{ {key}sum($n.f) as t }} }}"
    try:
        expected = float(exact)
    except OverflowError:
        with pytest.raises(og.QueryError, match="beyond F64"):
            made.query(total)
        return
    assert made.query(total).rows[0]["t"] == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize("condition", ["$n.f > 5.0", "$n.g > 100"])
def test_sums_and_averages_of_nothing(ring: og.Graph, condition: str) -> None:
    found = ring.query(
        f"query q() {{ match {{ $n: N {condition} }} return {{ sum($n.f) as s, avg($n.f) as m, sum($n.x) as x }} }}"
    )
    assert found.rows == [{"s": None, "m": None, "x": None}]


def test_estimates_of_long_walks_are_numbers(ring: og.Graph) -> None:
    for text in (
        "match { $a: N $a e{1,400} $b } return { $b.k }",
        f"match {{ {' '.join(f'$a{n}: N' for n in range(390))} }} return {{ $a0.k }}",
    ):
        question = f"query q() {{ {text} }}"
        assert ring.explain(question)
    assert estimates((), ring._view()) == {}
