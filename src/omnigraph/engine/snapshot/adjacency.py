"""Adjacency: the neighbours of every node, as two integer arrays.

`starts[n] : starts[n + 1]` is where the neighbours of node `n` stand in `neighbours`: each once (parallel edges count once), in
ascending order. One is built per edge table, pin and direction, from nothing but the numbers of both ends of every edge.

    edges a→c, a→b, a→b, c→a        (a, b, c are 0, 1, 2)
    starts      0  2  2  3
    neighbours  1  2  0

A traversal is then a few gathers. For many sources at once: degrees by subtraction, places by one `repeat` and one `arange`.
Nodes numbered after the adjacency was built have no place in `starts`, and no edges in this pin either.

`EdgeLists` is the same with the position of each edge instead of each neighbour, for traversals that bind the edge.
"""

from __future__ import annotations

import itertools
from functools import cached_property

import numpy as np

from omnigraph.engine.arrays.column import Array, Mask
from omnigraph.engine.arrays.numbering import Numbers, each_once
from omnigraph.model.frozen import frozen

_LOW = np.int64(0xFFFF_FFFF)
_SHIFT = np.int64(32)

_MANY_ROWS = 4_096
_ROWS_PER_SOURCE = 32
"""From this many rows per source on, marking all its neighbours beats searching among them."""

_FEW_NUMBERS = 256
"""Sorting this many takes no longer than finding out whether there is a better way."""

_FEW_MOVES = 8
"""Up to so many nodes, counting on behind each is faster than counting all anew."""

_MARKS = 4 << 20
"""Bytes of marks at a time: they should stay in the cache of the processor."""


@frozen(slots=False)
class Adjacency:
    """Neighbours by node, in one direction."""

    starts: Array
    neighbours: Array

    @property
    def nbytes(self) -> int:
        return int(self.starts.nbytes + self.neighbours.nbytes)

    @property
    def nodes(self) -> int:
        return len(self.starts) - 1

    def is_sound(self, near: int, far: int) -> bool:
        """Whether this can be an adjacency between nodes with numbers below these."""
        starts = self.starts
        if not 1 <= len(starts) <= near + 1 or starts[0] != 0 or starts[-1] != len(self.neighbours):
            return False
        return not bool((starts[1:] < starts[:-1]).any()) and all_below(self.neighbours, far)

    @cached_property
    def degree(self) -> Array:
        """How many neighbours each node has."""
        return np.diff(self.starts)

    @cached_property
    def loops(self) -> Mask | None:
        """Which nodes have an edge to themselves; None: no node has."""
        sources = np.repeat(np.arange(self.nodes, dtype=np.int32), self.degree)
        where = sources[sources == self.neighbours]
        if not len(where):
            return None
        found = np.zeros(self.nodes, np.bool_)
        found[where] = True
        return found

    def degrees(self, sources: Numbers) -> Numbers:
        """How many neighbours each of some nodes has."""
        return _degrees(self.starts, sources)

    def of(self, node: int) -> Array:
        """Neighbours of one node."""
        if not 0 <= node < self.nodes:
            return self.neighbours[:0]
        return self.neighbours[self.starts[node] : self.starts[node + 1]]

    def expand(self, sources: Numbers) -> tuple[Numbers, Array]:
        """For each source in turn its neighbours: index of the source, neighbour."""
        rows, places = _places(self.starts, sources)
        return rows, self.neighbours[places]

    def connects(self, sources: Numbers, targets: Numbers) -> Mask:
        """Row by row, whether there is an edge."""
        if len(sources) >= _MANY_ROWS:
            nodes, place = _places_among(sources)
            if len(nodes) * _ROWS_PER_SOURCE <= len(sources):
                return self._marked(nodes, place, targets)
        return self._searched(sources, targets)

    def _marked(self, nodes: Numbers, place: Numbers, targets: Numbers) -> Mask:
        """A few nodes, many rows each: neighbours are marked in a bitmap, some nodes at a time, and every row is one look."""
        width = 1 + max(int(targets.max()), int(self.neighbours.max()) if len(self.neighbours) else 0)
        at_once = max(1, _MARKS // width)
        order = None if (place[1:] >= place[:-1]).all() else np.argsort(place, kind="stable")
        if order is not None:
            place, targets = place[order], targets[order]
        bounds = np.searchsorted(place, np.arange(0, len(nodes) + at_once, at_once))
        marks = np.zeros(at_once * width, np.bool_)
        connected = np.empty(len(place), np.bool_)
        for number, (start, stop) in enumerate(itertools.pairwise(bounds.tolist())):
            first = number * at_once
            which, neighbours = self.expand(nodes[first : first + at_once])
            marked = which * width + neighbours
            marks[marked] = True
            connected[start:stop] = marks[(place[start:stop] - first) * width + targets[start:stop]]
            marks[marked] = False
        if order is None:
            return connected
        found = np.empty(len(connected), np.bool_)
        found[order] = connected
        return found

    def _searched(self, sources: Numbers, targets: Numbers) -> Mask:
        """A binary search among the neighbours of each source."""
        low, high = _bounds(self.starts, sources)
        found = np.zeros(len(sources), np.bool_)
        open_ = np.flatnonzero(low < high)
        low, high, end, wanted = low[open_], high[open_], high[open_], targets[open_]
        active = np.arange(len(open_))
        while len(active):
            middle = (low[active] + high[active]) >> 1
            smaller = self.neighbours[middle] < wanted[active]
            low[active[smaller]] = middle[smaller] + 1
            high[active[~smaller]] = middle[~smaller]
            active = active[low[active] < high[active]]
        inside = np.flatnonzero(low < end)
        found[open_[inside]] = self.neighbours[low[inside]] == wanted[inside]
        return found

    def neighbours_of(self, sources: Numbers) -> tuple[Array, Numbers]:
        """Neighbours of each source in turn, and how many each has."""
        low, high = _bounds(self.starts, sources)
        counts = high - low
        if len(counts) and (low[1:] == high[:-1]).all():  # all nodes, usually: their neighbours stand one after the other
            return self.neighbours[low[0] : high[-1]], counts
        return self.neighbours[_ranges(low, counts)], counts

    def changed(self, come: Numbers, gone: Numbers) -> Adjacency:
        """The same with some more neighbours, which are not there, and without some that are; both as `pairs_of` has them."""
        starts, neighbours = self.starts, self.neighbours
        nodes = max(self.nodes, int(come.max() >> _SHIFT) + 1 if len(come) else 0)
        if nodes > self.nodes:
            starts = np.concatenate([starts, np.full(nodes - self.nodes, starts[-1])])
        if len(gone):
            neighbours = np.delete(neighbours, [self._place(pair) for pair in gone.tolist()])
            starts = _moved(starts, gone >> _SHIFT, -1)
        if len(come):
            come = np.sort(come)
            smaller = Adjacency(starts, neighbours)
            neighbours = np.insert(neighbours, [smaller._place(pair) for pair in come.tolist()], (come & _LOW).astype(np.int32))
            starts = _moved(starts, come >> _SHIFT, 1)
        return Adjacency(starts, neighbours)

    def _place(self, pair: int) -> int:
        """Where a neighbour stands, or would."""
        node, other = pair >> 32, pair & 0xFFFF_FFFF
        low, high = int(self.starts[node]), int(self.starts[node + 1])
        return low + int(np.searchsorted(self.neighbours[low:high], other))

    def reached(self, sources: Numbers) -> Numbers:
        """Distinct neighbours of a set of nodes, ascending."""
        if len(sources) == 1:
            return self.of(int(sources[0])).astype(np.int64)
        return distinct(self.neighbours_of(sources)[0])


@frozen(slots=False)
class EdgeLists:
    """Edges by node, in one direction: positions of edge rows, and the node at the other end of each."""

    starts: Array
    edges: Array
    others: Array

    @property
    def nbytes(self) -> int:
        return int(self.starts.nbytes + self.edges.nbytes + self.others.nbytes)

    def degrees(self, sources: Numbers) -> Numbers:
        """How many edges each of some nodes has."""
        return _degrees(self.starts, sources)

    def expand(self, sources: Numbers) -> tuple[Numbers, Array, Array]:
        """For each source in turn its edges: index of the source, edge, other end."""
        rows, places = _places(self.starts, sources)
        return rows, self.edges[places], self.others[places]


def all_below(numbers: Array, top: int) -> bool:
    """Whether all numbers are from 0 on and below another: what is negative is large without its sign."""
    return len(numbers) == 0 or int(numbers.view(f"u{numbers.itemsize}").max()) < top


def pairs_of(ends: Array, others: Array) -> Numbers:
    """Both ends of edges in one number each."""
    return (ends.astype(np.int64) << _SHIFT) | others


def ends_of(pairs: Numbers) -> tuple[Numbers, Numbers]:
    """The same the other way round."""
    return pairs >> _SHIFT, pairs & _LOW


def build(ends: Array, others: Array, nodes: int) -> Adjacency:
    """Neighbours from the two ends of every edge; `nodes` is more than the largest number among `ends`."""
    keys = np.sort(pairs_of(ends, others))
    if len(keys):
        keep = np.empty(len(keys), np.bool_)
        keep[0] = True
        np.not_equal(keys[1:], keys[:-1], out=keep[1:])
        keys = keys[keep]
    neighbours = (keys & _LOW).astype(np.int32)
    counts = np.bincount(keys >> _SHIFT, minlength=nodes)
    return Adjacency(_starts(counts), neighbours)


def build_edge_lists(ends: Array, others: Array, nodes: int) -> EdgeLists:
    """Edge positions from the two ends of every edge."""
    order = np.argsort(ends, kind="stable")
    counts = np.bincount(ends, minlength=nodes)
    return EdgeLists(_starts(counts), order.astype(np.int32), others[order])


def both_ways(out: Adjacency, in_: Adjacency) -> Adjacency:
    """Neighbours in either direction."""
    nodes = max(out.nodes, in_.nodes)
    sources = [np.repeat(np.arange(a.nodes, dtype=np.int32), a.degree) for a in (out, in_)]
    return build(np.concatenate(sources), np.concatenate([out.neighbours, in_.neighbours]), nodes)


_BITMAP_SHARE = 24
"""With more than one number in this many places, a bitmap beats sorting."""


def distinct(numbers: Array) -> Numbers:
    """Distinct numbers, ascending, none of them negative."""
    if len(numbers) > _FEW_NUMBERS and (top := int(numbers.max()) + 1) <= _BITMAP_SHARE * len(numbers):
        seen = np.zeros(top, np.bool_)
        seen[numbers] = True
        return np.flatnonzero(seen)
    return each_once(numbers).astype(np.int64)


def _places_among(numbers: Numbers) -> tuple[Numbers, Numbers]:
    """Distinct numbers, ascending, and the place of each number among them. Numbers are nodes: from 0 on, and dense."""
    index = np.zeros(int(numbers.max()) + 1, np.int64)
    index[numbers] = 1
    nodes = np.flatnonzero(index)
    index[nodes] = np.arange(len(nodes))
    return nodes, index[numbers]


def _starts(counts: Array) -> Array:
    starts = np.empty(len(counts) + 1, np.int64)
    starts[0] = 0
    np.cumsum(counts, out=starts[1:])
    return starts


def _moved(starts: Array, nodes: Numbers, by: int) -> Array:
    """Where neighbours begin when each of some nodes has one more or less."""
    if len(nodes) > _FEW_MOVES:
        more = np.zeros(len(starts), np.int64)
        np.add.at(more, nodes + 1, by)
        moved: Array = starts + more.cumsum()
        return moved
    moved = starts.copy()
    for node in nodes.tolist():
        moved[node + 1 :] += by
    return moved


def _bounds(starts: Array, sources: Numbers) -> tuple[Numbers, Numbers]:
    """Where the neighbours of each source begin and end. A node without a place (too new, or nobody) has none."""
    nodes = len(starts) - 1
    if len(sources) and (sources.min() < 0 or sources.max() >= nodes):
        known = (sources >= 0) & (sources < nodes)
        safe = np.where(known, sources, 0)
        if nodes == 0:
            return np.zeros(len(sources), np.int64), np.zeros(len(sources), np.int64)
        low = starts[safe]
        return low, np.where(known, starts[safe + 1], low)
    return starts[sources], starts[sources + 1]


def _degrees(starts: Array, sources: Numbers) -> Numbers:
    low, high = _bounds(starts, sources)
    return high - low


def _places(starts: Array, sources: Numbers) -> tuple[Numbers, Numbers]:
    """Places of all neighbours of all sources, and which source each belongs to."""
    low, high = _bounds(starts, sources)
    if len(sources) == 1:
        return np.zeros(int(high[0] - low[0]), np.int64), np.arange(low[0], high[0])
    counts = high - low
    return np.arange(len(sources)).repeat(counts), _ranges(low, counts)


def _ranges(low: Numbers, counts: Numbers) -> Numbers:
    """Some consecutive numbers from each of several on."""
    ends = counts.cumsum()
    places: Numbers = (low - ends + counts).repeat(counts)
    places += np.arange(len(places))
    return places
