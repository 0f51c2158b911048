"""Conditions on the columns of a table: the only way to filter in Lance by value.

    where = one_of("id", ["ada", "bob"]) & compare("age", Comparison.LESS, pa.scalar(40, pa.uint32()))
    table.read(["id"], where)

Lance takes conditions in two forms. One is a structured expression, which travels in a standard form that has no unsigned
numbers, no vectors and no lists of either: a table could be written and then not be asked. The other is text, which can say
everything, is read faster, and uses indexes as well. So conditions are built here, from names and values, and become text here
and nowhere else. Every value is written so that it is read back as exactly itself:

    text              quoted, quotes doubled; a backslash means nothing
    whole numbers     digits; the least of 64 bits by a cast, for a minus is read apart from its digits
    others            by a cast from the number that is stored (days, milliseconds) or from their shortest decimal form

Names of columns are quoted, too: without quotes their case would not count. A comparison with null keeps no row, and its opposite
neither, as everywhere in SQL.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from enum import Enum
from typing import Final, TypeAlias

import pyarrow as pa

from omnigraph.errors import UsageError
from omnigraph.model.frozen import frozen

Value: TypeAlias = str | bool | int | float | pa.Scalar
"""A value of a column. Days and moments are given as Arrow's scalars."""

_LEAST: Final = -(2**63)


class Comparison(Enum):
    """How a value is compared with a column."""

    EQUAL = "="
    UNEQUAL = "!="
    LESS = "<"
    AT_MOST = "<="
    GREATER = ">"
    AT_LEAST = ">="


@frozen
class Filter:
    """A condition. Made by the functions below, never from text of somebody else's."""

    sql: str

    def __and__(self, other: Filter) -> Filter:
        return Filter(f"{self.sql} AND {other.sql}")

    def __invert__(self) -> Filter:
        return Filter(f"(NOT ({self.sql}))")


def compare(column: str, comparison: Comparison, value: Value) -> Filter:
    """Rows whose value compares so with another."""
    return Filter(f"({_name(column)} {comparison.value} {_literal(value)})")


def equal(column: str, value: Value) -> Filter:
    """Rows with a value."""
    return compare(column, Comparison.EQUAL, value)


def one_of(column: str, values: Iterable[Value] | pa.Array) -> Filter:
    """Rows with one of some values; null is none of them."""
    listed = ", ".join(map(_literal, _plain(values)))
    return Filter(f"({_name(column)} IN ({listed}))" if listed else "(false)")


def is_null(column: str) -> Filter:
    """Rows without a value, whatever the type of the column."""
    return Filter(f"({_name(column)} IS NULL)")


def is_there(column: str) -> Filter:
    """Rows with a value, whatever it is."""
    return Filter(f"({_name(column)} IS NOT NULL)")


def every(filters: Iterable[Filter]) -> Filter | None:
    """All conditions at once; None: there are none."""
    texts = [f.sql for f in filters]
    return Filter(" AND ".join(texts)) if texts else None


def text_of(where: Filter | None) -> str | None:
    """The filter, as Lance takes it."""
    return None if where is None else where.sql


def _name(column: str) -> str:
    if "`" in column:
        raise UsageError(f"a column cannot be called `{column}`")
    return f"`{column}`"


def _plain(values: Iterable[Value] | pa.Array) -> Iterable[Value | None]:
    """Values of an array as Python's own, where those say the same."""
    if not isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    exact = pa.types.is_date(values.type) or pa.types.is_timestamp(values.type)
    return values if exact else values.to_pylist()  # type: ignore[no-any-return]


def _literal(value: Value | None) -> str:
    if isinstance(value, pa.Scalar):
        if value.is_valid and (pa.types.is_date32(value.type) or pa.types.is_timestamp(value.type)):
            return _stored(value)
        value = value.as_py()
    match value:
        case None:
            return "NULL"
        case bool():
            return "true" if value else "false"
        case str():
            return "'" + value.replace("'", "''") + "'"
        case int():
            return str(value) if value > _LEAST else f"arrow_cast('{value}', 'Int64')"
        case float():
            return repr(value) if math.isfinite(value) else f"arrow_cast('{value}', 'Float64')"
        case _:
            raise UsageError(f"a column cannot be compared with {value!r}")


def _stored(value: pa.Scalar) -> str:
    """A day or a moment by the number that is stored for it: not every one of them can be written as a date."""
    if pa.types.is_date32(value.type):
        return f"arrow_cast({value.cast(pa.int32()).as_py()}, 'Date32')"
    number = value.cast(pa.timestamp("ms", tz=value.type.tz)).cast(pa.int64()).as_py()
    zone = "None" if value.type.tz is None else f'Some("{value.type.tz}")'
    return f"arrow_cast({number}, 'Timestamp(Millisecond, {zone})')"
