"""The ledger: what everything costs, what was spent, and which way is taken.

Whatever can be had in two ways has a function here that chooses between them. All amounts are seconds: prices were measured, and
what was spent is the time that it took. Nothing here reads or remembers a row.

**Find the edges of some nodes, or build adjacency for all of them?** To find them costs a little each time. To build costs much
once, and then nothing. How often edges will be asked for nobody knows, so an account is kept for every edge type of a commit:

    lookups are taken while       spent + what is still to be looked up  <  building

*Spent* is the time that lookups of this edge type took so far, in this query and in earlier ones. *Still to be looked up* is an
estimate for the rest of this query: this hop, for the nodes at hand and those that the scan will yet give; and every later hop
over the same edges, from as many nodes as edges lead to on average. With a good estimate the better way is taken from the start.
With a bad one the account ends it: nobody pays more for lookups than building would have cost before it is built.

    1 M nodes, 5 M edges, nothing in memory, an index: building takes 1 M ids × 0.12 µs + 5 M edges × 0.39 µs = 2.1 s

    a hop from one node           1 node, 5 edges by the index                       3.2 ms                       lookups
    three hops from one node      1, 15 and 225 nodes: 3 + 9 + 96 ms                 0.1 s                        lookups
    a hop from one city           10 k nodes, all edges read through twice           0.4 s                        lookups
    two hops from one city        10 k nodes, then 150 k: 0.4 + 4.5 s                4.9 s                        adjacency
    a hop over all nodes          1 M nodes, 131,072 at a time                       30 s                         adjacency
    the same hop from one node, asked again and again: adjacency from the time on that 2.1 s were spent on it

How a node's edges are found is a choice, too. Through the index every edge costs as much as a thousand that are read in a row:
what it finds stands in as many places. And nodes that edges lead to have more edges than others; so what was found for the nodes
before is the better estimate, if it was more.

**Prices** are of a machine with two cores of 2.5 GHz and a disk whose files are in the page cache. Another machine has others,
but much the same proportions; and where those differ, what was spent is measured, and counts.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from omnigraph.model.frozen import frozen

# ── edges ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

ID: Final = 0.12e-6
"""A node's id, read and numbered: all ids of a type are read before its edges are built."""

READ_EDGE: Final = 0.08e-6
"""An edge of which both ends are read."""

NUMBERED_END: Final = 0.02e-6, 0.1e-6, 200_000
"""An end of an edge that becomes a number: among a few ids, and what is added among so many that their table is in no cache."""

SORTED_EDGE: Final = 0.07e-6
"""An edge put in its place among the neighbours of a node, once its ends are numbers."""

LOOKUP: Final = 3e-3
"""A lookup, whatever it finds: a query of storage, planned and run."""

LISTED_NODE: Final = 12e-6
"""A node more whose edges are looked up."""

FOUND_EDGE: Final = 0.5e-6
"""An edge that was found, handed over and numbered."""

INDEXED_EDGE: Final = 80e-6
"""An edge that an index found, read from where it stands."""

SCANNED_EDGE: Final = 0.025e-6
"""An edge read through, to see whether it is one of those looked for."""

LOOKUP_NODES: Final = 8_192
"""Most nodes whose edges are looked up at once: a condition that lists more takes longer to plan than to answer."""

INDEXED_NODES: Final = 64
"""Most nodes whose edges are looked up at once through an index: how many it finds for them says whether to go on like that."""

SMALL: Final = 20_000
"""Edge types with fewer edges are always held as adjacency: building them takes a few milliseconds, once."""

FAME: Final = 3.0
"""How many times as many edges as others the nodes have that edges lead to: a hop finds those more often that have many."""

FEW_WALKS: Final = 1_024
"""Walks from so many nodes are counted from each of them; from more of them, from every node of the type at once."""

# ── nodes and columns ────────────────────────────────────────────────────────────────────────────────────────────────────────

FETCH: Final = 1e-3
"""Any rows fetched by where they stand, or by id."""

FETCHED_ROW: Final = 10e-6
"""A row more that is fetched."""

READ_VALUE: Final = 0.1e-6
"""A value of a column that is read whole."""

LOOKED_UP_IDS: Final = 1_000
"""Most nodes that are looked up by id at once."""

FILTERED_SHARE: Final = 1 / 20
"""Finding nodes by an index on a property is charged as reading so much of the column."""

SINGLE_TEXT: Final = 20e-6
"""A text that is looked at by itself."""

TERMS_OF_TEXT: Final = 2e-6
"""The terms of a text, had from a whole column."""

FILTERED_ROWS: Final = 50_000
"""With fewer nodes, reading a column is as quick as asking the index on it."""


@dataclass(slots=True)
class Account:
    """What was spent on having something bit by bit: by a type of edges, of nodes, or by a column, at one commit."""

    spent: float = 0.0
    lookups: int = 0

    def charge(self, seconds: float) -> None:
        """Something was had bit by bit, and took so long."""
        self.spent += seconds
        self.lookups += 1

    @contextmanager
    def timed(self) -> Iterator[None]:
        """Charge the time that something takes."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self.charge(time.perf_counter() - started)


@frozen
class EdgeFacts:
    """What is known of the edges of a type, seen from one end, before any is read."""

    edges: int
    nodes: int
    """Nodes at that end."""
    unread_ids: int = 0
    """Nodes at both ends whose ids are not in memory."""
    indexed: bool = False
    """Whether an index finds edges by that end."""
    numbered: bool = False
    """Whether the ends of all edges are in memory as numbers."""
    ways: int = 1
    """Two, if edges are followed both ways."""
    found: float = 0.0
    """Edges that were found for each node before, in the same query."""

    @property
    def degree(self) -> float:
        """Edges that a node is expected to have."""
        return max(self.edges / max(1, self.nodes), self.found)


@frozen
class Choice:
    """Which way is taken to the edges of some nodes, and why."""

    lookup: bool
    spent: float
    ahead: float
    building: float

    def __str__(self) -> str:
        sign = "<" if self.lookup else "≥"
        spent = f"{_shown(self.spent)} spent + " if self.spent else ""
        return f"{spent}lookups {_shown(self.ahead)} {sign} building {_shown(self.building)}"


def building_seconds(facts: EdgeFacts) -> float:
    """What adjacency costs in one direction."""
    few, more, many = NUMBERED_END
    edge = READ_EDGE + 2 * (few + more * min(1.0, facts.nodes / many))
    read = 0.0 if facts.numbered else facts.unread_ids * ID + facts.edges * edge
    return read + facts.edges * (SORTED_EDGE if facts.ways == 1 else 4 * SORTED_EDGE)  # both ways: each, and both put together


def lookup_seconds(facts: EdgeFacts, nodes: float) -> float:
    """What it costs to find the edges of so many nodes, in the better of the two ways to find them."""
    through = _read_through_seconds(facts, nodes)
    return facts.ways * (min(through, _by_index_seconds(facts, nodes)) if facts.indexed else through)


def uses_index(facts: EdgeFacts, nodes: int) -> bool:
    """Whether the edges of some nodes are found through the index on them, rather than by reading all edges through."""
    return facts.indexed and _by_index_seconds(facts, nodes) <= _read_through_seconds(facts, nodes)


def looked_up_at_once(facts: EdgeFacts, nodes: int) -> int:
    """Of so many nodes that are left, how many are looked up next. Few, if that costs little more: it may turn out that it takes
    longer than was thought."""
    return min(nodes, INDEXED_NODES if uses_index(facts, nodes) else LOOKUP_NODES)


def _by_index_seconds(facts: EdgeFacts, nodes: float) -> float:
    return _portions(nodes) * LOOKUP + nodes * (LISTED_NODE + facts.degree * (INDEXED_EDGE + FOUND_EDGE))


def _read_through_seconds(facts: EdgeFacts, nodes: float) -> float:
    found = min(nodes * facts.degree, facts.edges) * FOUND_EDGE
    return _portions(nodes) * (LOOKUP + facts.edges * SCANNED_EDGE) + nodes * LISTED_NODE + found


def _portions(nodes: float) -> int:
    return int(max(1.0, -(-nodes // LOOKUP_NODES)))


def choose(facts: EdgeFacts, account: Account, ahead: float) -> Choice:
    """Whether to look edges up rather than to build: `ahead` is what is still to be looked up in this query."""
    building = building_seconds(facts)
    lookup = facts.edges > SMALL and account.spent + ahead < building
    return Choice(lookup, account.spent, ahead, building)


# ── nodes and columns ────────────────────────────────────────────────────────────────────────────────────────────────────────


def fetch_seconds(rows: int) -> float:
    """What fetching some rows costs."""
    return FETCH + rows * FETCHED_ROW


def prefers_fetching(account: Account, wanted: int, rows: int) -> bool:
    """Whether some values of a column, or some ids, are better fetched one by one than by reading all of them."""
    return account.spent + fetch_seconds(wanted) < rows * READ_VALUE


def is_worth_having(account: Account, rows: int) -> bool:
    """Whether lookups have cost more by now than to read all values, or all ids."""
    return account.spent > rows * READ_VALUE


def prefers_id_lookup(account: Account, wanted: int, rows: int) -> bool:
    """Whether nodes are looked up by id through the index, rather than having all ids in memory."""
    return wanted <= LOOKED_UP_IDS and prefers_fetching(account, wanted, rows)


def prefers_index_filter(account: Account, rows: int) -> bool:
    """Whether nodes with a value are found by the index on it, rather than by having the column in memory."""
    return rows >= FILTERED_ROWS and not is_worth_having(account, rows)


def prefers_single_texts(account: Account, wanted: int, rows: int) -> bool:
    """Whether a few texts are looked at one by one, rather than having the terms of all of them in memory."""
    return account.spent + wanted * SINGLE_TEXT < rows * TERMS_OF_TEXT


def filter_seconds(rows: int) -> float:
    """What it is charged at."""
    return rows * READ_VALUE * FILTERED_SHARE


def _shown(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 1 else f"{seconds * 1000:.3g} ms"
