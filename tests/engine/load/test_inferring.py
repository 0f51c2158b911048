"""Schemas proposed from files: they are schemas, they take the files, and they say what was guessed."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from tests.engine.every_type import data, graph_of_every_type
from tests.engine.load.loading import counts, exported, written

import omnigraph as og

NAMES = "names begin with a small letter, and have letters, digits and `_`"
REFUSED = "// A load refuses what is left out"
WITHOUT = "which also takes values that do not fit for null"


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
        f"// column `Odd Name` of Item is left out: {NAMES}. Rename it in the file, and write it here: odd_name: String",
        "// column `nested` of Item is left out: it has values of struct<a: int64>, which no property holds",
        f'{REFUSED}. Without it: g.load({{"Item": pyarrow.parquet.read_table("{folder}").drop_columns(["Odd Name", "nested"])}})',
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
        "// column `mixed` of Person is left out: it has values of several types",
        f'{REFUSED}. Without it: g.load("{tmp_path}/all.jsonl", dialect="compatible"), {WITHOUT}',
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


def test_what_is_left_out_is_said_with_a_way_to_load_the_rest(tmp_path: Path) -> None:
    table = pa.table({"k": ["a", "b"], "at": [time(1), None], "ID": [1, 2], "deep": [[[1]], [[2]]]})
    pq.write_table(table, tmp_path / "Item.parquet")
    feather.write_feather(table, tmp_path / "Thing.arrow")
    lines = [{"k": "a", "o": {"x": 1}, "m": 1, "Q": 2}, {"k": "b", "m": "x", "deep": [[1]]}, {"k": "c"}]
    written(tmp_path / "Log.jsonl", lines)
    schema = og.infer_schema(tmp_path)
    g = og.init(tmp_path / "g", schema, durability="os")
    for file in ("Item.parquet", "Thing.arrow", "Log.jsonl"):
        with pytest.raises(og.ValidationError):
            g.load(tmp_path / file)
    ways = [line.partition("Without it: ")[2].partition(", which")[0] for line in schema.splitlines() if REFUSED in line]
    for way in ways:
        eval(way, {"g": g, "pyarrow": pa})
    assert counts(g) == {"Item": 2, "Thing": 2, "Log": 3}


def test_columns_that_cannot_be_called_so(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text('name,First Name,AGE,,2020,"a\nb",_rowid,ID,Age\nx,Ada,1,y,7,z,1,3,2\n')
    schema = og.infer_schema(path)
    said = "Rename it in the file, and write it here"
    assert lines_of(schema, "People {")[2:] == [
        f"// column `First Name` of People is left out: {NAMES}. {said}: first_name: String",
        f"// column `AGE` of People is left out: {NAMES}. {said}: age: I64",
        f"// column `` of People is left out: {NAMES}. {said}: column: String",
        f"// column `2020` of People is left out: {NAMES}. {said}: _2020: I64",
        f"// column `a⏎b` of People is left out: {NAMES}. {said}: a_b: String",
        f"// column `_rowid` of People is left out: this name is taken. {said}: rowid: I64",
        f"// column `ID` of People is left out: {NAMES}. {said}: people_id: I64",
        f"// column `Age` of People is left out: {NAMES}. {said}: age: I64",
        "// A load refuses what is left out: rename it in the first line of the file.",
        "}",
    ]
    og.init(tmp_path / "g", schema, durability="os")


def test_cells_of_which_no_type_takes_all_are_texts(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text('name,tags,mixed\na,"[{""x"": 1}]","[1]"\nb,"[[1]]",x\n')
    schema = og.infer_schema(path)
    assert lines_of(schema, "People {")[2:-1] == ["tags: String", "mixed: String"]
    g = og.init(tmp_path / "g", schema, durability="os")
    g.load(path)
    assert {r["data"]["mixed"] for r in exported(g)} == {"[1]", "x"}


def test_ends_that_several_types_have_are_guessed_and_said(tmp_path: Path) -> None:
    """Integer keys of two files nearly always overlap: the type of which more are meant is the likelier one."""
    (tmp_path / "Customer.csv").write_text("customer_id,name\n" + "".join(f"{n},c{n}\n" for n in range(1, 51)))
    (tmp_path / "Product.csv").write_text("sku,price\n" + "".join(f"{n},{n}.5\n" for n in range(10, 31)))
    (tmp_path / "Ordered.csv").write_text("from,to\n1,10\n50,11\n2,30\n")
    said = og.infer_schema(tmp_path)
    assert "edge Ordered: Customer -> Product" in said
    assert "`to` is a guess: its ids are those of Customer, too" in said
    assert "`from` is a guess" not in said
    assert "customer_id: I64 @key" in said


def test_a_unique_column_that_cannot_be_called_so_is_the_key_to_be(tmp_path: Path) -> None:
    (tmp_path / "Customer.csv").write_text("Customer Id,joined\n1,2024-01-01\n2,2024-01-01\n")
    said = og.infer_schema(tmp_path)
    assert "only `Customer Id` is unique, which is left out" in said
    assert "write it here: customer_Id: I64 @key" in said or "write it here: customer_id: I64 @key" in said


def test_numbers_as_ids_are_better_called_otherwise(tmp_path: Path) -> None:
    (tmp_path / "Customer.csv").write_text("id,name\n1,a\n2,a\n")
    assert "To name them by numbers, rename it in the file, and write it here: customer_id: I64 @key" in og.infer_schema(tmp_path)
    (tmp_path / "Customer.csv").unlink()
    (tmp_path / "Customer.jsonl").write_text('{"id": 1, "name": "a"}\n{"id": 2, "name": "a"}\n')
    assert "rename it in the file, and write it here: customer_id: I64 @key" in og.infer_schema(tmp_path)


PEOPLE = "id_no,name,joined\n" + "".join(f"{n},p{n},2024-01-{n:02}\n" for n in range(1, 9))


def test_the_key_is_what_edges_refer_to(tmp_path: Path) -> None:
    (tmp_path / "Person.csv").write_text(PEOPLE)
    assert "name: String @key" in og.infer_schema(tmp_path)  # nobody refers to them: the likelier name
    (tmp_path / "City.csv").write_text("number,name\n1,Oslo\n2,Rome\n3,Bern\n")
    (tmp_path / "Knows.csv").write_text("from,to\n1,2\n8,7\n")
    (tmp_path / "LivesIn.csv").write_text("from,to\n1,2\n7,3\n")
    said = og.infer_schema(tmp_path)
    assert lines_of(said, "Person {")[1:3] == [
        "id_no: I64 @key  // edges refer to it; no value occurs twice, nor in name, joined",
        "name: String",
    ]
    assert lines_of(said, "City {")[1] == "number: I64 @key  // edges refer to it; no value occurs twice, nor in name"
    assert "edge Knows: Person -> Person" in said
    assert "edge LivesIn: Person -> City" in said
    g = og.init(tmp_path / "g", said, durability="os")
    g.load([*tmp_path.glob("*.csv")])
    assert counts(g) == {"Person": 8, "City": 3, "Knows": 2, "LivesIn": 2}


def test_edges_of_numbers_in_columns_that_have_types(tmp_path: Path) -> None:
    pq.write_table(pa.table({"name": ["a", "b"], "number": [1, 2]}), tmp_path / "Person.parquet")
    pq.write_table(pa.table({"from": [1], "to": [2]}), tmp_path / "Knows.parquet")
    assert "number: I64 @key" in og.infer_schema(tmp_path)


@pytest.mark.parametrize("ends", ["p1,p2", "nobody,p2"])
def test_a_likely_key_that_edges_refer_to_stays(tmp_path: Path, ends: str) -> None:
    """Also where an end is nobody's, and where other columns have the same values."""
    (tmp_path / "Person.csv").write_text(PEOPLE)
    (tmp_path / "Alias.csv").write_text("code,alias\nx,p1\ny,p2\n")
    (tmp_path / "Knows.csv").write_text(f"from,to\n{ends}\n")
    said = og.infer_schema(tmp_path)
    assert "name: String @key  // no value occurs twice" in said
    assert "code: String @key" in said


def test_a_column_id_says_who_is_who_whatever_edges_refer_to(tmp_path: Path) -> None:
    (tmp_path / "Person.csv").write_text("id,number\na,1\nb,2\n")
    (tmp_path / "Knows.csv").write_text("from,to\n1,2\n")
    said = og.infer_schema(tmp_path)
    assert "@key" not in "".join(lines_of(said, "Person {"))
    assert "`from` is a guess: no type has all of its ids" in said
