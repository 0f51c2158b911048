"""Rows of a manifest: their kind, key and number, and the record that each is.

What is said of a row beside its body belongs to the record, so one in another row's place is known to be damaged.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, TypeVar

import pyarrow as pa

from omnigraph.errors import DamagedRecord
from omnigraph.storage.commits import format as formats
from omnigraph.storage.commits.lineage import DamagedCommit
from omnigraph.storage.files.records import decoded, encoded
from omnigraph.storage.lance_format.filters import Comparison, Filter, compare, equal
from omnigraph.storage.lance_format.pages import Kind
from omnigraph.storage.lance_format.read_files import columns_of

if TYPE_CHECKING:
    from omnigraph.storage.lance_format.made_files import FewRows

SCHEMA = pa.schema(
    [
        pa.field("kind", pa.string(), nullable=False),
        pa.field("key", pa.string(), nullable=False),
        pa.field("seq", pa.int64(), nullable=False),
        pa.field("body", pa.large_binary(), nullable=False),
    ],
    metadata={formats.STAMP_KEY: str(formats.CURRENT)},
)

Body = TypeVar("Body")


Entry = tuple[str, str, int, object]
"""Kind, key, number, body (or the bytes it comes to)."""


def rows_of(entries: Iterable[Entry]) -> FewRows:
    """Rows as a manifest stores them."""
    kinds, keys, numbers, bodies = zip(*entries, strict=True)
    named = zip(kinds, keys, numbers, bodies, strict=True)
    records = [b if isinstance(b, bytes) else encoded(b, belongs_to(kind, key, number)) for kind, key, number, b in named]

    def table() -> pa.Table:
        columns = zip((kinds, keys, numbers, records), SCHEMA, strict=True)
        return pa.Table.from_arrays([pa.array(column, field.type) for column, field in columns], schema=SCHEMA)

    texts = [[text.encode() for text in column] for column in (kinds, keys)]
    columns = (*texts, struct.pack(f"<{len(numbers)}q", *numbers), records)
    from omnigraph.storage.lance_format.made_files import FewRows  # whoever only reads makes no rows

    return FewRows(SCHEMA, len(records), tuple((column, None) for column in columns), table)


def numbered(kind: str, first: int, last: int) -> Filter:
    """Rows of a kind, by their numbers."""
    return equal("kind", kind) & compare("seq", Comparison.AT_LEAST, first) & compare("seq", Comparison.AT_MOST, last)


def belongs_to(kind: str, key: str, seq: int) -> str:
    """What is said of a row beside its body."""
    return f"{kind} {key} {seq}"


StoredEntry = tuple[str, str, int, bytes]
"""Kind, key, number, and the bytes of the body."""


_KINDS: Final = (Kind(32, is_text=True), Kind(32, is_text=True), Kind(64), Kind(64, is_text=True))
"""How the columns of `SCHEMA` are stored."""


def entries_in(content: bytes, rows: int) -> list[StoredEntry] | None:
    """Rows of a file as they are stored; None: it is for Lance to read."""
    columns = columns_of(content, SCHEMA.names, _KINDS, rows)
    if columns is None:
        return None
    kinds, keys, numbers, bodies = columns
    assert isinstance(numbers, bytes)
    try:
        texts = [[bytes(text).decode() for text in column] for column in (kinds, keys)]
    except UnicodeDecodeError:
        return None
    return list(zip(*texts, struct.unpack(f"<{rows}q", numbers), bodies, strict=True))


def entries_of(rows: pa.Table) -> list[StoredEntry]:
    """Rows as they are stored."""
    return list(zip(*(rows[name].to_pylist() for name in SCHEMA.names), strict=True))


def read_rows(rows: pa.Table, body: type[Body], location: str) -> list[tuple[bytes, Body]]:
    """Rows as they are stored, and what they say."""
    return read_entries(entries_of(rows), body, location)


def read_entries(entries: Iterable[StoredEntry], body: type[Body], location: str) -> list[tuple[bytes, Body]]:
    """The same of some rows. A commit that cannot be read is one whose contents are not known."""
    found: list[tuple[bytes, Body]] = []
    for kind, key, seq, raw in entries:
        try:
            found.append((raw, decoded(raw, body, belongs_to(kind, key, seq), f"the {kind} {key} of {location}")))
        except DamagedRecord as error:
            if not issubclass(DamagedCommit, body):
                raise
            found.append((raw, DamagedCommit(key, seq, error.message)))  # type: ignore[arg-type]
    return found
