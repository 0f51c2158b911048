"""Where a read runs: in a thread, or where it arrives once it has proved to be quick."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from omnigraph.surfaces.http.quick import QuickReads


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

    def run_here(self, read: Read) -> str:
        until = time.thread_time() + read.work
        while time.thread_time() < until:
            pass
        time.sleep(read.wait)
        return "here" if read.quick else "thread"


def where(reads: QuickReads, read: Read) -> str:
    return str(asyncio.run(reads.run(Call(), read)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("read", "expected"),
    [
        (Read(), ["thread", "here", "here", "here"]),
        (Read(work=0.01), ["thread", "thread", "thread", "thread"]),
        (Read(wait=0.01), ["thread", "here", "thread", "thread"]),  # it waits for something: seen once, then never again
    ],
)
def test_a_read_runs_here_once_it_is_known_to_take_a_moment(read: Read, expected: list[str]) -> None:
    reads = QuickReads()
    assert [where(reads, read) for _ in expected] == expected


def test_a_commit_begins_anew() -> None:
    reads = QuickReads()
    slow = [where(reads, Read(wait=0.01)) for _ in range(3)]
    assert [*slow, *(where(reads, Read(layout="b")) for _ in range(3))] == ["thread", "here", "thread", "thread", "here", "here"]


def test_reads_that_wait_for_their_turn_among_threads_are_quick_all_the_same() -> None:
    """Thirty-two at once, each of half a millisecond of work: by the clock none of them takes less than two."""
    reads = QuickReads()

    async def many() -> list[Any]:
        return await asyncio.gather(*(reads.run(Call(), Read(work=0.0005)) for _ in range(32)))  # type: ignore[arg-type]

    assert set(asyncio.run(many())) == {"thread"}
    assert where(reads, Read(work=0.0005)) == "here"
