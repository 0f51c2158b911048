"""Expressions and conditions as people read them."""

from __future__ import annotations

from omnigraph.catalog import logical as lg


def expression_text(expression: lg.Expression) -> str:
    """One expression, close to how it is written in a query."""
    match expression:
        case lg.PropertyValue(variable, name):
            return f"{variable}.{name}"
        case lg.Entity(variable):
            return variable
        case lg.Parameter(name):
            return f"${name}"
        case lg.Constant(value):
            return f'"{value}"' if isinstance(value, str) else str(list(value) if isinstance(value, tuple) else value)
        case lg.Now():
            return "now()"
        case lg.TextMatch(function, field, query, edits):
            more = "" if edits is None else f", {expression_text(edits)}"
            return f"{function.value}({expression_text(field)}, {expression_text(query)}{more})"
        case lg.Nearest(near, query):
            return f"nearest({expression_text(near)}, {expression_text(query)})"
        case lg.Bm25(field, query):
            return f"bm25({expression_text(field)}, {expression_text(query)})"
        case lg.Fusion(first, second):
            return f"rrf({expression_text(first)}, {expression_text(second)})"
        case lg.Computed(operation, (left, right)) if not operation.value.isidentifier():
            return f"{_operand(left)} {operation.value} {_operand(right)}"
        case lg.Computed(lg.Operation.NEGATE, (operand,)):
            return f"-{_operand(operand)}"
        case lg.Computed(operation, arguments):
            return f"{operation.value}({', '.join(map(expression_text, arguments))})"
        case lg.Aggregated(function, argument, distinct):
            return f"{function.value}({'distinct ' if distinct else ''}{expression_text(argument)})"
        case lg.Column(name) | lg.Found(_, name):
            return name


def _operand(expression: lg.Expression) -> str:
    text = expression_text(expression)
    return f"({text})" if isinstance(expression, lg.Computed) and not expression.operation.value.isidentifier() else text


def condition_text(condition: lg.Condition) -> str:
    """One condition, close to how it is written in a query."""
    match condition:
        case lg.Compare(left, how, right):
            return f"{expression_text(left)} {how.value} {expression_text(right)}"
        case lg.IsNull(operand, negated):
            return f"{expression_text(operand)} is {'not ' if negated else ''}null"
        case lg.Among(operand, choices, negated):
            return f"{expression_text(operand)} {'not ' if negated else ''}in {expression_text(choices)}"
        case lg.AllOf(parts):
            return f"({' and '.join(condition_text(p) for p in parts)})"
        case lg.AnyOf(parts):
            return f"({' or '.join(condition_text(p) for p in parts)})"
        case lg.Not(part):
            inner = condition_text(part)
            return f"not {inner}" if isinstance(part, lg.AllOf | lg.AnyOf) else f"not ({inner})"
        case lg.TextMatch():
            return expression_text(condition)
