"""Types of expressions. A function here returns the typed expression, or None after it has reported why there is none."""

from __future__ import annotations

from omnigraph.catalog import logical as lg
from omnigraph.catalog.check.scope import ID, Scope
from omnigraph.catalog.check.values import INTEGER, constant
from omnigraph.language.diagnostics import did_you_mean
from omnigraph.language.gq import tree as t
from omnigraph.model.types import PropertyType, Scalar


def typed(scope: Scope, expression: t.Expression) -> lg.Expression | None:
    """An expression with its names resolved and its type known."""
    match expression:
        case t.Access():
            return access(scope, expression)
        case t.Variable():
            return bare_variable(scope, expression)
        case t.Aggregate():
            return aggregate(scope, expression)
        case t.Call():
            return call(scope, expression)
        case t.Alias(name):
            return lg.Column(name)
        case t.Arithmetic() | t.Negative():
            return computed(scope, expression)
        case _:
            return constant(scope, expression)


def type_of(expression: lg.Expression) -> PropertyType | None:
    """The type of a value; None for a node and for an alias nobody defines."""
    return None if isinstance(expression, lg.Entity) else expression.type


def access(scope: Scope, expression: t.Access, code: str = "T6") -> lg.PropertyValue | None:
    """`$v.p`."""
    variable = expression.variable
    bound = scope.bound.get(variable.name)
    if bound is None:
        if scope.is_spoilt(variable.name):
            return None
        message = f"variable `${variable.name}` is not bound here"
        help = did_you_mean(variable.name, scope.bound)
        if not help and variable.name in scope.parameters:
            help = "it is a parameter, and a parameter has no properties"
        scope.refuse(code, message, variable.span, help or "introduce it by a binding or a traversal before it is used")
        return None
    prop = scope.property_of(bound, expression.property.text)
    if prop is None:
        scope.unknown_property(code, bound.label, expression.property, bound.properties)
        return None
    type_ = prop.type.as_nullable() if bound.nullable else prop.type
    return lg.PropertyValue(variable.name, prop.name, type_, bound.is_edge)


def bare_variable(scope: Scope, variable: t.Variable) -> lg.Parameter | lg.Entity | None:
    """`$v`: a parameter if there is one of the name, else a bound node or edge."""
    declared = scope.parameters.get(variable.name)
    if declared is not None:
        return lg.Parameter(variable.name, declared)
    bound = scope.bound.get(variable.name)
    if bound is None:
        if scope.is_spoilt(variable.name):
            return None
        known = [*scope.bound, *scope.parameters]
        scope.refuse(
            "unbound-variable", f"variable `${variable.name}` is not bound", variable.span, did_you_mean(variable.name, known)
        )
        return None
    if bound.is_path:
        message = f"`${variable.name}` is a path, and no value by itself"
        scope.refuse("T33", message, variable.span, f"use ${variable.name}.length or ${variable.name}.nodes")
        return None
    return lg.Entity(variable.name, bound.label, bound.nullable, bound.is_edge)


def aggregate(scope: Scope, expression: t.Aggregate) -> lg.Aggregated | None:
    """`count(x)`, `sum(x)` and the like."""
    argument = typed(scope, expression.argument)
    if argument is not None and lg.aggregates_in(argument):
        scope.refuse("T8", "aggregates cannot be nested", expression.argument.span)
        return None
    if argument is None or not check_readable(scope, argument, expression.argument):
        return None
    function, type_ = expression.function, type_of(argument)
    if function is t.AggregateFunction.COUNT:
        result = PropertyType(Scalar.I64, nullable=True)
    elif function in (t.AggregateFunction.SUM, t.AggregateFunction.AVG):
        if type_ is None or not type_.is_numeric:
            _refuse_aggregate(scope, expression, type_, "a number")
            return None
        wide = function is t.AggregateFunction.SUM and type_.scalar in (Scalar.I64, Scalar.U64)
        result = PropertyType(type_.scalar if wide else Scalar.F64, nullable=True)  # F64 would round what 64 bits add up to
    elif function is t.AggregateFunction.COLLECT:
        if type_ is not None and (type_.is_list or type_.is_vector):
            _refuse_aggregate(scope, expression, type_, "a single value")
            return None
        result = PropertyType(Scalar.STRING if type_ is None else type_.scalar, is_list=True)
    else:
        if type_ is None or type_.is_list or not (type_.is_numeric or type_.is_string or type_.scalar.is_temporal):
            _refuse_aggregate(scope, expression, type_, "a number, a String, a date or a duration")
            return None
        result = type_.as_nullable()
    return lg.Aggregated(function, argument, expression.distinct, result)


def _refuse_aggregate(scope: Scope, expression: t.Aggregate, type_: PropertyType | None, wanted: str) -> None:
    given = "a node or an edge" if type_ is None else str(type_)
    scope.refuse("T8", f"`{expression.function.value}` takes {wanted}, not {given}", expression.argument.span)


def check_readable(scope: Scope, expression: lg.Expression, tree: t.Expression) -> bool:
    """A Blob is never a result value."""
    type_ = type_of(expression)
    if type_ is not None and type_.is_blob:
        scope.refuse(
            "T24", "a Blob cannot be a result value", tree.span, "return its node, and read the Blob by type, id and property"
        )
        return False
    return True


def computed(scope: Scope, expression: t.Arithmetic | t.Negative | t.Call) -> lg.Computed | None:
    """Arithmetic, or a function of values."""
    trees: tuple[t.Expression, ...]
    match expression:
        case t.Arithmetic(left, sign, right):
            trees, operation = (left, right), lg.Operation(sign.value)
        case t.Negative(operand):
            trees, operation = (operand,), lg.Operation.NEGATE
        case t.Call(function, trees):
            operation = lg.Operation(function.value)
    from omnigraph.catalog.check import arithmetic  # few queries compute

    operands = [arithmetic.operand(scope, typed(scope, tree), tree) for tree in trees]
    whole = [operand for operand in operands if operand is not None]
    return arithmetic.computed(scope, operation, whole, trees, expression.span) if len(whole) == len(operands) else None


def call(scope: Scope, expression: t.Call) -> lg.Expression | None:
    """`now()`, a text test, a ranking or a function of values."""
    match expression.function:
        case t.Function.NOW:
            return lg.Now()
        case t.Function.SEARCH | t.Function.FUZZY:
            return _text_match(scope, expression, "T19")
        case t.Function.MATCH_TEXT:
            return _text_match(scope, expression, "T20")
        case t.Function.BM25:
            return bm25(scope, expression)
        case t.Function.NEAREST:
            return nearest(scope, expression)
        case t.Function.RRF:
            return fusion(scope, expression)
        case _:
            return computed(scope, expression)


def _text_match(scope: Scope, expression: t.Call, code: str) -> lg.TextMatch | None:
    field = _text_argument(scope, expression, 0, code)
    query = _text_argument(scope, expression, 1, code)
    edits: lg.Expression | None = None
    if len(expression.arguments) > 2:
        edits = typed(scope, expression.arguments[2])
        if edits is None:
            return None
        type_ = type_of(edits)
        if type_ is None or type_.is_list or not type_.scalar.is_integer:
            scope.refuse(code, "the edits of `fuzzy` are a whole number", expression.arguments[2].span)
            return None
    if field is None or query is None:
        return None
    return lg.TextMatch(expression.function, field, query, edits)


def _text_argument(scope: Scope, expression: t.Call, position: int, code: str) -> lg.Expression | None:
    tree = expression.arguments[position]
    argument = typed(scope, tree)
    if argument is None:
        return None
    name = expression.function.value
    if position == 0 and isinstance(argument, lg.PropertyValue) and argument.of_edge:
        scope.refuse("T23", f"`{name}` searches nodes, not edges", tree.span)
        return None
    type_ = type_of(argument)
    if position == 0 and isinstance(argument, lg.PropertyValue) and argument.property == ID.name:
        scope.refuse(code, f"`{name}` searches texts, not ids", tree.span, "compare the id: `=`, `in`, `starts_with`")
        return None
    if type_ is None or not type_.is_string:
        what = "field" if position == 0 else "query"
        given = "a node" if type_ is None else str(type_)
        scope.refuse(code, f"the {what} of `{name}` must be a String, not {given}", tree.span)
        return None
    return argument


def bm25(scope: Scope, expression: t.Call) -> lg.Bm25 | None:
    """`bm25(text, query)`."""
    field = _text_argument(scope, expression, 0, "T20")
    query = _text_argument(scope, expression, 1, "T20")
    return None if field is None or query is None else lg.Bm25(field, query)


def nearest(scope: Scope, expression: t.Call) -> lg.Nearest | None:
    """`nearest($v.vector, query)`: the query is a vector of the same dimension, or a text."""
    field_tree, query_tree = expression.arguments
    assert isinstance(field_tree, t.Access)
    field = access(scope, field_tree, "T15")
    query = typed(scope, query_tree)
    if field is None or query is None:
        return None
    if field.of_edge:
        scope.refuse("T23", "`nearest` ranks nodes, not edges", field_tree.span)
        return None
    if not field.type.is_vector:
        scope.refuse("T15", f"`nearest` needs a Vector property; `{field.property}` is {field.type}", field_tree.span)
        return None
    type_, dimension = type_of(query), field.type.dimension
    if type_ is not None and type_.is_string:
        return lg.Nearest(field, query)
    given: int | None = None
    if type_ is not None and type_.is_vector:
        given = type_.dimension
    elif isinstance(query, lg.Constant) and isinstance(query.value, tuple) and query.type.scalar.is_numeric:
        given = len(query.value)
    if given is None:
        help = "give a Vector parameter, a list of numbers, or a text to embed"
        scope.refuse("T15", "the query of `nearest` must be a Vector or a String", query_tree.span, help)
        return None
    if given != dimension:
        scope.refuse("T15", f"`{field.property}` has {dimension} dimensions, the query {given}", query_tree.span)
        return None
    return lg.Nearest(field, query)


def fusion(scope: Scope, expression: t.Call) -> lg.Fusion | None:
    """`rrf(ranking, ranking, k)`."""
    arms = [_rank(scope, tree) for tree in expression.arguments[:2]]
    k: lg.Expression | None = None
    if len(expression.arguments) > 2:
        tree = expression.arguments[2]
        k = typed(scope, tree)
        if k is None:
            return None
        type_ = type_of(k)
        if type_ is None or type_.is_list or not type_.scalar.is_integer:
            scope.refuse("T21", "the k of `rrf` must be a whole number", tree.span)
            return None
        if isinstance(k, lg.Constant) and k.type == INTEGER and isinstance(k.value, int) and k.value <= 0:
            scope.refuse("T21", "the k of `rrf` must be greater than zero", tree.span)
            return None
    first, second = arms
    return None if first is None or second is None else lg.Fusion(first, second, k)


def _rank(scope: Scope, tree: t.Expression) -> lg.Nearest | lg.Bm25 | None:
    if isinstance(tree, t.Call) and tree.function is t.Function.NEAREST:
        return nearest(scope, tree)
    if isinstance(tree, t.Call) and tree.function is t.Function.BM25:
        return bm25(scope, tree)
    scope.refuse("T21", "`rrf` merges `nearest(…)` and `bm25(…)` only", tree.span)
    return None
