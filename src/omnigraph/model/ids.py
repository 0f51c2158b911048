"""Ids and time as ports: whoever needs a fresh id or the clock is handed one, so that tests can decide what they say."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Tells the time."""

    def now(self) -> datetime:
        """The current moment, timezone-aware, in UTC."""
        ...


class IdSource(Protocol):
    """Gives ids that never repeat."""

    def next(self) -> str:
        """A fresh ULID: 26 upper-case Crockford characters that sort by creation time."""
        ...


class SystemClock:
    """The clock of this machine."""

    def now(self) -> datetime:
        return datetime.now(UTC)


class UlidSource:
    """Random ULIDs stamped by a clock."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()

    def next(self) -> str:
        from ulid import ULID

        return str(ULID.from_datetime(self._clock.now()))
