"""Turns: processes of one machine publish to a branch one after the other, so that none waits much longer than the others.

The swap alone is safe but not fair. Whoever has just won knows the newest head and is the quickest to try again; those who lost
read, apply, write and lose again. Measured with 8 processes on one branch: half of the commits take 20 ms, one in a hundred two
seconds. With turns the same work takes no longer, and one in a hundred takes three times the median.

A turn is an advisory lock on the folder of the manifest, and before it there is a line: a lock on each of the folders in it. Who
has a place waits for the one in front, takes it, and leaves its own to the next. So whoever is in the line is served in order,
and the last place is given in the order of the system's own queue. Nobody asks again and again: with eight processes that took a
quarter of what a commit takes. Locks leave nothing behind and die with their process.

    data          _transactions    _versions    the folder itself
    e, f ask      d                c            b publishes          a comes back: it asks for the last place, like e and f

All that is a courtesy, never a condition: who cannot have a turn (an object store, a file system without locks, somebody in front
who was stopped in the middle) publishes without it, and the swap decides as always. Who then loses a swap lines up again.

    b stops in the middle    nothing was published for `STALLED` seconds or a little more: c goes on without a turn
    c has published          d saw that, and goes on waiting
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from queue import SimpleQueue
from threading import Event, Lock, Thread
from typing import Final

from omnigraph.storage.files.dataset_folders import DATA, TRANSACTIONS, VERSIONS

try:
    import fcntl
except ImportError:  # a system without such locks
    fcntl = None  # type: ignore[assignment]

STALLED: Final = 0.25
"""Seconds without a publication after which a turn is not waited for any longer; up to twice as many, or all would go at once."""

_SHORTEST: Final = 0.001
"""Shortest pause between two looks at whether anything was published, in seconds."""

_LINE: Final = (DATA, TRANSACTIONS, VERSIONS)
"""Folders of a manifest: the places in front of a turn, the last one first."""


def _nothing() -> None:
    """There is nothing to be done."""


class Turns:
    """The turns of one process on one branch. Used by one thread at a time: whoever leads."""

    def __init__(self, folder: str | None) -> None:
        self._line = [] if folder is None or fcntl is None else [*(f"{folder}/{name}" for name in _LINE), folder]
        self._published = f"{folder}/{VERSIONS}"
        self._held: int | None = None

    @contextmanager
    def turn(self, meanwhile: Callable[[], None] = _nothing) -> Iterator[None]:
        """Hold a turn, or go on without it when there is none to be had. What is to be done `meanwhile` is, if it has to wait."""
        self.wait(meanwhile)
        try:
            yield
        finally:
            self.leave()

    def wait(self, meanwhile: Callable[[], None] = _nothing) -> None:
        """Wait for a turn, unless it is held already."""
        if self._held is not None:
            return
        try:
            for folder in self._line:
                meanwhile = self._move_up(folder, meanwhile)
        except OSError:  # nobody moves, or there are no such locks there
            self.leave()
        except BaseException:
            self.leave()
            raise

    def _move_up(self, folder: str, meanwhile: Callable[[], None]) -> Callable[[], None]:
        """Take a place as soon as it is free, and leave the one before it; gives what is left to be done meanwhile."""
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            waited = _lock(descriptor, self._published, meanwhile)
        except BaseException:
            os.close(descriptor)
            raise
        self.leave()
        self._held = descriptor
        return _nothing if waited else meanwhile

    def leave(self) -> None:
        """Give a turn to the next."""
        if self._held is not None:
            os.close(self._held)
            self._held = None


def _lock(descriptor: int, published: str, meanwhile: Callable[[], None]) -> bool:
    """Return with the lock, and whether it was waited for. Raises if whoever has it seems not to move."""
    with suppress(BlockingIOError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return False
    moved, newest = time.monotonic(), _changed(published)
    patience = STALLED * random.uniform(1, 2)
    asking = _Asking(descriptor)
    meanwhile()
    while not asking.answered.wait(max(patience / 4, _SHORTEST)):
        now = time.monotonic()
        if (latest := _changed(published)) != newest:
            newest, moved = latest, now
        elif now - moved > patience:
            asking.give_up()
            raise TimeoutError
    if asking.failed is not None:
        raise asking.failed
    return True


class _Asking:
    """Waits for a lock in the system's own queue, on behalf of a thread that must not wait for ever."""

    def __init__(self, descriptor: int) -> None:
        self._own = os.dup(descriptor)
        self._deciding = Lock()
        self._given_up = False
        self.answered = Event()
        self.failed: OSError | None = None
        try:
            helper = _IDLE.pop()
        except IndexError:
            helper = _Helper()
        helper.ask(self)

    def run(self, helper: _Helper) -> None:
        """Wait, and be answered."""
        try:
            fcntl.flock(self._own, fcntl.LOCK_EX)
        except OSError as error:
            self.failed = error
        with self._deciding:
            if self._given_up and self.failed is None:
                fcntl.flock(self._own, fcntl.LOCK_UN)  # nobody waits for it any longer
            os.close(self._own)
            _IDLE.append(helper)
            self.answered.set()

    def give_up(self) -> None:
        """Let go of the lock as soon as it comes."""
        with self._deciding:
            self._given_up = True


class _Helper(Thread):
    """A thread that waits for locks. It is kept: every commit beside others has up to four to wait for."""

    def __init__(self) -> None:
        super().__init__(name="omnigraph-turn", daemon=True)
        self._asked: SimpleQueue[_Asking] = SimpleQueue()
        self.start()

    def ask(self, asking: _Asking) -> None:
        self._asked.put(asking)

    def run(self) -> None:
        while True:
            self._asked.get().run(self)


_IDLE: list[_Helper] = []
"""Those that wait for nothing."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_IDLE.clear)  # a child has none of them


def _changed(folder: str) -> int:
    try:
        return os.stat(folder).st_mtime_ns
    except OSError:  # the branch is gone: whoever looks at it says so
        return 0
