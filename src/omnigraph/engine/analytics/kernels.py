"""The algorithms, on numbers alone. Each is a few passes over arrays per round; none depends on the order of edges.

Where a rule is needed to make an answer unique, it is stated here, and the algorithms on Spark follow the same.

**Ties.** The least node decides, by (type, id): nodes are numbered in that order (`network`).

**Groups** (components, communities) are numbered 0, 1, 2 … by their least node, so equal groupings have equal numbers.
"""

from __future__ import annotations

import numpy as np

from omnigraph.engine.analytics.network import Network, without_loops
from omnigraph.engine.analytics.scope import Direction
from omnigraph.engine.arrays.column import Array
from omnigraph.engine.arrays.numbering import Numbers
from omnigraph.engine.snapshot import adjacency
from omnigraph.engine.snapshot.adjacency import Adjacency
from omnigraph.model.frozen import frozen

_WEDGES = 1 << 22
"""Pairs of neighbours that are looked at together when triangles are counted."""

_MOST = np.int64((1 << 32) - 1)


@frozen(slots=False)
class Rounds:
    """Values that were found in rounds."""

    values: Array
    rounds: int
    settled: bool
    """Whether another round would change nothing (or next to nothing)."""


def degree(network: Network, direction: Direction) -> Numbers:
    """Edges of each node. A loop leaves and enters: it counts twice in both directions together."""
    found = np.zeros(network.nodes, np.int64)
    if direction is not Direction.IN:
        found += np.bincount(network.sources, minlength=network.nodes)
    if direction is not Direction.OUT:
        found += np.bincount(network.targets, minlength=network.nodes)
    return found


def pagerank(network: Network, damping: float, rounds: int, tolerance: float) -> Rounds:
    """The share of time a walker spends at each node, who follows a random edge or, sometimes, jumps anywhere.

    rank(v) = (1 - damping) / n + damping · (Σ rank(u) / edges out of u, over edges u→v  +  rank of nodes without edges / n)

    Ranks sum to 1. Ends when the ranks together moved by no more than the tolerance.
    """
    count = network.nodes
    ranks = np.full(count, 1.0 / count) if count else np.empty(0)
    order = np.argsort(network.targets, kind="stable")  # sums go through memory in order
    sources, targets = network.sources[order], network.targets[order]
    out = np.bincount(sources, minlength=count)
    stuck = out == 0
    share = np.divide(damping, out, out=np.zeros(count), where=~stuck)
    for done in range(1, rounds + 1):
        anywhere = (1.0 - damping + damping * ranks[stuck].sum()) / count if count else 0.0
        new = np.bincount(targets, weights=(ranks * share)[sources], minlength=count) + anywhere
        moved = float(np.abs(new - ranks).sum())
        ranks = new
        if moved <= tolerance:
            return Rounds(ranks, done, settled=True)
    return Rounds(ranks, rounds, settled=False)


def components(network: Network) -> Rounds:
    """Nodes that are connected, whichever way edges point: the least node of each group, first by number, then numbered."""
    labels = np.arange(network.nodes, dtype=np.int64)
    one, other = without_loops(network)
    rounds = 0
    while len(one):
        rounds += 1
        first, second = labels[one], labels[other]
        low, high = np.minimum(first, second), np.maximum(first, second)
        np.minimum.at(labels, high, low)  # roots hang below smaller roots …
        while True:  # … until everybody points at a root
            jumped = labels[labels]
            if np.array_equal(jumped, labels):
                break
            labels = jumped
        apart = labels[one] != labels[other]
        one, other = one[apart], other[apart]
    return Rounds(numbered(labels), rounds, settled=True)


def label_propagation(network: Network, rounds: int) -> Rounds:
    """Communities: everybody takes the label most of their neighbours have, all at once, round after round.

    A node starts with itself as label. Every edge is a vote in both directions, loops are none, and every node has one vote for
    the label it has: without it, two nodes that have only each other would swap labels for ever. Among labels with equally many
    votes the least wins.
    """
    one, other = without_loops(network)
    labels = np.arange(network.nodes, dtype=np.int64)
    voted = np.concatenate([one, other, labels]).astype(np.int64) << np.int64(32)
    voters = np.concatenate([other, one, labels])
    for done in range(rounds):
        new = _most_voted(voted, labels[voters])
        if np.array_equal(new, labels):
            return Rounds(numbered(labels), done, settled=True)
        labels = new
    return Rounds(numbered(labels), rounds, settled=False)


def _most_voted(voted: Numbers, votes: Numbers) -> Numbers:
    """The label of each node. Every node has a vote."""
    if not len(voted):
        return votes
    ballots = np.sort(voted | votes)  # by node, then by label
    first = np.concatenate([[0], np.flatnonzero(ballots[1:] != ballots[:-1]) + 1])
    counts = np.diff(np.concatenate([first, [len(ballots)]]))
    nodes, label = ballots[first] >> np.int64(32), ballots[first] & _MOST
    score = (counts << np.int64(32)) + (_MOST - label)  # more votes, then the least label: in one number, and the greatest wins
    begins = np.concatenate([[0], np.flatnonzero(nodes[1:] != nodes[:-1]) + 1])
    best = np.maximum.reduceat(score, begins)
    chosen: Numbers = _MOST - (best & _MOST)
    return chosen


def numbered(labels: Numbers) -> Numbers:
    """Groups as 0, 1, 2 …, by their least node, from any label that the members of a group share."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]


def triangles(network: Network) -> Numbers:
    """Triangles each node is a corner of. Direction, parallel edges and loops do not matter.

    Each edge points from the end with fewer neighbours to the one with more, so that a triangle is found once and nobody has
    many neighbours ahead: a→b, a→c, b→c.
    """
    one, other = without_loops(network)
    around = adjacency.build(np.concatenate([one, other]), np.concatenate([other, one]), network.nodes)
    sources = np.repeat(np.arange(around.nodes, dtype=np.int64), around.degree)
    targets = around.neighbours.astype(np.int64)
    few, many = around.degree[sources], around.degree[targets]
    ahead = (few < many) | ((few == many) & (sources < targets))
    forward = adjacency.build(sources[ahead], targets[ahead], network.nodes)
    starts, ends = sources[ahead], targets[ahead]
    found = np.zeros(network.nodes, np.int64)
    for begin, end in _chunks(forward.degrees(ends)):
        edge, third = forward.expand(ends[begin:end])
        first, second = starts[begin:end][edge], ends[begin:end][edge]
        closed = forward.connects(first, third.astype(np.int64))
        for corner in (first, second, third):
            found += np.bincount(corner[closed], minlength=network.nodes)
    return found


def _chunks(sizes: Numbers) -> list[tuple[int, int]]:
    """Consecutive items, as many at a time as have `_WEDGES` together; at least one."""
    if not len(sizes):
        return []
    chunk = np.cumsum(sizes) // _WEDGES
    begins = np.concatenate([[0], np.flatnonzero(chunk[1:] != chunk[:-1]) + 1])
    return list(zip(begins.tolist(), [*begins[1:].tolist(), len(sizes)], strict=True))


@frozen(slots=False)
class Reached:
    """How far every node is from the nearest of some nodes."""

    hops: Numbers
    """-1: cannot be reached, or only by more hops than requested."""
    previous: Numbers
    """The node before it on the way: of several, the least. -1 for those to start from."""


def reach(neighbours: Adjacency, starts: Numbers, most: int | None) -> Reached:
    """Walk from a set of nodes, hop by hop, everybody once."""
    hops, previous = np.full(neighbours.nodes, -1, np.int64), np.full(neighbours.nodes, -1, np.int64)
    hops[starts] = 0
    frontier = starts
    done = 0
    while len(frontier) and (most is None or done < most):
        done += 1
        rows, reached = neighbours.expand(frontier)
        new = hops[reached] < 0
        rows, reached = rows[new], reached[new]
        previous[reached[::-1]] = frontier[rows[::-1]]  # the last one written counts: of an ascending frontier the least
        hops[reached] = done
        frontier = np.flatnonzero(hops == done) if len(reached) > neighbours.nodes >> 4 else np.unique(reached).astype(np.int64)
    return Reached(hops, previous)
