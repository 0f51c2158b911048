"""Memory with a budget: columns and adjacency that were read once and may be wanted again.

Everything kept here is derived from a pinned table and keyed by its pin, so it can be thrown away at any time and can never be
stale. When the budget is exceeded, what was not used for the longest time goes first.

    memory = Memory(budget=1 << 30)
    column = memory.get(("nodes/5-7", 0x9f3…, "column", "age"))          None: read it, then
    memory.put(("nodes/5-7", 0x9f3…, "column", "age"), column, column.nbytes)
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any, TypeVar

from omnigraph.model.frozen import frozen
from omnigraph.model.phrases import counted, one_line, size

T = TypeVar("T")
Key = tuple[Hashable, ...]


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


class Memory:
    """Least recently used goes first. Safe from any thread."""

    def __init__(self, budget: int) -> None:
        self.budget = budget
        self._entries: OrderedDict[Key, tuple[Any, int]] = OrderedDict()
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
            return found[0]

    def peek(self, key: Key) -> Any | None:
        """The same without counting as a use."""
        found = self._entries.get(key)
        return None if found is None else found[0]

    def take(self, key: Key) -> Any | None:
        """What is kept under a key, which is let go of."""
        with self._lock:
            found = self._entries.pop(key, None)
            if found is None:
                return None
            self._used -= found[1]
            return found[0]

    def put(self, key: Key, value: T, size: int) -> T:
        """Keep something of a size in bytes. What is larger than the whole budget is not kept; the caller has it anyway."""
        if size > self.budget:
            return value
        with self._lock:
            old = self._entries.pop(key, None)
            self._used += size - (0 if old is None else old[1])
            self._entries[key] = (value, size)
            while self._used > self.budget:
                _, (_, freed) = self._entries.popitem(last=False)
                self._used -= freed
                self._evicted += 1
        return value

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
            self._used = 0

    def use(self) -> MemoryUse:
        """Numbers for people."""
        with self._lock:
            return MemoryUse(self.budget, self._used, len(self._entries), self._hits, self._misses, self._evicted)

    def entries(self) -> list[tuple[Key, int]]:
        """What is kept and its size, least recently used first."""
        with self._lock:
            return [(key, size) for key, (_, size) in self._entries.items()]
