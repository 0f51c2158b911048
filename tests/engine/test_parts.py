"""Jobs over parts of a graph: exports that load back to an equal graph, and numbers that add up."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from tests.engine.graphs import delete, make_graph

import omnigraph as og
from omnigraph.engine.export import parts as exporting
from omnigraph.engine.export import statistics as counting
from omnigraph.engine.export.parts import export_parts
from omnigraph.engine.export.statistics import PropertyStatistics, statistics
from omnigraph.storage.tables.work import here, in_threads

SCHEMA = """
    node Thing {
        name: String @key
        b: Bool?  i: I32?  v: U64?  d: F64?  day: Date?  at: DateTime?  color: enum(red, blue)?  vec: Vector(2)?  blob: Blob?
        tags: [String]?  vs: [U64]?
    }
    edge Near: Thing -> Thing { w: F64? }
"""


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    made = make_graph(tmp_path, SCHEMA, {})
    for start in range(0, 60, 20):
        rows: list[dict[str, Any]] = [
            {"name": f"t{n}", "i": n % 7, "v": 2**64 - 1 - n, "d": n / 4, "day": f"2024-01-{n % 28 + 1:02}", "b": n % 2 == 0}
            | ({"tags": ["x"] * (n % 3), "vs": [n], "vec": [n, 1], "blob": "base64:AAEC", "color": "red"} if n % 5 else {})
            for n in range(start, start + 20)
        ]
        edges = [{"edge": "Near", "from": f"t{n}", "to": f"t{start}", "data": {"w": float(n)}} for n in range(start, start + 20)]
        made.load([*({"type": "Thing", "data": row} for row in rows), *edges])
    delete(made, "Near", made._view().edges("Near").stored.table.read(["id"])["id"].to_pylist()[:5])
    return made


def exported(graph: og.Graph) -> bytes:
    sink = io.BytesIO()
    graph.export(sink)
    return sink.getvalue()


@pytest.mark.parametrize("format_", ["jsonl", "parquet"])
def test_a_folder_of_parts_loads_back_to_an_equal_graph(
    graph: og.Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format_: str
) -> None:
    monkeypatch.setattr(exporting, "FILE_ROWS", 25)
    target = tmp_path / "out"
    done = export_parts(graph._view(), graph._store.place, str(target), format_=format_, run=in_threads(2))
    assert done.entities == 60 + 55
    told = json.loads((target / "_export.json").read_text())
    assert told["commit"] == done.commit == graph.commits()[0].id
    assert {f["name"] for f in told["files"]} == {p.name for p in target.iterdir()} - {"_export.json"}
    assert len(told["files"]) >= 4
    (target / "_export.json").unlink()
    with og.init(tmp_path / "copy", schema=SCHEMA, durability="os") as copy:
        copy.load(target, mode="append")
        assert exported(copy) == exported(graph)


def test_what_cannot_be_exported_is_refused(graph: og.Graph, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").write_text("")
    for target, options, error in (
        ("full", {}, og.AlreadyExists),
        ("new", {"format_": "xml"}, og.UsageError),
        ("new", {"types": ["Thin"]}, og.UsageError),
    ):
        with pytest.raises(error):
            export_parts(graph._view(), graph._store.place, str(tmp_path / target), run=here, **options)
    assert not (tmp_path / "new").exists()


def test_statistics_are_what_counting_gives(graph: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "PART_ROWS", 15)
    near, thing = statistics(graph._view(), graph._store.place, run=here)
    rows = graph._view().nodes("Thing").stored.table.read(
        [n for n in graph._view().catalog.nodes["Thing"].properties if n != "blob"]
    ).to_pylist()  # fmt: skip
    assert (thing.name, thing.rows, near.rows) == ("Thing", 60, 55)
    assert {p.name for p in thing.properties} == set(rows[0])
    for prop in thing.properties:
        values = [row[prop.name] for row in rows if row[prop.name] is not None]
        assert (prop.values, prop.missing) == (len(values), len(rows) - len(values)), prop.name
        assert (prop.distinct, prop.is_exact) == (len({repr(v) for v in values}), True), prop.name
        if not values:
            continue
        if not isinstance(values[0], list | bool):
            assert (prop.minimum, prop.maximum) == (min(values), max(values)), prop.name
        if isinstance(values[0], int | float) and not isinstance(values[0], bool):
            assert prop.mean == pytest.approx(sum(values) / len(values)), prop.name
        if isinstance(values[0], str | list):
            assert prop.mean == pytest.approx(sum(map(len, values)) / len(values)), prop.name
    assert near["src"].distinct == 55
    assert near["dst"].distinct == 3


def test_statistics_of_what_pythons_calendar_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "PART_ROWS", 1)
    g = make_graph(tmp_path, "node D { k: String @key  day: Date?  at: DateTime?  days: [Date]?  f: F32? }", {})
    for k, day in enumerate(("-0044-03-15", "2024-02-29", "+12024-01-05", "+12024-01-05")):  # a part each
        g.load([{"type": "D", "data": {"k": str(k), "day": day, "at": f"{day}T10:00:00Z", "days": [day], "f": 0.1}}])
    (found,) = statistics(g._view(), g._store.place, run=here)
    assert (found["day"].minimum, found["day"].maximum, found["day"].distinct) == ("-00044-03-15", "+12024-01-05", 3)
    assert (found["at"].minimum, found["at"].maximum) == ("-00044-03-15T10:00:00.000Z", "+12024-01-05T10:00:00.000Z")
    assert (found["days"].distinct, found["f"].minimum) == (3, 0.1)


def test_many_different_values_are_estimated(tmp_path: Path) -> None:
    import pyarrow as pa

    parts = [
        counting._counted("x", pa.array([f"v{n}" for n in range(start, start + 20_000)])) for start in range(0, 80_000, 10_000)
    ]
    both = PropertyStatistics("x")
    for part in parts:
        both = both.with_(part)
    assert not both.is_exact
    assert both.distinct == pytest.approx(90_000, rel=0.12)
    numbers = counting._counted("n", pa.array(range(50_000)))
    assert numbers.distinct == pytest.approx(50_000, rel=0.12)
    assert (numbers.minimum, numbers.maximum, numbers.mean) == (0, 49_999, 24_999.5)
