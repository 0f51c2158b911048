"""Connections that keep to limits while their request is still coming: a bounded head, within a bounded time.

The server below bounds neither; a client that sends its headers a byte a minute, or without end, would be kept forever.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_BYTES: Final = 64 << 10
HEAD_SECONDS: Final = 15.0


def _refusal(status: bytes, error: bytes) -> bytes:
    body = b'{"error":"%b","code":"bad_request"}' % error
    head = b"HTTP/1.1 %b\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: %d\r\n\r\n"
    return head % (status, len(body)) + body


_TOO_LARGE: Final = _refusal(b"431 Request Header Fields Too Large", b"the headers of the request are too large")
_NOT_HTTP: Final = _refusal(b"400 Bad Request", b"the request is not HTTP")


class BoundedConnection(HttpToolsProtocol):
    """One connection."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._head = 0
        self._in_head = True
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._in_head:
            self._head += len(data)
            if self._timer is None:
                self._timer = self.loop.call_later(HEAD_SECONDS, self._late)
        super().data_received(data)
        if self._in_head and self._head > HEAD_BYTES and not self.transport.is_closing():
            self.transport.write(_TOO_LARGE)
            self.transport.close()

    def send_400_response(self, msg: str) -> None:
        self.transport.write(_NOT_HTTP)
        self.transport.close()

    def on_headers_complete(self) -> None:
        self._in_head, self._head = False, 0
        self._stop_timer()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._in_head = True

    def _await_head(self) -> None:
        self._timer = self.loop.call_later(HEAD_SECONDS, self._late)

    def _late(self) -> None:
        if self._in_head and not self.transport.is_closing():
            self.transport.close()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
