"""Count walks without walking them.

From the far end inwards: every node there counts one (or zero, if it may not be reached); a node one hop earlier counts the sum
over its neighbours. A sum over neighbours is a difference of two running totals, so each hop costs one pass over the edges.

    a -Knows-> b -Knows-> c        c: 1 each      b: its number of neighbours      a: the sum of its neighbours' numbers
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from omnigraph.engine.arrays.column import Array
from omnigraph.engine.execution.evaluate import Scope, holds
from omnigraph.engine.execution.frame import Frame
from omnigraph.engine.execution.operators.expand import stepper
from omnigraph.engine.execution.run import Run, Traversal
from omnigraph.engine.planning import cost
from omnigraph.engine.planning import steps as st
from omnigraph.engine.planning.bindings import Binding


def count_walks(step: st.CountWalks, frames: Iterator[Frame], run: Run, bindings: dict[str, Binding]) -> Iterator[Frame]:
    """Rows weighted by the number of walks from each; rows without any are dropped."""
    totals: Array | None = None
    for frame in frames:
        run.budget.check("counting walks")
        sources = Scope(run, frame, bindings).nodes_of(step.source, step.walks[0].hop.source_type)
        if totals is None and (frame.rows <= cost.MAX_LOOKUP_NODES or run.traversal is Traversal.BTREE):
            counts = _of_few(step.walks, sources, run, bindings)
        else:
            if totals is None:
                totals = _of_all(step.walks, run, bindings)
            counts = _looked_up(totals, sources)
        weight = counts if frame.weight is None else counts * frame.weight
        kept = np.flatnonzero(weight)
        if len(kept):
            yield Frame(len(kept), {name: column[kept] for name, column in frame.columns.items()}, weight[kept])


def _looked_up(totals: Array, nodes: Array) -> Array:
    """The total of each node; none for nobody, and for nodes that are newer than the totals."""
    if not len(totals) or not len(nodes):
        return np.zeros(len(nodes), np.int64)
    if nodes.min() >= 0 and nodes.max() < len(totals):
        return totals[nodes]
    known = (nodes >= 0) & (nodes < len(totals))
    return np.where(known, totals[np.where(known, nodes, 0)], 0)


def _of_all(walks: tuple[st.Walk, ...], run: Run, bindings: dict[str, Binding]) -> Array:
    """Walks from every node."""
    totals: Array | None = None
    for walk in reversed(walks):
        adjacency = run.view.edges(walk.hop.edge).adjacency(walk.hop.direction)
        run.budget.check("counting walks")
        run.budget.hold(len(adjacency.neighbours) * 24, "counting walks")
        allowed = _allowed(walk, run, bindings)
        if totals is None and allowed is None:
            totals = adjacency.degree
            continue
        neighbours = adjacency.neighbours
        top = int(neighbours.max()) + 1 if len(neighbours) else 0
        values = np.zeros(top, np.int64)
        if totals is None:
            values[:] = 1
        else:
            values[: min(top, len(totals))] = totals[:top]
        if allowed is not None:
            permitted = np.zeros(top, np.bool_)
            permitted[: min(top, len(allowed))] = allowed[:top]
            values *= permitted
        running = np.zeros(len(neighbours) + 1, np.int64)
        np.cumsum(values[neighbours], out=running[1:])
        totals = running[adjacency.starts[1:]] - running[adjacency.starts[:-1]]
    assert totals is not None
    return totals


def _allowed(walk: st.Walk, run: Run, bindings: dict[str, Binding]) -> Array | None:
    """Which nodes a walk may reach, by number; None: all."""
    if not walk.conditions:
        return None
    nodes = run.view.nodes(walk.hop.target_type)
    numbers = nodes.all()
    frame = Frame(len(numbers), {walk.target: numbers})
    scope = Scope(run, frame, bindings)
    mask = np.ones(len(numbers), np.bool_)
    for condition in walk.conditions:
        mask &= holds(condition, scope)
    allowed = np.zeros(int(numbers.max()) + 1 if len(numbers) else 0, np.bool_)
    allowed[numbers[mask]] = True
    return allowed


def _of_few(walks: tuple[st.Walk, ...], sources: Array, run: Run, bindings: dict[str, Binding]) -> Array:
    """Walks from a few nodes: outwards, one row per distinct node at each hop and source."""
    index = np.flatnonzero(sources >= 0)
    rows, nodes = index, sources[index]
    weight = np.ones(len(rows), np.int64)
    for place, walk in enumerate(walks):
        step = stepper(run, walk.hop, nodes, hops=1)
        if place == len(walks) - 1 and not walk.conditions:
            weight = weight * step.degrees(nodes)
            break
        run.budget.check("counting walks")
        run.budget.hold(int(step.degrees(nodes).sum()) * 40 if run.budget.bytes else 0, "counting walks")
        found, reached = step.expand(nodes)
        rows, weight, nodes = rows[found], weight[found], reached.astype(np.int64)
        if walk.conditions:
            scope = Scope(run, Frame(len(nodes), {walk.target: nodes}), bindings)
            mask = np.ones(len(nodes), np.bool_)
            for condition in walk.conditions:
                mask &= holds(condition, scope)
            rows, weight, nodes = rows[mask], weight[mask], nodes[mask]
        run.budget.hold(rows.nbytes * 3, "counting walks")
    counts = np.zeros(len(sources), np.int64)
    np.add.at(counts, rows, weight)
    return counts
