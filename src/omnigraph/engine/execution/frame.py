"""Frames: rows of bindings while a query runs.

A frame has a column of integers per variable: the number of a node, or the row of an edge; -1 where an optional match found
nothing. A variable that ranges over several node types (an interface) has the place of its type among them in the upper bits.

    $p: Person  $p knows $f         p  0  0  3          three rows: Ada knows Bob, Ada knows Cy, Dan knows Ada
                                    f  1  2  0

A frame may carry a *weight* per row: how many equal rows it stands for. Queries that only count never see the rows themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from omnigraph.engine.arrays.column import Array, Mask
from omnigraph.engine.arrays.numbering import Numbers

TYPE_SHIFT = 40
"""Where the type of a node stands in the number of a variable with several types."""

TYPE_LOW = (1 << TYPE_SHIFT) - 1

ROW = "#row"
"""The column that says which outer row an inner row belongs to."""

_COPIED_BYTES = 1 << 21


class Frame:
    """Some rows. Never changed once made."""

    __slots__ = ("columns", "rows", "weight")

    def __init__(self, rows: int, columns: dict[str, Array], weight: Array | None = None) -> None:
        self.rows = rows
        self.columns = columns
        self.weight = weight

    @property
    def nbytes(self) -> int:
        return sum(c.nbytes for c in self.columns.values()) + (0 if self.weight is None else self.weight.nbytes)

    def keep(self, mask: Mask) -> Frame:
        """Rows where a mask is true."""
        return self.take(np.flatnonzero(mask))

    def take(self, index: Numbers) -> Frame:
        """Some rows, in some order, some perhaps several times."""
        weight = None if self.weight is None else self.weight[index]
        return Frame(len(index), {name: column[index] for name, column in self.columns.items()}, weight)

    def slice(self, start: int, stop: int) -> Frame:
        """Consecutive rows."""
        stop = min(stop, self.rows)
        weight = None if self.weight is None else self.weight[start:stop]
        return Frame(stop - start, {name: column[start:stop] for name, column in self.columns.items()}, weight)

    def with_columns(self, **columns: Array) -> Frame:
        """The same rows with more columns."""
        return Frame(self.rows, {**self.columns, **columns}, self.weight)

    def only(self, names: tuple[str, ...]) -> Frame:
        """The same rows with fewer columns."""
        return Frame(self.rows, {name: self.columns[name] for name in names if name in self.columns}, self.weight)


def in_batches(frame: Frame, most: int) -> Iterator[Frame]:
    """The same rows, so many at a time."""
    if frame.rows <= most:
        yield frame
        return
    for start in range(0, frame.rows, most):
        yield frame.slice(start, start + most)


def concat(frames: list[Frame], look: Callable[[], None] = lambda: None) -> Frame:
    """Frames with the same columns, one after the other. `look` is called between copies, to look at the clock."""
    if len(frames) == 1:
        return frames[0]
    columns = {name: _copied([f.columns[name] for f in frames], look) for name in frames[0].columns}
    weight = None
    if any(f.weight is not None for f in frames):
        weight = _copied([np.ones(f.rows, np.int64) if f.weight is None else f.weight for f in frames], look)
    return Frame(sum(f.rows for f in frames), columns, weight)


def _copied(parts: list[Array], look: Callable[[], None]) -> Array:
    """Arrays one after the other, a few megabytes between two looks: memory that is new takes its time."""
    look()
    if sum(part.nbytes for part in parts) <= _COPIED_BYTES:
        return np.concatenate(parts)
    whole = np.empty(sum(map(len, parts)), np.result_type(*parts))
    place = copied = 0
    for part in parts:
        whole[place : place + len(part)] = part
        place += len(part)
        copied += part.nbytes
        if copied > _COPIED_BYTES:
            look()
            copied = 0
    return whole
