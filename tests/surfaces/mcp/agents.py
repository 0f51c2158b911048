"""Agents as the SDK has them: its own client, over a process or over HTTP, called from tests that wait for each answer."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import mcp_types as m
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

import omnigraph as og

SCHEMA = """
node Person { name: String @key  age: I32?  bio: String? @index }
node Company { name: String @key }
edge Knows: Person -> Person { since: Date? }
edge WorksAt: Person -> Company @card(0..1)
"""
NAMES = "query names() { match { $p: Person } return { $p.name, $p.age } order { $p.name } }"
ADD = "query add($n: String, $a: I32?) { insert Person { name: $n, age: $a } }"
SLOW = """
query slow() {
    match { $a: Person  $b: Person  $c: Person  $d: Person  $a.age < $b.age  $b.age < $c.age  $c.age < $d.age }
    return { count($d) as n }
}
"""


class Agent:
    """Somebody who calls tools."""

    def __init__(self, portal: BlockingPortal, client: Client) -> None:
        self.portal, self.client = portal, client

    def tools(self) -> dict[str, m.Tool]:
        """The tools that it is shown."""
        return {tool.name: tool for tool in self.portal.call(partial(self.client.list_tools, cache_mode="bypass")).tools}

    def call(self, tool: str, arguments: Mapping[str, Any] | None = None) -> m.CallToolResult:
        """A tool, whatever comes of it."""
        found = self.portal.call(self.client.call_tool, tool, dict(arguments or {}))
        assert isinstance(found, m.CallToolResult)
        return found

    def data(self, tool: str, /, **arguments: Any) -> Any:
        """What a tool gives, as data: its schema was checked by the client, and its text says the same."""
        found = self.call(tool, arguments)
        assert not found.is_error, text(found)
        if tool != "schema_get":
            assert json.loads(text(found)) == found.structured_content
        return found.structured_content

    def error(self, tool: str, /, **arguments: Any) -> Any:
        """What a tool says instead."""
        found = self.call(tool, arguments)
        assert found.is_error, text(found)
        return json.loads(text(found))

    def read(self, uri: str) -> str:
        """A resource."""
        found = self.portal.call(partial(self.client.read_resource, uri, cache_mode="bypass")).contents[0]
        assert isinstance(found, m.TextResourceContents)
        return found.text


def text(result: m.CallToolResult) -> str:
    """The one text of a result."""
    [content] = result.content
    assert isinstance(content, m.TextContent)
    return content.text


def parameters(*arguments: str | Path, environment: Mapping[str, str] | None = None) -> StdioServerParameters:
    """How `omnigraph mcp` is started."""
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "HOME") if name in os.environ}
    return StdioServerParameters(
        command=sys.executable,
        args=["-m", "omnigraph", "mcp", *map(str, arguments)],
        env={**kept, "OMNIGRAPH_HOME": "/nonexistent", **(environment or {})},
    )


@contextmanager
def over_stdio(*arguments: str | Path, mode: str = "auto", name: str = "tests", **more: Any) -> Iterator[Agent]:
    """An agent whose client started `omnigraph mcp`."""
    with speaking(parameters(*arguments, **more), mode, name) as agent:
        yield agent


@contextmanager
def over_http(url: str, token: str | None, mode: str = "auto") -> Iterator[Agent]:
    """An agent whose client asks a server."""
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    with speaking(streamable_http_client(url, http_client=create_mcp_http_client(headers)), mode, "tests") as agent:
        yield agent


@contextmanager
def speaking(server: Any, mode: str, name: str) -> Iterator[Agent]:
    """An agent with a client of its own."""
    client = Client(server, mode=mode, client_info=m.Implementation(name=name, version="1"))
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(client):
        yield Agent(portal, client)


def people(folder: Path) -> Path:
    """A graph of people, with a branch, a tag, and another branch that is nobody's business."""
    path = folder / "people.omni"
    with og.init(path, schema=SCHEMA, durability="os") as graph:
        graph.load(
            [
                {"type": "Person", "data": {"name": "Ada", "age": 36, "bio": "Wrote the first program"}},
                {"type": "Person", "data": {"name": "Bob", "age": 41}},
                {"type": "Company", "data": {"name": "Acme"}},
                {"edge": "Knows", "from": "Ada", "to": "Bob", "data": {"id": "k1", "since": "2024-05-01"}},
            ],
            mode="append",
            actor="ada",
        )
        graph.branches.create("work", actor="ada")
        graph.mutate(ADD, {"n": "Eve", "a": 22}, branch="work", actor="eve")
        graph.tags.create("v1", graph.commit("main").id)
        graph.branches.create("secret", actor="ada")
        graph.mutate(ADD, {"n": "Mallory", "a": 1}, branch="secret", actor="ada")
        graph.tags.create("hidden", graph.commit("secret").id)
    return path
