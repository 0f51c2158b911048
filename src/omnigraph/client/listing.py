"""What is asked of a server, not of one of its graphs."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import msgspec

from omnigraph.client.errors import error_of
from omnigraph.errors import Forbidden, NotFound, StorageError, UsageError
from omnigraph.wire.contract import HEADER, NEWEST
from omnigraph.wire.outputs import GraphDiscoveryResponse, GraphEntry, GraphListResponse
from omnigraph.wire.own_outputs import AuditOutput


def list_graphs(url: str, token: str | None, timeout: float = 10.0) -> list[GraphEntry]:
    """The graphs of a server, by id."""
    return msgspec.json.decode(_got(url, "/graphs", token, {}, timeout), type=GraphListResponse).graphs


def discover_graphs(url: str, token: str | None, timeout: float = 10.0) -> list[str]:
    """The ids of the graphs that the caller may work with. It needs no right of its own; a server that cannot say so, or knows of
    none, is asked for its list."""
    found: list[str] = []
    with suppress(NotFound):
        content = _got(url, "/graphs/discovery", token, {}, timeout)
        found = [entry.graph_id for entry in msgspec.json.decode(content, type=GraphDiscoveryResponse).graphs]
    if not found:
        with suppress(Forbidden):
            found = [entry.graph_id for entry in list_graphs(url, token, timeout)]
    return found


def read_audit(url: str, token: str | None, asked: Mapping[str, Any], timeout: float = 60.0) -> list[dict[str, Any]]:
    """Records of the audit of a server, the oldest first."""
    wanted = {name: value for name, value in asked.items() if value is not None}
    return msgspec.json.decode(_got(url, "/admin/audit", token, wanted, timeout), type=AuditOutput).records


def _got(url: str, path: str, token: str | None, params: Mapping[str, Any], timeout: float) -> bytes:
    try:
        import httpx
    except ImportError:
        raise UsageError("httpx is not installed", hint="pip install 'omnigraph[client]'") from None
    headers = {HEADER: NEWEST, **({"Authorization": f"Bearer {token}"} if token else {})}
    try:
        found = httpx.get(f"{url.rstrip('/')}{path}", params=dict(params), headers=headers, timeout=timeout)
    except (httpx.TransportError, httpx.InvalidURL) as error:
        hint = "Check the address, then retry."
        raise StorageError(f"{url} cannot be reached ({type(error).__name__})", hint=hint, retryable=True) from error
    if found.status_code >= 400:
        raise error_of(found.status_code, found.content, found.headers.get("x-request-id"))
    return found.content
