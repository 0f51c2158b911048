"""What the guide says of arithmetic and functions, on one value at a time, in Python's own exact numbers, dates and time spans."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any

from omnigraph.catalog import logical as lg
from omnigraph.model.types import INTEGER_RANGES, PropertyType, Scalar

Op = lg.Operation
_UNITS = {Op.DAYS: "days", Op.HOURS: "hours", Op.MINUTES: "minutes", Op.SECONDS: "seconds"}


class OutOfRange(Exception):
    """A value is beyond its type: an error, wherever it is noticed."""


def computed(operation: Op, type_: PropertyType, values: Sequence[Any]) -> Any:
    """The value of an operation; None is null."""
    if operation is Op.COALESCE:
        found = next((value for value in values if value is not None), None)
        return float(found) if found is not None and type_.scalar.is_float and not type_.is_list else found
    if any(value is None for value in values):
        return None
    match operation:
        case Op.LOWER:
            return "".join(_simply(letter, letter.lower()) for letter in values[0])
        case Op.UPPER:
            return "".join(_simply(letter, letter.upper()) for letter in values[0])
        case Op.LENGTH:
            return len(values[0])
        case Op.CONCAT:
            return "".join(values)
        case Op.NEGATE:
            return _fitting(-values[0], type_)
        case Op.DAYS | Op.HOURS | Op.MINUTES | Op.SECONDS:
            return timedelta(**{_UNITS[operation]: values[0]})
    left, right = values
    if operation in (Op.DIVIDE, Op.REMAINDER) and not right:
        return None
    if type_.scalar is Scalar.F64 and not isinstance(left, timedelta):
        left, right = float(left), float(right)
    return _fitting(_arithmetic(operation, left, right), type_)


def _arithmetic(operation: Op, left: Any, right: Any) -> Any:
    match operation:
        case Op.ADD | Op.SUBTRACT:
            for side in (left, right):
                if type(side) is timedelta and (type(left) is date or type(right) is date) and side % timedelta(days=1):
                    raise OutOfRange("a date moves by whole days")
            return left + right if operation is Op.ADD else left - right
        case Op.MULTIPLY:
            return left * right
        case Op.DIVIDE:
            return left / right
        case _:
            if isinstance(left, float):
                return math.fmod(left, right)
            rest = abs(left) % abs(right)
            return -rest if left < 0 else rest


def _fitting(value: Any, type_: PropertyType) -> Any:
    if type_.scalar.is_integer:
        low, high = INTEGER_RANGES[type_.scalar]
        if not low <= value <= high:
            raise OutOfRange(value)
    if isinstance(value, float) and not math.isfinite(value):
        raise OutOfRange(value)
    return value


def _simply(letter: str, changed: str) -> str:
    """Letters change one by one, and never into several."""
    return changed if len(changed) == 1 else letter
