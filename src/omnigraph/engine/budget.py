"""Limits of one query: time, memory and the wish to stop.

Operators report what they are about to hold; whoever would exceed the budget is named in the error. Time and cancellation are
looked at between frames, so a query stops within one frame of work.
"""

from __future__ import annotations

import time
from threading import Event

from omnigraph.errors import QueryCancelled, ResourceLimit


class Budget:
    """What one query may use."""

    __slots__ = ("_cancel", "_deadline", "_seconds", "bytes", "peak")

    def __init__(self, seconds: float | None = None, memory: int | None = None, cancel: Event | None = None) -> None:
        self._seconds = seconds
        self._deadline = None if seconds is None else time.monotonic() + seconds
        self._cancel = cancel
        self.bytes = memory
        self.peak = 0

    def check(self, operator: str) -> None:
        """Stop if time is up or somebody asked to."""
        if self._cancel is not None and self._cancel.is_set():
            raise QueryCancelled(f"the query was cancelled while in {operator}")
        if self._deadline is not None and time.monotonic() > self._deadline:
            raise ResourceLimit(
                f"the query ran longer than {self._seconds:g} s; it was in {operator}",
                hint="Narrow the pattern, add a limit, or give the query more time (timeout=…).",
            )

    def hold(self, nbytes: int, operator: str) -> None:
        """Stop if an operator needs more memory than there is."""
        if nbytes > self.peak:
            self.peak = nbytes
        if self.bytes is not None and nbytes > self.bytes:
            raise ResourceLimit(
                f"{operator} needs {nbytes / 1e6:,.0f} MB, the query may use {self.bytes / 1e6:,.0f} MB",
                hint="Narrow the pattern, aggregate earlier, or give the query more memory (memory_limit=…).",
            )
