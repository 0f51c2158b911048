"""A scan that fixes the id, or every key property, finds its node by id instead.

Scan p: Person where p.name = $n   ⇒   Lookup p: Person by name = $n
"""

from __future__ import annotations

from dataclasses import replace

from omnigraph.catalog import logical as lg
from omnigraph.catalog.catalog import Catalog
from omnigraph.engine.planning import steps as st


def apply(plan: st.Plan, catalog: Catalog) -> st.Plan:
    """Turn scans into lookups."""
    return replace(plan, steps=_looked_up(plan.steps, catalog))


def _looked_up(steps: tuple[st.Step, ...], catalog: Catalog) -> tuple[st.Step, ...]:
    found: list[st.Step] = []
    for step in steps:
        match step:
            case st.Scan(_, (type_,)) if not step.rankings:
                found.append(_lookup(step, type_, catalog) or step)
            case st.Anti(_, inner) | st.Optional(inner=inner):
                found.append(replace(step, inner=_looked_up(inner, catalog)))
            case _:
                found.append(step)
    return tuple(found)


def _lookup(scan: st.Scan, type_: str, catalog: Catalog) -> st.Lookup | None:
    fixed: dict[str, tuple[lg.Condition, lg.Expression]] = {}
    for condition in scan.conditions:
        named = _equality(condition)
        if named is not None:
            fixed.setdefault(named[0], (condition, named[1]))
    key = ("id",) if "id" in fixed else tuple(prop.name for prop in catalog.nodes[type_].key)
    if not key or any(name not in fixed for name in key):
        return None
    taken = [fixed[name][0] for name in key]
    rest = tuple(c for c in scan.conditions if not any(c is t for t in taken))
    return st.Lookup(scan.variable, type_, tuple((name, fixed[name][1]) for name in key), rest)


def _equality(condition: lg.Condition) -> tuple[str, lg.Expression] | None:
    """The property a condition fixes, and to what."""
    if not isinstance(condition, lg.Compare) or condition.comparator is not lg.Comparator.EQ:
        return None
    for one, other in ((condition.left, condition.right), (condition.right, condition.left)):
        if isinstance(one, lg.PropertyValue) and lg.is_fixed(other):
            return one.property, other
    return None
