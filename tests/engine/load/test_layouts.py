"""Every type of column that Arrow has, into every type of property: loaded exactly, or a violation."""

from __future__ import annotations

import base64
import datetime as dt
import uuid
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.feather as feather
import pytest
from tests.engine.load.loading import EVERYTHING, graph, refused

from omnigraph.catalog.opening import offline_catalog
from omnigraph.engine.arrays.plain_values import spelt_column
from omnigraph.engine.load.read.columnar.layouts import usual
from omnigraph.engine.load.read.conversion.columns import python_cells
from omnigraph.engine.load.read.inputs.naming import Format
from omnigraph.engine.load.read.inputs.sources import Input
from omnigraph.engine.load.read.parallel.tasks import column_tasks
from omnigraph.engine.load.read.rows.types import Types
from omnigraph.language import Source

TYPES = Types(offline_catalog(Source(EVERYTHING, "s.pg")))
THING = TYPES.catalog.nodes["Thing"]


def of(type_: pa.DataType, value: Any) -> pa.Array:
    return pa.array([value, None, value, value], type_)


TEXT, BYTES, NUMBERS = of(pa.string(), "a"), of(pa.binary(), b"a"), of(pa.int32(), 2)
PLAIN: list[pa.Array] = [
    *(of(t, "a") for t in (pa.string(), pa.large_string(), pa.string_view())),
    *(of(t, b"a") for t in (pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(1))),
    *(of(getattr(pa, f"{sign}int{size}")(), 2) for sign in ("", "u") for size in (8, 16, 32, 64)),
    *(of(t, np.float16(2)) for t in (pa.float16(),)),
    *(of(t, 2.0) for t in (pa.float32(), pa.float64())),
    of(pa.decimal32(5, 2), Decimal("2.5")),
    of(pa.decimal64(5, 2), Decimal("2")),
    of(pa.decimal128(20, 2), Decimal("2")),
    of(pa.decimal256(40, 2), Decimal("2")),
    of(pa.bool_(), True),
    of(pa.null(), None),
    of(pa.date32(), dt.date(2024, 2, 29)),
    of(pa.date64(), dt.date(2024, 2, 29)),
    *(of(pa.timestamp(unit), dt.datetime(2024, 2, 29)) for unit in ("s", "ms", "us", "ns")),
    of(pa.timestamp("us", "Asia/Tokyo"), dt.datetime(2024, 2, 29, tzinfo=dt.UTC)),
    of(pa.time32("s"), dt.time(1)),
    of(pa.time64("us"), dt.time(1)),
    of(pa.duration("s"), dt.timedelta(1)),
    of(pa.month_day_nano_interval(), pa.MonthDayNano([1, 2, 3])),
]
EXTENSIONS: list[pa.Array] = [
    pa.ExtensionArray.from_storage(pa.json_(), TEXT),
    pa.ExtensionArray.from_storage(pa.uuid(), of(pa.binary(16), uuid.UUID(int=1).bytes)),
    pa.ExtensionArray.from_storage(pa.bool8(), of(pa.int8(), 1)),
    pa.ExtensionArray.from_storage(pa.opaque(pa.int32(), "t", "v"), NUMBERS),
    pa.ExtensionArray.from_storage(pa.fixed_shape_tensor(pa.float32(), [3]), of(pa.list_(pa.float32(), 3), [1.0, 2.0, 3.0])),
    pa.ExtensionArray.from_storage(pa.fixed_shape_tensor(pa.float32(), [1, 3]), of(pa.list_(pa.float32(), 3), [1.0, 2.0, 3.0])),
]
LISTS: list[Callable[[pa.DataType], pa.DataType]] = [
    *(pa.list_, pa.large_list, pa.list_view, pa.large_list_view),
    lambda t: pa.list_(t, 3),
]


def listed(kind: Callable[[pa.DataType], pa.DataType], items: pa.Array) -> pa.Array:
    """Lists of three in a layout, one of them null."""
    value = items[0].as_py() if not pa.types.is_float16(items.type) else np.float16(2)
    return pa.array([[value] * 3, None, [value] * 3], kind(items.type))


def encoded(array: pa.Array) -> list[pa.Array]:
    """The same values in a dictionary and by runs, whatever Arrow's own functions can make."""
    values = array.slice(0, 1)
    runs = pa.array([1, 2, 4], pa.int32())
    indices = pa.array([0, None, 0, 0], pa.int8())
    three = pa.concat_arrays([values, array.slice(1, 1), values])
    return [pa.DictionaryArray.from_arrays(indices, values), pa.RunEndEncodedArray.from_arrays(runs, three)]


def every() -> dict[str, pa.Array]:
    found = [*PLAIN, *EXTENSIONS, pa.StructArray.from_arrays([TEXT], ["a"])]
    found += [pa.array([[("a", 1)]] * 4, pa.map_(pa.string(), pa.int32()))]
    kinds = pa.array([0, 0, 0, 0], pa.int8())
    found += [pa.UnionArray.from_sparse(kinds, [TEXT]), pa.UnionArray.from_dense(kinds, pa.array(range(4), pa.int32()), [TEXT])]
    found += [listed(kind, items) for kind in LISTS for items in PLAIN]
    found += [pa.LargeListArray.from_arrays([0, 1, 2], e.slice(0, 2)) for a in (TEXT, NUMBERS) for e in encoded(a)]
    found += [e for a in [*PLAIN, EXTENSIONS[0]] for e in encoded(a)]
    found += [e for a in (TEXT, NUMBERS) for inner in encoded(a) for e in encoded(inner)]
    return {f"{n} {array.type}": array for n, array in enumerate(found)}


EVERY = every()


def expected(value: Any) -> Any:
    """A value as it is spelt when it comes back."""
    if isinstance(value, bytes):
        return f"base64:{base64.b64encode(value).decode()}"
    if isinstance(value, list):
        return [expected(item) for item in value]
    if isinstance(value, Decimal | np.floating | np.integer):
        return float(value)
    return value


def same(given: Any, stored: Any, given_type: pa.DataType) -> bool:
    if isinstance(stored, str) and not isinstance(given, str | bytes):
        return True  # dates and moments, which tests of conversions go through
    if isinstance(given, list) and isinstance(stored, list):
        return len(given) == len(stored) and all(same(g, s, given_type) for g, s in zip(given, stored, strict=True))
    return bool(expected(given) == stored)


@pytest.mark.parametrize("name", EVERY)
def test_every_type_of_column_into_every_property(name: str) -> None:
    column = EVERY[name]
    values = python_cells(usual(pa.RecordBatch.from_arrays([column], ["x"])).column(0))
    for sliced in (column, column.slice(1)):
        wanted = values[len(column) - len(sliced) :]
        for prop in [p for p in THING.properties if p != "name"]:
            batch = pa.RecordBatch.from_arrays([pa.array([str(n) for n in range(len(sliced))]), sliced], ["name", prop])
            for task in column_tasks(Input(Format.ARROW, None, None, THING), TYPES, [batch]):
                parsed = task()
                stored = {row["name"]: row for part in parsed.rows for row in _rows(part.batch, prop)}
                whole = any(v.line is None for v in parsed.violations)
                for n, value in enumerate(wanted):
                    told = whole or any(v.line == n + 1 for v in parsed.violations)
                    assert told or str(n) in stored, (prop, n)
                    if not told:
                        assert same(value, stored[str(n)][prop], column.type), (prop, value, stored[str(n)][prop])


def _rows(batch: pa.RecordBatch, prop: str) -> list[dict[str, Any]]:
    cells = zip(batch.column("name").to_pylist(), spelt_column(pa.chunked_array([batch.column(prop)])), strict=True)
    return [{"name": name, prop: value} for name, value in cells]


def test_every_kind_of_type_that_arrow_has_is_tried() -> None:
    def kinds(type_: pa.DataType) -> set[type]:
        within = [type_.value_type] if pa.types.is_dictionary(type_) or hasattr(type_, "value_type") else []
        return {type(type_)}.union(*(kinds(t) for t in within))

    tried = set().union(*(kinds(a.type) for a in EVERY.values()))
    there = {getattr(pa, n) for n in dir(pa) if n.endswith("Type") and isinstance(getattr(pa, n), type)}
    types = {t for t in there if issubclass(t, pa.DataType)}
    abstract = {pa.DataType, pa.BaseExtensionType, pa.ExtensionType, pa.UnknownExtensionType, pa.UnionType}
    assert types - abstract <= tried


# ── whole loads ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


FRAME = {"name": ["a", "b", "c"], "text": ["x", None, "x"], "kind": ["a", "b", None]}


def in_polars() -> pl.DataFrame:
    return pl.DataFrame(FRAME).with_columns(pl.col("text").cast(pl.Categorical), pl.col("kind").cast(pl.Enum(["a", "b"])))


@pytest.mark.parametrize("door", ["polars", "ipc", "arrow", "feather", "runs"])
def test_categories_of_polars(tmp_path: Path, door: str) -> None:
    frame, file = in_polars(), tmp_path / "Thing.arrow"
    if door == "ipc":
        frame.write_ipc(file)
    elif door == "feather":
        feather.write_feather(frame.to_arrow(), str(file), compression="uncompressed")
    table = frame.to_arrow()
    runs = pa.table({n: pc.run_end_encode(pa.array(values)) for n, values in FRAME.items()})
    g = graph(tmp_path, EVERYTHING)
    g.load({"Thing": {"polars": frame, "arrow": table, "runs": runs}.get(door, file)})
    found = g.query(
        "query q() { match { $t: Thing } return { $t.name as name, $t.text as text, $t.kind as kind } order { name } }"
    )
    assert found.rows == [dict(zip(FRAME, row, strict=True)) for row in zip(*FRAME.values(), strict=True)]


@pytest.mark.parametrize("last", [3, "x"])
def test_a_column_that_is_twice_in_a_pandas_frame(tmp_path: Path, last: object) -> None:
    frame = pd.DataFrame([["a", 2, last], ["b", 2, 3]], columns=["name", "i32", "i32"])
    (found,) = refused(graph(tmp_path, EVERYTHING), {"Thing": frame})
    assert (found.property, found.message) == ("i32", "column `i32` is there 2 times")
