"""What a given value is, whoever made it: Python, JSON, numpy, pandas, polars or Arrow.

    plain(np.int64(5))  5        plain(pandas.NaT)  None        plain(np.array([1.5, 2]))  [1.5, 2.0]

None of these libraries is imported to find out. Moments and days of any calendar are `Instant` and `Day`: Python's own end at the
year 9999, and know nothing finer than microseconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import Any, Final

from omnigraph.model.frozen import frozen
from omnigraph.model.limits import MAX_NESTING, MAX_RECORD_LISTS
from omnigraph.model.times import date_text, datetime_text


@frozen
class Instant:
    """A moment, as a column of timestamps has it."""

    nanoseconds: int
    """Since the epoch, in UTC."""

    def __str__(self) -> str:
        ms, rest = divmod(self.nanoseconds, 1_000_000)
        text = datetime_text(ms)
        return f"{text[:-1]}{rest:06d}".rstrip("0") + "Z" if rest else text


@frozen
class Day:
    """A day, as a column of dates has it."""

    days: int
    """Since the epoch."""

    def __str__(self) -> str:
        return date_text(self.days)


class Spelt(float):
    """A float with the digits it was made of, which may say more than it can."""

    def __new__(cls, text: str) -> Spelt:
        made = super().__new__(cls, text)
        made.text = text
        return made

    text: str

    def __reduce__(self) -> tuple[type[Spelt], tuple[str]]:
        return Spelt, (self.text,)


class Kind(Enum):
    """Kinds of given values, as the table of conversions tells them apart."""

    NULL = "null"
    BOOL = "true or false"
    INTEGER = "an integer"
    FLOAT = "a floating-point number"
    DECIMAL = "a decimal number"
    TEXT = "text"
    BYTES = "bytes"
    DATE = "a date"
    MOMENT = "a moment"
    LIST = "a list"
    OTHER = "something else"


_KINDS: Final[dict[type, Kind]] = {
    type(None): Kind.NULL,
    bool: Kind.BOOL,
    int: Kind.INTEGER,
    float: Kind.FLOAT,
    Decimal: Kind.DECIMAL,
    str: Kind.TEXT,
    bytes: Kind.BYTES,
    date: Kind.DATE,
    datetime: Kind.MOMENT,
    Day: Kind.DATE,
    Instant: Kind.MOMENT,
    list: Kind.LIST,
    dict: Kind.OTHER,
}

_NANOSECONDS: Final = {
    "h": 3_600_000_000_000,
    "m": 60_000_000_000,
    "s": 1_000_000_000,
    "ms": 1_000_000,
    "us": 1_000,
    "ns": 1,
}


def kind_of(value: object) -> Kind:
    """The kind of a plain value."""
    found = _KINDS.get(type(value))
    if found is not None:
        return found
    for base in (bool, int, float, Decimal, str, datetime, date, list):  # classes of somebody's own
        if isinstance(value, base):
            return _KINDS[base]
    return Kind.OTHER


def plain(value: object) -> object:
    """A value without the library it came from. Raises ValueError when the library has no plain form of it."""
    kind = type(value)
    if kind in _KINDS:
        return value
    module, name = kind.__module__.partition(".")[0], kind.__name__
    if module == "pandas" and name in ("NaTType", "NAType"):
        return None
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    if module == "numpy":
        if name == "datetime64":
            return _numpy_moment(value)
        if getattr(getattr(value, "dtype", None), "kind", "") == "M" and getattr(value, "ndim", 0):
            return list(value)  # type: ignore[call-overload]
    if not isinstance(value, str | int | float | date | Decimal):
        for method in ("tolist", "to_pylist", "to_list"):
            if hasattr(value, method):
                return _asked(value, method)
        if isinstance(value, Sequence):
            return list(value)
    return value


def _asked(value: object, method: str) -> object:
    try:
        return getattr(value, method)()
    except (TypeError, ValueError, OverflowError, AttributeError) as error:
        raise ValueError(f"{type(value).__name__} cannot be read: {error}") from None


def _numpy_moment(value: Any) -> object:
    count, unit = int(value.astype("int64")), str(value.dtype).partition("[")[2].rstrip("]")
    if count == -(2**63):
        return None
    if unit == "D":
        return Day(count)
    return Instant(count * _NANOSECONDS[unit]) if unit in _NANOSECONDS else value


def tangled(value: object) -> str | None:
    """Why nobody should go down into a value: it is nested too deeply (a list may hold itself), or holds too many lists.

    Level by level, each list once, however often and by whichever way it is reached: whoever calls itself for what is inside, or
    shows the value, would run out of stack or of time.
    """
    level = {} if type(value) in _SINGLE else {id(value): (value, 1)}
    count = 0
    for _ in range(MAX_NESTING):
        below: dict[int, tuple[object, int]] = {}
        for item, times in level.values():
            inside = _within(item)
            if inside is None:
                continue
            count += times
            for child in inside:
                if type(child) not in _SINGLE:
                    _, before = below.get(id(child), (child, 0))
                    below[id(child)] = (child, before + times)
        if count > MAX_RECORD_LISTS:
            return f"holds more than {MAX_RECORD_LISTS:,} lists and objects"
        level = below
        if not level:
            return None
    deeper = any(_within(item) is not None for item, _ in level.values())
    return f"is nested more than {MAX_NESTING} deep" if deeper else None


_SINGLE: Final = frozenset(_KINDS) - {list, dict}


def _within(value: object) -> Iterable[object] | None:
    """What a value holds, if it holds values."""
    if isinstance(value, list | tuple | set | frozenset):
        return value
    if isinstance(value, Mapping):
        return value.values()
    if getattr(getattr(value, "dtype", None), "kind", "") == "O" and hasattr(value, "tolist"):
        found = value.tolist()
        return found if isinstance(found, list) else [found]
    return None


def named(value: object) -> str:
    """What a value is, in words."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, tuple):
        return "a list"
    if type(value) in (float, Spelt):
        return "a number with a fraction or exponent"
    kind = kind_of(value)
    return type(value).__name__ if kind is Kind.OTHER else "a string" if kind is Kind.TEXT else kind.value
