"""The column metadata of a Lance file, verified before Lance scans the file for the first time.

Lance answers a damaged file with an error. A scan hands its errors to Arrow as C strings, and there is no C string for a text
with a zero byte in it: Arrow then ends the process. Such a text comes from a damaged file that Lance quotes. What it quotes are
the names of encodings, one for each page of each column:

    … data …  │ column 0: pages, each with "/lance.encodings21.PageLayout" │ column 1: … │ where each column is described │ footer

So those are read here first, and a file in which one of them holds a zero is refused with an error that can be caught. Before
values are read one after the other, it is also looked at where they are (`page_indexes`): a scan that follows wrong numbers may
not end. Everything else is left to Lance. A few dozen bytes per page are read, once per file and session, beside the milliseconds
that a first scan takes. On an object store nothing is looked at: it would be two more requests per file, and object stores keep
checksums.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from omnigraph.errors import StorageError
from omnigraph.hints import Action, Hint
from omnigraph.storage.files.place import Place
from omnigraph.storage.lance_format.page_indexes import page_is_sound
from omnigraph.storage.lance_format.protobuf import fields

_FOOTER: Final = struct.Struct("<QQQIIHH4s")
_MAGIC: Final = b"LANC"
_PLACE: Final = struct.Struct("<QQ")
_DIRECT, _ENCODED, _NAME = 2, 1, 1
_OF_COLUMN, _PAGES, _OF_PAGE = 1, 2, 4

MOST_REMEMBERED: Final = 1 << 14
"""Files that are known to be sound; beyond that they are looked at again."""


class Sound:
    """Files that can be scanned: looked at once each."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._known: dict[str, bool] = {}
        """Files that were looked at, and whether their values were, too."""

    def require(self, paths: Iterable[str], *, values: bool = False) -> None:
        """Refuse files that would take the process with them; `values`: if all their values are read."""
        if not self._place.is_local:
            return
        for path in paths:
            if self._known.get(path, False) or (not values and path in self._known):
                continue
            if not _is_sound(self._place.child(path), values):
                raise StorageError(
                    f"cannot read {path}: a file is damaged: what it says of its values is not what was written",
                    hint=Hint(Action("verify"), " lists what is damaged. Restore it from a copy."),
                    retryable=False,
                )
            if len(self._known) >= MOST_REMEMBERED:
                self._known.clear()
            self._known[path] = values


def _is_sound(file: str, values: bool) -> bool:
    """Whether names of encodings hold no zero, and values are where the file says. What cannot be read is for Lance to tell."""
    try:
        descriptor = os.open(file, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
    except OSError:  # Lance says better what is missing
        return True
    try:
        size = os.fstat(descriptor).st_size
        begin, places, _, _, columns, _, _, magic = _FOOTER.unpack(_pread(descriptor, _FOOTER.size, size - _FOOTER.size))
        if magic != _MAGIC or not begin <= places <= size or places + columns * _PLACE.size > size:
            return True
        found = _pread(descriptor, places + columns * _PLACE.size - begin, begin)
        for at, length in _PLACE.iter_unpack(found[places - begin :]):
            inside = begin <= at and at + length <= places
            column = found[at - begin : at - begin + length] if inside else _pread(descriptor, length, at)
            if b"\0" in _names(column):
                return False
            pages = (page for number, _, page in fields(column) if number == _PAGES and isinstance(page, bytes)) if values else ()
            if not all(page_is_sound(descriptor, page) for page in pages):
                return False
        return True
    except (OSError, ValueError, struct.error, IndexError, KeyError, OverflowError, MemoryError):
        return True  # not even a message: Lance says so, and quotes nothing
    finally:
        os.close(descriptor)


def _pread(descriptor: int, length: int, at: int) -> bytes:
    return os.pread(descriptor, length, at)


def _names(column: bytes) -> bytes:
    """The names of the encodings of a column and its pages, one after another."""
    found = []
    for number, _, value in fields(column):
        if not isinstance(value, bytes):
            continue
        if number == _OF_COLUMN:
            found.append(_name(value))
        elif number == _PAGES:
            found += [_name(v) for n, _, v in fields(value) if n == _OF_PAGE and isinstance(v, bytes)]
    return b"".join(found)


@lru_cache(maxsize=1_024)
def _name(encoding: bytes) -> bytes:
    """Of an encoding that stands where it is described: its message is named, then follows."""
    inner = encoding
    for wanted in (_DIRECT, _ENCODED, _NAME):
        inner = next((v for n, _, v in fields(inner) if n == wanted and isinstance(v, bytes)), b"")
    return inner
