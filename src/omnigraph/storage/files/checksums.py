"""Checksums of the files a commit rests on.

Lance's files say how long their parts are, not what was in them: a bit that turned over reads as another value. So whoever writes
files of a table takes their checksums while they are still in memory, and the commit that publishes them keeps them, per table
(`TableChange.files`). A file never changes, so one checksum holds for as long as the file does, whichever commits share it.

    commit 01J8…  nodes/5-7  data/0110….lance 1842 bytes 7b3f…   _versions/d13849….manifest 913 bytes 08c1…

`verify` compares sizes, and with `content` the checksums. A read does not look: it would have to read whole files.

On an object store nothing is recorded: Lance puts the files there itself, and to read them back would be one more request per
file. Object stores keep checksums of their own. Graphs written before have none either; both are told, not blamed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Final

import msgspec
from xxhash import xxh3_128

from omnigraph.storage.files.place import Place

_BLOCK: Final = 1 << 20


class StoredFile(msgspec.Struct, frozen=True, array_like=True):
    """A file as it was written."""

    path: str
    """Below the location of its table."""
    size: int
    digest: str
    """XXH3, 128 bits, as hexadecimal digits."""


def stored_files(place: Place, location: str, paths: Iterable[str]) -> tuple[StoredFile, ...]:
    """What some files of a table hold, given by their paths below the place; nothing on an object store."""
    if not place.is_local:
        return ()
    return tuple(StoredFile(path[len(location) + 1 :], *checksum(place.child(path))) for path in paths)


def stored_file(location: str, path: str, content: bytes) -> StoredFile:
    """The same of a file that was just written."""
    return StoredFile(path[len(location) + 1 :], *checksum_of(content))


def checksum(file: str) -> tuple[int, str]:
    """The size of a file on this machine, and its checksum."""
    descriptor = os.open(file, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
    try:
        block = os.read(descriptor, _BLOCK)
        size, digest = len(block), xxh3_128(block)
        while block:
            block = os.read(descriptor, _BLOCK)
            size += len(block)
            digest.update(block)
        return size, digest.hexdigest()
    finally:
        os.close(descriptor)


def checksum_of(content: bytes) -> tuple[int, str]:
    """The same of what was read already."""
    return len(content), xxh3_128(content).hexdigest()
