"""Blocks: `not { … }` and `optional { … }`, evaluated once for all outer rows.

The outer rows go into the block with their place (`ROW`); what comes out says which of them found something.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from omnigraph.engine.execution.frame import ROW, Frame
from omnigraph.engine.execution.operators.merge import merge_frame
from omnigraph.engine.execution.run import Run
from omnigraph.engine.planning import steps as st
from omnigraph.engine.planning.bindings import Binding

RunSteps = Callable[[tuple[st.Step, ...], Run, dict[str, Binding], Frame], Iterator[Frame]]


def without(step: st.Anti, frames: Iterator[Frame], run: Run, run_steps: RunSteps) -> Iterator[Frame]:
    """Rows for which the block finds nothing."""
    for frame in frames:
        run.budget.check("a not block")
        distinct, place = _distinct(frame, step.outer)
        found = np.zeros(distinct.rows, np.bool_)
        for inner in run_steps(step.inner, run, step.bindings, distinct):
            found[inner.columns[ROW]] = True
        kept = frame.keep(~found[place])
        if kept.rows:
            yield kept


def _distinct(frame: Frame, outer: tuple[str, ...]) -> tuple[Frame, np.ndarray[tuple[int], np.dtype[np.int64]]]:
    """Each combination of the outer variables once, and which one each row has."""
    columns = frame.only(outer)
    if not outer:
        return Frame(1, {ROW: np.zeros(1, np.int64)}), np.zeros(frame.rows, np.int64)
    if len(outer) == 1:
        ((name, column),) = columns.columns.items()
        values, place = np.unique(column, return_inverse=True)
        return Frame(len(values), {name: values, ROW: np.arange(len(values))}), place
    merged = merge_frame(Frame(columns.rows, columns.columns))
    if merged.rows == frame.rows:
        return Frame(frame.rows, {**columns.columns, ROW: np.arange(frame.rows)}), np.arange(frame.rows)
    stacked = np.stack([columns.columns[name] for name in outer], axis=1)
    values2, place = np.unique(stacked, axis=0, return_inverse=True)
    each = {name: np.ascontiguousarray(values2[:, i]) for i, name in enumerate(outer)}
    return Frame(len(values2), {**each, ROW: np.arange(len(values2))}), place.reshape(-1)


def optional(step: st.Optional, frames: Iterator[Frame], run: Run, run_steps: RunSteps) -> Iterator[Frame]:
    """Rows extended by what the block finds; rows for which it finds nothing, with nobody in the new variables."""
    for frame in frames:
        run.budget.check("an optional block")
        start = Frame(frame.rows, {**frame.only(step.outer).columns, ROW: np.arange(frame.rows)})
        matched = np.zeros(frame.rows, np.bool_)
        for inner in run_steps(step.inner, run, step.bindings, start):
            rows = inner.columns[ROW]
            matched[rows] = True
            run.budget.check("an optional block")
            run.budget.hold(len(rows) * 8 * (len(frame.columns) + len(step.introduces)), "an optional block")
            if len(rows):
                yield frame.take(rows).with_columns(**{name: inner.columns[name] for name in step.introduces})
        alone = frame.keep(~matched)
        if alone.rows:
            yield alone.with_columns(**{name: np.full(alone.rows, -1) for name in step.introduces})
