"""The same commands on a graph in a bucket, addressed by environment variables alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.storage.s3 import BUCKET, server
from tests.surfaces.calling import ADD, NAMES, PEOPLE, RECORDS, Call

GRAPH = f"s3://{BUCKET}/people.omni"
OTHER = f"s3://{BUCKET}/other.omni"


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with server() as running:
        settings = {
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": running.endpoint,
            "AWS_ALLOW_HTTP": "true",
        }
        for name, value in settings.items():
            monkeypatch.setenv(name, value)
        yield


def test_a_graph_in_a_bucket(og: Call, bucket: None, tmp_path: Path) -> None:
    (tmp_path / "s.pg").write_text(PEOPLE)
    (tmp_path / "p.jsonl").write_text("".join(json.dumps(r) + "\n" for r in RECORDS))
    assert og("init", GRAPH, "--schema", tmp_path / "s.pg").out == f"initialized {GRAPH}\n"
    loaded = og("load", GRAPH, "--data", tmp_path / "p.jsonl", "--mode", "merge")
    assert loaded.err == f"omnigraph load → {GRAPH} (direct, remote)\n"
    assert og("query", "--store", GRAPH, "-e", NAMES, "--json").json["row_count"] == 3
    assert og("branch", "create", "work", "--uri", GRAPH).code == 0
    assert og("mutate", "--store", GRAPH, "--branch", "work", "-e", ADD, "--params", '{"n": "Eve"}').code == 0
    assert og("branch", "merge", "work", "--uri", GRAPH).lines[0] == "merged work into main: fast_forward"
    assert og("verify", GRAPH).code == 0


def test_what_cannot_be_undone_needs_consent_there(og: Call, bucket: None, tmp_path: Path) -> None:
    (tmp_path / "s.pg").write_text(PEOPLE)
    (tmp_path / "p.jsonl").write_text(json.dumps(RECORDS[0]) + "\n")
    og("init", OTHER, "--schema", tmp_path / "s.pg")
    og("branch", "create", "work", "--uri", OTHER)
    for line in (
        ["load", OTHER, "--data", tmp_path / "p.jsonl", "--mode", "overwrite"],
        ["branch", "delete", "work", "--uri", OTHER],
        ["cleanup", OTHER, "--keep", "1", "--confirm"],
    ):
        refused = og(*line)
        assert (refused.code, "--yes" in refused.err) == (1, True), refused.err
        assert "→" not in refused.err, "asked before anything is announced"
        assert og(*line, "--json").json["code"] == "not_confirmed"
        done = og(*line, "--yes")
        assert done.code == 0, done.err
