"""A command with an idempotency key is done once, however often it is sent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.surfaces.cli.main import run

ADD = "query add($n: String) { insert Note { text: $n } }"
COUNT = "query q() { match { $n: Note } return { count($n) as n } }"


def done(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, Any]:
    code = run([*arguments, "--json"])
    told = capsys.readouterr()
    return code, json.loads(told.out) if told.out else json.loads(told.err)


def test_a_write_is_done_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = str(tmp_path / "g.omni")
    with og.init(where, "node Note { text: String }") as graph:
        graph.branches.create("work")
        graph.mutate(ADD, {"n": "of work"}, branch="work")
    (tmp_path / "more.jsonl").write_text('{"type": "Note", "data": {"text": "loaded"}}\n')
    writes = (
        ["mutate", "--store", where, "-e", ADD, "--params", '{"n": "a"}', "--idempotency-key", "k1"],
        ["load", where, "--data", str(tmp_path / "more.jsonl"), "--mode", "append", "--idempotency-key", "k2"],
        ["branch", "merge", "work", "--uri", where, "--idempotency-key", "k3"],
    )
    for written, command in enumerate(writes, 1):
        first, again = done(capsys, *command), done(capsys, *command)
        assert first[0] == again[0] == 0
        with og.open(where) as graph:
            assert graph.query(COUNT).one() == {"n": written}
            assert len([c for c in graph.commits() if c.idempotency_key is not None]) == written
    code, told = done(capsys, *writes[0][:6], '{"n": "b"}', "--idempotency-key", "k1")
    assert (code, told["code"]) == (1, "idempotency_key_reused")
    code, told = done(capsys, *writes[0][:7], "--idempotency-key", " ")
    assert code == 1
    assert "--idempotency-key is 1 to 200" in told["error"]
