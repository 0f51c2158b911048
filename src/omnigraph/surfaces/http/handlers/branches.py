"""Branches."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET
from starlette.responses import Response

from omnigraph.errors import GraphError, UsageError
from omnigraph.service.operations.create_branch import CreateBranch
from omnigraph.service.operations.delete_branch import DeleteBranch
from omnigraph.service.operations.describe_branch import DescribeBranch
from omnigraph.service.operations.list_branches import ListBranches
from omnigraph.service.operations.merge import Merge
from omnigraph.service.operations.revert import Revert
from omnigraph.surfaces.http.answering.answers import answer
from omnigraph.surfaces.http.answering.outputs import branch_output, commit_output, merge_output, revert_output
from omnigraph.surfaces.http.calls import Call
from omnigraph.wire.outputs import BranchCreateOutput, BranchDeleteOutput, BranchListOutput
from omnigraph.wire.requests import BranchCreateRequest, BranchMergeRequest, RevertRequest


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
    sealed = await call.run(DeleteBranch(call.graph.ref, name))
    last = UNSET if sealed is None else commit_output(sealed)
    return answer(BranchDeleteOutput(uri=call.graph.uri, name=name, actor_id=call.caller.actor, commit=last))


async def describe(call: Call) -> Response:
    """One of them: where it came from."""
    return answer(branch_output(await call.run(DescribeBranch(call.graph.ref, call.name("branch").strip()))))


async def merge(call: Call) -> Response:
    """One goes into another; then, if that is wanted, it is deleted, by a decision of its own."""
    wanted = await call.json(BranchMergeRequest)
    if wanted.dry_run and wanted.delete_branch:
        raise UsageError("a dry run changes nothing, and delete_branch would", hint="Leave one of them out.")
    operation = Merge(
        call.graph.ref,
        wanted.source,
        wanted.target or "main",
        bool(wanted.dry_run),
        resolution(wanted.resolve),
        bool(wanted.strict),
        wanted.message,
        call.idempotency_key,
        call.graph.queries,
    )
    merged = await call.run(operation)
    if not wanted.delete_branch:
        return answer(merge_output(merged))
    try:
        await call.run(DeleteBranch(call.graph.ref, wanted.source))
    except GraphError as error:  # the merge stands
        return answer(merge_output(merged, deleted=False, delete_error=error))
    return answer(merge_output(merged, deleted=True))


async def revert(call: Call) -> Response:
    """What a commit did is undone."""
    wanted = await call.json(RevertRequest)
    operation = Revert(
        call.graph.ref,
        wanted.commit,
        wanted.branch or "main",
        bool(wanted.dry_run),
        resolution(wanted.resolve),
        bool(wanted.strict),
        wanted.message,
    )
    return answer(revert_output(await call.run(operation)))


def resolution(given: Any) -> Any:
    """How conflicts are settled. What it says is checked by whoever settles them."""
    if given is None or isinstance(given, str | dict):
        return given
    raise UsageError("resolve is `ours`, `theirs`, or an object of conflict keys to a side or to values", hint="")
