"""The server itself, for those who run it."""

from __future__ import annotations

from msgspec import UNSET
from starlette.responses import Response

from omnigraph.errors import UsageError
from omnigraph.policy.port import Access, Action
from omnigraph.service.audit_log import MOST, SHOWN, FileSink, Wanted, moment, read_records
from omnigraph.surfaces.http.answering.answers import answer, refused
from omnigraph.surfaces.http.calls import Call, positive
from omnigraph.surfaces.http.process.activation import ReloadFailed
from omnigraph.wire.own_outputs import AuditOutput, QuarantinedGraph, ReloadOutput
from omnigraph.wire.wording import HTTP


async def audit(call: Call) -> Response:
    """What was decided and written, the newest of it."""
    call.service.decide(call.caller, "audit read", "root", Access(Action.AUDIT_READ))
    sink = call.application.audit
    if not isinstance(sink, FileSink):
        raise UsageError("this server keeps no audit to read", hint="Start it with --audit-log.")
    since, limit = call.parameter("since"), call.parameter("limit")
    most = SHOWN if limit is None else positive(limit)
    if most is None or most > MOST:
        raise UsageError(f"limit must be a whole number from 1 to {MOST}", hint="")
    named = {name: call.parameter(name) for name in ("actor", "action", "graph", "outcome")}
    wanted = Wanted(None if since is None else moment(since), limit=most, **named)
    found = await call.do(lambda: read_records(sink.folder, wanted))
    return answer(AuditOutput(records=found))


async def reload(call: Call) -> Response:
    """Serve what is to be served now."""
    call.service.decide(call.caller, "server reload", "root", Access(Action.CONFIG_MANAGE))
    activation = call.application.activation
    if activation is None:
        raise UsageError("this server has nothing to read again", hint="It serves what it was given.")
    try:
        found = await activation.asked(f"asked by {call.caller.actor or 'somebody'} in request {call.caller.request_id}")
    except ReloadFailed as failed:
        said, hint = f"what is served stays as it is: {failed.error.message}", failed.error.advice.worded(HTTP)
        return refused(409, said, code="conflict", condition="reload_failed", hint=hint)
    return answer(
        ReloadOutput(
            activated=True,
            served_graph_count=len(found.graphs),
            quarantined_graph_count=len(found.quarantined),
            quarantined=[QuarantinedGraph(graph_id=q.graph_id, code=q.code) for q in found.quarantined],
            booted_serving_digest=UNSET if found.cluster is None else found.cluster.digest,
            state_revision=UNSET if found.cluster is None else found.cluster.state_revision,
            state_cas=UNSET if found.cluster is None else found.cluster.state_cas,
        )
    )
