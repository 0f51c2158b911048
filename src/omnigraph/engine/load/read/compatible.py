"""The compatible dialect: what older writers produced, and still may.

Records are JSON values separated by any whitespace. An id may be spelt as an older writer spelt it: any text that reads as one of
the key values, such as `00042` for the number 42. The entity gets its right id, and edges of the same input follow.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator, Mapping
from itertools import count

from omnigraph.catalog.catalog import EntityType, Property
from omnigraph.engine.load.read.digits import integer, real
from omnigraph.engine.load.read.lines import BLOCK_BYTES, ByteSource
from omnigraph.model.conversions import Misfit, digits, nearest
from omnigraph.model.given import Spelt
from omnigraph.model.limits import MAX_LINE_BYTES
from omnigraph.model.times import date_days, datetime_ms
from omnigraph.model.types import Scalar

_SPACE = " \t\n\r"


class BrokenStream(Exception):
    """What follows cannot be split into records any more."""

    def __init__(self, record: int, message: str) -> None:
        super().__init__(message)
        self.record = record


def records(source: ByteSource, decoder: json.JSONDecoder | None = None) -> Iterator[tuple[int, object]]:
    """The JSON values of a stream, numbered from 1. Raises `BrokenStream` at the first one that is none."""
    decode = (decoder or json.JSONDecoder(parse_constant=_no_constant, parse_int=integer, parse_float=real)).raw_decode
    utf8 = codecs.getincrementaldecoder("utf-8")()
    numbers, text, at, ended = count(1), "", 0, False
    number = next(numbers)
    while True:
        while at < len(text) and text[at] in _SPACE:
            at += 1
        try:
            value, end = decode(text, at) if at < len(text) else (None, -1)
        except (json.JSONDecodeError, RecursionError) as error:
            if ended:
                reason = error.msg if isinstance(error, json.JSONDecodeError) else "nested too deeply"
                raise BrokenStream(number, f"invalid JSON: {reason}") from None
            end = -1
        except ValueError as error:
            raise BrokenStream(number, f"invalid JSON: {error}") from None
        if end >= 0 and (ended or end < len(text)):  # a number at the very end may go on
            yield number, value
            number, at = next(numbers), end
            continue
        if ended:
            return
        if len(text) - at > MAX_LINE_BYTES:
            raise BrokenStream(number, f"a record is longer than {MAX_LINE_BYTES >> 20} MiB")
        block = source.read(BLOCK_BYTES)
        try:
            text, at, ended = text[at:] + utf8.decode(block, final=not block), 0, not block
        except UnicodeDecodeError as error:
            raise BrokenStream(number, f"not UTF-8: {error.reason}") from None


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is not a number")


def is_old_spelling(type_: EntityType, row: Mapping[str, object], given: str) -> bool:
    """Whether an id reads as any one of the key values."""
    return any(_reads_as(prop, given, row[prop.name]) for prop in type_.key)


def _reads_as(prop: Property, given: str, value: object) -> bool:
    scalar = prop.type.scalar
    if scalar is Scalar.STRING:
        return given == value
    if scalar is Scalar.BOOL:
        return given == ("true" if value else "false")
    number = digits(given)
    if scalar.is_integer:
        return number == value
    try:
        if scalar in (Scalar.DATE, Scalar.DATETIME):
            return value in (number, (date_days if scalar is Scalar.DATE else datetime_ms)(given, lossy=True))
        return nearest(scalar, Spelt(given)) == value
    except (ValueError, Misfit):
        return number is not None and number == value
