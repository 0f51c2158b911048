"""Commits, what they changed, and the schema."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import msgspec
from msgspec import UNSET
from starlette.responses import Response

from omnigraph.catalog.ir_constraints import ROLES
from omnigraph.cluster.serving.managed import ON_BRANCHES
from omnigraph.errors import UsageError
from omnigraph.language.source import Source
from omnigraph.service.operations.apply_schema import ApplySchema
from omnigraph.service.operations.list_commits import ListCommits
from omnigraph.service.operations.plan_schema import PlanSchema
from omnigraph.service.operations.show_commit import ShowCommit
from omnigraph.service.operations.show_schema import ShowSchema
from omnigraph.service.operations.snapshot import Snapshot
from omnigraph.service.results import SchemaApplied
from omnigraph.surfaces.http.answering.answers import answer, refused
from omnigraph.surfaces.http.answering.outputs import commit_output
from omnigraph.surfaces.http.calls import Call, positive
from omnigraph.wire.outputs import CommitListOutput, SchemaApplyOutput, SchemaOutput, SystemColumnsOutput
from omnigraph.wire.own_outputs import AcceptedSchemaOutput, SchemaPlanOutput
from omnigraph.wire.requests import SchemaApplyRequest

_OF_A_CLUSTER: Final = "the schema of this graph is managed by its cluster"
_NOT_APPLIED: Final = "none was applied"
_APPLY_THERE: Final = "Change the schema in the folder of the cluster and run `omnigraph cluster apply`; this server follows."


async def snapshot(call: Call) -> Response:
    """What a branch holds."""
    found = await call.run(Snapshot(call.graph.ref, *call.state()))
    return answer(found.to_dict())


async def list_commits(call: Call) -> Response:
    """The commits of a branch; all of them, unless there is a limit."""
    given = call.parameter("limit")
    limit = None if given is None else positive(given)
    if given is not None and limit is None:
        raise UsageError("limit must be a positive whole number", hint="Leave it out for all commits.")
    before = call.parameter("page_token")
    wanted = ListCommits(
        call.graph.ref,
        call.parameter("branch") or "main",
        None if limit is None else limit + 1,
        call.flag("maintenance"),
        before,
    )
    found = [commit_output(commit) for commit in await call.run(wanted)]
    more = limit is not None and len(found) > limit
    shown = found[:limit]
    return answer(CommitListOutput(commits=shown, next_page_token=shown[-1].graph_commit_id if more else UNSET))


async def show_commit(call: Call) -> Response:
    """One of them."""
    return answer(commit_output(await call.run(ShowCommit(call.graph.ref, call.name("commit_id"), call.flag("maintenance")))))


async def show_schema(call: Call) -> Response:
    """The schema, as it was accepted."""
    shown = await call.run(ShowSchema(call.graph.ref, *call.state()))
    columns = SystemColumnsOutput(**{role: role for role in ROLES})
    return answer(SchemaOutput(schema_source=shown.source, system_columns=columns))


async def accepted_schema(call: Call) -> Response:
    """The schema as text and as what it means."""
    shown = await call.run(ShowSchema(call.graph.ref, *call.state()))
    ir = shown.catalog.ir.to_json()
    return answer(AcceptedSchemaOutput(graph_commit_id=shown.commit, schema_source=shown.source, schema_ir=ir))


async def plan_schema(call: Call) -> Response:
    """What it takes to get to another one."""
    wanted = await call.json(SchemaApplyRequest)
    desired, backfill = Source(wanted.schema_source, "<schema>"), wanted.backfill or {}
    loss, compute = bool(wanted.allow_data_loss), wanted.compute or {}
    plan, _ = await call.run(PlanSchema(call.graph.ref, desired, wanted.branch or "main", loss, backfill, compute))
    steps = [step.to_json() for step in plan.steps]
    return answer(SchemaPlanOutput(uri=call.graph.uri, supported=plan.supported, step_count=len(steps), steps=steps))


async def apply_schema(call: Call) -> Response:
    """Another one."""
    wanted = await call.json(SchemaApplyRequest)
    branch, text = wanted.branch or "main", wanted.schema_source
    if text.strip().endswith(".pg") and "\n" not in text.strip():  # an open graph would read a file of this machine
        raise UsageError("schema_source is the text of a schema, not the name of a file", hint="Send the text of the file.")
    loss = bool(wanted.allow_data_loss)
    operation = ApplySchema(
        call.graph.ref,
        text,
        branch,
        loss,
        wanted.backfill or {},
        wanted.compute or {},
        tuple(wanted.also or ()),
        call.graph.queries,
    )
    if call.revision.cluster is not None:
        await call.authorise(operation)
        applied = call.graph.schema
        why = _NOT_APPLIED if applied is None else applied.refusal((branch, *operation.also), text, allow_data_loss=loss)
        if applied is None or applied.text is None or why is not None:
            said = f"{_OF_A_CLUSTER}: {why}"
            return refused(409, said, code="conflict", condition="managed_by_cluster", hint=f"{_APPLY_THERE} {ON_BRANCHES}")
        operation = replace(operation, desired=applied.text)
    done = await call.run(operation)
    others = {name: await _applied(call, name, other) for name, other in done.also.items()}
    return answer(msgspec.structs.replace(await _applied(call, branch, done), also=others or UNSET))


async def _applied(call: Call, branch: str, done: SchemaApplied) -> SchemaApplyOutput:
    snapshot = Snapshot(call.graph.ref, branch)  # part of the answer: whoever may apply a schema need not be allowed to read
    now = await call.do(lambda: snapshot.run(call.service.graphs, call.caller))
    data = done.to_dict()
    return SchemaApplyOutput(
        uri=call.graph.uri,
        supported=bool(data["supported"]),
        applied=bool(data["applied"]),
        step_count=int(str(data["step_count"])),
        graph_manifest_version=now.number,
        steps=done.plan.to_json()["steps"],  # type: ignore[arg-type]
        commit=UNSET if done.commit is None else commit_output(done.commit),
    )
