"""The lock of a folder, for what must not be done by two processes of one machine at once."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event

from omnigraph.errors import StorageError

try:
    import fcntl
except ImportError:  # a system without such locks
    fcntl = None  # type: ignore[assignment]


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


@contextmanager
def cleared(event: Event) -> Iterator[None]:
    """An event is not set for as long as the block runs."""
    try:
        event.clear()
        yield
    finally:
        event.set()
