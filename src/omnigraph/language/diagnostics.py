"""Problems in a text, told so that people can fix them.

A diagnostic is a value: what is wrong, where, and what would be right. It renders under its source line:

    type error: T6: `Person` has no property `nme`
      --> people.gq:4:17
       |
     4 |     return { $p.nme }
       |                 ^^^
       = did you mean `name`?

`Problems` collects them while a checker goes on, so that one run reports everything it can.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum

from omnigraph.language.source import Source, Span
from omnigraph.model.frozen import frozen
from omnigraph.model.limits import MAX_DIAGNOSTICS


class Family(Enum):
    """Where a problem belongs; the words that open its message."""

    PARSE = "parse error"
    CATALOG = "catalog error"
    TYPE = "type error"


@frozen
class Diagnostic:
    """One problem in one place of one text."""

    family: Family
    code: str
    """Stable: `T6` for a typing rule, a slug such as `duplicate-property` for the rest."""
    message: str
    source: Source
    span: Span
    help: str = ""

    @property
    def summary(self) -> str:
        """One line: family, typing rule if there is one, message."""
        rule = f"{self.code}: " if is_typing_rule(self.code) else ""
        return f"{self.family.value}: {rule}{self.message}"

    def render(self, *, colour: bool = False) -> str:
        position = self.source.position(self.span.start)
        line, column = _window(self.source.line_text(position.line), position.column)
        room = max(len(line) - column + 1, 1)
        width = max(1, min(self.span.end - self.span.start, room))
        gutter = " " * len(str(position.line))
        # Tabs stay tabs in front of the caret, so that it lands under the right character at any tab width.
        lead = "".join("\t" if c == "\t" else " " for c in line[: column - 1])
        red, blue, bold, off = ("\x1b[31m", "\x1b[34m", "\x1b[1m", "\x1b[0m") if colour else ("", "", "", "")
        head, _, rest = self.summary.partition(": ")
        rows = [
            f"{bold}{red}{head}{off}{bold}: {rest}{off}",
            f" {gutter}{blue}-->{off} {self.source.name}:{position.line}:{position.column}",
            f" {gutter} {blue}|{off}",
            f" {blue}{position.line} |{off} {line}",
            f" {gutter} {blue}|{off} {lead}{red}{'^' * width}{off}",
        ]
        if self.help:
            rows.append(f" {gutter} {blue}={off} {self.help}")
        return "\n".join(rows)

    def to_dict(self) -> dict[str, object]:
        start = self.source.position(self.span.start)
        end = self.source.position(self.span.end)
        data: dict[str, object] = {
            "family": self.family.value,
            "code": self.code,
            "message": self.message,
            "file": self.source.name,
            "line": start.line,
            "column": start.column,
            "end_line": end.line,
            "end_column": end.column,
        }
        if self.help:
            data["help"] = self.help
        return data


_SHOWN_LINE = 160


def _window(line: str, column: int) -> tuple[str, int]:
    """The part of a long line around a column, and the column inside that part."""
    if len(line) <= _SHOWN_LINE:
        return line, column
    first = max(0, min(column - 1 - _SHOWN_LINE // 2, len(line) - _SHOWN_LINE))
    lead = "…" if first > 0 else ""
    tail = "…" if first + _SHOWN_LINE < len(line) else ""
    return lead + line[first : first + _SHOWN_LINE] + tail, column - first + len(lead)


def is_typing_rule(code: str) -> bool:
    """Whether a code names a numbered typing rule (`T1` and on)."""
    return code[:1] == "T" and code[1:].isdigit()


class Problems:
    """Diagnostics found so far in one text."""

    __slots__ = ("found", "source")

    def __init__(self, source: Source) -> None:
        self.source = source
        self.found: list[Diagnostic] = []

    def add(self, family: Family, code: str, message: str, span: Span, help: str = "") -> None:
        if len(self.found) < MAX_DIAGNOSTICS:
            self.found.append(Diagnostic(family, code, message, self.source, span, help))

    def __bool__(self) -> bool:
        return bool(self.found)

    def __iter__(self) -> Iterator[Diagnostic]:
        return iter(self.found)


def did_you_mean(name: str, candidates: Iterable[str], *, closeness: float = 0.6) -> str:
    """`did you mean `x`?` when a candidate is close to the name, else nothing."""
    import difflib  # only needed once something is wrong

    known = sorted(set(candidates))
    folded = {k.lower().replace("_", ""): k for k in reversed(known)}
    match = folded.get(name.lower().replace("_", ""))
    if match is None:
        close = difflib.get_close_matches(name, known, n=1, cutoff=closeness)
        match = close[0] if close else None
    return f"did you mean `{match}`?" if match is not None and match != name else ""


def one_of(names: Iterable[str], *, limit: int = 8) -> str:
    """A readable list of what exists, shortened when long."""
    known = sorted(set(names))
    shown = ", ".join(f"`{n}`" for n in known[:limit])
    return f"{shown}, …" if len(known) > limit else shown
