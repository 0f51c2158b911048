"""Stored values as text and as plain Python objects, in the same format for exports, changes, comparisons and conflicts.

    stored                     JSON                              Python
    Date 19844                 "2024-05-01"                      date(2024, 5, 1)
    DateTime 1714557600000     "2024-05-01T10:00:00.000Z"        datetime(2024, 5, 1, 10, tzinfo=UTC)
    Blob                       "base64:…", or its URI            bytes, or its URI
    F32 0.1, and in a vector   0.1                               0.1, and not the double 0.10000000149011612
    a float that is no number  "NaN", "Infinity", "-Infinity"    the same float

A day that Python's calendar does not have (before year 1, after 9999) is text in Python too (`omnigraph.model.times`), and never
a number. Everything else is as JSON and Python have it. What is spelt here loads back as the same value.

An *id* that was made of a date or a moment stays what the language says it is: a number of days, or of milliseconds, since 1970.
"""

from __future__ import annotations

import math
from datetime import date, timedelta
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.engine.arrays.blob_cells import plain_cell, spelt_cell
from omnigraph.model.times import DAY_MS, EPOCH, date_text, datetime_text, days_of, ms_of
from omnigraph.model.types import PropertyType, Scalar

_POWERS: Final = np.array([float(10**n) for n in range(23)])
_FEW: Final = 32
"""So many numbers are spelt one by one as quickly as together."""
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
    if not isinstance(value, float):
        return value
    return _single(type_, value) if math.isfinite(value) else _no_number(value)


def plain(type_: PropertyType, value: Any) -> Any:
    """A stored value as plain Python; dates are given as days, and moments as milliseconds."""
    if value is None:
        return None
    if isinstance(value, bytes):
        return plain_cell(value)
    if isinstance(value, list):
        return [plain(type_, item) for item in value]
    if type_.scalar not in (Scalar.DATE, Scalar.DATETIME):
        return _single(type_, value) if isinstance(value, float) else value
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
    return [value for chunk in column.chunks for value in plain_array(chunk)]


def plain_array(array: pa.Array) -> list[Any]:
    """A column as plain Python: F32 as it is written, days that Python's calendar lacks as text. Cells of Blobs stay cells."""
    kind = array.type
    found: list[Any]
    if pa.types.is_float32(kind):
        found = shortest(array.to_numpy(zero_copy_only=False)).tolist()
        if array.null_count:
            found = [v if there else None for v, there in zip(found, array.is_valid().to_pylist(), strict=True)]
    elif _is_nested(kind) and (pa.types.is_float32(kind.value_type) or _is_time(kind.value_type)):
        found, items, at = [], plain_array(array.flatten()), 0
        for length in pc.list_value_length(array).to_pylist():
            found.append(None if length is None else items[at : at + length])
            at += length or 0
    elif not _is_time(kind) or in_pythons_calendar(array):
        found = array.to_pylist()
    else:
        is_date = pa.types.is_date32(kind)
        type_ = PropertyType(Scalar.DATE if is_date else Scalar.DATETIME)
        found = [plain(type_, number) for number in array.cast(pa.int32() if is_date else pa.int64()).to_pylist()]
    return found


def _is_nested(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind))


def in_pythons_calendar(array: pa.Array) -> bool:
    """Whether Python has dates for all of these, which may be in lists; true of what is neither date nor moment."""
    if pa.types.is_list(array.type):
        array = array.flatten()
    if not _is_time(array.type):
        return True
    is_date = pa.types.is_date32(array.type)
    low, high = _DAYS if is_date else (_MOMENTS[0], _MOMENTS[1] + DAY_MS - 1)
    found = pc.min_max(array.cast(pa.int32() if is_date else pa.int64())).as_py()
    return found["min"] is None or (found["min"] >= low and found["max"] <= high)


def _single(type_: PropertyType, value: float) -> float:
    return float(str(np.float32(value))) if type_.scalar in (Scalar.F32, Scalar.VECTOR) else value


def shortest(values: np.ndarray[Any, np.dtype[np.float32]]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """F32 as the doubles that are written with the fewest digits of all that are nearest to them: 0.1, not 0.10000000149011612.

    Six digits always survive F32 and nine always say which one it is, so there are four things to try. Powers of ten up to 22 are
    exact, and so are their products and quotients with nine digits; what is larger or smaller is spelt one by one.
    """
    if len(values) <= _FEW:
        return np.array([float(str(value)) for value in values], np.float64)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        exact = values.astype(np.float64)
        places = np.floor(np.log10(np.abs(exact)))
        usual = (places >= -14) & (places <= 27)
        singly = np.isfinite(places) & ~usual
        shifts = -np.where(usual, places, 0).astype(np.int64)
        found = exact.copy()
        for digits in range(9, 5, -1):
            shift = shifts + (digits - 1)
            power = _POWERS[np.abs(shift)]
            tried = np.rint(exact * power) / power
            if shift.min() < 0:
                tried = np.where(shift >= 0, tried, np.rint(exact / power) * power)
            good = usual & (tried.astype(np.float32) == values)
            np.copyto(found, tried, where=good)
            if digits == 9:
                singly |= usual & ~good
    for place in np.flatnonzero(singly).tolist():
        found[place] = float(str(values[place]))
    return found


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
