"""Bytes into blocks of whole lines.

A block knows its file and the number of its first line, so that whoever parses it can say where something is wrong without
having seen the rest of the file. A line that is longer than the limit is not kept: the block says which one it was.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import IO, Final

from omnigraph.engine.load.read.inputs.content import ByteSource
from omnigraph.model.frozen import frozen
from omnigraph.model.limits import MAX_LINE_BYTES

BLOCK_BYTES = 4 << 20
"""How much is read, and parsed, at a time."""


_SKIPPED: Final = 1 << 16
"""How much is read at a time to find the end of a line."""


@frozen
class LineBlock:
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


def line_blocks(
    source: ByteSource, file: str | None, *, size: int = BLOCK_BYTES, limit: int = MAX_LINE_BYTES
) -> Iterator[LineBlock]:
    """The lines of a source, in blocks of about a size."""
    pending: list[bytes] = []
    held, line, done, skipping = 0, 1, 0, False
    too_long: list[int] = []

    def flush(upto: bytes) -> LineBlock:
        nonlocal held, line, pending
        data = b"".join([*pending, upto])
        block = LineBlock(file, line, data, done, tuple(too_long))
        line += block.line_count
        pending, held = [], 0
        too_long.clear()
        return block

    while taken := source.read(size):
        done += len(taken)
        if skipping:
            end = taken.find(b"\n")
            if end < 0:
                continue
            taken, skipping = taken[end:], False
        end = taken.rfind(b"\n") + 1
        if end:
            head, tail = taken[:end], taken[end:]
            if held + head.find(b"\n") > limit:
                too_long.append(line)
                head, pending = head[head.find(b"\n") :], []
            yield flush(head)
            pending, held = ([tail], len(tail)) if tail else ([], 0)
        else:
            pending.append(taken)
            held += len(taken)
            if held > limit:
                too_long.append(line)
                pending, held, skipping = [], 0, True
    if pending or too_long:
        yield flush(b"\n")


class Split:
    """The lines of a file that start within a range of bytes: whole lines, whoever has the bytes after them.

    Ranges that follow one another give every line exactly once:

        bytes   0         10        20        30
                {"a":1}⏎{"b":22}⏎{"c":3}⏎{"d":4}⏎
        0–10    {"a":1}⏎{"b":22}⏎                        the second line starts at 8
        10–20                    {"c":3}⏎                starts at 17
        20–33                            {"d":4}⏎
    """

    def __init__(self, stream: IO[bytes], start: int, end: int) -> None:
        self._stream, self._end = stream, end
        self._at = start
        self._over, self._ended = False, True
        if start:
            stream.seek(start - 1)
            self._at = start - 1
            self._skip_line()

    def _skip_line(self) -> None:
        while taken := self._stream.read(_SKIPPED):
            found = taken.find(b"\n")
            if found >= 0:
                self._at += found + 1
                self._stream.seek(self._at)
                return
            self._at += len(taken)
        self._over = True

    def read(self, size: int, /) -> bytes:
        """Up to so many bytes of these lines; none at the end."""
        if self._over or (self._at >= self._end and self._ended):
            return b""
        wanted = min(size, self._end - self._at) if self._at < self._end else min(size, _SKIPPED)
        taken = self._stream.read(wanted)
        if self._at >= self._end:  # the line that began before the end goes on
            found = taken.find(b"\n")
            if found >= 0:
                taken, self._over = taken[: found + 1], True
        self._at += len(taken)
        self._ended = taken[-1:] == b"\n"
        if not taken:
            self._over = True
        return taken
