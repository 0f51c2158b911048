"""Groups: equal combinations of values as equal small numbers, in the order they are first seen."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from omnigraph.engine.arrays.column import Array, Vec, one_zero
from omnigraph.engine.arrays.numbering import Numbers
from omnigraph.model.frozen import frozen

_DENSE = 4

_SAMPLE = 1 << 15
"""Rows in which every group shows itself, if there are few of them."""


@frozen
class Codes:
    """A small number per row, equal for equal values."""

    codes: Array
    count: int
    """More than the largest code."""


@frozen
class Groups:
    """Which group each row is in, and the first row of each group."""

    group: Array
    first: Numbers

    @property
    def count(self) -> int:
        return len(self.first)


def codes_of(vec: Vec) -> Codes:
    """Codes of values; null is a value of its own, and both zeros of floats are one."""
    if vec.plain is not None and vec.plain.dtype.kind in "iu" and len(vec.plain):
        low, high = int(vec.plain.min()), int(vec.plain.max())
        if high - low < _DENSE * len(vec.plain) + 1024:
            codes = (vec.plain - vec.plain.dtype.type(low)).astype(np.int64)
            if vec.valid is None:
                return Codes(codes, high - low + 1)
            return Codes(np.where(vec.valid, codes, high - low + 1), high - low + 2)
    array = one_zero(vec).to_arrow()
    if pa.types.is_nested(array.type):
        seen: dict[object, int] = {}
        keys = [None if item is None else tuple(item) for item in array.to_pylist()]
        return Codes(np.fromiter((seen.setdefault(k, len(seen)) for k in keys), np.int64, len(keys)), max(1, len(seen)))
    encoded = array.dictionary_encode(null_encoding="encode")
    return Codes(encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64), max(1, len(encoded.dictionary)))


def combined(parts: Sequence[Codes]) -> Codes:
    """One code per combination."""
    found = parts[0]
    for part in parts[1:]:
        if found.count * part.count > 1 << 62:
            values, dense = np.unique(found.codes, return_inverse=True)
            found = Codes(dense, len(values))
        found = Codes(found.codes * part.count + part.codes, found.count * part.count)
    return found


def _first_rows(codes: Array, count: int) -> Numbers:
    """The first row of each code; -1 where there is none."""
    first = np.full(count, -1)
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    return first


def groups_of(found: Codes) -> Groups:
    """Groups in the order of their first row."""
    rows = len(found.codes)
    if rows == 0:
        return Groups(found.codes, np.empty(0, np.int64))
    if found.count <= _DENSE * rows + 1024:
        first = _first_rows(found.codes[:_SAMPLE], found.count)
        if rows > _SAMPLE and (first < 0).any():
            first = _first_rows(found.codes, found.count)
        present = np.flatnonzero(first >= 0)
        order = present[np.argsort(first[present], kind="stable")]
        number = np.empty(found.count, np.int64)
        number[order] = np.arange(len(order))
        return Groups(number[found.codes], first[order])
    _, first, inverse = np.unique(found.codes, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order))
    return Groups(number[inverse], first[order])
