"""Vectors of a graph by a provider behind an address: at `embed`, at loads and mutations, in queries; and after failures."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.embedding.server import KEY, Reply, Server

import omnigraph as og
from omnigraph.embedding import Embedder, MockEmbedder, mock_vector

ROOT = Path(__file__).parents[2]
SCHEMA = """
    node Doc { slug: String @key  text: String?  vec: Vector(8)? @embed("text")  note: String? }
    node Must { slug: String @key  text: String  vec: Vector(4) @embed("text") }
"""
PINNED = 'node Pinned { slug: String @key  text: String?  vec: Vector(8)? @embed("text", model="pinned") }'
NEAR = "query q($t: String) { match { $d: Doc } return { $d.slug } order { nearest($d.vec, $t) } limit 1 }"
QUICK = og.Pace(batch=10, attempts=2, first_wait=0.001, in_flight=4)


def by(server: Server, model: str = "m", kind: str = "openai-compatible") -> Embedder:
    return og.embedding_provider(kind, base_url=server.url, model=model, api_key="${TEST_KEY}", pace=QUICK)


def made(folder: Path, embedder: Embedder | None, count: int = 0) -> og.Graph:
    graph = og.init(folder, schema=SCHEMA, durability="os", embedder=embedder)
    if count:
        graph.load([{"type": "Doc", "data": {"slug": f"d{n}", "text": f"text {n}"}} for n in range(count)])
    return graph


def vectors(graph: og.Graph, type_: str = "Doc") -> dict[str, object]:
    rows = graph.query(f"query q() {{ match {{ $d: {type_} }} return {{ $d.slug, $d.vec }} }}").rows
    return {r["d.slug"]: None if r["d.vec"] is None else np.array(r["d.vec"], np.float32) for r in rows}


def is_of(found: object, text: str, dimension: int = 8) -> bool:
    return found is not None and bool(np.allclose(found, mock_vector(text, dimension), atol=1e-6))  # type: ignore[arg-type]


def test_embedding_a_graph_says_what_it_took(server: Server, tmp_path: Path) -> None:
    graph = made(tmp_path / "g", by(server), 25)
    done = graph.embed()
    assert (done.model, done.entities) == ("m", 25)
    assert (done.usage.texts, done.usage.requests, done.usage.retries, done.usage.tokens) == (25, 3, 0, 50)
    assert done.usage.seconds > 0
    assert all(is_of(vector, f"text {slug[1:]}") for slug, vector in vectors(graph).items())
    assert graph.embed().usage.requests == 0


def test_a_query_embeds_its_text_once_and_says_what_it_is_for(server: Server, tmp_path: Path) -> None:
    graph = made(tmp_path / "g", by(server, kind="gemini"), 5)
    graph.embed()
    asked = len(server.requests)
    assert [graph.query(NEAR, {"t": "text 3"}).rows for _ in range(3)] == [[{"d.slug": "d3"}]] * 3
    (query,) = server.requests[asked:]
    assert (query.path, query.body["taskType"]) == ("/models/m:embedContent", "RETRIEVAL_QUERY")
    assert {r["taskType"] for request in server.requests[:asked] for r in request.body["requests"]} == {"RETRIEVAL_DOCUMENT"}


def test_a_query_does_not_wait_longer_than_it_may(server: Server, tmp_path: Path) -> None:
    graph = made(tmp_path / "g", by(server), 3)
    graph.embed()
    server.always = Reply(wait=3)
    started = time.monotonic()
    with pytest.raises(og.ResourceLimit, match="embedding a text"):
        graph.query(NEAR, {"t": "late"}, timeout=0.3)
    assert time.monotonic() - started < 2


# ── the same space ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_model_that_made_vectors_is_recorded(server: Server, tmp_path: Path) -> None:
    graph = made(tmp_path / "g", by(server), 5)
    graph.embed(actor="me")
    before, asked = graph.commits(), len(server.requests)
    graph.load([{"type": "Doc", "data": {"slug": "new", "text": "new"}}])
    for other in (by(server, "other"), MockEmbedder("m")):
        with og.open(tmp_path / "g", embedder=other) as again:
            calls: list[Callable[[], object]] = [
                again.embed,
                lambda again=again: again.embed(again=True),  # type: ignore[misc]
                lambda again=again: again.load([{"type": "Doc", "data": {"slug": "x", "text": "x"}}], embed=True),  # type: ignore[misc]
                lambda again=again: again.mutate('query q() { insert Doc { slug: "x", text: "x" } }', embed=True),  # type: ignore[misc]
            ]
            for call in calls:
                with pytest.raises(og.UsageError, match=r"vectors of Doc\.vec were made by model `m`"):
                    call()
            with pytest.raises(og.QueryError, match=r"`Doc\.vec` was embedded with model `m`"):
                again.query(NEAR, {"t": "x"})
    assert len(server.requests) == asked
    assert len(graph.commits()) == len(before) + 1
    graph.branches.create("side")
    with og.open(tmp_path / "g", embedder=by(server, "other")) as again, pytest.raises(og.UsageError, match="model `m`"):
        again.embed(branch="side")


def test_made_up_vectors_may_be_replaced_by_real_ones(server: Server, tmp_path: Path) -> None:
    graph = made(tmp_path / "g", MockEmbedder("m"), 5)
    graph.embed()
    with og.open(tmp_path / "g", embedder=by(server)) as real:
        with pytest.raises(og.UsageError, match="made up by the mock"):
            real.embed()
        assert real.embed(again=True).entities == 5
        assert real.query(NEAR, {"t": "text 2"}).rows == [{"d.slug": "d2"}]
    mock = og.open(tmp_path / "g", embedder=MockEmbedder("m"))
    with pytest.raises(og.QueryError, match="model `m`, the query would use"):
        mock.query(NEAR, {"t": "text 2"})


def test_a_model_of_the_schema_is_held_against_writes(server: Server, tmp_path: Path) -> None:
    graph = og.init(tmp_path / "g", schema=PINNED, embedder=by(server))
    before = graph.commits()
    with pytest.raises(og.UsageError, match=r"Pinned\.vec is for model `pinned`, not `m`"):
        graph.load([{"type": "Pinned", "data": {"slug": "p", "text": "t"}}], embed=True)
    assert graph.commits() == before
    assert not server.requests


# ── loads and mutations ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_nothing_is_embedded_unless_that_is_asked_for(server: Server, tmp_path: Path) -> None:
    graph = made(tmp_path / "g", by(server), 5)
    graph.mutate('query q() { insert Doc { slug: "x", text: "x" } }')
    assert not server.requests
    assert set(map(type, vectors(graph).values())) == {type(None)}


def test_a_load_commits_texts_with_their_vectors(server: Server, tmp_path: Path) -> None:
    graph = made(tmp_path / "g", by(server))
    before = len(graph.commits())
    docs = [{"type": "Doc", "data": {"slug": f"d{n}", "text": f"text {n % 20}"}} for n in range(40)]
    docs += [{"type": "Doc", "data": {"slug": "given", "text": "x", "vec": [1.0] + [0.0] * 7}}]
    docs += [{"type": "Doc", "data": {"slug": "silent"}}, {"type": "Doc", "data": {"slug": "empty", "text": ""}}]
    done = graph.load(docs, embed=True)
    assert len(graph.commits()) == before + 1
    assert done.embedded is not None
    assert (done.embedded.model, done.embedded.vectors, done.embedded.usage.texts) == ("m", 40, 20)
    found = vectors(graph)
    assert all(is_of(found[f"d{n}"], f"text {n % 20}") for n in range(40))
    assert found["given"].tolist() == [1.0] + [0.0] * 7  # type: ignore[attr-defined]
    assert found["silent"] is found["empty"] is None
    assert not list((tmp_path / "g" / "__cache").rglob("embeddings-*/*"))
    assert graph.verify(deep=True, content=True).ok
    asked = len(server.requests)
    assert not graph.load(docs, embed=True).changed  # the same texts: their vectors are there
    again = graph.load([{"type": "Doc", "data": {"slug": "d0", "text": "text 0", "note": "n"}}], embed=True)
    assert (again.changed, len(server.requests)) == (True, asked)
    assert is_of(vectors(graph)["d0"], "text 0")
    graph.load([{"type": "Doc", "data": {"slug": "d1", "text": "other"}}], mode="patch", embed=True)
    assert server.requests[-1].texts == ["other"]
    assert is_of(vectors(graph)["d1"], "other")
    assert graph.embed().entities == 0


def test_a_load_that_is_refused_asks_for_nothing(server: Server, tmp_path: Path) -> None:
    graph = made(tmp_path / "g", by(server))
    with pytest.raises(og.ValidationError):
        graph.load([{"type": "Doc", "data": {"slug": "a", "text": "t"}}, {"type": "Doc", "data": {"text": "t"}}], embed=True)
    assert not server.requests


@pytest.mark.parametrize("reply", [Reply(status=400), Reply(dimension=3), Reply(count=0), Reply(number=float("nan"))])
def test_a_load_whose_vectors_fail_changes_nothing_and_is_not_paid_twice(server: Server, tmp_path: Path, reply: Reply) -> None:
    graph = made(tmp_path / "g", by(server))
    before = graph.commits()
    docs = [{"type": "Doc", "data": {"slug": f"d{n}", "text": f"text {n}"}} for n in range(60)]
    server.then(Reply(), Reply(), reply)
    with pytest.raises(og.EmbeddingFailed):
        graph.load(docs, embed=True)
    assert graph.commits() == before
    paid = sum(server.texts.values())
    assert paid >= 20
    graph.load(docs, embed=True)
    good = [n for n, request in enumerate(server.requests) if n != 2]
    assert sorted(t for n in good for t in server.requests[n].texts) == sorted(f"text {n}" for n in range(60))
    assert all(is_of(vector, f"text {slug[1:]}") for slug, vector in vectors(graph).items())


def test_a_mutation_commits_texts_with_their_vectors(server: Server, tmp_path: Path) -> None:
    graph = made(tmp_path / "g", by(server))
    insert = "query q($s: String, $t: String) { insert Must { slug: $s, text: $t } }"
    with pytest.raises(og.ValidationError):
        graph.mutate(insert, {"s": "a", "t": "one"})
    receipt = graph.mutate(insert, {"s": "a", "t": "one"}, embed=True)
    assert receipt.embedded is not None
    assert (receipt.embedded.vectors, receipt.embedded.usage.requests) == (1, 1)
    assert is_of(vectors(graph, "Must")["a"], "one", 4)
    assert graph.mutate(insert, {"s": "a", "t": "one"}, embed=True).commit is None  # it is there, exactly so
    update = "query q($s: String, $t: String) { update Must set { text: $t } where slug = $s }"
    graph.mutate(update, {"s": "a", "t": "two"}, embed=True)
    assert is_of(vectors(graph, "Must")["a"], "two", 4)
    assert [r.texts for r in server.requests] == [["one"], ["two"]]
    graph.mutate('query q() { insert Doc { slug: "d", text: "t" } }', embed=True)
    graph.mutate('query q() { update Doc set { text: null } where slug = "d" }', embed=True)
    assert vectors(graph)["d"] is None
    graph.mutate('query q() { delete Doc where slug = "d" }', embed=True)


# ── going on ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_timeout_keeps_what_was_made(server: Server, tmp_path: Path) -> None:
    graph = made(tmp_path / "g", by(server), 100)
    server.latency = 0.1
    with pytest.raises(og.ResourceLimit, match="took longer than it may"):
        graph.embed(timeout=1.2, pace=og.Pace(batch=2, in_flight=2))
    kept = sum(server.texts.values())
    assert 0 < kept < 100
    server.latency = 0
    assert graph.embed().entities == 100
    assert max(server.texts.values()) <= 2
    assert sum(server.texts.values()) <= 100 + 2 * 2  # those that were under way


def test_nothing_is_embedded_twice_after_a_kill_but_what_was_under_way(server: Server, tmp_path: Path) -> None:
    count, path = 300, tmp_path / "g"
    graph = made(path, None, count)
    before = graph.commits()
    server.latency = 0.5  # answers of a quarter of a second are written down together: never those of two rounds
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    line = [sys.executable, str(Path(__file__).with_name("embedding_child.py")), str(path), server.url]
    child = subprocess.Popen(line, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        deadline = time.monotonic() + 60
        while sum(server.texts.values()) < 200 and child.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
    finally:
        child.send_signal(signal.SIGKILL)
    said = child.communicate()[0]
    assert child.returncode == -signal.SIGKILL, said
    assert KEY.encode() not in said
    first = sum(server.texts.values())
    assert 200 <= first < count
    assert graph.commits() == before
    server.latency = 0
    with og.open(path, embedder=by(server)) as again:
        assert again.embed().entities == count
        assert len(again.commits()) == len(before) + 1
        assert all(is_of(vector, f"text {slug[1:]}") for slug, vector in vectors(again).items())
        assert again.verify(deep=True).ok
    assert set(server.texts) == {f"text {n}" for n in range(count)}
    twice = sum(n - 1 for n in server.texts.values())
    a_round = 4 * 10  # four requests of ten texts
    assert twice <= 3 * a_round  # one under way, one answered and not written down yet, one for a machine that is busy
    for file in path.rglob("*"):
        assert not file.is_file() or KEY.encode() not in file.read_bytes()


# ── the command ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_command_embeds_a_graph_a_load_and_a_mutation(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from omnigraph.surfaces.cli.main import run

    path, data = str(tmp_path / "g"), tmp_path / "docs.jsonl"
    made(tmp_path / "g", None, 3).close()
    monkeypatch.setenv("OMNIGRAPH_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("OMNIGRAPH_EMBED_BASE_URL", server.url)
    monkeypatch.setenv("OMNIGRAPH_EMBED_MODEL", "m")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert run(["embed", path, "--type", "Doc", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["model"], said["properties"][0]["entities"], said["usage"]["tokens"]) == ("m", 3, 6)
    data.write_text('{"type": "Doc", "data": {"slug": "new", "text": "one"}}\n')
    assert run(["load", path, "--data", str(data), "--mode", "merge", "--embed"]) == 0
    assert "embedded: 1 vector by m (1 text, 1 request, 1 token)" in capsys.readouterr().out
    add = 'query q() { insert Doc { slug: "newer", text: "two" } }'
    assert run(["mutate", "--store", path, "-e", add, "--embed"]) == 0
    assert "embedded: 1 vector" in capsys.readouterr().out
    server.always = Reply(status=401, body=f'{{"error": "wrong key {KEY}"}}'.encode())
    assert run(["embed", path, "--reembed-all"]) == 1
    told = capsys.readouterr()
    assert "HTTP 401" in told.err
    assert KEY not in told.out + told.err
    assert run(["embed", path, "--clean"]) == 2
