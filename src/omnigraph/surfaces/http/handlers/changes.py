"""What commits changed: of one commit, as a feed, and as a baseline to start from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec
from starlette.responses import Response

from omnigraph.errors import ResourceLimit, UsageError
from omnigraph.model.limits import MAX_PAGE_CHANGES
from omnigraph.service.operations.baseline import Baseline
from omnigraph.service.operations.commit_changes import CommitChanges
from omnigraph.service.operations.poll_changes import PollChanges
from omnigraph.surfaces.http.answering.answers import NDJSON, answer
from omnigraph.surfaces.http.answering.streams import Stream
from omnigraph.surfaces.http.calls import Call, positive
from omnigraph.wire.requests import ChangeBaselineRequest

_MANY: Final = ("kind", "type", "op")
DEFAULT_LIMIT: Final = 1_000
DEFAULT_BYTES: Final = 4 << 20
DEFAULT_COMMITS: Final = 128


class _Wanted:
    """The parameters of a request for changes."""

    def __init__(self, call: Call) -> None:
        self.one: dict[str, str] = {}
        self.many: dict[str, tuple[str, ...]] = dict.fromkeys(_MANY, ())
        for name, value in call.parameters:
            if name in _MANY:
                self.many[name] += (value,)
            elif name in self.one:
                raise UsageError(f"query parameter '{name}' is given twice", hint="Give it once.")
            else:
                self.one[name] = value

    @property
    def limit(self) -> int:
        text = self.one.get("limit")
        if text is None:
            return DEFAULT_LIMIT
        limit = positive(text)
        if limit is None:
            raise UsageError("limit must be a positive whole number", hint=f"At most {MAX_PAGE_CHANGES}.")
        if limit > MAX_PAGE_CHANGES:
            raise ResourceLimit(
                "too many changes on a page", resource="commit_changes_page_changes", actual=limit, limit=MAX_PAGE_CHANGES
            )
        return limit

    def bound(self, name: str, default: int) -> int:
        """A bound of a page besides the number of its changes."""
        given = positive(self.one.get(name, str(default)))
        if given is None:
            raise UsageError(f"{name} must be a positive whole number", hint="")
        return given

    @property
    def filters(self) -> dict[str, Any]:
        bounds = {"limit": self.limit, "max_bytes": self.bound("max_bytes", DEFAULT_BYTES)}
        return {**bounds, "kinds": self.many["kind"], "types": self.many["type"], "ops": self.many["op"]}


async def commit_changes(call: Call) -> Response:
    """What one commit changed: a page of it."""
    wanted, commit = _Wanted(call), call.name("commit_id")
    operation = CommitChanges(call.graph.ref, commit, wanted.one.get("page_token"), **wanted.filters)
    return answer((await call.run(operation)).to_dict())


async def poll(call: Call) -> Response:
    """What was committed to a branch since a cursor: a page of it."""
    wanted = _Wanted(call)
    given = [name for name in ("cursor", "start", "page_token") if name in wanted.one]
    if len(given) > 1:
        raise UsageError(f"{' and '.join(given)} exclude each other", hint="Give one of them.")
    since = wanted.one[given[0]] if given else "now"
    if given == ["start"] and since not in ("now", "beginning") and not since.startswith("after:"):
        raise UsageError(f"start must be now, beginning or after:<commit id>, not {since!r}", hint="")
    most = wanted.bound("max_commits", DEFAULT_COMMITS)
    branch = branch_of(wanted.one.get("branch"))
    page = await call.run(PollChanges(call.graph.ref, since, branch, max_commits=most, **wanted.filters))
    return answer(page.to_dict())


async def baseline(call: Call) -> Response:
    """Everything at the newest commit of a branch, and at last the cursor behind it."""
    wanted = await call.json(ChangeBaselineRequest)
    filters = {"kinds": tuple(wanted.kind or ()), "types": tuple(wanted.type or ()), "ops": tuple(wanted.op or ())}
    found = await call.run(Baseline(call.graph.ref, branch_of(wanted.branch), **filters))

    def chunks() -> Iterator[bytes]:
        for _, lines in found.chunks():
            yield lines
        yield msgspec.json.encode(found.last_record) + b"\n"

    return Stream(call, chunks(), NDJSON)


def branch_of(given: str | None) -> str:
    """The branch that is meant: trimmed before anybody decides about it."""
    if given is None:
        return "main"
    if not given.strip():
        raise UsageError("branch must not be blank", hint="Leave it out for main.")
    return given.strip()
