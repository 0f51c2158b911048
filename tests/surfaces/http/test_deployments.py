"""Plans and deployments over HTTP: what they answer, who may ask for them, what is refused first, and that nothing is done twice."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.cluster.clusters import MORE, NAMES, OTHER, PERSON, TEAM, Cluster, unreadable
from tests.engine.served import Server
from tests.service.doors import Kept
from tests.surfaces.http.conftest import NO_CERTIFICATES, TOKENS, Running, serving

from omnigraph.cluster.applying.apply import _Work
from omnigraph.surfaces.cli.main import run
from omnigraph.surfaces.http.application import Application
from omnigraph.surfaces.http.process.activation import Activation
from omnigraph.surfaces.http.process.clustered import ClusterGraphs
from omnigraph.surfaces.http.process.limits import Limits
from omnigraph.surfaces.http.process.settings import ServerSettings

OPS = """version: 1
groups: { ops: [ada] }
rules:
  - id: deploys
    allow: { actors: { group: ops }, actions: [graph_list, config_manage] }
"""
CONFIG = """version: 1
graphs:
  people: { schema: people.pg, queries: queries/ }
policies:
  team: { file: team.yaml, applies_to: [people] }
  ops: { file: ops.yaml, applies_to: [cluster] }
"""
TWO = CONFIG.replace("graphs:\n", "graphs:\n  things: { schema: things.pg }\n")
FILES = {
    "cluster.yaml": CONFIG,
    "people.pg": PERSON,
    "things.pg": OTHER,
    "queries/names.gq": NAMES,
    "team.yaml": TEAM,
    "ops.yaml": OPS,
}
SAYS = {"Omnigraph-Http-Api": "0.13"}


class Deployed(Server):
    """A server of a cluster, in this process."""

    def __init__(self, cluster: Cluster, seconds: float = 20.0) -> None:
        self.cluster, self.audit = cluster, Kept()
        environment = {"OMNIGRAPH_SERVER_BEARER_TOKENS_JSON": json.dumps(TOKENS)}
        source = ClusterGraphs(ServerSettings(cluster=str(cluster.folder)), environment)
        application = Application(source.load(), Limits(deployment_seconds=seconds, inflight=2), audit=self.audit)
        application.activation = Activation(source, application, None, lambda: None)
        self.application = application
        super().__init__(application)

    def ask(self, method: str, path: str, body: Any = None, actor: str | None = "ada", **more: Any) -> httpx.Response:
        headers = {**({} if actor is None else {"Authorization": f"Bearer {TOKENS[actor]}"}), **more.pop("headers", {})}
        url = f"{self.url}/cluster{path}"
        return httpx.request(method, url, json=body, headers=headers, timeout=60, verify=NO_CERTIFICATES, **more)

    def plan(self, files: dict[str, str], **more: Any) -> httpx.Response:
        return self.ask("POST", "/plan", {"deployment": {"files": files}}, **more)

    def deploy(self, deployment_id: str, files: dict[str, str] = FILES, **more: Any) -> httpx.Response:
        return self.ask("POST", "/deployments", {"deployment_id": deployment_id, "deployment": {"files": files}}, **more)


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    made = Cluster(tmp_path / "cluster")
    for path, text in FILES.items():
        made.write(path, text)
    return made.applied()


@pytest.fixture
def server(cluster: Cluster) -> Iterator[Deployed]:
    running = Deployed(cluster)
    yield running
    running.close()


def settled(said: Any) -> Any:
    """What is said, without the ids of locks."""
    if isinstance(said, dict):
        return {name: settled(value) for name, value in said.items() if name != "acquired_lock_id"}
    return [settled(one) for one in said] if isinstance(said, list) else said


# ── plans ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"cluster.yaml": TWO},
        {"people.pg": MORE},
        {"cluster.yaml": "version: 1\n"},
        {"cluster.yaml": "version: 7\n"},
        {"people.pg": "node Person {"},
        {"people.pg": "node Person { name: I32 @key }"},
    ],
)
def test_a_plan_is_what_the_command_shows(server: Deployed, changed: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    for path, text in changed.items():
        server.cluster.write(path, text)
    code = run(["cluster", "plan", "--config", str(server.cluster.folder), "--json"])
    shown = json.loads(capsys.readouterr().out)
    before = server.cluster.state
    found = server.plan({**FILES, **changed})
    assert shown["config_dir"] == str(server.cluster.folder)
    shown = json.loads(json.dumps(shown).replace(f"{server.cluster.folder}/", "").replace(str(server.cluster.folder), "."))
    assert (found.status_code, settled(found.json())) == (200, settled(shown)), "but for where it lies"
    assert list(found.json()) == list(shown)
    assert found.json()["ok"] is (code == 0)
    assert server.cluster.state == before


# ── deployments ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_deployment_is_applied_and_served_at_once(server: Deployed) -> None:
    found = server.deploy("release-7", {**FILES, "cluster.yaml": TWO})
    assert found.status_code == 200, found.text
    body = found.json()
    assert list(body) == ["deployment", "active", "in_progress"]
    deployment = body["deployment"]
    assert list(deployment) == [
        "deployment_id",
        "status",
        "digest",
        "config_digest",
        "actor_id",
        "submitted_at",
        "finished_at",
        "state_revision",
        "state_cas",
        "result",
    ]
    assert (deployment["deployment_id"], deployment["status"], deployment["actor_id"]) == ("release-7", "applied", "ada")
    assert (body["active"], body["in_progress"]) == (True, False)
    changed = {c["resource"]: c["operation"] for c in deployment["result"]["changes"]}
    assert changed["graph.things"] == changed["schema.things"] == "create"
    assert deployment["result"]["actor"] == "ada"
    graphs = httpx.get(f"{server.url}/graphs", headers={"Authorization": f"Bearer {TOKENS['ada']}"}).json()["graphs"]
    assert [graph["graph_id"] for graph in graphs] == ["people", "things"]
    revision = server.cluster.state["state_revision"]
    assert deployment["state_revision"] == revision == 2

    assert server.deploy("release-7", {**FILES, "cluster.yaml": TWO}).json() == body, "once"
    assert server.ask("GET", "/deployments/release-7").json() == body
    assert server.ask("GET", "/deployments").json() == {**body, "deployments": [body]}
    later = server.deploy("release-8", {**FILES, "cluster.yaml": TWO, "people.pg": MORE}).json()
    assert (later["deployment"]["status"], later["active"]) == ("applied", True)
    earlier = server.ask("GET", "/deployments/release-7").json()
    assert earlier == {**body, "active": False}, "something else is served now"
    listed = server.ask("GET", "/deployments").json()
    assert [one["deployment"]["deployment_id"] for one in listed["deployments"]] == ["release-8", "release-7"]


def test_before_the_first_deployment(server: Deployed) -> None:
    found = server.ask("GET", "/deployments").json()
    assert found == {"deployment": None, "active": False, "in_progress": False, "deployments": []}


def test_a_graph_is_deleted_by_nobody_who_has_no_approval(server: Deployed) -> None:
    both = {**FILES, "cluster.yaml": TWO}
    assert server.deploy("both", both).json()["deployment"]["status"] == "applied"
    waits = server.deploy("one").json()
    assert (waits["deployment"]["status"], waits["deployment"]["result"]["converged"]) == ("partial", False)
    planned = server.plan(FILES).json()
    assert [(a["resource"], a["satisfied"]) for a in planned["approvals_required"]] == [("graph.things", False)]
    folder = server.cluster.folder / "graphs/things.omni"
    assert folder.exists()
    server.cluster.config(CONFIG)
    assert server.cluster.approve("graph.things").ok
    assert server.deploy("approved").json()["deployment"]["status"] == "applied"
    assert not folder.exists()


def test_a_deployment_that_takes_its_time_goes_on(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    server, done = Deployed(cluster, 0.05), _Work.run

    def slow(self: _Work) -> None:
        time.sleep(1.0)
        done(self)

    monkeypatch.setattr(_Work, "run", slow)
    try:
        wanted = {**FILES, "cluster.yaml": TWO}
        begun = server.deploy("slow", wanted)
        assert begun.status_code == 202
        assert (begun.json()["in_progress"], begun.json()["active"]) == (True, False)
        assert begun.json()["deployment"]["status"] == "applying"
        assert "finished_at" not in begun.json()["deployment"]
        assert (
            begun.json()["deployment"]["lock_id"] == json.loads((cluster.folder / "__cluster/lock.json").read_text())["lock_id"]
        )
        again = server.deploy("slow", wanted)
        assert (again.status_code, again.json()["in_progress"]) == (202, True), "it is not begun a second time"
        assert server.deploy("other", wanted).status_code == 409, "one at a time"
        assert server.plan(wanted).json()["diagnostics"][0]["code"] == "state_lock_held"
        deadline = time.monotonic() + 20
        while not (seen := server.ask("GET", "/deployments/slow").json())["active"]:
            assert time.monotonic() < deadline, seen
            time.sleep(0.05)
        assert (seen["in_progress"], seen["deployment"]["status"]) == (False, "applied")
    finally:
        server.close()


def test_a_deployment_that_was_killed_is_continued(server: Deployed, monkeypatch: pytest.MonkeyPatch) -> None:
    done = _Work.run

    def killed(self: _Work) -> None:
        done(self)
        raise RuntimeError("lost")

    monkeypatch.setattr(_Work, "run", killed)
    wanted = {**FILES, "people.pg": MORE}
    failed = server.deploy("d", wanted)
    assert (failed.status_code, failed.json()["code"], "lost" in failed.text) == (500, "internal", False)
    monkeypatch.undo()
    left = server.ask("GET", "/deployments/d").json()
    assert (left["deployment"]["status"], left["in_progress"], left["active"]) == ("interrupted", False, False)
    ended = server.deploy("d", wanted).json()
    assert (ended["deployment"]["status"], ended["active"]) == ("applied", True)
    assert "cluster_recovery_rolled_forward" in [d["code"] for d in ended["deployment"]["result"]["diagnostics"]]


def test_what_cannot_be_served_is_not_active(server: Deployed, monkeypatch: pytest.MonkeyPatch) -> None:
    key = "providers: { embedding: { e: { kind: openai-compatible, model: m, api_key: '${NOT_SET_ANYWHERE}' } } }\n"
    config = CONFIG.replace("queries/ }", "queries/, embedding_provider: e }") + key
    monkeypatch.setenv("OMNIGRAPH_DEPLOYABLE_KEYS", "OTHER, NOT_SET_ANYWHERE")
    found = server.deploy("without-a-key", {**FILES, "cluster.yaml": config})
    assert found.status_code == 200, found.text
    assert (found.json()["deployment"]["status"], found.json()["active"]) == ("applied", False)


def test_no_secret_of_the_server_is_sent_to_an_address_of_somebodys_choice(
    server: Deployed, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wanted(more: str) -> dict[str, str]:
        given = f"providers: {{ embedding: {{ e: {{ kind: openai-compatible, model: m, {more} }} }} }}\n"
        return {**FILES, "cluster.yaml": CONFIG + given}

    mine = "base_url: 'https://evil.example', api_key: '${OMNIGRAPH_SERVER_BEARER_TOKENS_JSON}'"
    refused = server.deploy("steal", wanted(mine))
    assert refused.status_code == 409, refused.text
    assert [d["code"] for d in refused.json()["diagnostics"]] == ["embedding_api_key_not_deployable"]
    assert server.ask("GET", "/deployments/steal").status_code == 404
    monkeypatch.setenv("OMNIGRAPH_DEPLOYABLE_KEYS", "EMBEDDING_KEY")
    good = "base_url: 'https://good.example', api_key: '${EMBEDDING_KEY}'"
    assert server.deploy("good", wanted(good)).json()["deployment"]["status"] == "applied"
    monkeypatch.delenv("OMNIGRAPH_DEPLOYABLE_KEYS")
    assert server.deploy("again", wanted(good)).json()["deployment"]["status"] == "applied", "as it was applied"
    assert server.deploy("moved", wanted(good.replace("good.", "evil."))).status_code == 409
    assert server.deploy("other", wanted(good.replace("EMBEDDING_KEY", "OTHER"))).status_code == 409


def test_a_deployment_that_is_sent_several_times_at_once_happens_once(server: Deployed) -> None:
    wanted = {**FILES, "people.pg": MORE}
    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda _: server.deploy("same", wanted), range(2)))
    assert {answer.status_code for answer in answers} <= {200, 202}, [answer.text for answer in answers]
    ended = server.ask("GET", "/deployments/same").json()
    assert (ended["deployment"]["status"], ended["active"]) == ("applied", True)


def test_everything_is_written_down(server: Deployed) -> None:
    server.audit.records.clear()
    request_id = {"X-Request-Id": "r-1"}
    assert server.deploy("d", {**FILES, "cluster.yaml": TWO}, headers=request_id).status_code == 200
    records = [r for r in server.audit.records if r.request_id == "r-1"]
    own = [(r.kind, r.outcome, r.action, r.rule, r.graph) for r in records if r.operation == "cluster deploy"]
    assert own == [
        ("decision", "allowed", "config_manage", "deploys", "root"),
        ("write", "done", "config_manage", "deploys", "root"),
    ]
    made = [(r.graph, r.actor, r.origin) for r in records if r.operation == "init" and r.kind == "write"]
    assert made == [("things", "ada", "http")], "and what was done to each graph"
    server.audit.records.clear()
    assert server.deploy("d", actor="bob").status_code == 403
    assert [(r.operation, r.outcome, r.actor) for r in server.audit.records] == [("cluster deploy", "denied", "bob")]


# ── what is refused ──────────────────────────────────────────────────────────────────────────────────────────────────────────

ASKED: list[tuple[str, str, Any]] = [
    ("POST", "/plan", {"deployment": {"files": FILES}}),
    ("POST", "/deployments", {"deployment_id": "d", "deployment": {"files": FILES}}),
    ("GET", "/deployments", None),
    ("GET", "/deployments/none", None),
]


@pytest.mark.parametrize(("method", "path", "body"), ASKED)
def test_who_may_and_who_may_not(server: Deployed, method: str, path: str, body: Any) -> None:
    before = server.cluster.state
    missing = server.ask(method, path, body, actor=None)
    assert (missing.status_code, missing.json()["code"]) == (401, "unauthorized")
    wrong = server.ask(method, path, body, actor=None, headers={"Authorization": "Bearer wrong"})
    assert wrong.status_code == 401
    denied = server.ask(method, path, body, actor="bob")
    assert (denied.status_code, denied.json()["code"]) == (403, "forbidden"), "a deployment that is not there, too"
    assert denied.json()["error"].startswith("policy denied action 'config_manage' for ")
    assert server.cluster.state == before
    assert not (server.cluster.folder / "__cluster/deployments").exists()


@pytest.mark.parametrize(("method", "path", "body"), ASKED)
def test_a_server_without_a_cluster(tmp_path: Path, method: str, path: str, body: Any) -> None:
    from tests.surfaces.http.conftest import people

    with serving(people(tmp_path)) as running:
        found = _of(running, method, path, body)
        assert (found.status_code, found.json()["code"], found.json()["condition"]) == (409, "conflict", "no_cluster")
        if method == "POST":
            assert _of(running, method, path, {"deployment": 1}).status_code == 400, "what is sent comes first"


def _of(running: Running, method: str, path: str, body: Any) -> httpx.Response:
    headers = {"Authorization": f"Bearer {TOKENS['ada']}"}
    return httpx.request(method, f"{running.url}/cluster{path}", json=body, headers=headers, verify=NO_CERTIFICATES)


@pytest.mark.parametrize(
    ("path", "body", "actor", "status"),
    [
        ("/plan", {}, "ada", 400),
        ("/plan", {"deployment": {"files": FILES}, "more": 1}, "ada", 400),
        ("/plan", {"deployment": {"files": {"../x": ""}}}, "ada", 400),
        ("/plan", {"deployment": {"files": {"x": 1}}}, "ada", 400),
        ("/plan", {}, "bob", 400),
        ("/plan", {}, None, 401),
        ("/deployments", {"deployment": {"files": FILES}}, "ada", 400),
        ("/deployments", {"deployment_id": "a/b", "deployment": {"files": FILES}}, "ada", 400),
        ("/deployments", {"deployment_id": "a/b", "deployment": {"files": FILES}}, "bob", 403),
        ("/deployments", {"deployment_id": "d", "deployment": {"files": {}, "root": "/"}}, "ada", 400),
        ("/deployments", {"deployment_id": "d", "deployment": {"files": {"x": "x" * (16 << 20)}}}, "ada", 413),
        ("/deployments", {"deployment_id": "d", "deployment": {"files": {"x": "x" * (16 << 20)}}}, "bob", 413),
        ("/deployments", [], "bob", 400),
        ("/deployments", {}, None, 401),
    ],
)
def test_requests_that_are_refused_and_what_comes_first(
    server: Deployed, path: str, body: Any, actor: str | None, status: int
) -> None:
    found = server.ask("POST", path, body, actor=actor)
    assert found.status_code == status, found.text[:300]
    assert found.json()["error"]


def test_a_body_says_what_it_is(server: Deployed) -> None:
    for path in ("plan", "deployments"):
        headers = {"Authorization": f"Bearer {TOKENS['ada']}", "Content-Type": "text/plain"}
        assert httpx.post(f"{server.url}/cluster/{path}", content=b"{}", headers=headers).status_code == 415
        assert httpx.put(f"{server.url}/cluster/{path}").status_code == 405
    assert server.ask("GET", "/deployments/a%2Fb").status_code == 400
    assert server.ask("GET", "/nothing").status_code == 404
    key = server.deploy("d", headers={"Idempotency-Key": "k"})
    assert (key.status_code, "takes no Idempotency-Key" in key.json()["error"]) == (400, True), "its id is its key"


def test_a_deployment_that_nobody_sent(server: Deployed) -> None:
    found = server.ask("GET", "/deployments/none")
    assert (found.status_code, found.json()["error"]) == (404, "deployment 'none' not found")


def test_an_id_that_stands_for_something_else(server: Deployed) -> None:
    assert server.deploy("d").status_code == 200
    found = server.deploy("d", {**FILES, "people.pg": MORE})
    assert (found.status_code, found.json()["code"], found.json()["condition"]) == (409, "conflict", "already_exists")
    assert found.json()["error"] == "deployment 'd' already exists"


def test_what_makes_no_sense_is_not_begun(server: Deployed) -> None:
    found = server.deploy("d", {**FILES, "people.pg": "node Person {"})
    assert (found.status_code, found.json()["code"], found.json()["condition"]) == (400, "bad_request", "deployment_refused")
    assert [d["code"] for d in found.json()["diagnostics"]] == ["schema_parse_error"]
    assert server.ask("GET", "/deployments/d").status_code == 404


WRONG: dict[str, dict[str, str]] = {
    "nothing": {},
    "no configuration": {"people.pg": PERSON},
    "another place": {**FILES, "cluster.yaml": f"storage: ./elsewhere\n{CONFIG}"},
    "a path of the disk": {**FILES, "cluster.yaml": CONFIG.replace("people.pg", "/etc/passwd")},
    "a graph that is not there": {**FILES, "people.pg": MORE},
    "a graph in the way": {**FILES, "cluster.yaml": TWO},
    "all is well": FILES,
}


@pytest.mark.parametrize("files", WRONG.values(), ids=WRONG.keys())
def test_nobody_is_told_where_the_cluster_lies(cluster: Cluster, files: dict[str, str]) -> None:
    """Neither in answers nor in errors, nor by what was written down before; and not by another name of the folder."""
    link = cluster.folder.parent / "link"
    link.symlink_to(cluster.folder)
    server = Deployed(Cluster(link))
    shutil.rmtree(cluster.folder / "graphs/people.omni")
    (cluster.folder / "graphs/things.omni").write_text("a file")
    try:
        answers = [
            server.plan(files),
            server.deploy("d", files),
            server.ask("GET", "/deployments/d"),
            server.ask("GET", "/deployments"),
        ]
        with unreadable("__cluster/state.json"):
            answers += [server.plan(files), server.deploy("e", files)]
    finally:
        server.close()
    for answer in answers:
        assert "error" in answer.json() or answer.status_code == 200, answer.text
        assert str(cluster.folder.parent) not in answer.text
    assert answers[0].json()["config_dir"] == "."


def test_a_lock_that_somebody_holds(server: Deployed) -> None:
    lock = server.cluster.lock()
    found = server.deploy("d")
    assert (found.status_code, found.json()["code"], found.json()["condition"]) == (409, "conflict", "deployment_refused")
    assert [d["code"] for d in found.json()["diagnostics"]] == ["state_lock_held"]
    assert lock.lock_id in found.json()["error"]


def test_a_storage_root_that_cannot_be_reached(server: Deployed) -> None:
    with unreadable("__cluster/state.json"):
        earlier, later = server.deploy("d"), server.deploy("d", headers=SAYS)
    assert (earlier.status_code, "code" in earlier.json(), earlier.json()["retryable"]) == (503, False, True)
    assert (later.status_code, later.json()["code"]) == (503, "service_unavailable")


def test_what_one_actor_has_under_way_is_bounded(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    server = Deployed(cluster, 0.05)
    monkeypatch.setattr(_Work, "run", lambda self: time.sleep(1.0))
    try:
        with server.application._admission._room("ada", 1), server.application._admission._room("ada", 1):
            full = server.deploy("d")
        assert (full.status_code, full.json()["code"], full.headers["retry-after"]) == (429, "too_many_requests", "60")
    finally:
        server.close()


@pytest.mark.slow
def test_every_worker_serves_what_was_deployed(cluster: Cluster) -> None:
    more = ("--cluster", str(cluster.folder), "--workers", "2")
    with serving(command="server", more=more, variables={"OMNIGRAPH_CONFIG_RELOAD": "0"}) as running:
        body = {"deployment_id": "d", "deployment": {"files": {**FILES, "cluster.yaml": TWO}}}
        found = _of(running, "POST", "/deployments", body)
        assert (found.status_code, found.json()["active"]) == (200, True), found.text
        deadline = time.monotonic() + 30
        while not all(_of(running, "GET", "/deployments/d", None).json()["active"] for _ in range(12)):
            assert time.monotonic() < deadline
            time.sleep(0.1)
