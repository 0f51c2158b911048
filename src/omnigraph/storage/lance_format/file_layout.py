"""Where things stand in a data file of Lance (`protos/file2.proto`, "Lance file format" in its documentation).

pages of column 0 │ pages of column 1 │ … │ schema, rows │ column 0: where its page is │ column 1: … │ where each is │ footer
"""

from __future__ import annotations

import struct
from typing import Final

from omnigraph.storage.lance_format.protobuf import data, fields

FOOTER: Final = struct.Struct("<QQQIIHH4s")
"""Where the first column is described, where it says where each is, where the schema is; how many of both; version; mark."""

PLACE: Final = struct.Struct("<QQ")
MAGIC: Final = b"LANC"
KNOWN: Final = (2, 2)
"""The version whose files are understood here."""

SCHEMA, LENGTH = 1, 2
"""Fields of the description of a whole file."""

ENCODING, PAGE = 1, 2
"""Fields of the description of a column."""

PLAIN: Final = data(1, data(2, data(1, data(1, b"/lance.encodings.ColumnEncoding") + data(2, data(1, b"")))))
"""How the description of a column begins that is nothing but its pages."""

_FIELD, _FIELD_NAME, _FIELD_PARENT = 1, 2, 4
_TOP: Final = (1 << 64) - 1


def part(content: bytes, at: int) -> bytes:
    """What stands where the place at some offset says."""
    begin, size = PLACE.unpack_from(content, at)
    if begin + size > len(content):
        raise ValueError("a part beyond the end")
    return content[begin : begin + size]


def names_of_columns(about: bytes) -> list[str]:
    """Names of the columns that a file has, as far as none has columns of its own."""
    schema = next((value for at, _, value in fields(about) if at == SCHEMA), b"")
    found = list[str]()
    for at, _, field in fields(schema) if isinstance(schema, bytes) else ():
        if at == _FIELD and isinstance(field, bytes):
            said = {inner: value for inner, _, value in fields(field)}
            name = said.get(_FIELD_NAME, b"")
            if said.get(_FIELD_PARENT) != _TOP or not isinstance(name, bytes):
                return []
            found.append(name.decode())
    return found
