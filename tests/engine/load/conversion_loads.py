"""The cases of every conversion as whole loads: each value in a row of its own, in the one property it is tried for.

    Each    a property per type            for doors of records and text: `p_i32: I32?`
    Wide    a property per column and type for doors of columns: `c3_i32: I32?` takes what the fourth kind of column holds

What became of a value is learnt from the graph, and from what was left out (`quarantine`).
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from tests.engine.load.conversion_cases import CASES, REFUSED, TYPES, Case, same, wanted

import omnigraph as og
from omnigraph.engine.load.read.columnar.headers import may_fit
from omnigraph.engine.load.run.result import LoadResult

SOURCES: Final = list(dict.fromkeys(case.arrow for case in CASES if case.arrow is not None))
"""Every kind of column there is a case of."""


def each(type_: str) -> str:
    return f"p_{type_.lower()}"


def wide(source: pa.DataType, type_: str) -> str:
    return f"c{SOURCES.index(source)}_{type_.lower()}"


SCHEMA: Final = "\n".join(
    [
        "node Each { k: String @key",
        *(f"  {each(name)}: {type_}?" for name, type_ in TYPES.items()),
        "}",
        "node Wide { k: String @key",
        *(f"  {wide(source, name)}: {type_}?" for source in SOURCES for name, type_ in TYPES.items()),
        "}",
    ]
)


@dataclass(frozen=True)
class Tried:
    """A value in a property, and what is to become of it."""

    key: str
    name: str
    property: str
    value: Any
    expected: Any


def graph(folder: Path) -> og.Graph:
    return og.init(folder / "g", schema=SCHEMA, durability="os")


def singly(cases: Iterable[Case], *, rounds: bool = False) -> list[Tried]:
    """Each case for each type."""
    pairs = [(case, type_) for case in cases for type_ in TYPES]
    return [
        Tried(str(n), f"{case.name} as {type_}", each(type_), case.value, wanted(case, type_, rounds=rounds))
        for n, (case, type_) in enumerate(pairs)
    ]


@dataclass(frozen=True)
class Columns:
    """Cases as columns: those that can fit, and those of which no value can."""

    tried: list[Tried]
    table: pa.Table
    never: pa.Table


def in_columns(g: og.Graph, cases: Iterable[Case], *, rounds: bool = False, spark: bool = False) -> Columns:
    """Each case for each type, in a column of its kind; `spark`: in the kind of column that Spark has instead."""
    properties = g._view().catalog.nodes["Wide"].properties
    tried, types, never = list[Tried](), dict[str, pa.DataType](), dict[str, pa.Array]()
    for case in cases:
        assert case.arrow is not None
        kind = _of_spark(case.arrow) if spark else case.arrow
        for type_ in TYPES:
            name, expected = wide(case.arrow, type_), wanted(case, type_, column=True, rounds=rounds)
            if rounds and expected == REFUSED and type_ in case.takes:
                continue  # rounded into F32: what to is said by the JSON form
            if may_fit(properties[name].type, kind):
                types[name] = kind
                tried.append(Tried(str(len(tried)), f"{case.name} as {type_}", name, case.value, expected))
            else:
                assert expected == REFUSED, (case.name, type_)
                never[name] = pa.array([_cell(case.value, kind)], kind)
    columns = {n: pa.array([_cell(t.value, k) if t.property == n else None for t in tried], k) for n, k in types.items()}
    return Columns(tried, pa.table({"k": [t.key for t in tried], **columns}), pa.table({"k": ["x"], **never}))


def _of_spark(kind: pa.DataType) -> pa.DataType:
    if kind == pa.uint64():
        return pa.decimal128(20, 0)
    return pa.timestamp("us", None if kind.tz is None else "UTC") if pa.types.is_timestamp(kind) else kind


def _cell(value: Any, kind: pa.DataType) -> Any:
    return Decimal(value) if pa.types.is_decimal(kind) else value


def learnt(g: og.Graph, type_: str, result: LoadResult | None = None) -> dict[str, Any]:
    """What became of each value, by the key of its row."""
    sink = io.BytesIO()
    g.export(sink)
    found: dict[str, Any] = {}
    for line in sink.getvalue().splitlines():
        record = json.loads(line)
        if record.get("type") == type_:
            _, found[record["data"]["k"]] = _only(record)
    assert result is None or result.rows == len(found)
    left_out = [] if result is None or result.quarantine is None else Path(result.quarantine).read_text().splitlines()
    for line in map(json.loads, left_out):
        name, _ = _only(line["record"])
        assert line["line"] >= 1, line
        for violation in line["violations"]:
            assert (violation["property"], violation["type"]) == (name, type_), line
        found[line["record"]["data"]["k"]] = REFUSED
    return found


def _only(record: dict[str, Any]) -> tuple[str, Any]:
    """The one property of a record that has a value."""
    ((name, value),) = [(n, v) for n, v in record["data"].items() if n not in ("k", "id") and v is not None]
    return name, value


def check(found: dict[str, Any], tried: list[Tried]) -> None:
    odd = [t.name for t in tried if t.key not in found]
    assert not odd, odd
    assert len(found) == len(tried), found.keys()
    wrong = [(t.name, found[t.key], t.expected) for t in tried if not same(found[t.key], t.expected)]
    assert not wrong, wrong
