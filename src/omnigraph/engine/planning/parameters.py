"""Values given to a query: checked against what it declares, and brought into the form expressions compare with.

Dates become days, moments milliseconds (the form columns have), lists tuples. What is taken for which type is said by the
table of `omnigraph.model.conversions`, as everywhere. A name that the query does not declare is a mistake: it is refused.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence, Sized

from omnigraph.catalog import logical as lg
from omnigraph.catalog.keys import end_text
from omnigraph.errors import ParameterError
from omnigraph.hints import ANY, Hint, Option
from omnigraph.language.diagnostics import did_you_mean
from omnigraph.model.blobs import BASE64
from omnigraph.model.conversions import Door, Misfit
from omnigraph.model.conversions import convert as converted
from omnigraph.model.given import plain
from omnigraph.model.types import PropertyType, Scalar

Value = str | int | float | bool | None | tuple["Value", ...]
"""A value as expressions see it."""


Look = Callable[[int], None]
"""Called with how many bytes are about to be made of the next values of a list: to look at the clock, and to count them."""

_AT_ONCE = 8_192
_ITEM_BYTES = 48
"""Values of a list that are converted between two looks, and what each takes: its places in two lists, and itself."""


def bind(declared: Sequence[lg.Parameter], given: Mapping[str, object] | None, look: Look | None = None) -> dict[str, Value]:
    """The value of every parameter that has one. A required parameter that is missing is noticed where it is used."""
    values: dict[str, Value] = {}
    given = {} if given is None else given
    if type(given) is not dict and not isinstance(given, Mapping):
        raise ParameterError(
            "parameters are given by name, as a mapping", hint=Hint("Write ", Option("params", {"name": "Ada"}), ".")
        )
    for parameter in declared:
        if parameter.name in given:
            values[parameter.name] = _value(parameter, given[parameter.name], look)
        elif parameter.type.nullable:
            values[parameter.name] = None
    if not given.keys() <= values.keys():
        _refuse_unknown(declared, given)
    return values


def _value(parameter: lg.Parameter, value: object, look: Look | None) -> Value:
    """A value; a long list in parts."""
    type_ = parameter.type
    if type(value) is str and type_.scalar is Scalar.STRING and value.isascii() and not type_.is_list:
        return value  # by far the most frequent one, and nothing can be wrong with it
    if not parameter.type.is_list or not isinstance(value, Sized) or len(value) <= _AT_ONCE or isinstance(value, str | bytes):
        return convert(parameter.name, parameter.type, value)
    if look is not None:
        look(len(value) * 8)
    try:
        items = plain(value)
    except ValueError:
        items = None
    if not isinstance(items, list):
        return convert(parameter.name, parameter.type, value)
    found: list[Value] = []
    for start in range(0, len(items), _AT_ONCE):
        some = items[start : start + _AT_ONCE]
        if look is not None:
            look(len(some) * _ITEM_BYTES)
        part = convert(parameter.name, parameter.type, some)
        assert isinstance(part, tuple)
        found += part
    return tuple(found)


def _refuse_unknown(declared: Sequence[lg.Parameter], given: Mapping[str, object]) -> None:
    names = [parameter.name for parameter in declared]
    for name in given:
        if name not in names:
            known = f"It has {', '.join(f'`{n}`' for n in names)}." if names else "It has no parameters."
            hint = did_you_mean(name, names) if isinstance(name, str) else ""
            raise ParameterError(f"the query has no parameter `{name}`", hint=hint or known)


def require(values: Mapping[str, Value], parameter: lg.Parameter) -> Value:
    """The value of a parameter that is needed now."""
    if parameter.name in values:
        found = values[parameter.name]
        return found if parameter.key is None or found is None else _ids(parameter.key, found)
    if not parameter.declared:
        hint = did_you_mean(parameter.name, values) or "Declare it between the parentheses of the query."
        raise ParameterError(f"parameter `{parameter.name}` is not declared by the query", hint=hint)
    given = Hint(": ", Option("params", {parameter.name: ANY}))
    needed = Hint(f"It is {parameter.key or parameter.type}. Give it among the parameters", given, ".")
    raise ParameterError(f"parameter `{parameter.name}` not provided", hint=needed)


def _ids(key: PropertyType, value: Value) -> Value:
    """Keys of nodes as their ids."""
    return tuple(end_text(key, item) for item in value) if isinstance(value, tuple) else end_text(key, value)


def _like(type_: PropertyType) -> str:
    """How a value of a type is given."""
    if type_.is_vector:
        return "a list of as many numbers as it says"
    one = _EXAMPLES.get(type_.scalar, "a number without a fraction, as 5")
    return f"a list, each element {one}" if type_.is_list else one


_RANGES = {
    Scalar.I32: f"a number from {-(2**31)} to {2**31 - 1}",
    Scalar.I64: f"a number from {-(2**63)} to {2**63 - 1}",
    Scalar.U32: f"a number from 0 to {2**32 - 1}",
    Scalar.U64: f"a number from 0 to {2**64 - 1}",
}

_EXAMPLES = {
    Scalar.STRING: 'a text, as "Ada"',
    Scalar.BOOL: "true or false",
    Scalar.F32: "a number, as 0.5",
    Scalar.F64: "a number, as 0.5",
    Scalar.DATE: 'a date, as "2024-05-01"',
    Scalar.DATETIME: 'a moment, as "2024-05-01T10:00:00Z"',
    Scalar.BLOB: "bytes",
}


def convert(name: str, type_: PropertyType, value: object, what: str = "parameter", door: Door = Door.PARAMETERS) -> Value:
    """One value, checked."""
    try:
        found = converted(type_, value, door)
    except Misfit as misfit:
        outside = "out of the range" in str(misfit) and type_.scalar in _RANGES
        like = _RANGES[type_.scalar] if outside else _like(type_)
        raise ParameterError(f"{what} `{name}` {misfit}"[:300], hint=f"Give {like}.") from None
    if found is None:
        if not type_.nullable:
            raise ParameterError(f"{what} `{name}` is {type_} and cannot be null", hint="Declare it with `?` to allow null.")
        return None
    if isinstance(found, list):
        return tuple(found)
    if type_.scalar is Scalar.BLOB:  # stays text until it is stored: a URI may have to be fetched first
        text = plain(value)
        return BASE64 + base64.b64encode(text).decode() if isinstance(text, bytes) else str(text)
    if type_.scalar is Scalar.F32:  # compared at full width with what is not F32
        return float(value)  # type: ignore[arg-type]
    assert isinstance(found, str | int | float | bool)
    return found


def temporal(name: str, type_: PropertyType, value: object) -> int:
    """A date as days, a moment as milliseconds."""
    try:
        found = converted(type_, value, Door.PARAMETERS)
    except Misfit as misfit:
        like = '"2024-01-31"' if type_.scalar is Scalar.DATE else '"2024-01-31T12:00:00Z"'
        raise ParameterError(f"`{name}` {misfit}", hint=f"Write {name}({like}) in the query, or declare a parameter.") from None
    assert isinstance(found, int)
    return found
