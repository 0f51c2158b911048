"""The one table of conversions: which given values a property or parameter takes, and what becomes of them.

Exactly, or not at all:

    convert(PropertyType(Scalar.I32), 5, Door.RECORDS)          5
    convert(PropertyType(Scalar.I32), 5.0, Door.RECORDS)        Misfit: must be I32, not a number with a fraction or exponent
    convert(PropertyType(Scalar.DATE), "2024-01-05", …)         19727

Every door uses it: parameters and mutations, JSON lines, records, CSV, frames of every kind, Spark, backfills. What reads whole
columns at once (`engine.load.fast`, `engine.load.columns`) is only a quicker way to the same values; what it is not sure of comes
here. `docs/reference/conversions.md` is made from `TABLE`, and a test tries every type at every door.

What is stored: a Date as days, a DateTime as milliseconds, a Blob as a cell (`model.blobs`), the rest as itself.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
import struct
from contextlib import suppress
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from itertools import pairwise
from typing import Final

from omnigraph.model.blobs import BASE64, managed, reference
from omnigraph.model.frozen import frozen
from omnigraph.model.given import Day, Instant, Kind, Spelt, kind_of, named, plain, tangled
from omnigraph.model.phrases import counted
from omnigraph.model.times import (
    DAY_MS,
    date_days,
    datetime_ms,
    day_of_ms,
    days_of,
    in_calendar,
    in_calendar_ms,
    ms_of,
    shortened,
    whole_ms,
)
from omnigraph.model.types import INTEGER_RANGES, PropertyType, Scalar


class Door(Enum):
    """Where a value comes in."""

    PARAMETERS = "parameters"
    """Of queries and mutations, from Python or as JSON."""
    RECORDS = "records"
    """JSON lines, Python records and rows, backfills."""
    COLUMNS = "columns"
    """Arrow, Parquet, pandas, polars and Spark: the type of the column says what its values are."""
    CELLS = "CSV"
    """Text, whatever it means."""


ALL: Final = frozenset(Door)


@frozen
class Rule:
    """A cell of the table."""

    words: str
    """What becomes of the value, for the documentation."""
    doors: frozenset[Door] = ALL


_RANGE = Rule("in range")
_WHOLE = Rule("whole, in range")
_WHOLE_IN_COLUMNS = Rule("whole, in range", frozenset({Door.COLUMNS}))
_DIGITS = Rule("digits, in range", frozenset({Door.PARAMETERS, Door.CELLS}))
_TRUTH = Rule("`true` or `false`", frozenset({Door.CELLS}))
_NUMBER_TEXT = Rule("a decimal number: the nearest", frozenset({Door.CELLS}))
_F32_NUMBER = Rule("the nearest; from a column: exact")
_F32_DECIMAL = Rule("the nearest; a whole one from a column exact")
_F64_INTEGER = Rule("exact")
_F64_DECIMAL = Rule("the nearest; a whole one exact")
_AS_IS = Rule("as it is")
_FINITE = Rule("finite")

TABLE: Final[dict[Scalar, dict[Kind, Rule]]] = {
    Scalar.STRING: {Kind.TEXT: Rule("as it is, if it is Unicode")},
    Scalar.BOOL: {Kind.BOOL: _AS_IS, Kind.TEXT: _TRUTH},
    **{
        scalar: {Kind.INTEGER: _RANGE, Kind.FLOAT: _WHOLE_IN_COLUMNS, Kind.DECIMAL: _WHOLE, Kind.TEXT: _DIGITS}
        for scalar in INTEGER_RANGES
    },
    Scalar.F32: {Kind.INTEGER: _F32_NUMBER, Kind.FLOAT: _F32_NUMBER, Kind.DECIMAL: _F32_DECIMAL, Kind.TEXT: _NUMBER_TEXT},
    Scalar.F64: {Kind.INTEGER: _F64_INTEGER, Kind.FLOAT: _FINITE, Kind.DECIMAL: _F64_DECIMAL, Kind.TEXT: _NUMBER_TEXT},
    Scalar.DATE: {
        Kind.INTEGER: Rule("days since 1970-01-01"),
        Kind.TEXT: Rule("a date; a moment at midnight UTC"),
        Kind.DATE: _AS_IS,
        Kind.MOMENT: Rule("at midnight UTC"),
    },
    Scalar.DATETIME: {
        Kind.INTEGER: Rule("milliseconds since 1970-01-01"),
        Kind.TEXT: Rule("a moment, whole milliseconds; a date: midnight UTC"),
        Kind.DATE: Rule("midnight UTC"),
        Kind.MOMENT: Rule("whole milliseconds"),
    },
    Scalar.BLOB: {Kind.BYTES: _AS_IS, Kind.TEXT: Rule("`base64:…`, or a URI that the policy allows")},
    Scalar.VECTOR: {Kind.LIST: Rule("as many numbers as it has dimensions, each finite, the nearest F32")},
}
"""What a type takes, by kind of given value. What is not here is refused; null is its own matter, and lists are of elements."""

_ARROW_NAMES: Final = {Scalar.I32: "Int32", Scalar.I64: "Int64", Scalar.U32: "UInt32", Scalar.U64: "UInt64"}
_DIGITS_TEXT = re.compile(r"[+-]?[0-9]+\Z")
_NUMBER_TEXT_FORM = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?\Z")
_WHOLE_TEXT = re.compile(r"[+-]?[0-9]+\.0*\Z")
_LONGEST_DIGITS: Final = 400

WITHOUT_FRACTION: Final = ": whole numbers are written without `.0` (in pandas, cast the column to `Int64` before writing it)"
"""What a message says of a text that is a whole number in the spelling of a float."""

ROUNDABLE: Final = "may be rounded"
"""What a message says of a value that a lossy load would take."""


class Misfit(Exception):
    """A value that a property cannot hold, said so that it follows `property x`. `rule` names the rule it breaks."""

    def __init__(self, message: str, rule: str = "type", *, always: bool = False, remedy: str = "") -> None:
        super().__init__(message)
        self.remedy = remedy
        """What a load could do about it, to be added where the caller is a load."""
        self.rule = rule
        self.always = always
        """Also in the compatible dialect, where other misfits count as null."""


def convert(type_: PropertyType, value: object, door: Door = Door.RECORDS, *, lossy: bool = False) -> object:
    """A value as it is stored; None if there is none. Raises `Misfit`. `lossy`: round what would not be exact."""
    value = _plain(value)
    if value is None:
        return None
    if door is Door.CELLS and (type_.is_list or type_.is_vector):
        value, door = _array(type_, value), Door.RECORDS
    if type_.is_vector:
        return _vector(type_, value)
    if type_.is_list:
        return [_element(type_, item, door, lossy=lossy) for item in _items(type_, value)]
    return _scalar(type_, value, door, lossy=lossy)


def lenient(type_: PropertyType, value: object) -> object:
    """The same in the compatible dialect: what has the wrong type counts as null, with exceptions; what is too fine is cut."""
    if not type_.is_list or type_.is_vector:
        return _or_null(type_, value)
    return [_or_null(type_.element(), item) for item in _items(type_, _plain(value))]


def _or_null(type_: PropertyType, value: object) -> object:
    try:
        return convert(type_, value, Door.RECORDS, lossy=True)
    except Misfit as misfit:
        if misfit.always:
            raise
        return None


def takes(scalar: Scalar, kind: Kind, door: Door) -> bool:
    """Whether a door lets values of a kind become values of a type at all."""
    rule = TABLE[scalar].get(kind)
    return rule is not None and door in rule.doors


def _plain(value: object) -> object:
    try:
        return plain(value)
    except ValueError as error:
        raise Misfit(f"does not fit: {error}") from None


def _array(type_: PropertyType, value: object) -> object:
    """What a cell of text holds: a JSON array."""
    try:
        return json.loads(str(value), parse_constant=float)
    except (ValueError, RecursionError):
        raise Misfit(f"is {type_}: a cell holds it as a JSON array") from None


def _items(type_: PropertyType, value: object) -> list[object]:
    if not isinstance(value, list):
        raise Misfit(f"must be {type_}, not {named(value)}", always=True)
    return value


def _element(type_: PropertyType, item: object, door: Door, *, lossy: bool) -> object:
    item = _plain(item)
    if item is None:
        raise Misfit("has an element without a value")
    return _scalar(type_, item, door, lossy=lossy)


def _scalar(type_: PropertyType, value: object, door: Door, *, lossy: bool) -> object:
    scalar, kind = type_.scalar, kind_of(value)
    if not takes(scalar, kind, door):
        if scalar is Scalar.BLOB:
            raise Misfit(f"must be a Blob, not {named(value)}: give its bytes as `{BASE64}…`", always=True)
        raise Misfit(f"must be {type_}, not {named(value)}")
    if scalar is Scalar.STRING:
        assert isinstance(value, str)
        return text(value)
    if scalar is Scalar.BOOL:
        return _truth(value)
    if scalar.is_integer:
        return _integer(type_, value)
    if scalar.is_float:
        return _number(type_, value, door, lossy=lossy)
    if scalar is Scalar.BLOB:
        return blob(value)
    try:
        return _days(value, lossy=lossy) if scalar is Scalar.DATE else _milliseconds(value, lossy=lossy)
    except ValueError as error:
        too_fine = "a time of day" in str(error) or "finer" in str(error)
        remedy = f" ({ROUNDABLE})" if too_fine else ""
        raise Misfit(f"does not fit: {error}", always=True, remedy=remedy) from None


def text(value: str) -> str:
    """Text, if it can be stored."""
    try:
        value.encode()
    except UnicodeEncodeError:
        raise Misfit("is not valid Unicode: half of a surrogate pair", always=True) from None
    return str.__str__(value)  # of a class of somebody's own, an enum say, the text that it is


def _truth(value: object) -> bool:
    if isinstance(value, str):
        if value not in ("true", "false"):
            raise Misfit(f"is `{shortened(value)}`, neither `true` nor `false`")
        return value == "true"
    return bool(value)


# ── numbers ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def digits(value: str) -> int | None:
    """The integer that a text spells with the digits 0 to 9, and nothing else."""
    if _DIGITS_TEXT.match(value) is None:
        return None
    found = value.lstrip("+-").lstrip("0")  # Python counts the zeros, too, and refuses to read many
    if len(found) > _LONGEST_DIGITS:
        return None
    return int(f"{'-' if value[0] == '-' else ''}{found or '0'}")


def _integer(type_: PropertyType, value: object) -> int:
    if isinstance(value, str):
        found = digits(value)
        if found is None:
            remedy = WITHOUT_FRACTION if _WHOLE_TEXT.match(value) else ""
            raise Misfit(f"is `{shortened(value)}`, not {type_}", remedy=remedy)
        value = found
    elif isinstance(value, float | Decimal):
        if not _is_whole(value):
            raise Misfit(f"must be {type_}, not {'NaN, which is not null either' if _is_nan(value) else shortened(value)}")
        value = int(value)
    assert isinstance(value, int)
    low, high = INTEGER_RANGES[type_.scalar]
    if not low <= value <= high:
        name = _ARROW_NAMES[type_.scalar]
        raise Misfit(f"is {shortened(value)}, out of the range of {type_.scalar.value}: it exceeds {name} range", always=True)
    return int(value)


def _is_nan(value: int | float | Decimal) -> bool:
    return value.is_nan() if isinstance(value, Decimal) else value != value  # one that signals fails when it is compared


def _is_whole(value: float | Decimal) -> bool:
    if isinstance(value, float):
        return value.is_integer()
    return value.is_finite() and value.adjusted() < _LONGEST_DIGITS and value == value.to_integral_value()


def _number(type_: PropertyType, value: object, door: Door, *, lossy: bool) -> float:
    scalar = type_.scalar
    if isinstance(value, str):
        if not _NUMBER_TEXT_FORM.match(value):
            raise Misfit(f"is `{shortened(value)}`, not {type_}")
        value = digits(value) or Spelt(value)  # a zero may have a sign
    if isinstance(value, Decimal) and value and _is_whole(value):
        value = int(value)
    assert isinstance(value, int | float | Decimal)
    number = nearest(scalar, value)
    exact = isinstance(value, int) if scalar is Scalar.F64 else door is Door.COLUMNS and not isinstance(value, Decimal)
    if exact and number != value and not lossy:
        wide = "" if isinstance(value, int) else " a double"
        remedy = f" ({ROUNDABLE}, to {number!r})"
        raise Misfit(f"is {shortened(value)},{wide} which {scalar.value} cannot hold exactly", remedy=remedy)
    return number


def nearest(scalar: Scalar, value: int | float | Decimal) -> float:
    """The float of a width that is nearest to a number. Raises `Misfit` if there is none."""
    try:
        number = float(value)
        if scalar is not Scalar.F64 and math.isfinite(number):
            number = _single(number, value)
    except (OverflowError, ValueError):  # too large; a signalling NaN
        number = math.inf
    if not math.isfinite(number):
        nan = ": NaN is not null either" if _is_nan(value) else ""
        name = "F64" if scalar is Scalar.F64 else "F32"
        raise Misfit(f"is {shortened(value)}, which is not a finite number of {name}{nan}", always=True)
    return number


def _single(number: float, given: int | float | Decimal) -> float:
    """The F32 nearest to what was given, of which `number` is the nearest double. If that lies exactly between two F32, what was
    given may still be nearer to one of them: rounding twice would not see it."""
    if type(given) is not float and is_halfway(number):
        exact = Decimal(given.text) if isinstance(given, Spelt) else given
        if exact != number:
            number = math.nextafter(number, math.inf if exact > number else -math.inf)
    return _to_f32(number)


def _to_f32(number: float) -> float:
    return struct.unpack("<f", struct.pack("<f", number))[0]  # type: ignore[no-any-return]


def is_halfway(number: float) -> bool:
    """Whether a double lies exactly between two neighbours of F32, infinity among them."""
    size = abs(number)
    if size >= _F32_END:
        return size == _F32_END
    bits: int = struct.unpack("<i", struct.pack("<f", size))[0]
    near = [struct.unpack("<f", struct.pack("<i", n))[0] for n in (bits - 1, bits, bits + 1) if 0 <= n < _F32_INFINITY]
    return any((low + high) / 2 == size for low, high in pairwise(near))


_F32_END: Final = float.fromhex("0x1.ffffffp127")
"""Between the largest F32 and the next one, were there one."""
_F32_INFINITY: Final = 0x7F80_0000


def _vector(type_: PropertyType, value: object) -> list[float]:
    if not isinstance(value, list):
        raise Misfit(f"must be {type_}, not {named(value)}", always=not type_.nullable)
    if len(value) != type_.dimension:
        raise Misfit(f"is {type_} and expects {type_.dimension} dimensions, not {len(value)}", always=True)
    if all(type(item) is float for item in value):  # as nearly always: all at once
        form = f"<{len(value)}f"
        with suppress(OverflowError):
            singles = list(struct.unpack(form, struct.pack(form, *value)))
            if all(map(math.isfinite, singles)):
                return singles
    numbers = []
    for item in value:
        component = _plain(item)
        if kind_of(component) not in (Kind.INTEGER, Kind.FLOAT, Kind.DECIMAL):
            raise Misfit(f"is {type_}: a component is {named(component)}", always=True)
        numbers.append(nearest(Scalar.F32, component))  # type: ignore[arg-type]
    return numbers


# ── times ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _days(value: object, *, lossy: bool) -> int:
    match value:
        case str():
            return date_days(value, lossy=lossy)
        case Instant() | datetime():
            return in_calendar(day_of_ms(_moment(value, lossy=lossy), value, lossy=lossy), value)
        case Day():
            return in_calendar(value.days, value)
        case date():
            return days_of(value)
        case int():
            return in_calendar(int(value), value)
    raise AssertionError(value)


def _milliseconds(value: object, *, lossy: bool) -> int:
    match value:
        case str():
            return datetime_ms(value, lossy=lossy)
        case Instant() | datetime():
            return in_calendar_ms(_moment(value, lossy=lossy), value)
        case Day():
            return in_calendar(value.days, value) * DAY_MS
        case date():
            return days_of(value) * DAY_MS
        case int():
            return in_calendar_ms(int(value), value)
    raise AssertionError(value)


def _moment(value: Instant | datetime, *, lossy: bool) -> int:
    return whole_ms(value.nanoseconds, 1_000_000, value, lossy=lossy) if isinstance(value, Instant) else ms_of(value, lossy=lossy)


# ── bytes ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def blob(value: object) -> bytes:
    """The cell of a Blob. Any text that is not base64 is a URI: whoever asks has to judge it."""
    if isinstance(value, bytes):
        return managed(value)
    assert isinstance(value, str)
    if not value.startswith(BASE64):
        return reference(text(value))
    try:
        return managed(base64.b64decode(value[len(BASE64) :].encode("ascii"), validate=True))
    except (binascii.Error, UnicodeEncodeError):
        raise Misfit(f"is a Blob, and what follows `{BASE64}` is not base64", always=True) from None


def shown(value: object) -> object:
    """A given value for a report: as JSON has it, and cut if it is long, whatever it does when it is shown."""
    try:
        why = tangled(value)
        return _shown(value) if why is None else f"{named(value)} that {why}"
    except Exception:  # something in it fails, or is a number of more digits than Python writes
        return shortened(value)


def _shown(value: object) -> object:
    if isinstance(value, str) and len(value) > 200:
        return value[:200] + "…"
    if isinstance(value, bytes | bytearray | memoryview):
        return counted(len(value), "byte")
    if isinstance(value, list | tuple | dict) and len(repr(value)) > 400:
        return f"{named(value)} of {len(value)}"
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 10**40:
        return "a huge number"
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or type(value) in (str, int, float, bool):
        return value
    if isinstance(value, dict):
        return {name if isinstance(name, str) else shortened(name): shown(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return list(map(shown, value))
    return shortened(value)
