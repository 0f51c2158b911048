"""Stored values as text and as plain Python: one spelling for exports, changes, comparisons and conflicts.

    stored                     JSON                              Python
    Date 19844                 "2024-05-01"                      date(2024, 5, 1)
    DateTime 1714557600000     "2024-05-01T10:00:00.000Z"        datetime(2024, 5, 1, 10, tzinfo=UTC)
    Blob                       "base64:…", or its URI            bytes, or its URI
    a float that is no number  "NaN", "Infinity", "-Infinity"    the same float

A day that Python's calendar does not have (before year 1, after 9999) is text in Python too (`omnigraph.model.times`), and never
a number. Everything else is as JSON and Python have it. What is spelt here loads back as the same value.

An *id* that was made of a date or a moment stays what the language says it is: a number of days, or of milliseconds, since 1970.
"""

from __future__ import annotations

import math
from datetime import date, timedelta
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.engine.external.cells import plain_cell, spelt_cell
from omnigraph.model.times import EPOCH, date_text, datetime_text, days_of, ms_of
from omnigraph.model.types import PropertyType, Scalar

_DAYS: Final = (days_of(date.min), days_of(date.max))
_MOMENTS: Final = (ms_of(EPOCH.replace(year=1)), ms_of(EPOCH.replace(year=9999, month=12, day=31)))


def spelt(type_: PropertyType, value: Any) -> Any:
    """A stored value as JSON has it; dates are given as days, and moments as milliseconds."""
    if value is None:
        return None
    if isinstance(value, list):
        return [spelt(type_, item) for item in value]
    if isinstance(value, bytes):
        return spelt_cell(value)
    if type_.scalar is Scalar.DATE:
        return date_text(value)
    if type_.scalar is Scalar.DATETIME:
        return datetime_text(value)
    return value if not isinstance(value, float) or math.isfinite(value) else _no_number(value)


def plain(type_: PropertyType, value: Any) -> Any:
    """A stored value as plain Python; dates are given as days, and moments as milliseconds."""
    if value is None:
        return None
    if isinstance(value, bytes):
        return plain_cell(value)
    if type_.scalar not in (Scalar.DATE, Scalar.DATETIME):
        return value
    if isinstance(value, list):
        return [plain(type_, item) for item in value]
    try:
        if type_.scalar is Scalar.DATE:
            return date(1970, 1, 1) + timedelta(days=value)
        return EPOCH + timedelta(milliseconds=value)
    except OverflowError:
        return spelt(type_, value)


def spelt_column(column: pa.ChunkedArray) -> list[Any]:
    """A stored column as JSON has it."""
    kind = column.type
    if pa.types.is_large_binary(kind) or pa.types.is_binary(kind):
        return [spelt_cell(cell) for cell in column.to_pylist()]
    if pa.types.is_list(kind) and _is_time(kind.value_type):
        is_date = pa.types.is_date32(kind.value_type)
        spell, numbers = (date_text, pa.int32()) if is_date else (datetime_text, pa.int64())
        lists = column.cast(pa.list_(numbers)).to_pylist()
        return [None if found is None else [None if n is None else spell(n) for n in found] for found in lists]
    if _is_time(kind):
        column = pa.chunked_array([_texts(chunk) for chunk in column.chunks], pa.string())
    values: list[Any] = column.to_pylist()
    return values


def _is_time(kind: pa.DataType) -> bool:
    return bool(pa.types.is_date32(kind) or pa.types.is_timestamp(kind))


def _texts(values: pa.Array) -> pa.Array:
    """Dates or moments as texts: by Arrow where it spells as we do, which is ten times as fast."""
    is_date = pa.types.is_date32(values.type)
    low, high = _DAYS if is_date else _MOMENTS
    numbers = values.cast(pa.int32() if is_date else pa.int64())
    found = pc.min_max(numbers).as_py()
    if found["min"] is not None and (found["min"] < low or found["max"] > high):
        spell = date_text if is_date else datetime_text
        return pa.array([None if number is None else spell(number) for number in numbers.to_pylist()], pa.string())
    if is_date:
        return values.cast(pa.string())
    texts = pc.binary_replace_slice(numbers.cast(pa.timestamp("ms")).cast(pa.string()), 10, 11, "T")
    return pc.binary_join_element_wise(texts, "Z", "")


def _no_number(value: float) -> str:
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
