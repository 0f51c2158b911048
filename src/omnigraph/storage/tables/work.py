"""Work that can run in any thread or process: a module-level function and payloads that are values.

Whoever has much to do with a table (rewrite fragments, index them, export or embed them) cuts it into payloads and hands both to
a `Run`. Here they are done one after the other, by `in_threads` side by side, and by the pipeline as tasks of a cluster: one
implementation, however it is run. A payload names its table by a `PinnedTable`, which any process can open.

    run(rewrite_group, [Group(table, (0, 1, 2)), Group(table, (3, 4))])   →   what each came to, in their order
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Protocol, TypeVar

from omnigraph.model.frozen import frozen
from omnigraph.storage.files.place import Durability, Place
from omnigraph.storage.tables.changes import TableState
from omnigraph.storage.tables.rows import Fragment
from omnigraph.storage.tables.table import Table, Tables

P = TypeVar("P")
R = TypeVar("R")


class Run(Protocol):
    """Somebody who does work."""

    def __call__(self, work: Callable[[P], R], payloads: Sequence[P], /) -> list[R]:
        """What a function gives for each payload, in their order. It may be called more than once for one of them."""
        ...


def here(work: Callable[[P], R], payloads: Sequence[P], /) -> list[R]:
    """One after the other, in this thread."""
    return [work(payload) for payload in payloads]


def in_threads(workers: int) -> Run:
    """Side by side, in threads of this process."""

    def run(work: Callable[[P], R], payloads: Sequence[P], /) -> list[R]:
        with ThreadPoolExecutor(workers, thread_name_prefix="omnigraph-work") as pool:
            return list(pool.map(work, payloads))

    return run


@frozen
class PinnedTable:
    """A table at a pin, as a value that any process can open."""

    uri: str
    options: tuple[tuple[str, str], ...]
    durability: Durability
    state: TableState

    @classmethod
    def of(cls, place: Place, state: TableState) -> PinnedTable:
        """A table of a place."""
        return cls(place.uri, tuple(sorted(place.options.items())), place.durability, state)

    def open(self) -> Table:
        """The table, opened in this process."""
        return _tables(self.uri, self.options, self.durability).open(self.state)

    @property
    def place(self) -> Place:
        """Where it is."""
        return Place.at(self.uri, dict(self.options), self.durability)


def cut(fragments: Iterable[Fragment], rows: int) -> Iterator[tuple[int, ...]]:
    """Numbers of consecutive fragments that together have so many rows, or few more."""
    group: list[int] = []
    held = 0
    for fragment in fragments:
        group.append(fragment.number)
        held += fragment.rows
        if held >= rows:
            yield tuple(group)
            group, held = [], 0
    if held:
        yield tuple(group)


@lru_cache(16)
def _tables(uri: str, options: tuple[tuple[str, str], ...], durability: Durability) -> Tables:
    return Tables(Place.at(uri, dict(options), durability))
