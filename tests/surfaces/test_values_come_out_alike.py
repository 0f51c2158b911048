"""Edge values look the same in every form of an answer, and what is written as CSV or exported loads back as it was."""

from __future__ import annotations

import io
import json
import math
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import polars
import pyarrow as pa
import pytest
from tests.surfaces.calling import Call

import omnigraph
from omnigraph.surfaces.cli.answers import lines_of

SCHEMA = """
node Thing {
    name: String @key
    text: String?
    flag: Bool?
    u64: U64?
    i64: I64?
    f32: F32?
    f64: F64?
    day: Date?
    moment: DateTime?
    vector: Vector(2)?
    words: [String]?
    singles: [F32]?
    days: [Date]?
    moments: [DateTime]?
}
"""
COLUMNS = ["name", "text", "flag", "u64", "i64", "f32", "f64", "day", "moment", "vector", "words", "singles", "days", "moments"]
ASK = "query all() { match { $t: Thing } return { " + ", ".join(f"$t.{c} as {c}" for c in COLUMNS) + " } order { name asc } }"

EDGES: list[dict[str, Any]] = [
    {"name": "a", "text": "", "flag": False, "u64": 2**64 - 1, "i64": -(2**63), "f32": 0.1, "f64": -0.0, "day": "+12024-01-05",
     "moment": "+10000-01-01T00:00:00.001Z", "vector": [0.1, 1e-45], "words": [], "singles": [0.1], "days": ["-00044-03-15", "2024-01-01"],
     "moments": ["+00000-01-01T00:00:00.000Z"]},
    {"name": "b", "text": 'null, "x"\r\ny\n', "flag": True, "u64": 0, "i64": 2**63 - 1, "f32": 3.4028235e38, "f64": 5e-324,
     "day": "0001-01-01", "moment": "0999-12-31T23:59:59.999Z", "vector": [-0.0, 16777216.0], "words": ["", "a,\"b\"\n"],
     "singles": [-0.0, 1e21], "days": [], "moments": ["1969-12-31T23:59:59.999Z"]},
    {"name": "c", **dict.fromkeys(COLUMNS[1:])},
    {"name": "d", **dict.fromkeys(COLUMNS[1:]), "text": "null", "f32": 1.1754944e-38, "f64": 1.7976931348623157e308, "day": "9999-12-31"},
]  # fmt: skip
IN_ROWS = {
    "2024-01-01": date(2024, 1, 1),
    "0001-01-01": date(1, 1, 1),
    "9999-12-31": date(9999, 12, 31),
    "0999-12-31T23:59:59.999Z": datetime(999, 12, 31, 23, 59, 59, 999_000, UTC),
    "1969-12-31T23:59:59.999Z": datetime(1969, 12, 31, 23, 59, 59, 999_000, UTC),
}
"""What Python has a date for is one in rows; the rest is text there too."""


@pytest.fixture
def things(tmp_path: Path) -> omnigraph.Graph:
    g = omnigraph.init(tmp_path / "g", schema=SCHEMA, durability="os")
    g.load([{"type": "Thing", "data": row} for row in EDGES])
    return g


def texts(rows: list[dict[str, Any]]) -> list[str]:
    """Rows as JSON text: the sign of a zero and the digits of a float count."""
    return [json.dumps(row, sort_keys=True) for row in rows]


def in_rows(value: Any) -> Any:
    return (
        [in_rows(v) for v in value] if isinstance(value, list) else IN_ROWS.get(value, value) if isinstance(value, str) else value
    )


def test_every_form_shows_the_same(things: omnigraph.Graph) -> None:
    answer = things.query(ASK)
    assert texts(answer.to_dict()["rows"]) == texts(EDGES)
    assert texts(json.loads(answer.to_json())["rows"]) == texts(EDGES)
    assert texts([json.loads(line) for line in list(lines_of(answer, "jsonl"))[1:]]) == texts(EDGES)
    assert repr(answer.rows) == repr([{k: in_rows(v) for k, v in row.items()} for row in EDGES])
    sink = io.BytesIO()
    things.export(sink)
    exported = [json.loads(line)["data"] for line in sink.getvalue().splitlines()]
    assert texts([{k: v for k, v in row.items() if k != "id"} for row in exported]) == texts(EDGES)
    kv = [line.partition(": ")[2] for line in lines_of(answer, "kv") if line.startswith("f32: ")]
    assert kv == ["0.1", "3.4028235e+38", "null", "1.1754944e-38"]
    assert "0.1" in answer.to_table().splitlines()[2].split()


def test_frames_keep_their_types_and_can_be_shown(things: omnigraph.Graph) -> None:
    answer = things.query(ASK)
    table = answer.to_arrow()
    assert table.schema.field("day").type == pa.date32()
    assert table.schema.field("f32").type == pa.float32()
    assert table["u64"].to_pylist()[0] == 2**64 - 1
    assert math.copysign(1, table["f64"].to_pylist()[0]) == -1
    frame = answer.to_pandas()
    assert frame["day"].tolist() == [row["day"] for row in answer.rows]
    assert "+12024-01-05" in repr(frame["day"])
    assert list(frame.columns) == COLUMNS
    shown = answer.to_polars()
    assert shown["day"].dtype == polars.Date
    assert "+12024-01-05" in str(shown["day"])


@pytest.mark.parametrize("mode", ["overwrite", "merge"])
def test_csv_written_by_the_command_line_loads_back(og: Call, things: omnigraph.Graph, tmp_path: Path, mode: str) -> None:
    home = tmp_path / "g"
    og("query", "--store", home, "-e", ASK, "--format", "csv", "--out", tmp_path / "Thing.csv")
    again = omnigraph.init(tmp_path / "again", schema=SCHEMA, durability="os")
    again.load(tmp_path / "Thing.csv", mode=mode)  # type: ignore[arg-type]
    assert texts(again.query(ASK).to_dict()["rows"]) == texts(EDGES)
    assert og("query", "--store", home, "-e", ASK, "--format", "csv").out.encode() == (tmp_path / "Thing.csv").read_bytes()


@pytest.mark.parametrize("name", [*COLUMNS[1:], "name"])
def test_csv_of_one_column_keeps_its_rows(og: Call, things: omnigraph.Graph, tmp_path: Path, name: str) -> None:
    ask = f"query q() {{ match {{ $t: Thing }} return {{ $t.{name} as {name} }} order {{ $t.name }} }}"
    og("query", "--store", tmp_path / "g", "-e", ask, "--format", "csv", "--out", tmp_path / "Only.csv")
    kind = str(things._view().catalog.nodes["Thing"].properties[name].type)
    again = omnigraph.init(tmp_path / "again", schema=f"node Only {{ {name}: {kind} }}", durability="os")
    again.load(tmp_path / "Only.csv", mode="append")
    found = again.query(f"query q() {{ match {{ $t: Only }} return {{ $t.{name} as {name} }} }}").to_dict()["rows"]
    assert sorted(texts(found)) == sorted(texts(things.query(ask).to_dict()["rows"]))
