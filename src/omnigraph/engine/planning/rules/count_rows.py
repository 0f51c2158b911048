"""Counting a variable that is always there counts rows: any other one that is needed anyway does as well.

    Expand a -Knows-> b: Person                        Expand a -Knows-> b: Person
    Expand b -Knows-> c: Person              ⇒         Expand b -Knows-> c: Person
    group by c.name, count(a)                          group by c.name, count(c)

So nobody asks for `a` any more, and rows that differ in nothing else become one. A variable of an optional match may be missing
in a row: what is counted there stays, and it stands for no other one.
"""

from __future__ import annotations

from dataclasses import replace

from omnigraph.catalog import logical as lg
from omnigraph.catalog.catalog import Catalog
from omnigraph.engine.planning import lowering as lw
from omnigraph.engine.planning import steps as st
from omnigraph.engine.planning.bindings import NodeBinding
from omnigraph.language.gq.tree import AggregateFunction as Fn


def apply(plan: st.Plan, catalog: Catalog) -> st.Plan:
    """Count the rows by one variable."""
    tail = plan.tail
    if not tail.aggregates or tail.arms:
        return plan
    optional = {name for step in plan.steps if isinstance(step, st.Optional) for name in step.introduces}
    expressions = [*(p.expression for p in tail.projections), *(k.expression for k in tail.order)]
    counted = {name for e in expressions if (name := _counted(e)) is not None} - optional
    others = frozenset[str]().union(*(lw.variables(e) for e in expressions if _counted(e) not in counted)) - optional
    nodes = sorted(name for name in others or counted if isinstance(plan.bindings.get(name), NodeBinding))
    if not nodes or counted <= {nodes[0]}:
        return plan
    instead = nodes[0]

    def meant(expression: lg.Expression) -> lg.Expression:
        if _counted(expression) not in counted:
            return expression
        assert isinstance(expression, lg.Aggregated)
        assert isinstance(expression.argument, lg.Entity)
        return replace(expression, argument=replace(expression.argument, variable=instead))

    projections = tuple(replace(p, expression=meant(p.expression)) for p in tail.projections)
    order = tuple(replace(k, expression=meant(k.expression)) for k in tail.order)
    return replace(plan, tail=replace(tail, projections=projections, order=order))


def _counted(expression: lg.Expression) -> str | None:
    """The variable whose rows are counted, all of them."""
    match expression:
        case lg.Aggregated(Fn.COUNT, lg.Entity(variable), False):
            return variable
        case _:
            return None
