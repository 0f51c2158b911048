"""All walks of several hops, only counted: every node in the middle stands for as many as lead to it times as many as go on.

    Scan a: Person                                   Scan b: Person
    Expand a -Knows-> b: Person               ⇒      Count walks b <-Knows- a
    Expand b -Knows-> c: Person                      Count walks b -Knows-> c
    group by count(c)                                group by count(b)

Two hops are then two numbers per node, and no edge is looked at. Only if nothing is asked of any variable and the first scan has
no condition: counting from its nodes would be cheaper if there were few of them.
"""

from __future__ import annotations

from dataclasses import replace

from omnigraph.catalog.catalog import Catalog
from omnigraph.catalog.logical import HopDirection
from omnigraph.engine.planning import lowering as lw
from omnigraph.engine.planning import steps as st
from omnigraph.engine.planning.rules.count_walks import counted, needed_variables

_BACK = {HopDirection.OUT: HopDirection.IN, HopDirection.IN: HopDirection.OUT, HopDirection.BOTH: HopDirection.BOTH}


def apply(plan: st.Plan, catalog: Catalog) -> st.Plan:
    """Start at the second node of the chain."""
    if not plan.tail.aggregates or plan.tail.arms or needed_variables(plan.tail) or len(plan.steps) < 3:
        return plan
    scan, first, *others = plan.steps
    if not isinstance(scan, st.Scan) or scan.conditions or scan.rankings or len(scan.types) != 1:
        return plan
    chain: list[st.Expand] = []
    source = scan.variable
    for step in (first, *others):
        if not isinstance(step, st.Expand) or not _plain(step) or step.source != source:
            return plan
        chain.append(step)
        source = step.target
    start, *rest = chain
    hop = start.hop
    if hop.source_type != scan.types[0]:
        return plan
    back = replace(hop, direction=_BACK[hop.direction], source_type=hop.target_type, target_type=hop.source_type)
    before = st.Walk(scan.variable, back, ())
    after = tuple(st.Walk(step.target, step.hop, step.conditions) for step in rest)
    steps = (
        st.Scan(start.target, (hop.target_type,), start.conditions),
        st.CountWalks(start.target, (before,)),
        st.CountWalks(start.target, after),
    )
    projections = tuple(counted(p, start.target, [before, *after]) for p in plan.tail.projections)
    return replace(plan, steps=steps, tail=replace(plan.tail, projections=projections))


def _plain(step: st.Expand) -> bool:
    return step.hop.single and step.edge_variable is None and all(lw.variables(c) == {step.target} for c in step.conditions)
