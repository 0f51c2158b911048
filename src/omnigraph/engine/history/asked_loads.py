"""What a load was asked to do, as a digest. Its content is looked at as far as it can be without loading it:

files here                  all of their bytes; of a file above 1 GiB its size, its first and its last bytes
files in an object store    their paths and sizes
frames and lists            all rows; of more than 100,000 their number, the first and the last of them
streams, Spark's frames     nothing but their types: they can be read once, or are elsewhere
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from hashlib import blake2b
from itertools import chain
from typing import IO, Any, Final

import pyarrow as pa

from omnigraph.engine.history.asked import Add, add_value, digest_of
from omnigraph.engine.load.read.inputs.sources import Input
from omnigraph.engine.load.run.request import Request
from omnigraph.storage.files.inputs import is_remote

WHOLE_BYTES: Final = 1 << 30
"""Files up to this size are read in full."""
WHOLE_ROWS: Final = 100_000
"""Rows up to this number are looked at one by one."""

_ENDS: Final = 1 << 20
_AT_ONCE: Final = 1 << 20


def load_digest(request: Request) -> str:
    """The digest of a load. Files are read for it."""
    how = (request.mode.value, request.dialect.value, request.lossy, str(request.max_bad), request.allow_empty)
    return digest_of("load", request.branch, request.actor, how, [_digest(i) for i in request.inputs])


def _digest(given: Input) -> tuple[object, ...]:
    type_ = None if given.type is None else given.type.name
    return given.format.value, type_, given.packed, [list(map(str, pair)) for pair in given.columns], _content(given)


def _content(given: Input) -> object:
    content = given.content
    if given.is_file:
        return [content, given.size] if is_remote(content) else _bytes_of(content)
    made = blake2b(digest_size=16)
    if isinstance(content, pa.RecordBatch):
        content = pa.Table.from_batches([content])
    if isinstance(content, pa.Table):
        add_value(made.update, (str(content.schema), content.num_rows))
        for piece in _ends(content, content.num_rows, lambda at, count: content.slice(at, count)):
            for row in chain.from_iterable(batch.to_pylist() for batch in piece.to_batches(max_chunksize=1_000)):
                add_value(made.update, row)
    elif isinstance(content, Sequence):
        add_value(made.update, (len(content),))
        for row in chain.from_iterable(_ends(content, len(content), lambda at, count: content[at : at + count])):
            add_value(made.update, row)
    else:  # it can be read once, by whoever loads it
        return None
    return made.hexdigest()


def _ends(content: Any, count: int, part: Callable[[int, int], Any]) -> list[Any]:
    """All of something, or its ends."""
    if count <= WHOLE_ROWS:
        return [content]
    half = WHOLE_ROWS // 2
    return [part(0, half), part(count - half, half)]


def _bytes_of(path: str) -> str:
    made = blake2b(digest_size=16)
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            add_value(made.update, (size,))
            if size <= WHOLE_BYTES:
                _add_bytes(made.update, file, size)
            else:
                _add_bytes(made.update, file, _ENDS)
                file.seek(-_ENDS, os.SEEK_END)
                _add_bytes(made.update, file, _ENDS)
    except OSError:  # whoever loads it says what is wrong with it
        return ""
    return made.hexdigest()


def _add_bytes(add: Add, file: IO[bytes], left: int) -> None:
    while left > 0 and (piece := file.read(min(left, _AT_ONCE))):
        add(piece)
        left -= len(piece)
