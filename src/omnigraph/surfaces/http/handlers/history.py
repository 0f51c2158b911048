"""Commits, what they changed, and the schema."""

from __future__ import annotations

from msgspec import UNSET
from starlette.responses import Response

from omnigraph.errors import UsageError
from omnigraph.service.operations.apply_schema import ApplySchema
from omnigraph.service.operations.list_commits import ListCommits
from omnigraph.service.operations.show_commit import ShowCommit
from omnigraph.service.operations.show_schema import ShowSchema
from omnigraph.service.operations.snapshot import Snapshot
from omnigraph.surfaces.http.answering.answers import answer
from omnigraph.surfaces.http.answering.outputs import commit_output
from omnigraph.surfaces.http.calls import Call
from omnigraph.wire.outputs import CommitListOutput, SchemaApplyOutput, SchemaOutput
from omnigraph.wire.requests import SchemaApplyRequest


async def snapshot(call: Call) -> Response:
    """What a branch holds."""
    found = await call.run(Snapshot(call.graph.ref, call.parameter("branch") or None))
    return answer(found.to_dict())


async def list_commits(call: Call) -> Response:
    """The commits of a branch; all of them, unless there is a limit."""
    limit = call.parameter("limit")
    if limit is not None and not (limit.isascii() and limit.isdigit() and int(limit) > 0):
        raise UsageError("limit must be a positive whole number", hint="Leave it out for all commits.")
    before = call.parameter("page_token")
    wanted = ListCommits(
        call.graph.ref, call.parameter("branch") or "main", None if limit is None else int(limit) + 1, before=before
    )
    found = [commit_output(commit) for commit in await call.run(wanted)]
    more = limit is not None and len(found) > int(limit)
    shown = found[: int(limit)] if limit is not None else found
    return answer(CommitListOutput(commits=shown, next_page_token=shown[-1].graph_commit_id if more else UNSET))


async def show_commit(call: Call) -> Response:
    """One of them."""
    return answer(commit_output(await call.run(ShowCommit(call.graph.ref, call.name("commit_id")))))


async def show_schema(call: Call) -> Response:
    """The schema, as it was accepted."""
    shown = await call.run(ShowSchema(call.graph.ref, call.parameter("branch") or None))
    return answer(SchemaOutput(schema_source=shown.source))


async def apply_schema(call: Call) -> Response:
    """Another one."""
    wanted = await call.json(SchemaApplyRequest)
    done = await call.run(ApplySchema(call.graph.ref, wanted.schema_source, allow_data_loss=bool(wanted.allow_data_loss)))
    now = await call.run(Snapshot(call.graph.ref, "main"))
    data = done.to_dict()
    return answer(
        SchemaApplyOutput(
            uri=call.graph.uri,
            supported=bool(data["supported"]),
            applied=bool(data["applied"]),
            step_count=int(str(data["step_count"])),
            graph_manifest_version=now.number,
            steps=done.plan.to_json()["steps"],  # type: ignore[arg-type]
        )
    )
