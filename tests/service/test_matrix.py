"""The matrix: every operation, on every surface that offers it, asked without a token, with a wrong one, by somebody who may not,
by somebody who may, and on a protected branch.

A row (`matrix`) says how an operation is made and how it is asked for over HTTP, or as a tool of an agent (`POST …/mcp`). The
Python client runs the same operation on a connected graph, which is also what the command line does behind `--server`; the
commands themselves are asked below. A new operation needs a row, and so does a tool. A tool that somebody may use on no branch is
not there for them. What is denied has no effect and leaves one record of a denial; what is allowed leaves a record for each decision, and one
for a write. Who has no token that the server knows is turned away before anything is decided, which leaves one record, too.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import click
import httpx
import pytest
from tests.engine.served import Server
from tests.service.doors import Kept, every_operation
from tests.service.matrix import ADD, KNOWS, NAMES, ROWS, TOOL_ROWS, At, Row
from tests.service.tools import call_tool
from tests.surfaces.http.conftest import people

import omnigraph as og
from omnigraph.errors import Forbidden, NotFound
from omnigraph.language.source import Source
from omnigraph.memory import schema
from omnigraph.policy.authoriser import PolicyAuthoriser
from omnigraph.policy.bundle import Kind, read_bundle
from omnigraph.service import Caller, Origin
from omnigraph.service.open_graphs import OpenGraphs
from omnigraph.service.stored import StoredQueries
from omnigraph.surfaces.cli.main import cli, run
from omnigraph.surfaces.cli.scope import Capability
from omnigraph.surfaces.http.application import Application
from omnigraph.surfaces.http.graphs import Registry, named_graphs
from omnigraph.surfaces.http.revisions import Revision
from omnigraph.surfaces.http.tokens import Tokens
from omnigraph.surfaces.mcp.tools import MEMORY_TOOLS, TOOLS

READ = "[read, export, change, load_overwrite]"
REVIEWS = "review_create, review_comment, review_approve, review_merge"
TARGET = f"[schema_apply, branch_create, branch_delete, branch_merge, {REVIEWS}]"
POLICY = f"""
version: 1
groups: {{ all: [anna], some: [carl], none: [dora], schemas: [sven] }}
protected_branches: [main, guarded]
rules:
  - {{ id: everything, allow: {{ actors: {{ group: all }}, actions: {READ[:-1]}, {TARGET[1:-1]}, invoke_query, admin] }} }}
  - {{ id: branches, allow: {{ actors: {{ group: some }}, actions: {READ}, branch_scope: unprotected }} }}
  - {{ id: targets, allow: {{ actors: {{ group: some }}, actions: {TARGET}, target_branch_scope: unprotected }} }}
  - {{ id: schemas, allow: {{ actors: {{ group: schemas }}, actions: [schema_apply] }} }}
  - {{ id: queries, allow: {{ actors: {{ group: some }}, actions: [invoke_query], queries: [names] }} }}
"""
ROOT = "{version: 1, groups: {all: [anna]}, rules: [{id: server, allow: {actors: {group: all}, actions: [graph_list]}}]}"
TOKENS = {
    "anna": "may-do-everything",
    "carl": "keeps-off-protected-branches",
    "dora": "may-do-nothing",
    "sven": "may-apply-schemas",
}
NOBODY, STRANGER = "", "token-of-nobody"


def test_every_operation_has_a_row() -> None:
    at = At("work", "x", "c", "")
    assert {type(row.make(at)) for row in (*ROWS, *TOOL_ROWS)} == every_operation()


def test_every_tool_has_a_row() -> None:
    asks_nobody = {"health", "graphs_list"}
    assert {row.tool for row in TOOL_ROWS} == {tool.name for tool in (*TOOLS, *MEMORY_TOOLS)} - asks_nobody | {"names"}


# ── a server with a policy ───────────────────────────────────────────────────────────────────────────────────────────────────


class Guarded(Server):
    """A server with a policy, which keeps its audit, and the graphs that it serves: of people, and of what a team remembers."""

    def __init__(self, path: Path, team: Path) -> None:
        queries = StoredQueries.of_texts([Source(NAMES, "names.gq")])
        served = [replace(g, queries=queries) if g.id == "people" else g for g in named_graphs([str(path), str(team)])]
        self.registry = Registry.of(served, OpenGraphs())
        bundle = read_bundle(POLICY, source="policy.yaml", kind=Kind.GRAPH)
        authoriser = PolicyAuthoriser(
            {"people": bundle, "team": bundle}, read_bundle(ROOT, source="server.yaml", kind=Kind.SERVER)
        )
        self.audit = Kept()
        super().__init__(Application(Revision(self.registry, authoriser, Tokens.of(TOKENS.items())), audit=self.audit))
        self.opened: dict[str, Any] = {graph.id: self.registry.open(graph.ref) for graph in self.registry}
        self.graph: Any = self.opened["people"]
        self.numbers = count()
        self.commits: dict[str, str] = {}
        self.schema = self.graph.schema()
        self.clients = {
            token: httpx.Client(
                base_url=f"{self.url}/graphs/people", headers={"Authorization": f"Bearer {token}"} if token else {}, timeout=60
            )
            for token in (*TOKENS.values(), NOBODY, STRANGER)
        }
        self.connected = {token: og.connect(self.url, graph="people", token=token) for token in self.clients}

    def at(self, branch: str, reviewed: bool = False, review_of: bool = False) -> At:
        name, review, commit = "guarded" if branch == "main" else f"n{next(self.numbers)}", 0, ""
        if reviewed or review_of:
            other = f"s{next(self.numbers)}"
            self.graph.branches.create(other, branch)
            source, target = (other, branch) if reviewed else (branch, other)
            commit = self.graph.mutate(ADD, {"n": other}, branch=source).commit.id
            review = self.graph.reviews.create(source, target, title="please", actor="agent").id
        return At(branch, name, self.commits[branch], self.schema, review, commit)

    def state(self) -> object:
        """What is not to change: where branches are, tags, what was deleted."""
        heads = {(id_, name): g.commit(name).id for id_, g in self.opened.items() for name in g.branches.list()}
        reviews = [(r.id, r.state, len(r.comments), len(r.verdicts)) for r in self.graph.reviews.list()]
        return heads, {tag.name for tag in self.graph.tags.list()}, len(self.graph.tags.deleted()), reviews

    def close(self) -> None:
        for client in self.clients.values():
            client.close()
        for graph in self.connected.values():
            graph.close()
        super().close()
        self.registry.close()


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    folder = tmp_path_factory.mktemp("guarded")
    os.environ["OMNIGRAPH_EMBEDDINGS_MOCK"] = "1"
    with og.init(folder / "team.omni", schema=schema("memory", dimension=8), durability="os") as team:
        team.branches.create("work", "main")
    server = Guarded(people(folder), folder / "team.omni")
    server.graph.apply_schema(server.schema + "\nnode Note { body: String  vec: Vector(4)? @embed(body) }\n")
    server.schema = server.graph.schema()
    server.commits = {"main": server.graph.commit("main").id}
    server.graph.branches.create("work", "main")
    for name in ("side", "schemas"):
        server.graph.branches.create(name, "main")
    server.commits["work"] = server.graph.mutate(ADD, {"n": "Worker"}, branch="work").commit.id
    yield server
    server.close()
    del os.environ["OMNIGRAPH_EMBEDDINGS_MOCK"]


def over_http(guarded: Guarded, row: Row, token: str, at: At) -> int:
    assert not isinstance(row.http, str)
    method, path, body = row.http(at)
    if isinstance(body, bytes):
        found = guarded.clients[token].request(method, path, content=body, headers={"Content-Type": "application/x-ndjson"})
    else:
        found = guarded.clients[token].request(method, path, json=body)
    if found.status_code == 404:
        assert found.json()["error"] in (f"commit '{at.commit}' not found", "stored query not found")
    return found.status_code


def by_client(guarded: Guarded, row: Row, token: str, at: At) -> int:
    operation: Any = row.make(at)
    try:
        operation.on(guarded.connected[token], Caller(None, Origin.CLI))
    except NotFound:
        return 404
    except Forbidden as error:
        return 401 if "bearer token" in error.message else 403
    return 200


def as_a_tool(guarded: Guarded, row: Row, token: str, at: At) -> int:
    return call_tool(guarded.clients[token], row.tool, row.arguments(at), f"{guarded.url}/graphs/{row.graph}/mcp")[0]


BEFOREHAND = {"schema show", "commit show"}
"""What a connected graph may have to look at first. Neither names a branch, so a rule about branches does not allow it."""

SURFACES = {"http": over_http, "client": by_client, "mcp": as_a_tool}


def offered(surface: str) -> list[Row]:
    """The rows of a surface."""
    if surface == "mcp":
        return TOOL_ROWS
    return [row for row in ROWS if not isinstance(row.http if surface == "http" else row.client, str)]


CELLS = [
    pytest.param(surface, row, id=f"{surface}-{number}-{row.tool or row.make(At('work', 'x', 'c', '')).name}")
    for surface in SURFACES
    for number, row in enumerate(offered(surface))
]


@pytest.mark.parametrize(("surface", "row"), CELLS)
def test_who_may_and_who_may_not(guarded: Guarded, surface: str, row: Row) -> None:
    ask, refused = SURFACES[surface], dict.fromkeys(row.hidden, 404)
    if surface == "mcp":
        refused["denied"] = 404
    answers = (
        ("no token", NOBODY, "work", 401),
        ("wrong token", STRANGER, "work", 401),
        ("denied", TOKENS["dora"], "work", refused.get("denied", 403)),
        ("protected branch", TOKENS["carl"], "main", refused.get("protected branch", 403)),
        ("unprotected branch", TOKENS["carl"], "work", 403 if row.unscoped else 200),
        ("allowed", TOKENS["anna"], "work", 200),
    )
    for column, token, branch, status in answers:
        at = guarded.at(branch, row.reviewed, row.review_of)
        if status == 200:
            row.first(guarded.opened[row.graph], at)
        before = guarded.state()
        guarded.audit.records.clear()
        answer = ask(guarded, row, token, at)
        records = list(guarded.audit.records)
        denied = [r for r in records if r.outcome == "denied"]
        if surface == "client" and column == "unprotected branch" and (status, answer) == (200, 403):
            assert {r.operation for r in denied} <= BEFOREHAND, column
            status = answer
        assert answer == status, column
        if status == 200:
            operation = row.make(at)
            own = [(r.kind, r.outcome) for r in records if r.operation == operation.name]
            assert not denied, column
            if surface != "client":
                assert {r.rule for r in records} <= {"everything", "branches", "targets", "queries"}, column
                assert ("decision", "allowed") in own, column
                assert len([kind for kind, _ in own if kind == "write"]) == operation.writes, column
        else:
            assert guarded.state() == before, column
            assert len(denied) == 1, column
            if status == 401:
                [record] = denied
                assert (record.actor, record.rule, record.graph) == (None, "no-token", row.graph), column
                assert record.origin == ("mcp" if surface == "mcp" else "http"), column
                assert record.request_id, column
                assert STRANGER not in json.dumps(record.to_dict()), column
            assert not [r for r in records if r.kind == "write"], column
            if surface == "http" and status != 401:
                assert [r.operation for r in denied] == [row.make(at).name], column
            if surface == "mcp" and status != 401:
                said = row.tool if column == "denied" else row.make(at).name
                assert [(r.operation, r.origin, r.graph) for r in denied] == [(said, "mcp", row.graph)], column


def test_the_server_itself(guarded: Guarded) -> None:
    found = {token: client.get(f"{guarded.url}/graphs").status_code for token, client in guarded.clients.items()}
    assert found == {token: {NOBODY: 401, STRANGER: 401, TOKENS["anna"]: 200}.get(token, 403) for token in found}


def test_whoever_may_apply_a_schema_need_not_be_allowed_to_read(guarded: Guarded) -> None:
    schema = guarded.schema.replace("age: I32?", "age: I32?  shoe: I32?")
    done = guarded.clients[TOKENS["sven"]].post("/schema/apply", json={"schema_source": schema, "branch": "schemas"})
    assert (done.status_code, done.json()["applied"]) == (200, True), "what was done is not answered as if it were denied"
    assert guarded.clients[TOKENS["sven"]].get("/snapshot?branch=schemas").status_code == 403


# ── the command line ─────────────────────────────────────────────────────────────────────────────────────────────────────────

LINES: dict[str, list[str]] = {
    "query": ["query", "-e", NAMES, "--branch", "{branch}"],
    "query (stored)": ["query", "names", "--branch", "{branch}"],
    "mutate": ["mutate", "-e", ADD, "--params", '{"n": "{name}"}', "--branch", "{branch}"],
    "shell": ["shell", "-e", NAMES, "--branch", "{branch}"],
    "explain": ["explain", "-e", NAMES, "--branch", "{branch}"],
    "view": ["view", "-e", KNOWS, "--branch", "{branch}", "--out", "{out}", "--no-open"],
    "load": ["load", "--data", "{file}", "--mode", "merge", "--branch", "{branch}"],
    "load (overwrite)": ["load", "--data", "{file}", "--mode", "overwrite", "--branch", "{branch}", "--allow-empty", "--yes"],
    "export": ["export", "--branch", "{branch}", "--out", "{out}"],
    "snapshot": ["snapshot", "--branch", "{branch}"],
    "stats": ["stats", "--branch", "{branch}"],
    "blob get": ["blob", "get", "node", "Person", "Bob", "photo", "--branch", "{branch}", "--out", "{out}"],
    "blob stat": ["blob", "stat", "node", "Person", "Bob", "photo", "--branch", "{branch}"],
    "commit list": ["commit", "list", "--branch", "{branch}"],
    "commit show": ["commit", "show", "{commit}"],
    "commit changes": ["commit", "changes", "{commit}"],
    "changes poll": ["changes", "poll", "--start", "beginning", "--branch", "{branch}"],
    "changes baseline": ["changes", "baseline", "--branch", "{branch}", "--out", "{out}"],
    "history": ["history", "Person", "Ada", "--branch", "{branch}"],
    "diff": ["diff", "{branch}", "work"],
    "revert": ["revert", "{commit}", "--branch", "{branch}"],
    "branch list": ["branch", "list"],
    "branch create": ["branch", "create", "{name}", "--from", "work"],
    "branch delete": ["branch", "delete", "{name}", "--yes"],
    "branch merge": ["branch", "merge", "side", "--into", "{branch}"],
    "tag list": ["tag", "list"],
    "tag create": ["tag", "create", "{name}", "{commit}"],
    "tag delete": ["tag", "delete", "{name}"],
    "schema show": ["schema", "show", "--branch", "{branch}"],
    "schema apply": ["schema", "apply", "--schema", "{schema}", "--branch", "{branch}"],
    "review list": ["review", "list"],
    "review create": ["review", "create", "side", "--into", "{branch}", "--title", "please"],
    "review show": ["review", "show", "{review}"],
    "review diff": ["review", "diff", "{review}"],
    "review comment": ["review", "comment", "{review}", "hm"],
    "review approve": ["review", "approve", "{review}"],
    "review request-changes": ["review", "request-changes", "{review}", "no"],
    "review merge": ["review", "merge", "{review}"],
    "review close": ["review", "close", "{review}"],
    "review reopen": ["review", "reopen", "{review}"],
}
"""Every command about data that takes `--server`."""
NOT_HERE = {"mcp": "tools have rows of their own; its token: tests/surfaces/mcp/test_tokens_of_agents.py"}
PHOTO = [{"type": "Person", "data": {"name": "Bob", "photo": "base64:aGVsbG8="}}]
FIRST: dict[str, Callable[[Any, At], object]] = {
    "branch delete": lambda graph, at: graph.branches.create(at.name, "work"),
    "tag delete": lambda graph, at: graph.tags.create(at.name, at.commit),
    "review reopen": lambda graph, at: graph.reviews.close(at.review),
    "blob get": lambda graph, at: graph.load(PHOTO, branch=at.branch),
    "blob stat": lambda graph, at: graph.load(PHOTO, branch=at.branch),
}
"""What must be there before."""
HIDDEN = {"commit changes", "query (stored)"}
"""What is answered to those who may not have it as if it were not there."""


def commands(group: Any, *names: str) -> Iterator[tuple[str, Any]]:
    """Every command, by its name."""
    context = click.Context(group)
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        if isinstance(found, click.Group):
            yield from commands(found, *names, name)
        elif found is not None and not found.hidden:
            yield " ".join((*names, name)), found


def test_every_command_about_data_has_a_line() -> None:
    known = {name for name, found in commands(cli) if found.capability is Capability.DATA and "server" in found.usable}
    assert known - set(NOT_HERE) == {name.partition(" (")[0] for name in LINES}


@pytest.mark.parametrize("name", LINES)
def test_commands_through_a_server(
    guarded: Guarded, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.setenv("OMNIGRAPH_HOME", str(tmp_path))
    for column, token, branch, code in (
        ("no token", NOBODY, "work", 1),
        ("wrong token", STRANGER, "work", 1),
        ("denied", TOKENS["dora"], "work", 1),
        ("protected branch", TOKENS["carl"], "main", 1),
        ("allowed", TOKENS["anna"], "work", 0),
    ):
        about_it = name.startswith("review ") and name not in ("review list", "review create")
        at = guarded.at(branch, about_it and name != "review show", about_it and name == "review show")
        if code == 0:
            first: Callable[[Any, At], object] = FIRST.get(name, lambda graph, at: None)
            first(guarded.graph, at)
        (tmp_path / "schema.pg").write_text(at.schema)
        (tmp_path / "file.jsonl").write_text(at.record + "".join(replace(at, name=name).record for name in ("Ada", "Bob")))
        values = {
            "branch": at.branch,
            "name": at.name,
            "commit": at.commit,
            "review": str(at.review),
            "file": "file.jsonl",
            "schema": "schema.pg",
            "out": "out.jsonl",
        }
        paths = {key: str(tmp_path / value) if key in ("file", "schema", "out") else value for key, value in values.items()}
        words = LINES[name]
        for key, value in paths.items():
            words = [word.replace(f"{{{key}}}", value) for word in words]
        monkeypatch.setenv("OMNIGRAPH_BEARER_TOKEN", token)
        before = guarded.state()
        guarded.audit.records.clear()
        ended = run([*words, "--server", guarded.url, "--graph", "people", "--quiet", "--json"])
        shown = capsysbinary.readouterr()
        assert ended == code, (column, shown)
        if code:
            hidden = name in HIDDEN and token not in (NOBODY, STRANGER)
            assert json.loads(shown.out or shown.err)["code"] in ("forbidden", *(["not_found"] if hidden else [])), column
            assert guarded.state() == before, column
            denied = [r for r in guarded.audit.records if r.outcome == "denied"]
            assert denied, column
            assert all((r.actor is None) is (token in (NOBODY, STRANGER)) for r in denied), column
            assert len({r.request_id for r in denied}) == len(denied), (
                "a command may ask several times, and each leaves one record"
            )
            assert not [r for r in guarded.audit.records if r.kind == "write"], column
