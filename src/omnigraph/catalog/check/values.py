"""Literals and the values that meet a property: inline matches, assignments, predicates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from omnigraph.catalog import logical as lg
from omnigraph.catalog.check.scope import Scope
from omnigraph.language.diagnostics import did_you_mean, one_of
from omnigraph.language.gq import tree as t
from omnigraph.language.source import Span
from omnigraph.model.limits import MAX_I64
from omnigraph.model.phrases import counted
from omnigraph.model.types import PropertyType, Scalar

STRING = PropertyType(Scalar.STRING)
INTEGER = PropertyType(Scalar.I64)
LARGE_INTEGER = PropertyType(Scalar.U64)
"""Of literals that I64 does not hold."""
FLOAT = PropertyType(Scalar.F64)
DATE = PropertyType(Scalar.DATE)


def constant(scope: Scope, literal: t.Literal) -> lg.Constant | None:
    """The typed value of a literal, or None when it is a list that makes no sense (reported)."""
    match literal:
        case t.String(value):
            return lg.Constant(value, STRING)
        case t.Integer(value):
            return lg.Constant(value, INTEGER if value <= MAX_I64 else LARGE_INTEGER)
        case t.Float(value):
            return lg.Constant(value, FLOAT)
        case t.Bool(value):
            return lg.Constant(value, lg.BOOL)
        case t.Date(text):
            return lg.Constant(text.value, DATE)
        case t.DateTime(text):
            return lg.Constant(text.value, lg.DATETIME)
        case t.List(items):
            return _list(scope, items)


def _list(scope: Scope, items: Sequence[t.Literal]) -> lg.Constant | None:
    first: PropertyType | None = None
    values: list[lg.ConstantItem] = []
    for item in items:
        if isinstance(item, t.List):
            scope.refuse("list-literal", "nested list literals are not supported", item.span)
            return None
        typed = constant(scope, item)
        assert typed is not None
        assert not isinstance(typed.value, tuple)
        if first is None:
            first = typed.type
        elif not first.compatible_with(typed.type):
            message = f"list literal elements must share one type: {first} and {typed.type} do not mix"
            scope.refuse("list-literal", message, item.span)
            return None
        values.append(typed.value)
    element = first or STRING
    return lg.Constant(tuple(values), PropertyType(element.scalar, is_list=True))


def property_value(
    scope: Scope, value: t.Expression, name: str, type_: PropertyType, *, mismatch: str, undeclared: str | None, help: str = ""
) -> lg.Expression | None:
    """The value given for a property.

    `mismatch` is the rule a misfitting literal breaks (a misfitting parameter always breaks T7); `undeclared` the rule broken
    by a variable that is no parameter, None where that is left to the run (an inline match). `help` is what to say of a misfit.
    """
    if isinstance(value, t.Variable):
        return _parameter_value(scope, value, name, type_, undeclared, help)
    if isinstance(value, t.Call):  # the grammar allows only now() here
        if type_.scalar is not Scalar.DATETIME or type_.is_list:
            scope.refuse(mismatch, f"`now()` is a DateTime; `{name}` is {type_}", value.span)
            return None
        return lg.Now()
    if not isinstance(value, t.String | t.Integer | t.Float | t.Bool | t.Date | t.DateTime | t.List):
        scope.refuse(mismatch, f"`{name}` takes a literal, a parameter or `now()`", value.span)
        return None
    typed = constant(scope, value)
    if typed is None or not _literal_fits(scope, typed, value.span, name, type_, mismatch, help):
        return None
    return typed


def _parameter_value(
    scope: Scope, variable: t.Variable, name: str, type_: PropertyType, undeclared: str | None, misfit: str
) -> lg.Parameter | None:
    declared = scope.parameters.get(variable.name)
    if declared is None:
        if undeclared is None:
            return lg.Parameter(variable.name, type_, declared=False)
        help = did_you_mean(variable.name, scope.parameters) or "declare it between the parentheses of the query"
        scope.refuse(undeclared, f"`${variable.name}` is not a declared parameter", variable.span, help)
        return None
    text_for_blob = type_.is_blob and declared.is_string
    if not text_for_blob and not declared.compatible_with(type_):
        message = f"parameter `${variable.name}` is {declared}, property `{name}` is {type_}"
        scope.refuse("T7", message, variable.span, misfit)
        return None
    return lg.Parameter(variable.name, declared)


def _literal_fits(scope: Scope, typed: lg.Constant, span: Span, name: str, type_: PropertyType, code: str, misfit: str) -> bool:
    if type_.is_vector and isinstance(typed.value, tuple):
        if not typed.type.scalar.is_numeric:
            scope.refuse(code, f"`{name}` is {type_}: its elements are numbers", span)
            return False
        if len(typed.value) != type_.dimension:
            scope.refuse(code, f"`{name}` is {type_}: {counted(len(typed.value), 'element')} given", span)
            return False
        return True
    if type_.is_blob or not typed.type.compatible_with(type_):
        scope.refuse(code, f"`{name}` is {type_}, this literal is {typed.type}", span, misfit or _conversion_help(typed, type_))
        return False
    if type_.enum_values is not None and isinstance(typed.value, str) and typed.value not in type_.enum_values:
        help = did_you_mean(typed.value, type_.enum_values) or f"expected one of {one_of(type_.enum_values)}"
        scope.refuse(code, f'invalid enum value "{typed.value}" for `{name}`', span, help)
        return False
    return True


def _conversion_help(typed: lg.Constant, type_: PropertyType) -> str:
    if typed.type == STRING and type_.scalar is Scalar.DATE and not type_.is_list:
        return f'write date("{typed.value}")'
    if typed.type == STRING and type_.scalar is Scalar.DATETIME and not type_.is_list:
        return f'write datetime("{typed.value}")'
    if type_.is_blob:
        return "a Blob is given by a String parameter"
    if typed.value == () and type_.is_list:
        return f"an empty list in a query is [String]: give it as a parameter, $empty: {replace(type_, nullable=False)}"
    return ""
