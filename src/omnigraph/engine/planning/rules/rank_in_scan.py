"""A ranking of a scanned variable is made by the scan: the conditions about the variable come first, the best of what is left
next, and everything else of the pattern after that.

    Scan d: Doc where d.status = "open"  ⇒  Scan d: Doc where d.status = "open", best 10 by nearest(d.vector, $q)

`nearest` fetches as many as the query returns; `bm25` ranks every match, unless its best are the result; from its worst end
a ranking ranks everything. A variable that is reached by a hop is ranked at the end, among the nodes that were reached.
"""

from __future__ import annotations

from dataclasses import replace

from omnigraph.catalog import logical as lg
from omnigraph.catalog.catalog import Catalog
from omnigraph.engine.planning import lowering as lw
from omnigraph.engine.planning import steps as st


def apply(plan: st.Plan, catalog: Catalog) -> st.Plan:
    """Let scans rank."""
    tail = plan.tail
    if not tail.arms:
        return plan
    steps = list(plan.steps)
    late = list(tail.late)
    for arm in tail.arms:
        names = lw.variables(arm.ranking)
        for place, step in enumerate(steps):
            if isinstance(step, st.Scan) and {step.variable} == names:
                best = None
                if tail.limit is not None and not tail.backwards and (isinstance(arm.ranking, lg.Nearest) or _cuts_next(plan)):
                    best = tail.limit + tail.offset
                arms = {name for other in tail.arms for name in lw.variables(other.ranking)}
                ranked = replace(arm, best=best, ties=bool(tail.order) and tail.fusion is None, required=arms == names)
                steps[place] = replace(step, rankings=(*step.rankings, ranked))
                late.remove(arm.column)
    return replace(plan, steps=tuple(steps), tail=replace(tail, late=tuple(late)))


def _cuts_next(plan: st.Plan) -> bool:
    """Whether the limit cuts the rows of the scan themselves."""
    tail = plan.tail
    scans = [step for step in plan.steps if not isinstance(step, st.Start)]
    return len(scans) == 1 and not (tail.aggregates or tail.distinct or tail.fusion)
