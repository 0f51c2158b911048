"""What is computed of groups: aggregates are found first, everything else is computed of them afterwards.

    return { $p.city, sum($p.a) / count($p) as share }  having { max($p.a) > 3 }  order { count($p) desc }

    found       p.city, sum(p.a), count(p), max(p.a)    what rows are grouped by, and each aggregate once
    having      #3 > 3                                  over the columns found
    final       #0, #1 / #2
    order       #2

A query that only returns what it finds, and is ordered by that, is left as it is.
"""

from __future__ import annotations

from dataclasses import replace

from omnigraph.catalog import logical as lg
from omnigraph.catalog.render import expression_text
from omnigraph.engine.planning import steps as st
from omnigraph.errors import QueryError


def settled(tail: st.Tail) -> st.Tail:
    """A tail that finds aggregates and computes the rest of them."""
    expressions = [p.expression for p in tail.projections]
    nested = any(lg.aggregates_in(e) and not isinstance(e, lg.Aggregated) for e in expressions)
    if not nested and tail.having is None and not (tail.aggregates and any(_is_computed(k.expression, tail) for k in tail.order)):
        return tail
    atoms: list[lg.Projection] = [p for p in tail.projections if not lg.aggregates_in(p.expression)]
    by_alias = {p.alias: p.expression for p in tail.projections if p.alias is not None}
    final = tuple(_over(expression, atoms, by_alias) for expression in expressions)
    order = tuple(replace(key, expression=_over(key.expression, atoms, by_alias)) for key in tail.order)
    having = None if tail.having is None else _condition_over(tail.having, atoms, by_alias)
    return replace(tail, projections=tuple(atoms), final=final, order=order, having=having)


def _condition_over(condition: lg.Condition, atoms: list[lg.Projection], by_alias: dict[str, lg.Expression]) -> lg.Condition:
    """A condition over the columns found."""
    match condition:
        case lg.Compare(left, how, right):
            return lg.Compare(_over(left, atoms, by_alias), how, _over(right, atoms, by_alias))
        case lg.IsNull(operand, negated):
            return lg.IsNull(_over(operand, atoms, by_alias), negated)
        case lg.Among(operand, choices, negated):
            return lg.Among(_over(operand, atoms, by_alias), _over(choices, atoms, by_alias), negated)
        case lg.AllOf(parts) | lg.AnyOf(parts):
            return replace(condition, parts=tuple(_condition_over(part, atoms, by_alias) for part in parts))
        case lg.Not(part):
            return lg.Not(_condition_over(part, atoms, by_alias))
        case lg.TextMatch():
            raise AssertionError("a text test is about rows, not about groups")


def _is_computed(key: lg.Expression, tail: st.Tail) -> bool:
    """Whether a sort key is none of the columns but can be had of groups."""
    if isinstance(key, lg.Column) or any(p.expression == key for p in tail.projections):
        return False
    return isinstance(key, lg.Computed | lg.Aggregated)


def _over(expression: lg.Expression, atoms: list[lg.Projection], by_alias: dict[str, lg.Expression]) -> lg.Expression:
    """An expression over the columns found. An aggregate that is none of them yet becomes one."""
    followed: set[str] = set()
    while isinstance(expression, lg.Column) and expression.name in by_alias and expression.name not in followed:
        followed.add(expression.name)
        expression = by_alias[expression.name]
    for place, atom in enumerate(atoms):
        if atom.expression == expression:
            return _found(place, expression)
    match expression:
        case lg.Aggregated():
            atoms.append(lg.Projection(expression, None, expression_text(expression)))
            return _found(len(atoms) - 1, expression)
        case lg.Computed(_, arguments):
            return replace(expression, arguments=tuple(_over(argument, atoms, by_alias) for argument in arguments))
        case _ if lg.is_fixed(expression):
            return expression
    raise QueryError(
        f"`{expression_text(expression)}` is not a column of the result",
        hint="A query that groups is ordered by what it returns: add it to the return block, or use its alias.",
    )


def _found(place: int, expression: lg.Expression) -> lg.Found:
    type_ = None if isinstance(expression, lg.Entity) else expression.type
    return lg.Found(place, expression_text(expression), type_)
