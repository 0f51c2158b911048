"""Export: order, encoding, options, and that it loads back to an equal graph."""

from __future__ import annotations

import io
import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.engine import random_graphs
from tests.engine.graphs import make_graph
from tests.engine.load.loading import EVERYTHING, PEOPLE_LINES, exported, graph

import omnigraph as og
from omnigraph.engine.export import lines as export_lines
from omnigraph.engine.export.lines import export


def test_edges_first_then_nodes_by_name_and_id(tmp_path: Path) -> None:
    g = graph(tmp_path)
    g.load(PEOPLE_LINES)
    sink = io.BytesIO()
    done = g.export(sink)
    lines = sink.getvalue().splitlines()
    assert (done.entities, done.bytes, done.commit) == (11, len(sink.getvalue()), g.commits()[0].id)
    records = [json.loads(line) for line in lines]
    assert [r.get("edge") or r["type"] for r in records] == ["Knows"] * 3 + ["WorksAt"] * 2 + ["Company"] * 2 + ["Person"] * 4
    assert [r["data"]["id"] for r in records[5:]] == ["Acme", "Globex", "Alice", "Bob", "Charlie", "Diana"]
    assert lines[-1] == b'{"type":"Person","data":{"id":"Diana","age":28,"name":"Diana"}}'
    assert sorted(r["data"]["id"] for r in records[:3]) == [r["data"]["id"] for r in records[:3]]


def test_values_are_written_so_that_nothing_is_lost(tmp_path: Path) -> None:
    g = graph(tmp_path, EVERYTHING)
    data = {
        "name": "a",
        "day": "2024-01-01",
        "moment": "2024-01-01T00:00:00Z",
        "f32": 0.1,
        "u64": 2**64 - 1,
        "blob": "base64:aGk=",
    }
    g.load([{"type": "Thing", "data": data}])
    (record,) = exported(g)
    found = record["data"]
    assert (found["day"], found["moment"], found["u64"], found["blob"]) == (
        "2024-01-01",
        "2024-01-01T00:00:00.000Z",
        2**64 - 1,
        "base64:aGk=",
    )
    assert found["f32"] == 0.1  # and not the double that F32 widens to
    assert found["text"] is None
    assert list(found) == ["id", *sorted(set(found) - {"id"})]


def test_some_types_a_branch_and_the_past(tmp_path: Path) -> None:
    g = graph(tmp_path)
    g.load(PEOPLE_LINES)
    before = g.commits()[0].id
    g.load([{"type": "Person", "data": {"name": "Eve"}}], branch="b", from_="main")
    assert len(exported(g, types=["Person"])) == 4
    assert len(exported(g, types="Person", branch="b")) == 5
    assert len(exported(g, types=["Person", "Knows"], at=before)) == 7
    with pytest.raises(og.UsageError, match="unknown export type 'Persn'"):
        g.export(tmp_path / "x.jsonl", types=["Persn"])
    assert not (tmp_path / "x.jsonl").exists()


def test_nothing_is_left_of_an_export_that_fails(tmp_path: Path) -> None:
    g = graph(tmp_path)
    g.load(PEOPLE_LINES)
    (tmp_path / "out.jsonl").write_text("as before")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(export_lines, "lines", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            export(g._view(), tmp_path / "out.jsonl")
    assert (tmp_path / "out.jsonl").read_text() == "as before"
    assert [p.name for p in tmp_path.iterdir() if p.is_file()] == ["out.jsonl"]


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**9), st.sampled_from(["overwrite", "merge", "append"]))
def test_load_undoes_export(seed: int, mode: str) -> None:
    """export ∘ load ∘ export = export, for random schemas and graphs."""
    made = random_graphs.graph(seed)
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        first = make_graph(here, made.schema, made.past)
        first.export(here / "one.jsonl")
        second = og.init(here / "second", schema=made.schema, durability="os")
        second.load(here / "one.jsonl", mode=mode)  # type: ignore[arg-type]
        second.export(here / "two.jsonl")
        assert (here / "one.jsonl").read_bytes() == (here / "two.jsonl").read_bytes()
        first.close()
        second.close()


def test_a_place_where_no_file_can_be(tmp_path: Path) -> None:
    g = graph(tmp_path)
    with pytest.raises(og.NotFound, match=r"there is no folder .*nowhere to write into"):
        g.export(tmp_path / "nowhere" / "x.jsonl")
    (tmp_path / "there").mkdir()
    with pytest.raises(og.OutputFailed, match="there is a folder, not a file to write to") as error:
        g.export(str(tmp_path / "there"))
    assert error.value.hint is not None
    assert "FILE" in error.value.hint
    assert [p.name for p in tmp_path.rglob(".*.part")] == []
