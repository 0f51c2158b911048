"""Where operations run, so that a slow one delays nobody.

What is known to be quick runs at once, in the event loop. Everything else has threads: some for reads, more for writes, which
wait for each other in the group commit. While a read runs there, the connection is watched; when the client goes, the read is
cancelled.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

from omnigraph.surfaces.http.bodies import ClientGone

if TYPE_CHECKING:
    from omnigraph.surfaces.http.calls import Call

_log = logging.getLogger("omnigraph.http")

R = TypeVar("R")

READS = max(4, 2 * (os.cpu_count() or 1))
WRITES = 64


class Threads:
    """Threads for the operations of a server."""

    def __init__(self, reads: int = READS, writes: int = WRITES) -> None:
        self._reads = ThreadPoolExecutor(reads, "omnigraph-read")
        self._writes = ThreadPoolExecutor(writes, "omnigraph-write")
        self.streams = ThreadPoolExecutor(reads, "omnigraph-stream")
        """For answers that are sent while they are made."""
        self._last = ThreadPoolExecutor(1, "omnigraph-close")

    async def run(self, call: Call, work: Callable[[], R], *, writes: bool = False, watched: bool = True) -> R:
        """Run something in a thread. A write ends once it has begun; a read is left when the client of its call has gone.

        The call's body must have been read, unless it is not `watched`: whoever watches a connection takes what comes from it.
        """
        running = asyncio.get_running_loop().run_in_executor(self._writes if writes else self._reads, work)
        call.use.until(running)
        if writes or not watched:
            return await asyncio.shield(running)
        watching: asyncio.Future[Any] = asyncio.ensure_future(_gone(call))
        try:
            await asyncio.wait([running, watching], return_when=asyncio.FIRST_COMPLETED)
            if not running.done():
                if call.cancel is not None:
                    call.cancel.set()
                running.add_done_callback(read_and_forget)
                raise ClientGone
            return await running
        finally:
            watching.cancel()

    def write(self, work: Callable[[], R]) -> asyncio.Future[R]:
        """Begin a write."""
        return asyncio.get_running_loop().run_in_executor(self._writes, work)

    def later(self, work: Callable[[], None]) -> None:
        """Do something that nobody waits for."""
        self._last.submit(_or_say_why, work)

    def close(self) -> None:
        """Wait for what is running."""
        self._reads.shutdown()
        self.streams.shutdown(cancel_futures=True)
        self._writes.shutdown()
        self._last.shutdown()


def _or_say_why(work: Callable[[], None]) -> None:
    try:
        work()
    except Exception:
        _log.exception("graphs that are not served any more could not be closed")


def read_and_forget(done: asyncio.Future[Any]) -> None:
    """Nobody waits for this any more: take its error, so that nobody is told that it was never taken."""
    if not done.cancelled():
        done.exception()


async def _gone(call: Call) -> None:
    """Ends when the client goes. The whole request has been read before."""
    while (await call.receive())["type"] != "http.disconnect":
        pass
