"""Mutations, with a condition or without."""

from __future__ import annotations

from typing import Final

from starlette.responses import Response

from omnigraph.errors import UsageError
from omnigraph.service.operations.mutate import Mutate
from omnigraph.surfaces.http.answering.answers import answer
from omnigraph.surfaces.http.answering.outputs import change_output
from omnigraph.surfaces.http.calls import Call
from omnigraph.wire.requests import ChangeRequest

CONDITION: Final = b"omnigraph-if-graph-commit"
_SHOWN: Final = "Omnigraph-If-Graph-Commit"


async def mutate(call: Call) -> Response:
    """A mutation. The condition has a route of its own, so that a server that does not know it cannot lose it."""
    wanted = await call.json(ChangeRequest)
    refuse_condition(call, f"{call.route.path.rsplit('/', 1)[0]}/mutate/if-graph-commit")
    return await _run(call, wanted, None)


async def mutate_if(call: Call) -> Response:
    """A mutation, if the branch is at a commit."""
    wanted = await call.json(ChangeRequest)
    return await _run(call, wanted, condition(call))


async def _run(call: Call, wanted: ChangeRequest, if_commit: str | None) -> Response:
    source = wanted.query if wanted.query is not None else wanted.query_source
    if source is None:
        raise UsageError("invalid request body: Object missing required field `query`", hint="")
    name = wanted.name if wanted.name is not None else wanted.query_name
    operation = Mutate(
        call.graph.ref,
        source,
        wanted.params,
        name,
        wanted.branch or "main",
        if_commit,
        wanted.message,
        call.idempotency_key,
        bool(wanted.embed),
    )
    return answer(change_output(await call.application.together.run(call, operation)))


def refuse_condition(call: Call, conditional: str) -> None:
    """Refuse a condition where it would not be looked at."""
    if call.header_values(CONDITION):
        route = conditional.replace("{graph_id}", call.names["graph_id"])
        raise UsageError(f"{_SHOWN} requires the fail-closed conditional route {route}", hint="Send it there.")


def condition(call: Call) -> str:
    """The commit that a write is conditional on: there must be one, spelt as it is."""
    values = call.header_values(CONDITION)
    if len(values) != 1:
        raise UsageError(f"{_SHOWN} must be given {'once' if values else 'on this route'}", hint="Give one commit id.")
    try:
        text = values[0].decode().strip()
    except UnicodeDecodeError:
        raise UsageError(f"{_SHOWN} is not UTF-8", hint="Give one commit id.") from None
    if not text or text == "*" or text.startswith(("W/", '"')) or text.endswith('"') or "," in text:
        raise UsageError(f"{_SHOWN} takes one raw commit id, not {text!r}", hint="No quotes, lists, `*` or weak tags.")
    return text
