"""The operators: each takes frames and gives frames. `run_steps` chains them as a plan says."""

from __future__ import annotations

from collections.abc import Iterator

from omnigraph.engine.execution.frame import Frame, in_batches
from omnigraph.engine.execution.operators.blocks import optional, without
from omnigraph.engine.execution.operators.expand import close, exists, expand, reach
from omnigraph.engine.execution.operators.filter import filter_rows
from omnigraph.engine.execution.operators.merge import merge
from omnigraph.engine.execution.operators.scan import lookup, scan, scan_edges
from omnigraph.engine.execution.operators.walks import count_walks
from omnigraph.engine.execution.run import Run
from omnigraph.engine.planning import steps as st
from omnigraph.engine.planning.bindings import Binding

_START = Frame(1, {})


def run_steps(steps: tuple[st.Step, ...], run: Run, bindings: dict[str, Binding], start: Frame = _START) -> Iterator[Frame]:
    """The frames that some steps make of a first one."""
    if start is _START:
        run.steps = steps
    if run.budget.limited:
        run.budget.divide(_operators(steps))
    frames: Iterator[Frame] = iter((start,))
    for step in steps:
        frames = _operator(step, frames, run, bindings)
        if run.budget.limited and _gives_all(step):
            frames = _in_batches(frames, run)
        if run.trace is not None:
            frames = run.trace.watch(step, frames)
    return frames


def _gives_all(step: st.Step) -> bool:
    """Whether an operator gives all it has at once."""
    return isinstance(step, st.Merge | st.Reach) or (isinstance(step, st.Scan) and bool(step.rankings))


def _in_batches(frames: Iterator[Frame], run: Run) -> Iterator[Frame]:
    """The same rows, no more at a time than a query that has limits works on."""
    for frame in frames:
        yield from in_batches(frame, run.budget.rows(len(frame.columns), max(1, frame.rows)))


def _operators(steps: tuple[st.Step, ...]) -> int:
    """How many operators may be at work at once: those of blocks too."""
    return sum(1 + (_operators(step.inner) if isinstance(step, st.Anti | st.Optional) else 0) for step in steps)


def _operator(step: st.Step, frames: Iterator[Frame], run: Run, bindings: dict[str, Binding]) -> Iterator[Frame]:
    match step:
        case st.Scan():
            return scan(step, frames, run, bindings)
        case st.Lookup():
            return lookup(step, frames, run, bindings)
        case st.Expand():
            return expand(step, frames, run, bindings)
        case st.Reach():
            return reach(step, frames, run, bindings)
        case st.Close():
            return close(step, frames, run, bindings)
        case st.Paths():
            from omnigraph.engine.execution.operators.paths import find_paths  # few queries do

            return find_paths(step, frames, run, bindings)
        case st.Filter():
            return filter_rows(step, frames, run, bindings)
        case st.Exists():
            return exists(step, frames, run, bindings)
        case st.Anti():
            return without(step, frames, run, run_steps)
        case st.Optional():
            return optional(step, frames, run, run_steps)
        case st.CountWalks():
            return count_walks(step, frames, run, bindings)
        case st.Merge():
            return merge(step, frames, run)
        case st.EdgeScan():
            return scan_edges(step, frames, run)
        case st.Start():
            return frames
