"""Turns: processes of one machine that publish to one branch go one after the other, so that nobody waits far longer than others.

The swap alone is safe but not fair. Whoever has just won knows the newest head and is the quickest to try again; those who lost
read, apply, write and lose again. Measured with 8 processes on one branch: half of the commits take 20 ms, one in a hundred two
seconds. With turns the same work takes no longer, and one in a hundred takes three times the median.

A turn is an advisory lock on the folder of the manifest, which leaves nothing behind and dies with its process. It is a courtesy,
never a condition: who cannot have it (an object store, a file system without locks, a holder that was stopped in the middle)
publishes without it, and the swap decides as always.

    a holds the turn, b and c wait       b has waited longer, so it asks more often, and is likely to be next
    a stops in the middle                nothing was published for `STALLED` seconds: b and c go on without a turn
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from omnigraph.errors import StorageError

try:
    import fcntl
except ImportError:  # a system without such locks
    fcntl = None  # type: ignore[assignment]

STALLED: Final = 0.25
"""Seconds without a publication after which a turn is not waited for any longer."""

_SELDOM, _OFTEN = 0.01, 0.0005
"""Longest and shortest pause between two tries, in seconds: the longer a process waits, the more often it asks."""


@contextmanager
def turn(folder: str | None) -> Iterator[None]:
    """Hold the turn of a manifest folder, or go on without it when there is none to be had."""
    held = None if folder is None or fcntl is None else _open(folder)
    if held is None:
        yield
        return
    try:
        _wait(held, f"{folder}/_versions")
        yield
    finally:
        os.close(held)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder, which must be had: for what is wrong when two do it at once. Held for a moment only."""
    if fcntl is None:
        raise StorageError(f"{folder} cannot be locked on this system", hint="Keep the graph on an object store.")
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _open(folder: str) -> int | None:
    try:
        return os.open(folder, os.O_RDONLY)
    except OSError:
        return None


def _wait(descriptor: int, published: str) -> None:
    """Return with the lock, or when whoever has it seems not to move."""
    begun = moved = time.monotonic()
    newest = _changed(published)
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            now = time.monotonic()
        except OSError:
            return
        if (latest := _changed(published)) != newest:
            newest, moved = latest, now
        elif now - moved > STALLED:
            return
        time.sleep(random.uniform(0.5, 1.0) * max(_OFTEN, _SELDOM / (1 + (now - begun) / _SELDOM)))


def _changed(folder: str) -> int:
    try:
        return os.stat(folder).st_mtime_ns
    except OSError:
        return 0
