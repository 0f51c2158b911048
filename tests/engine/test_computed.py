"""What is computed: exact in every pair of types, null where it should be, refused where it does not fit, found by key and index."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.engine.reference_computed import OutOfRange
from tests.engine.reference_computed import computed as expected

import omnigraph as og
from omnigraph.catalog import logical as lg
from omnigraph.catalog.check.arithmetic import arithmetic_type
from omnigraph.engine.arrays.column import Vec
from omnigraph.engine.cost import ledger
from omnigraph.engine.execution import compute
from omnigraph.engine.execution.budget import Budget
from omnigraph.engine.execution.compute import computed
from omnigraph.errors import QueryError, ResourceLimit, TypeCheckError
from omnigraph.model.arrow import arrow_type
from omnigraph.model.types import INTEGER_RANGES, PropertyType, Scalar

Op = lg.Operation
NUMBERS = (Scalar.I32, Scalar.I64, Scalar.U32, Scalar.U64, Scalar.F32, Scalar.F64)
OPERATORS = (Op.ADD, Op.SUBTRACT, Op.MULTIPLY, Op.DIVIDE, Op.REMAINDER)


def values(scalar: Scalar, rng: Random) -> list[Any]:
    if scalar.is_float:
        return [None, 0.0, -0.0, 1.5, -2.25, 1e30, rng.choice((-0.5, 3.0))]
    low, high = INTEGER_RANGES[scalar]
    near = [v for v in (low, low + 1, -7, -1, 0, 1, 2, 3, high // 2, high - 1, high, 2**31, 2**63) if low <= v <= high]
    return [None, *near, rng.randint(low, high)]


def pairs() -> Iterator[tuple[Scalar, Scalar, Op]]:
    return ((a, b, op) for a in NUMBERS for b in NUMBERS for op in OPERATORS)


@pytest.mark.parametrize(("left", "right", "operation"), list(pairs()), ids=lambda v: v.name.lower())
def test_numbers_of_all_types_are_exact_or_refused(left: Scalar, right: Scalar, operation: Op) -> None:
    rng = Random(f"{left}{right}{operation}")
    types = PropertyType(left, nullable=True), PropertyType(right, nullable=True)
    result = arithmetic_type(operation, *types)
    assert result is not None
    expression = lg.Computed(operation, tuple(lg.PropertyValue("p", n, t) for n, t in zip("ab", types, strict=True)), result)
    cases = [(a, b) for a in values(left, rng) for b in values(right, rng)]
    fine: list[tuple[Any, Any, Any]] = []
    for a, b in cases:
        columns = [Vec.of(pa.array([v, None], arrow_type(t))) for v, t in zip((a, b), types, strict=True)]
        a, b = (column.to_pylist()[0] for column in columns)
        try:
            wanted = expected(operation, result, [a, b])
        except OutOfRange:
            with pytest.raises(QueryError, match="is beyond"):
                computed(expression, columns, Budget())
            continue
        found = computed(expression, columns, Budget())
        assert isinstance(found, Vec)
        assert found.to_pylist() == [wanted, None], (a, b)
        assert found.to_arrow().type == arrow_type(result)
        fine.append((a, b, wanted))
    left_column, right_column = (Vec.of(pa.array([f[i] for f in fine], arrow_type(t))) for i, t in enumerate(types))
    together = computed(expression, [left_column, right_column], Budget())
    assert isinstance(together, Vec)
    assert together.to_pylist() == [wanted for _, _, wanted in fine]


def test_what_lies_under_a_null_is_not_computed_with() -> None:
    type_ = PropertyType(Scalar.I64, nullable=True)
    column = Vec(pa.int64(), np.array([2**63 - 1, 1]), np.array([False, True]))
    whole = lg.Computed(Op.ADD, (lg.PropertyValue("p", "a", type_), lg.Constant(1, PropertyType(Scalar.I64))), type_)
    found = computed(whole, [column, 1], Budget())
    assert isinstance(found, Vec)
    assert found.to_pylist() == [None, 2]


def test_arithmetic_takes_no_longer_than_a_few_passes_over_the_columns() -> None:
    """More than 20 million values a second where numpy adds three thousand million; as a ratio, so that a busy machine can say it."""
    rows = 1 << 17
    rng = np.random.default_rng(1)
    for scalar in (Scalar.I32, Scalar.I64, Scalar.U64, Scalar.F64):
        numbers = rng.integers(1, 1 << 20, rows).astype(arrow_type(PropertyType(scalar)).to_pandas_dtype())
        column = Vec(arrow_type(PropertyType(scalar)), numbers)
        wide = numbers.astype(np.float64)
        for operation in OPERATORS:
            type_ = PropertyType(scalar)
            result = arithmetic_type(operation, type_, type_)
            assert result is not None
            expression = lg.Computed(operation, (lg.PropertyValue("p", "a", type_), lg.PropertyValue("p", "b", type_)), result)
            ours, plain = [], []
            for _ in range(7):
                started = time.perf_counter()
                computed(expression, [column, column], Budget())
                ours.append(time.perf_counter() - started)
                started = time.perf_counter()
                wide + wide
                plain.append(time.perf_counter() - started)
            assert min(ours) < 150 * min(plain), (scalar, operation, rows / min(ours))


SCHEMA = """node P { k: String @key  i: I32?  w: U64?  f: F32?  d: Date?  t: DateTime?  s: String? @index  l: [I32]? }
edge E: P -> P { n: I32? }"""
ROWS = [
    {"k": "a", "i": 7, "w": 2**64 - 1, "f": 0.1, "d": "2024-02-28", "t": "2024-02-28T23:00:00Z", "s": "Straße", "l": [1, 2]},
    {"k": "b", "i": 0, "w": 1, "d": "2024-03-01", "t": "2024-03-01T01:30:00.250Z", "s": "ÄÖ"},
    {"k": "c"},
]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> og.Graph:
    graph = og.init(tmp_path_factory.mktemp("computed") / "g", schema=SCHEMA)
    graph.load({"P": ROWS, "E": [{"from": "a", "to": "b", "n": 3}, {"from": "b", "to": "a", "n": 4}]})
    return graph


def column(made: og.Graph, expression: str, **params: object) -> list[Any]:
    declared = ", ".join(f"${name}: {'String' if isinstance(v, str) else 'I64'}" for name, v in params.items())
    text = f"query q({declared}) {{ match {{ $p: P }} return {{ {expression} as x }} order {{ $p.k }} }}"
    return [row["x"] for row in made.query(text, params=params).rows]


COLUMNS = {
    "$p.i + 1": [8, 1, None],
    "7 / 2": [3.5, 3.5, 3.5],
    "-7 % 3": [-1, -1, -1],
    "$p.i % $p.i": [0, None, None],
    "1 / $p.i": [1 / 7, None, None],
    "-$p.i": [-7, 0, None],
    "$p.w - $p.w": [0, 0, None],
    "coalesce($p.i, 0) * 2": [14, 0, 0],
    "coalesce($p.f, 0.5)": [0.1, 0.5, 0.5],
    "coalesce($p.i, 0.5)": [7.0, 0.0, 0.5],
    "coalesce($p.l, [0])": [[1, 2], [0], [0]],
    "coalesce($p.l, [])": [[1, 2], [], []],
    "length($p.l)": [2, None, None],
    "length($p.s)": [6, 2, None],
    "upper($p.s)": ["STRAẞE", "ÄÖ", None],
    "lower($p.s)": ["straße", "äö", None],
    'concat($p.k, "-", $p.s)': ["a-Straße", "b-ÄÖ", None],
    'concat("a", "b")': ["ab"] * 3,
    "$p.d + days(2)": [date(2024, 3, 1), date(2024, 3, 3), None],
    "$p.d - days($p.i)": [date(2024, 2, 21), date(2024, 3, 1), None],
    '$p.d - date("2024-02-28")': [timedelta(0), timedelta(days=2), None],
    "$p.t + hours(1)": [datetime(2024, 2, 29, tzinfo=UTC), datetime(2024, 3, 1, 2, 30, 0, 250_000, tzinfo=UTC), None],
    '($p.t - datetime("2024-02-28T00:00:00Z")) / hours(1)': [23.0, 49.5 + 0.25 / 3600, None],
    "days(1) * 2 - hours(1)": [timedelta(days=2, hours=-1)] * 3,
    "-seconds($p.i)": [timedelta(seconds=-7), timedelta(0), None],
    'coalesce($p.d, date("2000-01-01"))': [date(2024, 2, 28), date(2024, 3, 1), date(2000, 1, 1)],
}


@pytest.mark.parametrize("expression", COLUMNS, ids=COLUMNS.keys())
def test_columns(made: og.Graph, expression: str) -> None:
    assert column(made, expression) == COLUMNS[expression]


REFUSED = {
    "$p.w + 1": "`p.w + 1` is beyond U64",
    "-$p.w": "is beyond I64",
    "$p.i - 9223372036854775807 - 9223372036854775807": "is beyond I64",
    "$p.d + hours(1)": "no whole number of days",
    "$p.d + days(1000000000)": "is beyond D",
    "days(9223372036854775807)": "is beyond Duration",
}


@pytest.mark.parametrize("expression", REFUSED)
def test_what_does_not_fit_is_refused(made: og.Graph, expression: str) -> None:
    with pytest.raises(QueryError) as caught:
        column(made, expression)
    assert REFUSED[expression] in str(caught.value)


def test_columns_are_called_as_they_are_written(made: og.Graph) -> None:
    text = 'query q() { match { $p: P { k: "a" } } return { ($p.i + 1) * 2, lower($p.k), -$p.i, count($p) / 2 } }'
    assert made.query(text).columns == ["(p.i + 1) * 2", "lower(p.k)", "-p.i", "count(p) / 2"]


def test_constants_that_are_computed_find_nodes_by_key(made: og.Graph) -> None:
    text = "query q($n: String) { match { $p: P  $p.k = lower($n) } return { $p.i } }"
    assert "Lookup p: P by k = lower($n)" in str(made.explain(text, params={"n": "A"}))
    assert made.query(text, params={"n": "A"}).rows == [{"p.i": 7}]
    assert made.query(text, params={"n": "X"}).rows == []


def test_computed_constants_use_an_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger, "FILTERED_ROWS", 0)
    graph = og.init(tmp_path / "g", schema="node P { k: String @key  s: String @unique }")
    graph.load({"P": [{"k": f"k{n}", "s": f"s{n}"} for n in range(3_000)]})
    graph.optimize()
    text = 'query q($n: String) { match { $p: P  $p.s = concat("s", $n) } return { $p.k } }'
    fresh = og.open(graph.uri)
    shown = str(fresh.explain(text, params={"n": "77"}, analyze=True, traversal="btree"))
    assert "index" in shown
    assert fresh.query(text, params={"n": "77"}).rows == [{"p.k": "k77"}]


def test_aggregates_and_what_is_computed_of_them(made: og.Graph) -> None:
    text = """query q() {
        match { $p: P  optional { $p $e:e $q } }
        return { coalesce($p.i, -1) % 7 as rest, sum($e.n * 2) / count($p) as mean, max($p.t) - min($p.t) as between, max($p.d) as last }
        order { count($p) * 2 desc, rest }
    }"""
    rows = made.query(text).rows
    assert rows[0] == {
        "rest": 0,
        "mean": 7.0,
        "between": timedelta(hours=26, minutes=30, milliseconds=250),
        "last": date(2024, 3, 1),
    }
    assert rows[1] == {"rest": -1, "mean": None, "between": None, "last": None}
    shown = str(made.explain(text))
    assert "Group" in shown
    assert "Return coalesce(p.i, -1) % 7, sum(e.n * 2) / count(p)" in shown


def test_durations_in_every_form_of_a_result(made: og.Graph) -> None:
    text = 'query q() { match { $p: P { k: "b" } } return { $p.t - datetime("2024-02-29T00:00:00Z") as x } }'
    result = made.query(text)
    assert result.rows == [{"x": timedelta(days=1, hours=1, minutes=30, milliseconds=250)}]
    assert result.json_rows() == [{"x": "P1DT1H30M0.250S"}]
    assert result.to_arrow().schema.field("x").type == pa.duration("ms")
    assert "P1DT1H30M0.250S" in str(result)


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> og.Graph:
    graph = og.init(tmp_path_factory.mktemp("texts") / "g", schema="node P { k: String @key  s: String }")
    graph.load({"P": [{"k": f"k{n}", "s": "x" * 1000} for n in range(2000)]})
    return graph


def repeated(times: int) -> str:
    return f"query q() {{ match {{ $p: P }} return {{ length(concat({', '.join(['$p.s'] * times)})) as n }} }}"


def test_memory_is_counted_while_values_are_computed(texts: og.Graph) -> None:
    with pytest.raises(ResourceLimit, match="computing values"):
        texts.query(repeated(100), memory_limit=20_000_000)
    assert texts.query(repeated(3), memory_limit=20_000_000).rows[0] == {"n": 3000}


def test_text_that_becomes_too_large_is_refused(texts: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compute, "_LONGEST_TEXTS", 20_000_000)
    with pytest.raises(QueryError, match="more than 2 GB"):
        texts.query(repeated(11))


def test_what_names_multiply_is_bounded(made: og.Graph) -> None:
    for sign, code in (("a{0} + a{0}", "parts"), ("a{0} + 1", "steps"), ("coalesce(a{0}, a{0})", "parts")):
        columns = ["$p.i + $p.i as a0", *(f"{sign.format(n)} as a{n + 1}" for n in range(90))]
        with pytest.raises(TypeCheckError, match=code):
            made.query(f"query q() {{ match {{ $p: P }} return {{ {', '.join(columns)} }} }}")
