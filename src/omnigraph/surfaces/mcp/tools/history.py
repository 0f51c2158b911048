"""Differences between two states, and the history of one entity."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from omnigraph.errors import UsageError
from omnigraph.service.operations.describe_branch import DescribeBranch
from omnigraph.service.operations.diff import Diff
from omnigraph.service.operations.entity_history import EntityHistory
from omnigraph.surfaces.mcp.answering.bounds import paged
from omnigraph.surfaces.mcp.answering.page_tokens import position, token
from omnigraph.surfaces.mcp.session import Call, named
from omnigraph.surfaces.mcp.tool import About, Input, Tool
from omnigraph.surfaces.mcp.tools.inputs import Branch, Kinds, Ops, PageToken, Types
from omnigraph.wire.outputs import EntityChangeOutput
from omnigraph.wire.own_outputs import DiffStats, EntityHistoryOutput


class DiffInput(Input, frozen=True):
    """Which two states."""

    from_: Annotated[
        str | None, About("A branch, tag or commit. By default where the branch of `to` was created from its origin.")
    ] = msgspec.field(default=None, name="from")
    to: Annotated[str | None, About("A branch, tag or commit; the default branch of the session unless one is named.")] = None
    kind: Kinds = None
    type: Types = None
    op: Ops = None
    page_token: PageToken = None


class DiffPage(msgspec.Struct, frozen=True, kw_only=True):
    """What differs between two states: a page of it. `stats` counts all of it."""

    from_graph_commit_id: str
    to_graph_commit_id: str
    stats: DiffStats
    schema: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET
    """What differs between their schemas, if anything does."""
    changes: list[EntityChangeOutput]
    next_page_token: str | msgspec.UnsetType = msgspec.UNSET
    truncated: list[str] | msgspec.UnsetType = msgspec.UNSET


def diff(call: Call, given: DiffInput) -> Any:
    """What leads from one state to another; further pages compare the same two commits."""
    begun = position(call, given.page_token, str, str, int)
    if begun is not None:
        before, after, offset = begun
    else:
        after, offset = call.branch(given.to), 0
        before = named(given.from_, "from") if given.from_ is not None else _origin(call, after)
    filters = {"kinds": tuple(given.kind or ()), "types": tuple(given.type or ()), "ops": tuple(given.op or ())}
    found = call.run(Diff(call.graph, before, after, **filters))
    head: dict[str, Any] = {
        "from_graph_commit_id": found.before.commit,
        "to_graph_commit_id": found.after.commit,
        "stats": found.stats.to_dict(),
        **({} if found.schema is None else {"schema": found.schema.to_dict()}),
    }
    changes = [change.to_dict() for change in list(found.changes)[offset:]]
    return paged(head, "changes", changes, lambda taken: token(call, found.before.commit, found.after.commit, offset + taken))


def _origin(call: Call, branch: str) -> str:
    """Where a branch was created from its origin: what it is compared with unless something else is named."""
    fork = call.run(DescribeBranch(call.graph, branch)).fork_commit
    if fork is None:
        raise UsageError(f"branch '{branch}' was not created from another one", hint="Name the state to compare with as `from`.")
    return fork


class HistoryInput(Input, frozen=True):
    """Which entity."""

    type: Annotated[str, About("Its node or edge type.")]
    key: Annotated[str | list[str] | None, About("Its key; one text for each part of it.")] = None
    id: Annotated[str | None, About("Its id, instead of a key.")] = None
    branch: Branch = None
    page_token: PageToken = None


class HistoryPage(EntityHistoryOutput, frozen=True, kw_only=True):
    """Every commit of a branch that changed an entity, newest first: a page of them."""

    next_page_token: str | msgspec.UnsetType = msgspec.UNSET
    truncated: list[str] | msgspec.UnsetType = msgspec.UNSET


def history(call: Call, given: HistoryInput) -> Any:
    """What happened to an entity; a page begins after a commit."""
    if (given.key is None) == (given.id is None):
        raise UsageError("an entity is named by `key` or by `id`", hint="Give one of them.")
    key = (given.key,) if isinstance(given.key, str) else None if given.key is None else tuple(given.key)
    after = (position(call, given.page_token, str) or [None])[0]
    found = call.run(EntityHistory(call.graph, given.type, key, given.id, call.branch(given.branch))).to_dict()
    revisions = found.pop("revisions")
    if after is not None:
        ids = [revision["commit"]["graph_commit_id"] for revision in revisions]
        revisions = revisions[ids.index(after) + 1 :] if after in ids else []
    return paged(found, "revisions", revisions, lambda taken: token(call, revisions[taken - 1]["commit"]["graph_commit_id"]))


TOOLS = (
    Tool(
        "diff",
        "Compare two states",
        "Show what differs between two branches, tags or commits. Without `from` it shows what a branch changed since it was"
        " created: look at it before you propose or merge.",
        DiffInput,
        DiffPage,
        diff,
    ),
    Tool(
        "history",
        "Show the history of an entity",
        "Show every commit of a branch that changed one node or edge, newest first, with its values before and after.",
        HistoryInput,
        HistoryPage,
        history,
    ),
)
