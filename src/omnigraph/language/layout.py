"""Laying out a text again without losing its comments.

A formatter that prints a tree forgets what the tree does not hold: comments, and the blank lines people use to group things.
This module keeps both, and knows nothing about either language. The idea: the formatter of a language hands over its canonical
lines in order, each with the span of source it stands for, and the comments find their places *between those spans*.

Worked example. The source, and the lines the formatter asks for:

    query q() { match { $p: Person // everybody        query q() {              0..11   opens
        $p /* direct */ knows $f                           match {             12..19   opens
                                                               $p: Person      20..30
        // the old                                             $p knows $f     48..72
        $f.age > 60 } return { $f } }                          $f.age > 60     93..104
                                                           }                  105..106  closes
                                                           return { $f }      107..120
                                                       }                      121..122  closes

* `// everybody` begins after the span of `$p: Person`, on the same source line: it trails that line.
* `/* direct */` lies strictly inside a span: it goes on a line of its own in front.
* `// the old` stands between two spans, on its own line: it leads the next one, after a blank line because the source had one.

    query q() {
        match {
            $p: Person  // everybody
            /* direct */
            $p knows $f

            // the old
            $f.age > 60
        }
        return { $f }
    }

Formatting that again changes nothing: every comment now is where its rule puts it, and what makes a bracket break over several
lines (its width, or a comment between its ends) has not changed.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence

from omnigraph.language.source import Span
from omnigraph.model.frozen import frozen

WIDTH = 100
"""Columns a line aims to stay within."""

INDENT = 4
"""Columns per level."""

_COMMENT_OR_STRING = re.compile(r'"(?:[^"\\]++|\\[\s\S])*+"|//[^\n]*+|/\*(?:[^*]++|\*(?!/))*+\*/')
_BLANK_LINE = re.compile(r"\n[ \t\r]*+\n")
_TRAILING_BLANKS = re.compile(r"[ \t\r]++$", re.MULTILINE)


@frozen
class Comment:
    """A comment as it will be written, and where it stood."""

    text: str
    span: Span


def find_comments(text: str) -> tuple[Comment, ...]:
    """Every comment of a text, in order. Slashes inside strings are none."""
    return tuple(
        Comment(_TRAILING_BLANKS.sub("", found[0]), Span(*found.span()))
        for found in _COMMENT_OR_STRING.finditer(text)
        if found[0][0] == "/"
    )


@frozen
class Bracket:
    """Where something bracketed stands: its first character, its two brackets, its end (a tail may follow the second bracket)."""

    start: int
    opening: Span
    closing: Span
    end: int


@frozen
class _Line:
    level: int
    text: str
    span: Span
    opens: bool
    closes: bool
    apart: bool


class Layout:
    """Canonical lines, collected in order; `text` weaves the comments and blank lines of the source in.

    Without a source there is nothing to weave in, and spans do not matter.
    """

    def __init__(self, source: str = "") -> None:
        self._source = source
        self._comments = find_comments(source)
        self._starts = [c.span.start for c in self._comments]
        self._lines: list[_Line] = []
        self._level = 0
        self._apart = False

    def fits(self, line: str) -> bool:
        """Whether a text fits on one line at the present level."""
        return "\n" not in line and self._level * INDENT + len(line) <= WIDTH

    def has_comment(self, start: int, end: int) -> bool:
        """Whether a comment of the source begins in this range."""
        at = bisect_left(self._starts, start)
        return at < len(self._starts) and self._starts[at] < end

    def sign_after(self, sign: str, offset: int) -> Span:
        """The first `sign` of the source at or after an offset, outside comments. No string may stand in between."""
        at = bisect_left(self._starts, offset)
        while (found := self._source.find(sign, offset)) >= 0:
            while at < len(self._comments) and self._comments[at].span.end <= found:
                at += 1
            if at == len(self._comments) or found < self._starts[at]:
                return Span(found, found + len(sign))
            offset = self._comments[at].span.end
        return Span(offset, offset)

    def stand_apart(self) -> None:
        """A blank line goes in front of the next line and the comments that lead it."""
        self._apart = True

    def line(self, text: str, span: Span, *, opens: bool = False, closes: bool = False, deeper: int = 0) -> None:
        """The next line. One that opens a block moves the following lines a level in; one that closes it moves out first."""
        self._level -= closes
        self._lines.append(_Line(self._level + deeper, text, span, opens, closes, self._apart))
        self._level += opens
        self._apart = False

    def listing(
        self, head: str, items: Sequence[tuple[str, Span]], tail: str, place: Bracket, *, pad: str = " ", opens: bool = False
    ) -> None:
        """Bracketed items: `head item, item tail` if that fits and no comment stands between the brackets, else item by item."""
        one_line = f"{head}{pad}{', '.join(text for text, _ in items)}{pad}{tail}"
        if self.fits(one_line) and not self.has_comment(place.opening.end, place.closing.start):
            self.line(one_line, Span(place.start, place.end), opens=opens)
            return
        self.line(head, Span(place.start, place.opening.end), opens=True)
        for number, (text, span) in enumerate(items, 1):
            self.line(f"{text}," if number < len(items) else text, span)
        self.line(tail, Span(place.closing.start, place.end), opens=opens, closes=True)

    def text(self) -> str:
        """The finished text: every line, every comment once and in the order of the source."""
        page = _Page(self._source)
        previous: _Line | None = None
        placed = 0
        for line in self._lines:
            gap_end = self._first_comment_at(line.span.start, placed)
            inside_end = self._first_comment_at(line.span.end, gap_end)
            apart = line.apart
            for comment in self._comments[placed:gap_end]:
                if _trails(comment, previous, line, self._source):
                    page.append(comment)
                else:
                    page.write(line.level + line.closes, comment.text, comment.span, apart=apart)
                    apart = False
            for comment in self._comments[gap_end:inside_end]:
                # It moves in front of its line, so the blank line that counts is the one in front of that.
                page.write(line.level + line.closes, comment.text, Span(line.span.start, line.span.start), apart=apart)
                apart = False
            page.write(line.level, line.text, line.span, apart=apart, opens=line.opens, closes=line.closes)
            previous, placed = line, inside_end
        for comment in self._comments[placed:]:
            if _trails(comment, previous, None, self._source):
                page.append(comment)
            else:
                page.write(0, comment.text, comment.span)
        return page.text()

    def _first_comment_at(self, offset: int, lowest: int) -> int:
        return max(lowest, bisect_left(self._starts, offset))


def _trails(comment: Comment, previous: _Line | None, following: _Line | None, source: str) -> bool:
    """Whether a comment between two lines belongs at the end of the first.

    It must begin on the source line where the first ended. When the second also stands there (`a, /* of b */ b`) the comment is
    about the second, unless a comma follows it (`a /* of a */, b`) or the block ends there (`{ a /* of a */ }`).
    """
    if previous is None or "\n" in comment.text or source.find("\n", previous.span.end, comment.span.start) >= 0:
        return False
    if following is None or source.find("\n", comment.span.end, following.span.start) >= 0:
        return True
    if following.closes:
        return not previous.opens
    return source.find(",", comment.span.end, following.span.start) >= 0


class _Page:
    """Finished lines, and where in the source the latest of them ended."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._lines: list[str] = []
        self._end = 0
        self._just_opened = True  # neither a block nor the text starts with a blank line

    def write(self, level: int, text: str, span: Span, *, apart: bool = False, opens: bool = False, closes: bool = False) -> None:
        """A line of its own, after a blank one if it stands apart or did so in the source."""
        parted = apart or _BLANK_LINE.search(self._source, self._end, span.start) is not None
        if parted and not self._just_opened and not closes:
            self._lines.append("")
        self._lines.append(" " * (level * INDENT) + text)
        self._end = span.end
        self._just_opened = opens

    def append(self, comment: Comment) -> None:
        """A comment at the end of the latest line."""
        self._lines[-1] += f"  {comment.text}"
        self._end = comment.span.end

    def text(self) -> str:
        return "".join(f"{line}\n" for line in self._lines)
