"""What the first bytes of a file say: whether it holds what its name promises, and where its text begins."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final, Protocol

import msgspec

from omnigraph.model.limits import MAX_LINE_BYTES

_PIECE: Final = 1 << 16
_MEMBERS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_OBJECTS: Final = json.JSONDecoder()
_BOM: Final = b"\xef\xbb\xbf"
_PEEKED: Final = 16

_PACKED: Final = {"gzip": b"\x1f\x8b", "bz2": b"BZh", "zstd": b"\x28\xb5\x2f\xfd"}
_KINDS: Final = (
    (b"PAR1", "a Parquet file"),
    (b"ARROW1", "an Arrow file"),
    (b"\xff\xff\xff\xff", "a stream of Arrow"),
    *((magic, f"packed by {codec}") for codec, magic in _PACKED.items()),
    (b"\xfd7zXZ\x00", "packed by xz"),
    (b"\x04\x22\x4d\x18", "packed by lz4"),
    (b"PK\x03\x04", "a zip archive"),
    (b"ORC", "an ORC file"),
    (b"Obj\x01", "an Avro file"),
    (b"SQLite format 3", "an SQLite database"),
    (b"\xff\xfe\x00\x00", "text in UTF-32"),
    (b"\x00\x00\xfe\xff", "text in UTF-32"),
    (b"\xff\xfe", "text in UTF-16"),
    (b"\xfe\xff", "text in UTF-16"),
)


class ByteSource(Protocol):
    """Something to read bytes from."""

    def read(self, size: int, /) -> bytes:
        """Up to so many bytes; none at the end."""
        ...


class Unfit(OSError):
    """A file that does not hold what its name says."""


ENCODING: Final = "encoding"
"""The rule that a text is UTF-8. A CSV file in which a line is not is refused as a whole."""


class NotUtf8(Unfit):
    """A file with lines that are no UTF-8, each with what is wrong."""

    def __init__(self, places: Sequence[tuple[int, str]]) -> None:
        super().__init__(places[0][1])
        self.places = tuple(places)


class Text:
    """The bytes of a text in UTF-8, without the mark that some editors begin it with. What is no text is `Unfit`."""

    def __init__(self, source: ByteSource) -> None:
        self._source, self._begun = source, False

    def read(self, size: int, /) -> bytes:
        """Up to so many bytes; none at the end."""
        if self._begun:
            return self._source.read(size)
        self._begun = True
        head = peeked(self._source, size)
        return head[text_start(head) :] or self._source.read(size)


def peeked(source: ByteSource, size: int = _PEEKED) -> bytes:
    """The first bytes of a source, enough of them to tell what it is. (A read may give few.)"""
    head = source.read(max(size, _PEEKED))
    while len(head) < _PEEKED and (more := source.read(_PEEKED)):
        head += more
    return head


def text_start(head: bytes) -> int:
    """How many bytes to pass over before the text begins."""
    kind = _kind(head)
    if kind is not None:
        raise Unfit(f"it is {kind}, not text in UTF-8")
    if b"\x00" in head[:4]:
        raise Unfit("it is not UTF-8 text (perhaps UTF-16)")
    return len(_BOM) if head.startswith(_BOM) else 0


def first_members(source: ByteSource) -> frozenset[str]:
    """Names of the members of the first object of a text, as far as one can see; none if there is none. It may go over several
    lines, as in the compatible dialect; if there is none at the beginning, it is the first line that is one."""
    text, begun, seen = Text(source), b"", 0
    while seen <= MAX_LINE_BYTES:
        piece = text.read(_PIECE)
        if not seen and (members := _spread(piece)):
            return members
        seen += len(piece)
        *lines, begun = (begun + piece).split(b"\n") if piece else (begun, b"")
        for line in lines:
            try:
                return frozenset(_MEMBERS.decode(line))
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                continue  # a line that is broken says nothing of the others
        if not piece:
            break
    return frozenset()


def _spread(head: bytes) -> frozenset[str]:
    try:
        value, _ = _OBJECTS.raw_decode(head.decode(errors="ignore").lstrip())
    except (ValueError, RecursionError):
        return frozenset()
    return frozenset(value) if isinstance(value, dict) else frozenset()


def require_packed(head: bytes, codec: str) -> None:
    """Refuse what is called after a codec and is something else."""
    if not head.startswith(_PACKED[codec]):
        raise Unfit(f"it is not packed by {codec}, as its name says" if head else f"it is empty, and not even packed by {codec}")


def mismatch(head: bytes, expected: str) -> str | None:
    """What a file is that is not what it should be, as far as its first bytes tell."""
    kind = _kind(head)
    if not head:
        return f"it is empty, not {expected}"
    return None if kind == expected else f"it is {kind or 'something else'}, not {expected}"


def _kind(head: bytes) -> str | None:
    return next((kind for magic, kind in _KINDS if head.startswith(magic)), None)
