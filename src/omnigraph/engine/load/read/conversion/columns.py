"""Conversion of whole columns at once, by the table of conversions: the result is certainly right, or there is none (`Unsure`).

    from_json(type, column)      what Arrow's JSON reader read
    from_column(type, column)    a column of a frame, of whatever Arrow type
    from_cells(type, column)     text of CSV cells

This is only a quicker way to what `omnigraph.model.conversions` says of each value. What is not exact, out of range or unusual is
not decided here: the caller takes such rows one by one (`python_cells`), which also knows what to say about them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.engine.arrays.blob_cells import given_bytes
from omnigraph.engine.load.read.conversion.exact import plain_array
from omnigraph.engine.load.read.conversion.kinds import bare, is_bytes, is_list, is_text
from omnigraph.errors import KeyValueError
from omnigraph.model.arrow import arrow_type
from omnigraph.model.conversions import Door, Misfit, blob, convert
from omnigraph.model.frozen import frozen
from omnigraph.model.given import Day, Instant
from omnigraph.model.times import DAY_MS, DAYS, MILLISECONDS, date_days, datetime_ms
from omnigraph.model.types import PropertyType, Scalar

_FIRST_DAY: Final = -719_162
"""0001-01-01: what Arrow makes of earlier years is not looked into."""
_LAST_DAY: Final = 2_932_896
_EXACT_F64: Final = 2.0**53
_EXACT_F32: Final = 2.0**24
_BOOLEANS: Final = pa.array(["true", "false", None])
_DIGITS: Final = r"^-?[0-9]+$"
_NUMBER: Final = r"^-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$"
_NANOSECONDS: Final = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}


class Unsure(Exception):
    """Not an error: somebody else must look at these rows."""


UNCERTAIN: Final = (Unsure, Misfit, KeyValueError, ValueError, pa.ArrowNotImplementedError, pa.ArrowTypeError)
"""Why rows are not taken at once: what Arrow cannot read or convert (its errors are ValueErrors, or the two named here), what a
column cannot hold, what cannot be part of an id. None of it is an answer: the exact path looks at the same rows again, one by
one, and either takes them or says what is wrong with each."""


# ── from JSON ────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def from_json(type_: PropertyType, column: pa.Array, *, lossy: bool) -> pa.Array:
    """A column as it is stored, from what JSON has: F32 takes the nearest."""
    if type_.is_vector:
        _require_no_halves(column.flatten())
        return _vectors(type_, column)
    if type_.is_list:
        return _lists(type_, column, lambda flat: _json_elements(type_, flat, lossy=lossy))
    return _json_elements(type_, column, lossy=lossy)


def _json_elements(type_: PropertyType, column: pa.Array, *, lossy: bool) -> pa.Array:
    scalar = type_.scalar
    if scalar is Scalar.F32:
        _require_no_halves(column)
        return _finite(column.cast(pa.float32(), safe=False))
    if scalar.is_float:
        return _finite(column)
    if scalar is Scalar.BLOB:
        return pa.array([None if v is None else blob(v) for v in column.to_pylist()], pa.large_binary())
    if scalar is Scalar.DATE:
        return _days(column, lossy=lossy)
    return _moments(column, lossy=lossy) if scalar is Scalar.DATETIME else column


def _require_no_halves(column: pa.Array) -> None:
    """A double that lies exactly between two F32 does not say which of them is nearer to the digits it was made of. Those that
    F32 holds with fewer bits than others are not looked into."""
    bits = column.view(pa.int64())
    halfway = pc.equal(pc.bit_wise_and(bits, _F32_LOST), _F32_HALF)
    if pc.any(halfway).as_py() or pc.any(pc.and_(pc.less(pc.abs(column), _F32_LEAST), pc.not_equal(column, 0.0))).as_py():
        raise Unsure


_F32_LOST: Final = (1 << 29) - 1
_F32_HALF: Final = 1 << 28
_F32_LEAST: Final = 2.0**-126


def is_huge(column: pa.Array) -> bool:
    """Whether there are floats so large that an integer may have been rounded on its way to them."""
    flat = column.flatten() if pa.types.is_list(column.type) else column
    bounds = pc.min_max(flat).as_py()
    return bounds["max"] is not None and (bounds["max"] >= _EXACT_F64 or bounds["min"] <= -_EXACT_F64)


# ── from columns ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def from_column(type_: PropertyType, column: pa.Array, *, lossy: bool) -> pa.Array:
    """A column of a frame, in a usual layout (`layouts`), as it is stored."""
    if not type_.is_vector and not type_.is_list:
        return _single(type_, column, lossy=lossy)
    if not is_list(column.type):
        raise Unsure
    value = column.type.value_type
    if not type_.is_vector:
        return _lists(type_, column, lambda flat: _single(type_, flat, lossy=lossy))
    if not (pa.types.is_floating(value) or pa.types.is_integer(value)):
        raise Unsure
    return _vectors(type_, column.cast(pa.list_(pa.float64()), safe=False))


def _single(type_: PropertyType, column: pa.Array, *, lossy: bool) -> pa.Array:
    scalar, given = type_.scalar, column.type
    if scalar is Scalar.STRING:
        return text_column(column)
    if scalar is Scalar.BOOL and pa.types.is_boolean(given):
        return column
    if scalar.is_integer and (pa.types.is_integer(given) or pa.types.is_floating(given) or pa.types.is_decimal(given)):
        return column.cast(arrow_type(type_.element()))
    if scalar.is_float:
        return _floats(scalar, column, lossy=lossy)
    if scalar is Scalar.BLOB:
        if is_bytes(given):
            return given_bytes(column.cast(pa.large_binary()))
        return _json_elements(type_, text_column(column), lossy=lossy)
    if scalar is Scalar.DATE:
        return _days(column, lossy=lossy)
    if scalar is Scalar.DATETIME:
        return _moments(column, lossy=lossy)
    raise Unsure


def text_column(column: pa.Array) -> pa.Array:
    """Text of any kind as strings."""
    if is_text(bare(column.type)):
        return column.cast(pa.string())
    raise Unsure


def _floats(scalar: Scalar, column: pa.Array, *, lossy: bool) -> pa.Array:
    """Exactly, unless rounding is requested; from decimals the nearest, if they are not whole and large."""
    given = column.type
    single = scalar is Scalar.F32
    if pa.types.is_floating(given):
        wide = column if pa.types.is_float64(given) else column.cast(pa.float32() if single else pa.float64())
    elif pa.types.is_integer(given):
        wide = column.cast(pa.float64(), safe=not lossy)
        if single and lossy:
            _require_no_halves(wide)
    elif pa.types.is_decimal(given):
        wide = column.cast(pa.string()).cast(pa.float64())
        if single:
            _require_no_halves(wide)
        most = (_EXACT_F32 if single else _EXACT_F64) - 1
        if not lossy and not _between(wide, -most, most):
            raise Unsure
        return _finite(wide.cast(pa.float32(), safe=False) if single else wide)
    else:
        raise Unsure
    if not single or pa.types.is_float32(wide.type):
        return _finite(wide)
    narrow = wide.cast(pa.float32(), safe=False)
    if not lossy and pc.all(pc.equal(narrow.cast(pa.float64()), wide)).as_py() is False:
        raise Unsure
    return _finite(narrow)


def _finite(column: pa.Array) -> pa.Array:
    if pc.all(pc.is_finite(column)).as_py() is False:
        raise Unsure
    return column


# ── from cells ───────────────────────────────────────────────────────────────────────────────────────────────────────────────


def from_cells(type_: PropertyType, column: pa.Array, *, lossy: bool) -> pa.Array:
    """Cells of a CSV file as they are stored."""
    scalar = type_.scalar
    if type_.is_list or type_.is_vector:
        return plain_array([convert(type_, v, Door.CELLS, lossy=lossy) for v in column.to_pylist()], arrow_type(type_))
    if scalar is Scalar.BOOL:
        if pc.all(pc.is_in(column, value_set=_BOOLEANS)).as_py() is False:
            raise Unsure
        return pc.equal(column, "true")
    if scalar.is_integer:
        _matching(column, _DIGITS)
        return column.cast(arrow_type(type_.element()))
    if scalar.is_float:
        _matching(column, _NUMBER)
        wide = column.cast(pa.float64())
        if scalar is Scalar.F64 and not lossy and is_huge(wide):
            raise Unsure
        return _json_elements(type_, wide, lossy=lossy)
    return column if scalar is Scalar.STRING else _json_elements(type_, column, lossy=lossy)


def _matching(column: pa.Array, pattern: str) -> None:
    if pc.all(pc.match_substring_regex(column, pattern)).as_py() is False:
        raise Unsure


# ── lists, vectors, times ────────────────────────────────────────────────────────────────────────────────────────────────────


def _lists(type_: PropertyType, column: pa.Array, elements: Callable[[pa.Array], pa.Array]) -> pa.Array:
    flat = column.flatten()
    if flat.null_count:
        raise Unsure
    lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy()
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    mask = column.is_null() if column.null_count else None
    return pa.ListArray.from_arrays(pa.array(offsets), elements(flat), type=arrow_type(type_), mask=mask)


def _vectors(type_: PropertyType, column: pa.Array) -> pa.Array:
    """Vectors from lists of numbers; each number the nearest F32."""
    assert type_.dimension is not None
    flat = column.flatten()
    valid = column.is_valid().to_numpy(zero_copy_only=False)
    lengths = pc.fill_null(pc.list_value_length(column), type_.dimension).to_numpy()
    if flat.null_count or (lengths != type_.dimension).any():
        raise Unsure
    numbers = _finite(flat.cast(pa.float32(), safe=False))
    if not valid.all():
        spread = np.zeros((len(column), type_.dimension), np.float32)
        spread[valid] = numbers.to_numpy().reshape(-1, type_.dimension)
        numbers = pa.array(spread.reshape(-1))
    mask = None if valid.all() else pa.array(~valid)
    return pa.FixedSizeListArray.from_arrays(numbers, type=arrow_type(type_), mask=mask)


def _days(column: pa.Array, *, lossy: bool) -> pa.Array:
    given = column.type
    if pa.types.is_timestamp(given):
        days = _quotient(_milliseconds(column, lossy=lossy), DAY_MS, lossy=lossy).cast(pa.int32())
    elif pa.types.is_date(given):
        days = column.cast(pa.date32()).cast(pa.int32())
    elif pa.types.is_integer(given):
        days = column.cast(pa.int32())
    else:
        return _dates_in_text(text_column(column), lossy=lossy).cast(pa.date32())
    return _in_range(days, DAYS).cast(pa.date32())


def _moments(column: pa.Array, *, lossy: bool) -> pa.Array:
    given = column.type
    if pa.types.is_timestamp(given):
        moments = _milliseconds(column, lossy=lossy)
    elif pa.types.is_date(given):
        moments = pc.multiply_checked(_days(column, lossy=lossy).cast(pa.int32()).cast(pa.int64()), DAY_MS)
    elif pa.types.is_integer(given):
        moments = column.cast(pa.int64())
    else:
        moments = _moments_in_text(text_column(column), lossy=lossy)
    return _in_range(moments, MILLISECONDS).cast(pa.timestamp("ms", tz="UTC"))


def _milliseconds(column: pa.Array, *, lossy: bool) -> pa.Array:
    times, by = {"s": (1000, 1), "ms": (1, 1), "us": (1, 1000), "ns": (1, 1_000_000)}[column.type.unit]
    numbers = column.cast(pa.int64())
    return pc.multiply_checked(numbers, times) if times > 1 else _quotient(numbers, by, lossy=lossy)


def _quotient(numbers: pa.Array, by: int, *, lossy: bool) -> pa.Array:
    """Whole quotients; with `lossy` towards −∞."""
    if by == 1:
        return numbers
    quotient = pc.divide(numbers, by)
    exact = pc.equal(pc.multiply(quotient, by), numbers)
    if pc.all(exact).as_py() is not False:
        return quotient
    if not lossy:
        raise Unsure
    return pc.if_else(pc.and_(pc.less(numbers, 0), pc.invert(exact)), pc.subtract(quotient, 1), quotient)


def _in_range(numbers: pa.Array, bounds: tuple[int, int]) -> pa.Array:
    if not _between(numbers, *bounds):
        raise Unsure
    return numbers


def _between(found: pa.Array, low: float, high: float) -> bool:
    bounds = pc.min_max(found).as_py()
    return bounds["min"] is None or (bounds["min"] >= low and bounds["max"] <= high)


def _dates_in_text(column: pa.Array, *, lossy: bool) -> pa.Array:
    if pc.all(pc.equal(pc.utf8_length(column), 10)).as_py() is not False:
        try:
            found = column.cast(pa.date32()).cast(pa.int32())
        except pa.ArrowInvalid:
            return _each(column, lambda text: date_days(text, lossy=lossy), pa.int32())
        if _between(found, _FIRST_DAY, _LAST_DAY):
            return found
    return _each(column, lambda text: date_days(text, lossy=lossy), pa.int32())


def _moments_in_text(column: pa.Array, *, lossy: bool) -> pa.Array:
    lengths = pc.utf8_length(column)
    usual = pc.and_(pc.or_(pc.equal(lengths, 20), pc.equal(lengths, 24)), pc.ends_with(column, "Z"))
    if pc.all(usual).as_py() is not False:
        try:
            found = column.cast(pa.timestamp("ms", tz="UTC")).cast(pa.int64())
        except pa.ArrowInvalid:
            return _each(column, lambda text: datetime_ms(text, lossy=lossy), pa.int64())
        if _between(found, _FIRST_DAY * DAY_MS, (_LAST_DAY + 1) * DAY_MS - 1):
            return found
    return _each(column, lambda text: datetime_ms(text, lossy=lossy), pa.int64())


def _each(column: pa.Array, parse: Callable[[str], int], type_: pa.DataType) -> pa.Array:
    """Each distinct text once."""
    encoded = column.dictionary_encode()
    return pa.array([parse(text) for text in encoded.dictionary.to_pylist()], type_).take(encoded.indices)


# ── one by one ───────────────────────────────────────────────────────────────────────────────────────────────────────────────


@frozen
class Unreadable:
    """A value that Python has no form of."""

    type: str

    def __str__(self) -> str:
        return f"a value of {self.type}"


def python_rows(batch: pa.RecordBatch) -> list[dict[str, object]]:
    """Rows as plain values, whatever is in them; moments and days as `Instant` and `Day`, which lose nothing."""
    columns = [python_cells(column) for column in batch.columns]
    return [dict(zip(batch.schema.names, row, strict=True)) for row in zip(*columns, strict=True)]


def python_cells(column: pa.Array) -> list[Any]:
    """A column as plain values."""
    given = column.type
    if pa.types.is_timestamp(given):
        per = _NANOSECONDS[given.unit]
        return [None if v is None else Instant(v * per) for v in column.cast(pa.int64()).to_pylist()]
    if pa.types.is_date32(given):
        return [None if v is None else Day(v) for v in column.cast(pa.int32()).to_pylist()]
    if pa.types.is_date64(given):
        return [None if v is None else Instant(v * _NANOSECONDS["ms"]) for v in column.cast(pa.int64()).to_pylist()]
    if is_list(given):
        items, at, found = python_cells(column.flatten()), 0, list[Any]()
        for length in pc.list_value_length(column).to_pylist():
            found.append(None if length is None else items[at : at + length])
            at += length or 0
        return found
    try:
        return column.to_pylist()  # type: ignore[no-any-return]
    except (ValueError, OverflowError, UnicodeDecodeError, pa.ArrowException):
        return [Unreadable(str(given)) if there else None for there in column.is_valid().to_pylist()]
