"""The cluster that is served: plans, deployments, and what came of them.

A deployment is answered when it has ended, with 200, or with 202 while it goes on: it ends whether its client waits or not. What
it came to is served at once, by every worker. Where the cluster lies is for those who run the server (`Places`).
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any, Final

import msgspec
from msgspec import UNSET
from starlette.responses import Response

from omnigraph.cluster.applying.deploying import Deployment, DeploymentRefused
from omnigraph.cluster.applying.operations import Deploy, ListDeployments, PlanDeployment, ShowDeployment
from omnigraph.cluster.config.files import SentFiles
from omnigraph.errors import NotFound
from omnigraph.service.graphs import GraphRef
from omnigraph.service.operation import Operation
from omnigraph.service.service import Service
from omnigraph.surfaces.http.answering.answers import answer, refused
from omnigraph.surfaces.http.answering.places import Places
from omnigraph.surfaces.http.calls import Call
from omnigraph.surfaces.http.process.activation import ReloadFailed
from omnigraph.surfaces.http.revisions import Applied
from omnigraph.wire import deployments as w
from omnigraph.wire.contract import HEADER, knows_more
from omnigraph.wire.wording import HTTP

_log = logging.getLogger("omnigraph.http")

_CONTRACT: Final = HEADER.lower().encode()


async def plan(call: Call) -> Response:
    """What a deployment would do."""
    wanted = await call.json(w.ClusterPlanRequest)
    sent = _sent(call, wanted.deployment)
    operation = PlanDeployment(_cluster(call), sent, lambda: _directly(call))
    permit = await call.authorise(operation)
    if call.revision.cluster is None:
        return _no_cluster()
    found = await call.run(operation, permit)
    return answer(msgspec.convert(_places(call).left_out(found.to_json()), w.ClusterPlanOutput))


async def deploy(call: Call) -> Response:
    """Apply what was sent, and serve it."""
    wanted = await call.json(w.DeploymentRequest)
    operation = Deploy(_cluster(call), _sent(call, wanted.deployment), lambda: _directly(call), wanted.deployment_id)
    permit = await call.authorise(operation)
    if call.revision.cluster is None:
        return _no_cluster()
    work = asyncio.ensure_future(_deployed(call, operation, permit))
    call.application.keep(work)
    while not work.done():
        await asyncio.wait({work}, timeout=call.application.limits.deployment_seconds)
        if not work.done():
            begun = await _begun(call, operation)
            if begun is not None:
                return answer(_output(call, begun), 202)
    try:
        found = work.result()
    except DeploymentRefused as error:
        return _refused(call, error)
    return answer(_output(call, found), 202 if found.in_progress else 200)


async def show(call: Call) -> Response:
    """What came of one, or how far it is."""
    found = await _asked(call, ShowDeployment(_cluster(call), call.name("deployment_id")))
    return found if isinstance(found, Response) else answer(_output(call, found))


async def list_deployments(call: Call) -> Response:
    """The newest, and those before it."""
    found = await _asked(call, ListDeployments(_cluster(call)))
    if isinstance(found, Response):
        return found
    shown = [_output(call, one) for one in found]
    newest = shown[0] if shown else None
    return answer(
        w.DeploymentListOutput(
            deployment=None if newest is None else newest.deployment,
            active=newest is not None and newest.active,
            in_progress=newest is not None and newest.in_progress,
            deployments=shown,
        )
    )


async def _asked(call: Call, operation: Operation[Any]) -> Any:
    permit = await call.authorise(operation)
    return _no_cluster() if call.revision.cluster is None else await call.run(operation, permit)


async def _deployed(call: Call, operation: Deploy, permit: Any) -> Deployment:
    """A deployment from its beginning to its end, and then served."""
    found = await call.run(operation, permit)
    activation, served = call.application.activation, call.application.revision.cluster
    if found.in_progress or activation is None or (served is not None and served.state_cas == found.record.state_cas):
        return found
    try:
        await activation.asked(f"deployment {operation.deployment_id} by {call.caller.actor or 'somebody'}")
    except ReloadFailed:  # it was said, in the log and at /readyz: the deployment is done, and not active
        _log.warning("deployment %s was applied and is not served", operation.deployment_id)
    return found


async def _begun(call: Call, operation: Deploy) -> Deployment | None:
    """A deployment that takes its time, once it is written down that it has begun."""
    try:
        return await call.run(ShowDeployment(operation.graph, operation.deployment_id))
    except NotFound:
        return None


def _cluster(call: Call) -> GraphRef:
    """The cluster that is served, as decisions and the audit call it."""
    served = call.revision.cluster
    return GraphRef("" if served is None else served.root, id="root")


def _places(call: Call) -> Places:
    served = call.revision.cluster
    return Places() if served is None else Places(served.where, served.root)


def _sent(call: Call, deployment: w.DeploymentFiles) -> SentFiles:
    served = call.revision.cluster or Applied("", 0, "", "", "")
    return SentFiles(deployment.files, served.where, served.root)


def _directly(call: Call) -> Service:
    """The service by which graphs are created, changed and deleted: whoever may deploy may do that."""
    from omnigraph.service.direct import DirectGraphs

    return Service(DirectGraphs(), audit=call.application.audit)


def _output(call: Call, found: Deployment) -> w.DeploymentOutput:
    record, revision = found.record, call.application.revision
    served = None if revision.quarantined else revision.cluster
    state = w.DeploymentState(
        deployment_id=record.deployment_id,
        status=found.state,
        digest=record.digest,
        config_digest=record.config_digest,
        actor_id=record.actor,
        submitted_at=record.submitted_at,
        lock_id=UNSET if found.lock is None else found.lock.lock_id,
        lock_created_at=UNSET if found.lock is None else found.lock.created_at,
        finished_at=UNSET if record.finished_at is None else record.finished_at,
        state_revision=UNSET if record.state_revision is None else record.state_revision,
        state_cas=UNSET if record.state_cas is None else record.state_cas,
        result=UNSET if record.result is None else msgspec.convert(_places(call).left_out(record.result), w.ClusterApplyOutput),
    )
    active = served is not None and record.state_cas is not None and served.state_cas == record.state_cas
    return w.DeploymentOutput(deployment=state, active=active, in_progress=found.in_progress)


def _no_cluster() -> Response:
    return refused(
        409,
        "this server does not serve a cluster",
        code="conflict",
        condition="no_cluster",
        hint="Plans and deployments are for servers that were started with a cluster.",
    )


def _refused(call: Call, error: DeploymentRefused) -> Response:
    """Why a deployment was not begun."""
    about: dict[str, Any] = {"condition": "deployment_refused", "retryable": error.retryable}
    places = _places(call)
    message = places.left_out(error.message)
    about |= {"hint": error.advice.worded(HTTP), "diagnostics": places.left_out([d.to_json() for d in error.diagnostics])}
    if error.invalid:
        return refused(400, message, code="bad_request", **about)
    if error.unreached:
        if knows_more(call.header_values(_CONTRACT)):
            about["code"] = "service_unavailable"
        return refused(503, message, **about)
    return refused(409, message, code="conflict", **about)
