"""A hop between two bound nodes is checked as soon as both are bound, before anything else multiplies the rows.

Expand a -Knows-> b                        Expand a -Knows-> b
Expand b -Knows-> c                 ⇒      Close b -Likes-> a
Close b -Likes-> a                         Expand b -Knows-> c
"""

from __future__ import annotations

from dataclasses import replace

from omnigraph.catalog.catalog import Catalog
from omnigraph.engine.planning import steps as st
from omnigraph.engine.planning.build import binds, mentions


def apply(plan: st.Plan, catalog: Catalog) -> st.Plan:
    """Move checks forward."""
    steps: list[st.Step] = []
    for step in plan.steps:
        if isinstance(step, st.Close | st.Filter | st.Exists):
            needed = mentions(step) - ({step.edge_variable} if isinstance(step, st.Close) and step.edge_variable else set())
            place = len(steps)
            while place > 1 and not (binds(steps[place - 1]) & needed):
                place -= 1
            steps.insert(place, step)
        else:
            steps.append(step)
    return replace(plan, steps=tuple(steps))
