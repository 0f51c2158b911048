"""Access to the files below a folder, never through a link that leads out of it.

A graph on a disk is a folder, and somebody may put a symbolic link into it, on purpose or by unpacking an archive. Whoever
lists, reads, writes or deletes below the folder would then do so elsewhere. So names below the root are never followed when they
are links: a link is not listed, what is behind one is not read or deleted, and whoever is about to write through one is refused.
The root itself may be reached through as many links as anybody likes.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from omnigraph.errors import StorageError

_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_FILE = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)

_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_NEW = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _NO_LINK | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


def require(root: str, path: str) -> None:
    """Refuse a path with a link in it, the last part included. What is not there is fine."""
    at = root
    for part in path.split("/"):
        at = f"{at}/{part}"
        try:
            if stat.S_ISLNK(os.lstat(at).st_mode):
                raise _is_a_link(at)
        except (FileNotFoundError, NotADirectoryError):
            return


def require_folders(root: str, path: str, names: Iterable[str]) -> None:
    """Refuse a folder with a link on the way to it, and one in which some of these names are links."""
    require(root, path)
    for name in names:
        if os.path.islink(f"{root}/{path}/{name}"):
            raise _is_a_link(f"{root}/{path}/{name}")


def walk(root: str, folder: str) -> Iterator[tuple[str, os.stat_result]]:
    """Every file below a folder, by its path below the root. Links are not among them, nor what is behind them."""
    try:
        require(root, folder)
    except StorageError:  # the folder is a link: what is behind it is not part of the graph
        return
    waiting = [folder]
    while waiting:
        current = waiting.pop()
        try:
            entries = os.scandir(f"{root}/{current}")
        except (FileNotFoundError, NotADirectoryError):
            continue  # deleted since it was listed
        with entries:
            for entry in entries:
                path = f"{current}/{entry.name}"
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(path)
                elif entry.is_file(follow_symlinks=False):
                    try:
                        yield path, entry.stat(follow_symlinks=False)
                    except FileNotFoundError:
                        continue


@contextmanager
def folder(root: str, path: str) -> Iterator[int]:
    """A folder below the root, opened part by part, so that no part can be a link. `FileNotFoundError` if it is not there."""
    at = os.open(root, _FOLDER & ~getattr(os, "O_NOFOLLOW", 0))
    try:
        for part in path.split("/") if path else ():
            try:
                below = os.open(part, _FOLDER, dir_fd=at)
            except OSError as error:
                if error.errno in (errno.ELOOP, errno.ENOTDIR) and _links(part, at):
                    raise _is_a_link(f"{root}/{path}") from None
                raise
            os.close(at)
            at = below
        yield at
    finally:
        os.close(at)


def read(root: str, path: str) -> bytes:
    """The bytes of a file."""
    above, _, name = path.rpartition("/")
    with folder(root, above) as at:
        try:
            file = os.open(name, _FILE, dir_fd=at)
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise _is_a_link(f"{root}/{path}") from None
            raise
        with open(file, "rb") as opened:
            return opened.read()


def write(file: str, content: bytes) -> None:
    """Write a whole file of a folder that was looked at. Where its name is a link, that is refused."""
    if not _NO_LINK and os.path.islink(file):
        raise _is_a_link(file)
    try:
        out = os.open(file, _NEW, 0o666)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise _is_a_link(file) from None
        raise
    try:
        written = os.write(out, content)
        while written < len(content):
            written += os.write(out, content[written:])
    finally:
        os.close(out)


def _links(name: str, at: int) -> bool:
    try:
        return stat.S_ISLNK(os.lstat(name, dir_fd=at).st_mode)
    except OSError:  # it is gone: whoever opens it says so
        return False


def _is_a_link(path: str) -> StorageError:
    return StorageError(
        f"{path} is a symbolic link: what is behind a link is not part of a graph, and is not read, written or deleted",
        hint="Put the folder itself in its place. The folder of the whole graph may be a link.",
    )
