"""What a graph takes by one door it can export, and load again: at the edges of what may be, and with few bytes at a time."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.engine.load.loading import exported, graph, refused

import omnigraph as og
from omnigraph.catalog.catalog import EntityType
from omnigraph.catalog.opening import offline_catalog
from omnigraph.engine.arrays import json_lines
from omnigraph.engine.export import lines, parts
from omnigraph.engine.load.read.parallel.tasks import read_rows
from omnigraph.engine.load.read.rows.types import Types
from omnigraph.engine.write.rules import size
from omnigraph.language import Source
from omnigraph.model.limits import MAX_ENTITY_BYTES, MAX_EXTERNAL_BYTES, MAX_LINE_BYTES
from omnigraph.storage.tables.cell_bytes import cell_bytes
from omnigraph.storage.tables.work import in_threads

SCHEMA = """
node P {
    k: String @key
    text: String?
    data: Blob?
    flags: [Bool]?
    numbers: [I64]?
    words: [String]?
    moments: [DateTime]?
    place: Vector(2)?
}
edge Knows: P -> P { note: String? }
"""


def again(g: og.Graph, folder: Path) -> og.Graph:
    """A graph of what another one exports."""
    g.export(folder / "all.jsonl")
    other = graph(folder, SCHEMA)
    other.load(folder / "all.jsonl")
    return other


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("data", pa.array([b"\x07" * 26_000_000], pa.large_binary())),
        ("text", pa.array(["é" * 17_000_000])),
        ("numbers", pa.array([list(range(140_000))])),
        ("flags", pa.array([[False] * 3_000_000])),
        ("words", pa.array([["[{,:"] * 140_000])),
    ],
    ids=["blob", "text", "numbers", "flags", "words"],
)
def test_large_entities_load_back(tmp_path: Path, name: str, column: pa.Array) -> None:
    g = graph(tmp_path, SCHEMA)
    g.load({"P": pa.table({"k": ["a"], name: column})})
    (tmp_path / "again").mkdir()
    other = again(g, tmp_path / "again")
    sink, second = io.BytesIO(), io.BytesIO()
    g.export(sink)
    other.export(second)
    assert sink.getvalue() == second.getvalue()
    assert len(sink.getvalue()) > column.nbytes / 2


def test_every_line_of_an_export_may_be_loaded() -> None:
    assert MAX_ENTITY_BYTES + 4 * MAX_EXTERNAL_BYTES // 3 + 1024 < MAX_LINE_BYTES  # with all that one write copies in


CHARACTERS = st.characters(codec="utf-8")
VALUES = st.fixed_dictionaries(
    {},
    optional={
        "text": st.text(CHARACTERS, max_size=400) | st.just("\x00" * 300),
        "data": st.binary(max_size=2_000),
        "flags": st.lists(st.booleans(), max_size=400),
        "numbers": st.lists(st.integers(-(2**63), 2**63 - 1), max_size=120),
        "words": st.lists(st.text(CHARACTERS, max_size=30), max_size=40),
        "moments": st.lists(st.integers(-62_000_000_000_000, 253_000_000_000_000), max_size=90),
        "place": st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=2, max_size=2),
    },
)


@given(st.lists(VALUES, min_size=1, max_size=6))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_row_is_too_large_exactly_if_its_line_is(monkeypatch: pytest.MonkeyPatch, rows: list[dict[str, Any]]) -> None:
    """The bound that spares measuring is one."""
    catalog = offline_catalog(Source(SCHEMA, "s.pg"))
    type_ = catalog.nodes["P"]
    monkeypatch.setattr(size, "MAX_ENTITY_BYTES", 1_000)
    given_rows: list[object] = [{"k": f"k{n}", **row} for n, row in enumerate(rows)]
    parsed = read_rows(given_rows, type_, Types(catalog), 1)
    (made,) = parsed.rows
    table = pa.Table.from_batches([made.batch])
    long = {n + 1 for n in range(len(rows)) if len(json_lines.lines(type_, table.slice(n, 1))) > 1_000}
    assert {v.line for v in parsed.violations if v.rule == "limit"} == long
    for column in table.columns:
        assert (cell_bytes(pa.concat_arrays(column.chunks)) >= 0).all()


@pytest.mark.parametrize("door", ["rows", "frame", "lines", "csv", "mutate", "update", "merge"])
def test_what_is_too_large_is_refused_at_every_door(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, door: str) -> None:
    g = graph(tmp_path, SCHEMA)
    g.load([{"type": "P", "data": {"k": "a", "text": "x" * 400}}])
    text = "y" * 900
    if door == "merge":  # each side is small enough
        g.branches.create("work")
        g.mutate('query q($t: [String]) { update P set { words: $t } where k = "a" }', params={"t": ["z" * 600]}, branch="work")
        g.mutate('query q($t: String) { update P set { text: $t } where k = "a" }', params={"t": "x" * 600})
    monkeypatch.setattr(size, "MAX_ENTITY_BYTES", 1_000)
    (tmp_path / "P.csv").write_text(f"k,text\nb,{text}\n")
    sources: dict[str, Any] = {
        "rows": {"P": [{"k": "b", "text": text}]},
        "frame": {"P": pa.table({"k": ["b"], "text": [text]})},
        "lines": [{"type": "P", "data": {"k": "b", "text": text}}],
        "csv": tmp_path / "P.csv",
    }
    before = exported(g)
    if door in sources:
        assert [v.rule for v in refused(g, sources[door])] == ["limit"]
    else:
        change = 'insert P { k: "b", text: $t }' if door == "mutate" else 'update P set { text: $t } where k = "a"'
        with pytest.raises(og.errors.GraphError, match="value_constraint" if door == "merge" else "too large"):
            g.merge("work") if door == "merge" else g.mutate(f"query q($t: String) {{ {change} }}", params={"t": text})
    assert exported(g) == before


# ── memory ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_chunks_hold_few_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    g = graph(tmp_path, SCHEMA)
    sizes = [0, 5, 90_000, 10, 70_000, 70_000, 3, 200_000, 1, 1]
    rows = [{"k": f"k{n}", "text": "x" * length, "words": ["w" * (length // 10)]} for n, length in enumerate(sizes)]
    g.load({"P": rows})
    g.load(
        {
            "P": [
                {"k": f"l{n}", "data": os.urandom(length), "numbers": list(range(length // 30))} for n, length in enumerate(sizes)
            ]
        }
    )
    whole = exported(g)
    monkeypatch.setattr(lines, "CHUNK_BYTES", 150_000)
    monkeypatch.setattr(parts, "FILE_BYTES", 150_000)
    monkeypatch.setattr(parts, "_BATCH_BYTES", 150_000)
    seen: list[int] = []

    def noted(type_: EntityType, rows: pa.Table) -> bytes:
        seen.append(rows.nbytes)
        return json_lines.lines(type_, rows)

    for module in (lines, parts):
        monkeypatch.setattr(module, "lines", noted)
    assert exported(g) == whole
    assert len(seen) > 6
    assert max(seen) < 260_000
    seen.clear()
    parts.export_parts(g._view(), g._store.place, str(tmp_path / "parts"), format_="jsonl", run=in_threads(1))
    assert len(seen) > 3
    assert max(seen) < 450_000
    other = graph(tmp_path, SCHEMA)
    other.load(tmp_path / "parts")
    assert exported(other) == whole
