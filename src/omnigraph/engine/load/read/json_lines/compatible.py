"""The compatible dialect: what older writers produced, and still may.

Records are JSON values separated by any whitespace. Ids may be spelt as older writers spelt them (`rows.identity`).
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from itertools import count

from omnigraph.engine.load.read.conversion.digits import integer, real
from omnigraph.engine.load.read.inputs.content import ByteSource
from omnigraph.engine.load.read.json_lines.lines import BLOCK_BYTES
from omnigraph.model.limits import MAX_LINE_BYTES

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
