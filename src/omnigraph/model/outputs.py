"""Output files and folders: complete or not there, and nothing else is put in the place of what stands there.

    with output_file("people.jsonl") as file:              with output_folder("out") as opened, opened("Person.csv") as file:
        file.write(...)                                        file.write(...)

A file is written beside its name, which it gets when it is complete, with the permissions of the one before. A link stays a link:
what it leads to is written. Into what is no regular file (a pipe, a device, the process's own output) the bytes go straight. A
folder is new, or was empty. What goes wrong is an `OutputFailed`.
"""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final, cast

from omnigraph.errors import AlreadyExists, NotFound, OutputFailed

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_STREAMS: Final = ("/dev/stdout", "/dev/stderr", "/dev/fd/", "/proc/")
"""Names that stand for what a process has open, even where that is a file."""


@contextmanager
def output_file(path: str | Path, *, durable: bool = False) -> Iterator[BinaryIO]:
    """A file to write to. `durable`: it is safe on the disk before it gets its name."""
    named = Path(path)
    with _reported(named):
        there = _there(named)
    if there is not None and stat.S_ISDIR(there.st_mode):
        raise OutputFailed(f"{named} is a folder, not a file to write to", hint=f"Name a file in it: {named / 'FILE'}.")
    if there is not None and (not stat.S_ISREG(there.st_mode) or str(named).startswith(_STREAMS)):
        with _reported(named):
            file = _opened(named, os.O_WRONLY | os.O_APPEND, named)
        with file:
            yield file
        return
    with _reported(named):
        final = Path(os.path.realpath(named))
    if not final.parent.is_dir():
        raise NotFound(f"there is no folder {final.parent} to write into", hint="Make it first, or name a file elsewhere.")
    unfinished = final.with_name(f".{os.urandom(8).hex()}.part")
    try:
        with _reported(named):
            file = _opened(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, named)
        with file:
            if there is not None:
                with _reported(named):
                    os.fchmod(file.fileno(), stat.S_IMODE(there.st_mode))
            yield file
            file.flush()
            with _reported(named):
                if durable:
                    os.fsync(file.fileno())
        with _reported(named):
            unfinished.replace(final)
            if durable:
                _sync_folder(final.parent)
    finally:
        with suppress(OSError):  # the failure to write is reported; a file that is left beside says no more
            unfinished.unlink(missing_ok=True)


@contextmanager
def output_folder(path: str | Path) -> Iterator[Callable[[str], BinaryIO]]:
    """A folder to write files to, by their names."""
    named = Path(path)
    with _reported(named):
        final, there = Path(os.path.realpath(named)), _there(named)
        if there is not None and not stat.S_ISDIR(there.st_mode):
            raise AlreadyExists(f"{named} is a file, not a folder to write to", hint="Name a new folder.")
        if there is not None and any(final.iterdir()):
            raise AlreadyExists(f"{named} is not empty", hint="Name a new folder.")
    if not final.parent.is_dir():
        raise NotFound(f"there is no folder {final.parent} to write into", hint="Make it first, or name a folder elsewhere.")
    unfinished = final.with_name(f".{os.urandom(8).hex()}.part")

    def opened(name: str) -> BinaryIO:
        with _reported(named / name):
            return _opened(unfinished / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, named / name)

    try:
        with _reported(named):
            unfinished.mkdir()
            if there is not None:
                unfinished.chmod(stat.S_IMODE(there.st_mode))
        yield opened
        with _reported(named):
            unfinished.replace(final)
    finally:
        from shutil import rmtree

        rmtree(unfinished, ignore_errors=True)  # the failure to write is reported; what is left beside says no more


def write_output(path: str | Path, data: bytes) -> None:
    """Write a whole file."""
    with output_file(path) as file:
        file.write(data)


def _there(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def _opened(path: Path, flags: int, named: Path) -> BinaryIO:
    return cast(BinaryIO, io.BufferedWriter(_Output(os.open(path, flags | os.O_CLOEXEC, 0o666), named)))


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class _Output(io.FileIO):
    """A file whose failures are reported under the name that was given."""

    def __init__(self, descriptor: int, named: Path) -> None:
        super().__init__(descriptor, "wb")
        self._named = named

    def write(self, data: ReadableBuffer, /) -> int:
        with _reported(self._named):
            return super().write(data)

    def close(self) -> None:
        with _reported(self._named):
            super().close()


@contextmanager
def _reported(named: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OutputFailed.of(str(named), error) from error
