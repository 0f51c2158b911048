"""Queries."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from starlette.responses import Response

from omnigraph.service.operations.query import Query
from omnigraph.surfaces.http.answering.answers import ARROW, arrow_answer, rows_answer
from omnigraph.surfaces.http.calls import Call, one_state
from omnigraph.wire.requests import QueryRequest, ReadRequest

if TYPE_CHECKING:
    from omnigraph.service.results import Result

N = TypeVar("N", int, float)


def _least(own: N | None, wanted: N | None) -> N | None:
    """A limit: the server's own, unless a tighter one is wanted."""
    return own if wanted is None else wanted if own is None else min(own, wanted)


async def query(call: Call) -> Response:
    """A read."""
    wanted = await call.json(QueryRequest)
    operation = _read(call, wanted.query, wanted.name, wanted.params, wanted.branch, wanted.snapshot)
    if wanted.traversal is not None or wanted.timeout is not None or wanted.memory_limit is not None:
        operation = replace(
            operation,
            traversal=wanted.traversal,
            timeout=_least(operation.timeout, wanted.timeout),
            memory_limit=_least(operation.memory_limit, wanted.memory_limit),
        )
    return await rows(call, await call.application.quick.run(call, operation))


async def rows(call: Call, result: Result) -> Response:
    """The answer to a read, as JSON or as Arrow."""
    if ARROW in (call.header(b"accept") or ""):
        return await call.do(lambda: arrow_answer(result))
    return rows_answer(result) if len(result) < 1_000 else await call.do(lambda: rows_answer(result))


async def read(call: Call) -> Response:
    """The same for earlier clients."""
    wanted = await call.json(ReadRequest)
    operation = _read(call, wanted.query_source, wanted.query_name, wanted.params, wanted.branch, wanted.snapshot)
    result = await call.run(operation.until(call.gone()))
    return await call.do(lambda: rows_answer(result, legacy=True))


def _read(
    call: Call, source: str, name: str | None, params: dict[str, object] | None, branch: str | None, snapshot: str | None
) -> Query:
    branch, snapshot = one_state(branch, snapshot)
    limits = call.application.limits
    return Query(
        call.graph.ref,
        source,
        params,
        name,
        branch,
        snapshot,
        timeout=limits.query_seconds,
        memory_limit=limits.query_bytes,
    )
