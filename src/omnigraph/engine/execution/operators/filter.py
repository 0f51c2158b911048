"""Keep rows for which a condition holds."""

from __future__ import annotations

from collections.abc import Iterator

from omnigraph.engine.execution.evaluate import keeping
from omnigraph.engine.execution.frame import Frame
from omnigraph.engine.execution.run import Run
from omnigraph.engine.planning import steps as st
from omnigraph.engine.planning.bindings import Binding


def filter_rows(step: st.Filter, frames: Iterator[Frame], run: Run, bindings: dict[str, Binding]) -> Iterator[Frame]:
    """Rows for which the condition is definitely true."""
    for frame in frames:
        kept = keeping(frame, step.condition, run, bindings, "a filter")
        if kept.rows:
            yield kept
