"""A server of a cluster: when it serves, what it refuses, which graphs it leaves out, and how it follows what is applied."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import msgspec
import pytest
from tests.surfaces.http.clusters import ADMINS, COUNT, NAMES, SCHEMA, TEAM, Cluster, allowed
from tests.surfaces.http.conftest import NO_CERTIFICATES, TOKENS

import omnigraph as og
from omnigraph.cluster.serving.revision import ClusterNotReady
from omnigraph.errors import GraphError
from omnigraph.surfaces.http.process.clustered import ClusterGraphs
from omnigraph.surfaces.http.process.settings import Access, ServerSettings

WITH_TOKENS = {"OMNIGRAPH_SERVER_BEARER_TOKENS_JSON": json.dumps(TOKENS)}


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    """A graph `a` that team may change, a graph `b` without a policy."""
    made = Cluster(tmp_path / "cluster")
    made.graph("a", {"names": NAMES, "people": COUNT})
    made.graph("b")
    made.policy("team", TEAM, "graph.a")
    made.policy("admins", ADMINS, "cluster")
    made.apply()
    return made


def source(cluster: Cluster, environment: dict[str, str] | None = None, **settings: object) -> ClusterGraphs:
    given = ServerSettings(cluster=str(cluster.root), **settings)  # type: ignore[arg-type]
    return ClusterGraphs(given, WITH_TOKENS if environment is None else environment)


def refused(cluster: Cluster, **settings: bool) -> list[str]:
    with pytest.raises(ClusterNotReady) as raised:
        source(cluster, None, **settings).load()
    first, *lines = raised.value.message.split("\n")
    assert first == f"the cluster at '{cluster.root}' is not ready to serve:"
    assert all(line.startswith("[") and "] " in line and ": " in line for line in lines)
    return [d.code for d in raised.value.diagnostics]


# ── what refuses the whole ───────────────────────────────────────────────────────────────────────────────────────────────────


def _edited(cluster: Cluster) -> None:
    graph = msgspec.structs.replace(cluster.ledger.resources["graph.a"], external_blob_policy=allowed("s3://other/place"))
    resources = {**cluster.ledger.resources, "graph.a": graph}
    revision = msgspec.structs.replace(cluster.ledger.applied_revision, resources=resources)
    cluster.ledger = msgspec.structs.replace(cluster.ledger, applied_revision=revision)


def _without_profile(cluster: Cluster) -> None:
    address = cluster.provider("p", kind="mock")
    cluster.graph("a", embedding_provider=address)
    resource = msgspec.structs.replace(cluster.ledger.resources[address], embedding_profile=None)
    cluster.ledger = cluster.ledger.with_resource(address, resource)


def _changed_profile(cluster: Cluster) -> None:
    address = cluster.provider("p", kind="mock")
    cluster.graph("a", embedding_provider=address)
    cluster.ledger = cluster.ledger.with_resource(
        address, msgspec.structs.replace(cluster.ledger.resources[address], digest="0" * 64)
    )


def _without_provider(cluster: Cluster) -> None:
    cluster.graph("a", embedding_provider="provider.embedding.none")


def _empty(cluster: Cluster) -> None:
    for address in list(cluster.ledger.resources):
        cluster.without(address)


REFUSALS: dict[str, Callable[[Cluster], object]] = {
    "external_blob_policy_digest_mismatch": _edited,
    "embedding_provider_profile_missing": _without_profile,
    "embedding_provider_digest_mismatch": _changed_profile,
    "embedding_provider_missing": _without_provider,
    "catalog_payload_missing": lambda c: c.copy("policy.team").unlink(),
    "catalog_payload_digest_mismatch": lambda c: c.copy("query.a.names").write_text("other"),
    "policy_bindings_missing": lambda c: c.policy("loose", TEAM),
    "duplicate_policy_binding": lambda c: c.policy("more", TEAM, "graph.a"),
    "policy_invalid": lambda c: c.policy("team", "version: 2\n", "graph.a"),
    "cluster_empty": _empty,
}


@pytest.mark.parametrize("code", REFUSALS)
def test_trouble_of_the_whole_refuses_it(cluster: Cluster, code: str) -> None:
    REFUSALS[code](cluster)
    cluster.apply()
    assert code in refused(cluster)


@pytest.mark.parametrize(
    ("text", "code"),
    [(None, "cluster_state_missing"), ("{", "invalid_state_json"), ('{"version": 9}', "unsupported_state_version")],
)
def test_a_ledger_that_cannot_be_read_refuses_it(cluster: Cluster, text: str | None, code: str) -> None:
    state = cluster.root / "__cluster/state.json"
    if text is None:
        (cluster.root / "cluster.yaml").write_text("version: 1\ngraphs: { a: { schema: a.pg } }\n")
        state.unlink()
    else:
        state.write_text(text)
    assert refused(cluster) == [code]


def test_a_sidecar_of_nobody_refuses_it(cluster: Cluster) -> None:
    cluster.sidecar("a").write_text("{")
    assert refused(cluster) == ["cluster_recovery_unattributed"]


def test_policies_need_tokens(cluster: Cluster) -> None:
    with pytest.raises(GraphError, match="no tokens"):
        source(cluster, {}).load()
    with pytest.raises(GraphError, match="has policies"):
        source(cluster, {}, access=Access.OPEN).load()


# ── what costs one graph ─────────────────────────────────────────────────────────────────────────────────────────────────────


def _no_secret(cluster: Cluster) -> None:
    cluster.graph("b", embedding_provider=cluster.provider("p", kind="openai", api_key="${NO_SUCH_KEY}"))


def _unfit(cluster: Cluster) -> None:
    cluster.graph("b", {"names": NAMES.replace("$p.name", "$p.colour")})


def _unread(cluster: Cluster) -> None:
    cluster.graph("b", {"names": "query names( {"})


def _no_folder(cluster: Cluster) -> None:
    shutil.rmtree(cluster.root / "graphs/b.omni")


def _no_branches(cluster: Cluster, graph: str = "b") -> None:
    for file in (cluster.root / f"graphs/{graph}.omni/__refs").iterdir():
        file.unlink()


QUARANTINES: dict[str, Callable[[Cluster], object]] = {
    "cluster_recovery_pending": lambda c: c.sidecar("b"),
    "graph_missing": _no_folder,
    "graph_observation_error": _no_branches,
    "embedding_api_key_required": _no_secret,
    "query_typecheck_error": _unfit,
    "query_parse_error": _unread,
}


@pytest.mark.parametrize("code", QUARANTINES)
def test_trouble_of_one_graph_quarantines_it(cluster: Cluster, code: str, caplog: pytest.LogCaptureFixture) -> None:
    QUARANTINES[code](cluster)
    cluster.apply()
    revision = source(cluster).load()
    assert [(q.graph_id, q.code) for q in revision.quarantined] == [("b", code)]
    assert [g.id for g in revision.graphs] == ["a"]
    assert f"graph b is not served: [{code}]" in caplog.text
    assert refused(cluster, require_all_graphs=True) == [code]
    revision.graphs.close()


def test_no_graph_left_refuses_it(cluster: Cluster) -> None:
    for graph in ("a", "b"):
        _no_branches(cluster, graph)
    assert "cluster_no_healthy_graphs" in refused(cluster)


def test_what_a_graph_is_opened_with(cluster: Cluster) -> None:
    cluster.graph(
        "b",
        embedding_provider=cluster.provider("p", kind="mock", model="m", api_key="${K}"),
        external_blob_policy=allowed("s3://media/approved", "file:///data"),
    )
    cluster.apply()
    revision = source(cluster, {**WITH_TOKENS, "K": "secret"}).load()
    found = revision.graphs.find("b")
    assert found is not None
    graph = revision.graphs.open(found.ref)
    assert getattr(graph.embedder, "model", None) == "m"
    assert [base.uri for base in graph.external_blobs.bases] == ["s3://media/approved"], "no folder of this machine"
    revision.graphs.close()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "Give the graphs to serve, or --cluster"),
        (("g.omni", "--cluster", "c"), "exclude each other"),
        (("--cluster", "c", "--policy", "p.yaml"), "has its own policies"),
        (("g.omni", "--require-all-graphs"), "of a --cluster"),
    ],
)
def test_what_does_not_fit_together(arguments: tuple[str, ...], said: str) -> None:
    from click.testing import CliRunner

    from omnigraph.surfaces.http.process.command import server

    done = CliRunner().invoke(server, arguments, env={"OMNIGRAPH_CLUSTER": ""})
    assert (done.exit_code, said in done.output) == (2, True), done.output


# ── while it serves ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_an_apply_under_way_takes_no_graph_away(cluster: Cluster) -> None:
    """The notes of an apply are there from before a graph is touched until after the ledger says so."""
    graphs = source(cluster)
    before = graphs.load()
    note = cluster.sidecar("a")
    cluster.apply()
    with pytest.raises(ClusterNotReady) as raised:
        graphs.load(before)
    assert [d.code for d in raised.value.diagnostics] == ["cluster_recovery_pending"]
    threading.Timer(0.5, note.unlink).start()
    after = graphs.load(before)
    assert [g.id for g in after.graphs] == ["a", "b"]
    assert after.graphs.open(next(iter(after.graphs)).ref) is before.graphs.open(next(iter(before.graphs)).ref)


class Server:
    """A server of a cluster, its log, and somebody who asks it."""

    def __init__(self, process: subprocess.Popen[str], url: str, log: Path) -> None:
        self.process, self.url, self.log = process, url, log

    def ask(self, path: str, actor: str = "ada", method: str = "GET", body: object = None) -> httpx.Response:
        headers = {"Authorization": f"Bearer {TOKENS[actor]}"}
        return httpx.request(method, self.url + path, json=body, headers=headers, timeout=30, verify=NO_CERTIFICATES)

    def graphs(self) -> list[str]:
        return [g["graph_id"] for g in self.ask("/graphs").json()["graphs"]]

    def ready(self) -> dict[str, object]:
        found: dict[str, object] = httpx.get(f"{self.url}/readyz", verify=NO_CERTIFICATES).json()
        return found


@contextmanager
def started(cluster: Cluster, log: Path, *more: str, **variables: str) -> Iterator[Server]:
    program = "from omnigraph.surfaces.http.process.command import main; main()"
    environment = {k: v for k, v in os.environ.items() if not k.startswith("OMNIGRAPH_")} | WITH_TOKENS | variables
    command = [sys.executable, "-c", program, "--bind", "127.0.0.1:0", *more]
    if "OMNIGRAPH_CLUSTER" not in variables:
        command += ["--cluster", str(cluster.root)]
    with (
        log.open("w") as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment) as p,
    ):
        assert p.stdout is not None
        line = p.stdout.readline()
        assert line, log.read_text()
        try:
            yield Server(p, "http://" + line.strip().partition("=")[2], log)
        finally:
            p.send_signal(signal.SIGTERM)
            assert p.wait(40) == 0, log.read_text()


def eventually(holds: Callable[[], bool], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_cluster_is_served_as_it_was_applied(cluster: Cluster, tmp_path: Path) -> None:
    cluster.sidecar("b")
    with started(cluster, tmp_path / "log", OMNIGRAPH_CLUSTER=str(cluster.root), OMNIGRAPH_CONFIG_RELOAD="0") as server:
        assert server.graphs() == ["a"]
        assert server.ask("/graphs", "bob").status_code == 403
        ready = server.ready()
        counts = {"served_graph_count": 1, "quarantined_graph_count": 1}
        assert {**ready, **counts, "ready": True, "status": "degraded", "state_revision": 1} == ready
        assert str(ready["state_cas"]).startswith("sha256:")
        assert len(str(ready["booted_serving_digest"])) == 64
        missing = server.ask("/graphs/b/snapshot")
        assert (missing.status_code, missing.json()["error"]) == (404, "graph 'b' not found")
        change = {"query": "query x() { insert Person { name: 'x' } }".replace("'", '"')}
        assert server.ask("/graphs/a/mutate", "bob", "POST", change).status_code == 403
        assert server.ask("/graphs/a/mutate", "ada", "POST", change).status_code == 200
        listed = server.ask("/graphs/a/queries", "bob").json()["queries"]
        assert [query["name"] for query in listed] == ["names", "people"]
        invoked = server.ask("/graphs/a/queries/people", "bob", "POST", {})
        assert (invoked.status_code, invoked.json()["rows"]) == (200, [{"n": 3}])
        discovered = {actor: server.ask("/graphs/discovery", actor).json() for actor in ("ada", "bob")}
        assert discovered == {actor: {"graphs": [{"graph_id": "a"}]} for actor in ("ada", "bob")}, (
            "whoever may list graphs or not"
        )
        assert httpx.get(f"{server.url}/graphs/discovery").status_code == 401
        schema = {"schema_source": "node Person { name: String @key }"}
        assert httpx.post(f"{server.url}/graphs/a/schema/apply", json=schema).status_code == 401
        assert server.ask("/graphs/a/schema/apply", "bob", "POST", schema).status_code == 403
        managed = server.ask("/graphs/a/schema/apply", "ada", "POST", schema)
        assert (managed.status_code, managed.json()["code"]) == (409, "conflict")
        assert "cluster apply" in managed.json()["hint"]
        assert "graph b is not served: [cluster_recovery_pending]" in server.log.read_text()


def test_a_branch_gets_the_schema_that_was_applied_and_no_other(cluster: Cluster, tmp_path: Path) -> None:
    more = SCHEMA.replace("age: I32?", "age: I32?  city: String?")
    with og.open(cluster.root / "graphs/a.omni") as g:
        g.branches.create("agent")
        g.apply_schema(more)
    cluster.schema("a", more)
    cluster.apply()
    with started(cluster, tmp_path / "log", OMNIGRAPH_CLUSTER=str(cluster.root), OMNIGRAPH_CONFIG_RELOAD="0") as server:

        def apply(actor: str = "ada", **body: object) -> httpx.Response:
            return server.ask("/graphs/a/schema/apply", actor, "POST", body)

        assert apply("bob", schema_source=more, branch="agent").status_code == 403
        for wrong in (
            {"schema_source": more},
            {"schema_source": SCHEMA, "branch": "agent"},
            {"schema_source": more.replace("city", "town"), "branch": "agent"},
            {"schema_source": more, "branch": "agent", "also": ["main"]},
            {"schema_source": more, "branch": "agent", "allow_data_loss": True},
        ):
            found = apply(**wrong)
            assert (found.status_code, found.json()["code"]) == (409, "conflict"), wrong
        done = apply(schema_source=f"// the same\n{more}", branch="agent")
        assert (done.status_code, done.json()["step_count"]) == (200, 1)
        merged = server.ask("/graphs/a/branches/merge", "ada", "POST", {"source": "agent", "target": "main"})
        assert merged.status_code == 403, "nobody was given that right"
    with og.open(cluster.root / "graphs/a.omni", read_only=True) as g:
        assert g.schema(branch="agent") == more == g.schema()


def test_a_cluster_that_is_not_ready_says_why_and_ends(cluster: Cluster, tmp_path: Path) -> None:
    cluster.copy("policy.team").unlink()
    program = "from omnigraph.surfaces.http.process.command import main; main()"
    for workers in ("1", "2"):
        command = [sys.executable, "-c", program, "--bind", "127.0.0.1:0", "--workers", workers, "--cluster", str(cluster.root)]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=120, env={**os.environ, **WITH_TOKENS}, check=False
        )
        assert done.returncode == 1
        assert f"the cluster at '{cluster.root}' is not ready to serve:" in done.stderr
        assert "[catalog_payload_missing] policy.team: " in done.stderr
        assert "OMNIGRAPH_LISTEN_ADDR" not in done.stdout


@pytest.mark.slow
def test_what_is_applied_is_followed_by_all_three_ways(cluster: Cluster, tmp_path: Path) -> None:
    """Somebody keeps asking graph `a` of two workers, while graphs come and go, a policy changes, and a revision is broken."""
    wrong: list[str] = []
    answered = [0]
    stop = threading.Event()
    with started(cluster, tmp_path / "log", "--workers", "2", OMNIGRAPH_CONFIG_RELOAD="0.3") as server:

        def ask() -> None:
            with httpx.Client(headers={"Authorization": f"Bearer {TOKENS['bob']}"}, timeout=30, verify=NO_CERTIFICATES) as client:
                while not stop.is_set():
                    try:
                        found = client.post(f"{server.url}/graphs/a/query", json={"query": NAMES})
                    except httpx.TransportError as error:
                        wrong.append(repr(error))
                        continue
                    answered[0] += 1
                    if found.status_code != 200:
                        wrong.append(f"{found.status_code} {found.text[:200]}")

        clients = [threading.Thread(target=ask) for _ in range(2)]
        for client in clients:
            client.start()
        try:
            cluster.graph("c")
            cluster.apply()  # it looks by itself
            eventually(lambda: all(server.graphs() == ["a", "b", "c"] for _ in range(6)))
            cluster.without("graph.b")
            cluster.without("schema.b")
            cluster.apply()
            assert server.ask("/admin/reload", "bob", "POST").status_code == 403
            done = server.ask("/admin/reload", "ada", "POST")
            assert (done.status_code, done.json()["state_revision"], done.json()["served_graph_count"]) == (200, 3, 2)
            eventually(lambda: all(server.graphs() == ["a", "c"] for _ in range(6)))
            cluster.policy("admins", ADMINS.replace("[ada]", "[ada, bob]"), "cluster")
            cluster.apply()
            server.process.send_signal(signal.SIGHUP)
            eventually(lambda: all(server.ask("/graphs", "bob").status_code == 200 for _ in range(6)))

            kept = cluster.ledger
            cluster.policy("team", "version: 2\n", "graph.a")  # a revision that cannot be served
            cluster.apply()
            failed = server.ask("/admin/reload", "ada", "POST")
            assert (failed.status_code, failed.json()["condition"]) == (409, "reload_failed")
            assert "[policy_invalid] policy.team: " in failed.json()["error"]
            eventually(lambda: all(server.ready().get("reload_failure") is not None for _ in range(12)))  # of each worker
            ready = server.ready()
            assert (ready["status"], ready["state_revision"]) == ("degraded", 4)
            assert server.graphs() == ["a", "c"]
            cluster.ledger = msgspec.structs.replace(kept, state_revision=cluster.ledger.state_revision)
            cluster.apply()
            eventually(lambda: all(server.ready()["state_revision"] == 6 for _ in range(12)))
            eventually(lambda: all(server.ready()["status"] == "serving" for _ in range(12)))
        finally:
            stop.set()
            for client in clients:
                client.join()
        log = server.log.read_text()
    assert not wrong, wrong[:5]
    assert answered[0] > 50
    assert "Traceback" not in log, log
