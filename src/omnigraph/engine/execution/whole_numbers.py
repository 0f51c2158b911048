"""Integers without wrapping: what 64 bits do not hold is `Beyond`.

Most columns add and multiply as 64-bit integers, with a look at the signs afterwards. Where a U64 beyond 2^63 takes part, numbers
are taken apart into sign and magnitude.
"""

from __future__ import annotations

import numpy as np

from omnigraph.catalog.logical import Operation as Op
from omnigraph.engine.arrays.column import Array, Mask
from omnigraph.model.limits import MAX_I64

_MIN = np.int64(-(1 << 63))


class Beyond(Exception):
    """A value is beyond its type; the message is how it is said."""


def whole(operation: Op, left: Array, right: Array, valid: Mask | None, *, unsigned: bool) -> Array:
    """`+`, `-`, `*` or `%` of integers, as I64 or U64. What lies under a null is not looked at."""
    a, b = _signed(left), _signed(right)
    if a is not None and b is not None:
        found, bad = _short(operation, a, b, narrow=left.dtype.itemsize <= 4 and right.dtype.itemsize <= 4)
        if unsigned and len(found) and found.min() < 0:
            bad = found < 0 if bad is None else bad | (found < 0)
        if bad is None or not _any(bad, valid):
            return found.astype(np.uint64) if unsigned else found
        if not unsigned:
            raise Beyond("beyond")
    return _long(operation, left, right, valid, unsigned=unsigned)


def _signed(values: Array) -> Array | None:
    """As I64; None if there are some that it does not hold."""
    if values.dtype == np.uint64:
        if len(values) and int(values.max()) > MAX_I64:
            return None
        return values.astype(np.int64)
    return values.astype(np.int64, copy=False)


def _short(operation: Op, a: Array, b: Array, *, narrow: bool) -> tuple[Array, Mask | None]:
    """The result, and where it wrapped. `narrow`: both are of 32 bits."""
    with np.errstate(over="ignore"):
        match operation:
            case Op.ADD:
                found = a + b
                return found, None if narrow else ((a ^ found) & (b ^ found)) < 0
            case Op.SUBTRACT:
                found = a - b
                return found, None if narrow else ((a ^ b) & (a ^ found)) < 0
            case Op.MULTIPLY:
                found = a * b
                if len(a) == 0 or len(b) == 0 or _largest(a) * _largest(b) <= MAX_I64:
                    return found, None
                back = np.where(b == 0, 1, np.where(b == -1, 1, b))
                wrapped = (b != 0) & np.where(b == -1, a == _MIN, found // back != a)
                return found, wrapped
            case _:
                return np.fmod(a, np.where(b == -1, 1, b)), None  # the rest of the smallest one would trap


def _long(operation: Op, left: Array, right: Array, valid: Mask | None, *, unsigned: bool) -> Array:
    (below_a, a), (below_b, b) = _parts(left), _parts(right)
    if operation is Op.SUBTRACT:
        operation, below_b = Op.ADD, ~below_b
    with np.errstate(over="ignore"):
        match operation:
            case Op.ADD:
                same = below_a == below_b
                total = a + b
                wrapped = same & (total < a)
                larger = a >= b
                found = np.where(same, total, np.where(larger, a - b, b - a))
                below = np.where(same | larger, below_a, below_b)
            case Op.MULTIPLY:
                found = a * b
                wrapped = (b != 0) & (found // np.where(b == 0, np.uint64(1), b) != a)
                below = below_a ^ below_b
            case _:
                found = a % b
                wrapped = np.zeros(found.shape, np.bool_)
                below = np.broadcast_to(below_a, found.shape)
    below = below & (found != 0)
    if unsigned:
        if _any(wrapped | below, valid):
            raise Beyond("beyond")
        return found
    top = np.where(below, np.uint64(1 << 63), np.uint64(MAX_I64))
    if _any(wrapped | (found > top), valid):
        raise Beyond("beyond")
    positive: Array = found.view(np.int64)
    return np.where(below, -positive, positive)


def _parts(values: Array) -> tuple[Mask, Array]:
    """Which are below zero, and how far all are from it."""
    if values.dtype.kind == "u":
        return np.zeros(len(values), np.bool_), values.astype(np.uint64)
    wide = values.astype(np.int64)
    below = wide < 0
    with np.errstate(over="ignore"):
        return below, np.where(below, -wide, wide).view(np.uint64)


def _largest(values: Array) -> int:
    return max(-int(values.min()), int(values.max()))


def _any(bad: Mask, valid: Mask | None) -> bool:
    return bool((bad if valid is None else bad & valid).any())
