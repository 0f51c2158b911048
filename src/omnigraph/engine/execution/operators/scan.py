"""Scans and lookups: where rows begin.

Nodes come in row order, a morsel at a time, and conditions are evaluated on slices of whole columns. A scan that will stop early
starts with a small morsel. A condition that an index answers, on a column that is not in memory, goes to the index instead.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from omnigraph.catalog import logical as lg
from omnigraph.catalog.keys import entity_id
from omnigraph.engine.arrays.column import Array, Vec
from omnigraph.engine.arrays.numbering import Numbers
from omnigraph.engine.cost import ledger
from omnigraph.engine.execution.evaluate import TRIED_AT_ONCE, Scope, constant, holds, keeping
from omnigraph.engine.execution.frame import TYPE_SHIFT, Frame
from omnigraph.engine.execution.operators.pushdown import selective_filter
from omnigraph.engine.execution.run import Run
from omnigraph.engine.planning import steps as st
from omnigraph.engine.planning.bindings import Binding, NodeBinding
from omnigraph.engine.planning.parameters import Value
from omnigraph.engine.snapshot.nodes import Nodes
from omnigraph.errors import KeyValueError

MORSEL_ROWS = 1 << 17
FIRST_MORSEL_ROWS = 1 << 11


class _Slice(Scope):
    """Consecutive rows of one node type."""

    __slots__ = ("_nodes", "_start", "_stop")

    def __init__(self, run: Run, frame: Frame, bindings: dict[str, Binding], nodes: Nodes, start: int, stop: int) -> None:
        super().__init__(run, frame, bindings)
        self._nodes, self._start, self._stop = nodes, start, stop

    def property(self, variable: str, name: str) -> Vec:
        if name == "id":
            return self.ids(variable)
        column = self.run.reading_nodes(self._nodes.type.name, name, lambda: self._nodes.stored.column(name))
        return column.vec.slice(self._start, self._stop)


def scan(step: st.Scan, frames: Iterator[Frame], run: Run, bindings: dict[str, Binding]) -> Iterator[Frame]:
    """Every node for which the conditions hold, crossed with the rows so far."""
    for outer in frames:
        for numbers, extra in _candidates(step, run, bindings):
            run.budget.check(f"scanning {step.variable}")
            part = Frame(len(numbers), {step.variable: numbers, **extra})
            yield from _crossed(outer, part, run)


def _crossed(outer: Frame, part: Frame, run: Run) -> Iterator[Frame]:
    if outer.rows == 1 and not outer.columns:
        if part.rows:
            yield part
        return
    width = len(outer.columns) + len(part.columns) + 1
    most = run.budget.rows(width, 1 << 20)
    if part.rows > most:
        for row in range(outer.rows):
            for start in range(0, part.rows, most):
                yield _product(outer.slice(row, row + 1), part.slice(start, start + most), width, run)
        return
    per_chunk = max(1, most // max(1, part.rows))
    for start in range(0, outer.rows if part.rows else 0, per_chunk):
        yield _product(outer.slice(start, start + per_chunk), part, width, run)


def _product(outer: Frame, part: Frame, width: int, run: Run) -> Frame:
    """Each row of one frame with each of the other."""
    run.budget.check("a cross product")
    run.budget.hold(outer.rows * part.rows * width * 8, "a cross product")
    rows = np.repeat(np.arange(outer.rows), part.rows)
    return outer.take(rows).with_columns(**{n: np.tile(c, outer.rows) for n, c in part.columns.items()})


def _candidates(step: st.Scan, run: Run, bindings: dict[str, Binding]) -> Iterator[tuple[Numbers, dict[str, Array]]]:
    if step.rankings:
        yield from run.search.ranked(step, lambda type_: _all_of(step, type_, run, bindings))
        return
    for place, type_ in enumerate(step.types):
        for numbers in _of_type(step, type_, run, bindings):
            yield numbers | (place << TYPE_SHIFT) if place else numbers, {}


def _all_of(step: st.Scan, type_: str, run: Run, bindings: dict[str, Binding]) -> Numbers | None:
    """Nodes of a type for which the conditions hold; None: all of them."""
    if not step.conditions:
        return None
    parts = list(_of_type(step, type_, run, bindings))
    return np.concatenate(parts) if parts else np.empty(0, np.int64)


def _of_type(step: st.Scan, type_: str, run: Run, bindings: dict[str, Binding]) -> Iterator[Numbers]:
    nodes = run.view.nodes(type_)
    single: dict[str, Binding] = bindings if len(step.types) == 1 else {**bindings, step.variable: NodeBinding((type_,))}
    found = _through_index(step, nodes, run)
    if found is not None:
        frame = Frame(len(found), {step.variable: found})
        for condition in step.conditions:
            frame = keeping(frame, condition, run, single, f"scanning {step.variable}")
        yield frame.columns[step.variable]
        return
    numbers = run.reading_nodes(type_, "id", nodes.all)
    morsel = run.budget.rows(1, MORSEL_ROWS)
    if step.conditions and run.budget.limited:
        morsel = min(morsel, TRIED_AT_ONCE)
    size = FIRST_MORSEL_ROWS if step.stop_early else morsel
    is_first = len(step.types) == 1 and bool(run.steps) and run.steps[0] is step
    start = 0
    while start < len(numbers):
        if start:
            run.budget.check(f"scanning {step.variable}")
        stop = min(start + size, len(numbers))
        part = numbers[start:stop]
        if step.conditions:
            scope = _Slice(run, Frame(len(part), {step.variable: part}), single, nodes, start, stop)
            mask = holds(step.conditions[0], scope)
            for condition in step.conditions[1:]:
                mask = mask & holds(condition, scope)
            part = part[mask]
        if len(part):
            if is_first and not step.stop_early:
                run.share = stop / len(numbers)
            yield part
        start, size = stop, min(size * 4, morsel)


def _through_index(step: st.Scan, nodes: Nodes, run: Run) -> Numbers | None:
    """Nodes an index finds, as long as that saves reading a column; the conditions are evaluated again on them."""
    where = selective_filter(step.conditions, nodes, run)
    if where is None:
        return None
    if run.trace is not None:
        run.trace.note("index")
    if nodes.loaded:
        rows, _ = nodes.stored.found(where, [])
        return nodes.all()[np.sort(rows)]
    nodes.stored.account("id").charge(ledger.filter_seconds(nodes.count))
    _, found = nodes.stored.found(where, ["id"], positions=False)
    return nodes.intern(found["id"].combine_chunks())


def lookup(step: st.Lookup, frames: Iterator[Frame], run: Run, bindings: dict[str, Binding]) -> Iterator[Frame]:
    """The node with a key, crossed with the rows so far."""
    nodes = run.view.nodes(step.type)
    id_ = _id(step, nodes, run)
    number = -1 if id_ is None else run.reading_nodes(step.type, "id", lambda: nodes.number(id_))
    if number < 0:
        return
    part = Frame(1, {step.variable: np.array([number], np.int64)})
    for condition in step.conditions:
        part = keeping(part, condition, run, bindings, f"looking up {step.variable}")
    for outer in frames:
        run.budget.check(f"looking up {step.variable}")
        yield from _crossed(outer, part, run)


def _id(step: st.Lookup, nodes: Nodes, run: Run) -> str | None:
    """The id that key values make; None when no node can have them."""
    key = nodes.type.key
    values: dict[str, Value] = {}
    for name, expression in step.key:
        given = constant(expression, run)
        if given is None or name == "id":
            return given if isinstance(given, str) else None
        scalar = nodes.type.properties[name].type.scalar
        if scalar.is_integer and isinstance(given, float):
            if not given.is_integer():
                return None
            given = int(given)
        values[name] = given
    if len(key) == 1 and isinstance(only := values[key[0].name], str):
        return only
    try:
        return entity_id(key, values)  # type: ignore[arg-type]
    except KeyValueError:
        return None  # out of range or not finite: nobody has it


def scan_edges(step: st.EdgeScan, frames: Iterator[Frame], run: Run) -> Iterator[Frame]:
    """Every edge with its ends."""
    edges = run.view.edges(step.hop.edge)
    ends = run.holding(step.hop.edge, "ends", edges.ends)
    near, far = (ends.sources, ends.targets)
    if step.hop.direction is lg.HopDirection.IN:
        near, far = far, near
    for outer in frames:
        at_once = run.budget.rows(3, MORSEL_ROWS * 8)
        for start in range(0, edges.count, at_once):
            run.budget.check("scanning edges")
            part = slice(start, min(start + at_once, edges.count))
            columns: dict[str, Array] = {step.source: near[part], step.target: far[part]}
            if step.edge_variable is not None:
                columns[step.edge_variable] = np.arange(part.start, part.stop)
            yield from _crossed(outer, Frame(part.stop - part.start, columns), run)


__all__ = ["lookup", "scan", "scan_edges"]
