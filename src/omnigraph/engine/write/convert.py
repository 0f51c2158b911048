"""Values that are to be stored: from what a query gives to what a column holds, or a clear refusal.

The table of `omnigraph.model.conversions` says what fits. Dates are days and moments milliseconds by then
(`omnigraph.engine.planning.parameters`).
"""

from __future__ import annotations

from omnigraph.engine.planning.parameters import Value
from omnigraph.errors import ParameterError
from omnigraph.model.conversions import Door, Misfit, convert
from omnigraph.model.times import shortened
from omnigraph.model.types import PropertyType, Scalar

_QUOTIENT = "Nothing was written. What `/` gives is an F64, also of integers: keep it in an F64, or give an integer."
_BLOB = PropertyType(Scalar.BLOB)


def stored(name: str, type_: PropertyType, value: Value) -> object:
    """A value as a column of a type holds it."""
    try:
        return convert(type_, value, Door.PARAMETERS)
    except Misfit as misfit:
        message = f"property `{name}`: cannot convert {shortened(value)}: it {misfit}"
        quotient = isinstance(value, float) and not type_.scalar.is_float and not type_.is_list
        raise ParameterError(message, hint=_QUOTIENT if quotient else f"Give a value that {type_} holds.") from None


def blob(name: str, value: Value) -> bytes:
    """The cell of a Blob given as text. Any text that is not base64 is a URI: whoever asks has to judge it."""
    found = stored(name, _BLOB, value)
    assert isinstance(found, bytes)
    return found
