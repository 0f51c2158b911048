"""Versions of a table that are made of others without Lance.

A small change adds a few rows and marks a few as deleted (`small_changes`). Its version says what the one before said, but for
some fragments; Lance takes a transaction, a listing and several files to say so, which is most of what a small commit would cost.
The file of a version is its sections (indexes, the transaction that made it) followed by one protobuf message, so the message is
copied with other fragments, under another number, and without the name of a transaction that was not its own. To Lance it is a
version like any other: it can be read, and committed on.

    version 0x9f3…    sections │ fragments 0 … 6            │ schema, format, flags
    an update of it   sections │ fragments 0 … 6, 7         │ schema, format, flags      fragment 3 has another deletion file
                      └ as they are ┘

Guard tests hold this Lance to that layout (`protos/table.proto`, "Table format" in its documentation). A version that says what
we do not know (another format, another field, another feature) is `Unfamiliar`: Lance then makes every version of the table.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import Final

from lance.fragment import DataFile, FragmentMetadata
from pyroaring import BitMap

from omnigraph.model.frozen import frozen
from omnigraph.model.randomness import random_bytes
from omnigraph.storage.files.dataset_folders import DELETIONS
from omnigraph.storage.lance_format.file_names import DETACHED
from omnigraph.storage.lance_format.protobuf import data, fields, number, text, varint

_FOOTER: Final = struct.Struct("<QHH4s")
"""Where the message is, the version of the format, and Lance's mark."""

_SIZE: Final = struct.Struct("<I")

_COLUMN, _FRAGMENT, _VERSION, _INDEXES, _TIME, _READERS, _WRITERS = 1, 2, 3, 6, 7, 9, 10
_LAST_FRAGMENT, _TRANSACTION_FILE, _TRANSACTION_SECTION = 11, 12, 23
_CHANGED: Final = frozenset(
    {_FRAGMENT, _VERSION, _TIME, _READERS, _WRITERS, _LAST_FRAGMENT, _TRANSACTION_FILE, _TRANSACTION_SECTION}
)
"""Fields of the message that say something else in another version."""

_UNDERSTOOD: Final = frozenset({1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 16, 23})
"""Fields that a message may have. Among the others are those of stable row ids and of tables over several places."""

_FORMAT: Final = (0, 2, b"LANC")
"""How the file of such a version ends."""

_HAS_DELETIONS: Final = 1
"""What readers and writers have to understand; of all features we know only this one."""

_BLOBS: Final = (b"lance-encoding:blob", b"lance.blob")
"""What columns of blobs have in their description, which Lance changes as it commits."""

_NUMBER, _FILE, _DELETIONS, _ROWS = 1, 2, 3, 4
_PATH, _FIELDS, _COLUMNS, _MAJOR, _MINOR, _BYTES = 1, 2, 3, 4, 5, 6
_DELETIONS_KIND, _DELETIONS_BASE, _DELETIONS_ID, _DELETIONS_COUNT, _DELETIONS_ELSEWHERE = 1, 2, 3, 4, 7
_BITMAP: Final = 1

_INDEX, _INDEX_NAME, _INDEX_FRAGMENTS = 1, 3, 5

_READ_VERSION, _TRANSACTION_ID, _UPDATE = 1, 2, 108
_REMOVED, _NEW, _TOUCHED = 1, 3, 4


class Unfamiliar(Exception):
    """A version, or a fragment, that says what is not known here. It is no error: Lance knows."""


@frozen(slots=False)
class Deleted:
    """Rows of a fragment that are marked as deleted, and the file that says so."""

    fragment: int
    base: int
    """Version the marks were made on: a part of the name of their file."""
    rows: BitMap

    @cached_property
    def id(self) -> int:
        return _random_pin()

    @cached_property
    def file(self) -> str:
        """The name of the file with the marks below its dataset."""
        return f"{DELETIONS}/{self.fragment}-{self.base}-{self.id}.bin"

    def content(self) -> bytes:
        """What is in it: a Roaring bitmap, see `deletions`."""
        return bytes(self.rows.serialize())

    def message(self) -> bytes:
        """How a fragment refers to it."""
        said = number(_DELETIONS_KIND, _BITMAP) + number(_DELETIONS_BASE, self.base) + number(_DELETIONS_ID, self.id)
        return data(_DELETIONS, said + number(_DELETIONS_COUNT, len(self.rows)))


@frozen(slots=False)
class FragmentEntry:
    """A fragment as a version describes it."""

    body: bytes

    @cached_property
    def _said(self) -> dict[int, int | bytes]:
        return {field: value for field, _, value in fields(self.body)}

    @cached_property
    def number(self) -> int:
        field, _, value = next(fields(self.body))  # it comes first, if it is not zero
        return _whole(value if field == _NUMBER else self._said.get(_NUMBER, 0))

    @cached_property
    def field(self) -> bytes:
        """As it stands in a version."""
        return data(_FRAGMENT, self.body)

    @cached_property
    def rows(self) -> int:
        """Rows that were written."""
        return _whole(self._said.get(_ROWS, 0))

    @cached_property
    def live(self) -> int:
        """Rows that are not marked as deleted."""
        return self.rows - (0 if self.deletions is None else self.deletions[1])

    @cached_property
    def files(self) -> tuple[str, ...]:
        """Names of its data files."""
        return tuple(
            next(bytes_.decode() for inner, _, bytes_ in fields(value) if inner == _PATH and isinstance(bytes_, bytes))
            for field, _, value in fields(self.body)
            if field == _FILE and isinstance(value, bytes)
        )

    @cached_property
    def deletions(self) -> tuple[str, int] | None:
        """The name of its deletion file below the dataset, and how many rows that marks."""
        found = self._said.get(_DELETIONS)
        if not isinstance(found, bytes):
            return None
        said = {field: value for field, _, value in fields(found)}
        if _DELETIONS_ELSEWHERE in said:
            raise Unfamiliar(f"fragment {self.number} has its deletions elsewhere")
        suffix = "bin" if said.get(_DELETIONS_KIND, 0) == _BITMAP else "arrow"
        base, id_ = (_whole(said.get(field, 0)) for field in (_DELETIONS_BASE, _DELETIONS_ID))
        name = f"{DELETIONS}/{self.number}-{base}-{id_}.{suffix}"
        return name, _whole(said.get(_DELETIONS_COUNT, 0))

    @cached_property
    def has_deletions(self) -> bool:
        """Whether some rows are marked."""
        return self.deletions is not None

    @cached_property
    def _unmarked(self) -> bytes:
        return b"".join(said for field, said, _ in fields(self.body) if field != _DELETIONS)

    def marked(self, deleted: Deleted) -> FragmentEntry:
        """The same rows, of which others are marked."""
        made = FragmentEntry(self._unmarked + deleted.message())
        known = {"files": self.files, "rows": self.rows, "_unmarked": self._unmarked}
        made.__dict__.update(known, deletions=(deleted.file, len(deleted.rows)))  # it need not be read to know
        return made


@frozen(slots=False)
class Version:
    """The file of a version, taken apart."""

    pin: int
    sections: bytes
    rest: bytes
    """Fields that all versions of a kind share, as they stand there."""
    entries: Mapping[int, FragmentEntry]
    """Fragments by number, in row order."""
    features: tuple[int, int]
    last_fragment: int
    """The highest number that a fragment ever had; -1: there was none."""
    footer: bytes
    number: int = 0
    """Which version the file says it is."""
    has_transaction: bool = False
    """Whether its sections begin with the transaction that made it."""

    @classmethod
    def read(cls, pin: int, content: bytes) -> Version:
        """Take the file of a version apart; `Unfamiliar` if it says what we do not know, or nothing that makes sense."""
        try:
            return cls._read(pin, content)
        except (LookupError, struct.error, ValueError, TypeError) as error:
            raise Unfamiliar(f"a version that cannot be taken apart: {type(error).__name__}") from error

    @classmethod
    def _read(cls, pin: int, content: bytes) -> Version:
        start, *format_ = _FOOTER.unpack(content[-_FOOTER.size :])
        if tuple(format_) != _FORMAT:
            raise Unfamiliar(f"a version of another format: {format_}")
        (size,) = _SIZE.unpack_from(content, start)
        said = list(fields(content[start + _SIZE.size : start + _SIZE.size + size]))
        unknown = {field for field, _, _ in said} - _UNDERSTOOD
        flags = {field: value for field, _, value in said if field in (_READERS, _WRITERS) and isinstance(value, int)}
        features = (flags.get(_READERS, 0), flags.get(_WRITERS, 0))
        if unknown or set(features) - {0, _HAS_DELETIONS}:
            raise Unfamiliar(f"a version with fields {sorted(unknown)} and features {features}")
        if any(mark in said_ for field, said_, _ in said if field == _COLUMN for mark in _BLOBS):
            raise Unfamiliar("a version with blobs")
        entries = [_taken_apart(body) for field, _, body in said if field == _FRAGMENT and isinstance(body, bytes)]
        last = max((_whole(value) for field, _, value in said if field == _LAST_FRAGMENT), default=-1)
        rest = b"".join(text for field, text, _ in said if field not in _CHANGED)
        numbered = {entry.number: entry for entry in entries}
        number_ = next((_whole(value) for field, _, value in said if field == _VERSION), 0)
        return cls(pin, content[:start], rest, numbered, features, last, content[-_FOOTER.size :], number_)

    def changed(self, entries: Mapping[int, FragmentEntry], last_fragment: int) -> Version:
        """A version with other fragments, under a number that nobody has."""
        readers, writers = self.features
        marked = bool(readers & writers & _HAS_DELETIONS) or any(entry.has_deletions for entry in entries.values())
        flag = _HAS_DELETIONS if marked else 0
        pin, features = DETACHED | _random_pin(), (readers | flag, writers | flag)
        made = replace(self, pin=pin, number=pin, entries=entries, features=features, last_fragment=last_fragment)
        for name in ("columns", "indexed"):
            if name in self.__dict__:  # what it follows from is the same
                made.__dict__[name] = self.__dict__[name]
        return made

    def followed(self, removed: Sequence[int], added: Sequence[FragmentMetadata], transaction: str) -> Version:
        """The version after this one on a dataset's own lineage, with the transaction that makes it, under an id of its own.

        Some fragments go, those that are there no longer too, and others come, which have the numbers after the last.
        """
        new = [_described(fragment, 0) for fragment in added]
        numbered = {at: FragmentEntry(_numbered(at, body)) for at, body in enumerate(new, self.last_fragment + 1)}
        entries = {at: entry for at, entry in self.entries.items() if at not in removed} | numbered
        columns = sorted({column for fragment in added for file in fragment.files for column in file.fields})
        update = data(_REMOVED, _packed(removed)) + b"".join(data(_NEW, body) for body in new)
        update += data(_TOUCHED, _packed(columns))
        said = number(_READ_VERSION, self.pin) + text(_TRANSACTION_ID, transaction) + data(_UPDATE, update)
        sections = _SIZE.pack(len(said)) + said
        footer, last = _FOOTER.pack(len(sections), *_FORMAT), max(self.last_fragment, *entries)
        at = self.pin + 1
        return replace(
            self, pin=at, number=at, sections=sections, entries=entries, last_fragment=last, footer=footer, has_transaction=True
        )

    def content(self) -> bytes:
        """The file."""
        now = time.time_ns()
        whole = b"".join(
            (
                *(entry.field for entry in self.entries.values()),
                number(_VERSION, self.pin),
                data(_TIME, number(1, now // 1_000_000_000) + number(2, now % 1_000_000_000)),
                number(_READERS, self.features[0]),
                number(_WRITERS, self.features[1]),
                number(_LAST_FRAGMENT, self.last_fragment) if self.last_fragment >= 0 else b"",
                number(_TRANSACTION_SECTION, 0) if self.has_transaction else b"",
                self.rest,
            )
        )
        return self.sections + _SIZE.pack(len(whole)) + whole + self.footer

    @cached_property
    def columns(self) -> bytes:
        """What the columns are: equal for versions with the same ones."""
        return b"".join(said for field, said, _ in fields(self.rest) if field == _COLUMN)

    @cached_property
    def indexed(self) -> Mapping[str, frozenset[int]]:
        """Numbers of fragments that each index was made of, whether they are still there or not."""
        at = next((value for field, _, value in fields(self.rest) if field == _INDEXES and isinstance(value, int)), None)
        found: dict[str, frozenset[int]] = {}
        for segment in _segments(self.sections, at) if at is not None else ():
            said = {field: value for field, _, value in segment}
            name, covers = said.get(_INDEX_NAME), said.get(_INDEX_FRAGMENTS)
            if isinstance(name, bytes):
                some = frozenset(BitMap.deserialize(covers)) if isinstance(covers, bytes) and covers else frozenset[int]()
                found[name.decode()] = found.get(name.decode(), frozenset()) | some
        return found


@lru_cache(maxsize=4_096)
def _taken_apart(body: bytes) -> FragmentEntry:
    """A fragment, if it can be understood. Most fragments of a version are those of the one before it, byte by byte."""
    entry = FragmentEntry(body)
    _ = entry.number, entry.files, entry.deletions, entry.rows
    return entry


def described(fragment: FragmentMetadata, as_number: int) -> FragmentEntry:
    """A new fragment as a version describes it."""
    return FragmentEntry(_described(fragment, as_number))


def _described(fragment: FragmentMetadata, as_number: int) -> bytes:
    if fragment.deletion_file is not None or fragment.row_id_meta is not None or fragment.overlays:
        raise Unfamiliar("a fragment with more to say than its files")
    body = [number(_NUMBER, as_number), *(data(_FILE, _file(file)) for file in fragment.files)]
    return b"".join((*body, number(_ROWS, fragment.physical_rows)))


def _numbered(as_number: int, first: bytes) -> bytes:
    """What is said of the fragment with the number 0, of another one."""
    return number(_NUMBER, as_number) + first[len(number(_NUMBER, 0)) :]


def _file(file: DataFile) -> bytes:
    if file.base_id is not None or not file.file_major_version or len(file.fields) != len(file.column_indices):
        raise Unfamiliar("a data file of another place, or of another kind")
    layout = _layout(tuple(file.fields), tuple(file.column_indices), file.file_major_version, file.file_minor_version)
    return text(_PATH, file.path) + layout + number(_BYTES, file.file_size_bytes or 0)


@lru_cache(maxsize=1_024)
def _layout(columns: tuple[int, ...], places: tuple[int, ...], major: int, minor: int) -> bytes:
    return data(_FIELDS, _packed(columns)) + data(_COLUMNS, _packed(places)) + number(_MAJOR, major) + number(_MINOR, minor)


def _packed(numbers: Sequence[int]) -> bytes:
    """Numbers one after the other; a negative one as protobuf has it, in 64 bits."""
    return b"".join(varint(n & 0xFFFF_FFFF_FFFF_FFFF) for n in numbers)


def _segments(sections: bytes, at: int) -> Iterator[list[tuple[int, bytes, int | bytes]]]:
    (size,) = _SIZE.unpack_from(sections, at)
    for field, _, value in fields(sections[at + _SIZE.size : at + _SIZE.size + size]):
        if field == _INDEX and isinstance(value, bytes):
            yield list(fields(value))


def _whole(value: int | bytes) -> int:
    if not isinstance(value, int):
        raise Unfamiliar("a number that is none")
    return value


def _random_pin() -> int:
    """63 bits that nobody else has."""
    return int.from_bytes(random_bytes(8)) >> 1
