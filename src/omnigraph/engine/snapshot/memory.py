"""Memory with a budget: columns and adjacency that were read once and may be wanted again.

Everything kept here is derived from a pinned table and keyed by its pin, so it can be thrown away at any time and can never be
stale. When the budget is exceeded, what was not used for the longest time goes first. And every commit makes another pin: of the
same column at more than a few pins, those that nobody has used for some seconds go when the next one comes, or a graph that is
written to all day would fill its budget with columns of the past.

    memory = Memory(budget=1 << 30)
    column = memory.get(("nodes/5-7", 0x9f3…, "column", "age"))          None: read it, then
    memory.put(("nodes/5-7", 0x9f3…, "column", "age"), column, column.nbytes)
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any, Final, TypeVar

from omnigraph.model.frozen import frozen
from omnigraph.model.phrases import counted, one_line, size

T = TypeVar("T")
Key = tuple[Hashable, ...]
"""The table, its pin, and what it is."""

PINS: Final = 8
IDLE_SECONDS: Final = 5.0
"""Of one thing, so many pins are kept however long nobody has used them: branches have their own. Of more, those in use."""


@frozen
class MemoryUse:
    """How the memory is used."""

    budget: int
    used: int
    entries: int
    hits: int
    misses: int
    evicted: int

    def __repr__(self) -> str:
        numbers = f"{self.hits:,} hits, {self.misses:,} misses, {self.evicted:,} evicted"
        return one_line(f"Memory: {size(self.used)} of {size(self.budget)} in {counted(self.entries, 'column')}, {numbers}")


class _Entry:
    """Something that is kept."""

    __slots__ = ("size", "used_at", "value")

    def __init__(self, value: Any, size: int) -> None:
        self.value, self.size, self.used_at = value, size, time.monotonic()


class Memory:
    """Least recently used goes first. Safe from any thread."""

    def __init__(self, budget: int) -> None:
        self.budget = budget
        self._entries: OrderedDict[Key, _Entry] = OrderedDict()
        self._pins: dict[Key, OrderedDict[Key, None]] = {}
        """Of each thing, its keys at all pins, the one that was used last at the end."""
        self._used = 0
        self._hits = self._misses = self._evicted = 0
        self._lock = Lock()

    def get(self, key: Key) -> Any | None:
        """What is kept under a key, if it still is."""
        with self._lock:
            found = self._entries.get(key)
            if found is None:
                self._misses += 1
                return None
            self._hits += 1
            self._entries.move_to_end(key)
            self._pins[_thing(key)].move_to_end(key)
            found.used_at = time.monotonic()
            return found.value

    def peek(self, key: Key) -> Any | None:
        """The same without counting as a use."""
        found = self._entries.get(key)
        return None if found is None else found.value

    def take(self, key: Key) -> Any | None:
        """What is kept under a key, which is let go of."""
        with self._lock:
            return self._drop(key).value if key in self._entries else None

    def put(self, key: Key, value: T, size: int) -> T:
        """Keep something of a size in bytes. What is larger than the whole budget is not kept; the caller has it anyway."""
        if size > self.budget:
            return value
        with self._lock:
            if key in self._entries:
                self._drop(key)
            made = self._entries[key] = _Entry(value, size)
            self._used += size
            pins = self._pins.setdefault(_thing(key), OrderedDict())
            pins[key] = None
            while len(pins) > PINS and self._entries[oldest := next(iter(pins))].used_at < made.used_at - IDLE_SECONDS:
                self._drop(oldest)
                self._evicted += 1
            while self._used > self.budget:
                self._drop(next(iter(self._entries)))
                self._evicted += 1
        return value

    def _drop(self, key: Key) -> _Entry:
        gone = self._entries.pop(key)
        self._used -= gone.size
        thing = _thing(key)
        pins = self._pins[thing]
        del pins[key]
        if not pins:
            del self._pins[thing]
        return gone

    def keep(self, key: Key, make: Callable[[], T], size: Callable[[T], int]) -> T:
        """What is kept under a key, or is made now."""
        found: T | None = self.get(key)
        if found is None:
            found = make()
            self.put(key, found, size(found))
        return found

    def forget(self) -> None:
        """Let go of everything."""
        with self._lock:
            self._entries.clear()
            self._pins.clear()
            self._used = 0

    def use(self) -> MemoryUse:
        """Numbers for people."""
        with self._lock:
            return MemoryUse(self.budget, self._used, len(self._entries), self._hits, self._misses, self._evicted)

    def entries(self) -> list[tuple[Key, int]]:
        """What is kept and its size, least recently used first."""
        with self._lock:
            return [(key, entry.size) for key, entry in self._entries.items()]


def _thing(key: Key) -> Key:
    """What it is, whichever pin and rows it is of."""
    return (key[0], *key[2:4])
