"""MCP over standard input and output: a process that a client starts and speaks to.

Lines are read by the SDK; a tool runs in a thread, so that a slow one delays neither the others nor a cancellation. When a
request is cancelled, or the client goes, reads are stopped and left; a write that has begun is let to its end. Standard output
belongs to the protocol: whatever else prints goes to standard error, as do logs.
"""

from __future__ import annotations

import logging
import re
import signal
import sys
from collections.abc import Callable
from threading import Event
from typing import Final, TypeVar

import anyio
import anyio.to_thread
from mcp.server.stdio import stdio_server

from omnigraph.surfaces.mcp.protocol import server
from omnigraph.surfaces.mcp.session import Session

R = TypeVar("R")

_AT_ONCE: Final = 16
"""Tools that run at a time; others wait."""

_UNSAFE: Final = re.compile(r"[^A-Za-z0-9_-]+")
_LONGEST: Final = 64


class Threads:
    """Where tools run."""

    def __init__(self) -> None:
        self._room = anyio.CapacityLimiter(_AT_ONCE)

    async def __call__(self, work: Callable[[Event], R], *, writes: bool) -> R:
        """Run something in a thread. A read is left when nobody wants it any more; a write ends once it has begun."""
        cancel = Event()
        try:
            return await anyio.to_thread.run_sync(lambda: work(cancel), abandon_on_cancel=not writes, limiter=self._room)
        finally:
            cancel.set()


class OneClient:
    """The host of one connection: its session is made when the client has said its name, and stays."""

    def __init__(self, make: Callable[[str, Threads], Session]) -> None:
        self._make = make
        self._threads = Threads()
        self._session: Session | None = None

    def session(self, client: str | None) -> Session:
        """The session; another name later does not change it."""
        if self._session is None:
            self._session = self._make(client_name(client), self._threads)
        return self._session


def client_name(given: str | None) -> str:
    """The name of a client as part of the name of a branch: letters, digits, `-` and `_`."""
    return _UNSAFE.sub("-", given or "").strip("-")[:_LONGEST].strip("-").lower() or "client"


def run(make: Callable[[str, Threads], Session], instructions: str) -> None:
    """Serve until the client goes."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a thread waits for input, which no exception reaches
    anyio.run(_serve, make, instructions)


async def _serve(make: Callable[[str, Threads], Session], instructions: str) -> None:
    async with stdio_server() as (requests, answers):
        sdk = server(instructions, OneClient(make))
        await sdk.run(requests, answers, sdk.create_initialization_options())
