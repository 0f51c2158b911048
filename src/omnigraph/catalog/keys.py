"""Canonical entity ids: the text of an entity's key values.

One key property gives its text; several give a compact JSON array of their texts, ordered by property id, so that renaming a
property never changes an id. In the key of an edge its ends come first: the ids of two nodes, whatever these are made of.

    name "Ada"                      Ada
    src "Ada", dst "Bob"            ["Ada","Bob"]
    number 7, tenant "acme"         ["7","acme"]
    Date 2024-01-01                 19723                    days since 1970-01-01
    DateTime 2024-01-01T00:00:00Z   1704067200000            milliseconds since the epoch
    F32 16777217                    16777216                 shortest decimal at the stored width, never an exponent
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

from omnigraph.catalog.canonical_json import compact
from omnigraph.catalog.catalog import EntityType, Property
from omnigraph.errors import KeyValueError
from omnigraph.model.conversions import Door, convert
from omnigraph.model.types import INTEGER_RANGES, PropertyType, Scalar

KeyValue = str | int | float | bool | date | datetime
"""A stored key value. A `Date` may also be given as days, a `DateTime` as milliseconds."""

_EPOCH_DAY = date(1970, 1, 1).toordinal()
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def entity_id(key: Sequence[Property], values: Mapping[str, KeyValue | None]) -> str:
    """The id of an entity with these key values; `key` is in canonical order (`EntityType.key`)."""
    texts = [key_text(prop.name, prop.type, values.get(prop.name)) for prop in key]
    return texts[0] if len(texts) == 1 else compact(texts)


def key_text(name: str, type_: PropertyType, value: KeyValue | None) -> str:
    """The canonical text of one key value."""
    if value is None:
        raise KeyValueError(f"key property `{name}` has no value", hint="Give every property of the key a value.")
    scalar = type_.scalar
    if scalar is Scalar.STRING and isinstance(value, str):
        return value
    if scalar is Scalar.BOOL and isinstance(value, bool):
        return "true" if value else "false"
    if scalar.is_float and isinstance(value, int | float) and not isinstance(value, bool):
        return float_key_text(name, float(value), single=scalar is Scalar.F32)
    number = _whole(scalar, value)
    if number is None:
        raise KeyValueError(f"key property `{name}` is {type_}, not {type(value).__name__}")
    return str(number)


def end_key(node: EntityType) -> Property | None:
    """The property whose value names a node of a type as well as its id does: its key, if that is one property and no text."""
    (key,) = node.key if len(node.key) == 1 else (None,)
    return None if key is None or key.type.scalar is Scalar.STRING else key


def end_rule(node: EntityType) -> str:
    """What names a node of a type where an edge refers to it."""
    if not node.key:
        return f"{node.name} has no key, and its id is a text"
    if len(node.key) > 1:
        ids = compact([f"<{prop.name}>" for prop in node.key])
        return f"the key of {node.name} is several values, and its id their texts: {ids}"
    return f"the key of {node.name} is `{node.key[0].name}: {node.key[0].type}`"


def end_text(type_: PropertyType, value: object) -> str:
    """A key value of a query as it is spelt in an id. An integer that the key cannot hold is the id of nobody."""
    if type_.scalar.is_integer and isinstance(value, int):
        return str(int(value))
    return key_text("key", type_, convert(type_, value, Door.PARAMETERS))  # type: ignore[arg-type]


def _whole(scalar: Scalar, value: KeyValue) -> int | None:
    """The integer an integer, Date or DateTime key is spelt with."""
    if isinstance(value, bool):
        return None
    if isinstance(value, datetime):
        if scalar is not Scalar.DATETIME:
            return None
        aware = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
        return (aware - _EPOCH) // timedelta(milliseconds=1)
    if isinstance(value, date):
        return value.toordinal() - _EPOCH_DAY if scalar is Scalar.DATE else None
    if not isinstance(value, int):
        return None
    if scalar in (Scalar.DATE, Scalar.DATETIME):
        return value
    low, high = INTEGER_RANGES.get(scalar, (1, 0))
    return value if low <= value <= high else None


def float_key_text(name: str, value: float, *, single: bool) -> str:
    """Shortest decimal that reads back as the same float at its stored width."""
    if single:
        try:
            value = struct.unpack("<f", struct.pack("<f", value))[0]
        except OverflowError:
            value = math.inf
    if not math.isfinite(value):
        raise KeyValueError(f"key property `{name}` must be a finite number", hint="Give the key a value that is finite.")
    if value == 0:
        return "0"
    shortest = _shortest_single(value) if single else repr(value)
    text = format(Decimal(shortest), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def _shortest_single(value: float) -> str:
    """Nine digits always identify a 32-bit float; fewer often do."""
    packed = struct.pack("<f", value)
    for digits in range(1, 9):
        text = f"{value:.{digits}g}"
        try:
            if struct.pack("<f", float(text)) == packed:
                return text
        except OverflowError:  # rounded up beyond the largest float: more digits are needed
            continue
    return f"{value:.9g}"
