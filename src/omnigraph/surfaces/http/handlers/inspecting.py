"""How a read is answered, what it matched, what differs, and how much there is."""

from __future__ import annotations

from typing import Any

import msgspec
from starlette.responses import Response

from omnigraph.errors import UsageError
from omnigraph.service.operations.diff import Diff
from omnigraph.service.operations.entity_history import EntityHistory
from omnigraph.service.operations.explain import Explain
from omnigraph.service.operations.stats import Stats
from omnigraph.service.operations.subgraph import Subgraph
from omnigraph.surfaces.http.answering.answers import answer
from omnigraph.surfaces.http.calls import Call, one_state
from omnigraph.surfaces.http.handlers.entities import edge_output, node_output
from omnigraph.wire.own_outputs import DiffOutput, EntityHistoryOutput, StatsOutput, SubgraphOutput
from omnigraph.wire.requests import ExplainRequest, SubgraphRequest


async def explain(call: Call) -> Response:
    """The plan of a read."""
    wanted = await call.json(ExplainRequest)
    branch, at = one_state(wanted.branch, wanted.snapshot)
    asked = Explain(call.graph.ref, wanted.query, wanted.params, wanted.name, branch, at, bool(wanted.analyze), wanted.traversal)
    return answer((await call.run(asked)).to_dict())


async def subgraph(call: Call) -> Response:
    """The nodes and edges behind an answer."""
    wanted = await call.json(SubgraphRequest)
    branch, at = one_state(wanted.branch, wanted.snapshot)
    found = await call.run(Subgraph(call.graph.ref, wanted.query, wanted.params, wanted.name, branch, at, wanted.limit))
    return answer(
        SubgraphOutput(
            query_name=found.query_name,
            graph_commit_id=found.commit,
            nodes=[node_output(node) for node in found.nodes],
            edges=[edge_output(edge) for edge in found.edges],
            is_complete=found.is_complete,
        )
    )


async def diff(call: Call) -> Response:
    """What differs between two branches, tags or commits."""
    ends = {name: call.parameter(name) for name in ("from", "to")}
    for name, value in ends.items():
        if not value:
            raise UsageError(f"query parameter '{name}' is required", hint="A branch, a tag or a commit.")
    kinds, types, ops = (tuple(v for name, v in call.parameters if name == wanted) for wanted in ("kind", "type", "op"))
    found = await call.run(Diff(call.graph.ref, ends["from"] or "", ends["to"] or "", kinds, types, ops))
    return await call.do(lambda: answer(compared(found)))


def compared(found: Any) -> DiffOutput:
    """A comparison, as it is answered."""
    return msgspec.convert(
        {
            "from_graph_commit_id": found.before.commit,
            "to_graph_commit_id": found.after.commit,
            "from_graph_manifest_version": found.before.number,
            "to_graph_manifest_version": found.after.number,
            "changes": [change.to_dict() for change in found.changes],
            **({} if found.schema is None else {"schema": found.schema.to_dict()}),
            "published_dataset_versions": found.versions,
            "stats": found.stats.to_dict(),
        },
        DiffOutput,
    )


async def history(call: Call) -> Response:
    """Every commit of a branch that changed an entity."""
    type_ = call.parameter("type")
    key = tuple(value for name, value in call.parameters if name == "key") or None
    if not type_:
        raise UsageError("query parameter 'type' is required", hint="A node or edge type.")
    limit = call.parameter("limit")
    if limit is not None and not (limit.isascii() and limit.isdigit() and len(limit) < 10):
        raise UsageError(f"query parameter 'limit' is a whole number, not {limit!r}", hint="Leave it out for all of them.")
    asked = EntityHistory(
        call.graph.ref,
        type_,
        key,
        call.parameter("id") if key is None else call.parameter("id") or None,  # the id of an empty text is empty
        call.parameter("branch") or "main",
        None if limit is None else int(limit),
    )
    found = await call.run(asked)
    return await call.do(lambda: answer(msgspec.convert(found.to_dict(), EntityHistoryOutput)))


async def stats(call: Call) -> Response:
    """A graph in numbers."""
    found = await call.run(Stats(call.graph.ref, *call.state()))
    said = found.to_dict()
    for failure in said["failures"]:
        failure["message"] = call.graph.placeless(failure["message"])
    said["saved"]["reasons"] = [call.graph.placeless(reason) for reason in said["saved"]["reasons"]]
    return answer(msgspec.convert(said, StatsOutput))
