"""Stored queries: which there are, and one of them invoked.

A query that somebody may not invoke and one that is not there are answered alike, to the byte; and what a policy denies to
somebody is not listed to them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import msgspec
from starlette.responses import Response

from omnigraph.policy.port import Access, Action
from omnigraph.service.operations.invoke_query import InvokeQuery
from omnigraph.service.operations.list_queries import ListQueries
from omnigraph.surfaces.http.answering.answers import answer
from omnigraph.surfaces.http.answering.outputs import change_output
from omnigraph.surfaces.http.bodies import decode
from omnigraph.surfaces.http.calls import Call, one_state
from omnigraph.surfaces.http.handlers.reading import rows
from omnigraph.surfaces.http.handlers.writing import condition, refuse_condition
from omnigraph.wire.outputs import QueriesCatalogOutput, StoredQueryOutput
from omnigraph.wire.requests import InvokeStoredQueryRequest

if TYPE_CHECKING:
    from omnigraph.service.results import Receipt


async def list_queries(call: Call) -> Response:
    """Those that the caller may know of, by name."""
    service, graph = call.service, call.graph
    shown = tuple(
        query.signature
        for query in graph.queries
        if service.shows(call.caller, graph.ref, Access(Action.INVOKE_QUERY, query=query.name))
    )
    found = call.run_here(ListQueries(graph.ref, shown))
    return answer(QueriesCatalogOutput(queries=[msgspec.convert(query.to_dict(), StoredQueryOutput) for query in found]))


async def invoke(call: Call) -> Response:
    """Run one. The condition has a route of its own, so that a server that does not know it cannot lose it."""
    wanted = await _body(call)
    refuse_condition(call, f"{call.route.path}/if-graph-commit".replace("{name}", call.names["name"]))
    return await _invoked(call, wanted, None)


async def invoke_if(call: Call) -> Response:
    """Run one that changes the graph, if the branch is at a commit."""
    wanted = await _body(call)
    return await _invoked(call, wanted, condition(call))


async def _body(call: Call) -> InvokeStoredQueryRequest:
    body = await call.body()
    if body.strip() in (b"", b"null"):
        return InvokeStoredQueryRequest()
    return decode(body, InvokeStoredQueryRequest, "stored-query invocation body")


async def _invoked(call: Call, wanted: InvokeStoredQueryRequest, if_commit: str | None) -> Response:
    branch, snapshot = one_state(wanted.branch, wanted.snapshot)
    name, limits = call.name("name"), call.application.limits
    stored = call.graph.queries.get(name)
    operation = InvokeQuery(
        call.graph.ref,
        name,
        stored,
        wanted.params,
        branch,
        snapshot,
        if_commit,
        wanted.expect_mutation,
        wanted.message,
        call.idempotency_key,
        limits.query_seconds,
        limits.query_bytes,
    )
    if stored is None or stored.mutation:
        return answer(change_output(cast("Receipt", await call.run(operation))))
    return await rows(call, await call.application.quick.run(call, operation))
