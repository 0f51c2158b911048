"""`not { … }` around one hop asks whether there is an edge; nothing needs to be joined.

Without (p)
  Expand p -WorksAt-> _1      ⇒      No edge p -WorksAt->
"""

from __future__ import annotations

from dataclasses import replace

from omnigraph.catalog.catalog import Catalog
from omnigraph.engine.planning import steps as st


def apply(plan: st.Plan, catalog: Catalog) -> st.Plan:
    """Ask adjacency instead of joining."""
    return replace(plan, steps=_simplified(plan.steps))


def _simplified(steps: tuple[st.Step, ...]) -> tuple[st.Step, ...]:
    found: list[st.Step] = []
    for step in steps:
        match step:
            case st.Anti(_, (st.Expand(source, _, hop, ()),)) if hop.minimum == 1:
                # At least one hop away there is somebody exactly if one hop away there is.
                found.append(st.Exists(source, replace(hop, maximum=1), negated=True))
            case st.Anti(_, inner) | st.Optional(inner=inner):
                found.append(replace(step, inner=_simplified(inner)))
            case _:
                found.append(step)
    return tuple(found)
