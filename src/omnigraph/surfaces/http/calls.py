"""One request while it is answered: what was sent, by whom, about which graph, and the way to the door."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Event
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import parse_qsl

from omnigraph.errors import NotFound, UsageError
from omnigraph.service.caller import Caller
from omnigraph.surfaces.http.bodies import Receive, decode, read_body, require_json
from omnigraph.surfaces.http.graphs import ServedGraph
from omnigraph.surfaces.http.routing import Route, decoded

if TYPE_CHECKING:
    from omnigraph.service.operation import Operation
    from omnigraph.service.service import Permit
    from omnigraph.surfaces.http.application import Application

R = TypeVar("R")
T = TypeVar("T")


@dataclass(slots=True)
class Call:
    """A request."""

    application: Application
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
    def graph(self) -> ServedGraph:
        """The graph it is about."""
        assert self.found is not None
        return self.found

    def name(self, of: str) -> str:
        """A name in the path."""
        return decoded(self.names[of])

    def header(self, name: bytes) -> str | None:
        """The first header of a name."""
        return next((value.decode("latin-1") for key, value in self.headers if key == name), None)

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

    async def body(self, resource: str = "request_bytes") -> bytes:
        """The body as it is."""
        length, slowest = self.header(b"content-length"), self.application.limits.body_seconds
        return await read_body(self.receive, length, self.route.largest_body, resource, slowest)

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
        return self.application.service.run(self.caller, operation, permit)

    async def authorise(self, operation: Operation[Any]) -> Permit:
        """What the door says before the content is there."""
        return await self.application.threads.run(None, lambda: self.application.service.authorise(self.caller, operation))

    async def do(self, work: Callable[[], R]) -> R:
        """Something that takes a moment and needs no permission, away from the event loop."""
        return await self.application.threads.run(self, work)


def no_graph(graph_id: str) -> NotFound:
    """What to say when a graph is not served."""
    return NotFound(f"graph '{graph_id}' not found", what="graph", name=graph_id)
