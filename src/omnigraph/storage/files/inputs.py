"""Reading input files, on a disk or in an object store, with the same calls and the same rules.

    files_at("s3://bucket/day")                  →  every file below a folder, or those of a pattern, with their sizes, by path
    opened("s3://bucket/day/a.jsonl")            →  a binary stream that can seek; only what is read is fetched

Nothing is left out but what is no data: hidden files and folders (`.crc`, `.DS_Store`) and what writers leave beside their files
(`_SUCCESS`, `_metadata`). Links are followed; one that leads nowhere, back to where it stands, or to a file that is there already
is told of (`problem`), and so is what is no file. Whoever asks decides what to do about that.

A graph on an object store lends its own options (keys, endpoint, region) to what is read beside it; otherwise they come from the
environment (`AWS_ACCESS_KEY_ID` and so on). What goes wrong is an `OSError`, whatever the place, and a missing file `NotFound`.
"""

from __future__ import annotations

import fnmatch
import glob
import io
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import IO, TYPE_CHECKING, Final

from omnigraph.errors import NotFound, UsageError
from omnigraph.model.frozen import frozen

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer
    from obstore.store import ObjectStore

_FETCHED: Final = 4 << 20
"""Bytes fetched at a time from an object store."""

_LEFT_BY_WRITERS: Final = re.compile(r"_SUCCESS|_metadata|_common_metadata|_(committed|started)_\d+|_export\.json", re.ASCII)
"""Files that stand beside data and hold none."""

_ELSEWHERE: Final = {
    "_delta_log": "is a Delta table, and `_delta_log` says which of its files count",
    ".hoodie": "is a Hudi table, and `.hoodie` says which of its files count",
    "_spark_metadata": "was written by a stream, and `_spark_metadata` says which of its files count",
    "_temporary": "is still being written, or its writer died: there is a folder `_temporary`",
}
"""Folders beside which not every file is data."""


@frozen
class InputFile:
    """A file and its size."""

    path: str
    size: int
    within: tuple[str, ...] = ()
    """Names of the folders it is in: from the one that was given to its own. Above that, as many as are called `name=value`,
    and the one that those are in."""
    problem: str | None = None
    """Why it cannot be read, if that is known."""


def is_remote(path: str) -> bool:
    """Whether a path is an address of an object store."""
    return "://" in path and not path.startswith("file://")


def partition(folder: str) -> tuple[str, str] | None:
    """The name and value that a folder is called after: `country=de`."""
    name, equals, value = folder.partition("=")
    return (name, value) if name and equals else None


def files_at(path: str, options: Mapping[str, str]) -> list[InputFile]:
    """The files a path means, sorted: itself, all below a folder, or those of a pattern and all below its folders."""
    return _remote_files(path, options) if is_remote(path) else _local_files(path.removeprefix("file://"))


def opened(path: str, options: Mapping[str, str]) -> IO[bytes]:
    """A stream of the bytes of a file."""
    if not is_remote(path):
        return open(path.removeprefix("file://"), "rb", buffering=0)
    store, key = _store(path, options)
    return io.BufferedReader(_Fetched(store, key, _size(store, key, path)), _FETCHED)


def is_folder(path: str, files: Sequence[InputFile]) -> bool:
    """Whether a path names the folder that files were found in, or a pattern, rather than a file."""
    return [f.path for f in files] != [path.removeprefix("file://")]


# ── on a disk ────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _local_files(path: str) -> list[InputFile]:
    if os.path.isdir(path):
        found = list(_below(path, _above(os.path.abspath(path)), ()))
    elif os.path.exists(path):
        return [_local_file(path, _above(os.path.dirname(os.path.abspath(path))))]
    elif glob.has_magic(path):
        fixed = os.path.abspath(_fixed(path))
        matches = [m for m in sorted(glob.glob(path, recursive=True)) if os.path.lexists(m)]  # `b/**` names `b`, there or not
        found = [file for match in matches for file in _matched(match, fixed)]
    else:
        raise NotFound(f"there is no file {path}")
    return _told_apart({file.path: file for file in found}.values())


def _matched(path: str, fixed: str) -> Iterator[InputFile]:
    """A match of a pattern, which begins to vary below a folder."""
    folder = os.path.isdir(path)
    between = os.path.relpath(os.path.abspath(path if folder else os.path.dirname(path) or "."), fixed)
    within = (*_above(fixed), *(part for part in between.split(os.sep) if part != "."))
    if folder:
        yield from _below(path, within, ())
    elif not _is_aside(os.path.basename(path)):
        yield _local_file(path, within)


def _below(folder: str, within: tuple[str, ...], around: tuple[tuple[int, int], ...]) -> Iterator[InputFile]:
    """Every file below a folder. `around`: the folders it is in."""
    try:
        about = os.stat(folder)
        entries = sorted(os.scandir(folder), key=lambda e: e.name)
    except OSError as error:
        raise NotFound(f"cannot list {folder}: {error.strerror}", hint="Check that it may be read.") from error
    me = (about.st_dev, about.st_ino)
    if me in around:
        yield InputFile(folder, 0, within, "leads back to a folder that it is in")
        return
    for entry in entries:
        _require_plain(entry.name, folder)
        if entry.is_dir() and not entry.name.startswith("."):
            yield from _below(entry.path, (*within, entry.name), (*around, me))
        elif not _is_aside(entry.name):
            yield _local_file(entry.path, within)


def _local_file(path: str, within: tuple[str, ...]) -> InputFile:
    try:
        path.encode()
        about = os.stat(path)
    except UnicodeEncodeError:
        return InputFile(os.fsencode(path).decode(errors="backslashreplace"), 0, within, "has a name that is no UTF-8")
    except OSError as error:
        reason = "is a link that leads nowhere" if os.path.islink(path) else f"cannot be read: {error.strerror}"
        return InputFile(path, 0, within, reason)
    if not os.path.isfile(path):
        return InputFile(path, 0, within, "is no file")
    return InputFile(path, about.st_size, within)


def _told_apart(files: Iterable[InputFile]) -> list[InputFile]:
    """Files sorted; of several names of one file, all but one have a problem."""
    ordered = sorted(files, key=lambda f: f.path)
    names: dict[str, str] = {}
    real = {f.path: os.path.realpath(f.path) for f in ordered if f.problem is None}
    for file in sorted(ordered, key=lambda f: os.path.abspath(f.path) != real.get(f.path)):
        if file.problem is None:
            names.setdefault(real[file.path], file.path)
    return [
        replace(f, problem=f"is {names[real[f.path]]} by another name") if f.path in real and names[real[f.path]] != f.path else f
        for f in ordered
    ]


# ── in an object store ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _remote_files(path: str, options: Mapping[str, str]) -> list[InputFile]:
    import obstore
    from obstore.exceptions import BaseError

    store, key = _store(path, options)
    root = path[: len(path) - len(key)]
    pattern = glob.has_magic(key)
    folder = _fixed(key).strip("/") if pattern else key.strip("/")
    try:
        if not key.endswith("/") and (exactly := _exactly(store, key)) is not None:
            return [InputFile(path, exactly, _above(key.rpartition("/")[0]))]
        listed = {m["path"]: m["size"] for part in obstore.list(store, prefix=folder or None) for m in part}
    except (BaseError, OSError) as error:
        raise NotFound(f"cannot list {path}: {error}", hint="Check the address, and the keys in the environment.") from error
    above, found = _above(folder), list[InputFile]()
    folders = {f"{name.rpartition('/')[0]}/" for name in listed}
    for name in sorted(listed):
        below = tuple(name[len(folder) :].strip("/").split("/")) if name != folder else ()
        marks_folder = not listed[name] and f"{name}/" in folders  # as consoles make them
        if not below or marks_folder or (pattern and not matches(tuple(key.strip("/").split("/")), tuple(name.split("/")))):
            continue
        for part in below:
            _require_plain(part, f"{root}{folder}")
        if not any(part.startswith(".") for part in below) and not _is_aside(below[-1]):
            found.append(InputFile(f"{root}{name}", listed[name], (*above, *below[:-1])))
    if not listed and not pattern:
        raise NotFound(f"there is no file {path}")
    return found


def matches(pattern: tuple[str, ...], parts: tuple[str, ...]) -> bool:
    """Whether a pattern means a path, or a folder it is in, as on a disk: `*` stays within a name, `**` is any folders."""
    if not pattern:
        return True
    if pattern[0] == "**":
        if len(pattern) == 1:
            return bool(parts) and not any(part.startswith(".") for part in parts)
        return matches(pattern[1:], parts) or (bool(parts) and not parts[0].startswith(".") and matches(pattern, parts[1:]))
    if not parts or (parts[0].startswith(".") and not pattern[0].startswith(".")):
        return False
    return fnmatch.fnmatchcase(parts[0], pattern[0]) and matches(pattern[1:], parts[1:])


# ── both ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _fixed(pattern: str) -> str:
    """The folder below which a pattern begins to vary."""
    parts = pattern.split("/")
    varies = next(n for n, part in enumerate(parts) if glob.has_magic(part))
    return "/".join(parts[:varies]) or pattern[: pattern.startswith("/")]


def _above(folder: str) -> tuple[str, ...]:
    """The name of a folder, after those of the folders around it as long as it is called `name=value`."""
    parts = [part for part in folder.split("/") if part]
    first = len(parts) - 1
    while first > 0 and partition(parts[first]) is not None:
        first -= 1
    return tuple(parts[max(first, 0) :])


def _is_aside(name: str) -> bool:
    return name.startswith(".") or _LEFT_BY_WRITERS.fullmatch(name) is not None


def _require_plain(name: str, folder: str) -> None:
    """Refuse a folder in which not every file is data."""
    if name in _ELSEWHERE:
        raise UsageError(f"{folder} {_ELSEWHERE[name]}", hint="Read it by Spark, and load the frame.")


def _exactly(store: ObjectStore, key: str) -> int | None:
    """The size of an object by its whole name, which a listing by prefix leaves out."""
    import obstore

    if not key:
        return None
    try:
        return int(obstore.head(store, key)["size"])
    except FileNotFoundError:
        return None


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
