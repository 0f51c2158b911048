"""The cost model of traversal: look up a few edges in the index, or build adjacency for all of them?

Costs are in edges read. A lookup reads the edges of the frontier, hop after hop, if the index covers the end it asks for, and
every edge of the type otherwise. Building reads every edge and sorts it. Adjacency that is in memory costs nothing. What lookups
have cost so far counts too: a graph that is asked often builds sooner.

    50 nodes, 10 M edges of 1 M sources, one hop      lookup  1 × 50 × 10 = 500          build 15 M      → lookup
    50 nodes, 1 000 edges                             lookup  500                        build 1 500     → lookup
    1 025 nodes, or 7 hops                            adjacency, always
"""

from __future__ import annotations

from typing import Final

from omnigraph.catalog.logical import HopDirection
from omnigraph.engine.edges import Edges

MAX_LOOKUP_HOPS: Final = 6
MAX_LOOKUP_NODES: Final = 1_024
BUILD_FACTOR: Final = 1.5
SMALL: Final = 20_000
"""Edge types with fewer edges are always held as adjacency: building them takes a few milliseconds, once."""


def lookup_cost(edges: int, sources: int, frontier: int, hops: int, *, covered: bool) -> float:
    """Edges read by lookups."""
    return hops * frontier * (edges / max(1, sources)) if covered else float(hops * edges)


def prefers_lookup(edges: int, sources: int, frontier: int, hops: int, *, covered: bool, ready: bool, spent: float = 0) -> bool:
    """Whether to look up rather than to build."""
    if hops > MAX_LOOKUP_HOPS or frontier > MAX_LOOKUP_NODES:
        return False
    build = 0.0 if ready else BUILD_FACTOR * edges
    return spent + lookup_cost(edges, sources, frontier, hops, covered=covered) < build


def choose_lookup(edges: Edges, direction: HopDirection, frontier: int, hops: int) -> bool:
    """The choice for a traversal that is about to happen; a lookup is charged to the edge type."""
    if edges.ready(direction):
        return False
    if edges.count <= SMALL:
        return False
    ends = {HopDirection.OUT: ("src",), HopDirection.IN: ("dst",), HopDirection.BOTH: ("src", "dst")}[direction]
    covered = all(edges.stored.covers(end) for end in ends)
    sources = (edges.target if direction is HopDirection.IN else edges.source).count
    lookup = prefers_lookup(edges.count, sources, frontier, hops, covered=covered, ready=False, spent=edges.stored.spent)
    if lookup:
        edges.stored.spent += int(lookup_cost(edges.count, sources, frontier, hops, covered=covered)) + LOOKUP_BASE
    return lookup


LOOKUP_BASE: Final = 5_000
"""What any lookup costs besides the edges it reads: a query of the index."""
