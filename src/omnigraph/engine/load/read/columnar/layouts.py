"""Columns in a single layout for the steps that follow: Arrow has many layouts for the same values.

    dictionary, run-end encoded     each value as often as it is there
    views of text, bytes, lists     the large layout of the same
    extensions of Arrow's own       JSON as text, UUIDs as bytes, bool8 as booleans, tensors of one dimension as lists

What is within lists is brought into shape likewise. Extensions of somebody else stay what they are: only he knows what their
values mean. Columns in a usual layout are not touched.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.engine.load.read.conversion.kinds import is_list


def usual(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The same rows, every column in a usual layout."""
    if not any(_is_unusual(field.type) for field in batch.schema):
        return batch
    columns = [_usual(column) for column in batch.columns]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _is_unusual(type_: pa.DataType) -> bool:
    """Whether a column of a type has to be changed, or something within it."""
    if is_list(type_):
        return bool(pa.types.is_list_view(type_) or pa.types.is_large_list_view(type_)) or _is_unusual(type_.value_type)
    kinds = ("is_dictionary", "is_run_end_encoded", "is_string_view", "is_binary_view")
    return any(getattr(pa.types, name)(type_) for name in kinds) or _is_own(type_)


def _is_own(type_: pa.DataType) -> bool:
    """Whether it is an extension whose values are known to be those that are stored for it."""
    if isinstance(type_, pa.FixedShapeTensorType):
        return len(type_.shape) == 1
    return isinstance(type_, pa.JsonType | pa.UuidType | pa.Bool8Type)


def _usual(column: pa.Array) -> pa.Array:
    type_ = column.type
    if not _is_unusual(type_):
        return column
    if pa.types.is_dictionary(type_):
        return _usual(column.dictionary).take(column.indices)
    if pa.types.is_run_end_encoded(type_):
        places = np.arange(column.offset, column.offset + len(column))
        ends = column.run_ends.to_numpy(zero_copy_only=False)
        return _usual(column.values).take(pa.array(np.searchsorted(ends, places, side="right")))
    if pa.types.is_string_view(type_):
        return column.cast(pa.large_string())
    if pa.types.is_binary_view(type_):
        return column.cast(pa.large_binary())
    if is_list(type_):
        lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False)
        offsets = pa.array(np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]))
        return pa.LargeListArray.from_arrays(offsets, _usual(column.flatten()), mask=column.is_null())
    if isinstance(type_, pa.Bool8Type):
        return pc.not_equal(column.storage, 0)
    return _usual(column.storage)
