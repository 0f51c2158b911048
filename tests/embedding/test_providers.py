"""Every provider against a server that speaks its protocol: what is sent, what is made of answers, and what of failures."""

from __future__ import annotations

import logging
import math
import pickle
import random
import time
from collections.abc import Callable

import numpy as np
import pytest
from tests.embedding.server import KEY, Reply, Server

import omnigraph as og
from omnigraph.embedding import Embedder, MockEmbedder, Pace, Profile, configured, embedding_provider, mock_vector
from omnigraph.embedding.paced import Paced, batches
from omnigraph.embedding.port import Purpose

KINDS = ("openai-compatible", "openai", "gemini", "cohere", "ollama")
QUICK = Pace(attempts=4, first_wait=0.001, timeout=0.3, deadline=5)


def made(server: Server, kind: str = "openai-compatible", pace: Pace = QUICK) -> Embedder:
    return embedding_provider(kind, base_url=server.url, model="m", api_key="${TEST_KEY}", pace=pace)


def near(found: object, texts: list[str], dimension: int = 8) -> bool:
    return bool(np.allclose(np.asarray(found), [mock_vector(t, dimension) for t in texts], atol=1e-6))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("texts", [["one"], ["one", "two", "drei"]])
def test_vectors_come_back_in_order_and_of_length_one(server: Server, kind: str, texts: list[str]) -> None:
    found = made(server, kind).embed(texts, 8)
    assert near(found, texts)
    assert all(math.isclose(math.hypot(*v), 1, rel_tol=1e-6) for v in found)
    (asked,) = server.requests
    assert asked.texts == texts


@pytest.mark.parametrize(
    ("kind", "header", "path"),
    [
        ("openai-compatible", "Authorization", "/embeddings"),
        ("openai", "Authorization", "/embeddings"),
        ("gemini", "x-goog-api-key", "/models/m:embedContent"),
        ("cohere", "Authorization", "/embed"),
        ("ollama", "Authorization", "/api/embed"),
    ],
)
def test_the_key_is_sent_where_the_protocol_has_it(server: Server, kind: str, header: str, path: str) -> None:
    made(server, kind).embed(["x"], 4)
    (asked,) = server.requests
    assert asked.path == path
    assert asked.headers[header].removeprefix("Bearer ") == KEY


@pytest.mark.parametrize(
    ("kind", "member", "said"),
    [
        ("gemini", "taskType", {Purpose.QUERY: "RETRIEVAL_QUERY", Purpose.DOCUMENT: "RETRIEVAL_DOCUMENT"}),
        ("cohere", "input_type", {Purpose.QUERY: "search_query", Purpose.DOCUMENT: "search_document"}),
    ],
)
@pytest.mark.parametrize("purpose", Purpose)
def test_what_a_text_is_for_is_said(server: Server, kind: str, member: str, said: dict[Purpose, str], purpose: Purpose) -> None:
    Paced(made(server, kind), purpose=purpose).embed(["x"], 4)
    assert server.requests[0].body[member] == said[purpose]


def test_tokens_requests_and_retries_are_counted(server: Server) -> None:
    server.then(Reply(status=500))
    paced = Paced(made(server, pace=Pace(batch=2, first_wait=0.001, in_flight=1)))
    paced.embed(["one", "two words", "three little words"], 4)
    used = paced.usage
    assert (used.texts, used.requests, used.retries, used.tokens) == (3, 3, 1, 6)
    assert used.seconds > 0
    assert str(used) == "3 texts, 3 requests, 1 retry, 6 tokens"


# ── failures ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────

PASSING = {
    "rate limit": Reply(status=429),
    "server error": Reply(status=500),
    "bad gateway": Reply(status=502, body=b"<html>oops</html>"),
    "unavailable": Reply(status=503),
    "late": Reply(wait=0.6),
    "slow body": Reply(drip=0.02),
    "cut body": Reply(cut=20),
    "half of the JSON": Reply(body=b'{"data": [{"index": 0, "embedd'),
    "empty body": Reply(body=b" "),
}


@pytest.mark.parametrize("what", PASSING)
@pytest.mark.parametrize("kind", ["openai-compatible", "gemini"])
def test_what_may_pass_is_tried_again(server: Server, kind: str, what: str) -> None:
    server.then(PASSING[what], PASSING[what])
    assert near(made(server, kind).embed(["x"], 8), ["x"])
    assert len(server.requests) == 3


@pytest.mark.parametrize("what", PASSING)
def test_what_does_not_pass_is_an_error_that_may_pass(server: Server, what: str) -> None:
    server.always = PASSING[what]
    with pytest.raises(og.EmbeddingFailed, match="tried 3 times") as told:
        made(server, pace=Pace(attempts=3, first_wait=0.001, timeout=0.2)).embed(["x"], 8)
    assert told.value.retryable
    assert told.value.__cause__ is None
    assert len(server.requests) == 3


FINAL = {
    "no key": (Reply(status=401, body=f'{{"error": "bad key {KEY}"}}'.encode()), "HTTP 401"),
    "no such model": (Reply(status=404), "HTTP 404"),
    "bad request": (Reply(status=400), "HTTP 400"),
    "redirect": (Reply(status=307, headers={"Location": "http://127.0.0.1:9/"}), "HTTP 307"),
    "too few": (Reply(count=1), "1 vector for 2 texts"),
    "too many": (Reply(count=3), "3 vectors for 2 texts"),
    "another dimension": (Reply(dimension=5), "they have 5"),
    "NaN": (Reply(number=math.nan), "not finite"),
    "infinity": (Reply(number=math.inf), "not finite"),
    "too large for 32 bits": (Reply(number=1e300), "not finite"),
    "null": (Reply(number="1"), "not understood"),
    "zero": (Reply(zero=True), "are zero"),
    "something else": (Reply(body=b'{"hello": 1}'), "not understood"),
    "endless": (Reply(body=b" " * (3 << 20)), "more than"),
}


@pytest.mark.parametrize("what", FINAL)
def test_what_will_not_pass_is_told_at_once(server: Server, what: str) -> None:
    server.always, said = FINAL[what]
    with pytest.raises(og.EmbeddingFailed, match=said) as told:
        made(server).embed(["x", "y"], 8)
    assert not told.value.retryable
    assert len(server.requests) == 1


def test_a_server_that_is_not_there_is_an_error_that_may_pass() -> None:
    gone = embedding_provider(
        "openai-compatible", base_url="http://127.0.0.1:9/v1", model="m", pace=Pace(attempts=2, first_wait=0.001)
    )
    with pytest.raises(og.EmbeddingFailed, match=r"127\.0\.0\.1") as told:
        gone.embed(["x"], 4)
    assert told.value.retryable


def test_retry_after_is_honoured_by_every_request(server: Server) -> None:
    server.then(Reply(status=429, headers={"Retry-After": "0.4"}))
    started = time.monotonic()
    made(server, pace=Pace(batch=1, in_flight=1, first_wait=0.001)).embed(["a", "b"], 4)
    first, *later = [r.at - started for r in server.requests]
    assert len(later) == 2
    assert min(later) >= first + 0.4


def test_a_date_to_retry_after_is_honoured(server: Server) -> None:
    from email.utils import formatdate

    server.then(Reply(status=503, headers={"Retry-After": formatdate(time.time() + 2, usegmt=True)}))
    made(server, pace=Pace(first_wait=0.001)).embed(["a"], 4)
    first, second = [r.at for r in server.requests]
    assert second - first >= 0.8


def test_the_deadline_is_for_all_attempts_together(server: Server) -> None:
    server.always = Reply(status=503)
    started = time.monotonic()
    with pytest.raises(og.EmbeddingFailed, match=r"0\.5 s are over"):
        made(server, pace=Pace(attempts=1000, first_wait=0.05, longest_wait=0.1, deadline=0.5)).embed(["x"], 4)
    assert time.monotonic() - started < 2
    server.always = Reply(status=429, headers={"Retry-After": "30"})
    with pytest.raises(og.EmbeddingFailed, match="HTTP 429"):
        made(server, pace=Pace(deadline=0.5)).embed(["x"], 4)
    assert time.monotonic() - started < 3


def test_several_requests_are_under_way(server: Server) -> None:
    server.latency = 0.4
    texts = [f"text {n}" for n in range(32)]
    assert near(made(server, pace=Pace(batch=2, in_flight=8)).embed(texts, 4), texts, 4)
    assert server.most_under_way == 8


def test_what_was_under_way_at_a_failure_is_waited_for(server: Server) -> None:
    from omnigraph.embedding.paced import Requests

    server.latency = 0.5
    server.then(Reply(status=400))
    paced = Paced(made(server, pace=Pace(in_flight=4)))
    found: list[str] = []
    requests = Requests[int](paced)
    for at in range(4):
        requests.add(at, [f"t{at}"], 4)

    def take() -> None:
        while requests.pending:
            found.extend(batch[0] for _, batch, _ in requests.done())

    with pytest.raises(og.EmbeddingFailed), requests:
        take()
    assert sorted(found) == sorted(server.texts)
    assert len(found) == 3


def test_whoever_leaves_early_does_not_wait(server: Server) -> None:
    from omnigraph.embedding.paced import Requests

    server.latency = 5
    started = time.monotonic()
    with Requests[int](Paced(made(server, pace=Pace()))) as requests:
        requests.add(0, ["x"], 4)
    assert time.monotonic() - started < 1


# ── batches ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_batches_are_cut_by_number_and_by_bytes() -> None:
    chance = random.Random(7)
    for _ in range(200):
        texts = ["é" * chance.randrange(12) for _ in range(chance.randrange(30))]
        pace = Pace(batch=chance.randint(1, 6), batch_bytes=chance.randint(1, 30))
        found = list(batches(texts, pace))
        assert [t for batch in found for t in batch] == texts
        for batch in found:
            assert 0 < len(batch) <= pace.batch
            assert len(batch) == 1 or sum(len(t.encode()) for t in batch) <= pace.batch_bytes


# ── secrets ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("kind", KINDS)
def test_a_provider_shows_and_carries_no_key(server: Server, kind: str) -> None:
    one = made(server, kind)
    one.embed(["x"], 4)
    assert KEY not in repr(one) + repr(vars(one))
    assert KEY.encode() not in pickle.dumps(one)
    again = pickle.loads(pickle.dumps(one))
    assert again == one
    assert near(again.embed(["x"], 4), ["x"], 4)


def test_no_failure_and_no_log_shows_the_key(
    server: Server, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    said = []
    echo = f'{{"error": "Incorrect API key provided: {KEY[:-4]}…, or {KEY[4:]}"}}'.encode()
    for reply in (*PASSING.values(), *(reply for reply, _ in FINAL.values()), Reply(status=401, body=echo)):
        server.always = reply
        for kind in KINDS:
            with pytest.raises(og.EmbeddingFailed) as told:
                made(server, kind, Pace(attempts=1, timeout=0.1)).embed(["x", "y"], 8)
            error: BaseException | None = told.value
            while error is not None:
                said.append(f"{error!r} {error} {getattr(error, '__notes__', '')} {vars(error)}")
                error = error.__cause__ or error.__context__
    out, err = capfd.readouterr()
    everything = "\n".join([*said, caplog.text, out, err])
    assert "HTTP 401" in everything
    for size in range(8, len(KEY) + 1):
        assert KEY[:size] not in everything
        assert KEY[-size:] not in everything


def test_a_key_that_no_header_can_hold_is_named_not_shown(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_KEY", "geheim\x07é")
    with pytest.raises(og.UsageError, match="TEST_KEY") as told:
        made(server).embed(["x"], 4)
    assert "geheim" not in f"{told.value!r}"
    assert not server.requests


# ── configuration ────────────────────────────────────────────────────────────────────────────────────────────────────────────

DEFAULTS = {
    "openai-compatible": (
        "https://openrouter.ai/api/v1",
        "openai/text-embedding-3-large",
        ("OPENROUTER_API_KEY", "OPENAI_API_KEY"),
    ),
    "openai": ("https://api.openai.com/v1", "text-embedding-3-large", ("OPENAI_API_KEY",)),
    "gemini": ("https://generativelanguage.googleapis.com/v1beta", "gemini-embedding-2", ("GEMINI_API_KEY",)),
}


@pytest.mark.parametrize("kind", DEFAULTS)
def test_defaults_are_those_of_the_specification(kind: str) -> None:
    found = configured({"OMNIGRAPH_EMBED_PROVIDER": kind})
    assert (found.base_url, found.model, found.keys) == DEFAULTS[kind]  # type: ignore[union-attr]
    pace = found.pace  # type: ignore[union-attr]
    assert (pace.deadline, pace.timeout, pace.attempts, pace.first_wait) == (60, 30, 5, 0.2)
    with pytest.raises(og.UsageError, match=" or ".join(DEFAULTS[kind][2])):
        found.embed(["x"], 4)  # type: ignore[union-attr]


def test_a_program_is_heard_before_a_profile_and_that_before_the_environment() -> None:
    environment = {"OMNIGRAPH_EMBED_PROVIDER": "gemini", "OMNIGRAPH_EMBED_MODEL": "e", "OMNIGRAPH_EMBED_BASE_URL": "http://e"}
    profile = Profile("openai", model="p")
    cases: list[tuple[Callable[[], Embedder], tuple[str, str, str]]] = [
        (
            lambda: embedding_provider(environment={}),
            ("openai-compatible", DEFAULTS["openai-compatible"][0], DEFAULTS["openai-compatible"][1]),
        ),
        (lambda: embedding_provider(environment=environment), ("gemini", "http://e", "e")),
        (lambda: embedding_provider(profile=profile, environment=environment), ("openai", "http://e", "p")),
        (lambda: embedding_provider("cohere", model="a", profile=profile, environment=environment), ("cohere", "http://e", "a")),
    ]
    for call, expected in cases:
        found = call()
        assert (found.kind, found.base_url, found.model) == expected  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("environment", "there"),
    [
        ({}, False),
        ({"OMNIGRAPH_EMBED_MODEL": "m"}, False),
        ({"GEMINI_API_KEY": KEY}, False),
        ({"OPENAI_API_KEY": KEY}, True),
        ({"OPENROUTER_API_KEY": KEY}, True),
        ({"OMNIGRAPH_EMBED_PROVIDER": "ollama"}, True),
        ({"OMNIGRAPH_EMBED_BASE_URL": "http://localhost:1"}, True),
    ],
)
def test_nothing_is_asked_that_nobody_configured(environment: dict[str, str], there: bool) -> None:
    assert (configured(environment) is not None) is there


def test_the_first_key_that_is_set_is_used(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    environment = {"OMNIGRAPH_EMBED_BASE_URL": server.url}
    local = configured(environment)
    assert local is not None
    for name, key in (("", None), ("OPENAI_API_KEY", "Bearer second"), ("OPENROUTER_API_KEY", "Bearer first")):
        if name:
            monkeypatch.setenv(name, (key or "").removeprefix("Bearer ") + " \n")
        local.embed(["x"], 4)
        assert server.requests[-1].headers.get("Authorization") == key


def test_the_mock_wins_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    environment = {"OMNIGRAPH_EMBEDDINGS_MOCK": "on", "OMNIGRAPH_EMBED_PROVIDER": "gemini", "OMNIGRAPH_EMBED_MODEL": "m"}
    assert configured(environment) == MockEmbedder("m")
    assert "gemini is not asked" in caplog.text
    assert embedding_provider("openai", model="n", environment=environment) == MockEmbedder("n")


@pytest.mark.parametrize(
    ("variable", "value", "field", "expected"),
    [
        ("OMNIGRAPH_EMBED_DEADLINE_MS", "0", "deadline", None),
        ("OMNIGRAPH_EMBED_DEADLINE_MS", "1500", "deadline", 1.5),
        ("OMNIGRAPH_EMBED_TIMEOUT_MS", "250", "timeout", 0.25),
        ("OMNIGRAPH_EMBED_RETRY_ATTEMPTS", "0", "attempts", 1),
        ("OMNIGRAPH_EMBED_RETRY_BACKOFF_MS", "10", "first_wait", 0.01),
    ],
)
def test_the_environment_sets_the_pace(variable: str, value: str, field: str, expected: object) -> None:
    found = configured({"OMNIGRAPH_EMBED_PROVIDER": "openai", variable: value})
    assert getattr(found.pace, field) == expected  # type: ignore[union-attr]
    for wrong in ("-1", "soon", "1.5"):
        with pytest.raises(og.UsageError, match=variable):
            configured({"OMNIGRAPH_EMBED_PROVIDER": "openai", variable: wrong})


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"kind": "openai", "api_key": "${K}"}, None),
        ({"provider": "gemini", "model": "m", "api_key": "${K}"}, None),
        ({"api_key": "${K}", "base_url": "https://h/v1"}, None),
        ({"kind": "mock"}, None),
        ({"kind": "ollama", "base_url": "http://h:1"}, None),
        ({"kind": "openai"}, "embedding_api_key_required"),
        ({}, "embedding_api_key_required"),
        ({"kind": "openai", "api_key": KEY}, "embedding_api_key_inline"),
        ({"kind": "openai", "api_key": "${K} "}, "embedding_api_key_inline"),
        ({"kind": "openai", "api_key": "$K"}, "embedding_api_key_inline"),
        ({"kind": "nobody", "api_key": "${K}"}, "invalid_embedding_provider"),
        ({"kind": "openai", "provider": "gemini", "api_key": "${K}"}, "invalid_embedding_provider"),
        ({"kind": "openai", "api_key": "${K}", "token": "x"}, "invalid_embedding_provider"),
        ({"kind": "openai", "api_key": "${K}", "model": " "}, "invalid_embedding_provider"),
        ({"kind": "openai", "api_key": "${K}", "model": 7}, "invalid_embedding_provider"),
        ({"kind": "openai", "api_key": "${K}", "base_url": "ftp://h"}, "invalid_embedding_provider"),
        ({"kind": "openai", "api_key": "${K}", "base_url": f"https://u:{KEY}@h"}, "invalid_embedding_provider"),
        ({"kind": "openai", "api_key": "${K}", "base_url": f"https://h?key={KEY}"}, "invalid_embedding_provider"),
        ("openai", "invalid_embedding_provider"),
    ],
)
def test_a_profile_of_a_cluster_is_checked(given: object, problem: str | None) -> None:
    from omnigraph.embedding import InvalidProfile

    if problem is None:
        assert isinstance(given, dict)
        said = {"kind" if k == "provider" else k: v for k, v in given.items()}
        assert Profile.of(given).to_dict() == {k: said[k] for k in ("kind", "base_url", "model", "api_key") if k in said}
        return
    with pytest.raises(InvalidProfile) as told:
        Profile.of(given)
    assert told.value.problem == problem
    assert KEY not in f"{told.value!r}{told.value}{told.value.hint}"
