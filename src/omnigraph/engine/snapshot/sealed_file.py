"""A file of arrays with checksums, used to cache derived state.

    preamble    magic │ version │ length and checksum of the contents          36 bytes
    contents    what the file is about, and for each array its name, type, length, place and checksum (JSON)
    arrays      one after the other, each from a multiple of 64 on

`about` says what the arrays were computed from; that is for the reader to compare with what it has. The rest is checked here: a
file is as long as it says, contents and arrays have the checksum that was written down, an array has the type that is asked for.
Anything else is `Damaged`, and means the same as no file at all. A file of another version is damaged too, as far as this code
can tell.

Arrays are copied into memory of our own as they are checked, so what was right when it was opened stays right: whoever writes
into the file later, or cuts it off, changes nothing here. Only arrays of `MAPPED_FROM` bytes and more are mapped, after the same
check: for them it has to be relied on that nobody changes a file in place. This code never does.

The checksum is XXH3 (128 bits), which costs about as much as reading the bytes. It finds every accident; it is no signature, and
whoever may write into the folder of a graph may change the graph as well.
"""

from __future__ import annotations

import mmap
import os
import stat
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
from xxhash import xxh3_128

from omnigraph.engine.arrays.column import Array
from omnigraph.model.phrases import counted

VERSION: Final = 2
"""The form of the file. One that differs is not read."""

MAPPED_FROM: Final = 256 << 20
"""Arrays of so many bytes are mapped instead of copied."""

_MAGIC: Final = b"OGSEALED"
_PREAMBLE: Final = struct.Struct("<8sIQ16s")
_ALIGNED: Final = 64
_CHUNK: Final = 4 << 20
"""Bytes copied and checked at a time: they stay in the cache of the processor in between."""

_LARGE: Final = 2 << 20
"""Bytes of a large page."""

_LONGEST_CONTENTS: Final = 256 << 20


class Damaged(Exception):
    """The file is not what was written, or not for this code."""


class Gone(Damaged):
    """There is no file any more."""


class Block(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One array."""

    name: str
    dtype: str
    length: int
    start: int
    digest: str

    @property
    def size(self) -> int:
        return self.length * np.dtype(self.dtype).itemsize


class _Contents(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    about: msgspec.Raw
    blocks: tuple[Block, ...]
    size: int
    """Of the whole file."""


_DTYPES: Final = frozenset({"|u1", "|b1", "<i4", "<i8", "<u4", "<f4", "<f8"})


def sealed(about: object, arrays: Mapping[str, Array]) -> Iterator[bytes | memoryview]:
    """The bytes of a file, part by part."""
    plain = {name: np.ascontiguousarray(values) for name, values in arrays.items()}
    digests = {name: xxh3_128(_bytes(values)).hexdigest() for name, values in plain.items()}
    said = msgspec.json.encode(about)
    places = _places(plain, digests, 0)
    head = b""
    first = -1
    while first != _aligned(_PREAMBLE.size + len(head)):  # places stand in the head, whose length depends on them
        first = _aligned(_PREAMBLE.size + len(head))
        places = _places(plain, digests, first)
        size = max((b.start + b.size for b in places), default=first)
        head = msgspec.json.encode(_Contents(msgspec.Raw(said), places, size))
    yield _PREAMBLE.pack(_MAGIC, VERSION, len(head), xxh3_128(head).digest()) + head
    at = _PREAMBLE.size + len(head)
    for block in places:
        yield bytes(block.start - at)
        yield _bytes(plain[block.name])
        at = block.start + block.size
    if not places:
        yield bytes(first - at)


def _places(arrays: Mapping[str, Array], digests: Mapping[str, str], first: int) -> tuple[Block, ...]:
    found: list[Block] = []
    at = first
    for name, values in arrays.items():
        found.append(Block(name, values.dtype.str, len(values), at, digests[name]))
        at = _aligned(at + values.nbytes)
    return tuple(found)


def _aligned(at: int) -> int:
    return -(-at // _ALIGNED) * _ALIGNED


def _bytes(values: Array) -> memoryview:
    return memoryview(values.view(np.uint8)) if len(values) else memoryview(b"")  # type: ignore[arg-type]


Read = Callable[[int, int], bytes]


class Sealed:
    """What a file holds. Its contents are checked when it is opened, each array when it is asked for."""

    def __init__(self, contents: _Contents, fetch: Callable[[Block], Array]) -> None:
        self.about: bytes = bytes(contents.about)
        """What the file is about, as JSON."""
        self._blocks = {block.name: block for block in contents.blocks}
        self._fetch = fetch

    @classmethod
    def open(cls, path: Path) -> Sealed:
        """A file, or `Damaged`."""
        with _File(path) as file:
            contents = _contents(file.read, file.size)

        def fetch(block: Block) -> Array:
            with _File(path) as again:
                if again.size != contents.size:
                    raise Damaged("it was replaced")
                return again.copied(block) if block.size < MAPPED_FROM else again.mapped(block)

        return cls(contents, fetch)

    @classmethod
    def of(cls, data: bytes) -> Sealed:
        """The bytes of a file, or `Damaged`."""
        contents = _contents(lambda start, size: data[start : start + size], len(data))

        def fetch(block: Block) -> Array:
            part = memoryview(data)[block.start : block.start + block.size]
            _compare(block, xxh3_128(part).hexdigest())
            return np.frombuffer(part, block.dtype)

        return cls(contents, fetch)

    def has(self, name: str) -> bool:
        """Whether there is an array of a name."""
        return name in self._blocks

    def array(self, name: str, dtype: str) -> Array:
        """An array of a type, or `Damaged`. Not to be written to."""
        block = self._blocks.get(name)
        if block is None:
            raise Damaged(f"there is no array `{name}`")
        if block.dtype != np.dtype(dtype).str:
            raise Damaged(f"`{name}` is of type {block.dtype}, not {np.dtype(dtype).str}")
        found = self._fetch(block)
        found.flags.writeable = False
        return found


def _contents(read: Read, size: int) -> _Contents:
    preamble = read(0, _PREAMBLE.size)
    if len(preamble) < _PREAMBLE.size:
        raise Damaged("it is too short")
    magic, version, length, digest = _PREAMBLE.unpack(preamble)
    if magic != _MAGIC:
        raise Damaged("it is something else")
    if version != VERSION:
        raise Damaged(f"it has version {version}, not {VERSION}")
    if length > min(_LONGEST_CONTENTS, size):
        raise Damaged("it is cut off")
    head = read(_PREAMBLE.size, length)
    if xxh3_128(head).digest() != digest:
        raise Damaged("its contents are not what was written")
    try:
        found = msgspec.json.decode(head, type=_Contents)
    except msgspec.DecodeError as error:
        raise Damaged(f"its contents cannot be read: {error}") from error
    if found.size != size:
        raise Damaged(f"it has {counted(size, 'byte')} instead of {found.size}")
    for block in found.blocks:
        if block.dtype not in _DTYPES or block.length < 0 or not 0 <= block.start <= size - block.size:
            raise Damaged(f"`{block.name}` cannot be there")
    return found


def _compare(block: Block, digest: str) -> None:
    if digest != block.digest:
        raise Damaged(f"`{block.name}` is not what was written")


class _File:
    """A file while it is read. Whatever goes wrong, and whatever stands there instead of a file, is `Damaged`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._at = -1
        self.size = 0

    def __enter__(self) -> _File:
        try:
            # A pipe in its place would be waited for, a link may lead anywhere.
            self._at = os.open(self._path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
            about = os.fstat(self._at)
        except OSError as error:
            self.__exit__()
            kind = Gone if isinstance(error, FileNotFoundError) else Damaged
            raise kind(f"it cannot be opened: {error.strerror}") from error
        if not stat.S_ISREG(about.st_mode):
            self.__exit__()
            raise Damaged("it is no file")
        self.size = about.st_size
        return self

    def __exit__(self, *_: object) -> None:
        if self._at >= 0:
            os.close(self._at)
            self._at = -1

    def read(self, start: int, size: int) -> bytes:
        """Some bytes; fewer at the end of the file."""
        found = bytearray(size)
        return bytes(found[: self._into(memoryview(found), start)])

    def _into(self, target: memoryview, start: int) -> int:
        done = 0
        try:
            while done < len(target):
                got = os.preadv(self._at, [target[done:]], start + done)
                if not got:
                    break
                done += got
        except OSError as error:
            raise Damaged(f"it cannot be read: {error.strerror}") from error
        return done

    def copied(self, block: Block) -> Array:
        """An array in memory of our own."""
        found = _memory(block)
        target = _bytes(found)
        digest = xxh3_128()
        for at in range(0, len(target), _CHUNK):
            part = target[at : at + _CHUNK]
            if self._into(part, block.start + at) < len(part):
                raise Damaged(f"`{block.name}` is cut off")
            digest.update(part)
        _compare(block, digest.hexdigest())
        return found

    def mapped(self, block: Block) -> Array:
        """An array that stays in the file."""
        try:
            found = np.memmap(self._path, block.dtype, "r", block.start, (block.length,)).view(np.ndarray)
        except (OSError, ValueError) as error:
            raise Damaged(f"`{block.name}` cannot be mapped: {error}") from error
        _compare(block, xxh3_128(_bytes(found)).hexdigest())
        return found


def _memory(block: Block) -> Array:
    """Memory for an array, in large pages where the system has them: getting small ones takes as long as copying into them.

    NumPy asks for large pages too, but only from 4 MiB on.
    """
    if block.size < _LARGE or not hasattr(mmap, "MADV_HUGEPAGE"):
        return np.empty(block.length, block.dtype)
    memory = mmap.mmap(-1, -(-block.size // _LARGE) * _LARGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    with suppress(OSError):  # a system without them
        memory.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(memory, block.dtype, block.length)


def written(parts: Iterator[bytes | memoryview] | Sequence[bytes], path: Path, *, sync: bool) -> None:
    """Put the parts of a file into one, which must not be there yet, and see that they are on the disk."""
    with path.open("xb", buffering=0) as out:
        for part in parts:
            rest = memoryview(part)
            while len(rest):
                rest = rest[out.write(rest) :]
        if sync:
            os.fsync(out.fileno())


def decoded(about: bytes, type_: type[Any]) -> Any:
    """What a file is about, as a struct, or `Damaged`."""
    try:
        return msgspec.json.decode(about, type=type_)
    except msgspec.DecodeError as error:
        raise Damaged(f"what it says of itself cannot be read: {error}") from error
