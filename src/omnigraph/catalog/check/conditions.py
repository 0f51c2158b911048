"""Conditions: which operands fit which comparison."""

from __future__ import annotations

from omnigraph.catalog import logical as lg
from omnigraph.catalog.check import ends
from omnigraph.catalog.check.expressions import typed
from omnigraph.catalog.check.scope import Scope
from omnigraph.language.gq import tree as t
from omnigraph.model.types import PropertyType, Scalar

_AFTER_GROUPS = "groups are filtered after `return`: `having { n > 1 }`, where `n` is the name of a column there"

_COMPARATORS = {
    t.Operator.EQ: lg.Comparator.EQ,
    t.Operator.NE: lg.Comparator.NE,
    t.Operator.GT: lg.Comparator.GT,
    t.Operator.LT: lg.Comparator.LT,
    t.Operator.GE: lg.Comparator.GE,
    t.Operator.LE: lg.Comparator.LE,
}


def condition(scope: Scope, tree: t.Condition) -> lg.Condition | None:
    """A condition with its types checked, or None after a report."""
    match tree:
        case t.Comparison():
            return _comparison(scope, tree)
        case t.TextTest(call):
            test = typed(scope, call)
            return test if isinstance(test, lg.TextMatch) else None
        case t.IsNull():
            return _null_test(scope, tree)
        case t.Among():
            return _membership(scope, tree)
        case t.And(parts):
            return _joined(scope, parts, every=True)
        case t.Or(parts):
            return _joined(scope, parts, every=False)
        case t.Not(part):
            found = condition(scope, part)
            return None if found is None else lg.Not(found)


def _joined(scope: Scope, parts: tuple[t.Condition, ...], *, every: bool) -> lg.Condition | None:
    checked = [condition(scope, part) for part in parts]
    whole = tuple(part for part in checked if part is not None)
    if len(whole) < len(parts):
        return None
    return lg.AllOf(whole) if every else lg.AnyOf(whole)


def comparator_of(operator: t.Operator) -> lg.Comparator:
    """The comparator of `=`, `<` and the like (not of `contains` and `starts_with`, which depend on the types)."""
    return _COMPARATORS[operator]


def is_order(operator: t.Operator) -> bool:
    """Whether it is one of `=`, `<` and the like."""
    return operator in _COMPARATORS


def _comparison(scope: Scope, tree: t.Comparison) -> lg.Condition | None:
    left, right = _side(scope, tree.left), _side(scope, tree.right)
    if left is None or right is None:
        return None
    if isinstance(left, lg.TextMatch) or isinstance(right, lg.TextMatch):
        return _text_comparison(scope, tree, left, right)
    if tree.operator in (t.Operator.EQ, t.Operator.NE):
        left, right = ends.compared(scope, right, left), ends.compared(scope, left, right)
    left_type = _operand(scope, left, tree.left)
    right_type = _operand(scope, right, tree.right)
    if left_type is None or right_type is None:
        return None
    comparator = _fitting(scope, tree, left_type, right_type)
    return None if comparator is None else lg.Compare(left, comparator, right)


def _text_comparison(scope: Scope, tree: t.Comparison, left: lg.Expression, right: lg.Expression) -> lg.Condition | None:
    """`search(…) = true` means `search(…)`; nothing else can be compared with a text test."""
    if isinstance(left, lg.TextMatch) and tree.operator is t.Operator.EQ and right == lg.Constant(True, lg.BOOL):
        return left
    help = "write it alone, or inside `not { }` for the opposite"
    scope.refuse("T7", "a text test can only be compared as `= true`", tree.span, help)
    return None


def _side(scope: Scope, tree: t.Expression) -> lg.Expression | None:
    """One side of a condition. About groups, an alias stands for what it names."""
    found = typed(scope, tree)
    return scope.meant(found) if scope.of_groups else found


def _operand(scope: Scope, value: lg.Expression, tree: t.Expression) -> PropertyType | None:
    if isinstance(value, lg.Entity):
        what = "an edge" if value.of_edge else "a node"
        message = f"`${value.variable}` is {what}; compare one of its properties, or its id"
        scope.refuse("T7", message, tree.span, f"write ${value.variable}.id")
        return None
    if lg.aggregates_in(value) and not scope.of_groups:
        scope.refuse("T7", "an aggregate cannot stand in a filter", tree.span, _AFTER_GROUPS)
        return None
    if isinstance(value, lg.Column):
        help = "write `is null` or `is not null`" if value.name == "null" else "an alias of the return block is not known here"
        scope.refuse("T7", f"`{value.name}` is not a value", tree.span, help)
        return None
    assert value.type is not None
    if value.type.is_blob:
        scope.refuse("T7", "a Blob cannot be compared", tree.span)
        return None
    return value.type


def _fitting(scope: Scope, tree: t.Comparison, left: PropertyType, right: PropertyType) -> lg.Comparator | None:
    match tree.operator:
        case t.Operator.CONTAINS:
            return _containing(scope, tree, left, right)
        case t.Operator.STARTS_WITH | t.Operator.ENDS_WITH:
            if left.is_string and right.is_string:
                return lg.Comparator(tree.operator.value)
            scope.refuse("T7", f"`{tree.operator.value}` compares two Strings, not {left} and {right}", tree.span)
            return None
        case operator:
            return _ordered(scope, tree, operator, left, right)


def _containing(scope: Scope, tree: t.Comparison, left: PropertyType, right: PropertyType) -> lg.Comparator | None:
    if left.is_string:
        if right.is_string:
            return lg.Comparator.STRING_CONTAINS
        scope.refuse("T7", f"a String contains a String, not {right}", tree.right.span)
    elif left.is_list:
        if not right.is_list and not right.is_vector and left.element().compatible_with(right):
            return lg.Comparator.CONTAINS
        scope.refuse("T7", f"{left} contains {left.element()}, not {right}", tree.right.span)
    else:
        scope.refuse("T7", f"`contains` needs a String or a list on its left, not {left}", tree.left.span)
    return None


def _ordered(
    scope: Scope, tree: t.Comparison, operator: t.Operator, left: PropertyType, right: PropertyType
) -> lg.Comparator | None:
    if left.is_list or right.is_list:
        scope.refuse("T7", "lists cannot be compared", tree.span, "use `contains` or `in`")
    elif left.is_vector or right.is_vector:
        scope.refuse("T7", "vectors cannot be compared", tree.span, "rank by `nearest(…)`")
    elif not left.compatible_with(right):
        scope.refuse("T7", f"{left} cannot be compared with {right}", tree.span, _date_help(tree, left, right))
    else:
        return _COMPARATORS[operator]
    return None


def _date_help(tree: t.Comparison, left: PropertyType, right: PropertyType) -> str:
    for side, other in ((tree.right, left), (tree.left, right)):
        if isinstance(side, t.String) and other.scalar in (Scalar.DATE, Scalar.DATETIME):
            return f'write {other.scalar.value.lower()}("{side.value}")'
    return ""


def _null_test(scope: Scope, tree: t.IsNull) -> lg.IsNull | None:
    operand = _side(scope, tree.operand)
    if operand is None:
        return None
    if isinstance(operand, lg.Entity):
        return lg.IsNull(operand, tree.negated)
    if not isinstance(operand, lg.PropertyValue | lg.Parameter | lg.Computed | lg.Aggregated):
        scope.refuse("T7", "only a property, a parameter, a variable or what is computed can be null", tree.operand.span)
        return None
    return None if _operand(scope, operand, tree.operand) is None else lg.IsNull(operand, tree.negated)


def _membership(scope: Scope, tree: t.Among) -> lg.Among | None:
    operand, choices = _side(scope, tree.operand), _side(scope, tree.choices)
    if operand is None or choices is None:
        return None
    choices = ends.compared(scope, operand, choices)
    left, right = _operand(scope, operand, tree.operand), _operand(scope, choices, tree.choices)
    if left is None or right is None:
        return None
    if not right.is_list:
        scope.refuse("T7", f"`in` needs a list on its right, not {right}", tree.choices.span, "for example [1, 2, 3]")
        return None
    if left.is_list or left.is_vector:
        scope.refuse("T7", f"`in` needs a single value on its left, not {left}", tree.operand.span)
        return None
    empty = isinstance(choices, lg.Constant) and choices.value == ()
    if not empty and not right.element().compatible_with(left):
        scope.refuse("T7", f"{left} cannot be among {right}", tree.span)
        return None
    return lg.Among(operand, choices, tree.negated)
