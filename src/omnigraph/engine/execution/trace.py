"""What a query did, step by step: rows, time and the strategy that was chosen. Recorded only for `explain`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from omnigraph.engine.execution.frame import Frame
from omnigraph.engine.planning.steps import Step


@dataclass(slots=True)
class StepTrace:
    """One step: rows it gave, seconds spent in it alone, and notes such as `index`."""

    rows: int = 0
    frames: int = 0
    seconds: float = 0.0
    notes: list[str] = field(default_factory=list)


class Trace:
    """The steps of one query."""

    def __init__(self) -> None:
        self._steps: dict[int, StepTrace] = {}
        self._kept: list[Step] = []
        self._stack: list[tuple[StepTrace, float]] = []

    def of(self, step: Step) -> StepTrace:
        """What is known of a step."""
        found = self._steps.get(id(step))
        if found is None:
            found = self._steps[id(step)] = StepTrace()
            self._kept.append(step)  # so that its identity is not given to another
        return found

    def note(self, text: str) -> None:
        """Something the running step did."""
        if self._stack and text not in self._stack[-1][0].notes:
            self._stack[-1][0].notes.append(text)

    def watch(self, step: Step, frames: Iterator[Frame]) -> Iterator[Frame]:
        """The same frames, with rows and time noted."""
        about = self.of(step)
        while True:
            self._enter(about)
            try:
                frame = next(frames, None)
            finally:
                self._leave()
            if frame is None:
                return
            about.rows += frame.rows
            about.frames += 1
            yield frame

    def _enter(self, about: StepTrace) -> None:
        now = time.perf_counter()
        if self._stack:
            above, since = self._stack[-1]
            above.seconds += now - since
        self._stack.append((about, now))

    def _leave(self) -> None:
        now = time.perf_counter()
        about, since = self._stack.pop()
        about.seconds += now - since
        if self._stack:
            above, _ = self._stack[-1]
            self._stack[-1] = (above, now)
