"""Requests that nobody sends by mistake: each gets a typed answer or a closed connection, and the server goes on as before."""

from __future__ import annotations

import json
import re
import socket
import ssl
import statistics
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
from tests.surfaces.http.conftest import TOKENS, Running, people, serving

from omnigraph.surfaces.http.describing.parameters import KEYLESS, REPEATABLE
from omnigraph.surfaces.http.routes import ROUTES

AUTH = f"Authorization: Bearer {TOKENS['ada']}\r\n"
JSON = "Content-Type: application/json\r\n"
READ = json.dumps({"query": "query q() { match { $p: Person } return { $p.name } }"}).encode()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server of its own, with a log that is looked at afterwards."""
    folder = tmp_path_factory.mktemp("hostile")
    with serving(people(folder), more=("--access-log", "--log-format", "json")) as running:
        yield running
    logged = "".join(running.log)
    assert logged, "requests are logged"
    assert "Traceback" not in logged
    for secret in (*TOKENS.values(), "guess-", str(folder)):
        assert secret not in logged, "neither tokens nor places are logged"


def ask(server: Running, data: bytes, *, patience: float = 10.0) -> tuple[int, bytes]:
    """Send bytes as they are; the status (0: the connection was closed without an answer) and what followed."""
    host, port = server.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), patience) as client:
        try:
            client.sendall(data)
            answer = b""
            while b"\r\n\r\n" not in answer and (part := client.recv(1 << 16)):
                answer += part
            length = re.search(rb"content-length: (\d+)", answer.lower())
            head, _, body = answer.partition(b"\r\n\r\n")
            while length is not None and len(body) < int(length[1]) and (part := client.recv(1 << 16)):
                body += part
        except (ConnectionResetError, BrokenPipeError):
            return 0, b""
    return (int(head.split()[1]) if head else 0), body


def post(body: bytes, path: str = "/graphs/people/query", more: str = "", kind: str = JSON, length: int | None = None) -> bytes:
    size = len(body) if length is None else length
    return f"POST {path} HTTP/1.1\r\nHost: x\r\n{AUTH}{kind}Content-Length: {size}\r\n{more}\r\n".encode("latin-1") + body


def get(path: str, more: str = AUTH) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: x\r\n{more}\r\n".encode("latin-1")


DEEP = b'{"query": "q", "params": {"x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}}"
HOSTILE: dict[str, tuple[bytes, set[int]]] = {
    "two lengths": (post(READ, more="Content-Length: 3\r\n"), {0, 400}),
    "a length and chunks": (post(b"0\r\n\r\nGET /graphs HTTP/1.1\r\n\r\n", more="Transfer-Encoding: chunked\r\n"), {0, 400}),
    "chunks of a strange coding": (post(READ, more="Transfer-Encoding: xchunked\r\n", length=0), {0, 400}),
    "a negative length": (post(READ, length=-1), {0, 400}),
    "a length of letters": (post(READ).replace(b"Content-Length: ", b"Content-Length: x"), {0, 400}),
    "a huge length": (post(READ, length=1 << 40), {413}),
    "a folded header": (get("/graphs", AUTH + " folded\r\n"), {0, 200, 400, 401}),
    "a header of a megabyte": (get("/graphs", AUTH + "X: " + "a" * (1 << 20) + "\r\n"), {0, 400, 431}),
    "ten thousand headers": (get("/graphs", AUTH + "".join(f"X{n}: y\r\n" for n in range(10_000))), {0, 200, 400, 431}),
    "a header with a line break": (get("/graphs", AUTH + "X-Request-Id: a\rb\r\n"), {0, 200, 400}),
    "two tokens": (get("/graphs", AUTH + AUTH.replace("ada", "bob")), {401}),
    "a token with control characters": (get("/graphs", "Authorization: Bearer \x01\x02\r\n"), {0, 400, 401}),
    "a token of a megabyte": (get("/graphs", f"Authorization: Bearer {'a' * (1 << 20)}\r\n"), {0, 400, 401, 431}),
    "a method of nobody": (f"STEAL /graphs HTTP/1.1\r\nHost: x\r\n{AUTH}\r\n".encode(), {0, 400, 405}),
    "HTTP of the future": (b"GET /graphs HTTP/9.9\r\nHost: x\r\n\r\n", {0, 400, 401, 505}),
    "TLS on a plain port": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", {0, 400}),
    "up the folders": (get("/graphs/..%2f..%2f..%2fetc%2fpasswd/schema"), {400, 404}),
    "up the folders, plainly": (get("/graphs/../../../etc/passwd"), {400, 404}),
    "a graph of zeros": (get("/graphs/%00/schema"), {400, 404}),
    "a path that is not UTF-8": (get("/graphs/people/branches/%ff%fe"), {400, 404, 405}),
    "a path of a megabyte": (get("/graphs/" + "a" * (1 << 20)), {0, 400, 404, 414, 431}),
    "another host in the path": (get("http://evil.example/graphs"), {200, 400, 404}),
    "a query string without end": (get("/graphs/people/commits?" + "a=b&" * 5_000), {0, 200, 400, 414, 431}),
    "a limit that is no number": (get("/graphs/people/commits?limit=-1"), {400}),
    "a limit of many digits": (get("/graphs/people/commits?limit=" + "9" * 5_000), {400}),
    "deep JSON": (post(DEEP), {400}),
    "a member twice": (post(b'{"query": "a", "query": "b"}'), {400}),
    "not UTF-8": (post(b'{"query": "\xff\xfe"}'), {400}),
    "half a pair": (post(b'{"query": "\\ud800"}'), {400}),
    "no JSON at all": (post(b"\x00" * 100), {400}),
    "NaN": (post(b'{"query": "q", "params": {"x": NaN}}'), {400}),
    "a number of a million digits": (post(b'{"query": "q", "params": {"x": ' + b"9" * 900_000 + b"}}"), {400, 413}),
    "a body of another kind": (post(READ, kind="Content-Type: text/xml\r\n"), {415}),
    "a query without end": (post(json.dumps({"query": "query q() { match { " * 20_000}).encode()), {400, 413}),
    "a name of control characters": (post(json.dumps({"name": "\x1b[31m\x00\u202e"}).encode(), "/graphs/people/branches"), {400}),
    "a name above the graph": (post(json.dumps({"name": "../../up"}).encode(), "/graphs/people/branches"), {400}),
    "a blob of nowhere": (get("/graphs/people/blob?entity=node&type=Person&id=..%2F..&property=photo"), {400, 404}),
    "a range of nothing": (
        get("/graphs/people/blob?entity=node&type=Person&id=Bob&property=photo", AUTH + "Range: bytes=9-1\r\n"),
        {200, 400, 404, 416},
    ),
    "ranges without number": (
        get(
            "/graphs/people/blob?entity=node&type=Person&id=Bob&property=photo",
            AUTH + "Range: bytes=" + "0-1," * 5_000 + "0-1\r\n",
        ),
        {0, 200, 206, 400, 404, 416, 431},
    ),
}


def resident(server: Running) -> float:
    pages = int(Path(f"/proc/{server.process.pid}/statm").read_text().split()[1])
    return pages * 4096 / 1e6


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_requests(server: Running, name: str) -> None:
    data, expected = HOSTILE[name]
    before = resident(server)
    status, body = ask(server, data)
    assert status in expected, body[:300]
    if status >= 400:
        assert b"Traceback" not in body
        assert b"site-packages" not in body
        assert b"/tests/" not in body
        if body.startswith(b"{"):
            assert json.loads(body)["error"]
    assert resident(server) < before + 60, "memory is bounded"
    with server.client() as client:
        assert client.post("/query", content=READ, headers={"Content-Type": "application/json"}).status_code == 200


def test_chunks_without_end_are_cut_off(server: Running) -> None:
    host, port = server.url.removeprefix("http://").split(":")
    head = f"POST /graphs/people/query HTTP/1.1\r\nHost: x\r\n{AUTH}{JSON}Transfer-Encoding: chunked\r\n\r\n".encode()
    sent = 0
    with socket.create_connection((host, int(port)), 10) as client:
        client.sendall(head)
        part = b"10000\r\n" + b" " * 65_536 + b"\r\n"
        try:
            while sent < 1 << 26:
                client.sendall(part)
                sent += 65_536
                client.settimeout(0.001)
                try:
                    answer = client.recv(1 << 16)
                    break
                except TimeoutError:
                    client.settimeout(10)
        except (ConnectionResetError, BrokenPipeError):
            answer = b""
    assert sent < 1 << 26
    assert answer == b"" or b" 413 " in answer.split(b"\r\n")[0]


OPEN = {"/healthz", "/readyz", "/openapi.json", "/docs", "/.well-known/oauth-protected-resource"}


def test_every_route_asks_for_a_token_but_those_that_say_nothing(server: Running) -> None:
    for route in ROUTES:
        path = re.sub(r"\{\w+\}", "x", route.path.replace("{graph_id}", "people"))
        status = httpx.request(route.method, server.url + path, timeout=20).status_code
        assert (status == 401) is (route.path not in OPEN), (route.method, route.path, status)
        assert route.open is (route.path in OPEN)


def test_guesses_by_the_thousand(server: Running) -> None:
    with httpx.Client(base_url=server.url, timeout=20) as client:
        for number in range(1_000):
            assert client.get("/graphs", headers={"Authorization": f"Bearer guess-{number}"}).status_code == 401
        assert client.get("/graphs", headers={"Authorization": f"Bearer {TOKENS['ada']}"}).status_code == 200


def test_how_long_a_refusal_takes_does_not_depend_on_how_near_a_token_is() -> None:
    from omnigraph.surfaces.http.tokens import Tokens, Unauthorized

    known = Tokens.of([(f"actor-{n}", f"{n:04d}" + "s" * 60) for n in range(50)])
    near, far = b"Bearer 0000" + b"s" * 59 + b"t", b"Bearer " + b"x" * 64
    times: dict[bytes, list[float]] = {near: [], far: []}
    for _ in range(3_000):
        for header, taken in times.items():
            begun = time.perf_counter_ns()
            with pytest.raises(Unauthorized):
                known.actor_of([header])
            taken.append(time.perf_counter_ns() - begun)
    assert 0.8 < statistics.median(times[near]) / statistics.median(times[far]) < 1.25


def certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate for this machine, and its key."""
    import ipaddress

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    (folder / "cert.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    (folder / "key.pem").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return folder / "cert.pem", folder / "key.pem"


def test_over_tls(tmp_path: Path) -> None:
    certificate_, key = certificate(tmp_path)
    with serving(people(tmp_path), more=("--tls-cert", str(certificate_), "--tls-key", str(key))) as running:
        secure = running.url.replace("http://", "https://")
        headers = {"Authorization": f"Bearer {TOKENS['ada']}"}
        trusted = ssl.create_default_context(cafile=str(certificate_))
        assert httpx.get(f"{secure}/graphs", headers=headers, verify=trusted, timeout=20).status_code == 200
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"{secure}/graphs", headers=headers, timeout=20)
        with pytest.raises(httpx.HTTPError):
            httpx.get(f"{running.url}/graphs", headers=headers, timeout=20)


def test_a_certificate_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "x.pem").write_text("nonsense")
    with (
        pytest.raises(AssertionError) as told,
        serving(people(tmp_path), more=("--tls-cert", str(tmp_path / "x.pem"), "--tls-key", str(tmp_path / "x.pem"))),
    ):
        pass
    assert "Traceback" not in str(told.value)
    assert "certificate" in str(told.value)


def test_the_log_is_json_for_programs(tmp_path: Path) -> None:
    with serving(people(tmp_path), more=("--access-log", "--log-format", "json")) as running, running.client() as client:
        client.get("/branches", headers={"X-Request-Id": "of-mine"})
    assert any("of-mine" in json.dumps(json.loads(line)) for line in running.log if line.startswith("{"))


HALF = r"a\ud800b"


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("query", {"query": "query q($n: I32) { match { $p: Person { age: $n } } return { $p.name } }", "params": {"n": HALF}}),
        ("query", {"query": HALF}),
        ("mutate", {"query": "query q($n: String) { insert Person { name: $n } }", "params": {"n": HALF}}),
        ("put", {"type": "Person", "values": {"name": HALF}}),
        ("put", {"type": HALF, "values": {}}),
        ("branches", {"name": HALF}),
        ("branches/merge", {"source": HALF}),
        ("schema/plan", {"schema_source": f"node {HALF} {{}}"}),
        ("queries/" + "x", {"params": {HALF: 1}}),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
def test_half_a_character_is_refused_wherever_it_stands(server: Running, path: str, body: dict[str, object]) -> None:
    sent = json.dumps(body).replace("\\\\", "\\").encode()
    assert rb"\ud800" in sent
    status, answered = ask(server, post(sent, f"/graphs/people/{path}"))
    said = json.loads(answered)
    assert (status, said["code"]) == (400, "bad_request")
    assert "surrogate" in said["error"]


@pytest.mark.parametrize(
    "line",
    [
        rf'{{"type":"Person","data":{{"name":"{HALF}"}}}}',
        rf'{{"type":"{HALF}","data":{{"name":"x"}}}}',
        rf'{{"type":"Person","data":{{"name":"x","{HALF}":1}}}}',
        rf'{{"edge":"Knows","from":"{HALF}","to":"{HALF}"}}',
    ],
)
def test_half_a_character_in_a_record_is_quoted_in_the_error(server: Running, line: str) -> None:
    strict = post(line.encode(), "/graphs/people/load/ndjson?mode=merge", kind="Content-Type: application/x-ndjson\r\n")
    lenient = post(json.dumps({"data": line}).encode(), "/graphs/people/load")
    for sent, answers in ((strict, {400}), (lenient, {400, 200})):  # an unknown member is dropped there
        status, answered = ask(server, sent)
        said = json.loads(answered)  # it is JSON, whatever is quoted
        assert status in answers, said
        assert ("error" in said) == (status == 400)


def test_whole_pairs_and_escaped_backslashes_are_texts(server: Running) -> None:
    for text in ("\U0001f600", "\\ud800"):
        body = json.dumps(
            {"query": "query q($n: String) { match { $p: Person { name: $n } } return { $p.name } }", "params": {"n": text}}
        )
        assert ask(server, post(body.encode()))[0] == 200


def test_a_condition_is_refused_where_nobody_looks_at_it(server: Running) -> None:
    """A write that was meant for one commit may not happen on another."""
    for route in ROUTES:
        if not route.of_graph or route.operation_id not in REPEATABLE | KEYLESS or route.path.endswith("/mcp"):
            continue
        path = route.path.replace("{graph_id}", "people").replace("{", "").replace("}", "")
        if path.endswith("/if-graph-commit"):
            continue
        content = b"{}" if route.method == "POST" else b""
        head = (
            f"{route.method} {path} HTTP/1.1\r\nHost: x\r\n{AUTH}{JSON}Omnigraph-If-Graph-Commit: 01M7TWTHISISNOTTHEHEAD0000\r\n"
        )
        status, answered = ask(server, f"{head}Content-Length: {len(content)}\r\n\r\n".encode() + content)
        said = json.loads(answered)
        if route.operation_id in ("cluster_mutate", "cluster_change"):
            assert status == 400, said  # they ask for a body first
        else:
            assert (status, "Omnigraph-If-Graph-Commit" in said["error"]) == (400, True), (path, said)
