"""Numbers, times and ids as a person would say them; what every short text about a value is made of.

    counted(1, "row")        1 row              ago(moment)            2 minutes ago
    counted(2_500, "row")    2,500 rows         short_id("01M7H2…")    01M7H2…4QFZ
    size(1_300_000)          1.3 MB             one_line(text)         at most 120 characters, none of which a terminal obeys

An id is cut in the middle: ULIDs of one quarter of an hour begin with the same six characters, and only the end tells them apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from omnigraph.model.ids import Clock, SystemClock
from omnigraph.model.printable import printable

LONGEST_LINE: Final = 120
"""Characters that one line about a value takes at most."""

_SPANS: Final = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))
_DAYS_AGO: Final = 30
"""Days after which a date says more than a number of days."""

_SIZES: Final = ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB"))
_IRREGULAR: Final = {
    "branch": "branches",
    "entity": "entities",
    "index": "indexes",
    "memory": "memories",
    "property": "properties",
    "query": "queries",
    "retry": "retries",
}


def noun(number: int, name: str) -> str:
    """A noun as it goes with a number."""
    return name if number == 1 else _plural(name)


def counted(number: int, name: str) -> str:
    """How many of what: `1 row`, `2,500 rows`, `3 node types`."""
    return f"{number:,} {noun(number, name)}"


def _plural(name: str) -> str:
    before, space, last = name.rpartition(" ")
    return f"{before}{space}{_IRREGULAR.get(last, last + 's')}"


def size(number: int) -> str:
    """An amount of bytes."""
    for unit, name in _SIZES:
        if number >= unit:
            return f"{number / unit:.1f}".removesuffix(".0") + f" {name}"
    return counted(number, "byte")


def iso(microseconds: int) -> str:
    """A moment, to the second, in UTC: `2026-11-16T12:30:05Z`."""
    return datetime.fromtimestamp(microseconds // 1_000_000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def ago(microseconds: int, clock: Clock | None = None) -> str:
    """How long ago a moment was; what is long ago, or still to come, is a date."""
    moment = datetime.fromtimestamp(microseconds / 1_000_000, UTC)
    seconds = int(((clock or SystemClock()).now() - moment).total_seconds())
    if -5 <= seconds < 1:  # clocks of two machines are never quite the same
        return "just now"
    if seconds < 0:
        return iso(microseconds)
    if seconds >= _DAYS_AGO * 86_400:
        return f"on {moment.date().isoformat()}"
    length, name = next(span for span in _SPANS if seconds >= span[0])
    return f"{counted(seconds // length, name)} ago"


def short_id(id_: str) -> str:
    """An id, long enough to be recognized. What is short, or no id, stays as it is."""
    return id_ if len(id_) <= 12 or " " in id_ else f"{id_[:6]}…{id_[-4:]}"


def by_actor(actor: str | None) -> str:
    """`, by ada`; nothing if nobody said who it was."""
    return "" if actor is None else f", by {actor}"


def tallied(counts: Mapping[str, int], most: int = 4) -> str:
    """`Person 3, Knows 4`, and how many types there are beside the first ones."""
    named = [f"{name} {count:,}" for name, count in list(counts.items())[:most]]
    if len(counts) > most:
        named.append(f"{len(counts) - most:,} more")
    return ", ".join(named)


def one_line(text: str, longest: int = LONGEST_LINE) -> str:
    """A text on one line, cut where it is too long, with everything spelt out that would do something else than be seen."""
    text = printable(text[: 4 * longest].replace("\n", "⏎").replace("\t", " "))
    return text if len(text) <= longest else text[: longest - 1] + "…"
