"""What is computed, over whole columns: arithmetic, text functions, `coalesce`, durations.

A value is exact in its type, or it is an error: nothing wraps and nothing becomes infinite. Null goes in, null comes out; a
division by zero gives null. Dates are days here and moments and durations milliseconds, as everywhere before the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.catalog import logical as lg
from omnigraph.catalog.render import expression_text
from omnigraph.engine.arrays.column import Array, Mask, Vec, physical
from omnigraph.engine.execution.budget import Budget
from omnigraph.engine.execution.compare import Operand
from omnigraph.engine.execution.whole_numbers import Beyond, whole
from omnigraph.engine.planning.parameters import Value
from omnigraph.errors import QueryError
from omnigraph.model.arrow import arrow_type
from omnigraph.model.limits import MAX_I64
from omnigraph.model.times import DAY_MS, DAYS, LONGEST_MS, MILLISECONDS
from omnigraph.model.types import PropertyType, Scalar

Op = lg.Operation

_UNITS: Final = {Op.DAYS: DAY_MS, Op.HOURS: 3_600_000, Op.MINUTES: 60_000, Op.SECONDS: 1_000}
_LONGEST_TEXTS = 1 << 31
"""Bytes that the texts of one batch of rows may have together."""


def computed(expression: lg.Computed, operands: Sequence[Operand], budget: Budget) -> Operand:
    """The value of a computed expression: a column, or one value if its operands are."""
    columns = [operand for operand in operands if isinstance(operand, Vec)]
    rows = max(map(len, columns)) if columns else 1
    if budget.limited:
        budget.hold(rows * 8 * (len(operands) + 2) + 2 * sum(column.nbytes for column in columns), "computing values")
    operation = expression.operation
    if operation is Op.COALESCE:
        return _first_there(expression, operands, rows, fixed=not columns)
    if any(operand is None for operand in operands):
        return None if not columns else Vec.of(pa.nulls(rows, arrow_type(_type(expression))))
    try:
        if operation in (Op.LOWER, Op.UPPER, Op.LENGTH, Op.CONCAT):
            found = _text(operation, operands, expression)
        else:
            found = _numbers(expression, operands)
    except Beyond as error:
        raise _beyond(expression, error) from None
    return found if columns else _single(found)


def _type(expression: lg.Expression) -> PropertyType:
    assert not isinstance(expression, lg.Entity)
    assert expression.type is not None
    return expression.type


def _single(vec: Vec) -> Value:
    """The value of a column with one row."""
    if vec.plain is not None:
        there = vec.valid is None or bool(vec.valid[0])
        return vec.plain[0].item() if there else None
    assert vec.arrow is not None
    return vec.arrow[0].as_py()  # type: ignore[no-any-return]


def _beyond(expression: lg.Computed, error: Beyond) -> QueryError:
    type_ = _type(expression).scalar.value
    hint = "Compute with smaller numbers, or with floats: multiply by 1.0 first." if type_ in ("I64", "U64") else ""
    return QueryError(f"`{expression_text(expression)[:120]}` is {error} {type_}", hint=hint)


# ── numbers and times ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _numbers(expression: lg.Computed, operands: Sequence[Operand]) -> Vec:
    operation, type_ = expression.operation, _type(expression)
    scalars = [_type(argument).scalar for argument in expression.arguments]
    values = [_plain(operand, scalar) for operand, scalar in zip(operands, scalars, strict=True)]
    valid = _all_there(operands)
    if operation in _UNITS:
        values, operation = [values[0], np.array([_UNITS[operation]])], Op.MULTIPLY
    elif operation is Op.NEGATE:
        values, operation = [np.zeros(1, values[0].dtype), values[0]], Op.SUBTRACT
    left, right = values
    if operation in (Op.DIVIDE, Op.REMAINDER):
        zero = right == 0
        if zero.any():
            right = np.where(zero, right.dtype.type(1), right)
            there = np.broadcast_to(~zero, np.broadcast_shapes(left.shape, right.shape))
            valid = there if valid is None else valid & there
    arrow = arrow_type(type_)
    if type_.scalar is Scalar.F64:
        return Vec(arrow, _floats(operation, left, right, valid), valid)
    if type_.scalar is Scalar.U64 or type_.scalar is Scalar.I64:
        return Vec(arrow, whole(operation, left, right, valid, unsigned=type_.scalar is Scalar.U64), valid)
    return Vec(arrow, _times(operation, type_.scalar, scalars, left, right, valid), valid)


def _plain(operand: Operand, scalar: Scalar) -> Array:
    if isinstance(operand, Vec):
        assert operand.plain is not None
        return operand.plain
    assert isinstance(operand, int | float)
    if scalar.is_float or isinstance(operand, float):
        return np.array([operand], np.float64)
    return np.array([operand], np.uint64 if operand > MAX_I64 else np.int64)


def _all_there(operands: Sequence[Operand]) -> Mask | None:
    """Rows where no operand is missing; None: all."""
    found: Mask | None = None
    for operand in operands:
        if isinstance(operand, Vec) and operand.valid is not None:
            found = operand.valid if found is None else found & operand.valid
    return found


def _floats(operation: Op, left: Array, right: Array, valid: Mask | None) -> Array:
    left, right = left.astype(np.float64, copy=False), right.astype(np.float64, copy=False)
    with np.errstate(all="ignore"):
        match operation:
            case Op.ADD:
                found = left + right
            case Op.SUBTRACT:
                found = left - right
            case Op.MULTIPLY:
                found = left * right
            case Op.DIVIDE:
                found = left / right
            case _:
                found = np.fmod(left, right)
        finite = np.isfinite(found)
    if not finite.all() and not (finite if valid is None else finite | ~valid).all():
        raise Beyond("beyond")
    plain: Array = found
    return plain


def _times(operation: Op, result: Scalar, scalars: Sequence[Scalar], left: Array, right: Array, valid: Mask | None) -> Array:
    """Dates, moments and durations. A date moves by whole days."""
    if result is Scalar.DATE:
        left = _whole_days(left, valid) if scalars[0] is Scalar.DURATION else left
        right = _whole_days(right, valid) if scalars[-1] is Scalar.DURATION else right
        found = whole(operation, left, right, valid, unsigned=False)
        _check(found, *DAYS, valid)
        return found.astype(np.int32)
    found = whole(operation, left, right, valid, unsigned=False)
    if result is Scalar.DURATION:
        if scalars[0] is scalars[-1] is Scalar.DATE:
            found = whole(Op.MULTIPLY, found, np.array([DAY_MS]), valid, unsigned=False)
        _check(found, -LONGEST_MS, LONGEST_MS, valid)
    else:
        _check(found, *MILLISECONDS, valid)
    return found


def _whole_days(duration: Array, valid: Mask | None) -> Array:
    days, rest = np.divmod(duration, DAY_MS)
    if rest.any() and ((rest != 0) if valid is None else (rest != 0) & valid).any():
        raise Beyond("no whole number of days, as a date moves by:")
    found: Array = days
    return found


def _check(found: Array, low: int, high: int, valid: Mask | None) -> None:
    bad = (found < low) | (found > high)
    if bad.any() and (bad if valid is None else bad & valid).any():
        raise Beyond("beyond")


# ── texts and lists ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _text(operation: Op, operands: Sequence[Operand], expression: lg.Computed) -> Vec:
    first = operands[0]
    if operation is Op.LENGTH:
        if isinstance(first, tuple):
            return Vec(pa.int64(), np.array([len(first)]))
        array = first.to_arrow() if isinstance(first, Vec) else pa.array([first], pa.string())
        kernel = pc.list_value_length if pa.types.is_nested(array.type) else pc.utf8_length
        return Vec.of(kernel(array).cast(pa.int64()))
    if operation is Op.CONCAT:
        return Vec.of(_joined(operands, expression))
    kernel = pc.utf8_lower if operation is Op.LOWER else pc.utf8_upper
    return Vec.of(kernel(first.to_arrow() if isinstance(first, Vec) else pa.array([first], pa.string())))


def _joined(operands: Sequence[Operand], expression: lg.Computed) -> pa.Array:
    rows = max(len(operand) if isinstance(operand, Vec) else 1 for operand in operands)
    nbytes = 0
    parts: list[pa.Array | pa.Scalar] = []
    for operand in operands:
        part = operand.to_arrow() if isinstance(operand, Vec) else pa.scalar(operand, pa.string())
        nbytes += part.nbytes if isinstance(operand, Vec) else len(part.as_py().encode()) * rows
        parts.append(part)
    if nbytes >= _LONGEST_TEXTS:
        raise QueryError(f"the texts of `{expression_text(expression)[:120]}` take more than 2 GB", hint="Ask for fewer rows.")
    if not isinstance(parts[0], pa.Array) and all(not isinstance(part, pa.Array) for part in parts):
        parts[0] = pa.array([parts[0].as_py()], pa.string())
    return pc.binary_join_element_wise(*parts, "", null_handling="emit_null")


def _first_there(expression: lg.Computed, operands: Sequence[Operand], rows: int, *, fixed: bool) -> Operand:
    """`coalesce`: row by row the first value that is there."""
    type_ = arrow_type(_type(expression))
    parts = []
    for operand, argument in zip(operands, expression.arguments, strict=True):
        if operand is None:
            continue
        parts.append(_as(type_, operand, _type(argument), expression))
        if not isinstance(operand, Vec):
            break  # it is there in every row
    if not parts:
        return None if fixed else Vec.of(pa.nulls(rows, type_))
    if not any(isinstance(part, pa.Array) for part in parts):
        return _single(Vec.of(pa.array([parts[0].as_py()], type_))) if fixed else _repeated(parts[0], rows)
    return Vec.of(pc.coalesce(*parts) if len(parts) > 1 else parts[0])


def _repeated(value: pa.Scalar, rows: int) -> Vec:
    return Vec.of(pa.repeat(value, rows))


def _as(type_: pa.DataType, operand: Operand, given: PropertyType, expression: lg.Computed) -> pa.Array | pa.Scalar:
    """A value of one type as one of another that holds it."""
    if isinstance(operand, Vec):
        found = operand.to_arrow()
    else:
        arrow = arrow_type(given)
        listed = list(operand) if isinstance(operand, tuple) else operand
        found = pa.scalar(listed, physical(arrow)).cast(arrow)
    if found.type == type_:
        return found
    try:
        return found.cast(type_, safe=not pa.types.is_floating(type_))
    except pa.ArrowInvalid:
        raise _beyond(expression, Beyond("beyond")) from None
