"""Files of others, to be read: on a disk or in an object store, by the same calls.

    matching("s3://bucket/day/*.jsonl", (".jsonl",))    →  files with their sizes, by path
    opened("s3://bucket/day/a.jsonl")                   →  a binary stream that can seek; only what is read is fetched

A graph on an object store lends its own options (keys, endpoint, region) to what is read beside it; otherwise they come from the
environment (`AWS_ACCESS_KEY_ID` and so on). What goes wrong is an `OSError`, whatever the place, and a missing file `NotFound`.
"""

from __future__ import annotations

import fnmatch
import glob
import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from omnigraph.errors import NotFound, UsageError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer
    from obstore.store import ObjectStore

_FETCHED: Final = 4 << 20
"""Bytes fetched at a time from an object store."""


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file and its size."""

    path: str
    size: int


def is_remote(path: str) -> bool:
    """Whether a path is an address of an object store."""
    return "://" in path and not path.startswith("file://")


def matching(path: str, endings: Sequence[str], options: Mapping[str, str]) -> list[InputFile]:
    """The files a path means, sorted: itself, those directly in a folder that end as one of `endings`, or those of a pattern."""
    return _remote_matching(path, endings, options) if is_remote(path) else _local_matching(path.removeprefix("file://"), endings)


def opened(path: str, options: Mapping[str, str]) -> IO[bytes]:
    """A stream of the bytes of a file."""
    if not is_remote(path):
        return open(path.removeprefix("file://"), "rb", buffering=0)
    store, key = _store(path, options)
    return io.BufferedReader(_Fetched(store, key, _size(store, key, path)), _FETCHED)


def _local_matching(path: str, endings: Sequence[str]) -> list[InputFile]:
    if os.path.isdir(path):
        found = sorted(str(p) for p in Path(path).iterdir() if p.name.removesuffix(".gz").lower().endswith(tuple(endings)))
    elif os.path.exists(path):
        found = [path]
    elif glob.has_magic(path):
        found = sorted(glob.glob(path, recursive=True))
    else:
        raise NotFound(f"there is no file {path}")
    return [InputFile(p, os.path.getsize(p)) for p in found]


def _remote_matching(path: str, endings: Sequence[str], options: Mapping[str, str]) -> list[InputFile]:
    import obstore
    from obstore.exceptions import BaseError

    store, key = _store(path, options)
    root = path[: len(path) - len(key)]
    fixed = key[: min((key.find(c) for c in "*?[" if c in key), default=len(key))]
    folder = fixed.rpartition("/")[0] if glob.has_magic(key) else key.rstrip("/")
    try:
        listed = {m["path"]: m["size"] for part in obstore.list(store, prefix=folder or None) for m in part}
        if not glob.has_magic(key) and key not in listed:
            listed |= _exactly(store, key)
    except (BaseError, OSError) as error:
        raise NotFound(f"cannot list {path}: {error}", hint="Check the address, and the keys in the environment.") from error
    if key in listed:
        return [InputFile(path, listed[key])]
    if glob.has_magic(key):
        chosen = [p for p in listed if fnmatch.fnmatchcase(p, key)]
    else:
        inside = f"{folder}/" if folder else ""
        directly = [p for p in listed if p.startswith(inside) and "/" not in p[len(inside) :]]
        chosen = [p for p in directly if p.removesuffix(".gz").lower().endswith(tuple(endings))]
        if not directly:
            raise NotFound(f"there is no file {path}")
    return [InputFile(f"{root}{p}", listed[p]) for p in sorted(chosen)]


def _exactly(store: ObjectStore, key: str) -> dict[str, int]:
    """An object by its whole name, which a listing by prefix leaves out."""
    import obstore

    if not key or key.endswith("/"):
        return {}
    try:
        return {key: int(obstore.head(store, key)["size"])}
    except FileNotFoundError:
        return {}


def _size(store: ObjectStore, key: str, path: str) -> int:
    import obstore
    from obstore.exceptions import BaseError

    try:
        return int(obstore.head(store, key)["size"])
    except FileNotFoundError:
        raise NotFound(f"there is no file {path}") from None
    except BaseError as error:
        raise OSError(str(error)) from error


def _store(path: str, options: Mapping[str, str]) -> tuple[ObjectStore, str]:
    from obstore.store import S3Store

    if not path.startswith("s3://"):
        raise UsageError(f"cannot read {path}", hint="Give a path or an s3:// address.")
    bucket, _, key = path.removeprefix("s3://").partition("/")
    config = {k: v for k, v in options.items() if k != "allow_http"}
    client = {"allow_http": True} if options.get("allow_http", "").lower() == "true" else {}
    return S3Store(bucket, config=config, client_options=client), key  # type: ignore[arg-type]


class _Fetched(io.RawIOBase):
    """An object as a file: every read is a request for a range."""

    def __init__(self, store: ObjectStore, key: str, size: int) -> None:
        self._object_store, self._key, self._size, self._at = store, key, size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        import obstore
        from obstore.exceptions import BaseError

        target = memoryview(buffer).cast("B")
        length = min(len(target), self._size - self._at)
        if length <= 0:
            return 0
        try:
            data = memoryview(obstore.get_range(self._object_store, self._key, start=self._at, length=length))
        except BaseError as error:
            raise OSError(str(error)) from error
        target[: len(data)] = data
        self._at += len(data)
        return len(data)
