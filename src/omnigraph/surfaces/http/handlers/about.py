"""The server itself: health, readiness, the graphs it has, its own description."""

from __future__ import annotations

import os
from typing import Final

from msgspec import UNSET
from starlette.responses import HTMLResponse, PlainTextResponse, Response

from omnigraph.model.versions import INTERNAL_SCHEMA_VERSION, __version__
from omnigraph.policy.port import Access, Action
from omnigraph.surfaces.http.answering.answers import answer
from omnigraph.surfaces.http.calls import Call
from omnigraph.wire.outputs import GraphEntry, GraphListResponse, HealthOutput, ReadyOutput

_STYLE_ONLY: Final = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'"}


async def health(call: Call) -> Response:
    """That the server runs."""
    return answer(
        HealthOutput(
            version=call.application.api_version,
            internal_schema_version=INTERNAL_SCHEMA_VERSION,
            source_version=os.environ.get("OMNIGRAPH_SOURCE_VERSION") or UNSET,
            server=__version__,
        )
    )


async def ready(call: Call) -> Response:
    """Whether it takes requests."""
    state = call.application.readiness()
    output = ReadyOutput(
        ready=state == "serving",
        status=state,
        served_graph_count=len(call.application.graphs),
        quarantined_graph_count=0,
        shutdown_grace_seconds=call.application.limits.shutdown_seconds,
    )
    return answer(output, 200 if output.ready else 503)


async def list_graphs(call: Call) -> Response:
    """The graphs that are served."""
    call.application.service.decide(call.caller, "graphs list", "root", Access(Action.GRAPH_LIST))
    return answer(GraphListResponse(graphs=[GraphEntry(graph_id=g.id, uri=g.uri) for g in call.application.graphs]))


async def openapi(call: Call) -> Response:
    """The description of all this."""
    return Response(call.application.openapi(), media_type="application/json")


async def metrics(call: Call) -> Response:
    """Numbers for Prometheus."""
    return PlainTextResponse(call.application.metrics.text(), media_type="text/plain; version=0.0.4")


async def docs(call: Call) -> Response:
    """The description for people."""
    from omnigraph.surfaces.http.describing.documentation import page

    return HTMLResponse(
        page(call.application.description()), headers={"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'"}
    )
