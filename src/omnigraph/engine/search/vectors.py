"""Nearest neighbours: squared Euclidean distance, exact, the nearer first, equal distances by id.

Vectors of a property are one matrix in memory. The distance to all of them is a matrix product in 32-bit floats, which is quick
and a little wrong; how wrong it can be is known (`_error`). So it only serves to leave out vectors that are certainly too far
away, and the few that remain are measured again, in 64-bit floats, difference by difference:

    |x - q|² = |x|² - 2·x·q + |q|²            100 000 × 64 in about 4 ms; ten and some remain to be measured

The result is the one that measuring every vector gives. Where vectors are many, only their quantized form is in memory, which
leaves out vectors in the same way (`near_quantized`), and the rest is read from the table to be measured. Columns that do not fit
into memory in any form are measured as they are read, unless an index of the table can be asked instead (`execution.neighbours`
decides).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Final

import numpy as np
import pyarrow as pa

from omnigraph.engine.arrays.column import Array, Mask
from omnigraph.engine.arrays.numbering import Numbers
from omnigraph.engine.arrays.quantized import Matrix, Quantized, matrix
from omnigraph.engine.search.places import ordered

_EPS: Final = 2.0**-24
_CHUNK: Final = 1 << 20
"""Numbers measured exactly at a time."""

_LARGEST: Final = 1e18
"""Lengths from here on overflow when they are squared in 32 bits."""

_GATHER_SHARE: Final = 4
"""With fewer candidates than one in so many, their vectors are gathered instead of measuring all."""


def exact(vectors: Matrix, query: Array) -> Array:
    """Squared distances: to one vector, or row by row to as many as there are."""
    found = np.empty(len(vectors))
    step = max(1, _CHUNK // max(1, vectors.shape[1]))
    for start in range(0, len(vectors), step):
        part = slice(start, start + step)
        difference = vectors[part].astype(np.float64) - (query if query.ndim == 1 else query[part])
        found[part] = (difference * difference).sum(axis=1)
    return found


class Vectors:
    """A vector property at a pin."""

    def __init__(self, column: pa.FixedSizeListArray) -> None:
        self.matrix = matrix(column)
        self.there: Mask | None = column.is_valid().to_numpy(zero_copy_only=False) if column.null_count else None
        """Rows that have a vector; None: all."""

    @cached_property
    def _norms(self) -> tuple[Array, float]:
        """Squared lengths, and the largest of them."""
        with np.errstate(over="ignore", invalid="ignore"):
            norms = np.einsum("ij,ij->i", self.matrix, self.matrix)
        if self.there is not None:
            norms[~self.there] = np.inf
        finite = norms if self.there is None else norms[self.there]
        return norms, float(finite.max(initial=0.0))

    def near(self, query: Array, best: int, among: Numbers | None) -> tuple[Numbers, Array]:
        """Rows that may be among the best, all that are equal to the last one included, and their exact distances."""
        query = query.astype(np.float32)
        if among is not None and self.there is not None:
            among = among[self.there[among]]
        present = len(among) if among is not None else len(self.matrix) if self.there is None else int(self.there.sum())
        rows = self._short_list(query, best, among) if 0 < best < present else among
        if rows is None:
            rows = np.arange(len(self.matrix)) if self.there is None else np.flatnonzero(self.there)
        if best == 0:
            rows = rows[:0]
        distances = exact(self.matrix[rows], query.astype(np.float64))
        known = ~np.isnan(distances)
        return (rows, distances) if known.all() else (rows[known], distances[known])

    def _short_list(self, query: Array, best: int, among: Numbers | None) -> Numbers | None:
        """Rows that cannot be left out; None where the rough distance is no help."""
        norms, largest = self._norms
        wide = query.astype(np.float64)
        own = float(np.dot(wide, wide))
        if not math.sqrt(largest) + math.sqrt(own) < _LARGEST:
            return among
        with np.errstate(over="ignore", invalid="ignore"):
            if among is None:
                rough = norms - 2 * (self.matrix @ query)
            elif len(among) * _GATHER_SHARE < len(self.matrix):
                rough = norms[among] - 2 * (self.matrix[among] @ query)
            else:
                rough = (norms - 2 * (self.matrix @ query))[among]
            last = np.partition(rough, best - 1)[best - 1]
            error = _error(self.matrix.shape[1], largest, own)
            near = np.flatnonzero(rough <= last + 2 * error)
        return near if among is None else among[near]


def _error(width: int, largest: float, own: float) -> float:
    """How far off a rough distance may be: each of `width` products and sums rounds to 24 bits."""
    return (width + 8) * _EPS * (math.sqrt(largest) + math.sqrt(own)) ** 2 * 1.01 + 1e-37


def near_quantized(vectors: Quantized, query: Array, best: int, among: Numbers | None) -> Numbers:
    """Rows that may be among the best, all that are equal to the last one included."""
    wide = query.astype(np.float32).astype(np.float64)
    if best == 0:
        return np.empty(0, np.int64)
    if among is None:
        return vectors.short_list(wide, best)
    if len(among) * _GATHER_SHARE < len(vectors):
        return among[vectors.rows(among).short_list(wide, best)]
    return among[vectors.short_list(wide, best, among)]


def passing(
    batches: Iterator[tuple[Numbers, Matrix]], query: Array, best: int, ids: Callable[[Numbers], pa.StringArray]
) -> tuple[Numbers, Array]:
    """The best of vectors that come in batches and are not kept."""
    query64 = query.astype(np.float32).astype(np.float64)
    numbers, distances = np.empty(0, np.int64), np.empty(0)
    for some, vectors in batches:
        numbers = np.concatenate([numbers, some])
        distances = np.concatenate([distances, exact(vectors, query64)])
        if len(numbers) > best:
            chosen = nearest_first(distances, lambda rows: ids(numbers[rows]), best)  # noqa: B023
            numbers, distances = numbers[chosen], distances[chosen]
    return numbers, distances


def nearest_first(distances: Array, ids: Callable[[Numbers], pa.StringArray], best: int | None) -> Numbers:
    """The order of the smallest distances; equal ones by id."""
    return ordered(distances, ids, best, last_id_first=False)
