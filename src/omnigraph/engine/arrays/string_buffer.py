"""Random access to the texts of a column, without making Python strings of all of them.

Arrow's own ways to a few texts cost microseconds each: a scalar per text, or a kernel call for all. A small query is done in that
time. The texts lie one after the other in one buffer, and where each begins stands in another:

    offsets  0  3  6  8          texts   "ada" "bob" "cy"
    data     a d a b o b c y     text 1  = data[offsets[1] : offsets[2]]
"""

from __future__ import annotations

import pyarrow as pa

FEW = 64
"""Texts that are better fetched one by one."""


class Texts:
    """The texts of an Arrow array of strings, each at hand."""

    __slots__ = ("_array", "_data", "_first", "_nulls", "_offsets")

    def __init__(self, array: pa.StringArray) -> None:
        _, offsets, data = array.buffers()
        self._array = array
        """Keeps the buffers alive."""
        self._first = array.offset
        self._offsets = memoryview(offsets).cast("i") if offsets is not None else memoryview(b"\0\0\0\0").cast("i")
        self._data = memoryview(data) if data is not None else memoryview(b"")
        self._nulls = array.null_count > 0

    def bytes_at(self, row: int) -> bytes:
        """A text that is there, in UTF-8."""
        at = self._first + row
        return self._data[self._offsets[at] : self._offsets[at + 1]].tobytes()

    def at(self, rows: list[int]) -> list[str | None]:
        """Some texts, in the order asked for."""
        offsets, data, first = self._offsets, self._data, self._first
        found: list[str | None]
        if len(rows) == 1:  # by far the most frequent one
            at = first + rows[0]
            found = [data[offsets[at] : offsets[at + 1]].tobytes().decode()]
        else:
            found = [str(data[offsets[first + row] : offsets[first + row + 1]], "utf-8") for row in rows]
        if self._nulls and "" in found:  # nothing may be a null
            array = self._array
            found = [text or array[row].as_py() for text, row in zip(found, rows, strict=True)]
        return found
