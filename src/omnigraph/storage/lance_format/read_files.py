"""Data files of a few rows, read without Lance: the opposite of `made_files`.

To have Lance read a file of seventy rows takes a millisecond, nearly all of which goes to setting out. What a commit of another
process wrote is such a file, and whoever writes next reads it first. A file says in its footer where its columns are described,
and each column where its page is and how values stand in it (`pages`). Only what is exactly as it is made here is read; anything
else (a null, another encoding, a part that is not where it should be) is left to Lance, which reads it or says what is wrong.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import lru_cache

from omnigraph.storage.lance_format.file_layout import FOOTER, KNOWN, LENGTH, MAGIC, PAGE, PLACE, PLAIN, names_of_columns, part
from omnigraph.storage.lance_format.pages import Kind, Values, values_of
from omnigraph.storage.lance_format.protobuf import fields, number, varints

_BEGINS, _SIZES = 1, 2


def columns_of(content: bytes, names: Sequence[str], kinds: Sequence[Kind], rows: int) -> list[Values] | None:
    """The values of columns without nulls, which have these names and kinds; None: it is for Lance to read."""
    try:
        _, places, globals_, described, columns, major, minor, magic = FOOTER.unpack(content[-FOOTER.size :])
        if magic != MAGIC or (major, minor) != KNOWN or described != 1 or columns != len(kinds):
            return None
        schema, length = part(content, globals_), number(LENGTH, rows)
        if not schema.endswith(length) or _names(schema[: -len(length)]) != tuple(names):
            return None
        found = list[Values]()
        for at, kind in enumerate(kinds):
            values = _values(content, part(content, places + at * PLACE.size), kind, rows)
            if values is None:
                return None
            found.append(values)
    except (struct.error, LookupError, ValueError, ArithmeticError):
        return None
    return found


@lru_cache(maxsize=256)
def _names(schema: bytes) -> tuple[str, ...]:
    return tuple(names_of_columns(schema))


def _values(content: bytes, column: bytes, kind: Kind, rows: int) -> Values | None:
    if not column.startswith(PLAIN):
        return None
    (page,) = fields(column[len(PLAIN) :])
    if page[0] != PAGE or not isinstance(page[2], bytes):
        return None
    begins, sizes, description = list[int](), list[int](), b""
    for field, said, value in fields(page[2]):
        if field == _BEGINS and isinstance(value, bytes):
            begins = list(varints(value))
        elif field == _SIZES and isinstance(value, bytes):
            sizes = list(varints(value))
        else:
            description += said
    buffers = [content[begin : begin + size] for begin, size in zip(begins, sizes, strict=True)]
    if any(len(buffer) != size for buffer, size in zip(buffers, sizes, strict=True)):
        return None
    return values_of(kind, rows, buffers, description)
