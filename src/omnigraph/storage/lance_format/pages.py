"""Pages of a few values, laid out as Lance lays them out.

A page is some buffers and a description that says how values stand in them (`protos/encodings_v2_1.proto`, "Lance file format" in
its documentation). For few values Lance has three ways, which differ in nothing but size and speed; none of them compresses:

    constant      all values are the same   the value stands in the description, or once in a buffer; levels beside it
    in chunks     narrow values             one chunk: sizes, levels, values (texts: offsets, then the texts)
    one by one    256 bytes and more        each value with its level and its length, and where each begins

Levels say which rows are null: one for each row, 1 for null. Where none is, there are no levels.

    ["p1", "hello"]     chunk   00 00 │ 14 00 00 00 │ fe fe │ 0c 00 00 00 0e 00 00 00 13 00 00 00 "p1hello" 48 │ fe fe fe fe
                                levels  bytes          fill    offsets                            texts     fill
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Final

from omnigraph.model.frozen import frozen
from omnigraph.storage.lance_format.protobuf import data, number

MOST_ROWS: Final = 512
MOST_CHUNK_BYTES: Final = 32_000
"""More is for Lance to divide."""

_WIDE: Final = 256
"""Values of so many bytes stand one by one."""

_CONSTANT, _CHUNKS, _ONE_BY_ONE = 1, 2, 3
_ALL_VALID, _SOME_NULL = b"\x01", b"\x03"
_IN_CHUNKS, _SAME, _ALONE = 1, 2, 3
FILL: Final = b"\x48"
"""What stands between buffers, and behind texts."""

_CHUNK_FILL: Final = b"\xfe"
_NAME: Final = data(1, b"/lance.encodings21.PageLayout")
_UNSIGNED: Final = {1: "B", 2: "H", 4: "I", 8: "Q"}


class TooLarge(Exception):
    """More than stands in one chunk. Lance writes it."""


@frozen
class Kind:
    """What the values of a column are."""

    bits: int
    """Of a value; of texts, of the offset of one; of vectors, of one number."""
    is_text: bool = False
    dimension: int = 0
    """Of vectors."""

    @property
    def bytes(self) -> int:
        """Of a value of fixed width."""
        return self.bits * (self.dimension or 1) // 8


@frozen
class Page:
    buffers: tuple[bytes, ...]
    description: bytes
    """How many rows there are, and how they stand in the buffers."""


Values = Sequence[bytes] | bytes
"""Texts one by one, where a null is empty; everything else as it stands in Arrow's buffer, from the first bit on."""


def page(kind: Kind, rows: int, values: Values, valid: Sequence[bool] | None) -> Page:
    """A page of at least one value. `valid` says which are not null; None: all of them."""
    if rows > MOST_ROWS:
        raise TooLarge
    nulls = 0 if valid is None else rows - sum(valid)
    if not nulls:
        valid = None
    if nulls == rows:
        return Page((), _described(_CONSTANT, kind, rows, True))
    levels = b"" if valid is None else struct.pack(f"<{rows}H", *(not there for there in valid))
    if kind.is_text:
        assert not isinstance(values, bytes)
        return _texts(kind, rows, values, valid, levels)
    assert isinstance(values, bytes)
    return _numbers(kind, rows, values, valid, levels)


def _numbers(kind: Kind, rows: int, values: bytes, valid: Sequence[bool] | None, levels: bytes) -> Page:
    if not kind.dimension:
        same = _same_bit(rows, values, valid) if kind.bits == 1 else _same_number(kind.bytes, rows, values, valid)
        if same is not None:
            buffers = (b"", levels) if levels else ()
            return Page(buffers, _described(_CONSTANT, kind, rows, bool(levels), same))
    if kind.bytes >= _WIDE:
        if valid is not None:
            wide = range(0, len(values), kind.bytes)
            marks = (b"\0" if there else b"\1" for there in valid)
            values = b"".join(part for at, mark in zip(wide, marks, strict=True) for part in (mark, values[at : at + kind.bytes]))
        return Page((values,), _described(_ONE_BY_ONE, kind, rows, bool(levels)))
    return _chunk(kind, rows, values, levels)


def _same_number(width: int, rows: int, values: bytes, valid: Sequence[bool] | None) -> bytes | None:
    if valid is not None:
        values = b"".join(values[at * width : (at + 1) * width] for at, there in enumerate(valid) if there)
        rows = len(values) // width
    return values[:width] if values == values[:width] * rows else None


def _same_bit(rows: int, values: bytes, valid: Sequence[bool] | None) -> bytes | None:
    found = {values[at >> 3] >> (at & 7) & 1 for at in range(rows) if valid is None or valid[at]}
    return bytes(found) if len(found) == 1 else None


def _texts(kind: Kind, rows: int, values: Sequence[bytes], valid: Sequence[bool] | None, levels: bytes) -> Page:
    width = kind.bytes
    unsigned = _UNSIGNED[width]
    there = values if valid is None else [value for value, is_there in zip(values, valid, strict=True) if is_there]
    if there.count(there[0]) == len(there):
        size = len(there[0])
        once = struct.pack(f"<III{unsigned}{unsigned}", 2, 2 * width, size, 0, size) + there[0]
        return Page((once, b"", levels) if levels else (once,), _described(_CONSTANT, kind, rows, bool(levels)))
    if max(map(len, there)) >= _WIDE:
        length = struct.Struct(f"<{unsigned}").pack
        if valid is None:
            ones = [length(len(value)) + value for value in values]
        else:
            ones = [b"\0" + length(len(v)) + v if is_there else b"\1" for v, is_there in zip(values, valid, strict=True)]
        begins = list(accumulate(map(len, ones), initial=0))
        index = struct.pack(f"<{rows + 1}{_narrowest(begins[-1])}", *begins)
        return Page((b"".join(ones), index), _described(_ONE_BY_ONE, kind, rows, bool(levels)))
    offsets = struct.pack(f"<{rows + 1}{unsigned}", *accumulate(map(len, values), initial=(rows + 1) * width))
    return _chunk(kind, rows, _filled(offsets + b"".join(values), width, FILL), levels)


def _narrowest(most: int) -> str:
    return next(unsigned for width, unsigned in _UNSIGNED.items() if most < 1 << width * 8)


def _chunk(kind: Kind, rows: int, values: bytes, levels: bytes) -> Page:
    """All values as one chunk, with how many there are and how long its parts are in front."""
    if levels:
        front = struct.pack("<HHI", rows, len(levels), len(values)) + _filled(levels, 8, _CHUNK_FILL)
    else:
        front = struct.pack("<HI", 0, len(values)) + _CHUNK_FILL * 2
    chunk = _filled(front + values, 8, _CHUNK_FILL)
    if len(chunk) > MOST_CHUNK_BYTES:
        raise TooLarge
    return Page((struct.pack("<I", (len(chunk) // 8 - 1) << 4), chunk), _described(_CHUNKS, kind, rows, bool(levels)))


def _filled(content: bytes, to: int, fill: bytes) -> bytes:
    return content + fill * (-len(content) % to)


@lru_cache(maxsize=4_096)
def _described(way: int, kind: Kind, rows: int, nulls: bool, same: bytes | None = None) -> bytes:
    layout = _layout(way, kind, rows, _SOME_NULL if nulls else _ALL_VALID, same)
    return number(3, rows) + data(4, data(2, data(1, _NAME + data(2, layout))))


def _layout(way: int, kind: Kind, rows: int, layers: bytes, same: bytes | None) -> bytes:
    flat = _flat(kind.bits)
    if kind.is_text:
        values = data(2, data(1, flat))
    else:
        values = flat if not kind.dimension else data(11, number(1, kind.dimension) + data(2, flat))
    if way == _CONSTANT:
        return data(_SAME, data(5, layers) + (b"" if same is None else data(6, same)))
    if way == _CHUNKS:
        levels = data(2, _flat(16)) if layers == _SOME_NULL else b""
        return data(_IN_CHUNKS, levels + data(3, values) + data(6, layers) + number(7, 1) + number(9, rows) + number(10, 1))
    levels = number(2, 1) if layers == _SOME_NULL else b""
    bits = number(4, kind.bits) if kind.is_text else number(3, kind.bytes * 8)
    return data(_ALONE, levels + bits + number(5, rows) + number(6, rows) + data(7, values) + data(8, layers))


def _flat(bits: int) -> bytes:
    return data(1, number(1, bits))


# ── back again ───────────────────────────────────────────────────────────────────────────────────────────────────────────────


def values_of(kind: Kind, rows: int, buffers: Sequence[bytes], description: bytes) -> Values | None:
    """The values of a page of texts, or of whole bytes, where none is null; None: it is no page that is made here."""
    if kind.dimension or kind.bits == 1 or rows > MOST_ROWS:
        return None
    try:
        found = _texts_of(kind, rows, buffers, description) if kind.is_text else _numbers_of(kind, rows, buffers, description)
    except (struct.error, LookupError, ValueError, ArithmeticError):
        return None
    if found is None or len(found) != (rows if kind.is_text else rows * kind.bytes):
        return None
    return found


def _numbers_of(kind: Kind, rows: int, buffers: Sequence[bytes], description: bytes) -> bytes | None:
    if not buffers:
        same = description[-kind.bytes :]
        return same * rows if description == _described(_CONSTANT, kind, rows, False, same) else None
    return _values_of_chunk(buffers) if description == _described(_CHUNKS, kind, rows, False) else None


def _texts_of(kind: Kind, rows: int, buffers: Sequence[bytes], description: bytes) -> list[bytes] | None:
    width, unsigned = kind.bytes, _UNSIGNED[kind.bytes]
    if description == _described(_CHUNKS, kind, rows, False):
        values = _values_of_chunk(buffers)
        offsets = struct.unpack_from(f"<{rows + 1}{unsigned}", values)
        return [values[begin:end] for begin, end in _stretches(offsets, (rows + 1) * width, len(values))]
    if description == _described(_ONE_BY_ONE, kind, rows, False):
        ones, index = buffers
        begins = struct.unpack(f"<{rows + 1}{_narrowest(len(ones))}", index)
        texts = [ones[begin + width : end] for begin, end in _stretches(begins, 0, len(ones))]
        lengths = [struct.unpack_from(f"<{unsigned}", ones, begin)[0] for begin in begins[:-1]]
        return texts if lengths == [len(text) for text in texts] else None
    if description == _described(_CONSTANT, kind, rows, False):
        (once,) = buffers
        front = struct.Struct(f"<III{unsigned}{unsigned}")
        text = once[front.size :]
        return [text] * rows if once[: front.size] == front.pack(2, 2 * width, len(text), 0, len(text)) else None
    return None


def _values_of_chunk(buffers: Sequence[bytes]) -> bytes:
    sizes, chunk = buffers
    nothing, length = struct.unpack_from("<HI", chunk)
    if sizes != struct.pack("<I", (len(chunk) // 8 - 1) << 4) or nothing or 8 + length > len(chunk):
        raise ValueError("a chunk of another shape")
    return chunk[8 : 8 + length]


def _stretches(offsets: Sequence[int], first: int, most: int) -> Iterator[tuple[int, int]]:
    if offsets[0] != first or offsets[-1] > most or any(begin > end for begin, end in pairwise(offsets)):
        raise ValueError("offsets that go back")
    return pairwise(offsets)
