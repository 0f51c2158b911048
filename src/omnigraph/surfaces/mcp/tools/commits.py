"""Commits and what they changed."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from omnigraph.model.limits import MAX_TOOL_ITEMS
from omnigraph.service.operations.commit_changes import CommitChanges
from omnigraph.service.operations.list_commits import ListCommits
from omnigraph.service.operations.show_commit import ShowCommit
from omnigraph.surfaces.mcp.answering.bounds import paged
from omnigraph.surfaces.mcp.answering.page_tokens import position, token
from omnigraph.surfaces.mcp.session import Call, named
from omnigraph.surfaces.mcp.tool import About, Input, Tool
from omnigraph.surfaces.mcp.tools.changes import Limit, fitting
from omnigraph.surfaces.mcp.tools.inputs import Branch, Kinds, Ops, PageToken, Types
from omnigraph.wire.outputs import CommitChangesOutput, CommitListOutput, CommitOutput

CommitId = Annotated[str, About("Id of the commit.")]


class CommitsList(Input, frozen=True):
    """Of which branch."""

    branch: Branch = None
    page_token: PageToken = None


def commits_list(call: Call, given: CommitsList) -> Any:
    """Commits, newest first; a page begins after a commit."""
    before = (position(call, given.page_token, str) or [None])[0]
    found = call.run(ListCommits(call.graph, call.branch(given.branch), MAX_TOOL_ITEMS + 1, before=before))
    return paged({}, "commits", [commit.to_dict() for commit in found], lambda taken: token(call, found[taken - 1].id))


class CommitsGet(Input, frozen=True):
    """Which commit."""

    commit_id: CommitId


def commits_get(call: Call, given: CommitsGet) -> Any:
    """One commit."""
    return call.run(ShowCommit(call.graph, named(given.commit_id, "commitId"))).to_dict()


class CommitsChanges(Input, frozen=True):
    """Of which commit, and which of its changes."""

    commit_id: CommitId
    kind: Kinds = None
    type: Types = None
    op: Ops = None
    page_token: PageToken = None
    limit: Limit = None


class CommitChangesPage(CommitChangesOutput, frozen=True, kw_only=True):
    """What one commit changed: a page of it."""

    truncated: list[str] | msgspec.UnsetType = msgspec.UNSET


def commits_changes(call: Call, given: CommitsChanges) -> Any:
    """What one commit changed."""
    commit = named(given.commit_id, "commitId")
    filters = {"kinds": tuple(given.kind or ()), "types": tuple(given.type or ()), "ops": tuple(given.op or ())}

    def page(limit: int, room: int) -> dict[str, Any]:
        return call.run(CommitChanges(call.graph, commit, given.page_token, limit, max_bytes=room, **filters)).to_dict()

    return fitting(page, given.limit)


TOOLS = (
    Tool(
        "commits_list",
        "List commits",
        "List the commits of a branch, newest first: who changed it, when and why.",
        CommitsList,
        CommitListOutput,
        commits_list,
    ),
    Tool("commits_get", "Get a commit", "Get one commit by its id.", CommitsGet, CommitOutput, commits_get),
    Tool(
        "commits_changes",
        "Show what a commit changed",
        "Show the entities that one commit inserted, updated or deleted, with their values before and after.",
        CommitsChanges,
        CommitChangesPage,
        commits_changes,
    ),
)
