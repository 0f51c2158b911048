"""Stored queries over HTTP: every route, what it answers when all is well, and each way in which it is not."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.engine.served import AnyActor
from tests.surfaces.calling import Call
from tests.surfaces.http.conftest import Running, people, serving

import omnigraph as og_api
from omnigraph.policy.port import NO_GROUPS, Access, Action, Authoriser, Decision
from omnigraph.policy.states import OpenAccess, ReadOnly, ServedReadOnly
from omnigraph.service.audit import AuditRecord
from omnigraph.service.open_graphs import OpenGraphs
from omnigraph.surfaces.http.application import Application
from omnigraph.surfaces.http.graphs import Registry, named_graphs
from omnigraph.surfaces.http.process.stored import with_queries
from omnigraph.surfaces.http.revisions import Revision

FILES = {
    "people.gq": """
query by_name($name: String, $tags: [String]?, $near: Vector(2)?, $big: I64?)
    @description("One person.") @instruction("Give the whole name.")
{ match { $p: Person { name: $name } } return { $p.name as name, $p.age as age } }

query everyone() { match { $p: Person } return { $p.name as name } order { $p.name asc } }
""",
    "writes.gq": "query add_person($name: String, $age: I32?) { insert Person { name: $name, age: $age } }",
}
CONDITION = "Omnigraph-If-Graph-Commit"


def stored(folder: Path) -> Path:
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text)
    return folder


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("stored")
    with serving(people(folder), more=("--queries", str(stored(folder / "queries")))) as found:
        yield found


@pytest.fixture
def ada(running: Running) -> Iterator[httpx.Client]:
    with running.client("ada") as client:
        yield client


def test_the_catalogue(ada: httpx.Client) -> None:
    assert ada.get("/queries").json() == {
        "queries": [
            {
                "name": "add_person",
                "tool_name": "add_person",
                "mutation": True,
                "params": [
                    {"name": "name", "kind": "string", "nullable": False},
                    {"name": "age", "kind": "int", "nullable": True},
                ],
            },
            {
                "name": "by_name",
                "tool_name": "by_name",
                "description": "One person.",
                "instruction": "Give the whole name.",
                "mutation": False,
                "params": [
                    {"name": "name", "kind": "string", "nullable": False},
                    {"name": "tags", "kind": "list", "item_kind": "string", "nullable": True},
                    {"name": "near", "kind": "vector", "vector_dim": 2, "nullable": True},
                    {"name": "big", "kind": "bigint", "nullable": True},
                ],
            },
            {"name": "everyone", "tool_name": "everyone", "mutation": False, "params": []},
        ]
    }


@pytest.mark.parametrize("body", [b"", b"null", b" null ", b"{}", b'{"params": null, "branch": null, "expect_mutation": false}'])
def test_a_read_with_a_body_or_without(ada: httpx.Client, body: bytes) -> None:
    found = ada.post("/queries/everyone", content=body)
    assert found.status_code == 200
    assert list(found.json()) == ["query_name", "target", "row_count", "columns", "rows", "graph_commit_id"]
    assert found.json()["target"] == {"branch": "main", "snapshot": None}
    assert {"name": "Ada"} in found.json()["rows"]


def test_a_read_answers_what_its_text_would(ada: httpx.Client) -> None:
    for _ in range(3):  # the third is answered where it arrives
        found = ada.post("/queries/by_name", json={"params": {"name": "Ada"}}).json()
        assert (
            found == ada.post("/query", json={"query": FILES["people.gq"], "name": "by_name", "params": {"name": "Ada"}}).json()
        )
    past = ada.post("/queries/by_name", json={"params": {"name": "Ada"}, "snapshot": found["graph_commit_id"]}).json()
    assert past["target"] == {"branch": None, "snapshot": found["graph_commit_id"]}


def test_a_mutation_and_its_condition(ada: httpx.Client) -> None:
    ada.post("/branches", json={"name": "w"})
    done = ada.post("/queries/add_person", json={"params": {"name": "Eve"}, "branch": "w", "expect_mutation": True}).json()
    assert list(done) == ["branch", "query_name", "affected_nodes", "affected_edges", "actor_id", "commit"]
    assert (done["branch"], done["query_name"], done["actor_id"]) == ("w", "add_person", "ada")
    head = done["commit"]["graph_commit_id"]
    assert ada.get(f"/commits/{head}").json() == done["commit"]
    wanted = {"params": {"name": "Zoe"}, "branch": "w"}
    conditional = ada.post("/queries/add_person/if-graph-commit", json=wanted, headers={CONDITION: head})
    assert conditional.status_code == 200
    late = ada.post("/queries/add_person/if-graph-commit", json={**wanted, "params": {"name": "Yan"}}, headers={CONDITION: head})
    assert (late.status_code, "code" in late.json()) == (412, False)
    assert late.json()["precondition_failure"] == {"expected": head, "actual": conditional.json()["commit"]["graph_commit_id"]}


def test_a_key_makes_a_mutation_happen_once(ada: httpx.Client) -> None:
    sent: dict[str, Any] = {"json": {"params": {"name": "Once"}}, "headers": {"Idempotency-Key": "k-1"}}
    first, second = (ada.post("/queries/add_person", **sent).json() for _ in range(2))
    assert first["commit"] == second["commit"]


REFUSED = [
    ("everyone", b"[", {}, 400, "invalid stored-query invocation body: "),
    ("everyone", b'{"params": 1}', {}, 400, "invalid stored-query invocation body: "),
    ("everyone", b'{"expect_mutation": "x"}', {}, 400, "invalid stored-query invocation body: "),
    ("nothing", b"", {}, 404, "stored query not found"),
    ("some%2Fname", b"", {}, 404, "stored query not found"),
    ("everyone", b'{"expect_mutation": true}', {}, 400, "'everyone' is a read — use omnigraph query everyone"),
    ("add_person", b'{"expect_mutation": false}', {}, 400, "'add_person' is a mutation — use omnigraph mutate add_person"),
    ("add_person", b'{"snapshot": "x", "params": {"name": "n"}}', {}, 400, "stored mutation cannot target a snapshot"),
    ("everyone", b'{"branch": "a", "snapshot": "b"}', {}, 400, "request may specify branch or snapshot, not both"),
    ("everyone", b'{"branch": "nowhere"}', {}, 404, "branch 'nowhere' not found"),
    ("everyone", b'{"snapshot": "nowhere"}', {}, 404, "commit 'nowhere' not found"),
    ("by_name", b"", {}, 400, ""),
    ("by_name", b'{"params": {"name": null}}', {}, 400, "param"),
    ("by_name", b'{"params": {"name": 3}}', {}, 400, ""),
    ("everyone", b"", {CONDITION: "x"}, 400, f"{CONDITION} requires the fail-closed conditional route /graphs/people/queries/everyone/if-graph-commit"),
    ("everyone/if-graph-commit", b"", {}, 400, f"{CONDITION} must be given on this route"),
    ("everyone/if-graph-commit", b"", {CONDITION: "*"}, 400, f"{CONDITION} takes one raw commit id"),
    ("everyone/if-graph-commit", b"", {CONDITION: "x"}, 400, "'everyone' is a read"),
    ("nothing/if-graph-commit", b"", {CONDITION: "x"}, 404, "stored query not found"),
    ("everyone", b"", {"Idempotency-Key": "k"}, 400, "'everyone' is a read"),
    ("everyone", b'{"message": "m"}', {}, 400, "'everyone' is a read"),
    ("everyone", b" " * (1 << 20) + b"{}", {}, 413, "resource limit exceeded"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "body", "headers", "status", "error"), REFUSED)
def test_what_is_refused(ada: httpx.Client, path: str, body: bytes, headers: dict[str, str], status: int, error: str) -> None:
    before = ada.get("/commits").json()["commits"][0]
    found = ada.post(f"/queries/{path}", content=body, headers=headers)
    assert found.status_code == status, found.text
    assert found.json()["error"].startswith(error) or error in found.json()["error"]
    assert found.json()["code"] == ("not_found" if status == 404 else "bad_request")
    assert ada.get("/commits").json()["commits"][0] == before


@pytest.mark.parametrize("method_path", [("GET", "/queries"), ("POST", "/queries/everyone"), ("POST", "/queries/nothing"), ("POST", "/queries/add_person/if-graph-commit")])  # fmt: skip
def test_nothing_without_a_token(running: Running, method_path: tuple[str, str]) -> None:
    with running.client(None) as nobody:
        found = nobody.request(*method_path)
    assert (found.status_code, found.json()["error"]) == (401, "missing bearer token")


def test_a_schema_that_breaks_a_stored_query_is_refused(ada: httpx.Client) -> None:
    source = ada.get("/schema").json()["schema_source"]
    head = ada.get("/commits").json()["commits"][0]
    broken = ada.post("/schema/apply", json={"schema_source": source.replace("age: I32?", ""), "allow_data_loss": True})
    assert (broken.status_code, broken.json()["code"], broken.json()["condition"]) == (409, "conflict", "broken_queries")
    assert list(broken.json()["details"]["broken"]) == ["add_person", "by_name"]
    assert ada.get("/commits").json()["commits"][0] == head
    fine = ada.post("/schema/apply", json={"schema_source": source.replace("age: I32?", "age: I32?  city: String?")})
    assert (fine.status_code, fine.json()["applied"]) == (200, True)


def test_a_merge_that_brings_a_schema_which_breaks_a_stored_query_is_refused(ada: httpx.Client) -> None:
    source = ada.get("/schema").json()["schema_source"]
    for branch, schema in (
        ("breaks", source.replace("age: I32?", "")),
        ("fits", source.replace("age: I32?", "age: I32?  zip: String?")),
    ):
        assert ada.post("/branches", json={"name": branch, "from": "main"}).status_code == 200
        done = ada.post("/schema/apply", json={"schema_source": schema, "branch": branch})
        assert (done.status_code, done.json()["applied"]) == (200, True), "on a branch they need not fit"
    opened = ada.post("/reviews", json={"source": "breaks", "title": "x"}).json()
    head = ada.get("/commits").json()["commits"][0]
    for path in ("/branches/merge", f"/reviews/{opened['id']}/merge"):
        body = {"source": "breaks", "target": "main"} if path == "/branches/merge" else {}
        refused = ada.post(path, json=body)
        assert (refused.status_code, refused.json()["code"], refused.json()["condition"]) == (409, "conflict", "broken_queries")
        assert list(refused.json()["details"]["broken"]) == ["add_person", "by_name"]
    assert ada.get("/commits").json()["commits"][0] == head
    merged = ada.post("/branches/merge", json={"source": "fits"})
    assert (merged.status_code, merged.json()["outcome"]) == (200, "fast_forward")
    late = ada.post("/branches/merge", json={"source": "breaks"})
    assert (late.status_code, late.json()["condition"]) == (409, "schema_boundary"), "what is in the way is something else now"
    into = ada.post("/branches", json={"name": "other", "from": "breaks"})
    assert into.status_code == 200


def test_a_schema_is_a_text_and_no_file_of_the_server(ada: httpx.Client, tmp_path: Path) -> None:
    (tmp_path / "secret.pg").write_text("node Secret { name: String @key }")
    for route in ("/schema/apply", "/schema/plan"):
        found = ada.post(route, json={"schema_source": str(tmp_path / "secret.pg"), "allow_data_loss": True})
        assert found.status_code == 400
        assert "Secret" not in found.text


def test_queries_that_do_not_fit_stop_the_server_from_starting(tmp_path: Path) -> None:
    graph, folder = people(tmp_path), stored(tmp_path / "queries")
    (folder / "old.gq").write_text("query old() { match { $p: Gone } return { $p.name } }")
    program = "from omnigraph.surfaces.http.process.command import start; start()"
    ran = subprocess.run(
        [sys.executable, "-c", program, "--bind", "127.0.0.1:0", str(graph), "--queries", f"people={folder}"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ran.returncode == 1
    assert "stored queries do not fit the schema of `people`" in ran.stderr
    assert "old: " in ran.stderr


def test_queries_are_read_again(tmp_path: Path) -> None:
    graph, folder = people(tmp_path), stored(tmp_path / "queries")
    with serving(graph, more=("--queries", str(folder))) as found, found.client() as client:

        def names() -> list[str]:
            return [query["name"] for query in client.get("/queries").json()["queries"]]

        def reload() -> httpx.Response:
            return client.post(f"{found.url}/admin/reload")

        assert names() == ["add_person", "by_name", "everyone"]
        (folder / "writes.gq").write_text("query broken() { match { $p: Gone } return { $p.name } }")
        refused = reload()
        assert refused.status_code >= 400
        assert names() == ["add_person", "by_name", "everyone"]
        (folder / "writes.gq").write_text("query ages() { match { $p: Person } return { $p.age } }")
        assert reload().status_code == 200
        assert names() == ["ages", "by_name", "everyone"]
        assert client.post("/queries/add_person").status_code == 404


# ── who may ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────


class Rules(Authoriser):
    """Bob may invoke some queries, and has some actions."""

    def __init__(self, queries: set[str], actions: set[Action]) -> None:
        self.queries, self.actions = queries, actions

    def decide(self, actor: str | None, graph: str, access: Access, groups: frozenset[str] = NO_GROUPS) -> Decision:
        if access.action is Action.INVOKE_QUERY:
            return Decision(access.query in self.queries, None, "no such right")
        return Decision(access.action in self.actions, None, f"policy denied action '{access.action.value}'")


class Kept:
    def __init__(self) -> None:
        self.records: list[AuditRecord] = []

    def takes(self, outcome: object) -> bool:
        return True

    def write(self, record: AuditRecord) -> None:
        self.records.append(record)


Ask = Callable[..., httpx.Response]


@pytest.fixture
def ruled(tmp_path: Path) -> Iterator[Callable[[Authoriser], tuple[Ask, Kept]]]:
    """A server in this thread with rules of a test."""
    import asyncio

    stored(tmp_path / "queries")
    where = people(tmp_path)
    made: list[Application] = []

    def start(rules: Authoriser) -> tuple[Ask, Kept]:
        graphs = Registry.of(with_queries(named_graphs([str(where)]), [str(tmp_path / "queries")]), OpenGraphs())
        kept = Kept()
        application = Application(Revision(graphs, rules, AnyActor()), audit=kept)
        made.append(application)

        def ask(method: str, path: str, **more: Any) -> httpx.Response:
            async def asked() -> httpx.Response:
                transport = httpx.ASGITransport(application)
                headers = {"Authorization": "Bearer bob", "X-Request-Id": "same", **more.pop("headers", {})}
                async with httpx.AsyncClient(transport=transport, base_url="http://x/graphs/people") as client:
                    return await client.request(method, path, headers=headers, **more)

            return asyncio.run(asked())

        return ask, kept

    yield start
    for application in made:
        application.close()


def test_a_denied_query_and_an_unknown_one_are_answered_alike_to_the_byte(ruled: Any) -> None:
    ask, kept = ruled(Rules({"everyone"}, {Action.READ}))
    for more in ({}, {"json": {"expect_mutation": True}}, {"json": {"snapshot": "x"}}, {"json": {"branch": "nowhere"}}):
        denied, unknown = ask("POST", "/queries/add_person", **more), ask("POST", "/queries/unknown", **more)
        assert denied.status_code == unknown.status_code == 404
        assert denied.content == unknown.content
        assert sorted(denied.headers.raw) == sorted(unknown.headers.raw)
    assert {(r.kind, r.outcome, r.action) for r in kept.records} == {("decision", "denied", "invoke_query")}
    assert {r.query for r in kept.records} == {"add_person", "unknown"}
    conditional = {"headers": {CONDITION: "x"}}
    routes = [ask("POST", f"/queries/{name}/if-graph-commit", **conditional) for name in ("add_person", "unknown")]
    assert routes[0].content == routes[1].content


def test_the_right_behind_the_gate_is_denied_visibly(ruled: Any) -> None:
    ask, kept = ruled(Rules({"everyone", "add_person"}, {Action.READ}))
    refused = ask("POST", "/queries/add_person", json={"params": {"name": "Eve"}})
    assert (refused.status_code, refused.json()["error"]) == (403, "policy denied action 'change'")
    assert [(r.kind, r.outcome, r.action) for r in kept.records] == [
        ("decision", "allowed", "invoke_query"),
        ("decision", "denied", "change"),
    ]
    wrong_kind = ask("POST", "/queries/add_person", json={"expect_mutation": False})
    assert wrong_kind.status_code == 400, "what it is comes before whether the change is allowed"


def test_what_a_policy_denies_is_not_listed(ruled: Any) -> None:
    ask, _ = ruled(Rules({"everyone"}, {Action.READ}))
    assert [q["name"] for q in ask("GET", "/queries").json()["queries"]] == ["everyone"]
    ask, _ = ruled(Rules({"everyone"}, set()))
    assert ask("GET", "/queries").status_code == 403


@pytest.mark.parametrize(
    ("rules", "listed", "read", "write"),
    [(ReadOnly(), 3, 404, 404), (ServedReadOnly(), 3, 200, 403), (OpenAccess(), 3, 200, 200)],
)
def test_without_a_policy(ruled: Any, rules: Authoriser, listed: int, read: int, write: int) -> None:
    ask, _ = ruled(rules)
    assert len(ask("GET", "/queries").json()["queries"]) == listed
    assert ask("POST", "/queries/everyone").status_code == read
    assert ask("POST", "/queries/add_person", json={"params": {"name": "Eve"}}).status_code == write


def test_a_write_is_in_the_audit_with_its_query_and_branch_and_without_its_parameters(ruled: Any) -> None:
    ask, kept = ruled(Rules({"add_person"}, {Action.READ, Action.CHANGE}))
    done = ask("POST", "/queries/add_person", json={"params": {"name": "Secret Name"}}).json()
    written = kept.records[-1].to_dict()
    assert (written["kind"], written["outcome"], written["query"]) == ("write", "done", "add_person")
    assert (written["action"], written["branch"]) == ("change", "main")
    assert (written["operation"], written["actor"], written["commit"]) == (
        "queries invoke",
        "bob",
        done["commit"]["graph_commit_id"],
    )
    assert "Secret" not in json.dumps([r.to_dict() for r in kept.records])


# ── the client and the command ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def graph(running: Running) -> Iterator[og_api.RemoteGraph]:
    with og_api.connect(running.url, graph="people", token="token-of-ada") as found:
        yield found


def test_the_client_lists_and_invokes(graph: og_api.RemoteGraph) -> None:
    assert [repr(query) for query in graph.stored_queries()] == [
        "Mutation add_person($name: string, $age: int?)",
        "Read by_name($name: string, $tags: [string]?, $near: vector(2)?, $big: bigint?)",
        "Read everyone()",
    ]
    assert graph.stored_queries()[1].instruction == "Give the whole name."
    found = graph.invoke("by_name", {"name": "Ada"})
    assert isinstance(found, og_api.Result)
    assert found.rows == [{"name": "Ada", "age": 36}]
    graph.branches.create("client")
    done = graph.invoke("add_person", {"name": "Eve"}, branch="client", message="by hand")
    assert isinstance(done, og_api.Receipt)
    assert done.commit is not None
    assert (done.actor, done.affected_nodes, done.commit.message) == ("ada", 1, "by hand")
    with pytest.raises(og_api.PreconditionFailed):
        graph.invoke("add_person", {"name": "Zoe"}, branch="client", if_commit=graph.commits()[-1])
    again = [graph.invoke("add_person", {"name": "Yan"}, branch="client", idempotency_key="k") for _ in range(2)]
    assert again[0].commit == again[1].commit  # type: ignore[union-attr]
    with pytest.raises(og_api.NotFound, match="stored query not found"):
        graph.invoke("nothing")
    with pytest.raises(og_api.UsageError, match="is a read"):
        graph.invoke("everyone", expect_mutation=True)
    with pytest.raises(og_api.UsageError, match="`name`"):
        graph.invoke(3)  # type: ignore[arg-type]


def test_an_open_graph_has_no_stored_queries(tmp_path: Path) -> None:
    with og_api.open(people(tmp_path)) as g:
        for call in (lambda: g.stored_queries(), lambda: g.invoke("x")):
            with pytest.raises(og_api.ScopeError, match="stored with a graph by a server") as refused:
                call()
            assert "queries of a file" in refused.value.hint


def test_the_client_in_an_event_loop(running: Running) -> None:
    async def main() -> None:
        async with await og_api.connect_async(running.url, graph="people", token="token-of-ada") as g:
            assert len(await g.stored_queries()) == 3
            found = await g.invoke("everyone")
            assert isinstance(found, og_api.Result)
            assert {"name": "Ada"} in found.rows

    asyncio.run(main())


@pytest.fixture
def flags(running: Running, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    monkeypatch.setenv("OMNIGRAPH_BEARER_TOKEN", "token-of-ada")
    return ("--server", running.url, "--graph", "people")


def test_commands_on_a_server(og: Call, flags: tuple[str, ...], tmp_path: Path) -> None:
    listed = og("queries", "list", *flags)
    assert listed.lines[:4] == [
        "mutation  add_person($name: string, $age: int?)",
        "read  by_name($name: string, $tags: [string]?, $near: vector(2)?, $big: bigint?)",
        "    description: One person.",
        "    instruction: Give the whole name.",
    ]
    assert og("queries", "list", *flags, "--json").json["queries"][0] == {
        "name": "add_person",
        "mcp_expose": True,
        "tool_name": "add_person",
        "mutation": True,
        "params": [{"name": "name", "type": "string", "nullable": False}, {"name": "age", "type": "int", "nullable": True}],
    }
    assert og("query", "by_name", *flags, "--params", '{"name": "Ada"}', "--format", "csv").lines == ["name,age", "Ada,36"]
    og("branch", "create", "cli", *flags)
    done = og("mutate", "add_person", *flags, "--branch", "cli", "--params", '{"name": "Eve"}', "--json").json
    assert (done["branch"], done["affected_nodes"]) == ("cli", 1)
    text = og("mutate", "add_person", *flags, "--branch", "cli", "--params", '{"name": "Zoe"}').lines
    assert text == ["changed cli via add_person: 1 node, 0 edges", "actor_id: ada"]
    lost = og("mutate", "add_person", *flags, "--branch", "cli", "--params", '{"name": "Yan"}', "--if-commit", done["commit"]["graph_commit_id"], "--json")  # fmt: skip
    assert (lost.code, lost.json["code"]) == (4, "precondition_failed")
    wrong = og("query", "add_person", *flags)
    assert (wrong.code, "'add_person' is a mutation — use omnigraph mutate add_person" in wrong.err) == (1, True)
    assert "is a read — use omnigraph query everyone" in og("mutate", "everyone", *flags).err
    assert og("query", "nothing", *flags).code == 1


def test_an_alias_of_a_stored_query(og: Call, running: Running, flags: tuple[str, ...], tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(exist_ok=True)
    (home / "config.yaml").write_text(
        f"servers: {{ prod: {{ url: '{running.url}' }} }}\n"
        "aliases:\n"
        "  who: { server: prod, graph: people, query: by_name, args: [name, big], params: { name: Bob, big: 1 }, format: csv }\n"
        "  add: { server: prod, graph: people, query: add_person }\n"
    )
    assert og("alias", "who").lines == ["name,age", "Bob,"]
    assert og("alias", "who", "Ada").lines[1] == "Ada,36"
    assert og("alias", "who", "Bob", "--params", '{"name": "Ada"}', "--json").json["rows"] == [{"name": "Ada", "age": 36}]
    assert "is a mutation" in og("alias", "add").err
    assert "takes 2 arguments (name, big), not 3" in og("alias", "who", "a", "1", "2").err


def test_files_are_validated_against_a_graph_a_server_or_a_schema(
    og: Call, running: Running, flags: tuple[str, ...], tmp_path: Path
) -> None:
    folder, graph = stored(tmp_path / "q"), people(tmp_path)
    (tmp_path / "s.pg").write_text("node Person { name: String @key  age: I32? }")
    for where in ((str(graph),), ("--store", str(graph)), flags, ("--schema", str(tmp_path / "s.pg"))):
        assert og("queries", "validate", *where, "--queries", str(folder)).lines == [
            "OK  3 stored queries type-check against the schema"
        ]
    assert og("queries", "list", "--queries", str(folder)).lines[0] == "mutation  add_person($name: String, $age: I32?)"
    (folder / "old.gq").write_text(
        "query old() { match { $p: Gone } return { $p.name } }\nquery everyone() { match { $p: Person } return { $p.name } }"
    )
    broken = og("queries", "validate", str(graph), "--queries", str(folder))
    assert broken.code == 1
    assert broken.lines[-1].startswith("ERROR  query 'old': ")
    told = og("queries", "validate", str(graph), "--queries", str(folder), "--json")
    assert (told.code, told.json["ok"]) == (1, False)
    assert [b["query"] for b in told.json["breakages"]] == ["everyone", "old"]
    assert told.json["warnings"] == []
    assert og("queries", "validate", str(graph)).code == 1
    assert og("queries", "list", "--store", str(graph)).code == 1
