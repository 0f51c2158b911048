"""Where everything but the reached nodes is forgotten, a hop goes from all nodes together and gives each node once.

    Lookup p: Person by name = $n                  Lookup p: Person by name = $n
    Expand p -Knows-> f: Person                    Reach p -Knows-> f: Person, each once
    Merge equal rows of (f)                        Reach f -Knows-> g: Person, each once
    Expand f -Knows-> g: Person            ⇒       Group count(g)
    Merge equal rows of (g)
    Group count(distinct g)

Rows are not made to be merged again. A weight says how many walks lead to a node; `distinct`, `min` and `max` do not ask for it,
and then it is not counted either. What comes out of the last hop is distinct already.
"""

from __future__ import annotations

from dataclasses import replace

from omnigraph.catalog import logical as lg
from omnigraph.catalog.catalog import Catalog
from omnigraph.engine.planning import lowering as lw
from omnigraph.engine.planning import steps as st
from omnigraph.language.gq.tree import AggregateFunction as Fn


def apply(plan: st.Plan, catalog: Catalog) -> st.Plan:
    """Let hops whose rows are merged at once reach each node once."""
    weighted = not all(_takes_each_once(p.expression) for p in plan.tail.projections)
    steps: list[st.Step] = []
    for step in plan.steps:
        last = steps[-1] if steps else None
        if isinstance(step, st.Merge) and isinstance(last, st.Expand) and _reaches(last, step):
            steps[-1] = st.Reach(last.source, last.target, last.hop, last.conditions, weighted)
        else:
            steps.append(step)
    return replace(plan, steps=tuple(steps), tail=plan.tail if weighted else _counting(plan.tail, steps))


def _takes_each_once(expression: lg.Expression) -> bool:
    """Whether a result is the same however often a row is there."""
    return not isinstance(expression, lg.Aggregated) or expression.distinct or expression.function in (Fn.MIN, Fn.MAX)


def _reaches(hop: st.Expand, merge: st.Merge) -> bool:
    about_target = all(lw.variables(condition) <= {hop.target} for condition in hop.conditions)
    return hop.hop.single and hop.edge_variable is None and merge.keep == (hop.target,) and about_target


def _counting(tail: st.Tail, steps: list[st.Step]) -> st.Tail:
    """A count of distinct nodes is a count of rows where each is there once."""
    last = steps[-1] if steps else None
    if not isinstance(last, st.Reach) or len(tail.projections) != 1:
        return tail
    match tail.projections[0].expression:
        case lg.Aggregated(Fn.COUNT, lg.Entity(variable), True) as counted if variable == last.target:
            return replace(tail, projections=(replace(tail.projections[0], expression=replace(counted, distinct=False)),))
    return tail
