"""Checking the quotes of a CSV file before its cells are read: CSV readers accept misplaced quotes and silently lose values.

    1,"O\\"Neil"     what comes after the closing quote would be glued on: O\\Neil"
    2,"abc          a quote that is never closed would swallow the rest of the file

A cell that begins with a quote ends with one, and a quote within is written twice. A quote within a cell that begins with
something else is a character like any other.

Most blocks of bytes are seen to be right at a glance: quotes open and close in turn, each next to a separator, a line's end or
another quote. The others are gone through cell by cell.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import Enum
from typing import IO, Any, Final

import numpy as np

from omnigraph.engine.arrays.numbering import Numbers
from omnigraph.engine.load.read.inputs.content import Unfit
from omnigraph.model.frozen import frozen
from omnigraph.model.limits import MAX_VIOLATIONS

QUOTING: Final = "quoting"
"""The rule that what begins with a quote ends with one. Where it is broken nobody knows which cells and rows there are, so the
whole file is refused."""

_QUOTE: Final = ord('"')
_BOM: Final = b"\xef\xbb\xbf"
_BLOCK: Final = 4 << 20
_SHOWN: Final = 24
_ENDS: Final = b"\r\n"
_CLOSING: Final = re.compile(rb'[^"]*(?:""[^"]*)*"(?!")')
"""From within a cell to the quote that closes it, if there is more after that."""


class _At(Enum):
    OUTSIDE = 0
    WITHIN = 1
    CLOSED_PERHAPS = 2
    """Right after a quote within: a second one would make it a character."""


@frozen
class Misplaced:
    """A quote that is not where it should be."""

    at: int
    """Bytes before it."""
    after: str | None
    """What comes after the closing quote; None: it opens a cell that is never closed."""
    escaped: bool = False
    """Whether a backslash is before it."""

    def __str__(self) -> str:
        if self.after is None:
            return 'a quote opens a cell here and is never closed: close it, or write it twice ("") within quotes'
        found = f"after a closing quote comes `{self.after}`, not the next cell: "
        if self.escaped:
            return f'{found}a quote within quotes is written twice (""), not as \\" (Spark: .option("escape", "\\"") to write so)'
        return f'{found}a quote within quotes is written twice ("")'


class Misquoted(Unfit):
    """A file with quotes where they should not be, each with its line."""

    def __init__(self, places: Sequence[tuple[int, Misplaced]]) -> None:
        super().__init__(str(places[0][1]))
        self.places = tuple(places)

    @classmethod
    def of(cls, misplaced: Sequence[Misplaced], text: IO[bytes]) -> Misquoted:
        """Misplaced quotes of a text, which is read once more, for their lines."""
        return cls(list(zip(_lines(text, misplaced), misplaced, strict=True)))


class Quotes:
    """The quotes of a text that is read on and on."""

    def __init__(self, separator: str) -> None:
        self.misplaced: list[Misplaced] = []
        self._separator = separator.encode()
        self._opening = re.compile(rb'"(?<=[\r\n%b]")' % re.escape(self._separator))
        self._fine_around = _table(self._separator + _ENDS + b'"')
        self._state, self._before, self._read, self._opened = _At.OUTSIDE, b"\n", 0, 0

    def look(self, data: bytes) -> None:
        """Look at the bytes that come next."""
        start = len(_BOM) if not self._read and data.startswith(_BOM) else 0
        if self._state is _At.CLOSED_PERHAPS and data:
            if data[0] == _QUOTE:
                self._state, start = _At.WITHIN, 1
            else:
                self._state = _At.OUTSIDE
                if not self._fine_around[data[0]]:
                    self._tell(data, 0, self._before)
        if data.find(b'"', start) >= 0 and not self._at_a_glance(data, start):
            self._through(data, start)
        if data:
            self._read, self._before = self._read + len(data), data[-2:]

    def end(self) -> None:
        """There is no more."""
        if self._state is _At.WITHIN:
            self.misplaced.append(Misplaced(self._opened, None))
            self._state = _At.OUTSIDE

    def _at_a_glance(self, data: bytes, start: int) -> bool:
        values = np.frombuffer(data, np.uint8)
        places: Numbers = np.flatnonzero(values[start:] == _QUOTE) + start
        within = self._state is _At.WITHIN
        opening, closing = places[int(within) :: 2], places[1 - int(within) :: 2]
        first = len(opening) > 0 and opening[0] == start
        ends = len(closing) > 0 and closing[-1] == len(data) - 1
        before = values[opening[int(first) :] - 1]
        if not (
            (not first or self._may_open(start))
            and self._fine_around[before].all()
            and self._fine_around[values[(closing[:-1] if ends else closing) + 1]].all()
        ):
            return False
        if ends or len(places) % 2:
            self._state = _At.CLOSED_PERHAPS if ends else _At.OUTSIDE if within else _At.WITHIN
        if self._state is not _At.OUTSIDE:
            new = opening[int(first) :][before != _QUOTE]  # others are the second of two
            self._opened = self._read + int(new[-1]) if len(new) else self._read + start if first else self._opened
        return True

    def _may_open(self, start: int) -> bool:
        """Whether a cell begins with the first byte of some bytes."""
        return (start > 0 and not self._read) or self._before[-1:] in (self._separator, b"\r", b"\n")

    def _through(self, data: bytes, at: int) -> None:
        begins_cell = self._state is _At.OUTSIDE and data[at] == _QUOTE and self._may_open(at)
        while True:
            if self._state is _At.OUTSIDE:
                found = None if begins_cell else self._opening.search(data, at)
                if not begins_cell and found is None:
                    return
                at = at if found is None else found.start()
                self._state, self._opened, begins_cell, at = _At.WITHIN, self._read + at, False, at + 1
            closed = _CLOSING.match(data, at)
            if closed is None:
                return
            at = closed.end()
            if at == len(data):
                self._state = _At.CLOSED_PERHAPS
                return
            self._state = _At.OUTSIDE
            if not self._fine_around[data[at]]:
                self._tell(data, at, (self._before + data[:at])[-2:] if at < 2 else data[at - 2 : at])

    def _tell(self, data: bytes, at: int, before: bytes) -> None:
        if len(self.misplaced) < MAX_VIOLATIONS:
            rest = re.split(rb"[\r\n]", data[at : at + _SHOWN], maxsplit=1)[0].decode(errors="replace")
            self.misplaced.append(Misplaced(self._read + at - 1, rest, before == b'\\"'))


class Watched:
    """A stream of bytes for Arrow's reader, its quotes looked at on the way."""

    def __init__(self, stream: IO[bytes], quotes: Quotes) -> None:
        self._stream, self._quotes = stream, quotes
        self.closed = False

    def read(self, size: int = -1) -> bytes:
        """The bytes that come next."""
        data = self._stream.read(size)
        self._quotes.look(data) if data else self._quotes.end()
        return data

    def drain(self) -> None:
        """Look at what is left."""
        while self.read(_BLOCK):
            pass

    def close(self) -> None:
        """The stream belongs to somebody else."""
        self.closed = True


def _lines(text: IO[bytes], misplaced: Sequence[Misplaced]) -> Iterator[int]:
    """The line of each: one more than there are ends of lines before it."""
    line, read, last = 1, 0, b""
    for place in misplaced:
        while read < place.at and (data := text.read(min(_BLOCK, place.at - read))):
            line += data.count(b"\n") + data.count(b"\r") - (last + data).count(b"\r\n")
            read, last = read + len(data), data[-1:]
        yield line


def _table(characters: bytes) -> Any:
    found = np.zeros(256, np.bool_)
    found[list(characters)] = True
    return found
