"""Variables that nobody asks for any more are forgotten, and rows that became equal are one row with a weight.

    Lookup p: Person by name = $n                  Lookup p: Person by name = $n
    Expand p -Knows-> f: Person                    Expand p -Knows-> f: Person
    Expand f -Knows-> g: Person            ⇒       Merge equal rows of (f)
    group by count(distinct g)                     Expand f -Knows-> g: Person
                                                   Merge equal rows of (g)
                                                   group by count(distinct g)

So three hops cost as much as there are distinct nodes at each, not as there are walks. Only aggregates and `distinct` take
weights; other results show every row, and break ties by variables that are not returned.
"""

from __future__ import annotations

from dataclasses import replace

from omnigraph.catalog.catalog import Catalog
from omnigraph.engine.planning import steps as st
from omnigraph.engine.planning.build import mentions, tail_mentions


def apply(plan: st.Plan, catalog: Catalog) -> st.Plan:
    """Forget variables as soon as they are not needed."""
    if not (plan.tail.aggregates or plan.tail.distinct) or plan.tail.arms:
        return plan
    needed_after = [tail_mentions(plan.tail)]
    for step in reversed(plan.steps):
        needed_after.append(needed_after[-1] | mentions(step))
    needed_after.reverse()
    following = dict(enumerate(plan.steps[1:]))
    steps: list[st.Step] = []
    bound: set[str] = set()
    for place, step in enumerate(plan.steps):
        steps.append(step)
        bound |= mentions(step) & plan.bindings.keys()
        keep = tuple(sorted(bound & needed_after[place + 1]))
        if isinstance(step, st.EdgeScan) and step.edge_variable in keep:
            continue  # every edge once: no two rows are equal
        if isinstance(step, st.Expand) and isinstance(following.get(place), st.Close):
            continue  # which leaves so few rows that there is less to merge
        if isinstance(step, st.Expand | st.Close | st.EdgeScan | st.Optional) and len(keep) < len(bound) and keep:
            steps.append(st.Merge(keep))
            bound = set(keep)
    return replace(plan, steps=tuple(steps))
