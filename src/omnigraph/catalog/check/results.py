"""What a read gives back: projections, ordering, `distinct`, and the limits rankings need."""

from __future__ import annotations

from collections.abc import Iterator

from omnigraph.catalog import logical as lg
from omnigraph.catalog.check.conditions import condition
from omnigraph.catalog.check.expressions import check_readable, type_of, typed
from omnigraph.catalog.check.scope import Scope
from omnigraph.catalog.render import expression_text
from omnigraph.language.diagnostics import did_you_mean
from omnigraph.language.gq import tree as t


def projections(scope: Scope, read: t.Read) -> tuple[lg.Projection, ...]:
    """The return block."""
    aggregating = read.having is not None or any(_aggregates(p.expression) for p in read.projections)
    aliases = scope.aliases
    named: set[str] = set()
    found: list[lg.Projection] = []
    trees: list[t.Projection] = []
    for tree in read.projections:
        if aggregating and not _groups(tree.expression):
            help = "group by properties, variables and what is computed of them; compute the rest in another query"
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
        trees.append(tree)
    if aggregating:
        _check_groups(scope, found, trees)
    return tuple(found)


def _aggregates(tree: t.Expression) -> bool:
    """Whether there is an aggregate in an expression."""
    match tree:
        case t.Arithmetic(left, _, right):
            return _aggregates(left) or _aggregates(right)
        case t.Negative(operand):
            return _aggregates(operand)
        case t.Call(_, arguments):
            return any(map(_aggregates, arguments))
        case _:
            return isinstance(tree, t.Aggregate)


def _groups(tree: t.Expression) -> bool:
    """Whether an expression may stand in a return block that aggregates."""
    if isinstance(tree, t.Call):
        return tree.function is not t.Function.NOW and tree.function not in t.TEXT_TESTS | t.RANKINGS
    return isinstance(tree, t.Aggregate | t.Access | t.Variable | t.Arithmetic | t.Negative)


def _check_groups(scope: Scope, returned: list[lg.Projection], trees: list[t.Projection]) -> None:
    """What is computed of aggregates has nothing else in it that differs within a group."""
    keys = [p.expression for p in returned if not lg.aggregates_in(p.expression)]
    for projection, tree in zip(returned, trees, strict=True):
        if lg.aggregates_in(projection.expression) and not of_groups(projection.expression, keys):
            help = "return it as a column of its own, by which rows are then grouped"
            scope.refuse("T9", "what is computed of aggregates has a value in it that may differ within a group", tree.span, help)


def having(scope: Scope, read: t.Read, returned: tuple[lg.Projection, ...]) -> lg.Condition | None:
    """Which groups are kept: a condition over aggregates and what rows are grouped by."""
    if read.having is None:
        return None
    scope.of_groups = True
    found = condition(scope, read.having)
    scope.of_groups = False
    if found is None:
        return None
    values = list(_compared(found))
    if not any(lg.aggregates_in(p.expression) for p in returned) and not any(map(lg.aggregates_in, values)):
        scope.refuse("T31", "`having` keeps groups, and nothing is aggregated here", read.having.span, "put it into `match { }`")
        return None
    keys = [p.expression for p in returned if not lg.aggregates_in(p.expression)]
    if not all(of_groups(value, keys) for value in values):
        message = "`having` compares a value that may differ within a group"
        help = "aggregate it, return it as a column, or put the condition into `match { }`"
        scope.refuse("T31", message, read.having.span, help)
        return None
    return found


def _compared(found: lg.Condition) -> Iterator[lg.Expression]:
    match found:
        case lg.Compare(left, _, right):
            yield from (left, right)
        case lg.IsNull(operand):
            yield operand
        case lg.Among(operand, choices):
            yield from (operand, choices)
        case lg.AllOf(parts) | lg.AnyOf(parts):
            for part in parts:
                yield from _compared(part)
        case lg.Not(part):
            yield from _compared(part)
        case lg.TextMatch():
            yield found


def count(scope: Scope, word: str, tree: int | t.Variable | None) -> int | lg.Parameter | None:
    """`limit` or `offset`."""
    if not isinstance(tree, t.Variable):
        return tree
    declared = scope.parameters.get(tree.name)
    if declared is None:
        help = did_you_mean(tree.name, scope.parameters) or "declare it between the parentheses of the query"
        scope.refuse("T30", f"`{word}` takes a parameter, and `${tree.name}` is none", tree.span, help)
    elif declared.is_list or declared.nullable or not declared.scalar.is_integer:
        scope.refuse(
            "T30", f"`{word}` takes a whole number; `${tree.name}` is {declared}", tree.span, f"declare it as ${tree.name}: I64"
        )
    else:
        return lg.Parameter(tree.name, declared)
    return None


def of_groups(expression: lg.Expression, keys: list[lg.Expression]) -> bool:
    """Whether a value is one for a whole group."""
    if isinstance(expression, lg.Aggregated) or lg.is_fixed(expression) or expression in keys:
        return True
    return isinstance(expression, lg.Computed) and all(of_groups(argument, keys) for argument in expression.arguments)


def _suggested(scope: Scope, tree: t.Projection, expression: lg.Expression, taken: set[str]) -> str:
    """The projection with a name that is still free."""
    match expression:
        case lg.Aggregated(function, argument):
            stem = f"{function.value}_{column_name(argument).rpartition('.')[2]}"
        case _:
            stem = column_name(expression).replace(".", "_")
    stem = stem if stem.isidentifier() and stem not in ("literal", "now") else "value"
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
        case lg.Parameter(name) | lg.Column(name) | lg.Found(_, name):
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
        case lg.Computed():
            return expression_text(expression)


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
        if tree.nulls is not None and isinstance(expression, lg.Ranking):
            help = "rows that a ranking leaves out come last, or not at all"
            scope.refuse("T32", f"`nulls {tree.nulls.value}` does not go with a ranking", tree.span, help)
            continue
        keys.append(lg.SortKey(expression, tree.direction or lg.best_first(expression), tree.nulls))
    _check_mixture(scope, read, ranks=ranks)
    aggregating = read.having is not None or any(lg.aggregates_in(p.expression) for p in returned)
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
