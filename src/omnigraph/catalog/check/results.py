"""What a read gives back: projections, ordering, `distinct`, and the limits rankings need."""

from __future__ import annotations

from omnigraph.catalog import logical as lg
from omnigraph.catalog.check.expressions import check_readable, type_of, typed
from omnigraph.catalog.check.scope import Scope
from omnigraph.language.gq import tree as t


def projections(scope: Scope, read: t.Read) -> tuple[lg.Projection, ...]:
    """The return block."""
    aggregating = any(isinstance(p.expression, t.Aggregate) for p in read.projections)
    aliases: dict[str, lg.Expression] = {}
    named: set[str] = set()
    found: list[lg.Projection] = []
    for tree in read.projections:
        if aggregating and not isinstance(tree.expression, t.Aggregate | t.Access | t.Variable):
            help = "group by properties and variables; compute the rest in another query"
            scope.refuse("T9", "an aggregating return cannot also return this", tree.span, help)
            continue
        expression = typed(scope, tree.expression)
        if expression is None:
            continue
        if isinstance(expression, lg.Column):
            expression = _resolve(expression, aliases)
        if not check_readable(scope, expression, tree.expression):
            continue
        if tree.alias is not None:
            aliases.setdefault(tree.alias.text, expression)
        alias = None if tree.alias is None else tree.alias.text
        column = alias or column_name(expression)
        if column in named:
            help = f"name it: `{_suggested(scope, tree, expression, named)}`"
            scope.refuse("T27", f"two columns of the result are called `{column}`", tree.span, help)
            continue
        named.add(column)
        found.append(lg.Projection(expression, alias, column))
    return tuple(found)


def _suggested(scope: Scope, tree: t.Projection, expression: lg.Expression, taken: set[str]) -> str:
    """The projection with a name that is still free."""
    match expression:
        case lg.Aggregated(function, argument):
            stem = f"{function.value}_{column_name(argument).rpartition('.')[2]}"
        case _:
            stem = column_name(expression).replace(".", "_")
    stem = stem if stem not in ("literal", "now") else "value"
    name = next(name for name in (stem, *(f"{stem}_{n}" for n in range(2, len(taken) + 3))) if name not in taken)
    end = tree.span.end if tree.alias is None else tree.alias.span.start
    text = scope.problems.source.text[tree.span.start : end].strip()
    written = text if tree.alias is None else text.removesuffix("as").rstrip()
    return f"{written} as {name}"


def _resolve(column: lg.Column, aliases: dict[str, lg.Expression]) -> lg.Column:
    meant = aliases.get(column.name)
    return column if meant is None else lg.Column(column.name, type_of(meant))


def column_name(expression: lg.Expression) -> str:
    """Name of the result column of a projection without alias."""
    match expression:
        case lg.PropertyValue(variable, name):
            return f"{variable}.{name}"
        case lg.Entity(variable):
            return variable
        case lg.Parameter(name) | lg.Column(name):
            return name
        case lg.Constant():
            return "literal"
        case lg.Now():
            return "now"
        case lg.Aggregated(_, argument):
            return column_name(argument)
        case lg.TextMatch(function):
            return function.value
        case lg.Nearest():
            return "nearest"
        case lg.Bm25():
            return "bm25"
        case lg.Fusion():
            return "rrf"


def ordering(scope: Scope, read: t.Read, returned: tuple[lg.Projection, ...]) -> tuple[lg.SortKey, ...]:
    """The order block."""
    by_alias = {p.alias: p.expression for p in returned if p.alias is not None}
    keys: list[lg.SortKey] = []
    ranks = False
    for tree in read.order:
        expression = typed(scope, tree.expression)
        if expression is None or not check_readable(scope, expression, tree.expression):
            continue
        if isinstance(expression, lg.Column):
            expression = _ranking(expression, by_alias) or _resolve(expression, by_alias)
        ranks = ranks or (isinstance(expression, lg.Nearest) and not isinstance(tree.expression, t.Alias))
        if read.distinct and not _is_returned(expression, returned):
            message = "`return distinct` can only be ordered by what it returns"
            scope.refuse("T26", message, tree.span, "add it to the return block")
            continue
        _check_limit(scope, read, tree, expression)
        keys.append(lg.SortKey(expression, tree.direction or lg.best_first(expression)))
    _check_mixture(scope, read, ranks=ranks)
    aggregating = any(isinstance(p.expression, lg.Aggregated) for p in returned)
    if aggregating and len(keys) > 1 and isinstance(keys[0].expression, lg.Ranking):
        message = "groups that are ordered by a ranking come as it finds them, and cannot be ordered further"
        scope.refuse("T28", message, read.order[1].span, "leave the other keys out, or the ranking")
    return tuple(keys)


def _ranking(column: lg.Column, aliases: dict[str, lg.Expression]) -> lg.Expression | None:
    """The ranking that a name stands for: ordered by its name, it orders as by itself."""
    followed: set[str] = set()
    meant: lg.Expression | None = column
    while isinstance(meant, lg.Column) and meant.name not in followed:
        followed.add(meant.name)
        meant = aliases.get(meant.name)
    return meant if isinstance(meant, lg.Ranking) else None


def _is_returned(expression: lg.Expression, returned: tuple[lg.Projection, ...]) -> bool:
    if isinstance(expression, lg.Column):
        return any(p.alias == expression.name for p in returned)
    return any(p.expression == expression for p in returned)


def _check_limit(scope: Scope, read: t.Read, tree: t.Ordering, meant: lg.Expression | None) -> None:
    if read.limit is not None:
        return
    if isinstance(meant, lg.Nearest):
        scope.refuse("T17", "ordering by `nearest` needs a limit", tree.span, "add `limit 10` after the order block")
    elif isinstance(meant, lg.Fusion):
        scope.refuse("T21", "ordering by `rrf` needs a limit", tree.span, "add `limit 10` after the order block")


def _check_mixture(scope: Scope, read: t.Read, *, ranks: bool) -> None:
    """`nearest` and an alias do not order together."""
    aliased = [tree for tree in read.order if isinstance(tree.expression, t.Alias)]
    if ranks and aliased:
        scope.refuse("T18", "ordering by `nearest` does not combine with an alias", aliased[0].span)
