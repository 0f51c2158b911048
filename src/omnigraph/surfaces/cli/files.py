"""Reading texts from files, with errors that say what to do; and stdin, so that Ctrl-C gets through."""

from __future__ import annotations

import os
import stat
import sys
from io import BufferedReader
from pathlib import Path
from typing import cast

from omnigraph.errors import NotFound, UsageError
from omnigraph.language.source import Source


def read_source(path: str, *, what: str) -> Source:
    """The text of a file, named as the person named it."""
    try:
        return Source(Path(path).read_bytes().decode("utf-8"), path)
    except FileNotFoundError:
        raise NotFound(f"{what} not found: {path}", hint=_nearby(path)) from None
    except IsADirectoryError:
        raise UsageError(f"{path} is a folder; give a {what}") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 text (byte {error.start})", hint="Save it as UTF-8.") from None
    except OSError as error:
        raise NotFound(f"cannot read {path}: {error.strerror}", hint="Check the path and its permissions.") from None


class Stdin:
    """Stdin as a stream of bytes.

    A long read of Python's own is a loop in C that looks for signals only when a read is interrupted: a Ctrl-C that comes between
    two of its reads waits until there is more to read. Here the loop is one that looks.
    """

    name = "<stdin>"

    def read(self, size: int = -1) -> bytes:
        """Up to so many bytes; fewer at the end."""
        found = bytearray()
        stdin = cast(BufferedReader, sys.stdin.buffer)
        while size < 0 or len(found) < size:
            part = stdin.read1(1 << 16 if size < 0 else min(size - len(found), 1 << 16))
            if not part:
                break
            found += part
        return bytes(found)


class Lines:
    """A file, pipe or device as a stream of bytes: JSON lines, whatever it is called."""

    def __init__(self, path: str) -> None:
        self.name = path
        self._file: BufferedReader | None = None

    def read(self, size: int = -1) -> bytes:
        """Up to so many bytes; fewer at the end."""
        if self._file is None:
            try:
                self._file = Path(self.name).open("rb")  # noqa: SIM115 – the process ends with the load
            except OSError as error:
                raise NotFound(f"cannot read {self.name}: {error.strerror}", hint="Check the path and its permissions.") from None
        return self._file.read(size)


def is_stream_of_lines(path: str) -> bool:
    """Whether a path is one file on this machine whose name says nothing of what it holds: then it holds JSON lines."""
    from omnigraph.service.operations.load import is_named_by_format  # for loads only

    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):  # an address, a pattern, or nothing: whoever loads it says so
        return False
    return not stat.S_ISDIR(mode) and (not stat.S_ISREG(mode) or not is_named_by_format(path))


def _nearby(path: str) -> str:
    folder, suffix = Path(path).parent, Path(path).suffix
    if not folder.is_dir():
        return f"The folder {folder} does not exist."
    others = sorted(p.name for p in folder.glob(f"*{suffix}"))[:6] if suffix else []
    return f"In {folder} there is {', '.join(others)}." if others else "Check the spelling."
