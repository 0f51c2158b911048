"""Types of what is computed: arithmetic, text functions, `coalesce`, durations.

    I32 U32 I64   with   I32 U32 I64       + * %  I64        -  I64      /  F64
    U64           with   any integer       + * %  U64        -  I64      /  F64
    F32 F64       with   any number        F64
    Date          ±      Duration          Date                          Date - Date           Duration
    DateTime      ±      Duration          DateTime                      DateTime - DateTime   Duration
    Duration      ±      Duration          Duration                      Duration / Duration   F64
    Duration      *      any integer       Duration

Where an operand is null the value is null; a division by zero gives null too. A value that its type does not hold is an error
when the query runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from omnigraph.catalog import logical as lg
from omnigraph.catalog.check.scope import Scope
from omnigraph.language.diagnostics import did_you_mean
from omnigraph.language.gq import tree as t
from omnigraph.language.source import Span
from omnigraph.model.limits import MAX_NESTING, MAX_PARTS
from omnigraph.model.types import INTEGER_RANGES, PropertyType, Scalar

Op = lg.Operation

_ONE = {Op.NEGATE, Op.LOWER, Op.UPPER, Op.LENGTH, Op.DAYS, Op.HOURS, Op.MINUTES, Op.SECONDS}
_BEYOND_TIME = frozenset({Op.ADD, Op.SUBTRACT})


def operand(scope: Scope, value: lg.Expression | None, tree: t.Expression) -> lg.Expression | None:
    """Something to compute with, or None after a report. An alias stands for what it names."""
    value = scope.meant(value)
    if isinstance(value, lg.Column):
        help = did_you_mean(value.name, scope.aliases) or "an alias can be used after the column that it names"
        scope.refuse("T29", f"`{value.name}` is not a value", tree.span, help)
        return None
    match value:
        case None:
            return None
        case lg.Entity(variable):
            scope.refuse("T29", f"`${variable}` is a node; compute with one of its properties", tree.span)
        case lg.TextMatch():
            scope.refuse("T29", "a text test is no value to compute with", tree.span)
        case lg.Nearest() | lg.Bm25() | lg.Fusion():
            scope.refuse("T29", "a ranking orders rows and is no value to compute with", tree.span)
        case _ if value.type is None or value.type.is_blob or value.type.is_vector:
            scope.refuse("T29", f"{value.type} is no value to compute with", tree.span)
        case _:
            return value
    return None


def computed(
    scope: Scope, operation: Op, operands: Sequence[lg.Expression], trees: Sequence[t.Expression], span: Span
) -> lg.Computed | None:
    """A computed value with its type, or None after a report."""
    types = [_type(o) for o in operands]
    name = operation.value
    wanted = 1 if operation in _ONE else 2
    if len(types) < wanted or (len(types) > wanted and operation not in (Op.CONCAT, Op.COALESCE)):
        many = "one value" if wanted == 1 else "two values or more"
        scope.refuse("T29", f"`{name}` takes {many}, not {len(types)}", span)
        return None
    match operation:
        case Op.LOWER | Op.UPPER | Op.CONCAT:
            found = _all_fit(scope, name, types, trees, "Strings", lambda type_: type_.is_string)
            result = PropertyType(Scalar.STRING) if found else None
        case Op.LENGTH:
            found = _all_fit(scope, name, types, trees, "a String or a list", lambda type_: type_.is_string or type_.is_list)
            result = PropertyType(Scalar.I64) if found else None
        case Op.DAYS | Op.HOURS | Op.MINUTES | Op.SECONDS:
            whole = _all_fit(scope, name, types, trees, "a whole number", lambda ty: ty.is_numeric and ty.scalar.is_integer)
            result = lg.DURATION if whole else None
        case Op.COALESCE:
            return _coalesced(scope, operands, types, span)
        case Op.NEGATE:
            result = _negated(types[0])
            if result is None:
                scope.refuse("T29", f"`-` takes a number or a Duration, not {types[0]}", span)
        case _:
            result = arithmetic_type(operation, *types)
            if result is None:
                _refuse(scope, operation, types, span)
    if result is None or not _is_small(scope, operands, span):
        return None
    empty = operation in (Op.DIVIDE, Op.REMAINDER) or any(type_.nullable for type_ in types)
    return lg.Computed(operation, tuple(operands), replace(result, nullable=empty))


def _is_small(scope: Scope, operands: Sequence[lg.Expression], span: Span) -> bool:
    """Whether a value has few enough parts: names stand for what they name, and would multiply it."""
    parts, depth = _extent(operands)
    help = "compute it in several queries"
    if depth > MAX_NESTING:
        scope.refuse("nesting-limit", f"a value is computed in more than {MAX_NESTING} steps", span, help)
    elif parts > MAX_PARTS:
        scope.refuse("size-limit", f"a value is computed from more than {MAX_PARTS:,} parts", span, help)
    return depth <= MAX_NESTING and parts <= MAX_PARTS


def _extent(operands: Sequence[lg.Expression]) -> tuple[int, int]:
    """Of how many parts a value of these is made, and in how many steps."""
    parts, depth = 1, 0
    for operand_ in operands:
        inner = operand_.arguments if isinstance(operand_, lg.Computed) else ()
        inner = (operand_.argument,) if isinstance(operand_, lg.Aggregated) else inner
        more, deeper = _extent(inner) if inner else (1, 0)
        parts, depth = parts + more, max(depth, deeper)
    return parts, depth + 1


def arithmetic_type(operation: Op, left: PropertyType, right: PropertyType) -> PropertyType | None:
    """The type of `left operation right`; None if the two do not go together."""
    if left.is_list or right.is_list:
        return None
    a, b = left.scalar, right.scalar
    if a.is_numeric and b.is_numeric:
        return PropertyType(_number(operation, a, b))
    if operation is Op.MULTIPLY and {a, b} & {Scalar.DURATION} and (a.is_integer or b.is_integer):
        return lg.DURATION
    if not (a.is_temporal and b.is_temporal):
        return None
    if operation is Op.DIVIDE and a is b is Scalar.DURATION:
        return PropertyType(Scalar.F64)
    if operation is Op.SUBTRACT and a is b:
        return lg.DURATION
    if operation in _BEYOND_TIME and b is Scalar.DURATION:
        return PropertyType(a)
    return PropertyType(b) if operation is Op.ADD and a is Scalar.DURATION else None


def _number(operation: Op, left: Scalar, right: Scalar) -> Scalar:
    if operation is Op.DIVIDE or left.is_float or right.is_float:
        return Scalar.F64
    return Scalar.U64 if Scalar.U64 in (left, right) and operation is not Op.SUBTRACT else Scalar.I64


def _negated(type_: PropertyType) -> PropertyType | None:
    if type_.is_list or not (type_.is_numeric or type_.scalar is Scalar.DURATION):
        return None
    if type_.scalar is Scalar.DURATION:
        return lg.DURATION
    return PropertyType(Scalar.F64 if type_.scalar.is_float else Scalar.I64)


def _type(operand: lg.Expression) -> PropertyType:
    assert not isinstance(operand, lg.Entity)
    assert operand.type is not None
    return operand.type


def _all_fit(scope, name, types, trees, wanted, fits) -> bool:  # type: ignore[no-untyped-def]
    """Whether all arguments of a function are what it takes; the first that is not is reported."""
    for type_, tree in zip(types, trees, strict=True):
        if not fits(type_):
            scope.refuse("T29", f"`{name}` takes {wanted}, not {type_}", tree.span)
            return False
    return True


def _refuse(scope: Scope, operation: Op, types: Sequence[PropertyType], span: Span) -> None:
    left, right = types
    help = ""
    if left.is_string and right.is_string and operation is Op.ADD:
        help = "write concat(…)"
    elif operation in _BEYOND_TIME and left.scalar in (Scalar.DATE, Scalar.DATETIME) and right.is_numeric:
        help = "say of what: days(…), hours(…), minutes(…) or seconds(…)"
    elif operation is Op.DIVIDE and left.scalar is Scalar.DURATION:
        help = "divide by another duration: … / days(1)"
    scope.refuse("T29", f"`{operation.value}` does not go with {left} and {right}", span, help)


def _coalesced(scope: Scope, operands: Sequence[lg.Expression], types: Sequence[PropertyType], span: Span) -> lg.Computed | None:
    """The first value that is there. Numbers written out take the type of the others, if that holds them."""
    written = [isinstance(o, lg.Constant) for o in operands]
    given = [type_ for type_, literal in zip(types, written, strict=True) if not literal] or list(types)
    result = given[0]
    for type_ in given[1:]:
        result = _common(result, type_)
    for operand_, type_ in zip(operands, types, strict=True):
        if isinstance(operand_, lg.Constant) and not _holds(result, operand_):
            result = _common(result, type_)
    for operand_, type_ in zip(operands, types, strict=True):
        if isinstance(operand_, lg.Constant) and type_.is_list and result.is_list and _holds(result, operand_):
            continue
        if not type_.compatible_with(result) or (type_.is_list and type_.scalar is not result.scalar):
            scope.refuse("T29", f"`coalesce` takes values of one type, not {types[0]} and {type_}", span)
            return None
    if not _is_small(scope, operands, span):
        return None
    return lg.Computed(Op.COALESCE, tuple(operands), replace(result, nullable=all(type_.nullable for type_ in types)))


def _common(one: PropertyType, other: PropertyType) -> PropertyType:
    """A type for values of two; the first if there is none."""
    if one.scalar is other.scalar:
        same = (one.enum_values, one.enum_order) == (other.enum_values, other.enum_order)
        return one if same else replace(one, enum_values=None, enum_order=None)
    if one.is_list or other.is_list or not (one.scalar.is_numeric and other.scalar.is_numeric):
        return one
    return PropertyType(_number(Op.ADD, one.scalar, other.scalar))


def _holds(type_: PropertyType, constant: lg.Constant) -> bool:
    """Whether a literal can be a value of a type."""
    values = constant.value if isinstance(constant.value, tuple) else (constant.value,)
    if type_.is_list != constant.type.is_list:
        return False
    if type_.scalar.is_float:
        return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    if type_.scalar.is_integer:
        low, high = INTEGER_RANGES[type_.scalar]
        return all(isinstance(value, int) and not isinstance(value, bool) and low <= value <= high for value in values)
    if type_.scalar is not constant.type.scalar and values:
        return False
    return type_.enum_values is None or all(value in type_.enum_values for value in values)
