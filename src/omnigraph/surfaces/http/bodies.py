"""What requests carry: read up to a limit, decoded strictly, and held against its struct.

A body is refused that is too large, is not what it says it is, is not UTF-8, repeats a member of an object, or is nested deeper
than anybody means. Numbers stay as they are, however large.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from types import coroutine
from typing import Any, Final, NoReturn, TypeVar

import msgspec

from omnigraph.errors import ResourceLimit, UsageError

T = TypeVar("T")

Receive = Callable[[], Awaitable[Any]]


class ClientGone(Exception):
    """The client went away while it was sending."""


class TooSlow(Exception):
    """The client does not go on sending."""


class WrongMediaType(Exception):
    """The body is not of a kind that the route takes."""


_MAY_BE_HALF: Final = re.compile(rb"\\u[dD][89a-fA-F]")


async def read_body(
    receive: Receive, declared: str | None, most: int, resource: str = "request_bytes", seconds: float | None = None
) -> bytes:
    """The whole body, or an error as soon as it is clear that it is too large."""
    parts = [part async for part in body_parts(receive, declared, most, resource, seconds)]
    return parts[0] if len(parts) == 1 else b"".join(parts)


async def body_parts(
    receive: Receive, declared: str | None, most: int, resource: str, seconds: float | None
) -> AsyncIterator[bytes]:
    """The body as it comes, up to a limit."""
    if declared is not None and declared.isascii() and declared.isdigit() and len(declared) < 19 and int(declared) > most:
        raise _too_large(int(declared), most, resource)
    size = 0
    while True:
        message = await _next_message(receive, seconds)
        if message["type"] == "http.disconnect":
            raise ClientGone
        part = message.get("body", b"")
        size += len(part)
        if size > most:
            raise _too_large(size, most, resource)
        yield part
        if not message.get("more_body", False):
            return


async def _next_message(receive: Receive, seconds: float | None) -> Any:
    """What comes next. Nobody watches the clock for what is there already, as small bodies are when their head has been read."""
    coming = receive().__await__()
    try:
        awaited = next(coming)
    except StopIteration as came:
        return came.value
    try:
        async with asyncio.timeout(seconds):
            return await _the_rest(awaited, coming)
    except TimeoutError:
        raise TooSlow(f"the rest of the body did not come within {seconds:g} s") from None


@coroutine
def _the_rest(awaited: Any, coming: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
    """What a coroutine comes to that has begun, and waits for something."""
    yield awaited
    return (yield from coming)


def _too_large(actual: int, most: int, resource: str) -> ResourceLimit:
    return ResourceLimit(
        f"the request has {actual} bytes, the most is {most}",
        resource=resource,
        actual=actual,
        limit=most,
        hint="Send it in parts.",
    )


def require_json(content_type: str | None) -> None:
    """Refuse what does not say that it is JSON."""
    kind = (content_type or "").split(";", 1)[0].strip().lower()
    if kind != "application/json" and not (kind.startswith("application/") and kind.endswith("+json")):
        raise WrongMediaType("expected a request with `Content-Type: application/json`")


def decode(body: bytes, struct: type[T], what: str = "request body") -> T:
    """A body as its struct."""
    try:
        return msgspec.convert(parse(body), struct)
    except msgspec.ValidationError as error:
        raise UsageError(f"invalid {what}: {error}", hint="") from None
    except ValueError as error:
        raise UsageError(f"invalid {what}: {error}", hint="") from None


def parse(body: bytes) -> Any:
    """JSON as values; raises ValueError."""
    try:
        found = _DECODER.decode(body.decode())
        if _MAY_BE_HALF.search(body) is not None:
            json.dumps(found, ensure_ascii=False).encode()
        return found
    except UnicodeEncodeError:
        raise ValueError('a text has half of a surrogate pair (as in "\\ud800"), which is no character') from None
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"{error.msg} at line {error.lineno} column {error.colno}") from None


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen = set[str]()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise ValueError(f"the member {twice!r} is there twice")
    return found


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not JSON")


_DECODER: Final = json.JSONDecoder(object_pairs_hook=_members, parse_constant=_no_constant)
