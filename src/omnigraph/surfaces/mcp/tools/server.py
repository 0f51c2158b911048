"""What answers, and which graphs there are."""

from __future__ import annotations

from typing import Any

import msgspec

from omnigraph.model.versions import API_VERSION
from omnigraph.policy.port import Action
from omnigraph.surfaces.mcp.answering.bounds import paged
from omnigraph.surfaces.mcp.answering.page_tokens import position, token
from omnigraph.surfaces.mcp.session import Call
from omnigraph.surfaces.mcp.tool import Input, Nothing, Tool
from omnigraph.surfaces.mcp.tools.inputs import PageToken
from omnigraph.wire.outputs import GraphListResponse, HealthOutput


class Health(HealthOutput, frozen=True, kw_only=True):
    """That it runs, and which contract it speaks."""

    sdk_server_version: str = msgspec.field(name="sdkServerVersion")
    """The version of the contract that these tools were made for."""


def health(call: Call, given: Nothing) -> Any:
    """Liveness."""
    return {**msgspec.to_builtins(call.session.health()), "sdkServerVersion": API_VERSION}


class GraphsList(Input, frozen=True):
    """A page of the graphs."""

    page_token: PageToken = None


class Graphs(GraphListResponse, frozen=True, kw_only=True):
    """The graphs, by id."""

    next_page_token: str | msgspec.UnsetType = msgspec.UNSET


def graphs_list(call: Call, given: GraphsList) -> Any:
    """The graphs that the caller may list."""
    found = [msgspec.to_builtins(entry) for entry in call.session.list_graphs(call.caller)]
    begun = (position(call, given.page_token, int) or [0])[0]
    return paged({}, "graphs", found[begun:], lambda taken: token(call, begun + taken))


TOOLS = (
    Tool(
        "health",
        "Health",
        "Check that the graph server answers, and which version it has.",
        Nothing,
        Health,
        health,
        needs=(),
        of_server=True,
    ),
    Tool(
        "graphs_list",
        "List graphs",
        "List the graphs that are served here, with their ids.",
        GraphsList,
        Graphs,
        graphs_list,
        needs=(Action.GRAPH_LIST,),
        of_server=True,
    ),
)
