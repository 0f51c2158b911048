"""Violations: every way in which a change breaks the schema, found all at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from omnigraph.error_details import BrokenRule
from omnigraph.errors import BlobUnavailable, KeyConflict, ValidationError
from omnigraph.hints import Hint, Option
from omnigraph.model.conversions import ROUNDABLE
from omnigraph.model.frozen import frozen
from omnigraph.model.phrases import counted, one_line

SHOWN = 20
"""Violations spelt out in a message; the rest is counted."""

BLOB_SOURCE = "blob_source"
"""The rule that what a URI for a Blob names can be read."""

_ROUND = Hint("Nothing was written. Fix the rows listed, or let the load round them: ", Option("lossy", "round"))


@frozen
class Violation:
    """One row that breaks one rule."""

    rule: str
    """`type`, `required`, `enum`, `range`, `check`, `unique`, `key`, `endpoint`, `cardinality`, …"""
    type: str
    message: str
    property: str | None = None
    entity: str | None = None
    value: object = None
    file: str | None = None
    line: int | None = None
    reason: str | None = None
    """Why something outside the graph could not be read."""
    first: tuple[str | None, int | None] | None = None
    """File and line of the row that this one repeats."""

    def __repr__(self) -> str:
        return one_line(f"Violation of {self.rule}: {self}")

    def __str__(self) -> str:
        if self.line is None:
            return self.message if self.file is None else f"{self.file}: {self.message}"
        return f"{f'record {self.line}' if self.file is None else f'{self.file}:{self.line}'}: {self.message}"

    def to_dict(self) -> dict[str, object]:
        """The violation as JSON-ready data, without what is not known."""
        data: dict[str, object] = {"rule": self.rule, "type": self.type, "message": self.message}
        for name in ("property", "entity", "value", "file", "line", "reason"):
            if getattr(self, name) is not None:
                data[name] = getattr(self, name)
        return data


def repeating(violation: Violation, file: str | None, line: int | None) -> Violation:
    """A violation of a row whose entity came before, and where that was."""
    where = (
        "" if line is None else f"{'record' if file is None else 'line'} {line}" if file == violation.file else f"{file}:{line}"
    )
    message = f"{violation.type} `{violation.entity}` is there twice{f', first at {where}' if where else ''}"
    return replace(violation, message=message, first=(file, line))


HELD_AGAINST_THE_GRAPH = frozenset({"unique", "endpoint", "cardinality"})
"""Rules that rows are held to together with what is committed: what breaks them may tell of that."""

_UNREAD = "Nothing was written. Fix the rows listed, or ask for the right to read the branch, which shows what is in the way."


def unread(error: ValidationError, *, own_rows: bool) -> ValidationError:
    """The same for somebody who may not read the branch: which rule of which property is broken and where, and nothing of what is
    in the graph. What is wrong with rows of their own by themselves is said as ever (`own_rows`)."""
    found = [v if own_rows and v.rule not in HELD_AGAINST_THE_GRAPH else _unread(v) for v in error.violations]
    return ValidationError(summary(found), violations=found, hint=_UNREAD)


def _unread(violation: BrokenRule) -> Violation:
    about = violation.type if violation.property is None else f"{violation.type}.{violation.property}"
    message = f"{about} breaks the rule `{violation.rule}`: by what is shown to those who may read the branch"
    return Violation(violation.rule, violation.type, message, violation.property, file=violation.file, line=violation.line)


def summary(violations: Sequence[BrokenRule]) -> str:
    """The first violations, and the number of each kind."""
    counts = Counter(v.rule for v in violations)
    total = len(violations)
    kinds = ", ".join(f"{rule} {count}" for rule, count in sorted(counts.items()))
    head = str(violations[0]) if total == 1 else f"{counted(total, 'violation')} ({kinds})"
    lines = [] if total == 1 else [f"  {v}" for v in violations[:SHOWN]]
    if total > SHOWN:
        lines.append(f"  … and {total - SHOWN} more")
    return "\n".join([head, *lines])


def refuse(violations: Sequence[Violation]) -> None:
    """Raise if there is any violation, with the first ones and the number of each kind.

    When all that is wrong is that ids exist already, it is a conflict: the same rows are fine in another mode. When it is that
    URIs lead nowhere, the rows may be fine later.
    """
    if not violations:
        return
    counts = Counter(v.rule for v in violations)
    message = summary(violations)
    if set(counts) == {BLOB_SOURCE}:
        first = violations[0]
        raise BlobUnavailable(message, uri=str(first.value), reason=first.reason or "", violations=violations)
    if set(counts) == {"key"}:
        raise KeyConflict(message, violations=violations)
    raise ValidationError(
        message, violations=violations, hint=_ROUND if any(ROUNDABLE in v.message for v in violations) else None
    )
