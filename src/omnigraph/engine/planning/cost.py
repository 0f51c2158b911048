"""The cost model of traversal: find the edges of a few nodes, or build adjacency for all of them?

Costs are in edges read by a build, about 0.3 µs each. There are two ways to find the edges of some nodes: through the index,
where every edge costs as much as hundreds that are read in a row, and by reading all edges through, without keeping them.
Building reads every edge, numbers its ends and sorts it. Adjacency that is in memory, or saved, costs nothing. What was spent on
finding so far counts too: a graph that is queried often builds sooner. A traversal of several hops is judged again at each.

    1 M edges of 100 k sources, one node        find 10 k + 1 × 10 × 300 = 13 k                  build 1.5 M      → find
    the same, a thousand nodes                  find, by reading through, 250 k                  build 1.5 M      → find
    the same, from one node up to 4 hops        find 13 k + 40 k + 250 k + 250 k                 build 1.5 M      → find, at first
    more than a quarter of the nodes            adjacency, always
"""

from __future__ import annotations

from typing import Final

from omnigraph.catalog.logical import HopDirection
from omnigraph.engine.snapshot.edges import Edges

MAX_LOOKUP_HOPS: Final = 6
MAX_LOOKUP_NODES: Final = 1_024
BUILD_FACTOR: Final = 1.5
SMALL: Final = 20_000
"""Edge types with fewer edges are always held as adjacency: building them takes a few milliseconds, once."""

LOOKUP_BASE: Final = 10_000
"""What any lookup costs besides the edges it finds: a query of the index."""

LOOKUP_EDGE: Final = 300
"""An edge found through the index."""

READ_EDGE: Final = 0.25
"""An edge read through, and not kept."""


def lookup_cost(edges: int, sources: int, frontier: int, hops: int, *, covered: bool) -> float:
    """What finding costs, hop after hop, from as many nodes as the frontier has by then."""
    degree = edges / max(1, sources)
    through = LOOKUP_BASE + READ_EDGE * edges
    total, nodes = 0.0, float(frontier)
    for _ in range(hops):
        total += min(LOOKUP_BASE + LOOKUP_EDGE * nodes * degree, through) if covered else through
        nodes = min(nodes * degree, sources)
    return total


def prefers_lookup(edges: int, sources: int, frontier: int, hops: int, *, covered: bool, ready: bool, spent: float = 0) -> bool:
    """Whether to look up rather than to build."""
    if ready or hops > MAX_LOOKUP_HOPS or frontier > max(MAX_LOOKUP_NODES, sources // 4):
        return False
    return spent + lookup_cost(edges, sources, frontier, hops, covered=covered) < BUILD_FACTOR * edges


def choose_lookup(edges: Edges, direction: HopDirection, frontier: int, hops: int, *, charge: bool = True) -> bool:
    """The choice for a traversal that is about to happen; a lookup is charged to the edge type."""
    if edges.count <= SMALL or edges.ready(direction):
        return False
    ends = {HopDirection.OUT: ("src",), HopDirection.IN: ("dst",), HopDirection.BOTH: ("src", "dst")}[direction]
    covered = all(edges.stored.covers(end) for end in ends)
    sources = (edges.target if direction is HopDirection.IN else edges.source).count
    lookup = prefers_lookup(edges.count, sources, frontier, hops, covered=covered, ready=False, spent=edges.stored.spent)
    if lookup and charge:
        edges.stored.spent += int(lookup_cost(edges.count, sources, frontier, hops, covered=covered))
    return lookup
