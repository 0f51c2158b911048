"""Count walks without enumerating them.

From the far end inwards: every node there counts one (or zero, if it may not be reached); a node one hop earlier counts the sum
over its neighbours. A sum over neighbours is a difference of two running totals, so each hop costs one pass over the edges.

    a -Knows-> b -Knows-> c        c: 1 each      b: its number of neighbours      a: the sum of its neighbours' numbers

For a few nodes the same is done with nothing but what they reach: outwards the set of nodes at each hop, each once, and inwards
the sums. Neither way takes longer because there are many walks, and counts never wrap (`counts`).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from omnigraph.engine.arrays.column import Array, Mask
from omnigraph.engine.arrays.numbering import Numbers, each_once
from omnigraph.engine.cost import ledger
from omnigraph.engine.execution.choosing import looks_up
from omnigraph.engine.execution.evaluate import Scope, holds
from omnigraph.engine.execution.frame import Frame
from omnigraph.engine.execution.operators import counts
from omnigraph.engine.execution.operators.expand import Looked, adjacency_of, stepper
from omnigraph.engine.execution.run import Run
from omnigraph.engine.planning import steps as st
from omnigraph.engine.planning.bindings import Binding
from omnigraph.engine.snapshot.adjacency import Adjacency, distinct

_EDGES_AT_ONCE = 1 << 20
"""Edges that are summed up between two looks at the clock: some milliseconds."""

_SPARSE = 16
"""Searching beats a place for every number when fewer than one in so many is there."""

_WHAT = "counting walks"


def count_walks(step: st.CountWalks, frames: Iterator[Frame], run: Run, bindings: dict[str, Binding]) -> Iterator[Frame]:
    """Rows weighted by the number of walks from each; rows without any are dropped."""
    totals: Array | None = None
    for frame in frames:
        run.budget.check(_WHAT)
        sources = Scope(run, frame, bindings).nodes_of(step.source, step.walks[0].hop.source_type)
        if totals is None and (frame.rows <= ledger.FEW_WALKS or looks_up(run, step.walks[0].hop, frame.rows)):
            found = _of_few(step.walks, sources, run, bindings)
        else:
            if totals is None:
                totals = _of_all(step.walks, run, bindings)
            found = _looked_up(totals, sources)
        weight = found if frame.weight is None else counts.times(found, frame.weight)
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


# ── from every node ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _of_all(walks: tuple[st.Walk, ...], run: Run, bindings: dict[str, Binding]) -> Array:
    """Walks from every node."""
    totals: Array | None = None
    for walk in reversed(walks):
        adjacency = adjacency_of(run, walk.hop.edge, walk.hop.direction)
        run.budget.check(_WHAT)
        top = int(adjacency.neighbours.max()) + 1 if len(adjacency.neighbours) else 0
        run.budget.hold((top + 2 * adjacency.nodes + 3 * min(_EDGES_AT_ONCE, len(adjacency.neighbours))) * 8, _WHAT)
        allowed = _allowed(walk, run, bindings)
        if totals is None and allowed is None:
            totals = adjacency.degree
            continue
        values = np.zeros(top, np.int64)
        if totals is None:
            values[:] = 1
        else:
            values[: min(top, len(totals))] = totals[:top]
        if allowed is not None:
            permitted = np.zeros(top, np.bool_)
            permitted[: min(top, len(allowed))] = allowed[:top]
            values *= permitted
        totals = _summed(adjacency, values, run)
    assert totals is not None
    return totals


def _summed(adjacency: Adjacency, values: Array, run: Run) -> Array:
    """For every node the sum of the values of its neighbours."""
    totals = np.zeros(adjacency.nodes, np.int64)
    largest = int(values.max()) if len(values) else 0
    start = 0
    while start < adjacency.nodes:
        run.budget.check(_WHAT)
        first = int(adjacency.starts[start])
        stop = max(start + 1, int(np.searchsorted(adjacency.starts, first + _EDGES_AT_ONCE, side="right")) - 1)
        neighbours = adjacency.neighbours[first : int(adjacency.starts[stop])]
        totals[start:stop] = counts.in_turn(values[neighbours], adjacency.degree[start:stop], largest)
        start = stop
    return totals


def _allowed(walk: st.Walk, run: Run, bindings: dict[str, Binding]) -> Mask | None:
    """Which nodes a walk may reach, by number; None: all."""
    if not walk.conditions:
        return None
    numbers = run.reading_nodes(walk.hop.target_type, "id", run.view.nodes(walk.hop.target_type).all)
    allowed = np.zeros(int(numbers.max()) + 1 if len(numbers) else 0, np.bool_)
    allowed[numbers[_holding(walk, numbers, run, bindings)]] = True
    return allowed


def _holding(walk: st.Walk, numbers: Numbers, run: Run, bindings: dict[str, Binding]) -> Mask:
    """For which nodes the conditions of a walk hold."""
    mask = np.ones(len(numbers), np.bool_)
    most = run.budget.rows(1, max(1, len(numbers)))
    for start in range(0, len(numbers), most):
        some = numbers[start : start + most]
        scope = Scope(run, Frame(len(some), {walk.target: some}), bindings)
        for condition in walk.conditions:
            run.budget.check(_WHAT)
            mask[start : start + most] &= holds(condition, scope)
    return mask


# ── from a few ───────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _of_few(walks: tuple[st.Walk, ...], sources: Array, run: Run, bindings: dict[str, Binding]) -> Array:
    """Walks from a few nodes."""
    if len(sources) == 1 and sources[0] >= 0:
        return _from(sources, walks, run, bindings)
    there = sources >= 0
    nodes = each_once(sources[there])
    if not len(nodes):
        return np.zeros(len(sources), np.int64)
    totals = _from(nodes, walks, run, bindings)
    places = np.searchsorted(nodes, np.where(there, sources, nodes[0]))
    return np.where(there, totals[places], 0)


def _from(nodes: Numbers, walks: tuple[st.Walk, ...], run: Run, bindings: dict[str, Binding]) -> Array:
    """Walks from each of some distinct nodes: outwards what they reach, inwards how often."""
    hops: list[tuple[Adjacency | Looked, Numbers, Numbers, Mask | None]] = []
    """For each hop what knows its neighbours, the nodes it starts from, those it reaches, and which of them it may reach."""
    held = 0
    for place, walk in enumerate(walks):
        run.budget.check(_WHAT)
        known = stepper(run, walk.hop, nodes)
        if not any(rest.conditions for rest in walks[place:]) and len(walks) - place <= 2:
            totals = _degrees(known, nodes, walks[place + 1 :], run)
            break
        reached = _reached(known, nodes, run)
        allowed = _holding(walk, reached, run, bindings) if walk.conditions else None
        hops.append((known, nodes, reached, allowed))
        nodes = reached if allowed is None else reached[allowed]
        held += reached.nbytes * 3
        run.budget.hold(held, _WHAT)
    else:
        totals = np.ones(len(nodes), np.int64)
    for known, starting, reached, allowed in reversed(hops):
        values = totals
        if allowed is not None:
            values = np.zeros(len(reached), np.int64)
            values[allowed] = totals
        by_number = _by_number(reached, values)
        parts = []
        for some in _batches(known, starting, run):
            neighbours, lengths = known.neighbours_of(some)
            found = values[np.searchsorted(reached, neighbours)] if by_number is None else by_number[neighbours]
            parts.append(counts.in_turn(found, lengths))
        totals = _joined(parts)
    return totals


def _degrees(known: Adjacency | Looked, nodes: Numbers, last: tuple[st.Walk, ...], run: Run) -> Array:
    """Walks of one hop, or of two, that may lead anywhere: neighbours, or the neighbours they have."""
    if not last:
        return known.degrees(nodes)
    parts = []
    for some in _batches(known, nodes, run):
        neighbours, lengths = known.neighbours_of(some)
        parts.append(counts.in_turn(stepper(run, last[0].hop, neighbours).degrees(neighbours), lengths))
    return _joined(parts)


def _by_number(nodes: Numbers, values: Array) -> Array | None:
    """Values with a place for every number up to that of the last node, where that does not take too many."""
    if not len(nodes) or (top := int(nodes[-1]) + 1) > _SPARSE * len(nodes):
        return None
    found = np.zeros(top, np.int64)
    found[nodes] = values
    return found


def _joined(parts: list[Array]) -> Array:
    return parts[0] if len(parts) == 1 else np.concatenate(parts) if parts else np.empty(0, np.int64)


def _reached(known: Adjacency | Looked, nodes: Numbers, run: Run) -> Numbers:
    """Distinct neighbours of some nodes, ascending."""
    parts = [known.reached(some) for some in _batches(known, nodes, run)]
    if not parts:
        return np.empty(0, np.int64)
    return parts[0] if len(parts) == 1 else distinct(np.concatenate(parts))


def _batches(known: Adjacency | Looked, nodes: Numbers, run: Run) -> Iterator[Numbers]:
    """Nodes in parts that have no more than `_EDGES_AT_ONCE` edges, as far as single nodes allow."""
    if len(nodes) <= 1:
        if len(nodes):
            yield nodes
        return
    ends = np.cumsum(known.degrees(nodes))
    start = 0
    while start < len(nodes):
        run.budget.check(_WHAT)
        before = int(ends[start - 1]) if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, before + _EDGES_AT_ONCE, side="right")))
        run.budget.hold((int(ends[stop - 1]) - before) * 40 if run.budget.bytes else 0, _WHAT)
        yield nodes[start:stop]
        start = stop
