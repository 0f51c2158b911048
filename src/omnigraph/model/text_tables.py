"""Tables of texts: for terminals, where it is known how wide characters are, and for notebooks. Nothing else aligns text.

Values are made safe here and nowhere else: what a terminal would obey is spelt out (`omnigraph.model.printable`), and in HTML
nothing is markup that was a value.
"""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Literal

from omnigraph.model.frozen import frozen
from omnigraph.model.printable import printable

Overflow = Literal["truncate", "wrap"]


@frozen
class Style:
    """What stands between the cells, and in the line below the heading."""

    gap: str
    rule: str
    cross: str


OPEN: Final = Style("  ", "─", "  ")
PIPES: Final = Style(" | ", "-", "-+-")


def text_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    style: Style = OPEN,
    widest: int = 60,
    overflow: Overflow = "truncate",
    right: Sequence[bool] = (),
    escape: bool = True,
) -> Iterator[str]:
    """A table as lines. Columns in `right` are numbers; cells wider than `widest` are cut, or go on in the next line."""
    grid = [[_one_line(text, escape) for text in line] for line in (columns, *rows)]
    widths = [min(max(width(line[i]) for line in grid), widest) for i in range(len(columns))]
    for number, line in enumerate(grid):
        cells = [_fitted(text, w, overflow) for text, w in zip(line, widths, strict=True)]
        for at in range(max(len(cell) for cell in cells)):
            parts = []
            for i, cell in enumerate(cells):
                is_right = number > 0 and i < len(right) and right[i]
                parts.append(padded(cell[at] if at < len(cell) else "", widths[i], is_right))
            yield style.gap.join(parts).rstrip()
        if number == 0:
            yield style.cross.join(style.rule * w for w in widths)


def aligned(rows: Iterable[Sequence[str]], *, right: Sequence[bool] = ()) -> Iterator[str]:
    """Lines whose cells stand under each other, without a heading. Columns in `right` are numbers. Nothing is cut."""
    grid = list(rows)
    widths = [max(width(line[i]) for line in grid) for i in range(len(grid[0]))] if grid else []
    for line in grid:
        cells = (padded(text, w, i < len(right) and right[i]) for i, (text, w) in enumerate(zip(line, widths, strict=True)))
        yield OPEN.gap.join(cells).rstrip()


def width(text: str) -> int:
    """Columns of a terminal that a text takes: two for most characters of East Asia and for emoji, none for accents."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def _columns(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _one_line(text: str, escape: bool) -> str:
    return printable(text.replace("\n", "⏎").replace("\t", " ")) if escape else text


def padded(text: str, columns: int, is_right: bool = False) -> str:
    """A text filled up with blanks to so many columns of a terminal."""
    fill = " " * (columns - width(text))
    return fill + text if is_right else text + fill


def _fitted(text: str, columns: int, overflow: Overflow) -> list[str]:
    """A text in lines of at most so many columns."""
    if width(text) <= columns:
        return [text]
    if overflow == "truncate":
        return [_head(text, columns - 1) + "…"]
    found = []
    while text:
        head = _head(text, columns) or text[0]
        found.append(head)
        text = text[len(head) :]
    return found


def _head(text: str, columns: int) -> str:
    """As much of a text as fits."""
    if text.isascii():
        return text[:columns]
    taken = 0
    for at, character in enumerate(text):
        taken += width(character)
        if taken > columns:
            return text[:at]
    return text


def html_table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, above: str = "", below: str = "") -> str:
    """A table for a notebook, with a sentence above or below it."""
    head = "".join(f"<th>{_escaped(name)}</th>" for name in columns)
    body = "".join(f"<tr>{''.join(f'<td>{_escaped(text)}</td>' for text in row)}</tr>" for row in rows)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return (f"<p>{_escaped(above)}</p>" if above else "") + table + (f"<p>{_escaped(below)}</p>" if below else "")


def html_text(text: str) -> str:
    """A text that is laid out already, for a notebook."""
    return f"<pre>{_escaped(text)}</pre>"


def _escaped(text: str) -> str:
    return html.escape(printable(text))
