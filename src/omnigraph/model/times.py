"""Dates and moments in text: what may be written, what they mean exactly, and how they are written back.

    2024-01-05   2024-1-5   20240105   0000-01-01   -0044-03-15   +12024-01-05      a Date: days since 1970-01-01
    2024-01-05T10:30:00Z   2024-01-05 103000.25 +02                                 a DateTime: milliseconds since then

No zone means UTC. A DateTime may also be just a date (midnight). A Date may be a whole DateTime if that is midnight in UTC, and a
DateTime may have digits finer than milliseconds if they are zeros; with `lossy` the rest is cut off, towards the past. The
calendar goes from the year -262143 to 262142, for dates and moments alike.

Written back, in results, exports and changes alike (`date_text`, `datetime_text`):

    2024-01-05   2024-01-05T10:30:00.000Z                          years 1 to 9999
    +12024-01-05   -00044-03-15T00:00:00.000Z                      all others, with a sign and at least five digits
    P3D   PT4H30M   -P1DT0.250S                                    a duration, in days, hours, minutes and seconds
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from typing import Final

from omnigraph.errors import UsageError

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
DAY_MS: Final = 86_400_000
LONGEST_MS: Final = 999_999_999 * DAY_MS
"""The longest duration, either way: Python's own."""
_EPOCH_DAY: Final = date(1970, 1, 1).toordinal()
_DATE = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})\Z", re.ASCII)
_COMPACT = re.compile(r"(\d{4})(\d{2})(\d{2})\Z", re.ASCII)
_SIGNED = re.compile(r"([+-]\d{4,6})-(\d{1,2})-(\d{1,2})\Z", re.ASCII)
_TIME = re.compile(
    r"(?P<date>[^Tt ]+)[Tt ](?P<hour>\d{2})(?P<colon>:?)(?P<minute>\d{2})(?P=colon)(?P<second>\d{2})(?:\.(?P<fraction>\d{1,9}))?"
    r" ?(?P<zone>[Zz]|[+-]\d{2}(?::?\d{2})?)?\Z",
    re.ASCII,
)
_FIRST_DAY: Final = date.min.toordinal() - _EPOCH_DAY
_LAST_DAY: Final = date.max.toordinal() - _EPOCH_DAY
_DAY_2000: Final = date(2000, 1, 1).toordinal() - _EPOCH_DAY


def civil_days(year: int, month: int, day: int) -> int:
    """Days since the epoch in the proleptic calendar, also for years Python's dates do not reach (400 years are 146097 days)."""
    if not 1 <= month <= 12:
        raise ValueError(f"{month} is not a month")
    cycles, rest = divmod(year - 2000, 400)
    return cycles * 146_097 + date(2000 + rest, month, day).toordinal() - _EPOCH_DAY


DAYS: Final = (civil_days(-262_143, 1, 1), civil_days(262_142, 12, 31))
"""The first and the last day there is."""

MILLISECONDS: Final = (DAYS[0] * DAY_MS, (DAYS[1] + 1) * DAY_MS - 1)
"""The first and the last millisecond there is."""


def date_days(text: str, *, lossy: bool = False) -> int:
    """Days since the epoch of a date in text. Raises ValueError when it is none, or more than a date."""
    found = _DATE.match(text) or _COMPACT.match(text) or _SIGNED.match(text)
    if found is not None:
        return in_calendar(_civil(text, *(int(part) for part in found.groups())), text)
    if _TIME.match(text):
        return day_of_ms(datetime_ms(text, lossy=lossy), text, lossy=lossy)
    raise ValueError(f"`{shortened(text)}` is not a date like 2024-01-31")


def datetime_ms(text: str, *, lossy: bool = False) -> int:
    """Milliseconds since the epoch of a moment in text. Raises ValueError when it is none, or finer than milliseconds."""
    found = _TIME.match(text)
    if found is None:
        if not (_DATE.match(text) or _COMPACT.match(text) or _SIGNED.match(text)):
            raise ValueError(f"`{shortened(text)}` is not a moment like 2024-01-31T10:30:00Z")
        return date_days(text) * DAY_MS
    hour, minute, second = int(found["hour"]), int(found["minute"]), int(found["second"])
    if hour > 23 or minute > 59 or second > 59:
        raise ValueError(f"`{text}` has no valid time of day")
    ms = whole_ms(int((found["fraction"] or "0").ljust(9, "0")), 1_000_000, text, lossy=lossy)
    midnight = date_days(found["date"]) * DAY_MS
    total = midnight + ((hour * 60 + minute) * 60 + second) * 1000 + ms - _zone_ms(found["zone"], text)
    return in_calendar_ms(total, text)


def whole_ms(count: int, per_ms: int, shown: object, *, lossy: bool) -> int:
    """Milliseconds of a count of a finer unit. Raises ValueError if something is left."""
    ms, rest = divmod(count, per_ms)
    if rest and not lossy:
        raise ValueError(f"{shown} is finer than milliseconds, which is what a DateTime holds")
    return ms


def day_of_ms(ms: int, shown: object, *, lossy: bool) -> int:
    """The day of a moment in UTC. Raises ValueError if it has a time of day."""
    days, rest = divmod(ms, DAY_MS)
    if rest and not lossy:
        raise ValueError(f"{shown} has a time of day in UTC, and a Date has none")
    return days


def in_calendar(days: int, shown: object) -> int:
    """Days, if there is such a day. Raises ValueError otherwise."""
    if not DAYS[0] <= days <= DAYS[1]:
        raise ValueError(f"{shortened(shown)} is out of the range of Date, whose years go from -262143 to 262142")
    return days


def in_calendar_ms(ms: int, shown: object) -> int:
    """Milliseconds, if there is such a moment. Raises ValueError otherwise."""
    if not MILLISECONDS[0] <= ms <= MILLISECONDS[1]:
        raise ValueError(f"{shortened(shown)} is out of the range of DateTime, whose years go from -262143 to 262142")
    return ms


def days_of(value: date) -> int:
    """Days since the epoch."""
    return value.toordinal() - _EPOCH_DAY


def ms_of(value: datetime, *, lossy: bool = False) -> int:
    """Milliseconds since the epoch; UTC when the value has no zone. Raises ValueError when it is finer than that."""
    return whole_ms(ns_of(value), 1_000_000, value, lossy=lossy)


def ns_of(value: datetime) -> int:
    """Nanoseconds since the epoch; UTC when the value has no zone."""
    aware = value if value.utcoffset() is not None else value.replace(tzinfo=UTC)
    return (aware - EPOCH) // timedelta(microseconds=1) * 1000 + int(getattr(value, "nanosecond", 0))  # of pandas


def date_text(days: int) -> str:
    """A Date as text that reads back as the same day, whatever its year."""
    if _FIRST_DAY <= days <= _LAST_DAY:
        return date.fromordinal(days + _EPOCH_DAY).isoformat()
    cycles, rest = divmod(days - _DAY_2000, 146_097)  # 400 years
    found = date.fromordinal(date(2000, 1, 1).toordinal() + rest)
    return f"{found.year + 400 * cycles:+06}-{found.month:02}-{found.day:02}"


def datetime_text(ms: int) -> str:
    """A DateTime as text that reads back as the same moment, whatever its year: always UTC, always three digits of a second."""
    days, rest = divmod(ms, DAY_MS)
    seconds, thousandths = divmod(rest, 1000)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    return f"{date_text(days)}T{hour:02}:{minute:02}:{second:02}.{thousandths:03}Z"


def shortened(value: object) -> str:
    """A value for a message, whatever it does when it is shown."""
    try:
        text = str(value) if not isinstance(value, int) or abs(value) < 10**40 else "a huge number"
    except Exception:  # one that fails, or holds a number of more digits than Python writes
        text = f"something of type {type(value).__name__}"
    return text if len(text) <= 80 else f"{text[:79]}…"


def _zone_ms(zone: str | None, text: str) -> int:
    if zone is None or zone in ("Z", "z"):
        return 0
    digits = zone[1:].replace(":", "").ljust(4, "0")
    hours, minutes = int(digits[:2]), int(digits[2:])
    if hours > 23 or minutes > 59:
        raise ValueError(f"`{text}` has no valid zone")
    return (-1 if zone[0] == "-" else 1) * (hours * 60 + minutes) * 60_000


def _civil(text: str, year: int, month: int, day: int) -> int:
    try:
        return civil_days(year, month, day)
    except ValueError as error:
        raise ValueError(f"`{text}` is not a date: {error}") from None


_UNITS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


def duration(text: str) -> timedelta:
    """A span of time in text: `90s`, `30m`, `12h`, `7d`, `2w`. Raises UsageError when it is none."""
    found = re.fullmatch(r"([0-9]+)([smhdw])", text.strip())
    if found is None:
        raise UsageError(f"`{text}` is not a span of time", hint="Write a number and a unit: 90s, 30m, 12h, 7d or 2w.")
    return timedelta(seconds=int(found[1]) * _UNITS[found[2]])


def duration_text(milliseconds: int) -> str:
    """A duration as ISO 8601 writes it, in days and less: a month has no length."""
    days, rest = divmod(abs(milliseconds), DAY_MS)
    hours, rest = divmod(rest, 3_600_000)
    minutes, rest = divmod(rest, 60_000)
    seconds, thousandths = divmod(rest, 1_000)
    fraction = f".{thousandths:03d}" if thousandths else ""
    time = "".join([f"{hours}H" if hours else "", f"{minutes}M" if minutes else "", f"{seconds}{fraction}S" if rest else ""])
    day = f"{days}D" if days else ""
    sign = "-" if milliseconds < 0 else ""
    return f"{sign}P{day}{'T' if time else ''}{time}" if day or time else "PT0S"
