"""As much of protobuf's encoding as it takes to copy a message of Lance with some fields changed.

A message is a row of fields: a key (the number of the field and how it is encoded), then the value. Of a field that stands twice
the last one counts, so that adding one at the end replaces it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

_VARINT, _EIGHT_BYTES, _BYTES, _FOUR_BYTES = 0, 1, 2, 5
_FIXED: Final = {_EIGHT_BYTES: 8, _FOUR_BYTES: 4}
_ONE_BYTE: Final = tuple(bytes((value,)) for value in range(0x80))


def fields(message: bytes) -> Iterator[tuple[int, bytes, int | bytes]]:
    """The fields of a message: number, the field as it stands there, value."""
    at = 0
    while at < len(message):
        begin = at
        key, at = _read_varint(message, at)
        value: int | bytes
        if key & 7 == _VARINT:
            value, at = _read_varint(message, at)
        else:
            size, at = _read_varint(message, at) if key & 7 == _BYTES else (_FIXED[key & 7], at)
            value, at = message[at : at + size], at + size
        yield key >> 3, message[begin:at], value


def varints(packed: bytes) -> Iterator[int]:
    """The numbers of a field that holds several."""
    at = 0
    while at < len(packed):
        value, at = _read_varint(packed, at)
        yield value


def number(field: int, value: int) -> bytes:
    """A field that is a number."""
    return varint(field << 3) + varint(value)


def text(field: int, value: str) -> bytes:
    """A field that is text."""
    return data(field, value.encode())


def data(field: int, value: bytes) -> bytes:
    """A field that is a message, or other bytes."""
    return varint(field << 3 | _BYTES) + varint(len(value)) + value


def varint(value: int) -> bytes:
    """A number in sevens of bits, the lowest first."""
    if value <= 0x7F:
        return _ONE_BYTE[value]
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*out, value))


def _read_varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
