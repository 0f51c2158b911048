"""Vectors in eight bits per number, and how far that may be from the vectors themselves.

    x  ≈  scale · code                   `code`: whole numbers from -127 to 127; `scale`: the largest of x, by 127
    |x - scale · code|  ≤  slack         measured when x was there

A query is taken apart in the same way, twice, so that hardly anything is left of it: q ≈ t₁ · high + t₂ · low. Products of whole
numbers have no error, and with them the distance is known to lie between two bounds (Cauchy-Schwarz):

    |x - q|²  =  |x|² - 2 · scale · code·q  + |q|²     up to  2 · (slack · |q|  +  |scale · code| · |q - (t₁ · high + t₂ · low)|)

So whoever leaves out the vectors whose lower bound is beyond the upper bound of enough others leaves out none of the nearest. A
quarter of the bytes is read for that, and products of bytes (SimSIMD) take a fraction of the time of those of floats.

Vectors with numbers that squares of 32 bits do not hold have no bounds: nobody leaves them out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import numpy as np
import pyarrow as pa

from omnigraph.engine.arrays.column import Array, Mask
from omnigraph.engine.arrays.numbering import Numbers
from omnigraph.model.frozen import frozen

Matrix = np.ndarray[tuple[int, int], np.dtype[Any]]

WIDEST: Final = 1 << 16
"""Most numbers of a vector: SimSIMD adds up products in 32 bits."""

NO_VECTOR: Final = 1e300
"""Longer than any vector."""

_LEVELS: Final = 127
_EPS: Final = 2.0**-24
_BLOCK: Final = 1 << 21
"""Bytes that are quantized at a time: they stay in the cache of the processor."""

_SIDE_BY_SIDE: Final = 16 << 20
"""From so many bytes on, two halves are multiplied at once."""

_SMALLEST, _LARGEST = 1e-15, 1e18
"""Largest numbers of vectors between which 32 bits hold all squares well enough."""


@frozen(eq=False)
class Quantized:
    """Vectors of a property, in row order."""

    codes: Matrix
    scale: Array
    norm: Array
    """Squared lengths; `NO_VECTOR` where there is no vector."""
    slack: Array
    """How far off a vector may be; infinite where that is not known."""

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def width(self) -> int:
        return int(self.codes.shape[1])

    @property
    def nbytes(self) -> int:
        return int(self.codes.nbytes + self.scale.nbytes + self.norm.nbytes + self.slack.nbytes)

    def rows(self, chosen: slice | Numbers) -> Quantized:
        """Some of the vectors."""
        return Quantized(self.codes[chosen], self.scale[chosen], self.norm[chosen], self.slack[chosen])

    def bounds(self, query: Array, parts: int = 2) -> tuple[Array, Array]:
        """Between which numbers the squared distance of each vector lies, less the squared length of the query."""
        factors, codes, rest = _taken_apart(query, parts)
        length = math.sqrt(float(np.dot(query, query)))
        middle = _products(self.codes, codes) @ factors
        middle *= self.scale
        middle *= -2
        middle += self.norm
        error = np.sqrt(self.norm)
        error *= 2 * rest
        error += self.slack * max(2 * (length + rest), 1e-300)  # an infinite slack stays infinite
        error += (self.norm + length * length) * ((self.width + 8) * 2.02 * _EPS) + 1e-37
        return middle - error, middle + error

    def short_list(self, query: Array, best: int, among: Numbers | None = None) -> Numbers:
        """Vectors that cannot be left out if the best so many are wanted, of all or among some: by their places there.

        First by half of what is known of the query, then those that are left by all of it.
        """
        below, above = self.bounds(query, 1)
        there = self.norm < NO_VECTOR
        if among is not None:
            below, above, there = below[among], above[among], there[among]
        left = _left(below, above, there, best)
        if len(left) <= best:
            return left
        again = self.rows(left if among is None else among[left])
        return left[_left(*again.bounds(query), np.ones(len(left), np.bool_), best)]


def _left(below: Array, above: Array, there: Mask, best: int) -> Numbers:
    if best < int(there.sum()):
        there = there & (below <= np.partition(above, best - 1)[best - 1])
    return np.flatnonzero(there)


def matrix(vectors: pa.FixedSizeListArray) -> Matrix:
    """Vectors as the rows of a matrix; whatever stands there where a vector is missing."""
    width = vectors.type.list_size
    values = vectors.values.slice(vectors.offset * width, len(vectors) * width)
    found: Matrix = values.to_numpy(zero_copy_only=False).reshape(len(vectors), width)
    return found


def quantized_bytes(rows: int, width: int) -> int:
    """What so many vectors take."""
    return rows * (width + 3 * 8)


def quantize(vectors: Matrix, there: Mask | None) -> Quantized:
    """Vectors of 32-bit floats in eight bits. `there`: rows that have one; None: all."""
    count, width = vectors.shape
    found = Quantized(np.zeros((count, width), np.int8), np.zeros(count), np.zeros(count), np.zeros(count))
    step = max(1, _BLOCK // (4 * max(1, width)))
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        for start in range(0, count, step):
            part = slice(start, start + step)
            _quantize(vectors[part], found.rows(part))
    if there is not None:
        found.codes[~there], found.scale[~there], found.norm[~there], found.slack[~there] = 0, 0, NO_VECTOR, 0
    return found


def _quantize(vectors: Matrix, into: Quantized) -> None:
    """A block. `into` is a view of what is made."""
    width = vectors.shape[1]
    largest = np.maximum(vectors.max(axis=1, initial=0), -vectors.min(axis=1, initial=0))
    scale = largest / np.float32(_LEVELS)
    codes = vectors * np.where(scale > 0, 1 / scale, np.float32(0))[:, None]
    known = (largest < _LARGEST) & ((largest > _SMALLEST) | (largest == 0))
    codes[~known] = 0
    np.rint(codes, out=codes)
    into.codes[:] = codes
    codes *= scale[:, None]
    codes -= vectors
    into.scale[:] = scale
    into.norm[:] = np.einsum("ij,ij->i", vectors, vectors)
    squared = np.einsum("ij,ij->i", codes, codes).astype(np.float64)
    into.slack[:] = np.sqrt(squared * (1 + 2 * width * _EPS)) + largest * (4 * _EPS * math.sqrt(width))
    into.scale[~known], into.norm[~known], into.slack[~known] = 0, 0, np.inf


def joined(parts: Sequence[Quantized], width: int) -> Quantized:
    """Several after another."""
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return Quantized(np.empty((0, width), np.int8), np.empty(0), np.empty(0), np.empty(0))
    return Quantized(
        np.concatenate([part.codes for part in parts]),
        np.concatenate([part.scale for part in parts]),
        np.concatenate([part.norm for part in parts]),
        np.concatenate([part.slack for part in parts]),
    )


def _taken_apart(query: Array, parts: int) -> tuple[Array, Matrix, float]:
    """A query as vectors of small whole numbers with a factor each, and the length of what is left."""
    factors, codes = np.zeros(parts), np.zeros((parts, len(query)), np.int8)
    left = query
    for part in range(parts):
        factor = float(np.abs(left).max(initial=0)) / _LEVELS
        if factor:
            numbers = np.rint(left / factor)
            factors[part], codes[part], left = factor, numbers, left - factor * numbers
    return factors, codes, math.sqrt(float(np.dot(left, left))) * (1 + 1e-9)


def _products(codes: Matrix, queries: Matrix) -> Matrix:
    """The product of each row with each query, exactly."""
    if not len(codes):  # which simsimd refuses
        return np.zeros((0, len(queries)), np.float64)
    from simsimd import cdist  # nobody else needs it

    found: Matrix = np.empty((len(codes), len(queries)))

    def multiply(part: slice) -> None:
        found[part] = np.asarray(cdist(codes[part], queries, "dot"))

    if codes.nbytes < _SIDE_BY_SIDE:
        multiply(slice(None))
        return found
    half = len(codes) // 2
    with ThreadPoolExecutor(2, thread_name_prefix="omnigraph-vectors") as pool:
        list(pool.map(multiply, (slice(None, half), slice(half, None))))
    return found
