"""Values that nobody can go down into, numbers that no float holds: a violation each, quickly, with the whole record kept."""

from __future__ import annotations

import io
import json
import math
import struct
import time
from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.load.loading import counts, exported, graph, refused

import omnigraph as og
from omnigraph.model.conversions import is_halfway, nearest
from omnigraph.model.given import Spelt, tangled
from omnigraph.model.types import Scalar

SCHEMA = """
node P {
    slug: String @key
    xs: [I64]?
    n: I64?
    single: F32?
    double: F64?
    singles: [F32]?
    data: Blob?
}
"""


def deep(levels: int, outer: Callable[[object], object] = lambda inner: [inner]) -> object:
    value: object = 1
    for _ in range(levels):
        value = outer(value)
    return value


def in_itself() -> object:
    value: list[object] = []
    value.append(value)
    return value


def many_times() -> object:
    """A list of two to the hundredth lists."""
    value: list[object] = []
    for _ in range(60):
        value = [value, value]
    return value


TANGLED: dict[str, Callable[[], object]] = {
    "lists": lambda: deep(100_000),
    "objects": lambda: deep(100_000, lambda inner: {"a": inner}),
    "tuples": lambda: deep(100_000, lambda inner: (inner,)),
    "in itself": in_itself,
    "many times": many_times,
    "arrays": lambda: deep(500, lambda inner: np.array([inner, None], dtype=object)),
}
ROWS: dict[str, Callable[[object], Any]] = {
    "pandas": lambda value: {"P": pd.DataFrame({"slug": ["a", "b"], "xs": pd.Series([value, [1]], dtype=object)})},
    "polars": lambda value: {"P": pl.DataFrame({"slug": ["a", "b"], "xs": pl.Series([value, [1]], dtype=pl.Object)})},
    "rows": lambda value: {"P": [{"slug": "a", "xs": value}, {"slug": "b", "xs": [1]}]},
    "records": lambda value: [
        {"type": "P", "data": {"slug": "a", "xs": value}},
        {"type": "P", "data": {"slug": "b", "xs": [1]}},
    ],
}


def quarantined(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for file in folder.iterdir() for line in file.read_text().splitlines()]


@pytest.mark.parametrize("door", ROWS)
@pytest.mark.parametrize("kind", TANGLED)
def test_tangled_values_are_violations_of_their_rows(tmp_path: Path, door: str, kind: str) -> None:
    value = TANGLED[kind]()
    g = graph(tmp_path, SCHEMA)
    begun = time.monotonic()
    found = refused(g, ROWS[door](value))
    assert [(v.rule, v.property, v.line) for v in found] == [("type", "xs", 1)]
    g.load(ROWS[door](value), quarantine=tmp_path / "bad")
    assert counts(g) == {"P": 1}
    (left,) = quarantined(tmp_path / "bad")
    assert left["record"]["data"]["slug"] == "a"
    assert "nested more than 64 deep" in left["record"]["data"]["xs"] or "lists and objects" in left["record"]["data"]["xs"]
    assert time.monotonic() - begun < 10


@pytest.mark.parametrize("kind", TANGLED)
def test_tangled_parameters_are_refused(tmp_path: Path, kind: str) -> None:
    g = graph(tmp_path, SCHEMA)
    with pytest.raises(og.errors.ParameterError):
        g.mutate('query q($xs: [I64]?) { insert P { slug: "a", xs: $xs } }', params={"xs": TANGLED[kind]()})


@pytest.mark.parametrize("levels", [60, 500, 100_000, 140_000])
def test_lines_nested_deeply_are_violations_and_kept(tmp_path: Path, levels: int) -> None:
    text = '{"type":"P","data":{"slug":"a","xs":' + "[" * levels + "]" * levels + "}}"
    lines = f'{text}\n{{"type":"P","data":{{"slug":"b"}}}}\n'
    refused(graph(tmp_path, SCHEMA), io.BytesIO(text.encode()))
    with suppress(og.errors.ValidationError):  # there, an element that is no number is none
        graph(tmp_path, SCHEMA).load(io.BytesIO(text.encode()), dialect="compatible")
    g = graph(tmp_path, SCHEMA)
    g.load(io.BytesIO(lines.encode()), quarantine=tmp_path / "bad")
    assert [e["data"]["slug"] for e in exported(g)] == ["b"]
    (left,) = quarantined(tmp_path / "bad")
    assert left["record"] == (text if levels > 60 else json.loads(text))


def test_what_may_be_gone_into() -> None:
    assert tangled(deep(64)) is None
    assert tangled(deep(65)) == "is nested more than 64 deep"
    assert tangled([[]] * 131_071) is None
    assert tangled([[]] * 131_072) == "holds more than 131,072 lists and objects"
    assert tangled({"a": [1, "x", None, 2.5, np.array([1, 2])]}) is None
    assert tangled(10**5000) is None


# ── numbers ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────

HUGE: dict[str, tuple[object, object]] = {
    "5,001 digits": (10**5000, hex(10**5000)),
    "a million bits": (1 << 1_000_000, hex(1 << 1_000_000)),
    "a decimal": (Decimal("1e300000"), float("inf")),
    "a negative one": (Decimal("-1e-300000"), -0.0),
    "a decimal of 5,000 digits": (Decimal("1." + "7" * 5_000), "1." + "7" * 5_000),
    "in a list": ([10**5000], [hex(10**5000)]),
    "no number": (Decimal("NaN"), "NaN"),
    "a signalling one": (Decimal("sNaN"), "sNaN"),
    "infinite": (float("-inf"), "-inf"),
}


@pytest.mark.parametrize(
    ("door", "name"),
    [
        (door, name)
        for door in ("rows", "records", "pandas")
        for name in HUGE
        if door != "pandas" or HUGE[name][1] not in ("NaN", "sNaN")  # which is how pandas spells a value that is missing
    ],
)
def test_huge_numbers_are_violations_and_kept(tmp_path: Path, door: str, name: str) -> None:
    value, kept = HUGE[name]
    key = "xs" if isinstance(value, list) else "n"
    row: dict[str, object] = {"slug": "a", key: value}
    given: dict[str, Any] = {
        "rows": {"P": [row, {"slug": "b"}]},
        "records": [{"type": "P", "data": row}, {"type": "P", "data": {"slug": "b"}}],
        "pandas": {"P": pd.DataFrame([row, {"slug": "b", key: None}], dtype=object)},
    }
    begun = time.monotonic()
    g = graph(tmp_path, SCHEMA)
    g.load(given[door], quarantine=tmp_path / "bad")
    (left,) = quarantined(tmp_path / "bad")
    assert left["record"] == {"type": "P", "data": {"slug": "a", key: kept}}
    assert left["violations"][0]["rule"] == "type"
    assert time.monotonic() - begun < 5


@pytest.mark.parametrize("digits", ["1" + "0" * 5000, "1e300000", "0.1000000000000000055511151231257827", "-0", "1.50", "7" * 30])
def test_lines_are_kept_with_their_digits(tmp_path: Path, digits: str) -> None:
    text = f'{{"type": "P", "data": {{"slug": 7, "n": {digits}, "xs": [{digits}]}}}}'
    g = graph(tmp_path, SCHEMA)
    g.load(io.BytesIO(f'{text}\n{{"type":"P","data":{{"slug":"b"}}}}\n'.encode()), quarantine=tmp_path / "bad")
    (file,) = (tmp_path / "bad").iterdir()
    assert f'"n": {digits if len(digits) < 4000 else json.dumps(digits)}' in file.read_text()


def test_cells_are_kept_with_their_digits(tmp_path: Path) -> None:
    cells = 'a,x,0.1,0.1000000000000000055511151231257827,"[0.1, 2.50]"'
    (tmp_path / "P.csv").write_text(f"slug,n,single,double,singles\n{cells}\nb,1,0.1,0.1,[]\n")
    g = graph(tmp_path, SCHEMA)
    g.load(tmp_path / "P.csv", quarantine=tmp_path / "bad")
    (file,) = (tmp_path / "bad").iterdir()
    told = '"single": 0.1, "double": 0.1000000000000000055511151231257827, "singles": [0.1, 2.50]'
    assert told in file.read_text()


def test_columns_of_singles_are_kept_as_they_are_written(tmp_path: Path) -> None:
    table = pa.table(
        {
            "slug": ["a", "b"],
            "single": pa.array([0.1, 0.1], pa.float32()),
            "singles": pa.array([[0.1], [0.1]], pa.list_(pa.float32())),
            "n": pa.array([2**64 - 1, 1], pa.uint64()),
        }
    )
    pq.write_table(table, tmp_path / "P.parquet")
    graph(tmp_path, SCHEMA).load(tmp_path / "P.parquet", quarantine=tmp_path / "bad")
    (left,) = quarantined(tmp_path / "bad")
    assert left["record"]["data"] == {"slug": "a", "single": 0.1, "singles": [0.1], "n": 2**64 - 1}


# ── F32, rounded once ────────────────────────────────────────────────────────────────────────────────────────────────────────


def once(text: str) -> float:
    """The F32 nearest to a number, by fractions."""
    exact = Fraction(text)
    start = struct.unpack("<i", struct.pack("<f", abs(float(exact))))[0]
    near = [struct.unpack("<f", struct.pack("<i", n))[0] for n in range(max(start - 2, 0), min(start + 3, 0x7F80_0000))]
    best = min(near, key=lambda f: (abs(Fraction(f) - abs(exact)), struct.unpack("<i", struct.pack("<f", f))[0] % 2))
    return math.copysign(best, -1 if text.startswith("-") else 1)


def just_beside(bits: int, digits: int, above: bool) -> str:
    """A decimal next to the middle of two F32, so near that the nearest double is that middle."""
    low, high = (struct.unpack("<f", struct.pack("<i", n))[0] for n in (bits, bits + 1))
    with_digits = Decimal((low + high) / 2)
    step = Decimal(1).scaleb(with_digits.adjusted() - digits)
    return f"{with_digits + step if above else with_digits - step:f}"


BESIDE = st.builds(just_beside, st.integers(0, 0x7F7F_FFFE), st.integers(30, 60), st.booleans())


@given(BESIDE)
def test_singles_are_rounded_once(text: str) -> None:
    assert nearest(Scalar.F32, Spelt(text)) == nearest(Scalar.F32, Decimal(text)) == once(text)


@given(st.floats(width=32, allow_nan=False, allow_infinity=False, min_value=0.0, max_value=2.0**127))
def test_halves_are_found_everywhere(value: float) -> None:
    following = float(np.nextafter(np.float32(value), np.float32(np.inf)))
    assert is_halfway((value + following) / 2)
    assert not is_halfway(value)


@pytest.mark.parametrize("text", [just_beside(b, 40, a) for b in (0x3F80_0000, 0x3F80_0001, 0x0000_0003) for a in (True, False)])
def test_every_door_rounds_singles_once(tmp_path: Path, text: str) -> None:
    expected = once(text)
    line = f'{{"type":"P","data":{{"slug":"a","single":{text},"singles":[{text}]}}}}\n'
    (tmp_path / "P.csv").write_text(f"slug,single,singles\na,{text},[{text}]\n")
    row = {"slug": "a", "single": Decimal(text), "singles": [Decimal(text)]}
    sources: list[Any] = [io.BytesIO(line.encode()), tmp_path / "P.csv", {"P": [row]}]
    if len(Decimal(text).as_tuple().digits) < 76:
        sources.append({"P": pa.Table.from_pylist([row])})
    for source in sources:
        g = graph(tmp_path, SCHEMA)
        g.load(source)
        data = exported(g)[0]["data"]
        assert float(np.float32(data["single"])) == expected
        assert [float(np.float32(v)) for v in data["singles"]] == [expected]


@pytest.mark.parametrize("zero", ["-0", "-0.0", "-0e5"])
def test_zeros_keep_their_sign(tmp_path: Path, zero: str) -> None:
    line = f'{{"type":"P","data":{{"slug":"a","single":{zero},"double":{zero}}}}}\n'
    (tmp_path / "P.csv").write_text(f"slug,single,double\na,{zero},{zero}\n")
    row = {"slug": "a", "single": Decimal(zero), "double": Decimal(zero)}
    odd = '{"type":"P","data":{"slug":"b","xs":[1,null]}}\n'
    doors: list[tuple[Any, dict[str, Any]]] = [
        (io.BytesIO(line.encode()), {}),
        (io.BytesIO((line + odd).encode()), {"quarantine": tmp_path / "bad"}),  # by the exact path
        (io.BytesIO(line.encode()), {"dialect": "compatible"}),
        (tmp_path / "P.csv", {}),
        ({"P": [row]}, {}),
    ]
    for source, options in doors:
        g = graph(tmp_path, SCHEMA)
        g.load(source, **options)
        data = exported(g)[0]["data"]
        assert math.copysign(1, data["single"]) == math.copysign(1, data["double"]) == -1, (source, data)


# ── the index of pandas ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_an_index_with_a_name_is_a_column(tmp_path: Path) -> None:
    frame = pd.DataFrame({"slug": ["a", "b"], "n": [1, 2]})
    for indexed in (frame.set_index("slug"), frame.set_index(["slug", "n"]), frame.set_index("n")):
        g = graph(tmp_path, SCHEMA)
        g.load({"P": indexed})
        assert [(e["data"]["slug"], e["data"]["n"]) for e in exported(g)] == [("a", 1), ("b", 2)]


def test_an_index_without_a_name_only_numbers_rows(tmp_path: Path) -> None:
    g = graph(tmp_path, SCHEMA)
    g.load({"P": pd.DataFrame({"slug": ["a", "b", "c"], "n": [1, 2, 3]}).iloc[[2, 0]]})
    assert [e["data"]["slug"] for e in exported(g)] == ["a", "c"]


def test_an_index_that_is_not_meant_is_refused_with_what_to_do(tmp_path: Path) -> None:
    frame = pd.DataFrame({"slug": ["a"], "n": [1]})
    g = graph(tmp_path, SCHEMA)
    with pytest.raises(og.errors.ValidationError, match="P has no property `row`"):
        g.load({"P": frame.rename_axis("row")})
    with pytest.raises(og.errors.UsageError, match="an index of that name too") as told:
        g.load({"P": frame.set_index("slug", drop=False)})
    assert "reset_index(drop=True)" in str(told.value.hint)
    with pytest.raises(og.errors.UsageError, match="some of its levels"):
        g.load({"P": frame.set_index(["slug", pd.Index([7])])})
    assert exported(g) == []


def test_objects_of_polars_are_read_as_values_not_as_addresses(tmp_path: Path) -> None:
    g = graph(tmp_path, SCHEMA)
    frame = pl.DataFrame({"slug": ["a"], "data": pl.Series([b"bytes"], dtype=pl.Object)})
    g.load({"P": frame})
    assert exported(g)[0]["data"]["data"] == "base64:Ynl0ZXM="
