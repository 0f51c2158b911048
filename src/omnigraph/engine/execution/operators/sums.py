"""Sums by group: of integers without rounding, of floats without overflow on the way.

A sum on the way is kept as two numbers, `high` · 2³² + `low`, so that what adds up beyond 64 bits and comes back is right, and
what stays beyond is an error. I64 and U64 sum up to their own type. I32 and U32 sum up to F64, which holds such sums exactly;
one that it could not hold is an error as well.

A sum of floats is kept beside itself times 2⁻⁶⁴, which does not overflow: a sum that left the range of F64 on the way and came
back is right, and so is the mean of values whose sum is beyond it.
"""

from __future__ import annotations

import numpy as np

from omnigraph.catalog import logical as lg
from omnigraph.engine.arrays.column import Array
from omnigraph.engine.execution.operators import counts
from omnigraph.errors import QueryError
from omnigraph.model.types import Scalar

_HALF = 32
_LOW = (1 << _HALF) - 1
_FLOAT_EXACT = 1 << 53
_SCALE = 2.0**64


def sums_of(group: Array, values: Array, count: int) -> Array:
    """Per group the sum of integers. One that does not fit is an error."""
    bound = _largest(values) * len(values) if len(values) else 0
    if bound < _FLOAT_EXACT and count > 1:
        return np.bincount(group, weights=values, minlength=count).astype(np.int64)
    if bound >> 63 and float(np.abs(values.astype(np.float64)).sum()) >= 2.0**62:
        exact = [0] * count
        for place, value in zip(group.tolist(), values.tolist(), strict=True):
            exact[place] += value
        if any(not -(1 << 63) <= one < 1 << 63 for one in exact):
            raise _beyond("a sum", "I64")
        return np.array(exact)
    if count == 1:
        return np.array([int(values.sum())])
    total = np.zeros(count, np.int64)
    np.add.at(total, group, values)
    return total


def exact_sums(values: Array, group: Array, weight: Array | None, count: int) -> tuple[Array, Array]:
    """Per group the sum of integers, each counted as often as its weight says: `high` and `low`."""
    if not len(values):
        return np.zeros(count, np.int64), np.zeros(count, np.int64)
    wide = values.astype(np.uint64 if values.dtype.kind == "u" else np.int64, copy=False)
    rows = len(wide) if weight is None else counts.total(weight)
    if _largest(wide) * rows < 1 << 63:
        every = sums_of(group, _weighted(wide.astype(np.int64, copy=False), weight), count)
        return every >> _HALF, every & _LOW
    if rows < 1 << (63 - _HALF):
        halves = (wide >> wide.dtype.type(_HALF)).astype(np.int64), (wide & wide.dtype.type(_LOW)).astype(np.int64)
        high, low = (sums_of(group, _weighted(half, weight), count) for half in halves)
        return high + (low >> _HALF), low & _LOW
    exact = [0] * count
    weights = [1] * len(wide) if weight is None else weight.tolist()
    for place, value, times in zip(group.tolist(), wide.tolist(), weights, strict=True):
        if value and times == counts.MOST:
            raise _beyond("a sum", "I64")
        exact[place] += value * times
    if any(abs(total) >> (63 + _HALF) for total in exact):
        raise _beyond("a sum", "I64")
    return np.array([total >> _HALF for total in exact]), np.array([total & _LOW for total in exact])


def float_sums(values: Array, group: Array, weight: Array | None, count: int) -> tuple[Array, Array]:
    """Per group the sum of floats, each counted as often as its weight says: as it is, and times 2⁻⁶⁴."""
    values = values.astype(np.float64, copy=False)
    if not len(values):
        return np.zeros(count), np.zeros(count)
    if weight is not None and len(weight) and int(weight.max()) == counts.MOST and values[weight == counts.MOST].any():
        raise _beyond("a count of values to sum up", "64 bits")
    with np.errstate(over="ignore", invalid="ignore"):
        found = np.bincount(group, weights=values if weight is None else values * weight, minlength=count)
        if np.isfinite(found).all():
            return found, found / _SCALE
        values = values / _SCALE
        return found, np.bincount(group, weights=values if weight is None else values * weight, minlength=count)


def scaled_back(sums: Array, scaled: Array) -> Array:
    """Sums of floats: where they left the range of F64 on the way, what they come to in the end. Beyond it is an error."""
    finite = np.isfinite(sums)
    if finite.all():
        return sums
    with np.errstate(over="ignore"):
        found = np.where(finite, sums, scaled * _SCALE)
    if (np.isfinite(scaled) & ~np.isfinite(found)).any():  # of values that are infinite themselves, the sum is, too
        raise _beyond("a sum", "F64")
    return found


def means(first: Array, second: Array, rows: Array) -> Array:
    """Averages from the two parts of sums, of integers or of floats."""
    rows = np.maximum(rows, 1)
    if first.dtype.kind != "f":
        return (first * 2.0**_HALF + second) / rows
    finite = np.isfinite(first)
    return first / rows if finite.all() else np.where(finite, first / rows, second / rows * _SCALE)


def whole_sums(wanted: lg.Aggregated, high: Array, low: Array) -> Array:
    """Sums in the type of an aggregate. One that it does not hold is an error."""
    high, low = high + (low >> _HALF), low & _LOW
    scalar = wanted.type.scalar
    bounds = (0, 1 << _HALF) if scalar is Scalar.U64 else (-(1 << (_HALF - 1)), 1 << (_HALF - 1))
    if ((high < bounds[0]) | (high >= bounds[1])).any():
        raise _beyond("a sum", scalar.value)
    if scalar is Scalar.U64:
        unsigned: Array = (high.astype(np.uint64) << np.uint64(_HALF)) | low.astype(np.uint64)
        return unsigned
    total: Array = (high << _HALF) | low
    if scalar is Scalar.I64:
        return total
    rounded = total.astype(np.float64)
    odd = np.abs(rounded) >= float(_FLOAT_EXACT)
    if odd.any() and any(int(held) != exact for held, exact in zip(rounded[odd].tolist(), total[odd].tolist(), strict=True)):
        raise _beyond("a sum of I32 or U32", "the integers that F64 holds exactly")
    return rounded


def _weighted(values: Array, weight: Array | None) -> Array:
    return values if weight is None else values * weight


def _largest(values: Array) -> int:
    return max(-int(values.min()), int(values.max()))


def _beyond(what: str, limit: str) -> QueryError:
    return QueryError(f"{what} is beyond {limit}", hint="Sum less at a time: add a group or a condition.")
