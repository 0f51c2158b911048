"""Which way a hop is made: what the ledger (`cost.ledger`) is asked, and what `explain` reports of it.

The ledger knows prices and what was spent. Here stands what is still to come in this query: how many more nodes the scan will
give, and which of the later steps want the same edges.
"""

from __future__ import annotations

from dataclasses import replace

from omnigraph.catalog.logical import HopDirection
from omnigraph.engine.arrays.numbering import Numbers
from omnigraph.engine.cost import ledger
from omnigraph.engine.cost.ledger import Choice, EdgeFacts
from omnigraph.engine.execution.run import Run, Traversal
from omnigraph.engine.planning import steps as st
from omnigraph.engine.planning.estimate import hops_ahead
from omnigraph.engine.snapshot.edges import Edges, Found


def looks_up(run: Run, hop: st.Hop, nodes: int, *, hops: int = 1, way: HopDirection | None = None) -> bool:
    """Whether the edges of some nodes are looked up, rather than taken from adjacency. `hops`: this one and those that follow it
    in the same traversal; `way`: one of the two that a hop goes both ways."""
    if run.traversal is not Traversal.AUTO:
        return run.traversal is Traversal.BTREE
    direction = hop.direction if way is None else way
    edges = run.view.edges(hop.edge)
    if edges.count <= ledger.SMALL or edges.ready(direction) or (hop.edge, direction.value) in run.forms:
        return False
    facts = edges.facts(direction, run.found.get(hop.edge, 0.0))
    choice = ledger.choose(facts, edges.account, _ahead(run, hop, edges, facts, nodes, hops))
    _note(run, hop, choice)
    return choice.lookup


def look_up(run: Run, hop: st.Hop, way: HopDirection, nodes: Numbers, *, positions: bool) -> Found | None:
    """The edges of some distinct nodes, looked up; None: it takes longer than to build adjacency, and is not gone on with."""
    if run.trace is not None:
        run.trace.note("index")
    edges = run.view.edges(hop.edge)
    before, facts = edges.account.spent, edges.facts(hop.direction)

    def go_on(done: float) -> bool:
        taken = edges.account.spent - before
        choice = ledger.choose(facts, edges.account, taken * (1 - done) / done)
        if not choice.lookup:
            _note(run, hop, choice)
        return choice.lookup

    wary = go_on if run.traversal is Traversal.AUTO else None
    known = run.found.get(hop.edge, 0.0)
    found = edges.look_up(nodes, way, positions=positions, found=known, go_on=wary)
    if found is not None and len(nodes):
        run.found[hop.edge] = max(known, len(found[0]) / len(nodes))
    return found


def _ahead(run: Run, hop: st.Hop, edges: Edges, facts: EdgeFacts, nodes: int, hops: int) -> float:
    """Seconds that lookups of these edges will take in the rest of this query."""
    rows = nodes / run.share
    seconds = ledger.lookup_seconds(facts, min(nodes, facts.nodes)) / run.share
    building = ledger.building_seconds(facts)
    following = [(hop.direction, rows * facts.degree * facts.ways, hops - 1)]
    for later, expected in hops_ahead(run.steps, hop, rows, run.view):
        if later.edge == hop.edge:
            following.append((later.direction, expected, later.maximum))
    for direction, reached, times in following:
        there = edges.facts(direction, facts.found)
        there = replace(there, found=max(there.found, ledger.FAME * there.degree))
        for _ in range(times):
            reached = min(reached, there.nodes)
            seconds += ledger.lookup_seconds(there, reached)
            if seconds >= building:
                return seconds
            reached *= there.degree * there.ways
    return seconds


def _note(run: Run, hop: st.Hop, choice: Choice) -> None:
    if run.trace is not None and (hop.edge, choice.lookup) not in run.noted:
        run.noted.add((hop.edge, choice.lookup))
        run.trace.note(str(choice))
