"""Dates and moments in text: what may be written, and how it is written back.

    2024-01-05   2024-1-5   20240105                               a Date: days since 1970-01-01
    2024-01-05T10:30:00Z   2024-01-05 103000.25 +02                a DateTime: milliseconds since then, UTC when no zone is given

A DateTime may also be just a date (midnight), and a Date may be a whole DateTime (its day in UTC).

Written back, in results, exports and changes alike (`date_text`, `datetime_text`):

    2024-01-05   2024-01-05T10:30:00.000Z                          years 1 to 9999
    +12024-01-05   -00044-03-15T00:00:00.000Z                      all others, with a sign and at least five digits
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from typing import Final

from omnigraph.errors import UsageError

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_DAY: Final = date(1970, 1, 1).toordinal()
_DATE = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})\Z")
_COMPACT = re.compile(r"(\d{4})(\d{2})(\d{2})\Z")
_SIGNED = re.compile(r"([+-]\d{5,6})-(\d{1,2})-(\d{1,2})\Z")
_TIME = re.compile(
    r"(?P<date>[^Tt ]+)[Tt ](?P<hour>\d{2})(?P<colon>:?)(?P<minute>\d{2})(?P=colon)(?P<second>\d{2})(?:\.(?P<fraction>\d{1,9}))?"
    r" ?(?P<zone>[Zz]|[+-]\d{2}(?::?\d{2})?)?\Z"
)
_DAY_MS: Final = 86_400_000
_FIRST_DAY: Final = date.min.toordinal() - _EPOCH_DAY
_LAST_DAY: Final = date.max.toordinal() - _EPOCH_DAY
_DAY_2000: Final = date(2000, 1, 1).toordinal() - _EPOCH_DAY


def date_days(text: str) -> int:
    """Days since the epoch of a date in text. Raises ValueError when it is none."""
    found = _DATE.match(text) or _COMPACT.match(text)
    if found is None and len(text) > 10 and _TIME.match(text):
        return datetime_ms(text) // _DAY_MS
    if found is not None:
        year, month, day = (int(part) for part in found.groups())
        return date(year, month, day).toordinal() - _EPOCH_DAY
    signed = _SIGNED.match(text)
    if signed is not None:
        year, month, day = (int(part) for part in signed.groups())
        return _days_from_civil(year, month, day)
    raise ValueError(f"`{text}` is not a date like 2024-01-31")


def datetime_ms(text: str) -> int:
    """Milliseconds since the epoch of a moment in text. Raises ValueError when it is none."""
    if len(text) <= 10:
        return date_days(text) * _DAY_MS
    found = _TIME.match(text)
    if found is None:
        raise ValueError(f"`{text}` is not a moment like 2024-01-31T10:30:00Z")
    hour, minute, second = int(found["hour"]), int(found["minute"]), int(found["second"])
    if hour > 23 or minute > 59 or second > 59:
        raise ValueError(f"`{text}` has no valid time of day")
    ms = int((found["fraction"] or "0").ljust(3, "0")[:3])
    return date_days(found["date"]) * _DAY_MS + ((hour * 60 + minute) * 60 + second) * 1000 + ms - _zone_ms(found["zone"])


def days_of(value: date) -> int:
    """Days since the epoch."""
    return value.toordinal() - _EPOCH_DAY


def ms_of(value: datetime) -> int:
    """Milliseconds since the epoch; UTC when the value has no zone."""
    aware = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
    return (aware - EPOCH) // timedelta(milliseconds=1)


def date_text(days: int) -> str:
    """A Date as text that reads back as the same day, whatever its year."""
    if _FIRST_DAY <= days <= _LAST_DAY:
        return date.fromordinal(days + _EPOCH_DAY).isoformat()
    cycles, rest = divmod(days - _DAY_2000, 146_097)  # 400 years
    found = date.fromordinal(date(2000, 1, 1).toordinal() + rest)
    return f"{found.year + 400 * cycles:+06}-{found.month:02}-{found.day:02}"


def datetime_text(ms: int) -> str:
    """A DateTime as text that reads back as the same moment, whatever its year: always UTC, always three digits of a second."""
    days, rest = divmod(ms, _DAY_MS)
    seconds, thousandths = divmod(rest, 1000)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    return f"{date_text(days)}T{hour:02}:{minute:02}:{second:02}.{thousandths:03}Z"


def _zone_ms(zone: str | None) -> int:
    if zone is None or zone in ("Z", "z"):
        return 0
    digits = zone[1:].replace(":", "").ljust(4, "0")
    minutes = int(digits[:2]) * 60 + int(digits[2:])
    return (-1 if zone[0] == "-" else 1) * minutes * 60_000


def _days_from_civil(year: int, month: int, day: int) -> int:
    """Days since the epoch in the proleptic calendar, for years Python's dates do not reach (400 years are 146097 days)."""
    if not 1 <= month <= 12:
        raise ValueError(f"{month} is not a month")
    cycles, rest = divmod(year - 2000, 400)
    return cycles * 146_097 + date(2000 + rest, month, day).toordinal() - _EPOCH_DAY


_UNITS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


def duration(text: str) -> timedelta:
    """A span of time in text: `90s`, `30m`, `12h`, `7d`, `2w`. Raises UsageError when it is none."""
    found = re.fullmatch(r"(\d+)([smhdw])", text.strip())
    if found is None:
        raise UsageError(f"`{text}` is not a span of time", hint="Write a number and a unit: 90s, 30m, 12h, 7d or 2w.")
    return timedelta(seconds=int(found[1]) * _UNITS[found[2]])
