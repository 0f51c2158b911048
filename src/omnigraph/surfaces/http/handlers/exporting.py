"""A graph as JSON lines."""

from __future__ import annotations

from starlette.responses import Response

from omnigraph.errors import UsageError
from omnigraph.service.operations.stream_export import StreamExport
from omnigraph.surfaces.http.answering.answers import NDJSON
from omnigraph.surfaces.http.answering.streams import Stream
from omnigraph.surfaces.http.calls import Call
from omnigraph.wire.requests import ExportRequest


async def export(call: Call) -> Response:
    """A graph, or some of its types. What is wrong with the request is said before the first line."""
    wanted = await call.json(ExportRequest)
    if wanted.branch is not None and wanted.snapshot is not None:
        raise UsageError("request may specify branch or snapshot, not both", hint="Leave one of them out.")
    types = tuple(wanted.type_names) if wanted.type_names else None
    slot = call.application.exports.slot(call.graph.id)
    try:
        found = await call.run(StreamExport(call.graph.ref, types, wanted.branch, wanted.snapshot))
    except BaseException:
        slot.close()
        raise
    return Stream(call, found.chunks, NDJSON, held=slot)
