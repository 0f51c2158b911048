"""Arrow columns as rules and comparisons need them: in one chunk, concatenated, or looked up in each other."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.engine.arrays.column import Mask, to_mask
from omnigraph.model.times import date_text, datetime_text

NO_IDS = pa.array([], pa.string())


def whole(values: pa.ChunkedArray | pa.Array) -> pa.Array:
    """A column in one piece."""
    if isinstance(values, pa.Array):
        return values
    if values.num_chunks == 1:
        return values.chunk(0)
    return values.combine_chunks() if values.num_chunks else pa.array([], values.type)


def together(columns: Iterable[pa.ChunkedArray]) -> pa.ChunkedArray:
    """Texts one after the other, none of them copied."""
    return pa.chunked_array([chunk for column in columns for chunk in column.chunks], pa.string())


def plain(value: pa.Scalar) -> object:
    """A value in Python. A date that Python has none for is given as text."""
    if pa.types.is_float32(value.type) and value.is_valid:
        return float(str(np.float32(value.as_py())))
    try:
        return value.as_py()
    except (OverflowError, ValueError):
        is_date = pa.types.is_date32(value.type)
        number = value.cast(pa.int32() if is_date else pa.int64()).as_py()
        return date_text(number) if is_date else datetime_text(number)


def among(values: pa.Array, known: pa.Array) -> Mask:
    """Which values are among some others; both zeros are one value."""
    if not len(known) or not len(values):
        return np.zeros(len(values), np.bool_)
    if pa.types.is_floating(values.type):  # Arrow tells them apart here, as it does nowhere else
        values, known = (pc.add(some, pa.scalar(0.0, some.type)) for some in (values, known))
    return to_mask(pc.is_in(values, value_set=known))
