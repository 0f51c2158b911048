"""Violations of frames say which row they are about, counted from 1, whatever the rule and the kind of frame."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from tests.engine.load.loading import EVERYTHING, graph, refused

import omnigraph as og

FRAMES: dict[str, Callable[[pa.Table], Any]] = {
    "arrow": lambda table: table,
    "batch": lambda table: table.combine_chunks().to_batches()[0],
    "reader": lambda table: table.to_reader(max_chunksize=7),
    "pandas": lambda table: table.to_pandas(),
    "polars": pl.from_arrow,
    "rows": lambda table: table.to_pylist(),
}
THINGS = {"name": [f"t{n}" for n in range(40)]}

CASES: dict[str, tuple[str, dict[str, list[Any]], set[int]]] = {
    "range": ("Thing", {**THINGS, "i32": [1] * 30 + [1000] + [1] * 9}, {31}),
    "check": ("Thing", {**THINGS, "text": ["x"] * 5 + ["no!"] + ["x"] * 34}, {6}),
    "enum": ("Thing", {**THINGS, "kind": ["a"] * 39 + ["z"]}, {40}),
    "type": ("Thing", {**THINGS, "i32": [1.0] * 20 + [1.5] + [1.0] * 19}, {21}),
    "date": ("Thing", {**THINGS, "day": ["2024-01-01"] * 3 + ["soon"] + ["2024-01-01"] * 36}, {4}),
    "vector": ("Thing", {**THINGS, "vector": [[1.0, 2.0, 3.0]] * 9 + [[1.0]] + [[1.0, 2.0, 3.0]] * 30}, {10}),
    "required": ("Plain", {"note": ["x"] * 25 + [None] + ["x"] * 4}, {26}),
    "key": ("Thing", {"name": ["a"] * 1 + [f"u{n}" for n in range(20)] + ["a"]}, {22}),
    "unique": ("Thing", {**THINGS, "i64": [*range(39), 3]}, {40}),
    "unique beside what is there": ("Thing", {**THINGS, "i64": [*range(1000, 1012), 77, *range(2000, 2027)]}, {13}),
    "endpoint": ("Near", {"from": ["old"] * 12, "to": ["old"] * 11 + ["nobody"]}, {12}),
    "no endpoint": ("Near", {"from": ["old"] * 12, "to": ["old"] * 11 + [None]}, {12}),
}


def before(folder: Path) -> og.Graph:
    """A graph that some of the rows are at odds with."""
    g = graph(folder, EVERYTHING)
    g.load({"Thing": [{"name": "old", "i64": 77}], "Plain": [{"id": "p", "note": "x"}, {"id": "q", "note": "x"}]})
    return g


@pytest.mark.parametrize("form", FRAMES)
def test_every_rule(tmp_path: Path, form: str) -> None:
    g = before(tmp_path)
    for name, (type_, columns, rows) in CASES.items():
        if form == "rows" and name == "type":  # Python's 1.0 is no integer
            continue
        found = refused(g, {type_: FRAMES[form](pa.table(columns))})
        assert {v.line for v in found} == rows, (name, found)


@pytest.mark.parametrize("form", FRAMES)
def test_rules_about_several_rows(tmp_path: Path, form: str) -> None:
    g = before(tmp_path)
    owns = pa.table({"from": ["old", "old"], "to": ["p", "q"]})
    assert {v.line for v in refused(g, {"Owns": FRAMES[form](owns)})} <= {1, 2}
    again = pa.table({"name": ["new", "old"]})
    assert [v.line for v in refused(g, {"Thing": FRAMES[form](again)}, mode="append")] == [2]


def test_values_of_several_kinds_in_a_column_of_pandas(tmp_path: Path) -> None:
    frame = pd.DataFrame({"name": ["a", "b", "c"], "i32": pd.Series([1, "x", None], dtype=object)})
    g = before(tmp_path)
    assert [(v.rule, v.line, v.value) for v in refused(g, {"Thing": frame})] == [("type", 2, "x")]
    g.load({"Thing": frame}, quarantine=tmp_path / "bad")


SINGLY: dict[str, Any] = {
    "not an F32": 16_777_217,
    "a double": 0.1,
    "an F32": 0.5,
    "whole": 3,
    "whole as a float": 3.0,
    "more than I64": 2**64 - 1,
    "a power of two": 2**64,
}
BESIDE: dict[str, Any] = {"nothing": None, "a large integer": 2**64, "an object": object()}


@pytest.mark.parametrize("kind", ["F32", "F64", "I64", "[F32]", "[I64]"])
@pytest.mark.parametrize("name", SINGLY)
def test_what_else_is_in_a_column_of_pandas_does_not_change_what_a_value_means(tmp_path: Path, kind: str, name: str) -> None:
    g = graph(tmp_path, f"node T {{ k: String @key  v: {kind}? }}")
    value = [SINGLY[name]] if kind.startswith("[") else SINGLY[name]
    found = {}
    for place, (what, other) in enumerate(BESIDE.items()):
        beside = [other] if isinstance(value, list) and other is not None else other
        keys = [f"{place}", f"{place} beside", f"{place} at any rate"]
        frame = pd.DataFrame({"k": keys, "v": pd.Series([value, beside, None], dtype=object)})
        g.load({"T": frame}, quarantine=tmp_path / what)
        found[what] = g.query(f'query q() {{ match {{ $t: T {{ k: "{place}" }} }} return {{ $t.v as v }} }}').rows
    assert len({repr(rows) for rows in found.values()}) == 1, found
    if "F32" in kind:
        assert bool(found["nothing"]) is (name not in ("not an F32", "a double", "more than I64"))


def test_moments_of_pandas_keep_their_nanoseconds_and_are_refused_for_them(tmp_path: Path) -> None:
    g = graph(tmp_path, "node T { k: String @key  v: DateTime? }")
    moments = [pd.Timestamp("2024-05-01T10:00:00Z"), pd.Timestamp("2024-05-01T10:00:00.000000001Z")]
    for dtype in (object, None):
        with pytest.raises(og.ValidationError, match="finer than milliseconds"):
            g.load({"T": pd.DataFrame({"k": ["a", "b"], "v": pd.Series(moments, dtype=dtype)})})
