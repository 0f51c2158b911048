"""The audit of a server: kept in files by all its workers, read over HTTP and by the command."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import httpx
import pytest
from tests.surfaces.calling import Call
from tests.surfaces.http.conftest import TOKENS, people, serving

import omnigraph as og_api
from omnigraph.policy.states import TokenHolders
from omnigraph.service.audit_log import FileSink
from omnigraph.service.open_graphs import OpenGraphs
from omnigraph.surfaces.http.application import Application
from omnigraph.surfaces.http.graphs import Registry, named_graphs
from omnigraph.surfaces.http.revisions import Revision
from omnigraph.surfaces.http.tokens import Tokens

ADD = "query add($n: String) { insert Person { name: $n } }"
SERVER_POLICY = """version: 1
groups: { auditors: [ada] }
rules:
  - id: look
    allow: { actors: { group: auditors }, actions: [audit_read] }
"""
POLICY = """version: 1
groups: { all: [ada, bob], writers: [ada] }
rules:
  - id: read
    allow: { actors: { group: all }, actions: [read] }
  - id: write
    allow: { actors: { group: writers }, actions: [change] }
"""


def test_decisions_and_writes_of_all_workers(tmp_path: Path, og: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "server.yaml").write_text(SERVER_POLICY)
    (tmp_path / "policy.yaml").write_text(POLICY)
    folder = tmp_path / "audit"
    more = ("--audit-log", str(folder), "--workers", "2", "--policy", str(tmp_path / "policy.yaml"), "--server-policy", str(tmp_path / "server.yaml"))  # fmt: skip
    with serving(people(tmp_path), more=more) as running, running.client("ada") as ada, running.client("bob") as bob:
        for n in range(10):
            assert ada.post("/mutate", json={"query": ADD, "params": {"n": f"Secret {n}"}}).status_code == 200
        assert bob.post("/mutate", json={"query": ADD, "params": {"n": "x"}}).status_code == 403
        url = f"{running.url}/admin/audit"
        assert bob.get(url).status_code == 403
        assert httpx.get(url).status_code == 401
        written = ada.get(url, params={"outcome": "done", "limit": 100}).json()["records"]
        assert [(r["actor"], r["action"], r["graph"]) for r in written] == [("ada", "change", "people")] * 10
        denied = ada.get(url, params={"outcome": "denied", "since": "1h"}).json()["records"]
        assert [(r["actor"], r.get("action")) for r in denied] == [("bob", "change"), ("bob", "audit_read"), (None, None)]
        assert (denied[2]["rule"], denied[2]["graph"], denied[2]["origin"]) == ("no-token", "root", "http")
        assert len(ada.get(url, params={"limit": 3}).json()["records"]) == 3
        for wrong in ({"limit": "0"}, {"limit": "10001"}, {"since": "soon"}, {"atcor": "x"}):
            assert ada.get(url, params=wrong).status_code == 400
        monkeypatch.setenv("OMNIGRAPH_BEARER_TOKEN", TOKENS["ada"])
        asked = og("audit", "--server", running.url, "--outcome", "done", "--json")
        assert asked.json["records"] == written
    assert og("audit", str(folder), "--outcome", "done", "--json").json["records"] == written
    shown = og("audit", str(folder), "--actor", "bob", "--action", "change").lines
    assert len(shown) == 1
    assert "  bob  denied  mutate  people  action=change  branch=main" in shown[0]
    text = "".join(path.read_text() for path in folder.glob("*.jsonl"))
    assert "Secret" not in text
    assert not any(token in text for token in TOKENS.values())
    assert all(json.loads(line) for line in text.splitlines())


def test_a_delete_by_keys_has_one_name(tmp_path: Path) -> None:
    where = people(tmp_path)
    with serving(where, more=("--audit-log", str(tmp_path / "audit"))) as running:
        with og_api.connect(running.url, graph="people", token=TOKENS["ada"]) as remote:
            there = remote.delete({"Person": ["Ada"]}).commit
            assert not remote.delete({"Person": ["Ada"]}).changed
        here = og_api.open(where)
        own = here.delete({"Person": ["Bob"]}).commit
    written = [json.loads(line) for path in (tmp_path / "audit").glob("*.jsonl") for line in path.read_text().splitlines()]
    writes = [(r["operation"], r["outcome"], r.get("commit")) for r in written if r["kind"] == "write"]
    assert writes == [("load", "done", there.id), ("load", "unchanged", None)], (
        "what changed nothing is not given another's commit"
    )
    assert (here.commit(there.id).operation, own.operation) == ("load", "load")


def test_a_guesser_of_tokens_leaves_bounded_records(tmp_path: Path, og: Call) -> None:
    folder = tmp_path / "audit"
    registry = Registry.of(named_graphs([str(people(tmp_path))]), OpenGraphs())
    sink = FileSink(folder, file_bytes=4_000, kept_files=2)
    application = Application(Revision(registry, TokenHolders(), Tokens.of(TOKENS.items())), audit=sink)

    async def guess() -> None:
        transport = httpx.ASGITransport(application)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            paths = ("/graphs/people/mutate", "/mcp", f"/graphs/{'x' * 5_000}/query", "/graphs/%ff/query", "/graphs/people/mcp")
            for n in range(150):
                headers = {"Authorization": f"Bearer guessed-{n}", "X-Request-Id": f"r{n}"}
                found = await client.post(paths[n % 5], json={}, headers=headers)
                assert (found.status_code, found.headers["x-request-id"]) == (401, f"r{n}")

    asyncio.run(guess())
    application.close()
    files = list(folder.glob("*.jsonl"))
    assert len(files) <= 3
    assert all(path.stat().st_size < 5_000 for path in files)
    text = "".join(path.read_text() for path in files)
    assert "guessed" not in text
    found = [json.loads(line) for line in text.splitlines()]
    assert {(r["actor"], r["outcome"], r["rule"]) for r in found} == {(None, "denied", "no-token")}
    assert {(r["graph"], r["origin"], r["operation"]) for r in found} == {
        ("people", "http", "mutate"), ("root", "mcp", "mcp"), ("root", "http", "query"), ("people", "mcp", "graphMcp")
    }  # fmt: skip
    assert "  denied  mutate  people" in og("audit", str(folder)).out


def test_a_server_without_files_says_so(server: object, ada: httpx.Client) -> None:
    found = ada.get(str(ada.base_url).partition("/graphs/")[0] + "/admin/audit")
    assert (found.status_code, "--audit-log" in found.json()["hint"]) == (400, True)
