"""Which tools a session has, and how one is called.

A tool that the caller may not use, or that the session leaves out, is not listed; calling it is calling a tool that is not there.
"""

from __future__ import annotations

from collections.abc import Mapping
from threading import Event
from typing import Any, Final

import msgspec

from omnigraph.errors import GraphError, UsageError
from omnigraph.memory.checks import is_memory
from omnigraph.model.frozen import frozen
from omnigraph.policy.port import Access, Action
from omnigraph.service import Caller, GraphRef
from omnigraph.service.operations.show_schema import ShowSchema
from omnigraph.surfaces.mcp.answering.answers import answer
from omnigraph.surfaces.mcp.answering.bounds import text_of
from omnigraph.surfaces.mcp.answering.errors import error_answer, misused, unexpected
from omnigraph.surfaces.mcp.session import Call, Session
from omnigraph.surfaces.mcp.tool import Tool
from omnigraph.surfaces.mcp.tools import MEMORY_TOOLS, TOOLS
from omnigraph.surfaces.mcp.tools.stored import hidden_query, stored_tools

_BY_NAME: Final = {tool.name: tool for tool in (*TOOLS, *MEMORY_TOOLS)}


@frozen
class Answer:
    """What came of a call."""

    text: str
    data: dict[str, Any] | None
    """None of an error."""

    @property
    def is_error(self) -> bool:
        """Whether it is one."""
        return self.data is None


class UnknownTool(Exception):
    """There is no such tool, or not for this caller."""


def listed(session: Session) -> list[Tool]:
    """The tools of a session, by family."""
    caller = session.caller()
    graphs = list(session.graphs.values())
    every = [*TOOLS, *stored_tools(session, caller, _BY_NAME)]
    found = [tool for tool in every if any(session.offers(tool, caller, graph) for graph in graphs)]
    with_memory = [graph for graph in graphs if _has_memory(session, caller, graph)]
    return found + [tool for tool in MEMORY_TOOLS if any(session.offers(tool, caller, graph) for graph in with_memory)]


def _has_memory(session: Session, caller: Caller, graph: GraphRef) -> bool:
    """Whether a graph has the schema of memories, as far as the caller may see."""
    branch = session.readable(caller, graph)
    if branch is None:
        return False
    try:
        shown = session.door.run(caller, ShowSchema(graph, branch))
    except GraphError:  # whoever may not see the schema, or cannot because it is damaged, is told so by the tools they call
        return False
    return is_memory(shown.catalog)


def call_tool(session: Session, name: str, arguments: Mapping[str, Any], cancel: Event) -> Answer:
    """Call a tool, in this thread. Whatever goes wrong is an answer; only a tool that is not there is not called."""
    caller = session.caller()
    tool = _find(session, caller, name)
    if tool is None:
        hidden = hidden_query(session, name)
        if hidden is not None:
            session.denied(caller, name, *hidden)
        raise UnknownTool(name)
    given = dict(arguments)
    call: Call | None = None
    try:
        try:
            which = given.pop("graph", None) if len(session.graphs) > 1 else None
            graph = session.graph(next(iter(session.graph_ids), None) if which is None and tool.of_server else which)
        except UsageError:
            if not any(session.offers(tool, caller, ref) for ref in session.graphs.values()):
                session.turned_away(tool, caller, next(iter(session.graphs.values())))
                raise UnknownTool(name) from None
            raise
        if not session.offers(tool, caller, graph):
            session.turned_away(tool, caller, graph)
            raise UnknownTool(name)
        if tool in MEMORY_TOOLS and not _has_memory(session, caller, graph):
            if session.readable(caller, graph) is None:
                session.denied(caller, name, graph, Access(Action.READ))
            raise UnknownTool(name)
        call = Call(session, caller, graph, cancel, name, given)
        try:
            asked = tool.given(given)
        except msgspec.ValidationError as problem:
            raise misused(name, problem, tool.inputs(session.graph_ids).get("properties", {})) from None
        return Answer(*answer(tool, tool.run(call, asked)))
    except UnknownTool:
        raise
    except GraphError as error:
        return Answer(text_of(error_answer(error, caller.request_id, call)), None)
    except Exception as error:  # a mistake of ours: it is logged, and the session goes on
        return Answer(text_of(unexpected(error, caller.request_id)), None)


def writes(session: Session, name: str) -> bool:
    """Whether a tool may change something: it is then let to its end."""
    tool = _find(session, session.caller(), name)
    return tool is not None and tool.writes


def _find(session: Session, caller: Caller, name: str) -> Tool | None:
    """A tool by its name; stored queries are looked at only if none of the others has it."""
    found = _BY_NAME.get(name)
    if found is not None or not session.stored:
        return found
    return next((tool for tool in stored_tools(session, caller, _BY_NAME) if tool.name == name), None)
