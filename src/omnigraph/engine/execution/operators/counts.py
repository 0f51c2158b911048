"""Counts of rows, added and multiplied without ever wrapping.

A weight is a number of walks, and numbers of walks grow fast: twenty-two hops on a graph of degree eight are beyond 64 bits.
Counts are 64-bit integers from 0 on; `MOST` stands for itself and for everything beyond. Sums and products that would go beyond
it are `MOST`, whatever else is added, so a node that nobody asks about may have more walks than fit. Whoever gives a count to the
user calls `countable`, which refuses that one.

Whether anything could wrap is seen from the largest count, before; where it could, sums are made of halves of 32 bits.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from omnigraph.engine.arrays.column import Array
from omnigraph.errors import QueryError

MOST = (1 << 63) - 1
"""This many, or more than can be counted."""

_HALF = 32
_LOW = (1 << _HALF) - 1
_FLOAT_EXACT = 1 << 53


def times(left: Array, right: Array) -> Array:
    """Products of counts, row by row."""
    if not len(left) or int(left.max()) * int(right.max()) < MOST:
        return left * right
    about = left.astype(np.float64) * right
    wrapped = left.astype(np.uint64) * right.astype(np.uint64)  # right as long as it is below 2⁶⁴
    return np.where(about < 1.5 * 2.0**63, np.minimum(wrapped, np.uint64(MOST)), np.uint64(MOST)).astype(np.int64)


def added(counts: Array, add: Callable[[Array], Array], terms: int, largest: int | None = None) -> Array:
    """The sums that `add` makes of counts, each of so many of them at most; `largest`: no count is larger."""
    if not len(counts) or (int(counts.max()) if largest is None else largest) * terms < MOST:
        return add(counts)
    low, high = add(counts & _LOW), add(counts >> _HALF)
    high = high + (low >> _HALF)
    return np.where(high >> (_HALF - 1) > 0, MOST, (high << _HALF) | (low & _LOW))


def by_group(group: Array, counts: Array | None, groups: int) -> Array:
    """Per group the sum of counts; of None: how many rows it has."""
    if counts is None:
        return np.bincount(group, minlength=groups)
    if not len(counts):
        return np.zeros(groups, np.int64)
    if groups > 1 and int(counts.max()) * len(counts) < _FLOAT_EXACT:
        return np.bincount(group, weights=counts, minlength=groups).astype(np.int64)

    def add(some: Array) -> Array:
        if groups == 1:
            return np.array([some.sum()])
        found = np.zeros(groups, np.int64)
        np.add.at(found, group, some)
        return found

    return added(counts, add, len(counts))


def by_run(counts: Array, starts: Array) -> Array:
    """The sums of consecutive counts: of those from each start up to the next."""
    if not len(starts):
        return counts[:0]
    longest = int(np.diff(starts, append=len(counts)).max())
    return added(counts, lambda some: np.add.reduceat(some, starts), longest)


def in_turn(counts: Array, lengths: Array, largest: int | None = None) -> Array:
    """The sums of the first so many counts, of the next so many, and so on; some may be of none."""
    if not len(lengths):
        return lengths

    def add(some: Array) -> Array:
        running = np.zeros(len(some) + 1, np.int64)
        np.cumsum(some, out=running[1:])  # differences are right even where the running total wraps
        ends = np.cumsum(lengths)
        found: Array = running[ends] - running[ends - lengths]
        return found

    return added(counts, add, int(lengths.max()), largest)


def total(counts: Array) -> int:
    """The sum of all."""
    if not len(counts):
        return 0
    if int(counts.max()) * len(counts) < MOST:
        return int(counts.sum())
    return sum(counts.tolist())


def countable(counts: Array) -> Array:
    """Counts as a result has them."""
    if len(counts) and int(counts.max()) == MOST:
        raise QueryError(
            "a count is beyond 64 bits: there are more walks than I64 can count",
            hint="Count fewer hops, add a condition or a group, or count(distinct …) the nodes they lead to.",
        )
    return counts.astype(np.int64, copy=False)
