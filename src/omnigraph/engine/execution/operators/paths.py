"""Shortest paths between the nodes of rows.

Nodes are reached level by level from all sources at once, each node of a source once, from the best of those that lead to it. A
level is kept in the order of its paths, compared node by node by their ids; so the first that leads to a node is the best, and of
all shortest paths the one is found whose first different node has the smallest id.

    a→c  a→b  b→d  c→d,  from a to d        level 1: b, c        level 2: d, from b        a b d
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow.compute as pc

from omnigraph.engine.arrays.numbering import Numbers
from omnigraph.engine.execution.choosing import looks_up
from omnigraph.engine.execution.evaluate import Scope
from omnigraph.engine.execution.found_paths import Paths
from omnigraph.engine.execution.frame import Frame
from omnigraph.engine.execution.operators.expand import adjacency_of, batches, stepper, walk_sources
from omnigraph.engine.execution.run import Run
from omnigraph.engine.execution.walk import Step, among
from omnigraph.engine.planning import steps as st
from omnigraph.engine.planning.bindings import Binding

_SHIFT = np.int64(32)
_LOW = np.int64(0xFFFF_FFFF)


def find_paths(step: st.Paths, frames: Iterator[Frame], run: Run, bindings: dict[str, Binding]) -> Iterator[Frame]:
    """Rows with the shortest path between two of their nodes, where there is one within the bounds."""
    hop = step.hop
    what = f"finding paths {step.source} {hop} {step.target}"
    kept = run.paths.setdefault(step.variable, Paths())
    for frame in frames:
        run.budget.check(what)
        scope = Scope(run, frame, bindings)
        sources, targets = scope.nodes_of(step.source, hop.source_type), scope.nodes_of(step.target, hop.target_type)
        there = np.flatnonzero((sources >= 0) & (targets >= 0))
        pairs, which = np.unique((sources[there].astype(np.int64) << _SHIFT) | targets[there], return_inverse=True)
        at_once = walk_sources(hop, run)
        froms, starts = np.unique(pairs >> _SHIFT, return_index=True)
        bounds = np.append(starts, len(pairs))
        places = np.full(len(pairs), -1, np.int64)
        for first in range(0, len(froms), at_once):
            some = slice(int(bounds[first]), int(bounds[min(first + at_once, len(froms))]))
            lengths, nodes = _shortest(hop, pairs[some] >> _SHIFT, pairs[some] & _LOW, run, what)
            found = lengths >= 0
            run.budget.keep(nodes.nbytes + len(lengths) * 8, what)
            place = kept.add(lengths[found], nodes)
            places[some] = np.where(found, place + np.cumsum(found) - 1, -1)
        column = places[which]
        has_path = column >= 0
        if has_path.any():
            yield frame.take(there[has_path]).with_columns(**{step.variable: column[has_path]})


def _shortest(hop: st.Hop, sources: Numbers, targets: Numbers, run: Run, what: str) -> tuple[Numbers, Numbers]:
    """How long the path of each pair is, -1 if there is none, and the nodes of those there are, one path after the other."""
    froms, rows = np.unique(sources, return_inverse=True)
    wanted = (rows.astype(np.int64) << _SHIFT) | targets
    lengths, at = np.full(len(wanted), -1, np.int64), np.zeros(len(wanted), np.int64)
    level = (np.arange(len(froms), dtype=np.int64) << _SHIFT) | froms
    visited = level
    levels, parents = [level], [np.empty(0, np.int64)]
    waiting = np.flatnonzero(sources != targets)
    neighbours = _neighbours(hop, froms, run)
    for depth in range(1, hop.maximum + 1):
        run.budget.check(what)
        parts = [(index, (level[index] & ~_LOW) | near) for index, near in neighbours(level & _LOW)]
        index, reached = (np.concatenate([part[side] for part in parts]) for side in (0, 1)) if parts else (at[:0], at[:0])
        run.budget.hold((len(reached) * 5 + len(visited) * 2) * 8, what)
        if depth == 1 and hop.minimum == 1:
            loops = np.unique(reached[reached == level[index]] >> _SHIFT)
            lengths[(sources == targets) & np.isin(rows, loops)] = 1
        fresh = ~among(reached, visited)
        once, firsts = np.unique(reached[fresh], return_index=True)
        parent = index[fresh][firsts]
        hits = waiting[among(wanted[waiting], once)]
        waiting = waiting[~among(wanted[waiting], once)]
        is_last = depth == hop.maximum or not len(waiting) or not len(once)
        order = np.arange(len(once)) if is_last else np.lexsort([_ranks(once & _LOW, hop, run), parent])
        place = np.empty(len(once), np.int64)
        place[order] = np.arange(len(once))
        lengths[hits], at[hits] = depth, place[np.searchsorted(once, wanted[hits])]
        level = once[order]
        levels.append(level)
        parents.append(parent[order])
        if is_last:
            break
        visited = np.sort(np.concatenate([visited, once]))
    lengths[lengths < hop.minimum] = -1
    return lengths, _traced(lengths, at, sources, targets, levels, parents)


def _neighbours(hop: st.Hop, sources: Numbers, run: Run) -> Step:
    if looks_up(run, hop, len(sources), hops=hop.maximum):
        return lambda nodes: batches(stepper(run, hop, nodes), nodes, run)
    if run.trace is not None:
        run.trace.note("adjacency")
    adjacency = adjacency_of(run, hop.edge, hop.direction)
    return lambda nodes: batches(adjacency, nodes, run)


def _ranks(nodes: Numbers, hop: st.Hop, run: Run) -> Numbers:
    """Places of nodes in the order of their ids."""
    distinct, which = np.unique(nodes, return_inverse=True)
    ids = run.view.nodes(hop.target_type).names(distinct).to_arrow()
    ranks: Numbers = pc.rank(ids, sort_keys="ascending", tiebreaker="first").to_numpy().astype(np.int64)[which]
    return ranks


def _traced(
    lengths: Numbers, at: Numbers, sources: Numbers, targets: Numbers, levels: list[Numbers], parents: list[Numbers]
) -> Numbers:
    """The nodes of paths, traced back from their ends."""
    found = np.flatnonzero(lengths >= 0)
    ends = np.cumsum(lengths[found] + 1)
    nodes = np.empty(int(ends[-1]) if len(ends) else 0, np.int64)
    begins = ends - lengths[found] - 1
    for length in np.unique(lengths[found]).tolist():
        some = np.flatnonzero(lengths[found] == length)
        pairs = found[some]
        place = at[pairs]
        looped = sources[pairs] == targets[pairs]
        for step in range(length, 0, -1):
            nodes[begins[some] + step] = np.where(looped, targets[pairs], levels[step][place] & _LOW if len(levels[step]) else 0)
            place = np.where(looped, 0, parents[step][place] if len(parents[step]) else 0)
        nodes[begins[some]] = sources[pairs]
    return nodes
