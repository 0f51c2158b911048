"""Where the values of a page are, verified before Lance scans the page.

A page says in small arrays of numbers where its values begin and end. Lance follows them without asking whether they can be true:
where zeros stand in one, a scan goes round in circles, and takes memory until the process ends. So the sums are checked first,
which damage of any kind hardly keeps:

    in chunks     sizes of chunks, 28 or 12 bits of each number  →  together as long as the values
                  rows of each chunk, where values are lists     →  together as many as the page has
                  length of a dictionary that is compressed      →  no more than its bytes can say
    one by one    offsets, one more than rows                    →  begin with 0, never go back, end where the values do

    4 rows, 90 bytes of values, offsets 0 20 50 50 90            sound
                                offsets 0 20  0 50 90            Lance would read 20 bytes less than nothing

What is laid out otherwise is left to Lance. Only numbers are read, two bytes to eight for each row of long values, and only
before a scan that reads the values too.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

import numpy as np

from omnigraph.storage.lance_format.protobuf import fields, varints

_OFFSETS, _SIZES, _ROWS, _ENCODING = 1, 2, 3, 4
_DIRECT, _ENCODED, _MESSAGE = 2, 1, 2
_CHUNKS, _ONE_BY_ONE = 1, 3
_DICTIONARY, _DEPTH, _LARGE = 4, 8, 10
_COMPRESSED, _BY, _SCHEME, _LZ4 = 10, 1, 1, 1
_LZ4_MOST: Final = 255
"""Bytes that one byte of LZ4 says at most."""
_WIDTHS: Final = (1, 2, 4, 8)


def page_is_sound(descriptor: int, page: bytes) -> bool:
    """Whether the numbers of a page, given by its description, can be true."""
    said = {number: value for number, _, value in fields(page)}
    places = list(zip(_numbers(said.get(_OFFSETS)), _numbers(said.get(_SIZES)), strict=True))
    rows, encoding = said.get(_ROWS, 0), said.get(_ENCODING)
    if not isinstance(rows, int) or not isinstance(encoding, bytes) or len(places) < 2:
        return True
    for layout, about in _layout(encoding):
        if layout == _CHUNKS:
            return _chunks_are_sound(descriptor, about, places, rows)
        if layout == _ONE_BY_ONE:
            return _offsets_are_sound(descriptor, places, rows)
    return True


@lru_cache(maxsize=1_024)
def _layout(encoding: bytes) -> tuple[tuple[int, Mapping[int, int | bytes]], ...]:
    """What an encoding says. Pages of files that were written one after the other mostly have the same, byte by byte."""
    inner = encoding
    for wanted in (_DIRECT, _ENCODED, _MESSAGE):
        inner = next((value for number, _, value in fields(inner) if number == wanted and isinstance(value, bytes)), b"")
    return tuple((number, {n: v for n, _, v in fields(value)}) for number, _, value in fields(inner) if isinstance(value, bytes))


def _chunks_are_sound(descriptor: int, about: Mapping[int, int | bytes], places: list[tuple[int, int]], rows: int) -> bool:
    chunks = _read(descriptor, places[0], 4 if about.get(_LARGE) else 2)
    if int((((chunks.astype(np.uint64) >> np.uint64(4)) + np.uint64(1)) * np.uint64(8)).sum()) != places[1][1]:
        return False
    dictionary = about.get(_DICTIONARY)
    if isinstance(dictionary, bytes) and len(places) > 2 and _is_lz4(dictionary):
        at, size = places[2]
        if int(_read(descriptor, (at, 4), 4)[0]) > size * _LZ4_MOST:
            return False
    depth = about.get(_DEPTH, 0)
    if not isinstance(depth, int) or depth == 0:
        return True
    ends = _read(descriptor, places[-1], 8)
    return len(ends) == len(chunks) * (depth + 1) and int(ends[:: depth + 1].sum()) == rows


def _is_lz4(compression: bytes) -> bool:
    inner: int | bytes = compression
    for wanted in (_COMPRESSED, _BY, _SCHEME):
        if not isinstance(inner, bytes):
            return False
        inner = next((value for number, _, value in fields(inner) if number == wanted), b"")
    return inner == _LZ4


def _offsets_are_sound(descriptor: int, places: list[tuple[int, int]], rows: int) -> bool:
    width = next((width for width in _WIDTHS if places[1][1] == (rows + 1) * width), None)
    if width is None:
        return True
    offsets = _read(descriptor, places[1], width)
    return int(offsets[0]) == 0 and int(offsets[-1]) == places[0][1] and bool((offsets[1:] >= offsets[:-1]).all())


def _read(descriptor: int, place: tuple[int, int], width: int) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    at, size = place
    return np.frombuffer(os.pread(descriptor, size, at), np.dtype(f"<u{width}"))


def _numbers(value: int | bytes | None) -> list[int]:
    return [] if value is None else [value] if isinstance(value, int) else list(varints(value))
