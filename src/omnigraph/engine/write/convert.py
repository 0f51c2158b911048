"""Values that are to be stored: from what a query gives to what a column holds, or a clear refusal.

Integers go into any number type that holds them; a float never becomes an integer. Dates are days and moments milliseconds by
then (`omnigraph.engine.parameters`).
"""

from __future__ import annotations

import base64
import math
import struct

from omnigraph.engine.parameters import Value
from omnigraph.errors import ParameterError
from omnigraph.model.blobs import BASE64, managed, reference
from omnigraph.model.types import INTEGER_RANGES, PropertyType, Scalar

_ARROW_NAMES = {Scalar.I32: "Int32", Scalar.I64: "Int64", Scalar.U32: "UInt32", Scalar.U64: "UInt64"}


def stored(name: str, type_: PropertyType, value: Value) -> object:
    """A value as a column of a type holds it."""
    if value is None:
        return None
    if type_.is_vector:
        if not isinstance(value, tuple) or len(value) != type_.dimension:
            raise ParameterError(f"property `{name}` is {type_}: it expects {type_.dimension} dimensions")
        return [_number(name, Scalar.F32, item) for item in value]
    if type_.is_list:
        if not isinstance(value, tuple):
            raise ParameterError(f"property `{name}` is {type_}, not a single value")
        return [_scalar(name, type_.scalar, item) for item in value]
    return _scalar(name, type_.scalar, value)


def _scalar(name: str, scalar: Scalar, value: Value) -> object:
    if scalar.is_integer:
        return _integer(name, scalar, value)
    if scalar.is_float:
        return _number(name, scalar, value)
    if scalar is Scalar.BLOB:
        return blob(name, value)
    fits = {
        Scalar.STRING: isinstance(value, str),
        Scalar.BOOL: isinstance(value, bool),
        Scalar.DATE: isinstance(value, int) and not isinstance(value, bool),
        Scalar.DATETIME: isinstance(value, int) and not isinstance(value, bool),
    }
    if not fits[scalar]:
        raise ParameterError(f"property `{name}` is {scalar.value}, not {type(value).__name__}")
    return value


def _integer(name: str, scalar: Scalar, value: Value) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ParameterError(f"property `{name}` is {scalar.value}: cannot convert {value!r}")
    low, high = INTEGER_RANGES[scalar]
    if not low <= value <= high:
        raise ParameterError(f"property `{name}`: {value} exceeds {_ARROW_NAMES[scalar]} range")
    return value


def _number(name: str, scalar: Scalar, value: Value) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ParameterError(f"property `{name}` is {scalar.value}: cannot convert {value!r}")
    number = float(value)
    if scalar is Scalar.F32 and math.isfinite(number):
        try:
            number = struct.unpack("<f", struct.pack("<f", number))[0]
        except OverflowError:
            number = math.inf
    if not math.isfinite(number):
        raise ParameterError(f"property `{name}` is {scalar.value}: {value!r} is not a finite number of that width")
    return number


def blob(name: str, value: Value) -> bytes:
    """The cell of a Blob given as text. Any text that is not base64 is a URI: whoever asks has to judge it."""
    if not isinstance(value, str):
        raise ParameterError(f"property `{name}` is a Blob: give its bytes as `{BASE64}…`")
    try:
        if not value.startswith(BASE64):
            return reference(value)
        return managed(base64.b64decode(value[len(BASE64) :], validate=True))
    except UnicodeEncodeError:
        raise ParameterError(f"property `{name}` is not valid Unicode: half of a surrogate pair") from None
    except ValueError:
        raise ParameterError(f"property `{name}` is a Blob: what follows `{BASE64}` is not base64") from None
