"""Schemas proposed from files: they are schemas, they take the files, and they say what was guessed."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.engine.every_type import data, graph_of_every_type
from tests.engine.load.loading import counts, exported, written

import omnigraph as og


def lines_of(schema: str, name: str) -> list[str]:
    """The declaration of a type, without blanks at the ends of lines."""
    body = schema[schema.index(f" {name}") :]
    return [line.strip() for line in body[: body.index("\n\n") if "\n\n" in body else len(body)].splitlines()]


def test_columns_of_texts(tmp_path: Path) -> None:
    states = ["open", "closed"] * 15
    rows = "".join(
        f'n{n},{n}@x,{n},0{n},{n}.5,2024-01-{n % 28 + 1:02},2024-01-01T10:00:00Z,true,{states[n]},"[1, {n}]",{"" if n else 7},\n'
        for n in range(30)
    )
    (tmp_path / "people.csv").write_text(f"name,email,age,zip,size,born,seen,fine,state,marks,rare,void\n{rows}")
    (tmp_path / "knows.csv").write_text("from,to,since\n" + "".join(f"n{n},n{n + 1},2024-01-01\n" for n in range(20)))
    schema = og.infer_schema([tmp_path / "people.csv", tmp_path / "knows.csv"])
    assert lines_of(schema, "People {") == [
        "People {",
        "name: String @key  // no value occurs twice, nor in email, age, zip",
        "email: String",
        "age: I64",
        "zip: String",
        "size: F64",
        "born: Date",
        "seen: DateTime",
        "fine: Bool",
        "state: String  // perhaps enum(closed, open)",
        "marks: [I64]",
        "rare: I64?  // 29 rows without a value",
        "void: String?  // no row has a value",
        "}",
    ]
    assert lines_of(schema, "Knows:")[0] == "Knows: People -> People @key(src, dst) {"
    g = og.init(tmp_path / "g", schema, durability="os")
    g.load({"People": tmp_path / "people.csv", "Knows": tmp_path / "knows.csv"})
    assert counts(g) == {"People": 30, "Knows": 20}


def test_columns_that_have_types(tmp_path: Path) -> None:
    table = pa.table(
        {
            "code": pa.array([1, 2], pa.uint32()),
            "score": pa.array([0.5, None], pa.float32()),
            "day": pa.array([date(2024, 1, 1)] * 2),
            "at": pa.array([datetime(2024, 1, 1, tzinfo=UTC)] * 2, pa.timestamp("ms", "UTC")),
            "tags": pa.array([["a"], []]),
            "place": pa.array([[1.0, 2.0]] * 2, pa.list_(pa.float32(), 2)),
            "photo": pa.array([b"x", b"y"]),
            "Odd Name": pa.array(["x", "y"]),
            "nested": pa.array([{"a": 1}] * 2),
        }
    )
    folder = tmp_path / "Item.parquet"
    folder.mkdir()
    pq.write_table(table, folder / "part-0.parquet")
    pq.write_table(table.set_column(0, "code", pa.array([3, 4], pa.uint32())), folder / "part-1.parquet")
    schema = og.infer_schema(tmp_path)
    assert lines_of(schema, "Item {")[1:-1] == [
        "code: U32 @key  // no value occurs twice",
        "score: F32?  // 2 rows without a value",
        "day: Date",
        "at: DateTime",
        "tags: [String]",
        "place: Vector(2)",
        "photo: Blob",
        "// column `Odd Name` is left out: it cannot be called so: names begin with a small letter",
        "// column `nested` is left out: it has values of several types",
    ]
    g = og.init(tmp_path / "g", schema, durability="os")
    g.load({"Item": table.drop_columns(["Odd Name", "nested"])})
    assert counts(g) == {"Item": 2}


def test_lines_of_records_and_of_objects(tmp_path: Path) -> None:
    records = [
        {"type": "Person", "data": {"name": "Ada", "age": 36}},
        {"type": "Person", "data": {"name": "Bob", "born": "2000-01-01", "size": 1}},
        {"type": "Person", "data": {"name": "Cy", "size": 1.5, "mixed": 1}},
        {"type": "Person", "data": {"name": "Dee", "mixed": "x"}},
        {"edge": "Likes", "from": "Ada", "to": "Bob", "data": {"much": True}},
        {"edge": "Likes", "from": "Ada", "to": "Bob"},
    ]
    schema = og.infer_schema(str(written(tmp_path / "all.jsonl", records)))
    assert lines_of(schema, "Person {")[1:-1] == [
        "name: String @key  // no value occurs twice",
        "age: I64?  // 3 rows without a value",
        "born: Date?  // 3 rows without a value",
        "size: F64?  // 2 rows without a value",
        "// column `mixed` is left out: it has values of several types",
    ]
    assert lines_of(schema, "Likes:") == ["Likes: Person -> Person {", "much: Bool?  // 1 row without a value", "}"]
    plain = written(tmp_path / "sensor-readings.json", [{"id": "a", "value": 1}, {"id": "b", "value": 1}])
    assert "the column `id` says who is who\nnode SensorReadings {\n    value: I64\n}" in og.infer_schema(plain)
    repeated = written(tmp_path / "log.jsonl", [{"value": 1}, {"value": 1}])
    assert "no column is unique" in og.infer_schema(repeated)


def test_what_is_exported_can_be_loaded_again(tmp_path: Path) -> None:
    """Whatever the types of properties are, the proposal takes what was looked at."""
    g = graph_of_every_type(tmp_path, range(0))
    g.load(
        {
            name: [{n: v for n, v in row.items() if "blob" not in n} for row in rows]
            for name, rows in data(range(6)).items()
            if name == "Plain"
        }
    )
    g.export(tmp_path / "all.jsonl")
    schema = og.infer_schema(tmp_path / "all.jsonl")
    copy = og.init(tmp_path / "copy", schema, durability="os")
    copy.load(tmp_path / "all.jsonl")
    assert [r["data"]["id"] for r in exported(copy)] == [r["data"]["id"] for r in exported(g)]


@pytest.mark.parametrize(
    ("name", "content", "error", "says"),
    [
        ("x.jsonl", "nonsense\n", og.UsageError, "x.jsonl:1 is not JSON"),
        ("x.jsonl", "[1]\n", og.UsageError, "is not an object"),
        ("x.txt", "a,b\n", og.UsageError, "what kind of file"),
        ("x.csv", "", og.UsageError, "x.csv cannot be read: it is empty"),
        ("x.parquet", "", og.UsageError, "x.parquet cannot be read: it is empty"),
        ("x.csv", "a,b\n\udcff,1\n", og.UsageError, "x.csv cannot be read: not UTF-8"),
    ],
)
def test_what_cannot_be_looked_at(tmp_path: Path, name: str, content: str, error: Any, says: str) -> None:
    (tmp_path / name).write_bytes(content.encode(errors="surrogateescape"))
    with pytest.raises(error, match=says) as refused:
        og.infer_schema(tmp_path / name)
    assert not refused.value.retryable


def test_an_empty_file_has_columns(tmp_path: Path) -> None:
    (tmp_path / "Person.csv").write_text("name,age\n")
    schema = og.infer_schema(tmp_path / "Person.csv")
    assert "name: String?" in schema
    og.init(tmp_path / "g", schema, durability="os").load(tmp_path / "Person.csv")
    assert json.dumps(schema)
