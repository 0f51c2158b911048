"""A text with a name, and places in it.

Offsets count characters. Lines and columns are 1-based and computed only when somebody looks, so a parse that finds nothing
wrong pays nothing for them.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

from omnigraph.model.frozen import frozen


class Span(NamedTuple):
    """A half-open range of characters."""

    start: int
    end: int

    def to(self, other: Span) -> Span:
        """From the start of this span to the end of another."""
        return Span(self.start, other.end)


NOWHERE = Span(0, 0)
"""The span of a tree node that was built by a program instead of a parser."""


class Position(NamedTuple):
    line: int
    column: int


@frozen(slots=False)
class Source:
    """A text and the name people know it by (a path, or `<query>`)."""

    text: str
    name: str = "<text>"

    def position(self, offset: int) -> Position:
        starts = self._line_starts()
        line = bisect_right(starts, offset)
        return Position(line, offset - starts[line - 1] + 1)

    def line_text(self, line: int) -> str:
        starts = self._line_starts()
        end = starts[line] - 1 if line < len(starts) else len(self.text)
        return self.text[starts[line - 1] : end].rstrip("\r")

    def _line_starts(self) -> list[int]:
        cached: list[int] | None = self.__dict__.get("_starts")
        if cached is None:
            cached = [0]
            position = self.text.find("\n")
            while position >= 0:
                cached.append(position + 1)
                position = self.text.find("\n", position + 1)
            self.__dict__["_starts"] = cached
        return cached
