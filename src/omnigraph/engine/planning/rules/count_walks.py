"""Counting is algebra: when nobody asks where the last hops lead, only how many ways there are, they become a factor.

    Scan a: Person                                   Scan a: Person
    Expand a -Knows-> b: Person               ⇒      Count walks a -Knows-> b -Knows-> c
    Expand b -Knows-> c: Person                      group by a.city, count(c)
    group by a.city, count(c)

The number of walks from every node comes from one pass over the adjacency per hop, from the far end inwards; rows are never
made. A condition about a node on the way is a factor of zero or one. Only single hops without an edge variable qualify, and only
aggregates that can be had from weights: `count`, and `sum`, `avg`, `min`, `max` of variables that stay.
"""

from __future__ import annotations

from dataclasses import replace

from omnigraph.catalog import logical as lg
from omnigraph.catalog.catalog import Catalog
from omnigraph.engine.planning import lowering as lw
from omnigraph.engine.planning import steps as st
from omnigraph.language.gq.tree import AggregateFunction


def apply(plan: st.Plan, catalog: Catalog) -> st.Plan:
    """Turn trailing hops into weights."""
    if not plan.tail.aggregates or plan.tail.arms:
        return plan
    steps = list(plan.steps)
    needed = needed_variables(plan.tail)
    walks: list[st.Walk] = []
    walks_source = ""
    while len(steps) > 1:
        last = steps[-1]
        if not isinstance(last, st.Expand) or not last.hop.single or last.edge_variable is not None:
            break
        if last.target in needed or (walks and walks_source != last.target):
            break
        if any(lw.variables(c) != {last.target} for c in last.conditions):
            break
        walks.insert(0, st.Walk(last.target, last.hop, last.conditions))
        walks_source = last.source
        steps.pop()
    if not walks:
        return plan
    steps.append(st.CountWalks(walks_source, tuple(walks)))
    tail = replace(plan.tail, projections=tuple(counted(p, walks_source, walks) for p in plan.tail.projections))
    return replace(plan, steps=tuple(steps), tail=tail)


def needed_variables(tail: st.Tail) -> set[str]:
    """Variables of which the tail needs more than the fact that they are bound."""
    found: set[str] = set()
    for projection in tail.projections:
        expression = projection.expression
        if _counts_rows(expression):
            continue
        found |= lw.variables(expression)
    for key in tail.order:
        found |= lw.variables(key.expression)
    return found


def _counts_rows(expression: lg.Expression) -> bool:
    """`count($v)` of a variable that is always bound counts rows."""
    return (
        isinstance(expression, lg.Aggregated)
        and expression.function is AggregateFunction.COUNT
        and not expression.distinct
        and isinstance(expression.argument, lg.Entity)
        and not expression.argument.nullable
    )


def counted(projection: lg.Projection, source: str, walks: list[st.Walk]) -> lg.Projection:
    """`count($c)` where `$c` is no longer bound becomes a count of something that is."""
    expression = projection.expression
    gone = {w.target for w in walks}
    if _counts_rows(expression):
        assert isinstance(expression, lg.Aggregated)
        assert isinstance(expression.argument, lg.Entity)
        if expression.argument.variable in gone:
            return replace(projection, expression=replace(expression, argument=replace(expression.argument, variable=source)))
    return projection
