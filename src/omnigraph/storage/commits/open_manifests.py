"""Manifests that are open, and what publishes to them: those that were used lately.

What is known of a branch (its newest commits, what publishes to it) takes some hundred kilobytes, and a branch per agent means
many branches that nobody asks for again. So of more than `MOST` the one goes that was used longest ago, and a deleted one at
once. Whoever has one in hand goes on with it: two that are open of one manifest are to each other what they are in two processes.

    main, agent/1, …, agent/127      agent/128 is opened: agent/1 goes, main stays if it was used since
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import suppress
from threading import Lock
from typing import TYPE_CHECKING, Final, TypeVar

from omnigraph.storage.commits.manifest import Manifest

if TYPE_CHECKING:
    from omnigraph.storage.commits.publisher import Publisher

K = TypeVar("K")
V = TypeVar("V")

MOST: Final = 128
"""So many stay open."""

MOST_REFS: Final = 4_096
"""Of so many branches it is remembered where they are."""


class Lately(dict[K, V]):
    """What was put last; of more than `most` the one goes that came first."""

    def __init__(self, most: int, given: Mapping[K, V] | None = None) -> None:
        super().__init__(given or {})
        self._most = most

    def __setitem__(self, key: K, value: V) -> None:
        super().__setitem__(key, value)
        if len(self) > self._most:
            del self[next(iter(self))]


class OpenManifests:
    """By incarnation of the branch. Safe from any thread."""

    def __init__(self, opened: Callable[[str], Manifest]) -> None:
        self._opened = opened
        self._known: OrderedDict[str, Manifest] = OrderedDict()
        self._publishers: dict[str, Publisher] = {}
        self._latest: str | None = None
        self._lock = Lock()

    def get(self, incarnation: str) -> Manifest:
        """A manifest. Every read asks this, mostly for the one that was asked for before."""
        found = self._known.get(incarnation)
        if found is not None and self._latest == incarnation:
            return found
        with self._lock:
            return self._used(incarnation)

    def publisher(self, incarnation: str, made: Callable[[Manifest], Publisher]) -> Publisher:
        """What publishes to it; all threads that write to it share one."""
        with self._lock:
            manifest = self._used(incarnation)
            found = self._publishers.get(incarnation)
            if found is None:
                found = self._publishers[incarnation] = made(manifest)
            return found

    def let_go(self, incarnation: str) -> None:
        """Its branch is gone: hardly anybody will ask for it."""
        with self._lock:
            self._drop(incarnation)

    def __len__(self) -> int:
        return len(self._known)

    def _used(self, incarnation: str) -> Manifest:
        found = self._known.get(incarnation)
        if found is None:
            found = self._known[incarnation] = self._opened(incarnation)
            while len(self._known) > MOST:
                self._drop(next(iter(self._known)))
        self._known.move_to_end(incarnation)
        self._latest = incarnation
        return found

    def _drop(self, incarnation: str) -> None:
        with suppress(KeyError):
            del self._known[incarnation]
        with suppress(KeyError):
            del self._publishers[incarnation]
