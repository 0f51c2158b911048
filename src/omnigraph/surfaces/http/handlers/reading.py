"""Queries."""

from __future__ import annotations

from threading import Event

from starlette.responses import Response

from omnigraph.errors import UsageError
from omnigraph.service.operations.query import Query
from omnigraph.surfaces.http.answering.answers import ARROW, arrow_answer, rows_answer
from omnigraph.surfaces.http.calls import Call
from omnigraph.wire.requests import QueryRequest, ReadRequest


async def query(call: Call) -> Response:
    """A read."""
    wanted = await call.json(QueryRequest)
    operation = _read(call, wanted.query, wanted.name, wanted.params, wanted.branch, wanted.snapshot)
    result = await call.application.quick.run(call, operation)
    if ARROW in (call.header(b"accept") or ""):
        return await call.do(lambda: arrow_answer(result))
    return rows_answer(result) if len(result) < 1_000 else await call.do(lambda: rows_answer(result))


async def read(call: Call) -> Response:
    """The same for earlier clients."""
    wanted = await call.json(ReadRequest)
    result = await call.run(_read(call, wanted.query_source, wanted.query_name, wanted.params, wanted.branch, wanted.snapshot))
    return await call.do(lambda: rows_answer(result, legacy=True))


def _read(
    call: Call, source: str, name: str | None, params: dict[str, object] | None, branch: str | None, snapshot: str | None
) -> Query:
    if branch is not None and snapshot is not None:
        raise UsageError("request may specify branch or snapshot, not both", hint="Leave one of them out.")
    limits = call.application.limits
    call.cancel = Event()
    return Query(
        call.graph.ref,
        source,
        params,
        name,
        branch,
        snapshot,
        timeout=limits.query_seconds,
        memory_limit=limits.query_bytes,
        cancel=call.cancel,
    )
