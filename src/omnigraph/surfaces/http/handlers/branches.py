"""Branches."""

from __future__ import annotations

from starlette.responses import Response

from omnigraph.errors import GraphError, UsageError
from omnigraph.service.operations.create_branch import CreateBranch
from omnigraph.service.operations.delete_branch import DeleteBranch
from omnigraph.service.operations.list_branches import ListBranches
from omnigraph.service.operations.merge import Merge
from omnigraph.surfaces.http.answering.answers import answer
from omnigraph.surfaces.http.answering.outputs import merge_output
from omnigraph.surfaces.http.calls import Call
from omnigraph.wire.outputs import BranchCreateOutput, BranchDeleteOutput, BranchListOutput
from omnigraph.wire.requests import BranchCreateRequest, BranchMergeRequest


async def list_branches(call: Call) -> Response:
    """Their names."""
    return answer(BranchListOutput(branches=await call.run(ListBranches(call.graph.ref))))


async def create(call: Call) -> Response:
    """A new one."""
    wanted = await call.json(BranchCreateRequest)
    from_ = wanted.from_ or "main"
    made = await call.run(CreateBranch(call.graph.ref, wanted.name, from_))
    return answer(BranchCreateOutput(uri=call.graph.uri, from_=from_, name=wanted.name.strip(), actor_id=made.created_by))


async def delete(call: Call) -> Response:
    """One goes."""
    name = call.name("branch").strip()
    if name == "main":
        raise UsageError("cannot delete branch 'main'", hint="It is there as long as the graph is.")
    await call.run(DeleteBranch(call.graph.ref, name))
    return answer(BranchDeleteOutput(uri=call.graph.uri, name=name, actor_id=call.caller.actor))


async def merge(call: Call) -> Response:
    """One goes into another; then, if that is wanted, it is deleted, by a decision of its own."""
    wanted = await call.json(BranchMergeRequest)
    merged = await call.run(Merge(call.graph.ref, wanted.source, wanted.target or "main"))
    if not wanted.delete_branch:
        return answer(merge_output(merged))
    try:
        await call.run(DeleteBranch(call.graph.ref, wanted.source))
    except GraphError as error:  # the merge stands
        return answer(merge_output(merged, deleted=False, delete_error=error.message))
    return answer(merge_output(merged, deleted=True))
