"""All nodes, then all their edges: that is all edges, read once.

    Scan a: Person                                      Scan edges a -Knows-> b as e
    Expand a -Knows-> b: Person as e            ⇒

Only with an edge variable: without one parallel edges count once, which the adjacency knows and the edges do not.
"""

from __future__ import annotations

from dataclasses import replace

from omnigraph.catalog.catalog import Catalog
from omnigraph.catalog.logical import HopDirection
from omnigraph.engine.planning import steps as st


def apply(plan: st.Plan, catalog: Catalog) -> st.Plan:
    """Scan edges instead of nodes."""
    match plan.steps:
        case (st.Scan(variable, (type_,), (), rankings=()), st.Expand(source, target, hop, (), str(edge)), *rest) if (
            source == variable and hop.single and hop.direction is not HopDirection.BOTH and hop.source_type == type_
        ):
            return replace(plan, steps=(st.EdgeScan(source, target, hop, edge), *rest))
        case _:
            return plan
