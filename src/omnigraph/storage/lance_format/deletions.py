"""Which rows of a piece are deleted, read from its deletion file and not from the rows.

Lance writes the offsets of deleted rows either as an Arrow file (few of them) or as a Roaring bitmap in its portable form
(many). Both formats are published, and a guard test holds this Lance to them; scanning a piece of a million rows for the ones
that are still there takes sixty times as long.

    Roaring bitmap:  cookie │ keys and sizes │ offsets │ containers
    a container is   sorted 16-bit numbers (at most 4096) │ 65536 bits │ runs of (first, length - 1)
"""

from __future__ import annotations

import struct

import numpy as np
import pyarrow as pa

from omnigraph.errors import StorageError
from omnigraph.storage.files.place import Place

_NO_RUNS = 12346
_RUNS = 12347
_LARGEST_ARRAY = 4096
_OFFSETS_FROM = 4
"""With runs, containers have an offset table only from this many on."""

Positions = np.ndarray[tuple[int], np.dtype[np.int64]]


def read_deletions(place: Place, path: str, count: int) -> Positions:
    """The numbers in a deletion file, ascending. There must be so many."""
    content = place.get(path)
    try:
        found = _from_arrow(content) if path.endswith(".arrow") else from_roaring(content)
    except (pa.ArrowInvalid, struct.error, ValueError, IndexError) as error:
        raise StorageError(f"the deletion file {path} cannot be read: {error}") from error
    if len(found) != count:
        raise StorageError(f"the deletion file {path} names {len(found)} rows, not {count}")
    return found


def _from_arrow(content: bytes) -> Positions:
    column = pa.ipc.open_file(pa.py_buffer(content)).read_all().column(0)
    return np.sort(column.to_numpy().astype(np.int64))


def from_roaring(content: bytes) -> Positions:
    """The numbers of a Roaring bitmap."""
    (cookie,) = struct.unpack_from("<I", content, 0)
    at = 4
    if cookie & 0xFFFF == _RUNS:
        count = (cookie >> 16) + 1
        flags = np.unpackbits(np.frombuffer(content, np.uint8, (count + 7) // 8, at), bitorder="little")[:count].astype(bool)
        at += (count + 7) // 8
    elif cookie == _NO_RUNS:
        (count,) = struct.unpack_from("<I", content, at)
        flags = np.zeros(count, np.bool_)
        at += 4
    else:
        raise ValueError(f"unknown kind of bitmap {cookie}")
    headers = np.frombuffer(content, "<u2", 2 * count, at).astype(np.int64).reshape(-1, 2)
    at += 4 * count
    if cookie == _NO_RUNS or count >= _OFFSETS_FROM:
        at += 4 * count
    parts: list[Positions] = []
    for (key, less_one), is_run in zip(headers.tolist(), flags.tolist(), strict=True):
        size = less_one + 1
        low: Positions
        if is_run:
            (runs,) = struct.unpack_from("<H", content, at)
            pairs = np.frombuffer(content, "<u2", 2 * runs, at + 2).astype(np.int64).reshape(-1, 2)
            low = np.concatenate([np.arange(first, first + more + 1) for first, more in pairs.tolist()])
            at += 2 + 4 * runs
        elif size <= _LARGEST_ARRAY:
            low = np.frombuffer(content, "<u2", size, at).astype(np.int64)
            at += 2 * size
        else:
            low = np.flatnonzero(np.unpackbits(np.frombuffer(content, np.uint8, 8192, at), bitorder="little")).astype(np.int64)
            at += 8192
        parts.append((key << 16) + low)
    return np.concatenate(parts) if parts else np.empty(0, np.int64)
