"""A graph as JSON lines."""

from __future__ import annotations

from starlette.responses import Response

from omnigraph.service.operations.stream_export import StreamExport
from omnigraph.surfaces.http.answering.answers import NDJSON
from omnigraph.surfaces.http.answering.streams import Stream
from omnigraph.surfaces.http.calls import Call, one_state
from omnigraph.wire.requests import ExportRequest


async def export(call: Call) -> Response:
    """A graph, or some of its types. What is wrong with the request is said before the first line."""
    wanted = await call.json(ExportRequest)
    branch, snapshot = one_state(wanted.branch, wanted.snapshot)
    types = tuple(wanted.type_names) if wanted.type_names else None
    operation = StreamExport(call.graph.ref, types, branch, snapshot)
    permit = await call.authorise(operation)  # before a slot is asked for: whoever may not export is not told that it is busy
    slot = call.application.exports.slot(call.graph.id)
    try:
        found = await call.run(operation, permit)
    except BaseException:
        slot.close()
        raise
    of = {"Omnigraph-Snapshot-Id": f"manifest:{branch or 'main'}:{found.commit}"}
    return Stream(call, found.chunks, NDJSON, of, held=slot)
