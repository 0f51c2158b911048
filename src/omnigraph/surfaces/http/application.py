"""The ASGI application: every request goes through the same checks, in the same order.

    route (404, 405) → token (401) → contract (400) → still serving (503) → graph id (400) → graph (404, 503) → parameters (400)
    → handler → answer, with its id

The contract is looked at only by a server that was told to insist on one; 503 is for callers who know it (`wire.contract`).

A request is answered by one revision (`revisions`) from its first check to its last byte. What a handler raises is answered by
the table in `wire.errors`; what is not one of our errors is logged and answered as an internal error. Nothing that is answered
says where on this machine something is.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

from starlette.responses import Response

from omnigraph.errors import GraphError, UsageError
from omnigraph.model.randomness import random_bytes
from omnigraph.model.versions import API_VERSION
from omnigraph.policy.port import Access, Action
from omnigraph.service.admission import PerActor
from omnigraph.service.audit import Sink
from omnigraph.service.caller import Caller, Origin
from omnigraph.service.graphs import GraphRef
from omnigraph.service.service import Service
from omnigraph.surfaces.http.answering.answers import error_answer, refused
from omnigraph.surfaces.http.answering.compression import Packing, accepted
from omnigraph.surfaces.http.answering.exports import ExportSlots
from omnigraph.surfaces.http.bodies import ClientGone, TooSlow, WrongMediaType
from omnigraph.surfaces.http.calls import Call, no_graph
from omnigraph.surfaces.http.describing.parameters import refuse_condition, refuse_key, require_known
from omnigraph.surfaces.http.graphs import is_graph_id
from omnigraph.surfaces.http.handlers.writing import CONDITION
from omnigraph.surfaces.http.process.limits import Limits
from omnigraph.surfaces.http.process.metrics import Metrics
from omnigraph.surfaces.http.quick import QuickReads
from omnigraph.surfaces.http.revisions import InUse, Revision
from omnigraph.surfaces.http.routes import ROUTES
from omnigraph.surfaces.http.routing import ROUTE, Match, Route, Router, WrongMethod, decoded
from omnigraph.surfaces.http.threads import Threads
from omnigraph.surfaces.http.together import QuickWrites
from omnigraph.surfaces.http.tokens import Unauthorized
from omnigraph.wire.contract import HEADER, agrees, knows_more
from omnigraph.wire.errors import Code, error_output

if TYPE_CHECKING:
    from omnigraph.surfaces.http.process.activation import Activation

_log = logging.getLogger("omnigraph.http")

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]

_REQUEST_ID: Final = re.compile(rb"[\x21-\x7e]{1,128}")
_ROUTER: Final = Router(ROUTES)
_CONTRACT: Final = HEADER.lower().encode()
_TOKEN_HINT: Final = "Send `Authorization: Bearer <token>` with a token that the server knows."
_ROUTE_HINT: Final = "`GET /docs` lists the routes. A `/` inside a name is written `%2F`."

State = Literal["serving", "draining"]


@dataclass
class Application:
    """What a server serves, as an ASGI application."""

    first: Revision
    """What it serves to begin with."""
    limits: Limits = field(default_factory=Limits)
    audit: Sink | None = None
    api_version: str = API_VERSION
    access_log: bool = False
    state: State = "serving"
    activation: Activation | None = None
    """Who replaces what it serves, if anybody does."""
    origins: tuple[str, ...] = ()
    """Web pages of these origins may ask; `*` for all."""
    only_here: bool = False
    """Whether it listens on this machine only."""
    http_api: str | None = None
    """The version of the contract that requests have to say they speak, if they have to."""

    def __post_init__(self) -> None:
        self._admission = PerActor(self.limits.inflight, self.limits.inflight_bytes)
        self.threads = Threads()
        self.quick = QuickReads()
        self.together = QuickWrites(self.threads)
        self.exports = ExportSlots()
        self.metrics = Metrics()
        self._descriptions: dict[bool, bytes] = {}
        self._kept: set[asyncio.Future[Any]] = set()
        self._current = self._in_use(self.first)

    def keep(self, work: asyncio.Future[Any]) -> None:
        """Remember work that goes on when its request is over, until it has ended."""
        self._kept.add(work)
        work.add_done_callback(self._ended)

    def _ended(self, work: asyncio.Future[Any]) -> None:
        self._kept.discard(work)
        error = None if work.cancelled() else work.exception()
        if error is not None and not isinstance(error, GraphError):
            _log.error("work that went on after its request failed", exc_info=error)

    @property
    def revision(self) -> Revision:
        """What is served to requests that come now."""
        return self._current.revision

    def activate(self, revision: Revision) -> None:
        """Serve something else from now on. Requests that have begun end with what they began with."""
        before, self._current = self._current, self._in_use(revision)
        before.leave()

    @contextmanager
    def borrowed(self) -> Iterator[InUse]:
        """What is served now, for work that nobody asked for; it is not let go of before that ends."""
        use = self._current
        use.take()
        try:
            yield use
        finally:
            use.leave()

    def _in_use(self, revision: Revision) -> InUse:
        service = Service(revision.graphs, authoriser=revision.authoriser, admission=self._admission, audit=self.audit)
        return InUse(revision, service, lambda unused: self.threads.later(unused.close))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            await self._answer(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1000})

    async def _live(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                await send({"type": "lifespan.startup.complete"})
            else:
                await asyncio.to_thread(self.close)
                await send({"type": "lifespan.shutdown.complete"})
                return

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        use = self._current
        use.take()
        try:
            await self._answered(use, scope, receive, send)
        finally:
            use.leave()

    async def _answered(self, use: InUse, scope: Scope, receive: Receive, send: Send) -> None:
        begun = time.perf_counter()
        request_id = _request_id(scope["headers"])
        match: Match | None = None
        try:
            match = _ROUTER.find(scope["method"], scope.get("raw_path") or scope["path"].encode())
            scope[ROUTE] = None if match is None else match.route
            response = await self._routed(use, match, scope, receive, request_id)
        except ClientGone:
            return
        except WrongMethod as wrong:
            allow = {"Allow": ", ".join(wrong.allowed)}
            response = refused(
                405,
                f"method {scope['method']} is not allowed here",
                allow,
                code="method_not_allowed",
                condition="method_not_allowed",
                hint=f"It takes {', '.join(wrong.allowed)}.",
            )
        except Unauthorized as error:
            await self._turned_away(use, match, request_id)
            challenge = {"WWW-Authenticate": "Bearer"}
            response = refused(401, str(error), challenge, code="unauthorized", condition="unauthorized", hint=_TOKEN_HINT)
        except TooSlow as error:
            response = refused(408, str(error), {"Connection": "close"}, code="bad_request")
        except WrongMediaType as error:
            response = refused(415, str(error), code="bad_request", condition="unsupported_media_type")
        except GraphError as error:
            response = self._failed(error, request_id)
        except Exception as error:
            _log.exception("request %s failed", request_id)
            response = error_answer(_unexpected(error))
        response.raw_headers.append((b"x-request-id", request_id.encode()))
        if self.http_api is not None:
            response.raw_headers.append((_CONTRACT, self.http_api.encode()))
        if match is not None and match.route.deprecated_for is not None and response.status_code == 200:
            link = f'<{match.route.deprecated_for}>; rel="successor-version"'
            response.raw_headers += [(b"deprecation", b"true"), (b"link", link.encode())]
        coding = accepted(scope["headers"])
        await response(scope, receive, send if coding is None else Packing(send, coding))
        took = time.perf_counter() - begun
        self.metrics.answered(match, scope["method"], response.status_code, took)
        if self.access_log:
            path = scope["path"]
            _log.info("%s %s %s %.1f ms %s", scope["method"], path, response.status_code, took * 1000, request_id)

    async def _routed(self, use: InUse, match: Match | None, scope: Scope, receive: Receive, request_id: str) -> Response:
        if match is None:
            where = f"{scope['method']} {scope['path'][:200]}"
            return refused(404, f"no such route: {where}", None, code="not_found", condition="not_found", hint=_ROUTE_HINT)
        actor, groups, tokens = None, frozenset[str](), use.revision.tokens
        if not match.route.open and tokens:
            actor, groups = await tokens.identified([value for name, value in scope["headers"] if name == b"authorization"])
        if not match.route.open:
            refusal = self._out_of_contract(match.route, [value for name, value in scope["headers"] if name == _CONTRACT])
            if refusal is not None:
                return refusal
        call = Call(
            self,
            use,
            match.route,
            scope["method"],
            match.names,
            scope["query_string"],
            scope["headers"],
            receive,
            Caller(actor, Origin.HTTP, request_id, groups),
        )
        if match.route.of_graph:
            graph_id = decoded(match.names["graph_id"])
            if not is_graph_id(graph_id):
                raise UsageError(f"'{graph_id}' is not a graph id", hint="Letters, digits, `-` and `_`, at most 64.")
            call.found = use.revision.graphs.find(graph_id)
            if call.found is None:
                if self._is_told_of(call, graph_id):
                    told = f"graph '{graph_id}' cannot be served for the moment"
                    hint = "Whoever runs the server finds the reason in its log."
                    return refused(503, told, code="graph_unavailable", condition="graph_unavailable", retryable=True, hint=hint)
                raise no_graph(graph_id)
        if call.query_string:
            require_known(match.route, call.parameters)
        if call.header_values(b"idempotency-key"):
            refuse_key(match.route)
        if call.header_values(CONDITION):
            refuse_condition(match.route)
        return await match.route.handler(call)

    def _out_of_contract(self, route: Route, said: list[bytes]) -> Response | None:
        """Why a request is refused for the version of the contract it speaks, or because nothing new is begun."""
        if self.http_api is not None and route.documented and not agrees(said, self.http_api):
            text = f"this server speaks version {self.http_api} of the contract, and the request does not say that it does"
            hint = f"Send `{HEADER}: {self.http_api}`, once."
            return refused(400, text, code="api_contract_mismatch", condition="api_contract_mismatch", hint=hint)
        if self.state == "draining" and knows_more(said):
            close, hint = {"Connection": "close"}, "Send it again: another server of the same graphs may take it."
            code: Code = "service_unavailable"
            return refused(503, "the server is about to stop", close, code=code, condition=code, retryable=True, hint=hint)
        return None

    def _is_told_of(self, call: Call, graph_id: str) -> bool:
        """Whether a caller may know that there is a graph which is not served: whoever may read it, or list graphs."""
        quarantined = any(one.graph_id == graph_id for one in call.revision.quarantined)
        if not quarantined or not knows_more(call.header_values(_CONTRACT)):
            return False
        ways = (Access(Action.READ, "main"), Access(Action.GRAPH_LIST))
        return any(call.service.may(call.caller, GraphRef("", id=graph_id), access) for access in ways)

    async def _turned_away(self, use: InUse, match: Match | None, request_id: str) -> None:
        """Write down that a request had no token that is known: what it asked for, never what it sent as a token."""
        if match is None:
            return
        graph_id = match.names["graph_id"] if match.route.of_graph else ""
        resource = graph_id if is_graph_id(graph_id) else "root"  # texts of any length are not written down
        caller = Caller(None, Origin.MCP if match.route.path.endswith("/mcp") else Origin.HTTP, request_id)
        await asyncio.to_thread(use.service.unknown, caller, match.route.operation_id.removeprefix("cluster_"), resource)

    def _failed(self, error: GraphError, request_id: str) -> Response:
        status, _ = error_output(error)
        if status >= 500:
            _log.error("request %s failed: %s", request_id, error.message, exc_info=error)
        return error_answer(error)

    def readiness(self) -> State:
        """Whether it takes requests."""
        return self.state

    def description(self) -> dict[str, Any]:
        """The OpenAPI document."""
        from omnigraph.surfaces.http.describing.openapi import document

        return document(ROUTES, self.api_version, secured=bool(self.revision.tokens))

    def openapi(self) -> bytes:
        """The same as JSON."""
        import msgspec

        secured = bool(self.revision.tokens)
        if secured not in self._descriptions:
            self._descriptions[secured] = msgspec.json.encode(self.description())
        return self._descriptions[secured]

    def close(self) -> None:
        """Wait for what is running, and let go of the graphs."""
        self.state = "draining"
        self.threads.close()
        self._current.service.close()


def _request_id(headers: list[tuple[bytes, bytes]]) -> str:
    for name, value in headers:
        if name == b"x-request-id" and _REQUEST_ID.fullmatch(value):
            return value.decode()
    return random_bytes(8).hex()


def _unexpected(error: Exception) -> GraphError:
    from omnigraph.errors import UnexpectedError

    return UnexpectedError(type(error).__name__)
