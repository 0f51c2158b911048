"""What an answer must look like, and whether one does.

The language leaves some orders open: rows without `order`, groups that compare equal, rows of one ranked entity. So an expected
answer is a list of *ties*: ties come in this order, the rows of one tie in any order. `offset` and `limit` cut a window out of it;
a tie that the window cuts through may be represented by any of its rows, but no row twice.

    order { $p.age } limit 3 over ages 20, 30 (Ada), 30 (Bob), 40, ties by id:     [20] [Ada] [Bob] [40]
    return { $p.name } limit 2 over the same:                                      [20 Ada Bob 40], any two of them
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Values = tuple[Any, ...]
"""One row, in the order of the projections."""


@dataclass(frozen=True, slots=True)
class Near:
    """A number that is right within a tolerance: a sum of floats, a score."""

    value: float | None
    tolerance: float = 1e-9
    """Relative to the value, or absolute below one."""
    zero_is_null: bool = False
    """A score of nothing may be told as zero or as null."""

    def admits(self, other: object) -> bool:
        if (
            self.zero_is_null
            and not self.value
            and (other is None or (isinstance(other, float) and abs(other) <= self.tolerance))
        ):
            return True
        if self.value is None or not isinstance(other, float):
            return self.value is other
        return math.isclose(self.value, other, rel_tol=self.tolerance, abs_tol=self.tolerance)


@dataclass(frozen=True, slots=True)
class Answer:
    """The rows a query must give."""

    columns: tuple[str, ...]
    ties: tuple[tuple[Values, ...], ...]
    offset: int = 0
    limit: int | None = None

    @property
    def total(self) -> int:
        """Rows before offset and limit."""
        return sum(len(tie) for tie in self.ties)

    @property
    def window(self) -> tuple[int, int]:
        """First row given, and the one after the last."""
        end = self.total if self.limit is None else min(self.total, self.offset + self.limit)
        return min(self.offset, end), end

    @property
    def rows(self) -> list[Values]:
        """One of the right answers."""
        start, end = self.window
        return [row for tie in self.ties for row in tie][start:end]


def difference(expected: Answer, given: Sequence[Mapping[str, object]]) -> str | None:
    """What is wrong with an answer, in words; None when nothing is."""
    start, end = expected.window
    if len(given) != end - start:
        return f"{end - start} rows expected, {len(given)} given"
    taken = passed = 0
    for number, tie in enumerate(expected.ties):
        share = max(0, min(passed + len(tie), end) - max(passed, start))
        missing = _Missing(expected.columns, tie if share else ())
        for position in range(taken, taken + share):
            if not missing.take(given[position]):
                return f"row {position} is {dict(given[position])}; expected (tie {number}, any of {missing})"
        taken, passed = taken + share, passed + len(tie)
    return None


class _Missing:
    """Rows of a tie that were not given yet. A tie may be long, so they are kept by those values that have to be exactly right."""

    def __init__(self, columns: Sequence[str], tie: Sequence[Values]) -> None:
        rows = [dict(zip(columns, row, strict=True)) for row in tie]
        self._exact = [name for name in columns if not any(isinstance(row[name], Near | list) for row in rows)]
        self._rows: dict[object, list[dict[str, Any]]] = {}
        for row in rows:
            self._rows.setdefault(self._key(row), []).append(row)

    def _key(self, row: Mapping[str, object]) -> object:
        return tuple([(type(value), None if isinstance(value, list | dict) else value) for value in map(row.get, self._exact)])

    def take(self, given: Mapping[str, object]) -> bool:
        """Whether this is one of the rows, which then is missing no more."""
        candidates = self._rows.get(self._key(given), [])
        for at, row in enumerate(candidates):
            if same_row(row, given):
                del candidates[at]
                return True
        return False

    def __str__(self) -> str:
        rows = [row for candidates in self._rows.values() for row in candidates]
        return f"{len(rows)}: " + "; ".join(map(_shown, rows[:5]))


def same_row(expected: Mapping[str, Any], given: Mapping[str, object]) -> bool:
    return expected.keys() == given.keys() and all(same_value(value, given[name]) for name, value in expected.items())


def same_value(expected: Any, given: Any) -> bool:
    """Equal in value and in type."""
    if isinstance(expected, Near):
        return expected.admits(given)
    if isinstance(expected, list):
        return (
            isinstance(given, list)
            and len(expected) == len(given)
            and all(same_value(a, b) for a, b in zip(expected, given, strict=True))
        )
    return type(expected) is type(given) and bool(expected == given)


def _shown(row: Mapping[str, Any]) -> str:
    return str({name: value.value if isinstance(value, Near) else value for name, value in row.items()})
