"""Where a read runs: in a thread, or where it arrives once it has proved to be quick."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from omnigraph.surfaces.http.quick import QuickReads


class Clock:
    """Time that passes by what threads work and wait, one after the other."""

    def __init__(self) -> None:
        self._now, self._lock, self._own = 0.0, threading.Lock(), threading.local()

    def now(self) -> float:
        return self._now

    def work(self) -> float:
        return getattr(self._own, "worked", 0.0)

    def passes(self, work: float, wait: float) -> None:
        self._own.worked = self.work() + work
        with self._lock:
            self._now += work + wait


class Read:
    """A read that works and waits for so long, of a state that has a name."""

    source, query_name, branch, at = "query q() { … }", None, None, None

    def __init__(self, work: float = 0.0, wait: float = 0.0, layout: str = "a") -> None:
        self.work, self.wait, self.layout, self.quick = work, wait, layout, False

    def seen(self, graph: object) -> Any:
        return SimpleNamespace(snapshot=SimpleNamespace(layout=self.layout))

    def until(self, gone: object) -> Read:
        return self

    def quickly(self, view: object) -> Read:
        made = Read(self.work, self.wait, self.layout)
        made.quick = True
        return made

    def is_small(self, graph: object, view: object) -> bool:
        return True


class Call:
    graph = SimpleNamespace(uri="g", ref="g", is_local=True)
    revision = SimpleNamespace(graphs=SimpleNamespace(open=lambda ref: ref))

    def gone(self) -> None: ...

    async def do(self, work: Callable[[], Any]) -> Any:
        return await asyncio.to_thread(work)

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def run_here(self, read: Read) -> str:
        self._clock.passes(read.work, read.wait)
        return "here" if read.quick else "thread"


class Reads:
    """Reads on a machine whose clock is as quick as its work."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.quick = QuickReads(self.clock.now, self.clock.work)

    def where(self, read: Read) -> str:
        return str(asyncio.run(self.run(read)))

    async def run(self, read: Read) -> Any:
        return await self.quick.run(Call(self.clock), read)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("read", "expected"),
    [
        (Read(), ["thread", "here", "here", "here"]),
        (Read(work=0.01), ["thread", "thread", "thread", "thread"]),
        (Read(wait=0.01), ["thread", "here", "thread", "thread"]),  # it waits for something: seen once, then never again
    ],
)
def test_a_read_runs_here_once_it_is_known_to_take_a_moment(read: Read, expected: list[str]) -> None:
    reads = Reads()
    assert [reads.where(read) for _ in expected] == expected


def test_a_commit_begins_anew() -> None:
    reads = Reads()
    slow = [reads.where(Read(wait=0.01)) for _ in range(3)]
    assert [*slow, *(reads.where(Read(layout="b")) for _ in range(3))] == ["thread", "here", "thread", "thread", "here", "here"]


def test_reads_that_wait_for_their_turn_among_threads_are_quick_all_the_same() -> None:
    """Thirty-two at once, each of half a millisecond of work: by the clock none of them takes less than two."""
    reads = Reads()

    async def many() -> list[Any]:
        return await asyncio.gather(*(reads.run(Read(work=0.0005)) for _ in range(32)))

    assert set(asyncio.run(many())) == {"thread"}
    assert reads.where(Read(work=0.0005)) == "here"
