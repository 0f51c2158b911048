"""Hops: from the nodes of each row to those next to them.

`stepper` gives something that knows neighbours: the adjacency of the edge type, or a small adjacency of just the nodes at hand,
looked up in the index. Everything else works on either. A large frame is expanded in chunks, so that no more rows exist at once
than the next operator needs.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial

import numpy as np

from omnigraph.catalog.logical import HopDirection
from omnigraph.engine.arrays.column import Array, Mask
from omnigraph.engine.arrays.numbering import Numbers, distinct_count, each_once, has_nobody
from omnigraph.engine.execution.budget import BATCH_ROWS
from omnigraph.engine.execution.choosing import look_up, looks_up
from omnigraph.engine.execution.evaluate import Scope, keeping
from omnigraph.engine.execution.frame import Frame, in_batches
from omnigraph.engine.execution.operators.merge import merge_numbers
from omnigraph.engine.execution.run import Run
from omnigraph.engine.execution.walk import Step, walk, walk_from_one
from omnigraph.engine.planning import steps as st
from omnigraph.engine.planning.bindings import Binding
from omnigraph.engine.snapshot.adjacency import Adjacency, build

CHUNK_ROWS = 1 << 20
"""About how many rows an expansion makes at once."""

_WALK_SOURCES = 4_096
"""Sources whose walks of several hops are made at once."""

_EDGE_SOURCES = 1_024
"""Sources whose edges are looked up at once in a query that has limits."""

_EDGE_BYTES = 56
"""Bytes that are in use per edge while edges are listed."""

_PARTS = 64
_NOBODY = np.empty(0, np.int64)


class Looked:
    """Neighbours of the nodes that were looked up, and of no others."""

    def __init__(self, nodes: Numbers, adjacency: Adjacency) -> None:
        self._nodes = nodes
        self._adjacency = adjacency

    def degrees(self, sources: Numbers) -> Numbers:
        return self._adjacency.degrees(np.searchsorted(self._nodes, sources))

    def expand(self, sources: Numbers) -> tuple[Numbers, Array]:
        return self._adjacency.expand(np.searchsorted(self._nodes, sources))

    def neighbours_of(self, sources: Numbers) -> tuple[Array, Numbers]:
        return self._adjacency.neighbours_of(np.searchsorted(self._nodes, sources))

    def reached(self, sources: Numbers) -> Numbers:
        return self._adjacency.reached(np.searchsorted(self._nodes, sources))

    def connects(self, sources: Numbers, targets: Numbers) -> Mask:
        return self._adjacency.connects(np.searchsorted(self._nodes, sources), targets)


_TURN_ROWS = 65_536
"""From this many rows on it may pay to have the adjacency of the other direction too."""


def stepper(run: Run, hop: st.Hop, sources: Numbers, hops: int = 1) -> Adjacency | Looked:
    """What knows the neighbours of some nodes. `hops`: this one and those that follow it in the same traversal."""
    if looks_up(run, hop, len(sources), hops=hops):
        found = looked_up(run, hop, sources)
        if found is not None:
            return found
    if run.trace is not None:
        run.trace.note("adjacency")
    return adjacency_of(run, hop.edge, hop.direction)


def adjacency_of(run: Run, edge: str, direction: HopDirection) -> Adjacency:
    """The adjacency of an edge type."""
    return run.holding(edge, direction.value, lambda: run.view.edges(edge).adjacency(direction))


def looked_up(run: Run, hop: st.Hop, sources: Numbers) -> Looked | None:
    """Neighbours of some nodes, without adjacency; None: it took longer than adjacency would."""
    nodes = each_once(sources[sources >= 0])
    near, far = [], []
    for way in _ways(hop):
        found = look_up(run, hop, way, nodes, positions=False)
        if found is None:
            return None
        near.append(found[0])
        far.append(found[1])
    ends = np.searchsorted(nodes, np.concatenate(near))
    return Looked(nodes, build(ends, np.concatenate(far), len(nodes)))


def expand(step: st.Expand, frames: Iterator[Frame], run: Run, bindings: dict[str, Binding]) -> Iterator[Frame]:
    """Rows extended by the nodes a hop leads to."""
    hop = step.hop
    what = f"expanding {step.source} {hop} {step.target}"
    for frame in frames:
        run.budget.check(what)
        if hop.maximum < hop.minimum:
            continue
        sources = Scope(run, frame, bindings).nodes_of(step.source, hop.source_type)
        if step.edge_variable is not None:
            found = _edges(step, frame, sources, run)
        elif hop.single:
            found = _neighbours(step, frame, sources, run)
        else:
            found = _walks(step, frame, sources, run)
        for part in found:
            run.budget.check(what)
            run.budget.hold(part.nbytes, what)
            for condition in step.conditions:
                part = keeping(part, condition, run, bindings, what)
            if part.rows:
                yield part


def reach(step: st.Reach, frames: Iterator[Frame], run: Run, bindings: dict[str, Binding]) -> Iterator[Frame]:
    """The nodes a hop leads to from any row, each once."""
    hop = step.hop
    what = f"reaching {step.source} {hop} {step.target}"
    parts: list[Frame] = []
    for frame in frames:
        run.budget.check(what)
        sources = Scope(run, frame, bindings).nodes_of(step.source, hop.source_type)
        weight = frame.weight
        if has_nobody(sources):
            there = sources >= 0
            sources, weight = sources[there], None if weight is None else weight[there]
        if len(sources):
            known = stepper(run, hop, sources)
            if not run.budget.limited:
                parts.append(_reached(step, known, sources, weight))
                continue
            for chunk, some in _chunks(Frame(len(sources), {}, weight), sources, known, run):
                work = partial(_reached, step, known, some, chunk.weight)
                parts.append(run.budget.aside(work, int(known.degrees(some).sum()), what))
                if len(parts) > _PARTS:
                    parts = [_reached_together(step, parts, run)]
                run.budget.hold(sum(part.nbytes for part in parts), what)
    if not parts:
        return
    found = parts[0] if len(parts) == 1 else _reached_together(step, parts, run)
    for part in in_batches(found, run.budget.rows(2, max(1, found.rows))):
        for condition in step.conditions:
            part = keeping(part, condition, run, bindings, what)
        if part.rows:
            yield part


def _reached(step: st.Reach, known: Adjacency | Looked, sources: Numbers, weight: Array | None) -> Frame:
    if not step.weighted:
        targets = known.reached(sources) if len(sources) else _NOBODY
        return Frame(len(targets), {step.target: targets})
    neighbours, counts = known.neighbours_of(sources)
    targets, walks = merge_numbers(neighbours.astype(np.int64), None if weight is None else weight.repeat(counts))
    return Frame(len(targets), {step.target: targets}, walks)


def _reached_together(step: st.Reach, parts: list[Frame], run: Run) -> Frame:
    rows = sum(part.rows for part in parts)
    return run.budget.aside(lambda: _reached_once(step, parts), rows, f"reaching {step.source} {step.hop} {step.target}")


def _reached_once(step: st.Reach, parts: list[Frame]) -> Frame:
    targets = np.concatenate([part.columns[step.target] for part in parts])
    if not step.weighted:
        once = each_once(targets)
        return Frame(len(once), {step.target: once})
    once, walks = merge_numbers(targets, np.concatenate([part.weight for part in parts if part.weight is not None]))
    return Frame(len(once), {step.target: once}, walks)


def _neighbours(step: st.Expand, frame: Frame, sources: Numbers, run: Run) -> Iterator[Frame]:
    known = stepper(run, step.hop, sources)
    if frame.rows == 1 and isinstance(known, Adjacency) and not run.budget.limited:
        targets = known.of(int(sources[0]))
        if len(targets):
            one = {name: np.repeat(column, len(targets)) for name, column in frame.columns.items()}
            weight = None if frame.weight is None else np.repeat(frame.weight, len(targets))
            yield Frame(len(targets), {**one, step.target: targets.astype(np.int64)}, weight)
        return
    most = run.budget.rows(len(frame.columns) + 2, sys.maxsize)
    for chunk, part in _chunks(frame, sources, known, run):
        rows, targets = _expanded(known, part, run, f"expanding {step.source} {step.hop} {step.target}")
        for start in range(0, len(rows), most):  # a single node may have more neighbours than there may be rows
            some = slice(start, start + most)
            yield chunk.take(rows[some]).with_columns(**{step.target: targets[some].astype(np.int64)})


def _expanded(known: Adjacency | Looked, sources: Numbers, run: Run, what: str) -> tuple[Numbers, Array]:
    """Neighbours of nodes: index of the node, neighbour. A single one may have any number."""
    if not run.budget.limited:
        return known.expand(sources)
    if len(sources) > 1:
        run.budget.check(what)
        return known.expand(sources)
    return run.budget.aside(partial(known.expand, sources), int(known.degrees(sources)[0]), what)


def _chunks(frame: Frame, sources: Numbers, known: Adjacency | Looked, run: Run) -> Iterator[tuple[Frame, Numbers]]:
    """Rows in parts that do not grow beyond `CHUNK_ROWS`, or what the budget allows, as far as single rows allow."""
    most = run.budget.rows(len(frame.columns) + 2, CHUNK_ROWS)
    if frame.rows == 1:
        if sources[0] >= 0:
            yield frame, sources
        return
    if sources.min() < 0:
        frame, sources = frame.keep(sources >= 0), sources[sources >= 0]
    total = np.cumsum(known.degrees(sources)) if frame.rows else sources
    if not len(total) or total[-1] <= most:
        if frame.rows:
            yield frame, sources
        return
    start = 0
    while start < frame.rows:
        before = int(total[start - 1]) if start else 0
        stop = max(start + 1, int(np.searchsorted(total, before + most, side="right")))
        yield frame.slice(start, stop), sources[start:stop]
        start = stop


def _walks(step: st.Expand, frame: Frame, sources: Numbers, run: Run) -> Iterator[Frame]:
    at_once = walk_sources(step.hop, run)
    width = len(frame.columns) + 1
    most = run.budget.rows(width, CHUNK_ROWS * 64)
    for start in range(0, frame.rows, at_once):
        part = sources[start : start + at_once]
        rows, targets = walks(step.hop, part, run)
        for place in range(0, len(rows), most):
            run.budget.check(f"expanding {step.source} {step.hop} {step.target}")
            some = slice(place, place + most)
            yield frame.take(rows[some] + start).with_columns(**{step.target: targets[some]})


def walk_sources(hop: st.Hop, run: Run) -> int:
    """Sources whose walks are made at once: each may reach every node."""
    if not run.budget.limited:
        return _WALK_SOURCES
    reachable = max(1, len(run.view.nodes(hop.target_type).numbering))
    return max(1, min(_WALK_SOURCES, run.budget.rows(6, 8 * _WALK_SOURCES) * 4 // reachable))


def walks(hop: st.Hop, sources: Numbers, run: Run) -> tuple[Numbers, Numbers]:
    """Nodes within the bounds of a hop: index of the source, node."""
    there = sources >= 0
    if not there.all():
        kept = np.flatnonzero(there)
        rows, targets = walks(hop, sources[kept], run)
        return kept[rows], targets
    if looks_up(run, hop, len(sources), hops=hop.maximum):
        return _walked(hop, sources, lambda nodes: batches(stepper(run, hop, nodes), nodes, run))
    if run.trace is not None:
        run.trace.note("adjacency")
    adjacency = adjacency_of(run, hop.edge, hop.direction)
    if len(sources) == 1 and sources[0] < adjacency.nodes:
        nodes = max(adjacency.nodes, len(run.view.nodes(hop.target_type).numbering))

        def reached(frontier: Numbers) -> Numbers:
            edges = int(adjacency.degrees(frontier).sum())
            run.budget.hold(nodes * 3 + edges * 4 if run.budget.bytes else 0, "walking")
            return run.budget.aside(partial(adjacency.reached, frontier), edges, "walking")

        hopped = reached if run.budget.limited else adjacency.reached
        loops = _padded(adjacency, nodes)
        found = walk_from_one(int(sources[0]), hop.minimum, hop.maximum, nodes, hopped, loops, turned=hop.turned)
        return np.zeros(len(found), np.int64), found
    distinct, inverse = np.unique(sources, return_inverse=True)
    if len(distinct) < len(sources):
        rows, targets = _walked(hop, distinct, lambda nodes: batches(adjacency, nodes, run))
        per_source = np.searchsorted(rows, np.arange(len(distinct) + 1))
        index, places = _spread(per_source, inverse)
        return index, targets[places]
    return _walked(hop, sources, lambda nodes: batches(adjacency, nodes, run))


def _walked(hop: st.Hop, sources: Numbers, step: Step) -> tuple[Numbers, Numbers]:
    return walk(sources, hop.minimum, hop.maximum, step, turned=hop.turned)


def batches(known: Adjacency | Looked, nodes: Numbers, run: Run) -> Iterator[tuple[Numbers, Array]]:
    """Neighbours of nodes, some at a time: index of the node, neighbour."""
    if not run.budget.limited:
        yield known.expand(nodes)
        return
    most = run.budget.rows(6, BATCH_ROWS * 4)
    total = np.cumsum(known.degrees(nodes))
    start = 0
    while start < len(nodes):
        run.budget.check("walking")
        before = int(total[start - 1]) if start else 0
        stop = max(start + 1, int(np.searchsorted(total, before + most, side="right")))
        index, neighbours = _expanded(known, nodes[start:stop], run, "walking")
        yield index + start, neighbours
        start = stop


def _spread(starts: Numbers, which: Numbers) -> tuple[Numbers, Numbers]:
    counts = starts[which + 1] - starts[which]
    ends = np.cumsum(counts)
    places = np.arange(int(counts.sum())) + np.repeat(starts[which] - (ends - counts), counts)
    return np.repeat(np.arange(len(which)), counts), places


def _padded(adjacency: Adjacency, nodes: int) -> Mask | None:
    loops = adjacency.loops
    if loops is None or len(loops) == nodes:
        return loops
    found = np.zeros(nodes, np.bool_)
    found[: len(loops)] = loops
    return found


def _edges(step: st.Expand, frame: Frame, sources: Numbers, run: Run) -> Iterator[Frame]:
    assert step.edge_variable is not None
    most = run.budget.rows(len(frame.columns) + 3, CHUNK_ROWS)
    what = f"expanding {step.source} {step.hop} {step.target}"
    for rows, edges, others in _edges_in_parts(step.hop, sources, most, run, what):
        for start in range(0, len(rows), most):
            part = slice(start, start + most)
            yield frame.take(rows[part]).with_columns(**{step.edge_variable: edges[part], step.target: others[part]})


def _edges_in_parts(hop: st.Hop, sources: Numbers, most: int, run: Run, what: str) -> Iterator[tuple[Numbers, Numbers, Numbers]]:
    """What `edges_of` gives, in a query that has limits of so many nodes at a time that they have some number of edges.

    A single node may have more.
    """
    if not run.budget.limited:
        yield edges_of(hop, sources, run)
        return
    total = _edge_counts(hop, sources, run)
    start = 0
    while start < len(sources):
        before = int(total[start - 1]) if start else 0
        stop = max(start + 1, int(np.searchsorted(total, before + most, side="right")))
        stop = min(stop, start + _EDGE_SOURCES) if total[-1] == 0 else stop
        count = int(total[stop - 1]) - before
        run.budget.hold(count * _EDGE_BYTES if run.budget.bytes else 0, what)
        rows, edges, others = run.budget.aside(partial(edges_of, hop, sources[start:stop], run), count, what)
        yield rows + start if start else rows, edges, others
        start = stop


def _edge_counts(hop: st.Hop, sources: Numbers, run: Run) -> Numbers:
    """How many edges nodes have, added up along them; none where that is not known without looking them up."""
    counts = np.zeros(len(sources), np.int64)
    known = run.view.edges(hop.edge)
    for way in _ways(hop):
        if not looks_up(run, hop, len(sources), way=way):
            lists = run.holding(hop.edge, f"lists {way.value}", partial(known.edge_lists, way))
            counts += lists.degrees(sources)
    return np.cumsum(counts)


def _ways(hop: st.Hop) -> tuple[HopDirection, ...]:
    return (HopDirection.OUT, HopDirection.IN) if hop.direction is HopDirection.BOTH else (hop.direction,)


def edges_of(hop: st.Hop, sources: Numbers, run: Run) -> tuple[Numbers, Numbers, Numbers]:
    """Every edge of each node, a self-loop once: index of the source, edge row, node at the other end."""
    parts: list[tuple[Numbers, Numbers, Numbers]] = []
    for way in _ways(hop):
        rows, edges, others = _edges_one_way(hop, way, sources, run)
        if len(parts) == 1:  # seen from the other side a self-loop is the same edge again
            fresh = others != sources[rows]
            rows, edges, others = rows[fresh], edges[fresh], others[fresh]
        parts.append((rows, edges, others))
    if len(parts) == 1:
        return parts[0]
    rows, edges, others = (np.concatenate([p[i] for p in parts]) for i in range(3))
    order = np.argsort(rows, kind="stable")
    return rows[order], edges[order], others[order]


def _edges_one_way(hop: st.Hop, way: HopDirection, sources: Numbers, run: Run) -> tuple[Numbers, Numbers, Numbers]:
    known = run.view.edges(hop.edge)
    if looks_up(run, hop, len(sources), way=way):
        nodes = each_once(sources[sources >= 0])
        found_edges = look_up(run, hop, way, nodes, positions=True)
        if found_edges is not None:
            near, far, edges = found_edges
            order = np.lexsort([edges, near])
            near, far, edges = near[order], far[order], edges[order]
            starts = np.searchsorted(near, np.append(nodes, np.iinfo(np.int64).max))
            index = np.flatnonzero(sources >= 0)
            rows, places = _spread(starts, np.searchsorted(nodes, sources[index]))
            return index[rows], edges[places], far[places]
    if run.trace is not None:
        run.trace.note("adjacency")
    rows, found, others = run.holding(hop.edge, f"lists {way.value}", lambda: known.edge_lists(way)).expand(sources)
    return rows, found.astype(np.int64), others.astype(np.int64)


def close(step: st.Close, frames: Iterator[Frame], run: Run, bindings: dict[str, Binding]) -> Iterator[Frame]:
    """Rows whose two nodes a hop connects."""
    hop = step.hop
    what = f"closing {step.source} {hop} {step.target}"
    for frame in frames:
        run.budget.check(what)
        scope = Scope(run, frame, bindings)
        sources = scope.nodes_of(step.source, hop.source_type)
        targets = scope.nodes_of(step.target, hop.target_type)
        if hop.maximum < hop.minimum:
            continue
        if step.edge_variable is not None:
            most = run.budget.rows(4, max(1, frame.rows))
            for rows, edges, others in _edges_in_parts(hop, sources, most, run, what):
                kept = others == targets[rows]
                if kept.any():
                    yield frame.take(rows[kept]).with_columns(**{step.edge_variable: edges[kept]})
            continue
        if hop.single:
            found = frame.keep(_connected_rows(hop, sources, targets, run))
        else:
            found = frame.keep(_reaches(hop, sources, targets, run))
        if found.rows:
            yield found


def _connected_rows(hop: st.Hop, sources: Numbers, targets: Numbers, run: Run) -> Mask:
    """Row by row, whether there is an edge; there is none from or to nobody."""
    if not has_nobody(sources) and not has_nobody(targets):
        return _connected(hop, sources, targets, run)
    there = (sources >= 0) & (targets >= 0)
    connected = np.zeros(len(sources), np.bool_)
    connected[there] = _connected(hop, sources[there], targets[there], run)
    return connected


def _connected(hop: st.Hop, sources: Numbers, targets: Numbers, run: Run) -> Mask:
    """Row by row, whether there is an edge; asked from the side that has fewer nodes."""
    known = stepper(run, hop, sources)
    if len(sources) < _TURN_ROWS or not isinstance(known, Adjacency):
        return known.connects(sources, targets)
    if distinct_count(targets) * 2 >= distinct_count(sources):
        return known.connects(sources, targets)
    back = {HopDirection.OUT: HopDirection.IN, HopDirection.IN: HopDirection.OUT}.get(hop.direction, hop.direction)
    return adjacency_of(run, hop.edge, back).connects(targets, sources)


def _reaches(hop: st.Hop, sources: Numbers, targets: Numbers, run: Run) -> Mask:
    reached = np.zeros(len(sources), np.bool_)
    at_once = walk_sources(hop, run)
    for start in range(0, len(sources), at_once):
        run.budget.check("walking")
        rows, nodes = walks(hop, sources[start : start + at_once], run)
        hit = nodes == targets[rows + start]
        reached[rows[hit] + start] = True
    return reached


def exists(step: st.Exists, frames: Iterator[Frame], run: Run, bindings: dict[str, Binding]) -> Iterator[Frame]:
    """Rows whose node has an edge (or has none)."""
    hop = step.hop
    for frame in frames:
        run.budget.check("asking for edges")
        sources = Scope(run, frame, bindings).nodes_of(step.source, hop.source_type)
        there = sources >= 0
        has = np.zeros(frame.rows, np.bool_)
        if there.all():
            has = stepper(run, hop, sources).degrees(sources) > 0
        elif there.any():
            has[there] = stepper(run, hop, sources[there]).degrees(sources[there]) > 0
        kept = frame.keep(~has if step.negated else has)
        if kept.rows:
            yield kept
