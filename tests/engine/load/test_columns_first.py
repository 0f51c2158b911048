"""Columns are checked before rows, whatever the form and also where there is no row; an overwrite asks before it empties a type."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from tests.engine.load.loading import EVERYTHING, comparable, counts, graph, refused

import omnigraph as og
from omnigraph.catalog.opening import offline_catalog
from omnigraph.engine.load.read.columnar.headers import may_fit
from omnigraph.engine.load.read.inputs.naming import Format
from omnigraph.engine.load.read.inputs.sources import Input
from omnigraph.engine.load.read.parallel.tasks import column_tasks
from omnigraph.engine.load.read.rows.types import Types
from omnigraph.language import Source


def _csv(folder: Path, columns: list[str]) -> Any:
    (folder / "Thing.csv").write_text(",".join(columns) + "\n")
    return folder / "Thing.csv"


def _bare(folder: Path, columns: list[str]) -> Any:
    (folder / "Thing.tsv").write_text("\t".join(columns))
    return folder / "Thing.tsv"


def _table(columns: list[str]) -> pa.Table:
    return pa.table({name: pa.array([], pa.string()) for name in columns})


def _parquet(folder: Path, columns: list[str]) -> Any:
    pq.write_table(_table(columns), folder / "Thing.parquet")
    return folder / "Thing.parquet"


def _arrow(folder: Path, columns: list[str]) -> Any:
    feather.write_feather(_table(columns), str(folder / "Thing.arrow"))
    return folder / "Thing.arrow"


FORMS: dict[str, Callable[[Path, list[str]], Any]] = {
    "csv": _csv,
    "tsv without an end of line": _bare,
    "parquet": _parquet,
    "arrow file": _arrow,
    "arrow": lambda _, columns: {"Thing": _table(columns)},
    "reader": lambda _, columns: {"Thing": _table(columns).to_reader()},
    "pandas": lambda _, columns: {"Thing": pd.DataFrame(columns=columns)},
    "polars": lambda _, columns: {"Thing": pl.DataFrame(schema=dict.fromkeys(columns, pl.String))},
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("mode", ["overwrite", "merge"])
def test_wrong_columns_without_rows_change_nothing(tmp_path: Path, form: str, mode: str) -> None:
    g = graph(tmp_path, EVERYTHING)
    g.load({"Thing": [{"name": "a"}]})
    found = refused(g, FORMS[form](tmp_path, ["wrong", "columns"]), mode=mode, quarantine=None)
    assert [(v.rule, v.property) for v in found] == [
        ("unknown_property", "wrong"),
        ("unknown_property", "columns"),
        ("required", "name"),
    ]
    assert counts(g) == {"Thing": 1}


@pytest.mark.parametrize("form", FORMS)
def test_an_overwrite_asks_before_it_empties_a_type(tmp_path: Path, form: str) -> None:
    g = graph(tmp_path, EVERYTHING)
    g.load({"Thing": [{"name": "a"}], "Plain": [{"note": "stays"}]})
    before = comparable(g)
    with pytest.raises(og.WouldEmpty, match=r"Thing without entities \(it has 1\)") as raised:
        g.load(FORMS[form](tmp_path, ["name"]), mode="overwrite")
    assert raised.value.types == {"Thing": 1}
    with pytest.raises(og.WouldEmpty):
        g.load(FORMS[form](tmp_path, ["name"]), mode="overwrite", branch="made", from_="main")
    assert comparable(g) == before
    assert g.branches.list() == ["main"]
    for other in ("merge", "append"):
        g.load(FORMS[form](tmp_path, ["name"]), mode=other)
    g.load(FORMS[form](tmp_path, ["name"]), mode="overwrite", allow_empty=True)
    assert counts(g) == {"Plain": 1}
    g.load(FORMS[form](tmp_path, ["name"]), mode="overwrite")  # there is nothing left to lose


def test_cells_that_are_separated_otherwise_are_told_of(tmp_path: Path) -> None:
    (tmp_path / "Thing.csv").write_text("wrong;columns\n")
    found = refused(graph(tmp_path, EVERYTHING), tmp_path / "Thing.csv", mode="overwrite")
    assert 'cells are separated by commas, not by ";"' in found[0].message


def test_the_columns_of_the_last_file_are_looked_at_before_the_rows_of_the_first(tmp_path: Path) -> None:
    g = graph(tmp_path, EVERYTHING)
    pq.write_table(pa.table({"name": [f"t{n}" for n in range(100)], "i32": [1000] * 100}), tmp_path / "Thing.parquet")
    (tmp_path / "Plain.csv").write_text("note,more\n")
    found = refused(g, [tmp_path / "Thing.parquet", tmp_path / "Plain.csv"])
    assert [(v.rule, v.property) for v in found] == [("unknown_property", "more")]


GIVEN: list[tuple[pa.DataType, Any]] = [
    (pa.string(), "x"),
    (pa.large_string(), "2024-01-01"),
    (pa.string_view(), "x"),
    (pa.dictionary(pa.int32(), pa.string()), "a"),
    (pa.bool_(), True),
    (pa.int8(), 1),
    (pa.uint64(), 1),
    (pa.float32(), 1.0),
    (pa.decimal128(10, 0), 1),
    (pa.date32(), 19000),
    (pa.date64(), 0),
    (pa.timestamp("us"), 0),
    (pa.timestamp("s", tz="UTC"), 0),
    (pa.time32("s"), 1),
    (pa.duration("s"), 1),
    (pa.binary(), b"x"),
    (pa.large_binary(), b"x"),
    (pa.list_(pa.string()), ["x"]),
    (pa.list_(pa.int32()), [1, 2, 3]),
    (pa.large_list(pa.float32()), [1.0, 2.0, 3.0]),
    (pa.list_(pa.float64(), 3), [1.0, 2.0, 3.0]),
    (pa.list_(pa.date32()), [19000]),
    (pa.struct([("a", pa.int32())]), {"a": 1}),
    (pa.map_(pa.string(), pa.int32()), [("a", 1)]),
]
TYPES = Types(offline_catalog(Source(EVERYTHING, "s.pg")))
THING = TYPES.catalog.nodes["Thing"]


@pytest.mark.parametrize("name", [n for n in THING.properties if n != "name"])
def test_a_column_that_is_called_hopeless_holds_nothing_that_a_property_takes(name: str) -> None:
    """The other way round, values may still be wrong singly. What is all null is never wrong."""
    wanted = THING.properties[name].type
    for given, value in GIVEN:
        column = pa.array([value], given)
        told = _violations(name, column)
        if may_fit(wanted, given):
            assert all(v.line == 1 for v in told), (wanted, given)
        else:
            assert [(v.rule, v.property, v.line) for v in told] == [("type", name, None)], (wanted, given)
            assert _singly(name, column), (wanted, given)
        assert _violations(name, pa.nulls(1, given)) == []


def _batch(name: str, column: pa.Array) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array(["a"]), column], ["name", name])


def _violations(name: str, column: pa.Array) -> Any:
    input_ = Input(Format.ARROW, None, None, THING)
    return [v for task in column_tasks(input_, TYPES, [_batch(name, column)]) for v in task().violations]


def _singly(name: str, column: pa.Array) -> Any:
    from omnigraph.engine.load.read.columnar.frames import typed_rows

    return typed_rows(THING, _batch(name, column), TYPES, None, 1).violations


def test_messages_about_columns_and_files_name_the_file(tmp_path: Path) -> None:
    g = graph(tmp_path, EVERYTHING)
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "Plain.csv").write_text("note,more\n")
    pq.write_table(pa.table({"name": ["a"], "i32": [True]}), folder / "Thing.parquet")
    (folder / "Near.csv").write_bytes(b"")
    for names in (["Plain.csv"], ["Thing.parquet"], ["Near.csv"], ["Plain.csv", "Near.csv"]):
        with pytest.raises(og.ValidationError) as error:
            g.load([folder / name for name in names])
        for name in names:
            assert str(error.value).count(f"{folder / name}: ") == 1
