"""What may be given: files of each format, folders, patterns, frames, rows, records, streams."""

from __future__ import annotations

import gzip
import io
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.engine.load.loading import EVERYTHING, PEOPLE_LINES, counts, exported, graph, refused, written

import omnigraph as og

FULL = {
    "name": "a",
    "text": 'two\nlines, "quoted"',
    "kind": "a",
    "flag": True,
    "i32": -5,
    "i64": 2**62,
    "u32": 2**32 - 1,
    "u64": 2**64 - 1,
    "f32": 0.5,
    "f64": 0.1,
    "day": 19_723,
    "moment": 1_704_060_000_123,
    "vector": [1.0, 2.0, 3.5],
    "blob": "base64:aGk=",
    "words": ["x", "y"],
    "numbers": [1, 2],
    "floats": [0.25],
    "days": [0, 1],
}
SPELT = {"day": "2024-01-01", "moment": "2023-12-31T22:00:00.123Z", "days": ["1970-01-01", "1970-01-02"]}
"""Those of its values that an export spells in another way than they are given here."""
STORED = {"id": "a", **FULL, **SPELT}
EMPTY = {"id": "b", **dict.fromkeys(FULL), "name": "b"}


def stored(g: og.Graph) -> list[dict[str, Any]]:
    return [dict(sorted(r["data"].items())) for r in exported(g, types=["Thing"])]


def both() -> list[dict[str, Any]]:
    return [dict(sorted(STORED.items())), dict(sorted(EMPTY.items()))]


ARROW = pa.table(
    {
        "name": pa.array(["a", "b"], pa.large_string()),
        "text": pa.array([FULL["text"], None]).dictionary_encode(),
        "kind": pa.array(["a", None]),
        "flag": pa.array([True, None]),
        "i32": pa.array([-5.0, None]),
        "i64": pa.array([2**62, None], pa.int64()),
        "u32": pa.array([2**32 - 1, None], pa.int64()),
        "u64": pa.array([2**64 - 1, None], pa.uint64()),
        "f32": pa.array([0.5, None], pa.float64()),
        "f64": pa.array([0.1, None], pa.float64()),
        "day": pa.array([date(2024, 1, 1), None]),
        "moment": pa.array([1_704_060_000_123_000, None], pa.timestamp("us")),
        "vector": pa.array([[1, 2, 3.5], None], pa.list_(pa.float64(), 3)),
        "blob": pa.array([b"hi", None]),
        "words": pa.array([["x", "y"], None], pa.large_list(pa.string())),
        "numbers": pa.array([[1, 2], None], pa.list_(pa.int64())),
        "floats": pa.array([[0.25], None]),
        "days": pa.array([[date(1970, 1, 1), date(1970, 1, 2)], None]),
    }
)

CSV = (
    "name,text,kind,flag,i32,i64,u32,u64,f32,f64,day,moment,vector,blob,words,numbers,floats,days\n"
    f'a,"two\nlines, ""quoted""",a,true,-5,{2**62},{2**32 - 1},{2**64 - 1},0.5,0.1,2024-01-01,2023-12-31T22:00:00.123Z,"[1,2,3.5]",base64:aGk=,"[""x"",""y""]","[1,2]",[0.25],"[0,1]"\n'
    "b,,,,,,,,,,,,,,,,,\n"
)


class Speaks:
    """A data frame of somebody else, which speaks Arrow's interface."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


PYTHON = [
    {
        **FULL,
        "day": date(2024, 1, 1),
        "moment": datetime(2023, 12, 31, 22, 0, 0, 123_000, tzinfo=UTC),
        "blob": b"hi",
        "i32": np.int64(-5),
        "vector": np.array([1, 2, 3.5], np.float32),
        "days": [date(1970, 1, 1), date(1970, 1, 2)],
        "words": ("x", "y"),
    },
    {"name": "b"},
]


@pytest.mark.parametrize(
    "form", ["table", "batches", "speaks", "rows", "iterator", "records", "csv", "csv.gz", "parquet", "path of a type"]
)
def test_every_form_gives_the_same_rows(tmp_path: Path, form: str) -> None:
    g = graph(tmp_path, EVERYTHING)
    pq.write_table(ARROW, tmp_path / "Thing.parquet")
    (tmp_path / "Thing.csv").write_text(CSV)
    (tmp_path / "Thing.csv.gz").write_bytes(gzip.compress(CSV.encode()))
    source: object = {
        "table": {"Thing": ARROW},
        "batches": {"Thing": ARROW.to_reader(1)},
        "speaks": {"Thing": Speaks(ARROW)},
        "rows": {"Thing": PYTHON},
        "iterator": {"Thing": iter(PYTHON)},
        "records": [{"type": "Thing", "data": row} for row in PYTHON],
        "csv": tmp_path / "Thing.csv",
        "csv.gz": tmp_path / "Thing.csv.gz",
        "parquet": str(tmp_path / "Thing.parquet"),
        "path of a type": {"Thing": tmp_path / "Thing.parquet"},
    }[form]
    g.load(source)
    assert stored(g) == both()


def test_pandas_and_polars(tmp_path: Path) -> None:
    import pandas

    g = graph(tmp_path)
    frame = pandas.DataFrame({"name": ["a", "b"], "age": [1, None]})
    g.load({"Person": frame, "Knows": pandas.DataFrame({"from": ["a"], "to": ["b"], "since": [pandas.Timestamp("2024-01-01")]})})
    assert [r["data"].get("age") for r in exported(g, types=["Person"])] == [1, None]
    assert exported(g, types=["Knows"])[0]["data"]["since"] == "2024-01-01"


def test_edges_by_either_name_of_their_ends(tmp_path: Path) -> None:
    g = graph(tmp_path)
    g.load({"Person": [{"name": "a"}, {"name": "b"}], "Knows": pa.table({"src": ["a"], "dst": ["b"]})})
    g.load({"knows": [{"from": "b", "to": "a", "since": "2020-01-01"}]})
    assert [(r["from"], r["to"]) for r in exported(g, types=["Knows"])] in ([("a", "b"), ("b", "a")], [("b", "a"), ("a", "b")])


def test_folders_patterns_and_several_paths_are_one_commit(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    lines = PEOPLE_LINES.read_text().splitlines()
    written(folder / "1.jsonl", lines[6:])
    written(folder / "2.ndjson", lines[:2])
    (folder / "3.jsonl.gz").write_bytes(gzip.compress("\n".join(lines[2:4]).encode()))
    (folder / "company.csv").write_text("name\nAcme\nGlobex\n")
    (folder / "_SUCCESS").write_text("")
    sources = [folder, str(folder / "*[!S]"), [folder / "company.csv", str(folder / "[123]*")]]
    for source in sources:
        g = graph(tmp_path)
        g.load(source)
        assert counts(g) == {"Person": 4, "Company": 2, "Knows": 3, "WorksAt": 2}
        assert len(g.commits()) == 2


def test_the_type_of_a_file_may_be_said(tmp_path: Path) -> None:
    g = graph(tmp_path)
    (tmp_path / "people.csv").write_text("name,age\nAda,36\n")
    with pytest.raises(og.UsageError, match="no type `people`"):
        g.load(tmp_path / "people.csv")
    g.load(tmp_path / "people.csv", types={"people.csv": "Person"})
    assert counts(g) == {"Person": 1}


def test_streams(tmp_path: Path) -> None:
    g = graph(tmp_path)
    g.load(io.BytesIO(PEOPLE_LINES.read_bytes()))
    g.load(io.StringIO('{"type":"Person","data":{"name":"Zoé"}}'))
    assert counts(g)["Person"] == 5


def test_csv_lines_are_those_of_the_file(tmp_path: Path) -> None:
    g = graph(tmp_path)
    (tmp_path / "Person.csv").write_text('name,age\n\n"a\nb",1\nc,old\nd\n\ne,5,6\n"f\n\ng",x\n')
    found = refused(g, tmp_path / "Person.csv")
    assert [(v.rule, v.line) for v in found] == [("type", 5), ("csv", 6), ("csv", 8), ("type", 9)]


def test_columns_that_are_missing_or_unknown_are_told_once(tmp_path: Path) -> None:
    g = graph(tmp_path)
    found = refused(g, {"Person": pa.table({"nam": ["a", "b"], "age": [1, 2]})})
    assert sorted((v.rule, v.property) for v in found if v.line is None) == [("required", "name"), ("unknown_property", "nam")]
    found = refused(g, {"Knows": pa.table({"from": ["a"]})})
    assert [(v.rule, v.property) for v in found if v.line is None] == [("record", "to")]


def test_values_of_a_frame_that_do_not_fit_are_named(tmp_path: Path) -> None:
    g = graph(tmp_path)
    names = [f"p{n}" for n in range(1_000)]
    ages = [1.0] * 1_000
    ages[500] = 1.5
    (found,) = refused(g, {"Person": pa.table({"name": names, "age": ages})})
    assert (found.rule, found.property, found.line, found.value) == ("type", "age", 501, 1.5)
    (found,) = refused(g, {"Person": pa.table({"name": names, "age": ["x"] * 1_000})})
    assert (found.rule, found.property, found.line) == ("type", "age", None)
    assert "column `age` holds values of string, and Person.age is I32" in str(found)


@pytest.mark.parametrize(
    ("source", "error"),
    [
        (42, og.UsageError),
        (b"x", og.UsageError),
        (pa.table({"name": ["a"]}), og.UsageError),
        ({"Nobody": []}, og.UsageError),
        ({"type": "Person"}, og.UsageError),
        ({"Person": 5}, og.UsageError),
        ("nowhere.jsonl", og.NotFound),
        ("no*where.jsonl", og.NotFound),
        (["nowhere.jsonl"], og.NotFound),
    ],
)
def test_what_cannot_be_loaded(tmp_path: Path, source: object, error: type[Exception]) -> None:
    with pytest.raises(error):
        graph(tmp_path).load(source)
