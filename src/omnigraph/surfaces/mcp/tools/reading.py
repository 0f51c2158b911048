"""Queries: rows in pages, each of the same commit."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from omnigraph.errors import UsageError
from omnigraph.model.limits import MAX_TOOL_ITEMS
from omnigraph.service.operations.query import Query as QueryOperation
from omnigraph.surfaces.mcp.answering.bounds import paged, text_of
from omnigraph.surfaces.mcp.answering.page_tokens import position, token
from omnigraph.surfaces.mcp.session import Call
from omnigraph.surfaces.mcp.tool import About, Input, Tool
from omnigraph.surfaces.mcp.tools.inputs import Branch, PageToken, Params, Query, QueryName, Snapshot
from omnigraph.wire.outputs import ReadOutput

if TYPE_CHECKING:
    from omnigraph.service.results import Result


Limit = Annotated[int | None, About(f"Rows of a page at most, up to {MAX_TOOL_ITEMS}.")]


class QueryInput(Input, frozen=True):
    """A read."""

    query: Query
    name: QueryName = None
    params: Params = None
    branch: Branch = None
    snapshot: Snapshot = None
    limit: Limit = None
    page_token: PageToken = None


class Rows(ReadOutput, frozen=True, kw_only=True):
    """Rows, and the commit they were read from. `row_count` counts those of all pages."""

    next_page_token: str | msgspec.UnsetType = msgspec.UNSET
    truncated: list[str] | msgspec.UnsetType = msgspec.UNSET
    """Values that were cut, because one row alone was too long."""


def query(call: Call, given: QueryInput) -> Any:
    """Rows of a read."""
    session = call.session

    def asked(branch: str | None, at: str | None) -> Result:
        return call.run(
            QueryOperation(
                call.graph,
                given.query,
                given.params,
                given.name,
                branch,
                at,
                timeout=session.query_seconds,
                memory_limit=session.query_bytes,
                cancel=call.cancel,
            )
        )

    return rows(call, asked, *call.state(given.branch, given.snapshot), given.limit, given.page_token)


Asked = Callable[[str | None, str | None], "Result"]
"""The answer of a branch, or of the graph as it was."""


def rows(call: Call, asked: Asked, branch: str | None, snapshot: str | None, limit: int | None, page_token: str | None) -> Any:
    """A page of the rows of a read.

    A page that follows another one is read from the commit that the first was read from. As long as the branch is still there, it
    is asked as the branch: so whoever may read the one may read the other. That rows come in the same order again is checked by
    the last row of the page before; a query that orders its rows makes sure of it.
    """
    if limit is not None and not 1 <= limit <= MAX_TOOL_ITEMS:
        raise UsageError(f"`limit` must be from 1 to {MAX_TOOL_ITEMS}, not {limit}", hint="")
    begun = position(call, page_token, str, int, str)
    result = asked(branch, snapshot)
    if begun is not None and result.graph_commit_id != begun[0]:
        result = asked(None, begun[0])
    found = result.to_dict()
    all_rows = found.pop("rows")
    offset = 0
    if begun is not None:
        _, offset, last = begun
        if not 0 < offset < len(all_rows) or _mark(all_rows[offset - 1]) != last:
            raise UsageError(
                "the rows come in another order than before",
                hint="Order them in the query, then start again without `pageToken`.",
            )
        found["target"] = {"branch": branch, "snapshot": snapshot}
    return paged(
        found,
        "rows",
        all_rows[offset:],
        lambda taken: token(call, result.graph_commit_id, offset + taken, _mark(all_rows[offset + taken - 1])),
        most=limit or MAX_TOOL_ITEMS,
    )


def _mark(row: Any) -> str:
    return hashlib.blake2s(text_of(row).encode(), digest_size=6).hexdigest()


TOOLS = (
    Tool(
        "query",
        "Run a query",
        "Read from the graph with a query. Give values as parameters, not inside the text. Rows come in pages: continue with"
        " `pageToken`. The answer names the commit it was read from, which `mutate` takes as `ifGraphCommit`. If the query is"
        " wrong, the answer shows where, what may be meant, and the part of the schema that it needs.",
        QueryInput,
        Rows,
        query,
    ),
)
