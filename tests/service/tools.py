"""Tools of a served graph, called as JSON-RPC over HTTP: one request, one answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import httpx


def call_tool(client: httpx.Client, tool: str, arguments: Mapping[str, Any], where: str = "/mcp") -> tuple[int, Any]:
    """What calling a tool comes to: the status that its answer carries, and the answer. A tool that is not there is 404."""
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": dict(arguments)}}
    found = client.post(where, json=asked, headers={"Accept": "application/json, text/event-stream"})
    said = found.json()
    if found.status_code != 200:
        return found.status_code, said
    if "error" in said:
        assert said["error"] == {"code": -32602, "message": f"Unknown tool: {tool}"}, said
        return 404, said["error"]
    result = said["result"]
    if not result.get("isError"):
        return 200, result["structuredContent"]
    answer = json.loads(result["content"][0]["text"])
    return answer["status"], answer
