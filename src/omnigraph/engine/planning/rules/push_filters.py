"""A condition about one variable moves to the step that binds it, where it keeps rows from being made at all.

    Scan p: Person                          Scan p: Person where p.age > 30
    Expand p -Knows-> f: Person       ⇒     Expand p -Knows-> f: Person
    Filter p.age > 30

Conditions about several variables, about edges, or about what an optional block may have left empty stay where they are.
"""

from __future__ import annotations

from dataclasses import replace

from omnigraph.catalog.catalog import Catalog
from omnigraph.engine.planning import lowering as lw
from omnigraph.engine.planning import steps as st
from omnigraph.engine.planning.build import with_conditions


def apply(plan: st.Plan, catalog: Catalog) -> st.Plan:
    """Move conditions to where their variable is bound."""
    return replace(plan, steps=_pushed(plan.steps))


def _pushed(steps: tuple[st.Step, ...]) -> tuple[st.Step, ...]:
    found: list[st.Step] = []
    binder: dict[str, int] = {}
    for step in steps:
        match step:
            case st.Filter(condition):
                variables = lw.variables(condition)
                place = binder.get(next(iter(variables))) if len(variables) == 1 else None
                if place is None:
                    found.append(step)
                else:
                    target = found[place]
                    assert isinstance(target, st.Scan | st.Lookup | st.Expand)
                    found[place] = with_conditions(target, [condition])
                continue
            case st.Anti(_, inner) | st.Optional(inner=inner):
                step = replace(step, inner=_pushed(inner))
            case st.Scan(variable) | st.Expand(target=variable):
                binder[variable] = len(found)
            case _:
                pass
        found.append(step)
    return tuple(found)
