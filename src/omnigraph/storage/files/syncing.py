"""Making files survive a power failure, one by one or all at once.

A file is on the disk when it was synced, and so is its name when its folder was. Each of these waits for the disk: a commit of
one row has eight of them, a group of sixteen three dozen. The file system can be asked once instead (`syncfs`), for everything
it has not written yet: one wait, and a quarter of the work. But *everything* includes what others write. So it is done only when

* there are more than two files to sync,
* the file system is one of those that are known to wait for their disk then (others, like most of those in user space, do not),
* Linux is young enough to tell of errors (5.8),
* and hardly anything waits to be written on the whole machine: next to a bulk load, its gigabytes would have to go first.
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Final

FEW: Final = 2
"""Files up to which one after the other is as fast as all at once."""

LITTLE: Final = 4 << 20
"""Bytes waiting to be written up to which a file system is synced as a whole."""

_UNWRITTEN: Final = re.compile(rb"^(?:Dirty|Writeback): +([0-9]+) kB$", re.MULTILINE)

WAITS_FOR_ITS_DISK: Final = frozenset({"ext4", "xfs"})

_SIDE_BY_SIDE: Final = 16

_SYNCERS = ThreadPoolExecutor(max_workers=_SIDE_BY_SIDE, thread_name_prefix="omnigraph-sync")
"""Disks sync several files at once faster than one after the other."""


def flush(files: Sequence[str], folders: Sequence[str]) -> None:
    """Sync files, then the folders that name them: a name must not outlive a power failure that its content did not."""
    if len(files) > FEW and _one_for_all(os.stat(files[0]).st_dev) and _waiting() <= LITTLE:
        _syncfs(files[0])
        return
    for batch in (files, folders):
        _sync_each(batch)


def _sync_each(paths: Sequence[str]) -> None:
    if len(paths) > FEW:
        try:
            under_way = [_SYNCERS.submit(_sync_all, paths[at::_SIDE_BY_SIDE]) for at in range(min(len(paths), _SIDE_BY_SIDE))]
        except RuntimeError:  # the interpreter is ending, and takes on no more work; threads that it waits for go on writing
            pass
        else:
            for one in under_way:
                one.result()
            return
    _sync_all(paths)


def _sync_all(paths: Sequence[str]) -> None:
    for path in paths:
        _fsync(path)


def _fsync(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _syncfs(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        if _libc().syncfs(descriptor):
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code), path)
    finally:
        os.close(descriptor)


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


@cache
def _one_for_all(device: int) -> bool:
    """Whether syncing a whole file system is as good as syncing its files."""
    if sys.platform != "linux" or not hasattr(_libc(), "syncfs"):
        return False
    release = os.uname().release.split(".")
    if (int(release[0]), int(release[1].split("-")[0])) < (5, 8):
        return False
    try:
        mounts = Path("/proc/self/mountinfo").read_text().splitlines()
    except OSError:  # nobody tells what is mounted: files are synced one by one
        return False
    wanted = f"{os.major(device)}:{os.minor(device)}"
    return any(line.split()[2] == wanted and line.partition(" - ")[2].split()[0] in WAITS_FOR_ITS_DISK for line in mounts)


def _waiting() -> int:
    """Bytes that this machine has not written to its disks yet."""
    with open("/proc/meminfo", "rb", buffering=0) as about:
        return sum(int(kilobytes) for kilobytes in _UNWRITTEN.findall(about.read())) * 1024
