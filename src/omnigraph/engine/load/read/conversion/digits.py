"""Numbers in JSON with all their digits, where a Python float or int would lose some.

    -0                 an integer that is 0, and as a float -0.0
    1.0000000596…      a double exactly between two F32: its digits say which of the two is nearer
    10⁵⁰⁰⁰, 1e300000   in a record that is written down again: the same digits

`integer` and `real` read numbers that become values, `as_written` those of records that are kept.
"""

from __future__ import annotations

import json
import re
from typing import Final

from omnigraph.model.conversions import is_halfway
from omnigraph.model.frozen import frozen
from omnigraph.model.given import Spelt

LONGEST: Final = 4_000
"""Digits of an integer that Python reads and writes."""

_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?\Z")


class _MinusZero(int):
    """An integer that has a sign as a float."""

    def __float__(self) -> float:
        return -0.0


_MINUS_ZERO: Final = _MinusZero(0)


def integer(text: str) -> int:
    """A number without fraction and exponent. One that no type can hold need not be exact."""
    if text == "-0":
        return _MINUS_ZERO
    return int(text) if len(text) < LONGEST else 10 ** (LONGEST - 1)


def real(text: str) -> float:
    """Any other number."""
    value = float(text)
    return Spelt(text) if is_halfway(value) else value


@frozen
class Digits:
    """A number as it was written."""

    text: str

    @classmethod
    def of(cls, text: str) -> Digits | str:
        """A text as a number, if JSON reads it as one."""
        return cls(text) if _NUMBER.match(text) else text

    def to_json(self) -> str:
        """The same digits. More of them than readers take are text."""
        return self.text if len(self.text) < LONGEST else json.dumps(self.text)


def as_written(text: str) -> int | float | Digits:
    """A number that is to be written again."""
    if text.lstrip("-").isdigit() and len(text) < 19 and text != "-0":
        return int(text)
    value = float(text)
    return value if repr(value) == text else Digits(text)
