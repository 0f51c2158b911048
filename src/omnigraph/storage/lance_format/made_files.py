"""Data files of a few rows that are made without Lance.

Lance's file writer starts a pipeline of encoders to write one row: that takes a millisecond, and the row a few microseconds. A
file of a few rows is plain enough to be written down (`pages`):

    pages of column 0 │ pages of column 1 │ … │ schema, rows │ column 0: where its page is │ column 1: … │ where each is │ footer
    each buffer begins at a multiple of 64

What files with the same columns share is learnt from one that Lance wrote (`Template.of`): how it describes the schema, and that
it is a file of the kind that is known here. Columns of other types than the ones below, and files of other kinds, are left to
Lance. To Lance such a file is one of its own: most are equal to what it writes, byte by byte.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

import pyarrow as pa

from omnigraph.model.frozen import frozen
from omnigraph.storage.lance_format.file_layout import (
    ENCODING,
    FOOTER,
    KNOWN,
    LENGTH,
    MAGIC,
    PAGE,
    PLACE,
    PLAIN,
    SCHEMA,
    names_of_columns,
    part,
)
from omnigraph.storage.lance_format.pages import FILL, Kind, Page, TooLarge, Values, page
from omnigraph.storage.lance_format.protobuf import data, fields, number, varint

_ALIGNED: Final = 64

_NUMBERS: Final[Mapping[pa.DataType, Kind]] = {
    pa.bool_(): Kind(1),
    **{type_: Kind(type_.bit_width) for type_ in (pa.int32(), pa.int64(), pa.uint32(), pa.uint64(), pa.float32(), pa.float64())},
    **{type_: Kind(type_.bit_width) for type_ in (pa.date32(), pa.timestamp("ms", tz="UTC"), pa.duration("ms"))},
}
_TEXTS: Final[Mapping[pa.DataType, Kind]] = {
    pa.string(): Kind(32, is_text=True),
    pa.binary(): Kind(32, is_text=True),
    pa.large_string(): Kind(64, is_text=True),
    pa.large_binary(): Kind(64, is_text=True),
}

Column = tuple[Values, Sequence[bool] | None]
"""Values, and which of them are there: see `page`."""


@frozen(slots=False)
class FewRows:
    """Rows that were never in Arrow's form, and need not be."""

    schema: pa.Schema
    num_rows: int
    columns: tuple[Column, ...]
    table: Callable[[], pa.Table]
    """The same for Lance."""


@frozen(slots=False)
class Template:
    """What all files with the same columns share."""

    schema: bytes
    kinds: tuple[Kind, ...]

    @classmethod
    def of(cls, content: bytes, schema: pa.Schema) -> Template | None:
        """What a file of Lance has in common with others; None: it is none of those that are known here."""
        try:
            begin, places, globals_, described, columns, major, minor, magic = FOOTER.unpack(content[-FOOTER.size :])
            if magic != MAGIC or (major, minor) != KNOWN or described != 1 or columns != len(schema):
                return None
            kinds = tuple(_kind(field.type) for field in schema)
            about = part(content, globals_)
            whole = {at: said for at, said, _ in fields(about)}
            encodings = {_column_encoding(part(content, places + at * PLACE.size)) for at in range(columns)}
        except (struct.error, LookupError, ValueError):
            return None
        if encodings != {PLAIN} or whole.keys() != {SCHEMA, LENGTH} or names_of_columns(about) != schema.names or begin > places:
            return None
        return cls(whole[SCHEMA], kinds)

    def file_of(self, rows: pa.Table | FewRows) -> bytes | None:
        """The file with some rows; None: it is for Lance to write."""
        count = rows.num_rows
        try:
            if isinstance(rows, FewRows):
                pages = [page(kind, count, *column) for kind, column in zip(self.kinds, rows.columns, strict=True)]
            else:
                pages = [page(kind, count, *_column(kind, rows.column(at))) for at, kind in enumerate(self.kinds)]
        except (TooLarge, _Unusual):
            return None
        return self._written(count, pages)

    def _written(self, rows: int, pages: Sequence[Page]) -> bytes:
        parts, at = list[bytes](), 0
        described = list[bytes]()
        for one in pages:
            begins, sizes = b"", b""
            for buffer in one.buffers:
                begins, sizes = begins + varint(at), sizes + varint(len(buffer))
                fill = -len(buffer) % _ALIGNED
                parts += (buffer, FILL * fill)
                at += len(buffer) + fill
            places = data(1, begins) + data(2, sizes) if one.buffers else b""
            described.append(PLAIN + data(PAGE, places + one.description))
        whole = self.schema + number(LENGTH, rows)
        first = at + len(whole)
        places_at, places = first, b""
        for column in described:
            places += PLACE.pack(places_at, len(column))
            places_at += len(column)
        globals_at = places_at + len(places)
        footer = FOOTER.pack(first, places_at, globals_at, 1, len(pages), *KNOWN, MAGIC)
        return b"".join((*parts, whole, *described, places, PLACE.pack(at, len(whole)), footer))


class _Unusual(Exception):
    """Values that stand in Arrow as they seldom do."""


def _column_encoding(column: bytes) -> bytes:
    return b"".join(said for at, said, _ in fields(column) if at == ENCODING)


def _kind(type_: pa.DataType) -> Kind:
    """How values of a type are stored; `KeyError` for those that are for Lance to write."""
    if pa.types.is_fixed_size_list(type_) and type_.value_type == pa.float32():
        return Kind(32, dimension=type_.list_size)
    return _NUMBERS[type_] if type_ in _NUMBERS else _TEXTS[type_]


def _column(kind: Kind, column: pa.ChunkedArray) -> Column:
    array = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    rows, first, buffers = len(array), array.offset, array.buffers()
    valid = None
    if array.null_count:
        marks = memoryview(buffers[0])
        valid = [bool(marks[at >> 3] >> (at & 7) & 1) for at in range(first, first + rows)]
    if kind.is_text:
        return _texts(kind, rows, first, buffers, valid), valid
    if kind.bits == 1:
        bits = int.from_bytes(buffers[1][first >> 3 : (first + rows + 7) >> 3], "little") >> (first & 7)
        return (bits & (1 << rows) - 1).to_bytes((rows + 7) >> 3, "little"), valid
    if kind.dimension:
        items = array.values
        if items.null_count:
            raise _Unusual
        first, buffers = items.offset + first * kind.dimension, items.buffers()
        rows *= kind.dimension
    width = kind.bits // 8
    return bytes(buffers[1][first * width : (first + rows) * width]), valid


def _texts(kind: Kind, rows: int, first: int, buffers: Sequence[Any], valid: Sequence[bool] | None) -> list[bytes]:
    unsigned, width = ("I", 4) if kind.bits == 32 else ("Q", 8)
    offsets = struct.unpack_from(f"<{rows + 1}{unsigned}", buffers[1], first * width)
    content = memoryview(buffers[2]) if buffers[2] is not None else memoryview(b"")
    texts = [bytes(content[begin:end]) for begin, end in pairwise(offsets)]
    return texts if valid is None else [text if there else b"" for text, there in zip(texts, valid, strict=True)]
