"""Ids and time as ports: whoever needs a fresh id or the clock is handed one, so that tests can decide what they say."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Final, Protocol

from omnigraph.model.randomness import random_bytes

if TYPE_CHECKING:
    from ulid import ULIDGenerator

_RANDOM: Final = 10
"""Bytes of an id that are random; the others tell the time."""


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
        return str(_generator().generate(self._clock.now()))


@cache
def _generator() -> ULIDGenerator:
    from ulid import ULIDGenerator

    return ULIDGenerator(randomness=lambda _: random_bytes(_RANDOM))
