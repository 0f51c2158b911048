"""Whether two columns have equal values, row by row, as their types define equality.

Null is equal to null and to nothing else. Numbers compare by value, text and bytes exactly, lists element by element in order.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.engine.arrays.column import Mask, to_mask


def same(left: pa.Array, right: pa.Array) -> Mask:
    """Which rows are equal. Both columns have one type and one length."""
    there, there_too = to_mask(left.is_valid()), to_mask(right.is_valid())
    equal: Mask = there == there_too
    both = there & there_too
    if not both.any():
        return equal
    if pa.types.is_list(left.type) or pa.types.is_fixed_size_list(left.type):
        rows = np.flatnonzero(both)
        equal[rows] = _same_lists(left.take(pa.array(rows)), right.take(pa.array(rows)))
        return equal
    values = to_mask(pc.equal(left, right))
    if pa.types.is_floating(left.type):
        values |= to_mask(pc.is_nan(left)) & to_mask(pc.is_nan(right))
    return equal & (values | ~both)


def _same_lists(left: pa.Array, right: pa.Array) -> Mask:
    """The same for lists that are all there."""
    equal: Mask = pc.list_value_length(left).to_numpy(zero_copy_only=False) == pc.list_value_length(right).to_numpy(
        zero_copy_only=False
    )
    rows = np.flatnonzero(equal)
    if not len(rows):
        return equal
    chosen = pa.array(rows)
    left, right = left.take(chosen), right.take(chosen)
    owners = pc.list_parent_indices(left).to_numpy()
    elements = same(pc.list_flatten(left), pc.list_flatten(right))
    equal[rows[owners[~elements]]] = False
    return equal


def differing(before: pa.Table, after: pa.Table) -> dict[str, Mask]:
    """Per column, which rows are unequal. Rows stand side by side."""
    return {name: ~same(_whole(before[name]), _whole(after[name])) for name in after.column_names}


def _whole(values: pa.ChunkedArray) -> pa.Array:
    if values.num_chunks == 1:
        return values.chunk(0)
    return values.combine_chunks() if values.num_chunks else pa.array([], values.type)
