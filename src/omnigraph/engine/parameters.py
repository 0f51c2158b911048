"""Values given to a query: checked against what it declares, and brought into the form expressions compare with.

Dates become days, moments milliseconds (the form columns have), lists tuples. Python's own dates and datetimes are as welcome
as their text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime

from omnigraph.catalog import logical as lg
from omnigraph.errors import ParameterError
from omnigraph.language.diagnostics import did_you_mean
from omnigraph.model.times import date_days, datetime_ms, days_of, ms_of
from omnigraph.model.types import INTEGER_RANGES, PropertyType, Scalar

Value = str | int | float | bool | None | tuple["Value", ...]
"""A value as expressions see it."""

_SIGNED_MAX = 2**63 - 1


def bind(declared: Sequence[lg.Parameter], given: Mapping[str, object] | None) -> dict[str, Value]:
    """The value of every parameter that has one. A required parameter that is missing is noticed where it is used."""
    values: dict[str, Value] = {}
    given = {} if given is None else given
    if not isinstance(given, Mapping):
        raise ParameterError("parameters are given by name, as a mapping", hint='Pass params={"name": value}.')
    for parameter in declared:
        if parameter.name in given:
            values[parameter.name] = convert(parameter.name, parameter.type, given[parameter.name])
        elif parameter.type.nullable:
            values[parameter.name] = None
    for name, value in given.items():
        if name not in values and isinstance(value, Mapping):
            raise ParameterError(f"parameter `{name}` cannot be an object")
    return values


def require(values: Mapping[str, Value], parameter: lg.Parameter) -> Value:
    """The value of a parameter that is needed now."""
    if parameter.name in values:
        return values[parameter.name]
    if not parameter.declared:
        hint = did_you_mean(parameter.name, values) or "Declare it between the parentheses of the query."
        raise ParameterError(f"parameter `{parameter.name}` is not declared by the query", hint=hint)
    raise ParameterError(f"parameter `{parameter.name}` not provided", hint=f"It is {parameter.type}.")


def convert(name: str, type_: PropertyType, value: object) -> Value:
    """One value, checked."""
    if value is None:
        if not type_.nullable:
            raise ParameterError(f"parameter `{name}` is {type_} and cannot be null", hint="Declare it with `?` to allow null.")
        return None
    if type_.is_list:
        if isinstance(value, str | bytes | Mapping) or not isinstance(value, Sequence):
            raise _refused(name, type_, value)
        element = type_.element()
        return tuple(_element(name, element, item) for item in value)
    if type_.is_vector:
        if isinstance(value, str | bytes | Mapping) or not hasattr(value, "__iter__"):
            raise _refused(name, type_, value)
        numbers = tuple(_number(name, type_, item) for item in value)
        if len(numbers) != type_.dimension:
            raise ParameterError(f"parameter `{name}` is {type_}: {len(numbers)} numbers given")
        return numbers
    return _element(name, type_, value)


def _element(name: str, type_: PropertyType, value: object) -> Value:
    scalar = type_.scalar
    if value is None:
        raise ParameterError(f"parameter `{name}`: an element of a list cannot be null")
    if scalar in (Scalar.STRING, Scalar.BLOB):
        if isinstance(value, str):
            return value
    elif scalar is Scalar.BOOL:
        if isinstance(value, bool):
            return value
    elif scalar.is_integer:
        return _integer(name, type_, value)
    elif scalar.is_float:
        return _number(name, type_, value)
    elif scalar in (Scalar.DATE, Scalar.DATETIME):
        return temporal(name, type_, value)
    raise _refused(name, type_, value)


def _integer(name: str, type_: PropertyType, value: object) -> int:
    if isinstance(value, str):
        text = value.removeprefix("-")
        if not text.isascii() or not text.isdigit():
            raise _refused(name, type_, value)
        value = int(value)
    if isinstance(value, bool) or not (isinstance(value, int) or hasattr(value, "__index__")):
        raise _refused(name, type_, value)
    number: int = value.__index__()
    low, high = INTEGER_RANGES[type_.scalar]
    if not low <= number <= min(high, _SIGNED_MAX):
        raise ParameterError(f"parameter `{name}` is {type_}: {number} is out of range")
    return number


def _number(name: str, type_: PropertyType, value: object) -> float:
    if isinstance(value, bool | str) or not hasattr(value, "__float__"):
        raise _refused(name, type_, value)
    return float(value)


def temporal(name: str, type_: PropertyType, value: object) -> int:
    """A date as days, a moment as milliseconds."""
    try:
        if type_.scalar is Scalar.DATE:
            if isinstance(value, datetime):
                return ms_of(value) // 86_400_000
            if isinstance(value, date):
                return days_of(value)
            if isinstance(value, str):
                return date_days(value)
        else:
            if isinstance(value, datetime):
                return ms_of(value)
            if isinstance(value, str):
                return datetime_ms(value)
    except ValueError as error:
        raise ParameterError(f"`{name}`: {error}") from None
    raise _refused(name, type_, value)


def _refused(name: str, type_: PropertyType, value: object) -> ParameterError:
    return ParameterError(f"parameter `{name}` is {type_}, not {type(value).__name__} {value!r}"[:300])
