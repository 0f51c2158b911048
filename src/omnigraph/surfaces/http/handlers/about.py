"""The server itself: health, readiness, the graphs it has, its own description."""

from __future__ import annotations

import os
from typing import Final, Literal

from msgspec import UNSET
from starlette.responses import HTMLResponse, PlainTextResponse, Response

from omnigraph.errors import NotFound
from omnigraph.model.versions import INTERNAL_SCHEMA_VERSION, __version__
from omnigraph.policy.port import Access, Action
from omnigraph.service.graphs import GraphRef
from omnigraph.surfaces.http.answering.answers import answer
from omnigraph.surfaces.http.calls import Call
from omnigraph.wire.outputs import (
    DiscoveredGraph,
    GraphDiscoveryResponse,
    GraphEntry,
    GraphListResponse,
    HealthOutput,
    ReadyOutput,
    ReloadFailureOutput,
)
from omnigraph.wire.own_outputs import ProtectedResourceOutput, WhoamiOutput

_STYLE_ONLY: Final = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'"}


async def health(call: Call) -> Response:
    """That the server runs."""
    return answer(health_output(call))


def health_output(call: Call) -> HealthOutput:
    """Which contract it speaks."""
    return HealthOutput(
        version=call.application.api_version,
        internal_schema_version=INTERNAL_SCHEMA_VERSION,
        source_version=os.environ.get("OMNIGRAPH_SOURCE_VERSION") or UNSET,
        server=__version__,
    )


async def ready(call: Call) -> Response:
    """Whether it takes requests, and whether it serves all that it is to serve."""
    application, served = call.application, call.revision
    failure = None if application.activation is None else application.activation.failure
    state: Literal["serving", "draining", "degraded"] = application.readiness()
    if state == "serving" and (served.quarantined or failure is not None):
        state = "degraded"
    output = ReadyOutput(
        ready=state != "draining",
        status=state,
        served_graph_count=len(served.graphs),
        quarantined_graph_count=len(served.quarantined),
        shutdown_grace_seconds=application.limits.shutdown_seconds,
        booted_serving_digest=UNSET if served.cluster is None else served.cluster.digest,
        state_revision=UNSET if served.cluster is None else served.cluster.state_revision,
        state_cas=UNSET if served.cluster is None else served.cluster.state_cas,
        reload_failure=UNSET if failure is None else ReloadFailureOutput(at=failure.when, codes=failure.codes),
    )
    return answer(output, 200 if output.ready else 503)


async def list_graphs(call: Call) -> Response:
    """The graphs that are served."""
    call.service.decide(call.caller, "graphs list", "root", Access(Action.GRAPH_LIST))
    return answer(GraphListResponse(graphs=[GraphEntry(graph_id=g.id, uri=g.uri) for g in call.revision.graphs]))


async def discover(call: Call) -> Response:
    """The graphs that the caller may read, or invoke a stored query of. Nothing is said of the others."""
    found = await call.do(lambda: [g.id for g in call.revision.graphs if _may_use(call, g.ref)])
    return answer(GraphDiscoveryResponse(graphs=[DiscoveredGraph(graph_id=graph_id) for graph_id in found]))


def _may_use(call: Call, graph: GraphRef) -> bool:
    ways = (Access(Action.READ), Access(Action.READ, "main"), Access(Action.INVOKE_QUERY))
    return any(call.service.may(call.caller, graph, access) for access in ways)


async def whoami(call: Call) -> Response:
    """Who asks, by their token."""
    return answer(WhoamiOutput(actor_id=call.caller.actor, groups=sorted(call.caller.groups)))


async def protected_resource(call: Call) -> Response:
    """Who vouches for callers, as OAuth clients look it up."""
    verifier = call.revision.tokens.verifier
    if verifier is None:
        raise NotFound(
            "no identity provider vouches for callers of this server", what="resource", hint="It takes tokens of its own."
        )
    named = verifier.provider
    return answer(
        ProtectedResourceOutput(
            resource=named.audience, authorization_servers=[named.issuer], bearer_methods_supported=["header"]
        )
    )


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
