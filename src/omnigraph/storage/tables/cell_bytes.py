"""How many bytes the cells of a column have in memory."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.storage.lance_format.deletions import Positions


def is_fixed(type_: pa.DataType) -> bool:
    """Whether every cell has the same few bytes."""
    return bool(pa.types.is_primitive(type_))


def cell_bytes(column: pa.Array) -> Positions:
    """The bytes of each cell; of a blob, which is there as a description, those that it describes."""
    type_ = column.type
    if pa.types.is_struct(type_):
        return _numbers(pc.struct_field(column, "size"))
    if pa.types.is_fixed_size_list(type_):
        return np.full(len(column), type_.list_size * type_.value_type.bit_width // 8, np.int64)
    if pa.types.is_list(type_):
        lengths = _numbers(pc.list_value_length(column))
        if is_fixed(type_.value_type):
            return lengths * 8
        ends = np.cumsum(lengths)
        total = np.concatenate([[0], np.cumsum(cell_bytes(column.flatten()) + 8)])
        found: Positions = total[ends] - total[ends - lengths]
        return found
    return np.full(len(column), 8, np.int64) if is_fixed(type_) else _numbers(pc.binary_length(column))


def _numbers(column: pa.Array) -> Positions:
    return pc.fill_null(column, 0).to_numpy(zero_copy_only=False).astype(np.int64)  # type: ignore[no-any-return]
