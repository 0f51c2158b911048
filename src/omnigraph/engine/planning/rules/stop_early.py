"""With a limit and no order, a scan hands out few nodes at first: the rest may never be wanted."""

from __future__ import annotations

from dataclasses import replace

from omnigraph.catalog.catalog import Catalog
from omnigraph.engine.planning import steps as st


def apply(plan: st.Plan, catalog: Catalog) -> st.Plan:
    """Mark the first scan."""
    tail = plan.tail
    if tail.limit is None or tail.order or tail.aggregates or tail.arms or not plan.steps:
        return plan
    first = plan.steps[0]
    if not isinstance(first, st.Scan) or first.rankings:
        return plan
    return replace(plan, steps=(replace(first, stop_early=True), *plan.steps[1:]))
