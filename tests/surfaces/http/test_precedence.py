"""Which complaint comes first, and what is never said."""

from __future__ import annotations

import httpx
import pytest
from tests.surfaces.http.conftest import Running


@pytest.mark.parametrize(
    ("method", "path", "actor", "status", "code", "error"),
    [
        ("GET", "/nothing", None, 404, "not_found", None),
        ("PUT", "/graphs/people/query", None, 405, "method_not_allowed", None),
        ("GET", "/graphs/people/query", None, 405, "method_not_allowed", None),
        ("GET", "/graphs/people/snapshot", None, 401, "unauthorized", "missing bearer token"),
        ("GET", "/graphs/a%20b/snapshot", None, 401, "unauthorized", "missing bearer token"),
        ("GET", "/graphs/a%20b/snapshot", "ada", 400, "bad_request", None),
        ("GET", "/graphs/other/snapshot", "ada", 404, "not_found", "graph 'other' not found"),
        ("POST", "/graphs/other/query", "ada", 404, "not_found", "graph 'other' not found"),
        ("GET", "/graphs/people/snapshot?branch=none", "ada", 404, "not_found", "branch 'none' not found"),
        ("GET", "/graphs/people/commits/none", "ada", 404, "not_found", "commit 'none' not found"),
        ("GET", "/graphs/people/commits/none/changes", "ada", 404, "not_found", "commit 'none' not found"),
    ],
)
def test_the_first_complaint(
    server: Running, method: str, path: str, actor: str | None, status: int, code: str, error: str | None
) -> None:
    with server.client(actor) as client:
        found = client.request(method, server.url + path)
    assert (found.status_code, found.json()["code"]) == (status, code)
    if error is not None:
        assert found.json()["error"] == error
    assert found.headers["x-request-id"]


@pytest.mark.parametrize(
    "header", ["Basic x", "bearer token-of-ada", "Bearer", "Bearer wrong", "Bearer  token-of-ada", "Bearer token-of-adaa"]
)
def test_headers_that_are_no_token(server: Running, header: str) -> None:
    found = httpx.get(f"{server.url}/graphs/people/snapshot", headers={"Authorization": header})
    assert (found.status_code, found.json()["code"]) == (401, "unauthorized")


def test_a_request_id_is_kept_or_made(server: Running) -> None:
    assert httpx.get(f"{server.url}/healthz", headers={"X-Request-Id": "abc-1"}).headers["x-request-id"] == "abc-1"
    made = httpx.get(f"{server.url}/healthz", headers={"X-Request-Id": "a b"}).headers["x-request-id"]
    assert len(made) == 16


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"[]", 400),
        (b"{", 400),
        (b'{"query": 1}', 400),
        (b"{}", 400),
        (b'{"query": "x", "query": "y"}', 400),
        (b'{"query": "\xff"}', 400),
        (b"[" * 100_000, 400),
        (b'{"query": NaN}', 400),
        (b'{"query": "query q() {', 400),
        (b'{"query": "' + b"x" * (1 << 20) + b'"}', 413),
    ],
)
def test_bodies_that_are_refused(ada: httpx.Client, body: bytes, status: int) -> None:
    found = ada.post("/query", content=body, headers={"Content-Type": "application/json"})
    assert found.status_code == status
    assert found.json()["code"] == "bad_request"


def test_a_body_says_what_it_is(ada: httpx.Client) -> None:
    assert ada.post("/query", content=b"{}", headers={"Content-Type": "text/plain"}).status_code == 415
    assert ada.post("/query", content=b"{}").status_code == 415


def test_a_wrong_query_is_shown_where_it_is_wrong(ada: httpx.Client) -> None:
    found = ada.post("/query", json={"query": "query q() { match { $p: Persn } return { $p.name } }"})
    assert found.status_code == 400
    assert found.json()["condition"] == "type_error"
    assert found.json()["diagnostics"]


def test_reads_do_not_change(ada: httpx.Client) -> None:
    found = ada.post("/query", json={"query": 'query add() { insert Person { name: "x" } }'})
    assert found.status_code == 400
    assert "add" in found.json()["error"]


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
def test_answers_are_packed_for_those_who_take_them_so(ada: httpx.Client, coding: str) -> None:
    import zlib

    import zstandard

    plain = ada.get("/schema", headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers
    with ada.stream("POST", "/export", json={}, headers={"Accept-Encoding": f"{coding};q=0.9, *;q=0"}) as found:
        assert found.headers["content-encoding"] == coding
        packed = b"".join(found.iter_raw())
    text = zlib.decompress(packed, 47) if coding == "gzip" else zstandard.ZstdDecompressor().decompressobj().decompress(packed)
    assert text == ada.post("/export", json={}, headers={"Accept-Encoding": "identity"}).content


def test_there_are_no_stored_queries_without_a_cluster(ada: httpx.Client) -> None:
    assert ada.get("/queries").json() == {"queries": []}
    for body in (b"", b"null", b'{"params": {}}'):
        found = ada.post("/queries/some%2Fname", content=body)
        assert (found.status_code, found.json()["error"]) == (404, "stored query not found")
    wrong = ada.post("/queries/x", content=b"[")
    assert wrong.status_code == 400
    assert wrong.json()["error"].startswith("invalid stored-query invocation body: ")
