"""MCP in the server: one exchange a request, by the tokens, policy, limits and audit of every other route."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.surfaces.http.conftest import TOKENS, Running, serving
from tests.surfaces.mcp.agents import ADD, NAMES, Agent, over_http

HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}


@pytest.fixture(scope="module")
def running(people_once: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("served")
    first, second = (shutil.copytree(people_once, folder / name) for name in ("people.omni", "others.omni"))
    with serving(Path(first), Path(second)) as found:
        yield found


def post(
    running: Running, body: Any, path: str = "/graphs/people/mcp", actor: str | None = "ada", **headers: str
) -> httpx.Response:
    given = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json", **headers}
    if actor is not None:
        given["Authorization"] = f"Bearer {TOKENS[actor]}"
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return httpx.post(f"{running.url}{path}", content=content, headers=given, timeout=30, verify=False)


def request(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def test_an_exchange_needs_nothing_before_it(running: Running) -> None:
    said = post(running, request("initialize", **HELLO)).json()["result"]
    assert said["protocolVersion"] == "2025-06-18"
    assert said["serverInfo"]["name"] == "omnigraph"
    assert "schema_get" in said["instructions"]
    assert post(running, {"jsonrpc": "2.0", "method": "notifications/initialized"}).status_code == 202
    assert post(running, request("ping")).json()["result"] == {}
    called = post(running, request("tools/call", name="query", arguments={"query": NAMES}))
    assert called.headers["content-type"] == "application/json"
    assert called.headers["x-request-id"]
    assert "mcp-session-id" not in called.headers
    assert called.json()["result"]["structuredContent"]["row_count"] == 2
    assert post(running, request("resources/list")).json()["result"]["resources"]


def test_tokens_come_first(running: Running) -> None:
    refused = post(running, request("ping"), actor=None)
    assert (refused.status_code, refused.json()["code"]) == (401, "unauthorized")
    assert post(running, request("ping"), path="/graphs/nothing/mcp").status_code == 404


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
def test_only_post(running: Running, method: str) -> None:
    for path in ("/mcp", "/graphs/people/mcp"):
        found = httpx.request(method, f"{running.url}{path}", headers={"Authorization": f"Bearer {TOKENS['ada']}"}, verify=False)
        assert (found.status_code, found.headers["allow"]) == (405, "POST")


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", -32700),
        (b"", -32700),
        (b"\xff", -32700),
        (b"NaN", -32700),
        (b"[" * 50_000, -32700),
        (b'{"jsonrpc": "2.0", "jsonrpc": "2.0", "id": 1, "method": "ping"}', -32700),
        ([request("ping")], -32600),
        ("text", -32600),
        (None, -32600),
        ({"jsonrpc": "2.0", "id": 1, "result": {}}, -32600),
        ({"jsonrpc": "2.0", "id": None, "method": "ping"}, -32600),
        ({"id": 1, "method": "ping"}, -32600),
        ({"jsonrpc": "2.0", "id": 1, "method": "nope"}, -32601),
        (request("tools/call"), -32602),
        (request("tools/call", name=1), -32602),
        (request("tools/call", name="nope"), -32602),
        (request("resources/read", uri="file:///etc/passwd"), -32602),
        (request("prompts/get", name="nope"), -32602),
    ],
)
def test_what_is_wrong_is_an_error_of_the_protocol(running: Running, body: Any, code: int) -> None:
    found = post(running, body)
    assert found.status_code in (200, 400)
    assert found.json()["error"]["code"] == code
    assert "Traceback" not in found.text


def test_other_bodies_and_sizes_are_refused_as_everywhere(running: Running) -> None:
    assert post(running, request("ping"), **{"Content-Type": "text/plain"}).status_code == 415
    assert post(running, b'"' + b"x" * (33 << 20) + b'"').status_code == 413


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "http://localhost:5173"}, 200),
        ({"Origin": "https://127.0.0.1"}, 200),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://localhost.evil.example"}, 403),
        ({"Origin": "file://localhost"}, 403),
        ({"Host": "evil.example"}, 403),
        ({"Host": "evil.example:8080"}, 403),
        ({"Host": "localhost:1"}, 200),
    ],
    ids=str,
)
def test_pages_of_other_sites_cannot_ask(running: Running, headers: dict[str, str], status: int) -> None:
    assert post(running, request("ping"), **headers).status_code == status


def test_a_server_may_be_told_which_sites_ask(people_once: Path) -> None:
    with _with_origins(people_once, "https://app.example") as running:
        assert post(running, request("ping"), Origin="https://app.example", Host="app.example").status_code == 200
        assert post(running, request("ping"), Origin="https://other.example").status_code == 403


def _with_origins(graph: Path, origins: str) -> Any:
    """A server as `serving` starts it, with a setting that it would not pass on."""
    from contextlib import contextmanager
    from unittest import mock

    @contextmanager
    def started() -> Iterator[Running]:
        popen = subprocess.Popen

        def with_origins(*arguments: Any, **more: Any) -> Any:
            more["env"] = {**more["env"], "OMNIGRAPH_CORS_ORIGINS": origins}
            return popen(*arguments, **more)

        with mock.patch.object(subprocess, "Popen", with_origins), serving(graph, more=("--read-only",)) as running:
            yield running

    return started()


def test_tools_are_shown_as_far_as_one_may_use_them(people_once: Path, tmp_path: Path) -> None:
    """Without a policy, whoever has a token of `omnigraph-server` may read."""
    graph = Path(shutil.copytree(people_once, tmp_path / "people.omni"))
    with serving(graph, command="server") as running, over_http(f"{running.url}/graphs/people/mcp", TOKENS["bob"]) as agent:
        shown = agent.tools()
        assert "query" in shown
        assert not {"mutate", "load", "branches_create", "branches_delete", "branches_merge", "graphs_list"} & set(shown)
        for name in ("mutate", "nope"):
            found = post(running, request("tools/call", name=name, arguments={"query": ADD}), actor="bob").json()["error"]
            assert found == {"code": -32602, "message": f"Unknown tool: {name}"}
        assert post(running, request("resources/read", uri="omnigraph://graphs"), actor="bob").json()["error"]["code"] == -32602


def test_several_graphs_are_told_apart_by_an_argument(running: Running) -> None:
    with over_http(f"{running.url}/mcp", TOKENS["ada"], mode="legacy") as agent:
        tools = agent.tools()
        assert tools["query"].input_schema["properties"]["graph"]["enum"] == ["others", "people"]
        assert tools["query"].input_schema["required"] == ["graph", "query"]
        agent.data("mutate", graph="others", query=ADD, params={"n": "There"})
        assert agent.data("query", graph="others", query=NAMES)["row_count"] == 3
        assert agent.data("query", graph="people", query=NAMES)["row_count"] == 2
        for graph in (None, "nothing", 7):
            assert "others, people" in agent.error("query", graph=graph, query=NAMES)["hint"]
        assert "node Person" in agent.read("omnigraph://graphs/people/schema")
        first = agent.data("query", graph="people", query=NAMES, limit=1)
        said = agent.error("query", graph="others", query=NAMES, limit=1, pageToken=first["next_page_token"])
        assert "another request" in said["error"]


def test_the_only_graph_needs_no_argument(http: Agent, people_once: Path, tmp_path: Path) -> None:
    graph = Path(shutil.copytree(people_once, tmp_path / "people.omni"))
    with serving(graph) as running:
        said = post(running, request("tools/call", name="query", arguments={"query": NAMES}), path="/mcp").json()
        assert said["result"]["structuredContent"]["row_count"] == 2


def test_what_is_asked_is_written_down_as_asked_by_an_agent(graph: Path) -> None:
    """In this process, where the audit can be looked at."""
    import asyncio

    from tests.service.doors import Kept

    from omnigraph.policy.states import TokenHolders
    from omnigraph.service.open_graphs import OpenGraphs
    from omnigraph.surfaces.http.application import Application
    from omnigraph.surfaces.http.graphs import Registry, named_graphs
    from omnigraph.surfaces.http.revisions import Revision
    from omnigraph.surfaces.http.tokens import Tokens

    audit = Kept()
    registry = Registry.of(named_graphs([str(graph)]), OpenGraphs())
    application = Application(Revision(registry, TokenHolders(), Tokens.of(TOKENS.items())), audit=audit)

    async def asked(body: Any) -> httpx.Response:
        transport = httpx.ASGITransport(application)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            headers = {"Authorization": f"Bearer {TOKENS['ada']}", "X-Request-Id": "asked-1"}
            return await client.post("/graphs/people/mcp", json=body, headers=headers)

    said = asyncio.run(asked(request("tools/call", name="mutate", arguments={"query": ADD, "params": {"n": "Zoe"}})))
    assert said.json()["result"]["structuredContent"]["commit"]["actor_id"] == "ada"
    [write] = [record for record in audit.records if record.kind == "write"]
    assert (write.actor, write.origin, write.operation, write.outcome) == ("ada", "mcp", "mutate", "done")
    assert {(record.origin, record.request_id) for record in audit.records} == {("mcp", "asked-1")}
    application.close()
