"""The process: who may do what, how it starts, stops and survives."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import httpx
import pytest
from tests.surfaces.http.conftest import NO_CERTIFICATES, TOKENS, people, serving

import omnigraph as og

NAMES = "query names() { match { $p: Person } return { $p.name } }"
ADD = "query add($n: String) { insert Person { name: $n } }"


def test_tokens_without_a_policy_are_for_reading(tmp_path: Path) -> None:
    with serving(people(tmp_path), command="server") as running, running.client() as ada:
        assert ada.post("/query", json={"query": NAMES}).status_code == 200
        for method, path, body in (
            ("POST", "/mutate", {"query": ADD, "params": {"n": "x"}}),
            ("POST", "/branches", {"name": "b"}),
            ("POST", "/branches/merge", {"source": "main"}),
            ("DELETE", "/branches/b", None),
            ("POST", "/schema/apply", {"schema_source": ""}),
            ("POST", "/load", {"data": ""}),
            ("POST", "/export", {}),
            ("POST", "/changes/baseline", {}),
            ("GET", running.url + "/graphs", None),
        ):
            found = ada.request(method, path, json=body)
            assert (found.status_code, found.json()["code"]) == (403, "forbidden"), path
        assert ada.get("/branches").json() == {"branches": ["main"]}
        late = ada.post("/load/ndjson", content=b"x" * (33 << 20), headers={"Content-Type": "application/x-ndjson"})
        assert late.status_code == 403


def test_without_tokens_everything_of_a_graph_is_open(tmp_path: Path) -> None:
    where = people(tmp_path)
    with serving(where, command="server", more=("--unauthenticated",), tokens={}) as running, running.client(None) as anybody:
        done = anybody.post("/mutate", json={"query": ADD, "params": {"n": "x"}})
        assert done.json()["actor_id"] is None
        assert httpx.get(f"{running.url}/graphs").status_code == 403
        assert "securitySchemes" not in httpx.get(f"{running.url}/openapi.json").json()["components"]


def test_a_server_without_tokens_does_not_start_by_mistake(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="no tokens are configured"), serving(people(tmp_path), command="server", tokens={}):
        pass


def test_serve_makes_a_token_and_shows_it_once(tmp_path: Path) -> None:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("OMNIGRAPH_")}
    command = [sys.executable, "-m", "omnigraph", "serve", "--bind", "127.0.0.1:0", str(people(tmp_path))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        token = process.stderr.readline().removeprefix("token (shown once): ").strip()
        url = "http://" + process.stdout.readline().partition("=")[2].strip()
        found = httpx.get(f"{url}/graphs", headers={"Authorization": f"Bearer {token}"})
        assert [g["graph_id"] for g in found.json()["graphs"]] == ["people"]
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0


def test_tokens_are_read_again(tmp_path: Path) -> None:
    file = tmp_path / "tokens.json"
    file.write_text(json.dumps({"ada": "old"}))
    environment = {k: v for k, v in os.environ.items() if not k.startswith("OMNIGRAPH_")}
    environment["OMNIGRAPH_SERVER_BEARER_TOKENS_FILE"] = str(file)
    program = "from omnigraph.surfaces.http.process.command import main; main()"
    command = [sys.executable, "-c", program, "--bind", "127.0.0.1:0", str(people(tmp_path))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment) as process:
        assert process.stdout is not None
        url = "http://" + process.stdout.readline().partition("=")[2].strip()

        def status(token: str) -> int:
            return httpx.get(f"{url}/graphs/people/snapshot", headers={"Authorization": f"Bearer {token}"}).status_code

        assert (status("old"), status("new")) == (200, 401)
        file.write_text("{")
        process.send_signal(signal.SIGHUP)
        time.sleep(0.3)
        assert status("old") == 200
        file.write_text(json.dumps({"ada": "new"}))
        process.send_signal(signal.SIGHUP)
        deadline = time.monotonic() + 10
        while status("new") != 200:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert status("old") == 401
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0


@pytest.mark.parametrize("tokens", ['{"a": "x", "a": "y"}', '{"a": "x", "b": "x"}', '{"a": " "}', '{" ": "x"}', "[]", '{"a": 1}'])
def test_tokens_that_are_none(tokens: str) -> None:
    from omnigraph.surfaces.http.tokens import INLINE, Tokens

    with pytest.raises(og.GraphError) as raised:
        Tokens.from_environment({INLINE: tokens})
    assert raised.value.code == "usage"


@pytest.mark.slow
def test_workers_survive_each_other(tmp_path: Path) -> None:
    """Clients write through two workers while one after the other is killed: what was acknowledged is there, once."""
    where = people(tmp_path)
    acknowledged: list[str] = []
    stop = threading.Event()
    with serving(where, more=("--workers", "2", "--log-format", "json")) as running:

        def write(who: int) -> None:
            number = 0
            while not stop.wait(0.01):  # in turn with those who start again
                number += 1
                name = f"{who}-{number}"
                try:
                    with running.client() as client:
                        done = client.post("/mutate", json={"query": ADD, "params": {"n": name}})
                    if done.status_code == 200:
                        acknowledged.append(name)
                except httpx.TransportError:
                    pass

        writers = [threading.Thread(target=write, args=(n,)) for n in range(4)]
        for writer in writers:
            writer.start()
        for _ in range(3):
            time.sleep(1.5)
            children = subprocess.run(["pgrep", "-P", str(running.process.pid)], capture_output=True, text=True).stdout.split()
            os.kill(int(children[0]), signal.SIGKILL)
        time.sleep(2)
        stop.set()
        for writer in writers:
            writer.join()
        with running.client() as client:
            assert client.post("/query", json={"query": NAMES}).status_code == 200
    found = [row["p.name"] for row in og.open(where).query(NAMES)]
    assert len(found) == len(set(found))
    assert len(acknowledged) > 10
    assert set(acknowledged) <= set(found)


@pytest.mark.slow
def test_a_killed_server_has_kept_what_it_acknowledged(tmp_path: Path) -> None:
    """The whole server ends in the middle of writes: each client is told so, and whether it may just try again."""
    where = people(tmp_path)
    acknowledged: list[str] = []
    told: list[og.GraphError] = []
    for turn in range(3):
        with serving(where) as running:

            def write(who: str, url: str) -> None:
                with og.connect(url, graph="people", token=TOKENS["ada"]) as graph:
                    for number in range(1_000_000):
                        try:
                            graph.mutate(ADD, {"n": f"{who}-{number}"})
                        except og.GraphError as error:
                            told.append(error)
                            return
                        acknowledged.append(f"{who}-{number}")

            writers = [threading.Thread(target=write, args=(f"{turn}-{n}", running.url)) for n in range(4)]
            for writer in writers:
                writer.start()
            time.sleep(2)
            os.kill(running.process.pid, signal.SIGKILL)
            for writer in writers:
                writer.join(30)
    assert len(told) == 12
    assert all(error.retryable or "may have been made or not" in error.message for error in told), told
    with og.open(where) as graph:
        found = [row["p.name"] for row in graph.query(NAMES)]
        assert len(found) == len(set(found))
        assert len(acknowledged) > 10
        assert set(acknowledged) <= set(found)
        assert len(found) <= len(acknowledged) + 2 + len(told), "what was not acknowledged is there or not, once"
        assert graph.verify(deep=True).ok


def test_stopping_lets_requests_end(tmp_path: Path) -> None:
    where = people(tmp_path)
    answers: list[int] = []
    with serving(where) as running:
        lines = "".join(json.dumps({"type": "Person", "data": {"name": f"p{n}"}}) + "\n" for n in range(20_000))

        def load() -> None:
            with running.client() as client:
                kind = {"Content-Type": "application/x-ndjson"}
                answers.append(client.post("/load/ndjson", content=lines, headers=kind).status_code)

        loading = threading.Thread(target=load)
        loading.start()
        time.sleep(0.15)
        running.process.send_signal(signal.SIGTERM)
        loading.join()
        running.process.wait(30)
        assert running.process.returncode == 0
    assert answers == [200]
    assert og.open(where).query("query c() { match { $p: Person } return { count($p) as n } }").one() == {"n": 20_002}


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_nobody_waits_for_a_server_that_drains(workers: int, tmp_path: Path) -> None:
    """Who connects while the last requests end is refused, or told, and does not wait until it has ended."""
    line = json.dumps({"type": "Person", "data": {"name": "late"}}).encode()
    with serving(people(tmp_path), more=("--workers", str(workers))) as running:
        host, port = running.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), 30) as loading:
            head = f"POST /graphs/people/load/ndjson?mode=merge HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKENS['ada']}\r\n"
            kind = f"Content-Type: application/x-ndjson\r\nContent-Length: {len(line)}\r\n\r\n"
            loading.sendall((head + kind).encode() + line[:10])
            time.sleep(0.3)
            running.process.send_signal(signal.SIGTERM)
            time.sleep(0.7)
            for _ in range(10):
                begun = time.monotonic()
                try:
                    assert httpx.get(f"{running.url}/readyz", timeout=10, verify=NO_CERTIFICATES).status_code == 503
                except httpx.TimeoutException:
                    pytest.fail("it waited")
                except httpx.TransportError:  # refused
                    pass
                assert time.monotonic() - begun < 2
                time.sleep(0.05)
            loading.sendall(line[10:])
            assert loading.recv(1 << 16).startswith(b"HTTP/1.1 200")
        assert running.process.wait(60) == 0


def test_workers_end_with_the_first_process(tmp_path: Path) -> None:
    """However it ends: nobody is left who holds the port, and takes tokens that are none any more."""
    with serving(people(tmp_path), more=("--workers", "2")) as running:
        host, port = running.url.removeprefix("http://").split(":")
        running.process.kill()
        running.process.wait()
        deadline = time.monotonic() + 20
        while True:
            try:
                socket.create_connection((host, int(port)), 5).close()
            except ConnectionRefusedError:
                return
            assert time.monotonic() < deadline, "workers are still there"
            time.sleep(0.1)


def worked(pid: int) -> float:
    """Seconds that a process has worked."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_a_client_that_goes_cancels_its_read(tmp_path: Path) -> None:
    """A read that takes a minute, left after a moment: the thread it ran in is free for the next."""
    graph = og.init(tmp_path / "many.omni", schema="node N { k: I64 @key }", durability="os")
    graph.load([{"type": "N", "data": {"k": n}} for n in range(3_000)])
    graph.close()
    text = "query q() { match { $a: N  $b: N  $c: N } return { count($a) as n } }"
    with serving(tmp_path / "many.omni") as running:
        for _ in range(8):
            with (
                httpx.Client(headers={"Authorization": f"Bearer {TOKENS['ada']}"}, verify=NO_CERTIFICATES) as client,
                pytest.raises(httpx.TimeoutException),
            ):
                client.post(f"{running.url}/graphs/many/query", json={"query": text}, timeout=0.3)
            left = worked(running.process.pid)
            time.sleep(0.5)
            assert worked(running.process.pid) - left < 0.1 + 0.05  # by the clock of the process, whatever else runs here
        begun = time.monotonic()
        with running.client(graph="many") as client:
            found = client.post("/query", json={"query": "query q() { match { $a: N { k: 7 } } return { $a.k } }"})
        assert found.status_code == 200
        assert time.monotonic() - begun < 5


def test_a_server_that_only_shows(tmp_path: Path) -> None:
    with serving(people(tmp_path), more=("--read-only",)) as running, running.client() as ada:
        assert ada.post("/query", json={"query": NAMES}).status_code == 200
        assert ada.post("/export", json={}).status_code == 200
        found = ada.post("/mutate", json={"query": ADD, "params": {"n": "x"}})
        assert (found.status_code, found.json()["code"]) == (403, "forbidden")
        assert "read-only" in found.json()["error"]
