"""About how many rows each step will give, from counts the commit keeps and a few rules of thumb."""

from __future__ import annotations

from collections.abc import Iterator

from omnigraph.catalog import logical as lg
from omnigraph.engine.planning import steps as st
from omnigraph.engine.snapshot.view import View

_EQUALITY = 0.01
_RANGE = 0.33
_TEXT = 0.05
_MANY = 1e300
"""Above this, numbers of rows are not distinguished."""


def estimates(steps: tuple[st.Step, ...], view: View, rows: float = 1.0) -> dict[int, float]:
    """Rows after each step, by the identity of the step; steps inside blocks too."""
    found: dict[int, float] = {}
    for step in steps:
        rows = _after(step, rows, view, found)
        found[id(step)] = rows
    return found


def _after(step: st.Step, rows: float, view: View, found: dict[int, float]) -> float:
    match step:
        case st.Scan(_, types, conditions):
            nodes = sum(view.nodes(t).count for t in types) * selectivity(conditions)
            caps = [r.best for r in step.rankings if r.best is not None]
            return min(rows * (min(nodes, min(caps)) if caps else nodes), _MANY)
        case st.Lookup():
            return rows
        case st.Reach(_, _, hop, conditions):
            nodes = view.nodes(hop.target_type).count
            return min(rows * degree(hop, view), nodes) * selectivity(conditions)
        case st.Expand(_, _, hop, conditions):
            return min(rows * _reached(hop, view), _MANY) * selectivity(conditions)
        case st.Close(_, _, hop):
            return rows * min(1.0, degree(hop, view) / max(1, view.nodes(hop.target_type).count))
        case st.Filter(condition):
            return rows * selectivity((condition,))
        case st.Exists():
            return rows * 0.5
        case st.Anti(_, inner):
            found.update(estimates(inner, view, rows))
            return rows * 0.5
        case st.Optional(_, _, inner):
            found.update(estimates(inner, view, rows))
            return max(rows, found[id(inner[-1])] if inner else rows)
        case st.EdgeScan(_, _, hop):
            return min(rows * view.edges(hop.edge).count, _MANY)
        case st.Merge() | st.CountWalks() | st.Start() | st.Paths():
            return rows


def hops_ahead(steps: tuple[st.Step, ...], hop: st.Hop, rows: float, view: View) -> list[tuple[st.Hop, float]]:
    """The hops that follow one of a plan, and from about how many rows each, if this one is made from so many."""
    found: list[tuple[st.Hop, float]] = []
    here = False
    for step in _flat(steps):
        hops = _hops(step)
        first = next((place for place, own in enumerate(hops) if own is hop), None) if not here else -1
        if first is None:
            continue
        here = True
        reached = rows
        for place, own in enumerate(hops):
            if place > first:
                found.append((own, reached))
            if place >= first:
                reached = min(reached * degree(own, view), _MANY)
        rows = _after(step, rows, view, {})
    return found


def _flat(steps: tuple[st.Step, ...]) -> Iterator[st.Step]:
    for step in steps:
        if isinstance(step, st.Anti | st.Optional):
            yield from _flat(step.inner)
        else:
            yield step


def _hops(step: st.Step) -> tuple[st.Hop, ...]:
    match step:
        case st.Expand() | st.Reach() | st.Close() | st.Exists() | st.EdgeScan() | st.Paths():
            return (step.hop,)
        case st.CountWalks(walks=walks):
            return tuple(walk.hop for walk in walks)
        case _:
            return ()


def _reached(hop: st.Hop, view: View) -> float:
    """Nodes that walks of a hop lead to from one node, on average."""
    nodes = view.nodes(hop.target_type).count
    neighbours = degree(hop, view)
    walks, reached = 1.0, 0.0
    for length in range(1, hop.maximum + 1):
        walks *= neighbours
        reached += walks if length >= hop.minimum else 0.0
        if walks == 0.0 or min(walks, reached) >= nodes:
            break
    return min(reached, nodes)


def degree(hop: st.Hop, view: View) -> float:
    """Neighbours of a node, on average."""
    edges = view.edges(hop.edge)
    both = 2 if hop.direction is lg.HopDirection.BOTH else 1
    return both * edges.count / max(1, view.nodes(hop.source_type).count)


def selectivity(conditions: tuple[lg.Condition, ...]) -> float:
    """The share of rows that some conditions leave."""
    share = 1.0
    for condition in conditions:
        match condition:
            case lg.Compare(comparator=lg.Comparator.EQ):
                share *= _EQUALITY
            case lg.TextMatch():
                share *= _TEXT
            case lg.AllOf(parts):
                share *= selectivity(parts)
            case lg.AnyOf(parts):
                share *= min(1.0, sum(selectivity((p,)) for p in parts))
            case lg.Among(negated=True) | lg.Not():
                pass
            case lg.Among():
                share *= min(1.0, 5 * _EQUALITY)
            case _:
                share *= _RANGE
    return share
