"""The page of MCP tools, written from the registry of tools."""

from __future__ import annotations

from typing import Any

from omnigraph.surfaces.mcp.prompts import PROMPTS
from omnigraph.surfaces.mcp.resources import GUIDES
from omnigraph.surfaces.mcp.tool import Tool
from omnigraph.surfaces.mcp.tools import MEMORY_TOOLS, TOOLS
from omnigraph.surfaces.mcp.tools.stored import MANY

_EFFECTS = {
    "reads": "reads",
    "adds": "adds",
    "changes": "changes (destructive)",
    "changes again": "changes (destructive, idempotent)",
}


def mcp_page() -> str:
    """Every tool with its inputs and outputs, every resource, every prompt."""
    lead = (
        "What `omnigraph mcp` and `POST …/mcp` of a server offer: see [the guide](../guide/mcp.md). A tool is shown if the caller"
        " may use it. Every answer is text and, as `structuredContent`, data. Lists come in pages:"
        " `next_page_token` is sent as `pageToken`."
    )
    parts = [lead, "## Tools", *(_tool(tool) for tool in TOOLS)]
    parts += ["## Tools of memories", _MEMORY, *(_tool(tool) for tool in MEMORY_TOOLS)]
    parts += ["## Stored queries", _STORED, *(_tool(tool) for tool in MANY)]
    rows = [("omnigraph://schema", "the schema, as text"), ("omnigraph://branches", "the branches, as JSON")]
    rows += [("omnigraph://graphs", "the graphs, as JSON"), *((f"omnigraph://best-practices/{n}", a) for n, a in GUIDES.items())]
    parts += ["## Resources", "\n".join(["| resource | what |", "|---|---|", *(f"| `{uri}` | {what} |" for uri, what in rows)])]
    prompts = [f"| `{p.name}` | {p.description} | {', '.join(f'`{a}`' for a in p.arguments)} |" for p in PROMPTS]
    parts += ["## Prompts", "\n".join(["| prompt | what | arguments |", "|---|---|---|", *prompts])]
    return "\n\n".join(parts)


_MEMORY = "These are there on a graph with the schema of the template `memory`: see [the guide](../guide/memory.md)."

_STORED = (
    "Each stored query of a served graph that the caller may invoke is a tool of its own, named as the query (or its"
    " `tool_name`), with its parameters as inputs. From 24 queries on, and on a server with"
    " several graphs, there are these two instead:"
)


def _tool(tool: Tool) -> str:
    schema = tool.inputs()
    required = schema.get("required", [])
    rows = [
        f"| `{name}`{'' if name in required else '?'} | {_type(about)} | {about.get('description', '')} |"
        for name, about in schema["properties"].items()
    ]
    table = "\n".join(["| input | type | meaning |", "|---|---|---|", *rows]) if rows else "No inputs."
    gives = ", ".join(f"`{name}`" for name in tool.outputs()["properties"])
    return f"### {tool.name}\n\n{tool.description} It {_EFFECTS[tool.effect]}.\n\n{table}\n\nGives {gives}."


def _type(about: dict[str, Any]) -> str:
    if "enum" in about:
        return ", ".join(f"`{value}`" for value in about["enum"])
    if "anyOf" in about:
        return " or ".join(_type(one) for one in about["anyOf"])
    if about.get("type") == "array":
        return f"array of {_type(about.get('items', {}))}"
    return str(about.get("type", "any"))
