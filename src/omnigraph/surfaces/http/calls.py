"""One request while it is answered: what was sent, by whom, about which graph, and the way to the door."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import parse_qsl

from omnigraph.errors import NotFound, UsageError
from omnigraph.model.idempotency_keys import key_of
from omnigraph.service.caller import Caller
from omnigraph.surfaces.http.bodies import Receive, body_parts, decode, read_body, require_json
from omnigraph.surfaces.http.graphs import ServedGraph
from omnigraph.surfaces.http.routing import Route, decoded

if TYPE_CHECKING:
    from omnigraph.service.operation import Operation
    from omnigraph.service.service import Permit, Service
    from omnigraph.surfaces.http.application import Application
    from omnigraph.surfaces.http.revisions import InUse, Revision

R = TypeVar("R")
T = TypeVar("T")

_WRITTEN: Final = 1 << 20
"""Bytes of a body that are written to a file at a time."""


@dataclass(slots=True)
class Call:
    """A request."""

    application: Application
    use: InUse
    """What it is answered by."""
    route: Route
    method: str
    names: Mapping[str, str]
    """Names in the path, as they were sent."""
    query_string: bytes
    headers: list[tuple[bytes, bytes]]
    receive: Receive
    caller: Caller
    found: ServedGraph | None = None
    cancel: Event | None = None
    """Set when the client has gone, if somebody wants to know."""

    @property
    def revision(self) -> Revision:
        """What is served to it."""
        return self.use.revision

    @property
    def service(self) -> Service:
        """The door."""
        return self.use.service

    @property
    def graph(self) -> ServedGraph:
        """The graph it is about."""
        assert self.found is not None
        return self.found

    def gone(self) -> Event:
        """Set when the client goes."""
        self.cancel = Event()
        return self.cancel

    def name(self, of: str) -> str:
        """A name in the path."""
        return decoded(self.names[of])

    def header(self, name: bytes) -> str | None:
        """The first header of a name."""
        return next((value.decode("latin-1") for key, value in self.headers if key == name), None)

    @property
    def idempotency_key(self) -> str | None:
        """What tells a write from all others, if it may be repeated."""
        values = self.header_values(b"idempotency-key")
        if len(values) > 1:
            raise UsageError("Idempotency-Key must be given once", hint="Give each write a key of its own.")
        return key_of("Idempotency-Key", values[0].decode("latin-1")) if values else None

    def header_values(self, name: bytes) -> list[bytes]:
        """Every header of a name."""
        return [value for key, value in self.headers if key == name]

    @property
    def parameters(self) -> list[tuple[str, str]]:
        """The query string."""
        try:
            return parse_qsl(self.query_string.decode(), keep_blank_values=True, errors="strict", max_num_fields=1_000)
        except ValueError:
            raise UsageError("the query string cannot be read", hint="Names and values are UTF-8, percent-encoded.") from None

    def parameter(self, name: str) -> str | None:
        """The value of a parameter that is given once at most."""
        values = [value for key, value in self.parameters if key == name]
        if len(values) > 1:
            raise UsageError(f"query parameter '{name}' is given {len(values)} times", hint="Give it once.")
        return values[0] if values else None

    def state(self) -> tuple[str | None, str | None]:
        """What is asked about: a branch, or a commit or tag (`snapshot`); not both."""
        branch, snapshot = self.parameter("branch") or None, self.parameter("snapshot") or None
        return one_state(branch, snapshot)

    def flag(self, name: str) -> bool:
        """A parameter that is true or false; false unless it is given."""
        value = self.parameter(name)
        if value not in (None, "true", "false"):
            raise UsageError(f"query parameter '{name}' is true or false, not {value!r}", hint="")
        return value == "true"

    def one_of(self, name: str, known: tuple[str, ...]) -> str | None:
        """A parameter that is one of some words."""
        value = self.parameter(name) or None
        if value is not None and value not in known:
            raise UsageError(f"{name} must be one of {', '.join(known)}, not {value!r}", hint="")
        return value

    async def body(self, resource: str = "request_bytes") -> bytes:
        """The body as it is."""
        length, slowest = self.header(b"content-length"), self.application.limits.body_seconds
        return await read_body(self.receive, length, self.route.largest_body, resource, slowest)

    async def body_to(self, path: Path, most: int, resource: str) -> None:
        """The body into a file: for bodies that memory is too small for."""
        length, slowest = self.header(b"content-length"), self.application.limits.body_seconds
        with path.open("wb") as file:
            kept: list[bytes] = []
            async for part in body_parts(self.receive, length, most, resource, slowest):
                kept.append(part)
                if sum(map(len, kept)) >= _WRITTEN:
                    await self._unwatched(partial(file.writelines, kept))
                    kept = []
            await self._unwatched(partial(file.writelines, kept))

    async def json(self, struct: type[T]) -> T:
        """The body as its struct."""
        require_json(self.header(b"content-type"))
        return decode(await self.body(), struct)

    async def run(self, operation: Operation[R], permit: Permit | None = None) -> R:
        """Through the door, away from the event loop."""
        return await self.application.threads.run(self, lambda: self.service_run(operation, permit), writes=operation.writes)

    def run_here(self, operation: Operation[R]) -> R:
        """Through the door, at once: for what is known to be quick."""
        return self.service_run(operation, None)

    def service_run(self, operation: Operation[R], permit: Permit | None) -> R:
        """Through the door, in this thread."""
        return self.service.run(self.caller, operation, permit)

    async def authorise(self, operation: Operation[Any]) -> Permit:
        """What the door says before the content is there."""
        return await self._unwatched(lambda: self.service.authorise(self.caller, operation))

    async def _unwatched(self, work: Callable[[], R]) -> R:
        """In a thread, while the body is still coming."""
        return await self.application.threads.run(self, work, watched=False)

    async def do(self, work: Callable[[], R]) -> R:
        """Something that takes a moment and needs no permission, away from the event loop."""
        return await self.application.threads.run(self, work)


def one_state(branch: str | None, snapshot: str | None) -> tuple[str | None, str | None]:
    """A branch or a commit."""
    if branch is not None and snapshot is not None:
        raise UsageError("request may specify branch or snapshot, not both", hint="Leave one of them out.")
    return branch, snapshot


def positive(text: str) -> int | None:
    """A positive whole number, if a text is one that somebody can mean."""
    return (int(text) or None) if text.isascii() and text.isdigit() and len(text) < 19 else None


def no_graph(graph_id: str) -> NotFound:
    """What to say when a graph is not served."""
    return NotFound(f"graph '{graph_id}' not found", what="graph", name=graph_id)
