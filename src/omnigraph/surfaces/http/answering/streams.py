"""Answers that are sent while they are made."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Final

from starlette.responses import StreamingResponse

if TYPE_CHECKING:
    from omnigraph.surfaces.http.calls import Call

_log = logging.getLogger(__name__)

PIECE: Final = 64 << 10


class Stream(StreamingResponse):
    """Bytes that are made in a thread and sent in pieces of at most 64 KiB. A failure on the way ends the connection: what was
    sent is not an answer then, and nothing that looks like an end is sent after it."""

    def __init__(
        self,
        call: Call,
        chunks: Iterator[bytes],
        media_type: str,
        headers: dict[str, str] | None = None,
        held: AbstractContextManager[object] | None = None,
    ) -> None:
        super().__init__(_pieces(call, chunks, held or nullcontext()), 200, headers, media_type)


async def _pieces(call: Call, chunks: Iterator[bytes], held: AbstractContextManager[object]) -> AsyncIterator[bytes]:
    loop = asyncio.get_running_loop()
    pool = call.application.threads.streams
    with held:
        while True:
            making = loop.run_in_executor(pool, next, chunks, None)
            call.use.until(making)
            chunk = await making
            if chunk is None:
                return
            for at in range(0, len(chunk), PIECE):
                yield chunk[at : at + PIECE]
