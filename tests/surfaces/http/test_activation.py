"""What a server serves is replaced while it serves: nobody is refused for it, and a failure changes nothing."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from tests.surfaces.http.conftest import NO_CERTIFICATES, people

import omnigraph as og
from omnigraph.policy.port import PermitAll
from omnigraph.service.open_graphs import OpenGraphs, Opening
from omnigraph.surfaces.http.application import Application
from omnigraph.surfaces.http.graphs import Registry, named_graphs
from omnigraph.surfaces.http.revisions import InUse, Revision

NAMES = "query names() { match { $p: Person } return { $p.name } }"
SERVE = "from omnigraph.surfaces.http.process.command import start; start()"


class Server:
    """A server whose tokens stand in a file."""

    def __init__(self, process: subprocess.Popen[str], url: str, tokens: Path, log: Path) -> None:
        self.process, self.url, self.tokens, self.log = process, url, tokens, log

    def names(self, **tokens: str) -> None:
        """Give it other tokens."""
        aside = self.tokens.with_suffix(".new")
        aside.write_text(json.dumps(tokens))
        aside.rename(self.tokens)

    def ask(self, method: str, path: str, token: str, body: object = None) -> httpx.Response:
        headers = {"Authorization": f"Bearer {token}"}
        return httpx.request(method, self.url + path, json=body, headers=headers, timeout=30, verify=NO_CERTIFICATES)

    def knows(self, token: str) -> bool:
        return self.ask("GET", "/graphs/people/branches", token).status_code == 200

    def workers(self) -> list[int]:
        found = subprocess.run(["pgrep", "-P", str(self.process.pid)], capture_output=True, text=True, check=True)
        return [int(pid) for pid in found.stdout.split()]


@contextmanager
def started(tmp_path: Path, *more: str, **variables: str) -> Iterator[Server]:
    """A server, and its log."""
    where = tmp_path / "people.omni"
    if not where.exists():
        people(tmp_path)
    tokens, log = tmp_path / "tokens.json", tmp_path / "log"
    environment = {k: v for k, v in os.environ.items() if not k.startswith("OMNIGRAPH_")} | variables
    environment["OMNIGRAPH_SERVER_BEARER_TOKENS_FILE"] = str(tokens)
    tokens.write_text(json.dumps({"ada": "t0"}))
    command = [sys.executable, "-c", SERVE, "--bind", "127.0.0.1:0", *more, str(where)]
    with (
        log.open("w") as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment) as process,
    ):
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, log.read_text()
        try:
            yield Server(process, "http://" + line.strip().partition("=")[2], tokens, log)
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(40) == 0, log.read_text()


def eventually(holds: Callable[[], bool], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_somebody_asks_for_it(tmp_path: Path) -> None:
    with started(tmp_path) as server:
        server.names(ada="t1")
        assert not server.knows("t1")
        found = server.ask("POST", "/admin/reload", "t0")
        expected = {"activated": True, "served_graph_count": 1, "quarantined_graph_count": 0, "quarantined": []}
        assert (found.status_code, found.json()) == (200, expected)
        assert (server.knows("t0"), server.knows("t1")) == (False, True)
        assert server.ask("POST", "/admin/reload", "t0").status_code == 401


def test_a_failure_changes_nothing_and_says_why(tmp_path: Path) -> None:
    with started(tmp_path) as server:
        server.tokens.write_text("{")
        found = server.ask("POST", "/admin/reload", "t0")
        assert (found.status_code, found.json()["code"], found.json()["condition"]) == (409, "conflict", "reload_failed")
        assert "not a JSON object" in found.json()["error"]
        assert server.knows("t0")
        ready = httpx.get(f"{server.url}/readyz")
        assert (ready.status_code, ready.json()["ready"], ready.json()["status"]) == (200, True, "degraded")
        assert ready.json()["reload_failure"]["codes"] == ["usage"]
        assert str(tmp_path) not in ready.text
        assert "stays as it is" in server.log.read_text()
        server.names(ada="t1")
        assert server.ask("POST", "/admin/reload", "t0").status_code == 200
        ready = httpx.get(f"{server.url}/readyz")
        assert (ready.json()["status"], "reload_failure" in ready.json()) == ("serving", False)
        counted = server.ask("GET", "/metrics", "t1").text
        assert re.search(r'omnigraph_reloads_total\{outcome="failed"\} 1', counted)


def test_it_looks_by_itself(tmp_path: Path) -> None:
    with started(tmp_path, OMNIGRAPH_CONFIG_RELOAD="0.1") as server:
        server.names(ada="t1")
        eventually(lambda: server.knows("t1"))
        server.tokens.write_text("{")
        eventually(lambda: "stays as it is" in server.log.read_text())
        time.sleep(0.5)
        assert server.log.read_text().count("stays as it is") == 1, "said once, not ten times a second"
        server.names(ada="t2")
        eventually(lambda: server.knows("t2"))


def test_every_worker_follows(tmp_path: Path) -> None:
    with started(tmp_path, "--workers", "3") as server:

        def everyone_knows(token: str) -> bool:
            return all(server.knows(token) for _ in range(12))

        server.names(ada="t1")
        assert server.ask("POST", "/admin/reload", "t0").status_code == 200
        eventually(lambda: everyone_knows("t1"))
        server.names(ada="t2")
        os.kill(server.workers()[0], signal.SIGKILL)  # the one that takes its place is told, too, as soon as it listens
        server.process.send_signal(signal.SIGHUP)
        eventually(lambda: everyone_knows("t2"))
        assert not server.knows("t1")


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_no_request_is_dropped(tmp_path: Path, workers: int) -> None:
    """Readers, writers and exporters go on while what is served is replaced dozens of times, by all three ways."""
    wrong: list[str] = []
    answered = [0]
    stop = threading.Event()
    with started(tmp_path, "--workers", str(workers), OMNIGRAPH_CONFIG_RELOAD="0.2") as server:
        server.names(ada="t0", bob="b0")
        eventually(lambda: server.knows("b0"))

        def ask(who: int) -> None:
            with httpx.Client(headers={"Authorization": "Bearer t0"}, timeout=30, verify=NO_CERTIFICATES) as client:
                number = 0
                while not stop.is_set():
                    number += 1
                    add = {"query": "query a($n: String) { insert Person { name: $n } }", "params": {"n": f"{who}-{number}"}}
                    path, body = [("query", {"query": NAMES}), ("mutate", add), ("export", {"branch": "main"})][
                        (who + number) % 3
                    ]
                    try:
                        found = client.post(f"{server.url}/graphs/people/{path}", json=body)
                        found.read()
                    except httpx.TransportError as error:
                        wrong.append(repr(error))
                        continue
                    busy = path == "export" and found.status_code == 413  # somebody else exports
                    if found.status_code != 200 and not busy:
                        wrong.append(f"{path} {found.status_code} {found.text[:200]}")
                    answered[0] += 1

        clients = [threading.Thread(target=ask, args=(n,)) for n in range(4)]
        for client in clients:
            client.start()
        for turn in range(36):
            server.names(ada="t0", bob=f"b{turn}")
            match turn % 3:
                case 0:
                    server.process.send_signal(signal.SIGHUP)
                case 1:
                    assert server.ask("POST", "/admin/reload", "t0").status_code == 200
                case 2:
                    time.sleep(0.3)  # it looks by itself
            time.sleep(0.05)
        eventually(lambda: all(server.knows("b35") for _ in range(6)))
        stop.set()
        for client in clients:
            client.join()
        log = server.log.read_text()
    assert not wrong, wrong[:5]
    assert answered[0] > 100
    assert "Traceback" not in log, log


# ── inside ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_graphs_are_shared_and_closed_with_the_last_who_holds_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    where = str(people(tmp_path))
    shared = OpenGraphs()
    one, other = shared.hold(Opening(where)), shared.hold(Opening(where))
    assert one is other
    assert shared.hold(Opening(where, read_only=True)) is not one
    closed: list[og.Graph] = []
    monkeypatch.setattr(og.Graph, "close", lambda graph: closed.append(graph))
    one.release()
    assert not closed
    other.release()
    assert closed == [one.graph]
    with pytest.raises(og.GraphError):
        shared.hold(Opening(str(tmp_path / "nothing.omni")))
    assert len(shared) == 1, "what could not be opened is not held"


def test_a_graph_that_was_made_again_is_another(tmp_path: Path) -> None:
    import shutil

    where = people(tmp_path)
    shared = OpenGraphs()
    before = shared.hold(Opening(str(where)))
    shutil.rmtree(where)
    og.init(where, schema="node Other { k: I64 @key }", durability="os").close()
    after = shared.hold(Opening(str(where)))
    assert after is not before
    assert after.graph.query("query o() { match { $o: Other } return { count($o) as n } }").one() == {"n": 0}
    before.release()
    assert shared.hold(Opening(str(where))) is after


def test_a_revision_is_let_go_of_with_its_last_request(tmp_path: Path) -> None:
    where = str(people(tmp_path))
    shared = OpenGraphs()

    def revision() -> Revision:
        return Revision(Registry.of(named_graphs([where]), shared), PermitAll())

    application = Application(revision())
    use: InUse = application._current
    use.take()
    closed: list[str] = []
    use._unused = lambda service: closed.append("closed")
    application.activate(revision())
    assert not closed
    use.leave()
    assert closed == ["closed"]
    application.close()


def test_a_registry_holds_nothing_if_one_graph_is_missing(tmp_path: Path) -> None:
    where = str(people(tmp_path))
    shared = OpenGraphs()
    with pytest.raises(og.GraphError):
        Registry.of(named_graphs([where, f"b={tmp_path}/nothing.omni"]), shared)
    assert len(shared) == 0
