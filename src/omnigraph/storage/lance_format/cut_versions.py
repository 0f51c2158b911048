"""Versions of a table that hold less of an append than another one, made without Lance.

A group appends the rows of many writers to one table, and each of its commits pins a version of its own (`group_appends`). Lance
makes one of them, the last. The others say the same, but for what was appended: some of it is missing, and some rows of the rest
are marked as deleted. So they are cut from it. The file of a version is its sections (indexes, the transaction that made it)
followed by one protobuf message; that message is copied with other fragments, under another number, and without the name of a
transaction that was not its own. To Lance it is a version like any other: it can be read, and committed on.

Guard tests hold this Lance to that layout (`protos/table.proto`, "Table format" in its documentation). A version that says what
we do not know (another format, another field, another feature) is not cut: the publisher then lets Lance make every version.
"""

from __future__ import annotations

import secrets
import struct
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final

from omnigraph.errors import StorageError
from omnigraph.model.frozen import frozen
from omnigraph.storage.files.dataset_folders import DELETIONS
from omnigraph.storage.lance_format.file_names import DETACHED
from omnigraph.storage.lance_format.protobuf import data, fields, number

_FOOTER: Final = struct.Struct("<QHH4s")
"""Where the message is, the version of the format, and Lance's mark."""

_SIZE: Final = struct.Struct("<I")

_FRAGMENT, _VERSION, _READERS, _WRITERS, _TRANSACTION_FILE, _TRANSACTION_SECTION = 2, 3, 9, 10, 12, 23
_CHANGED: Final = frozenset({_FRAGMENT, _VERSION, _READERS, _WRITERS, _TRANSACTION_FILE, _TRANSACTION_SECTION})
"""Fields of the message that say something else in a cut version."""

_UNDERSTOOD: Final = frozenset({1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 16, 23})
"""Fields that a message may have. Among the others are those of stable row ids and of tables over several places."""

_FORMAT: Final = (0, 2, b"LANC")
"""How the file of such a version ends."""

_HAS_DELETIONS: Final = 1
"""What readers and writers have to understand; of all features we know only this one."""

_FRAGMENT_NUMBER, _FRAGMENT_DELETIONS = 1, 3
_DELETIONS_KIND, _DELETIONS_BASE, _DELETIONS_ID, _DELETIONS_COUNT = 1, 2, 3, 4
_BITMAP: Final = 1

_RUNS: Final = 12347
"""Cookie of a Roaring bitmap with runs, and one container."""

_ONE_RUN: Final = struct.Struct("<IBHHHHH")
"""Cookie, which containers are runs, key and size of the container, number of runs, first number and further ones."""


@frozen(slots=False)
class Marks:
    """Rows at the end of a fragment that are marked as deleted."""

    fragment: int
    base: int
    """Version the marks were made on: a part of the name of their file."""
    first: int
    rows: int
    """Rows in the fragment, those before the first included."""

    @cached_property
    def id(self) -> int:
        return secrets.randbits(63)

    @property
    def file(self) -> str:
        """The name of the file with the marks below its dataset."""
        return f"{DELETIONS}/{self.fragment}-{self.base}-{self.id}.bin"

    def content(self) -> bytes:
        """What is in it: a Roaring bitmap, see `deletions`, of one container with one run."""
        marked = self.rows - self.first
        return _ONE_RUN.pack(_RUNS, 1, 0, marked - 1, 1, self.first, marked - 1)

    def message(self) -> bytes:
        """How a fragment refers to it."""
        said = number(_DELETIONS_KIND, _BITMAP) + number(_DELETIONS_BASE, self.base) + number(_DELETIONS_ID, self.id)
        return data(_FRAGMENT_DELETIONS, said + number(_DELETIONS_COUNT, self.rows - self.first))


Cut = Mapping[int, Marks | None]
"""Which of the appended fragments a version has, and what is marked in them."""


def cut(version: bytes, appended: frozenset[int], cuts: Sequence[Cut]) -> Iterator[tuple[int, bytes]]:
    """Versions with some of the appended fragments, and all others: their pins and files."""
    start, *format_ = _FOOTER.unpack(version[-_FOOTER.size :])
    if tuple(format_) != _FORMAT:
        raise StorageError(f"a version of another format: {format_}")
    (size,) = _SIZE.unpack_from(version, start)
    said = list(fields(version[start + _SIZE.size : start + _SIZE.size + size]))
    unknown = {field for field, _, _ in said} - _UNDERSTOOD
    features = [value for field, _, value in said if field in (_READERS, _WRITERS) and value not in (0, _HAS_DELETIONS)]
    if unknown or features:
        raise StorageError(f"a version with fields {sorted(unknown)} and features {features}")
    fragments = [(_fragment_number(body), body) for field, _, body in said if field == _FRAGMENT and isinstance(body, bytes)]
    flags = {field: value for field, _, value in said if field in (_READERS, _WRITERS) and isinstance(value, int)}
    rest = b"".join(text for field, text, _ in said if field not in _CHANGED)
    there = b"".join(data(_FRAGMENT, body) for found, body in fragments if found not in appended)
    for chosen in cuts:
        pin = DETACHED | secrets.randbits(63)
        marked = any(chosen.values())
        message = [there, number(_VERSION, pin)]
        for found, body in fragments:
            if found in chosen:
                marks = chosen[found]
                message.append(data(_FRAGMENT, body if marks is None else body + marks.message()))
        for field in (_READERS, _WRITERS):
            message.append(number(field, flags.get(field, 0) | (_HAS_DELETIONS if marked else 0)))
        whole = b"".join((*message, rest))
        yield pin, version[:start] + _SIZE.pack(len(whole)) + whole + version[-_FOOTER.size :]


def _fragment_number(fragment: bytes) -> int:
    return next((value for field, _, value in fields(fragment) if field == _FRAGMENT_NUMBER and isinstance(value, int)), 0)
