"""The schema, and what stands where."""

from __future__ import annotations

from typing import Any

import msgspec

from omnigraph.model.limits import MAX_TOOL_BYTES
from omnigraph.service.operations.show_schema import ShowSchema
from omnigraph.service.operations.snapshot import Snapshot
from omnigraph.surfaces.mcp.answering.bounds import paged
from omnigraph.surfaces.mcp.answering.page_tokens import position, token
from omnigraph.surfaces.mcp.session import Call
from omnigraph.surfaces.mcp.tool import Input, Tool
from omnigraph.surfaces.mcp.tools.inputs import Branch, PageToken
from omnigraph.wire.outputs import SnapshotOutput


class SchemaGet(Input, frozen=True):
    """A page of the schema."""

    page_token: PageToken = None


class Schema(msgspec.Struct, frozen=True, kw_only=True):
    """The schema, or a part of a long one."""

    schema_source: str
    next_page_token: str | msgspec.UnsetType = msgspec.UNSET


def schema_get(call: Call, given: SchemaGet) -> Any:
    """The text of the schema, in parts if it is long; the parts of one commit fit together."""
    begun = position(call, given.page_token, str, int)
    at, offset = (None, 0) if begun is None else begun
    accepted = call.run(ShowSchema(call.graph, None if at else call.branch(None), at))
    text = accepted.source
    part = text[offset : offset + MAX_TOOL_BYTES // 8]  # so that it fits, escaped as JSON, whatever it is
    found: dict[str, Any] = {"schema_source": part}
    if offset + len(part) < len(text):
        found["next_page_token"] = token(call, accepted.commit, offset + len(part))
    return found


class SnapshotInput(Input, frozen=True):
    """Of which branch."""

    branch: Branch = None
    page_token: PageToken = None


class SnapshotPage(SnapshotOutput, frozen=True, kw_only=True):
    """What a branch holds, type by type."""

    next_page_token: str | msgspec.UnsetType = msgspec.UNSET


def snapshot(call: Call, given: SnapshotInput) -> Any:
    """The types of a branch with the number of their entities; further pages are of the same commit."""
    begun = position(call, given.page_token, str, int)
    at, offset = (None, 0) if begun is None else begun
    found = call.run(Snapshot(call.graph, None if at else call.branch(given.branch), at)).to_dict()
    types = found.pop("datasets")
    if begun is not None:
        found["graph_branch"] = call.branch(given.branch)
    return paged(found, "datasets", types[offset:], lambda taken: token(call, found["graph_commit_id"], offset + taken))


TOOLS = (
    Tool(
        "schema_get",
        "Get the schema",
        "Get the schema of the graph: node and edge types, their properties and constraints. Read it before you write a query.",
        SchemaGet,
        Schema,
        schema_get,
        shows_text="schema_source",
    ),
    Tool(
        "snapshot",
        "Count entities by type",
        "Show the types that a branch holds, each with the number of its entities, and the commit that it is at.",
        SnapshotInput,
        SnapshotPage,
        snapshot,
    ),
)
