"""MCP over HTTP: one request, one answer, nothing kept in between.

    POST …/mcp    a JSON-RPC request → 200 and its answer as JSON; a notification → 202

Both eras of the protocol are spoken: with the `initialize` handshake, of which nothing has to be remembered, and with the
envelope that every request of 2026 carries. The SDK answers the request itself (`serve_one`); what came before, the token, the
graph, the size of the body, was checked by the server as for every other route.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

import anyio
import mcp_types as m
from mcp.server.connection import Connection
from mcp.server.lowlevel.server import Server
from mcp.server.runner import modern_error_data, serve_one
from mcp.shared.dispatcher import CallOptions
from mcp.shared.exceptions import NoBackChannelError
from mcp.shared.inbound import (
    ERROR_CODE_HTTP_STATUS,
    MCP_PROTOCOL_VERSION_HEADER,
    InboundLadderRejection,
    classify_inbound_request,
)
from mcp.shared.transport_context import TransportContext
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic import ValidationError

from omnigraph.model.frozen import frozen
from omnigraph.surfaces.mcp.instructions import GENERAL
from omnigraph.surfaces.mcp.protocol import Host, server

_ASSUMED: Final = "2025-03-26"
"""The version of a client of the first era that does not say which it speaks."""


@frozen
class Reply:
    """A status, and the JSON below it; None if there is none."""

    status: int
    body: bytes | None


@cache
def _server() -> Server[Any]:
    return server(GENERAL)


async def exchange(host: Host, said: Any, headers: Mapping[str, str]) -> Reply:
    """The answer to what somebody posted, which was JSON. Names of headers are in lower case."""
    if isinstance(said, dict) and "id" not in said:
        return _noted(said)
    try:
        request = m.JSONRPCRequest.model_validate(said)
    except (ValidationError, RecursionError):
        return _error(None, m.INVALID_REQUEST, "Body must be a single JSON-RPC request or notification object", modern=True)
    version = headers.get(MCP_PROTOCOL_VERSION_HEADER)
    modern = version is not None and version not in HANDSHAKE_PROTOCOL_VERSIONS
    if modern:
        route = classify_inbound_request(said, headers=headers)
        if isinstance(route, InboundLadderRejection):
            return _error(request.id, route.code, route.message, route.data, modern=True)
        connection = Connection.from_envelope(route.protocol_version, route.client_info, route.client_capabilities)
    else:
        connection = Connection.from_envelope(version or _ASSUMED, None, None)
    try:
        result = await serve_one(
            _server(), _OneExchange(request.id), request.method, request.params, connection=connection, lifespan_state=host
        )
    except Exception as error:
        failed = modern_error_data(error)
        return _error(request.id, failed.code, failed.message, failed.data, modern=modern)
    return Reply(200, _encoded({"jsonrpc": "2.0", "id": request.id, "result": result}))


def cannot_read(why: str) -> Reply:
    """The answer to what is not JSON."""
    return _error(None, m.PARSE_ERROR, f"Parse error: {why}", modern=True)


def _noted(said: dict[str, Any]) -> Reply:
    """A notification: there is nothing that it could be about here, since nothing is kept."""
    try:
        m.JSONRPCNotification.model_validate(said)
    except (ValidationError, RecursionError):
        return _error(None, m.INVALID_REQUEST, "Body must be a single JSON-RPC request or notification object", modern=True)
    return Reply(202, None)


def _error(request_id: Any, code: int, message: str, data: Any = None, *, modern: bool) -> Reply:
    """An error of the protocol. Clients of the first era expect every answer to be a 200."""
    error = {"code": code, "message": message, **({} if data is None else {"data": data})}
    status = ERROR_CODE_HTTP_STATUS.get(code, 200) if modern else 200
    return Reply(status, _encoded({"jsonrpc": "2.0", "id": request_id, "error": error}))


def _encoded(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


@dataclass
class _OneExchange:
    """What the SDK may know and do while it answers: it cannot speak to the client before."""

    request_id: Any
    transport: TransportContext = field(default_factory=lambda: TransportContext(kind="streamable-http", can_send_request=False))
    message_metadata: Any = None
    can_send_request: bool = False
    cancel_requested: anyio.Event = field(default_factory=anyio.Event)

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> dict[str, Any]:
        raise NoBackChannelError(method)

    async def notify(self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None) -> None:
        pass

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        pass
