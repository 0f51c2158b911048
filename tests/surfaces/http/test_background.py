"""Vectors that a server makes in the background, in a process of its own."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.surfaces.http.conftest import serving

import omnigraph as og

SCHEMA = "node Note { slug: String @key  body: String?  vec: Vector(4)? @embed(body) }"
MISSING = "query q() { match { $n: Note  $n.vec is null } return { $n.slug } order { $n.slug } }"


def notes(folder: Path) -> Path:
    with og.init(folder / "people.omni", schema=SCHEMA, durability="os") as graph:
        graph.load([{"type": "Note", "data": {"slug": slug, "body": f"about {slug}"}} for slug in "ab"])
        graph.branches.create("work", "main")
    return folder / "people.omni"


def eventually(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < until, "it did not come to pass"
        time.sleep(0.05)


@pytest.mark.parametrize("workers", [(), ("--workers", "2")], ids=["one", "two"])
def test_texts_get_their_vectors(tmp_path: Path, workers: tuple[str, ...]) -> None:
    more, mock = ("--embed-every", "0.1", *workers), {"OMNIGRAPH_EMBEDDINGS_MOCK": "1"}
    with serving(notes(tmp_path), more=more, variables=mock) as running, running.client() as ada:

        def missing(branch: str) -> list[str]:
            rows = ada.post("/query", json={"query": MISSING, "branch": branch}).json()["rows"]
            return [row["n.slug"] for row in rows]

        eventually(lambda: not missing("main") and not missing("work"))
        add = 'query add() { insert Note { slug: "c", body: "later" } }'
        assert ada.post("/mutate", json={"query": add, "branch": "work"}).status_code == 200
        eventually(lambda: not missing("work"))
        commits = ada.get("/commits", params={"branch": "work", "maintenance": "true"}).json()["commits"]
        assert "server" in {commit["actor_id"] for commit in commits}
        numbers = ada.get(f"{running.url}/metrics").text
        assert 'omnigraph_embedding_runs_total{graph="people",outcome="done"}' in numbers
        assert 'omnigraph_embedded_total{graph="people"} 5.0' in numbers
        count = len(commits)
        time.sleep(0.5)
        now = ada.get("/commits", params={"branch": "work", "maintenance": "true"}).json()["commits"]
        assert len(now) == count, "what has its vectors is left alone"


def test_what_fails_is_said_and_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENROUTER_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    with serving(notes(tmp_path), more=("--embed-every", "0.1")) as running, running.client() as ada:
        failed = 'omnigraph_embedding_runs_total{graph="people",outcome="failed"}'
        eventually(lambda: failed in ada.get(f"{running.url}/metrics").text)
        assert ada.post("/query", json={"query": MISSING}).json()["row_count"] == 2
