"""Limits of one query: time, memory and cancellation.

    check(what)             between batches of work: is time up, did somebody ask to stop?
    hold(bytes, what)       before something is made that goes again: is there room for it beside what is kept?
    keep(bytes, what)       before something is made that stays until the end
    rows(columns, most)     how many rows are made at once, so that neither limit is overstepped by much
    aside(work, rows, what) a long step in one piece, a sort for instance: the clock is looked at meanwhile

Whoever would exceed the budget is named in the error. Memory means what the query makes: columns and adjacency that an open graph
keeps between queries have a budget of their own (`memory`). A query without limits works in larger batches and is not slowed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Event, Thread
from typing import Final, TypeVar

from omnigraph.errors import QueryCancelled, ResourceLimit
from omnigraph.hints import Hint, Option

T = TypeVar("T")

BATCH_ROWS: Final = 1 << 16
"""Rows that are worked on at once in a query that has limits: some milliseconds."""

_FEWEST_ROWS = 1 << 9
_FEWEST_ROWS_IN_MEMORY = 8
_SHARE = 16
"""One batch of work takes no more than one in so many bytes of the memory: several operators have one in hand. In a query of many
operators, each of which has one in hand, it is less: all of them together have half of the memory."""

LONG_ROWS: Final = 1 << 17
"""From so many rows on a step that cannot be interrupted takes longer than one may wait for it."""

LETTER: Final = 128
"""Rows that take as long as it takes to read a letter of a query and to plan it."""

_LOOK_SECONDS = 0.01

LEFT_BEHIND: Final = "omnigraph-long-step"
"""What threads are called that do a long step."""

_UNITS: Final = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"))


class Budget:
    """What one query may use."""

    __slots__ = ("_cancel", "_deadline", "_seconds", "_share", "bytes", "kept", "limited", "peak")

    def __init__(self, seconds: float | None = None, memory: int | None = None, cancel: Event | None = None) -> None:
        self._seconds = seconds
        self._deadline = None if seconds is None else time.monotonic() + seconds
        self._cancel = cancel
        self.bytes = memory
        self.limited = seconds is not None or memory is not None or cancel is not None
        self._share = _SHARE
        self.kept = 0
        self.peak = 0

    def divide(self, operators: int) -> None:
        """So many operators have a batch of work in hand at once."""
        self._share = max(self._share, 2 * operators)

    def check(self, operator: str) -> None:
        """Stop if time is up or somebody asked to."""
        if self._cancel is not None and self._cancel.is_set():
            raise QueryCancelled(f"the query was cancelled while in {operator}")
        if self._deadline is not None and time.monotonic() > self._deadline:
            raise ResourceLimit(
                f"the query ran longer than {self._seconds:g} s; it was in {operator}",
                hint=Hint("Narrow the pattern or add a limit.", Hint(" Or give the query more time: ", Option("timeout"), ".")),
            )

    def hold(self, nbytes: int, operator: str) -> None:
        """Stop if an operator is about to need more memory than there is beside what is kept."""
        needed = self.kept + nbytes
        if needed > self.peak:
            self.peak = needed
        if self.bytes is not None and needed > self.bytes:
            wanted, allowed = _sizes(needed, self.bytes)
            raise ResourceLimit(
                f"{operator} needs {wanted}, the query may use {allowed}",
                hint=Hint(
                    "Narrow the pattern, or aggregate earlier.",
                    Hint(" Or give the query more memory: ", Option("memory_limit"), "."),
                ),
            )

    def keep(self, nbytes: int, operator: str) -> None:
        """The same for what stays until the query ends."""
        self.hold(nbytes, operator)
        self.kept += nbytes

    def spend(self, operator: str, nbytes: int) -> None:
        """Both at once, for what is made a little at a time: a look at the clock, and what stays."""
        self.check(operator)
        self.keep(nbytes, operator)

    def release(self, nbytes: int) -> None:
        """Something that was kept is gone."""
        self.kept -= nbytes

    def rows(self, columns: int, most: int) -> int:
        """How many rows of so many columns are made at once."""
        if not self.limited:
            return most
        few = min(most, max(_FEWEST_ROWS, BATCH_ROWS // max(1, columns // 4)))
        if self.bytes is None:
            return few
        return max(_FEWEST_ROWS_IN_MEMORY, min(few, self.bytes // (self._share * 8 * max(1, columns))))

    def aside(self, work: Callable[[], T], rows: int, operator: str) -> T:
        """Do one long step. If time is up before it ends it is left behind, to end by itself; nobody waits for it.

        Only the end of the process does: a thread that is stopped inside a library there takes the process down with it.
        """
        self.check(operator)
        if rows < LONG_ROWS or (self._deadline is None and self._cancel is None):
            return work()
        done: list[T] = []
        failed: list[BaseException] = []

        def run() -> None:
            try:
                done.append(work())
            except BaseException as error:
                failed.append(error)

        worker = Thread(target=run, name=LEFT_BEHIND)
        worker.start()
        while worker.is_alive():
            worker.join(_LOOK_SECONDS)
            if worker.is_alive():
                self.check(operator)
        if failed:
            raise failed[0]
        return done[0]


def _sizes(needed: int, allowed: int) -> tuple[str, str]:
    """Two sizes as people write them, the first being larger, with as many digits as it takes to see that."""
    for digits in range(4):
        found = _size(needed, digits), _size(allowed, digits)
        if found[0] != found[1]:
            return found
    return f"{needed:,} bytes", f"{allowed:,} bytes"


def _size(nbytes: int, digits: int) -> str:
    for unit, name in _UNITS:
        if nbytes >= unit:
            figure = f"{nbytes / unit:,.{digits}f}"
            return f"{figure.rstrip('0').rstrip('.') if digits else figure} {name}"
    return f"{nbytes:,} bytes"
