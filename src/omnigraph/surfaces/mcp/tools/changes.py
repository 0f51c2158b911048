"""The change feed: what was committed to a branch since a cursor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Final

import msgspec

from omnigraph.errors import UsageError
from omnigraph.model.limits import MAX_TOOL_BYTES, MAX_TOOL_ITEMS
from omnigraph.service.operations.poll_changes import PollChanges
from omnigraph.surfaces.mcp.answering.bounds import bounded, size_of
from omnigraph.surfaces.mcp.session import Call
from omnigraph.surfaces.mcp.tool import About, Input, Tool
from omnigraph.surfaces.mcp.tools.inputs import Branch, Kinds, Ops, PageToken, Types
from omnigraph.wire.outputs import ChangeFeedOutput

Limit = Annotated[int | None, About(f"Changes of a page at most, up to {MAX_TOOL_ITEMS}.")]

_CHANGES: Final = 100
"""Changes of a page, unless a limit is given."""


class ChangesPoll(Input, frozen=True):
    """From where, and which changes."""

    branch: Branch = None
    cursor: Annotated[str | None, About("Where the last poll ended: nothing is missed, and nothing comes twice.")] = None
    start: Annotated[str | None, About("Where to begin without a cursor: now, beginning, or after:COMMIT.")] = None
    kind: Kinds = None
    type: Types = None
    op: Ops = None
    page_token: PageToken = None
    limit: Limit = None


class ChangeFeedPage(ChangeFeedOutput, frozen=True, kw_only=True):
    """A page of the feed: with a token there is more of it, with a cursor it is complete."""

    truncated: list[str] | msgspec.UnsetType = msgspec.UNSET


def changes_poll(call: Call, given: ChangesPoll) -> Any:
    """What was committed since."""
    places = {"cursor": given.cursor, "start": given.start, "pageToken": given.page_token}
    named = [name for name, value in places.items() if value is not None]
    if len(named) > 1:
        raise UsageError(f"`{'` and `'.join(named)}` exclude each other", hint="Give one of them.")
    since = places[named[0]] if named else "now"
    assert since is not None
    if named == ["start"] and since not in ("now", "beginning") and not since.startswith("after:"):
        raise UsageError(f"`start` must be now, beginning or after:COMMIT, not {since[:100]!r}", hint="")
    filters: dict[str, Any] = {"kinds": tuple(given.kind or ()), "types": tuple(given.type or ()), "ops": tuple(given.op or ())}

    def page(limit: int, room: int) -> dict[str, Any]:
        return call.run(PollChanges(call.graph, since, call.branch(given.branch), limit, max_bytes=room, **filters)).to_dict()

    return fitting(page, given.limit)


def fitting(page: Callable[[int, int], dict[str, Any]], limit: int | None) -> dict[str, Any]:
    """A page of changes that fits: asked for again with fewer changes as long as it does not.

    Where a page ends is the feed's to say, in a token of its own; so a page is never cut here, unless it is one change.
    """
    if limit is not None and not 1 <= limit <= MAX_TOOL_ITEMS:
        raise UsageError(f"`limit` must be from 1 to {MAX_TOOL_ITEMS}, not {limit}", hint="")
    asked, room = limit or _CHANGES, MAX_TOOL_BYTES // 2
    while True:
        found = page(asked, room)
        if asked == 1 or size_of(found) <= MAX_TOOL_BYTES:
            return bounded(found)
        asked, room = max(asked // 4, 1), max(room // 4, 1_024)


TOOLS = (
    Tool(
        "changes_poll",
        "Poll the change feed",
        "Show what was committed to a branch since a cursor, and the cursor to go on from. Keep the cursor, and send it with the"
        " next poll.",
        ChangesPoll,
        ChangeFeedPage,
        changes_poll,
    ),
)
