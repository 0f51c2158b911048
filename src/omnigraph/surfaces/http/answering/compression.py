"""Answers are packed for clients that take them packed: zstd, or gzip.

Blobs are left as they are: their tags and ranges are about their own bytes.
"""

from __future__ import annotations

import zlib
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final, Protocol

import zstandard

Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]

LEAST: Final = 1_024
"""Answers of fewer bytes are sent as they are."""

_KINDS: Final = (b"application/json", b"application/x-ndjson", b"application/vnd.apache.arrow.stream", b"text/")


class Packer(Protocol):
    """Packs bytes as they come."""

    def compress(self, data: bytes, /) -> bytes: ...

    def flush(self) -> bytes: ...


def _gzip() -> Packer:
    return zlib.compressobj(6, zlib.DEFLATED, 16 + zlib.MAX_WBITS)


def _zstd() -> Packer:
    return zstandard.ZstdCompressor(level=3).compressobj()


_PACKERS: Final[dict[str, Callable[[], Packer]]] = {"zstd": _zstd, "gzip": _gzip}


def accepted(headers: list[tuple[bytes, bytes]]) -> str | None:
    """What a client takes, of what there is: the one it likes best, zstd if it does not care."""
    given = [value for name, value in headers if name == b"accept-encoding"]
    if not given:
        return None
    likes: dict[str, float] = {}
    for part in b",".join(given).decode("latin-1").split(","):
        coding, _, parameter = part.partition(";")
        likes[coding.strip().lower()] = _quality(parameter)
    best = max(_PACKERS, key=lambda coding: likes.get(coding, likes.get("*", 0.0)))
    return best if likes.get(best, likes.get("*", 0.0)) > 0 else None


def _quality(parameter: str) -> float:
    name, _, value = parameter.strip().partition("=")
    if name.strip().lower() != "q":
        return 1.0
    try:
        return float(value)
    except ValueError:
        return 0.0


class Packing:
    """Sends an answer packed, if it is worth it."""

    def __init__(self, send: Send, coding: str) -> None:
        self._send, self._coding = send, coding
        self._start: Message | None = None
        self._packer: Packer | None = None

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._start = message
            return
        if self._start is not None:
            self._begin(message)
            await self._send(self._start)
            self._start = None
        if self._packer is not None:
            more = message.get("more_body", False)
            packed = self._packer.compress(message.get("body", b"")) + (b"" if more else self._packer.flush())
            message = {**message, "body": packed}
            if more and not packed:
                return
        await self._send(message)

    def _begin(self, first: Message) -> None:
        assert self._start is not None
        headers = [(name.lower(), value) for name, value in self._start["headers"]]
        kind = next((value for name, value in headers if name == b"content-type"), b"")
        whole = not first.get("more_body", False)
        small = whole and len(first.get("body", b"")) < LEAST
        if self._start["status"] not in (200, 400, 404, 409) or not kind.startswith(_KINDS) or small:
            return
        self._packer = _PACKERS[self._coding]()
        kept = [(name, value) for name, value in headers if name != b"content-length"]
        self._start["headers"] = [*kept, (b"content-encoding", self._coding.encode()), (b"vary", b"Accept-Encoding")]
        if whole:
            self._packed_length(first)

    def _packed_length(self, first: Message) -> None:
        assert self._packer is not None
        assert self._start is not None
        packed = self._packer.compress(first.get("body", b"")) + self._packer.flush()
        self._start["headers"].append((b"content-length", str(len(packed)).encode()))
        first["body"] = packed
        self._packer = None
