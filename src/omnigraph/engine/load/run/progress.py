"""Progress of a load: what a runner reports, and how often."""

from __future__ import annotations

import time
from collections.abc import Callable
from enum import Enum

from omnigraph.model.frozen import frozen
from omnigraph.model.phrases import counted


class Stage(Enum):
    """What a load is doing."""

    READ = "reading"
    CHECK = "checking"
    PUBLISH = "publishing"
    DONE = "done"


@frozen
class Progress:
    """A moment of a load."""

    stage: Stage
    rows: int
    """Read so far."""
    seconds: float
    bytes: int = 0
    total_bytes: int | None = None
    """None when nobody knows."""
    violations: int = 0

    @property
    def rate(self) -> float:
        """Rows per second."""
        return self.rows / self.seconds if self.seconds else 0.0

    @property
    def share(self) -> float | None:
        """How much of the input has been read, from 0 to 1."""
        return min(1.0, self.bytes / self.total_bytes) if self.total_bytes else None

    @property
    def remaining(self) -> float | None:
        """Seconds that reading the rest will take."""
        share = self.share
        return None if not share else self.seconds / share - self.seconds

    def __str__(self) -> str:
        parts = [f"{self.stage.value}: {counted(self.rows, 'row')}", f"{self.rate:,.0f}/s"]
        if self.share is not None and self.stage is Stage.READ:
            parts += [f"{self.share:.0%}", f"{self.remaining:.0f} s left"]
        if self.violations:
            parts.append(counted(self.violations, "violation"))
        return " · ".join(parts)


Report = Callable[[Progress], None]
"""Called with the progress of a load."""


class ProgressReporter:
    """Reports the progress of a load, not too often."""

    def __init__(self, report: Report | None, total_bytes: int | None, every: float = 0.1) -> None:
        self._report = report
        self._total = total_bytes
        self._every = every
        self._begun = time.monotonic()
        self._last = -every

    @property
    def seconds(self) -> float:
        """Since the beginning."""
        return time.monotonic() - self._begun

    def report(self, stage: Stage, rows: int, bytes_: int, violations: int, *, now: bool = False) -> None:
        """Where the load is."""
        if self._report is None or (not now and self.seconds - self._last < self._every):
            return
        self._last = self.seconds
        self._report(Progress(stage, rows, self.seconds, bytes_, self._total, violations))
