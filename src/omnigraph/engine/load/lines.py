"""Bytes into chunks of whole lines.

A chunk knows its file and the number of its first line, so that whoever parses it can say where something is wrong without
having seen the rest of the file. A line that is longer than the limit is not kept: the chunk says which one it was.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

from omnigraph.model.limits import MAX_LINE_BYTES

CHUNK_BYTES = 4 << 20
"""How much is read, and parsed, at a time."""


class ByteSource(Protocol):
    """Something to read bytes from."""

    def read(self, size: int, /) -> bytes:
        """Up to so many bytes; none at the end."""
        ...


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some lines of a file."""

    file: str | None
    first_line: int
    data: bytes
    """Whole lines, each with its end."""
    bytes_read: int = 0
    """How far the reader had come in the file, in bytes as they are there."""
    too_long: tuple[int, ...] = field(default=())
    """Numbers of lines that were left out because of their length; an empty line stands for each."""

    @property
    def line_count(self) -> int:
        return self.data.count(b"\n")


def chunks(source: ByteSource, file: str | None, *, size: int = CHUNK_BYTES, limit: int = MAX_LINE_BYTES) -> Iterator[Chunk]:
    """The lines of a source, in chunks of about a size."""
    pending: list[bytes] = []
    held, line, done, skipping = 0, 1, 0, False
    too_long: list[int] = []

    def flush(upto: bytes) -> Chunk:
        nonlocal held, line, pending
        data = b"".join([*pending, upto])
        chunk = Chunk(file, line, data, done, tuple(too_long))
        line += chunk.line_count
        pending, held = [], 0
        too_long.clear()
        return chunk

    while block := source.read(size):
        done += len(block)
        if skipping:
            end = block.find(b"\n")
            if end < 0:
                continue
            block, skipping = block[end:], False
        end = block.rfind(b"\n") + 1
        if end:
            head, tail = block[:end], block[end:]
            if held + head.find(b"\n") > limit:
                too_long.append(line)
                head, pending = head[head.find(b"\n") :], []
            yield flush(head)
            pending, held = ([tail], len(tail)) if tail else ([], 0)
        else:
            pending.append(block)
            held += len(block)
            if held > limit:
                too_long.append(line)
                pending, held, skipping = [], 0, True
    if pending or too_long:
        yield flush(b"\n")
