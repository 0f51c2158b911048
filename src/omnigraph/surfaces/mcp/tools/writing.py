"""Mutations: inserts, updates and deletes, as one commit."""

from __future__ import annotations

from typing import Annotated, Any

from omnigraph.policy.port import Action
from omnigraph.service.operations.mutate import Mutate
from omnigraph.surfaces.mcp.session import Call, named
from omnigraph.surfaces.mcp.tool import About, Input, Tool
from omnigraph.surfaces.mcp.tools.inputs import Branch, Params, Query, QueryName
from omnigraph.wire.outputs import ChangeOutput


class MutateInput(Input, frozen=True):
    """A mutation."""

    query: Query
    name: QueryName = None
    params: Params = None
    branch: Branch = None
    if_graph_commit: Annotated[
        str | None, About("Change the branch only if it is still at this commit, which a query reported as `graph_commit_id`.")
    ] = None


def mutate(call: Call, given: MutateInput) -> Any:
    """A mutation, on a branch that is still where it was if that is asked for."""
    if_commit = None if given.if_graph_commit is None else named(given.if_graph_commit, "ifGraphCommit")
    return call.run(Mutate(call.graph, given.query, given.params, given.name, call.branch(given.branch), if_commit)).to_dict()


TOOLS = (
    Tool(
        "mutate",
        "Change the graph",
        "Insert, update or delete with a mutation; one call is one commit, or none if anything is wrong. Give values as"
        " parameters. Send `ifGraphCommit` when the change rests on what you read. After a conflict read again before you retry.",
        MutateInput,
        ChangeOutput,
        mutate,
        "changes",
        (Action.CHANGE,),
    ),
)
