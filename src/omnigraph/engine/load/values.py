"""One value as a property stores it, or why it does not fit: the exact rules of the strict and of the compatible dialect.

A stored Date is a number of days, a DateTime milliseconds, a Blob a cell of bytes (`omnigraph.model.blobs`); that is what Arrow
columns are made of later. Python's own dates and bytes are as welcome as their spelling in JSON: not every record was text once.
"""

from __future__ import annotations

import base64
import binascii
import math
import struct
from collections.abc import Sequence
from datetime import date, datetime
from typing import Final

from omnigraph.model.blobs import BASE64, managed, reference
from omnigraph.model.times import date_days, datetime_ms, days_of, ms_of
from omnigraph.model.types import INTEGER_RANGES, PropertyType, Scalar

_DAY_MS: Final = 86_400_000
_DAYS: Final = (-(2**31), 2**31 - 1)
_MILLISECONDS: Final = (-(2**63), 2**63 - 1)
_NUMBERS = {float: "a number with a fraction or exponent", int: "an integer", bool: "true or false", str: "a string"}


class Misfit(Exception):
    """A value that a property cannot hold. `rule` names the rule it breaks."""

    def __init__(self, message: str, rule: str = "type", *, always: bool = False) -> None:
        super().__init__(message)
        self.rule = rule
        self.always = always
        """Also in the compatible dialect, where other misfits count as null."""


def stored_value(type_: PropertyType, value: object) -> object:
    """A value that is not null, as it is stored. Raises `Misfit`."""
    if type_.is_vector:
        return _vector(type_, value)
    if type_.is_list:
        if not isinstance(value, list | tuple):
            raise Misfit(f"must be {type_}, not {kind(value)}", always=True)
        return [_element(type_, item) for item in value]
    return _scalar(type_.scalar, type_, value)


def lenient_value(type_: PropertyType, value: object) -> object:
    """The same in the compatible dialect: what has the wrong type counts as null, with a few exceptions."""
    if type_.is_list and not type_.is_vector:
        if not isinstance(value, list | tuple):
            raise Misfit(f"must be {type_}, not {kind(value)}", always=True)
        return [_or_null(type_, item) for item in value]
    return _or_null(type_, value)


def _or_null(type_: PropertyType, value: object) -> object:
    if value is None:
        return None
    try:
        return _vector(type_, value) if type_.is_vector else _scalar(type_.scalar, type_, value)
    except Misfit as misfit:
        if misfit.always:
            raise
        return None


def _element(type_: PropertyType, item: object) -> object:
    if item is None:
        raise Misfit("has an element without a value")
    return _scalar(type_.scalar, type_, item)


def _scalar(scalar: Scalar, type_: PropertyType, value: object) -> object:
    if scalar is Scalar.STRING:
        if isinstance(value, str):
            return _text(value)
    elif scalar is Scalar.BOOL:
        if isinstance(value, bool):
            return value
    elif scalar.is_integer:
        if isinstance(value, int) and not isinstance(value, bool):
            return _within(value, INTEGER_RANGES[scalar], scalar.value)
    elif scalar.is_float:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return finite(scalar, value)
    elif scalar is Scalar.BLOB:
        return blob(value)
    elif isinstance(value, str | int | date) and not isinstance(value, bool):
        return _temporal(scalar, value)
    raise Misfit(f"must be {type_}, not {kind(value)}")


def _text(value: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise Misfit("is not valid Unicode: half of a surrogate pair", always=True) from None
    return value


def _within(value: int, bounds: tuple[int, int], name: str) -> int:
    low, high = bounds
    if not low <= value <= high:
        raise Misfit(f"is {value if abs(value) < 10**40 else 'a huge number'}, out of the range of {name}", always=True)
    return value


def finite(scalar: Scalar, value: int | float) -> float:
    """A float at its stored width."""
    try:
        number = float(value)
        if scalar is not Scalar.F64 and math.isfinite(number):
            number = struct.unpack("<f", struct.pack("<f", number))[0]
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise Misfit(f"is {value!r}, which is not a finite {'F64' if scalar is Scalar.F64 else 'F32'}"[:120], always=True)
    return number


def _temporal(scalar: Scalar, value: str | int | date) -> int:
    try:
        if scalar is Scalar.DATE:
            if isinstance(value, str):
                return date_days(value)
            if isinstance(value, datetime):
                return ms_of(value) // _DAY_MS
            return days_of(value) if isinstance(value, date) else _within(value, _DAYS, "Date")
        if isinstance(value, str):
            return _within(datetime_ms(value), _MILLISECONDS, "DateTime")
        if isinstance(value, datetime):
            return ms_of(value)
        return days_of(value) * _DAY_MS if isinstance(value, date) else _within(value, _MILLISECONDS, "DateTime")
    except ValueError as error:
        raise Misfit(str(error), always=True) from None


def _vector(type_: PropertyType, value: object) -> list[float]:
    if isinstance(value, str | bytes) or not isinstance(value, Sequence):
        raise Misfit(f"must be {type_}, not {kind(value)}", always=not type_.nullable)
    if len(value) != type_.dimension:
        raise Misfit(f"is {type_} and expects {type_.dimension} dimensions, not {len(value)}", always=True)
    numbers = []
    for item in value:
        if isinstance(item, bool) or not isinstance(item, int | float):
            raise Misfit(f"is {type_}: a component is {kind(item)}", always=True)
        numbers.append(finite(Scalar.F32, item))
    return numbers


def blob(value: object) -> bytes:
    """The cell of a Blob. Any text that is not base64 is a URI; `references` judges it."""
    if isinstance(value, bytes):
        return managed(value)
    if not isinstance(value, str):
        raise Misfit(f"must be a Blob, not {kind(value)}", always=True)
    if not value.startswith(BASE64):
        return reference(_text(value))
    try:
        return managed(base64.b64decode(value[len(BASE64) :].encode("ascii"), validate=True))
    except (binascii.Error, UnicodeEncodeError):
        raise Misfit(f"is a Blob, and what follows `{BASE64}` is not base64", always=True) from None


def kind(value: object) -> str:
    """What a value is, in words."""
    if value is None:
        return "null"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list | tuple):
        return "a list"
    return _NUMBERS.get(type(value), type(value).__name__)


def shown(value: object) -> object:
    """A value for a report: long ones are cut."""
    if isinstance(value, str) and len(value) > 200:
        return value[:200] + "…"
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    if isinstance(value, list | dict) and len(repr(value)) > 400:
        return f"{kind(value)} of {len(value)}"
    if isinstance(value, int) and abs(value) > 10**40:
        return "a huge number"
    return value
