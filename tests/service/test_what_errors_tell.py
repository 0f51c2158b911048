"""What errors tell those who may not read: conflicts without what is in them, and no names of branches that they could not list,
over HTTP, from a connected graph, as a tool, and on the command line."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.engine.served import Server
from tests.service.doors import Kept
from tests.service.tools import call_tool

import omnigraph as og
from omnigraph.errors import Forbidden, GraphError, MergeConflict, UsageError, ValidationError
from omnigraph.policy.authoriser import PolicyAuthoriser
from omnigraph.policy.bundle import Kind, read_bundle
from omnigraph.service import Caller, GraphRef, Origin, Service
from omnigraph.service.confined import ConfinedService
from omnigraph.service.direct import DirectGraphs
from omnigraph.service.open_graphs import OpenGraphs
from omnigraph.service.operations.create_review import CreateReview
from omnigraph.service.operations.load import Load
from omnigraph.service.operations.mutate import Mutate
from omnigraph.surfaces.cli.main import run
from omnigraph.surfaces.http.application import Application
from omnigraph.surfaces.http.graphs import Registry, named_graphs
from omnigraph.surfaces.http.revisions import Revision
from omnigraph.surfaces.http.tokens import Tokens

SCHEMA = "node Person { name: String @key  age: I32? }"
SET = "query grow($n: String, $a: I32) { update Person set { age: $a } where name = $n }"
ADD = "query add($n: String, $a: I32) { insert Person { name: $n, age: $a } }"
SECRETS = ("Mallory", "4711", "4713")
"""Who is in conflict, and the values of both sides."""
BRANCHES = ("secret-plans", "release")
POLICY = """
version: 1
groups: { blind: [mia], half: [hal], seeing: [rae] }
protected_branches: [release]
rules:
  - { id: blind, allow: { actors: { group: blind }, actions: [branch_merge, review_merge, change, branch_create, branch_delete] } }
  - { id: half, allow: { actors: { group: half }, actions: [branch_merge, review_merge] } }
  - { id: half-reads, allow: { actors: { group: half }, actions: [read, change], branch_scope: unprotected } }
  - { id: seeing, allow: { actors: { group: seeing }, actions: [branch_merge, review_merge, change, read] } }
"""
TOKENS = {"mia": "merges-and-does-not-read", "hal": "reads-what-is-not-protected", "rae": "merges-and-reads"}


class Guarded(Server):
    """A server with a policy, and a graph with branches that disagree."""

    def __init__(self, folder: Path) -> None:
        path = folder / "people.omni"
        with og.init(path, schema=SCHEMA, durability="os") as graph:
            graph.mutate(ADD, {"n": "Mallory", "a": 1})
            for name in BRANCHES:
                graph.branches.create(name)
            graph.mutate(SET, {"n": "Mallory", "a": 4711}, branch="secret-plans")
            graph.mutate(SET, {"n": "Mallory", "a": 4712}, branch="release")
            self.head, self.commit = graph.commit("secret-plans").id, graph.commit("release").id
            graph.mutate(SET, {"n": "Mallory", "a": 4713}, branch="release")
            self.review = graph.reviews.create("secret-plans", "release", title="please").id
        self.registry = Registry.of(named_graphs([str(path)]), OpenGraphs())
        bundle = read_bundle(POLICY, source="policy.yaml", kind=Kind.GRAPH)
        self.audit = Kept()
        revision = Revision(self.registry, PolicyAuthoriser({"people": bundle}), Tokens.of(TOKENS.items()))
        super().__init__(Application(revision, audit=self.audit))
        self.clients = {
            name: httpx.Client(base_url=f"{self.url}/graphs/people", headers={"Authorization": f"Bearer {token}"}, timeout=60)
            for name, token in TOKENS.items()
        }

    def close(self) -> None:
        for client in self.clients.values():
            client.close()
        super().close()
        self.registry.close()


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    server = Guarded(tmp_path_factory.mktemp("guarded"))
    yield server
    server.close()


def over_http(guarded: Guarded, actor: str, what: str) -> str:
    path, body = {
        "merge": ("/branches/merge", {"source": "secret-plans", "target": "release"}),
        "revert": ("/revert", {"commit": guarded.commit, "branch": "release"}),
        "review": (f"/reviews/{guarded.review}/merge", {}),
    }[what]
    found = guarded.clients[actor].post(path, json=body)
    assert found.status_code == 409, found.text
    said = found.json()
    if not any(secret in found.text for secret in SECRETS):
        assert said["merge_conflicts"] == said["conflicts"] == []
        assert said["details"]["hidden"] == {"node:Person": 1}
    return found.text


def by_client(guarded: Guarded, actor: str, what: str) -> str:
    with og.connect(guarded.url, graph="people", token=TOKENS[actor]) as graph:
        asked: dict[str, Callable[[], object]] = {
            "merge": lambda: graph.merge("secret-plans", "release"),
            "revert": lambda: graph.revert(guarded.commit, "release"),
            "review": lambda: graph.reviews.merge(guarded.review),
        }
        with pytest.raises(MergeConflict) as raised:
            asked[what]()
    error = raised.value
    assert bool(error.conflicts) is (error.hidden is None)
    assert error.hidden in (None, {"node:Person": 1})
    return json.dumps(error.to_dict(), default=str) + str(error) + error.hint


def as_a_tool(guarded: Guarded, actor: str, what: str) -> str:
    if what == "revert":
        pytest.skip("no tool reverts")
    calls: dict[str, tuple[str, dict[str, object]]] = {
        "merge": ("branches_merge", {"source": "secret-plans", "target": "release"}),
        "review": ("reviews_merge", {"review": guarded.review, "commit": guarded.head}),
    }
    status, said = call_tool(guarded.clients[actor], *calls[what])
    assert status == 409, said
    return json.dumps(said)


SURFACES = {"http": over_http, "client": by_client, "mcp": as_a_tool}


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("what", ["merge", "revert", "review"])
def test_conflicts_are_shown_to_those_who_may_read_both_branches(guarded: Guarded, surface: str, what: str) -> None:
    if what != "revert":
        for actor in ("mia", "hal"):
            told = SURFACES[surface](guarded, actor, what)
            assert not [secret for secret in SECRETS if secret in told], told
            assert "1 conflict (node:Person 1), which are shown to those who may read both branches" in told
            assert "the right to read both branches" in told
    told = SURFACES[surface](guarded, "rae", what)
    assert "Mallory" in told


def test_a_revert_by_somebody_who_may_not_read_is_refused(guarded: Guarded) -> None:
    assert guarded.clients["mia"].post("/revert", json={"commit": guarded.commit, "branch": "release"}).status_code == 403


MERGE = ["branch", "merge", "secret-plans", "--into", "release"]


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_conflicts_on_the_command_line(
    guarded: Guarded,
    more: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    monkeypatch.setenv("OMNIGRAPH_HOME", str(tmp_path))
    for actor, told in (("mia", False), ("rae", True)):
        monkeypatch.setenv("OMNIGRAPH_BEARER_TOKEN", TOKENS[actor])
        assert run([*MERGE, "--server", guarded.url, "--graph", "people", "--quiet", "--yes", *more]) == 1
        shown = b"".join(capsysbinary.readouterr()).decode()
        assert ("Mallory" in shown) is told, shown
        assert ("1 conflict (node:Person 1)" in shown) is not told
        assert "0 conflicts" not in shown


def test_the_only_graph_that_one_may_work_with_needs_no_name_and_no_right_to_list(
    guarded: Guarded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.setenv("OMNIGRAPH_HOME", str(tmp_path))
    monkeypatch.setenv("OMNIGRAPH_BEARER_TOKEN", TOKENS["rae"])
    assert run(["branch", "list", "--server", guarded.url]) == 0
    monkeypatch.setenv("OMNIGRAPH_BEARER_TOKEN", TOKENS["mia"])
    assert run(["branch", "list", "--server", guarded.url]) == 1
    assert b"It serves none that you may work with" in capsysbinary.readouterr().err
    monkeypatch.delenv("OMNIGRAPH_BEARER_TOKEN")
    monkeypatch.setenv("OMNIGRAPH_TOKEN", TOKENS["rae"])
    assert run(["mcp", "--server", guarded.url, "--install", "claude", "--print"]) == 0
    assert b"people" in capsysbinary.readouterr().out


MISSING: dict[str, tuple[str, str, Any]] = {
    "mutate": ("POST", "/mutate", {"query": ADD, "params": {"n": "x", "a": 1}, "branch": "nope"}),
    "merge": ("POST", "/branches/merge", {"source": "nope", "target": "main"}),
    "create": ("POST", "/branches", {"name": "new", "from": "nope"}),
    "a path inside another": ("POST", "/branches", {"name": "secret-plans/mine"}),
    "delete": ("DELETE", "/branches/nope", None),
}


@pytest.mark.parametrize("what", MISSING)
def test_names_of_branches_are_told_to_those_who_may_list_them(guarded: Guarded, what: str) -> None:
    method, path, body = MISSING[what]
    found = guarded.clients["mia"].request(method, path, json=body)
    assert found.status_code in (400, 404, 409), found.text
    said = found.text.replace("secret-plans/mine", "")
    assert not [name for name in BRANCHES if name in said], "whoever may not list branches is told of none"


def test_a_scope_is_no_right_to_list(guarded: Guarded) -> None:
    query = {"query": "query q() { match { $p: Person } return { $p.name } }", "branch": "nope"}
    found = guarded.clients["hal"].post("/query", json=query)
    assert (found.status_code, found.json()["error"]) == (404, "branch 'nope' not found")
    assert not [name for name in BRANCHES if name in found.text]
    _, said = call_tool(guarded.clients["hal"], "query", query)
    assert not [name for name in BRANCHES if name in json.dumps(said)]
    assert "There are main, release, secret-plans." in guarded.clients["rae"].post("/query", json=query).json()["hint"]


def test_a_query_that_was_quick_on_a_branch_that_is_gone(guarded: Guarded) -> None:
    query = {"query": "query quick() { match { $p: Person } return { $p.name } limit 1 }", "branch": "gone"}
    graph: Any = guarded.registry.open(next(iter(guarded.registry)).ref)
    graph.branches.create("gone")
    for _ in range(5):
        assert guarded.clients["rae"].post("/query", json=query).status_code == 200
    graph.branches.delete("gone")
    assert guarded.clients["rae"].post("/query", json=query).status_code == 404
    found = guarded.clients["mia"].post("/query", json=query)
    assert found.status_code == 403, "it is decided first"


def test_a_commit_that_may_not_be_read_is_as_one_that_is_not_there(guarded: Guarded) -> None:
    nothing, client = "01ARZ3NDEKTSV4RRFFQ69G5FAV", guarded.clients["hal"]
    over_http, as_tool = [], []
    for commit in (guarded.commit, nothing):
        found = client.get(f"/commits/{commit}/changes")
        status, said = call_tool(client, "commits_changes", {"commitId": commit})
        assert (found.status_code, status) == (404, 404)
        said.pop("requestId")
        over_http.append(found.text.replace(commit, "C"))
        as_tool.append(json.dumps(said).replace(commit, "C"))
    assert len(set(over_http)) == len(set(as_tool)) == 1
    assert client.get(f"/commits/{guarded.head}/changes").status_code == 200


def test_tags_and_commits_are_decided_about_as_their_branch(guarded: Guarded) -> None:
    graph: Any = guarded.registry.open(next(iter(guarded.registry)).ref)
    graph.tags.create("of-release", guarded.commit)
    graph.tags.create("of-plans", guarded.head)
    client = guarded.clients["hal"]
    for state, status in (("of-release", 403), ("of-plans", 200), ("release", 403), ("secret-plans", 200)):
        assert client.get(f"/commits/{state}").status_code == status
        assert client.get(f"/schema?snapshot={state}").status_code == status
        assert call_tool(client, "commits_get", {"commitId": state})[0] == status
    kept = graph.optimize("release").tables[0].commit
    if kept is not None:
        assert client.get(f"/commits/{kept if isinstance(kept, str) else kept.id}?maintenance=true").status_code == 403


HIDDEN = ("Mallory", "4711", "mallory@example.org")
UNIQUE = "node Person { name: String @key  age: I32?  email: String @unique  @range(age, 0..9000) }\nedge Knows: Person -> Person @card(0..1)"
BREAKING: dict[str, tuple[str, Any, str]] = {
    "insert": ("mutate", {"query": 'query q() { insert Person { name: "x", email: "mallory@example.org" } }'}, "unique"),
    "update": ("mutate", {"query": "query q() { update Person set { age: age + 9000 } where age > 0 }"}, "range"),
    "load": ("load", '{"type": "Person", "data": {"name": "x", "email": "mallory@example.org"}}', "unique"),
}


@pytest.mark.parametrize("what", BREAKING)
def test_broken_rules_tell_nothing_of_the_graph_to_those_who_may_not_read(tmp_path: Path, what: str) -> None:
    route, body, rule = BREAKING[what]
    with og.init(tmp_path / "people.omni", schema=UNIQUE, durability="os") as graph:
        graph.put("Person", {"name": "Mallory", "age": 4711, "email": "mallory@example.org"})
    bundle = read_bundle(POLICY, source="policy.yaml", kind=Kind.GRAPH)
    ref = GraphRef(str(tmp_path / "people.omni"), id="people")
    door = Service(DirectGraphs(), authoriser=PolicyAuthoriser({"people": bundle}))
    for actor, reads in (("mia", False), ("rae", True)):
        (tmp_path / "rows.jsonl").write_text(str(body))
        operation: Any = Load(ref, str(tmp_path / "rows.jsonl"), "append") if route == "load" else Mutate(ref, body["query"])
        with pytest.raises(ValidationError) as raised:
            door.run(Caller(actor, Origin.HTTP), operation)
        said = told(raised.value)
        gave = json.dumps(body)
        assert bool([value for value in HIDDEN if value in said and value not in gave]) is reads, said
        assert [(v.rule, v.type) for v in raised.value.violations] == [(rule, "Person")]
        if not reads:
            assert "the right to read the branch" in raised.value.hint
            assert "mallory@example.org" not in said
    door.close()


def test_what_is_wrong_with_rows_by_themselves_is_told_to_whoever_gave_them(tmp_path: Path) -> None:
    og.init(tmp_path / "people.omni", schema=UNIQUE, durability="os").close()
    bundle = read_bundle(POLICY, source="policy.yaml", kind=Kind.GRAPH)
    door = Service(DirectGraphs(), authoriser=PolicyAuthoriser({"people": bundle}))
    (tmp_path / "rows.jsonl").write_text('{"type": "Person", "data": {"name": "x", "age": 9001, "email": "x@example.org"}}')
    operation = Load(GraphRef(str(tmp_path / "people.omni"), id="people"), str(tmp_path / "rows.jsonl"), "append")
    with pytest.raises(ValidationError, match=r"is 9001, outside 0\.\.9000"):
        door.run(Caller("mia", Origin.HTTP), operation)
    door.close()


# ── a session that is confined to a branch ───────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def confined(tmp_path: Path) -> Iterator[tuple[ConfinedService, GraphRef]]:
    path = tmp_path / "people.omni"
    with og.init(path, schema=SCHEMA, durability="os") as graph:
        graph.branches.create("secret/plans")
        graph.branches.create("mine/others")
    graphs = DirectGraphs()
    yield ConfinedService(graphs, "mine"), GraphRef(str(path))
    graphs.close()


def test_a_confined_session_is_told_of_its_own_branch_only(confined: tuple[ConfinedService, GraphRef]) -> None:
    _, ref = confined
    door, caller = ConfinedService(confined[0].graphs, "own"), Caller("tests", Origin.MCP)
    door.run(caller, Mutate(ref, ADD, {"n": "x", "a": 1}, branch="own"))
    answers = []
    for target in ("nope", "secret/plans"):
        with pytest.raises(Forbidden) as raised:
            door.run(caller, CreateReview(ref, "own", "please", target))
        assert raised.value.hint == "Nothing was done. Work on 'own', or name no branch."
        answers.append(told(raised.value))
    assert answers[0] == answers[1], "whether a branch is there is not told"
    assert "secret" not in answers[0]


def test_nor_of_one_that_is_in_its_way(confined: tuple[ConfinedService, GraphRef]) -> None:
    door, ref = confined
    with pytest.raises(UsageError) as raised:
        door.run(Caller("tests", Origin.MCP), Mutate(ref, ADD, {"n": "x", "a": 1}, branch="mine"))
    assert "others" not in told(raised.value)


def told(error: GraphError) -> str:
    return json.dumps(error.to_dict()) + str(error) + error.hint + "".join(getattr(error, "__notes__", ()))


@pytest.mark.parametrize("what", ["merge", "review"])
def test_single_conflicts_are_decided_by_those_who_may_read(guarded: Guarded, what: str) -> None:
    """Whoever may merge and may not read could find out by guesses what is there."""
    calls: dict[str, tuple[str, dict[str, object]]] = {
        "merge": ("/branches/merge", {"source": "secret-plans", "target": "release"}),
        "review": (f"/reviews/{guarded.review}/merge", {}),
    }
    path, body = calls[what]
    for actor in ("mia", "hal"):
        found = guarded.clients[actor].post(path, json={**body, "resolve": {"node:Person:Eve": "ours"}})
        assert found.status_code == 403, found.text
    assert guarded.clients["rae"].post(path, json={**body, "resolve": {"node:Person:Eve": "ours"}}).status_code == 409
