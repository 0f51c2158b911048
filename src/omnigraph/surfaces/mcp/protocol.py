"""MCP itself: what the official SDK asks, answered from a session.

The SDK reads requests and writes answers; here is what it calls in between. Which session a request belongs to is the host's to
say: `Host.session` is asked with the name of the client. Whatever is wrong with a call is answered as a result (`isError`), so
that an agent can mend it; a tool, resource or prompt that is not there is an error of the protocol (-32602).
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final, Protocol

import mcp_types as m
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError

from omnigraph.errors import GraphError, QueryCancelled
from omnigraph.model.versions import __version__
from omnigraph.surfaces.mcp import catalogue, prompts, resources
from omnigraph.surfaces.mcp.session import Session
from omnigraph.surfaces.mcp.tool import Tool
from omnigraph.surfaces.mcp.wording import TOOLS
from omnigraph.wire.errors import INTERNAL_TEXT, status_of

_log = logging.getLogger("omnigraph.mcp")

NAME: Final = "omnigraph"


class Host(Protocol):
    """Whoever has the connection."""

    def session(self, client: str | None) -> Session:
        """The session of a client of that name."""
        ...


Context = ServerRequestContext[Any, Any]


def server(instructions: str, host: Host | None = None) -> Server[Any]:
    """The server of the SDK, for one host; without one, a host comes with every request."""

    @asynccontextmanager
    async def life(_: Server[Any]) -> AsyncIterator[Any]:
        yield host

    return Server(
        NAME,
        version=__version__,
        title="OmniGraph",
        description="A versioned property graph: query it, branch it, change it, propose changes.",
        instructions=instructions,
        lifespan=life,
        on_list_tools=_list_tools,
        on_call_tool=_call_tool,
        on_list_resources=_list_resources,
        on_list_resource_templates=_list_templates,
        on_read_resource=_read_resource,
        on_list_prompts=_list_prompts,
        on_get_prompt=_get_prompt,
    )


def _session(context: Context) -> Session:
    host: Host = context.lifespan_context
    told = context.session.client_params
    return host.session(None if told is None else told.client_info.name)


def unknown(what: str, name: str) -> MCPError:
    """That there is no such thing, or not for this caller."""
    return MCPError(m.INVALID_PARAMS, f"Unknown {what}: {name[:200]}")


def _failed(error: Exception) -> MCPError:
    """An error that is no answer of a tool."""
    if isinstance(error, QueryCancelled):
        return MCPError(m.INTERNAL_ERROR, "cancelled")
    if isinstance(error, GraphError):
        if status_of(error)[0] < 500:
            hint = error.advice.worded(TOOLS)
            return MCPError(m.INVALID_PARAMS, f"{error.message}. {hint}" if hint else error.message)
        _log.error("failed: %s", error.message, exc_info=error)
        return MCPError(m.INTERNAL_ERROR, INTERNAL_TEXT)
    _log.error("failed", exc_info=error)
    return MCPError(m.INTERNAL_ERROR, INTERNAL_TEXT)


async def _list_tools(context: Context, params: m.PaginatedRequestParams | None) -> m.ListToolsResult:
    try:
        session = _session(context)
        found = await session.work(lambda cancel: catalogue.listed(session), writes=False)
        return m.ListToolsResult(tools=[_described(tool, session) for tool in found])
    except Exception as error:
        raise _failed(error) from None


def _described(tool: Tool, session: Session) -> m.Tool:
    read_only = not tool.writes
    hints = m.ToolAnnotations(title=tool.title, read_only_hint=read_only, open_world_hint=False)
    if not read_only:
        hints.destructive_hint = tool.effect in ("changes", "changes again")
        hints.idempotent_hint = tool.effect == "changes again"
    return m.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.inputs(session.graph_ids),
        output_schema=tool.outputs(),
        annotations=hints,
    )


async def _call_tool(context: Context, params: m.CallToolRequestParams) -> m.CallToolResult:
    try:
        session = _session(context)
        writes = catalogue.writes(session, params.name)
        arguments = params.arguments or {}
        answer = await session.work(lambda cancel: catalogue.call_tool(session, params.name, arguments, cancel), writes=writes)
    except catalogue.UnknownTool:
        raise unknown("tool", params.name) from None
    except Exception as error:
        raise _failed(error) from None
    content: list[Any] = [m.TextContent(type="text", text=answer.text)]
    return m.CallToolResult(content=content, structured_content=answer.data, is_error=answer.is_error)


async def _list_resources(context: Context, params: m.PaginatedRequestParams | None) -> m.ListResourcesResult:
    try:
        found = resources.resources(_session(context))
    except Exception as error:
        raise _failed(error) from None
    return m.ListResourcesResult(
        resources=[m.Resource(uri=r.uri, name=r.name, description=r.description, mime_type=r.kind) for r in found]
    )


async def _list_templates(context: Context, params: m.PaginatedRequestParams | None) -> m.ListResourceTemplatesResult:
    return m.ListResourceTemplatesResult(resource_templates=[])


async def _read_resource(context: Context, params: m.ReadResourceRequestParams) -> m.ReadResourceResult:
    try:
        session = _session(context)
        kind, text = await session.work(lambda cancel: resources.read(session, params.uri, cancel), writes=False)
    except resources.UnknownResource:
        raise unknown("resource", params.uri) from None
    except Exception as error:
        raise _failed(error) from None
    return m.ReadResourceResult(contents=[m.TextResourceContents(uri=params.uri, mime_type=kind, text=text)])


async def _list_prompts(context: Context, params: m.PaginatedRequestParams | None) -> m.ListPromptsResult:
    return m.ListPromptsResult(
        prompts=[
            m.Prompt(
                name=p.name,
                title=p.title,
                description=p.description,
                arguments=[m.PromptArgument(name=n, description=about, required=True) for n, about in p.arguments.items()],
            )
            for p in prompts.PROMPTS
        ]
    )


async def _get_prompt(context: Context, params: m.GetPromptRequestParams) -> m.GetPromptResult:
    try:
        prompt, text = prompts.filled(params.name, params.arguments or {})
    except prompts.UnknownPrompt:
        raise unknown("prompt", params.name) from None
    except Exception as error:
        raise _failed(error) from None
    message = m.PromptMessage(role="user", content=m.TextContent(type="text", text=text))
    return m.GetPromptResult(description=prompt.description, messages=[message])
