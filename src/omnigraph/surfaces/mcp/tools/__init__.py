"""The tools, one module for each family of them.

A new tool is a module here with `TOOLS = (Tool(…),)`, and a line below. It is then listed, described in
`docs/reference/mcp.md`, held to its bounds, and asked for a test.
"""

from __future__ import annotations

from typing import Final

from omnigraph.surfaces.mcp.tool import Tool
from omnigraph.surfaces.mcp.tools import (
    branches,
    changes,
    checking,
    commits,
    history,
    loading,
    memory,
    reading,
    reviews,
    schema,
    server,
    writing,
)

TOOLS: Final[tuple[Tool, ...]] = (
    *server.TOOLS,
    *schema.TOOLS,
    *reading.TOOLS,
    *checking.TOOLS,
    *branches.TOOLS,
    *commits.TOOLS,
    *changes.TOOLS,
    *history.TOOLS,
    *writing.TOOLS,
    *loading.TOOLS,
    *reviews.TOOLS,
)
"""Every tool that is there whatever the graph; stored queries make others."""

MEMORY_TOOLS: Final[tuple[Tool, ...]] = memory.TOOLS
"""Those of graphs that have the schema of memories."""
