"""Results of tools as text and as data: the same, once for people and models to read, once for programs."""

from __future__ import annotations

from typing import Any

import msgspec

from omnigraph.surfaces.mcp.answering.bounds import bounded, text_of
from omnigraph.surfaces.mcp.tool import Tool


def answer(tool: Tool, found: Any) -> tuple[str, dict[str, Any]]:
    """What a tool gave, as text and as data that its schema describes."""
    data = bounded(msgspec.to_builtins(found, str_keys=True))
    if tool.shows_text is not None:
        return str(data[tool.shows_text]), data
    return text_of(data), data
