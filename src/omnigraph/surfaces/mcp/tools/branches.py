"""Branches and tags."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from omnigraph.errors import UsageError
from omnigraph.policy.port import Action
from omnigraph.service.operations.create_branch import CreateBranch
from omnigraph.service.operations.delete_branch import DeleteBranch
from omnigraph.service.operations.list_branches import ListBranches
from omnigraph.service.operations.list_tags import ListTags
from omnigraph.service.operations.merge import Merge
from omnigraph.surfaces.mcp.answering.bounds import paged
from omnigraph.surfaces.mcp.answering.page_tokens import position, token
from omnigraph.surfaces.mcp.session import Call, named
from omnigraph.surfaces.mcp.tool import About, Input, Tool
from omnigraph.surfaces.mcp.tools.inputs import PageToken
from omnigraph.wire.outputs import BranchCreateOutput, BranchDeleteOutput, BranchListOutput, BranchMergeOutput


class Page(Input, frozen=True):
    """A page of a list."""

    page_token: PageToken = None


class Branches(BranchListOutput, frozen=True, kw_only=True):
    """The branches, by name."""

    next_page_token: str | msgspec.UnsetType = msgspec.UNSET


def branches_list(call: Call, given: Page) -> Any:
    """Names, in order; a page begins after a name, so that it does not matter which come and go."""
    after = (position(call, given.page_token, str) or [""])[0]
    names = [name for name in call.run(ListBranches(call.graph)) if name > after]
    return paged({}, "branches", names, lambda taken: token(call, names[taken - 1]))


class TagEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A name for a commit."""

    name: str
    graph_commit_id: str
    created_by: str | None
    created_at: int | None


class Tags(msgspec.Struct, frozen=True, kw_only=True):
    """The tags, by name."""

    tags: list[TagEntry]
    next_page_token: str | msgspec.UnsetType = msgspec.UNSET


def tags_list(call: Call, given: Page) -> Any:
    """Names, and the commits they name."""
    after = (position(call, given.page_token, str) or [""])[0]
    found = [
        {"name": tag.name, "graph_commit_id": tag.commit, "created_by": tag.created_by, "created_at": tag.created_at}
        for tag in call.run(ListTags(call.graph))
        if tag.name > after
    ]
    return paged({}, "tags", found, lambda taken: token(call, found[taken - 1]["name"]))


class BranchesCreate(Input, frozen=True):
    """A new branch."""

    name: Annotated[str, About("Name of the new branch, for example agent/ada.")]
    from_: Annotated[str | None, About("Branch, tag or commit it starts from; main by default.")] = msgspec.field(
        default=None, name="from"
    )


def branches_create(call: Call, given: BranchesCreate) -> Any:
    """A branch of its own to work on."""
    from_ = "main" if given.from_ is None else named(given.from_, "from")
    made = call.run(CreateBranch(call.graph, given.name, from_))
    return {"uri": call.graph.name, "from": from_, "name": made.branch, "actor_id": made.created_by}


class BranchesDelete(Input, frozen=True):
    """A branch that goes."""

    name: Annotated[str, About("The branch to delete. It cannot be main.")]


def branches_delete(call: Call, given: BranchesDelete) -> Any:
    """A branch goes, with what was not merged from it."""
    name = named(given.name, "name")
    if name == "main":
        raise UsageError("cannot delete branch 'main'", hint="It is there as long as the graph is.")
    last = call.run(DeleteBranch(call.graph, name))
    found: dict[str, Any] = {"uri": call.graph.name, "name": name, "actor_id": call.caller.actor}
    return found if last is None else {**found, "commit": last.to_dict()}


class BranchesMerge(Input, frozen=True):
    """A merge."""

    source: Annotated[str, About("The branch that is merged.")]
    target: Annotated[str | None, About("The branch it is merged into; main by default.")] = None


def branches_merge(call: Call, given: BranchesMerge) -> Any:
    """A branch goes into another one."""
    target = "main" if given.target is None else named(given.target, "target")
    merged = call.run(Merge(call.graph, named(given.source, "source"), target, queries=call.queries))
    found = merged.to_dict()
    return found if merged.commit is None else {**found, "commit": merged.commit.to_dict()}


TOOLS = (
    Tool("branches_list", "List branches", "List the branches of the graph.", Page, Branches, branches_list),
    Tool("tags_list", "List tags", "List the tags of the graph: names for commits, usable as `snapshot`.", Page, Tags, tags_list),
    Tool(
        "branches_create",
        "Create a branch",
        "Create a branch to work on without touching others. Prefer it for risky or unreviewed changes.",
        BranchesCreate,
        BranchCreateOutput,
        branches_create,
        "adds",
        (Action.BRANCH_CREATE,),
    ),
    Tool(
        "branches_delete",
        "Delete a branch",
        "Delete a branch, with everything that was not merged from it.",
        BranchesDelete,
        BranchDeleteOutput,
        branches_delete,
        "changes again",
        (Action.BRANCH_DELETE,),
    ),
    Tool(
        "branches_merge",
        "Merge a branch",
        "Merge a branch into another one, main by default. Conflicts change nothing and are listed. Where the target is reviewed,"
        " propose a review instead.",
        BranchesMerge,
        BranchMergeOutput,
        branches_merge,
        "changes again",
        (Action.BRANCH_MERGE,),
    ),
)
