"""Walks of bounded length, as the language defines them.

From a source, hop by hop: every node is reached once, at its first hop; it is emitted if that hop is within the bounds. The
source counts as visited when both ends of the edge are of one type, so a cycle does not lead back to it; a stored self-loop does
emit its node, at every hop where the node is in the frontier and within the bounds, but only once per source.

    a→b  b→c  c→d  a→c,  {2,3} from a        hop 1: b, c (too early, consumed)   hop 2: d        emitted: d

So d is emitted for s if the distance from s to d is within the bounds, or one short of the minimum and d has a self-loop. A walk
that is turned starts at d and gives every s, by that same rule: the self-loop that matters is the one where it starts, none on
its way.

    x→x  x→y,  {2,2} from x: nothing         turned, {2,2} from y: nothing, although x→x→y has two edges
    x→y  y→y,  {2,2} from x: y               turned, {2,2} from y: x

The next hop is asked for through a function, so that the same walk runs over adjacency in memory and over the index of an edge
table. It works on many sources at once: the state is a set of (source, node) pairs as one integer each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from omnigraph.engine.arrays.column import Array, Mask
from omnigraph.engine.arrays.numbering import Numbers, each_once

Step = Callable[[Numbers], Iterable[tuple[Numbers, Array]]]
"""For each node in turn its distinct neighbours, in one piece or several: index of the node, neighbour."""

_SHIFT = np.int64(32)
_LOW = np.int64(0xFFFF_FFFF)
_NONE = np.empty(0, np.int64)


def walk(sources: Numbers, minimum: int, maximum: int, step: Step, *, turned: bool = False) -> tuple[Numbers, Numbers]:
    """Which nodes are emitted for which source: index of the source, node; grouped by source, ascending."""
    looped = np.zeros(len(sources), np.bool_)
    """Which sources have an edge to themselves."""
    rows = np.arange(len(sources), dtype=np.int64)
    visited = (rows << _SHIFT) | sources
    frontier = visited
    emitted: list[Numbers] = []
    for hop in range(1, maximum + 1):
        if not len(frontier):
            break
        found_now: list[Numbers] = []
        for index, neighbours in step(frontier & _LOW):
            reached = (frontier[index] & ~_LOW) | neighbours
            loops = reached == frontier[index]
            if loops.any():
                if hop == 1:
                    looped[reached[loops] >> _SHIFT] = True
                if hop >= minimum and (hop == 1 or not turned):
                    emitted.append(reached[loops])
            once = each_once(reached[~loops])
            found_now.append(once[~among(once, visited)])
        fresh = found_now[0] if len(found_now) == 1 else each_once(np.concatenate(found_now))
        if hop >= minimum:
            emitted.append(fresh)
        elif turned and hop == minimum - 1:
            emitted.append(fresh[looped[fresh >> _SHIFT]])
        if hop < maximum:
            visited = np.sort(np.concatenate([visited, fresh]))
        frontier = fresh
    if not emitted:
        return _NONE, _NONE
    found = emitted[0] if len(emitted) == 1 and minimum == maximum == 1 else each_once(np.concatenate(emitted))
    return found >> _SHIFT, found & _LOW


def among(values: Numbers, known: Numbers) -> Mask:
    """Which values are among some sorted ones."""
    if not len(known):
        return np.zeros(len(values), np.bool_)
    where = np.searchsorted(known, values)
    where[where == len(known)] = 0
    found: Mask = known[where] == values
    return found


def walk_from_one(
    source: int,
    minimum: int,
    maximum: int,
    nodes: int,
    step: Callable[[Numbers], Numbers],
    loops: Mask | None,
    *,
    turned: bool = False,
) -> Numbers:
    """The same for a single source, with bitmaps in place of sets. `step` gives the distinct neighbours of several nodes, `loops`
    says which nodes have an edge to themselves, if any have."""
    if turned and minimum > 1:  # otherwise both ways are one
        minimum -= int(loops is not None and loops[source])
        loops = None
    visited = np.zeros(nodes, np.bool_)
    visited[source] = True
    frontier = np.array([source], np.int64)
    emitted: list[Numbers] = []
    looped = np.zeros(nodes, np.bool_) if loops is not None else None
    for hop in range(1, maximum + 1):
        if not len(frontier):
            break
        if hop >= minimum and loops is not None and looped is not None:
            looped[frontier[loops[frontier]]] = True
        reached = step(frontier)
        frontier = reached[~visited[reached]]
        visited[frontier] = True
        if hop >= minimum:
            emitted.append(frontier)
    if looped is not None:
        once = np.flatnonzero(looped)
        already = np.zeros(nodes, np.bool_)
        for part in emitted:
            already[part] = True
        emitted.append(once[~already[once]])
    return np.concatenate(emitted) if emitted else _NONE
