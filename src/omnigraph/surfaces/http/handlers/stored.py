"""Stored queries. They come with a cluster; a server without one has none, and says so."""

from __future__ import annotations

from contextlib import suppress

from starlette.responses import Response

from omnigraph.errors import Forbidden, NotFound
from omnigraph.policy.port import Access, Action
from omnigraph.surfaces.http.answering.answers import answer
from omnigraph.surfaces.http.bodies import decode
from omnigraph.surfaces.http.calls import Call
from omnigraph.surfaces.http.handlers.writing import condition, refuse_condition
from omnigraph.wire.outputs import QueriesCatalogOutput
from omnigraph.wire.requests import InvokeStoredQueryRequest


async def list_queries(call: Call) -> Response:
    """All of them, by name."""
    call.application.service.decide(call.caller, "queries list", call.graph.uri, Access(Action.READ, "main"))
    return answer(QueriesCatalogOutput(queries=[]))


async def invoke(call: Call) -> Response:
    """Run one."""
    await _body(call)
    refuse_condition(call, f"{call.route.path}/if-graph-commit".replace("{name}", call.names["name"]))
    return _find(call)


async def invoke_if(call: Call) -> Response:
    """Run one that changes the graph, if the branch is at a commit."""
    await _body(call)
    condition(call)
    return _find(call)


async def _body(call: Call) -> InvokeStoredQueryRequest:
    body = await call.body()
    if body.strip() in (b"", b"null"):
        return InvokeStoredQueryRequest()
    return decode(body, InvokeStoredQueryRequest, "stored-query invocation body")


def _find(call: Call) -> Response:
    """A query that one may not invoke and one that is not there are answered alike."""
    with suppress(Forbidden):
        call.application.service.decide(call.caller, "queries invoke", call.graph.uri, Access(Action.INVOKE_QUERY))
    raise NotFound("stored query not found", what="stored query")
