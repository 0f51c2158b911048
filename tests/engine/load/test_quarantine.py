"""Quarantine: what is right is loaded, what is wrong is written down beside, whatever the form of the input."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.engine.load.loading import EVERYTHING, comparable, counts, graph, refused, written

import omnigraph as og

THINGS: list[dict[str, Any]] = [{"name": f"t{n}", "i32": n, "i64": n, "text": "fine"} for n in range(8)]
WRONG_THINGS: list[dict[str, Any]] = [
    {"name": "big", "i32": 1000, "i64": 50, "text": "over\ntwo lines"},
    {"name": "t1", "i32": 1, "i64": 51, "text": "again"},
    {"name": "shared", "i32": 1, "i64": 2, "text": "i64 of t2"},
]
NEAR: list[dict[str, Any]] = [{"from": f"t{n}", "to": f"t{n + 1}", "weight": n / 2} for n in range(7)]
WRONG_NEAR: list[dict[str, Any]] = [
    {"from": "t1", "to": "big", "weight": 1.0},
    {"from": "nobody", "to": "t1", "weight": 2.0},
]
RULES = [
    ("Thing", "range", "big"),
    ("Thing", "unique", "t1"),
    ("Thing", "unique", "shared"),
    ("Near", "endpoint", "big"),
    ("Near", "endpoint", "nobody"),
]
"""Type, rule, and the entity or the value that each of the wrong rows is told of by, in their order."""


def mixed(right: list[dict[str, Any]], wrong: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The wrong ones in the middle: what is right before and after them is loaded."""
    return [*right[:3], *wrong, *right[3:]]


def json_lines(folder: Path) -> list[Path]:
    nodes = [{"type": "Thing", "data": row} for row in mixed(THINGS, WRONG_THINGS)]
    edges = [
        {"edge": "Near", "from": row["from"], "to": row["to"], "data": {"weight": row["weight"]}}
        for row in mixed(NEAR, WRONG_NEAR)
    ]
    return [written(folder / "nodes.jsonl", nodes), written(folder / "edges.jsonl", edges)]


def csv_files(folder: Path) -> list[Path]:
    for name, rows in (("Thing", mixed(THINGS, WRONG_THINGS)), ("Near", mixed(NEAR, WRONG_NEAR))):
        with (folder / f"{name}.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    return [folder / "Thing.csv", folder / "Near.csv"]


def parquet_files(folder: Path) -> list[Path]:
    for name, table in frames().items():
        pq.write_table(table, folder / f"{name}.parquet", row_group_size=4)
    return [folder / "Thing.parquet", folder / "Near.parquet"]


def frames() -> dict[str, pa.Table]:
    return {"Thing": pa.Table.from_pylist(mixed(THINGS, WRONG_THINGS)), "Near": pa.Table.from_pylist(mixed(NEAR, WRONG_NEAR))}


FORMS: dict[str, Callable[[Path], Any]] = {
    "jsonl": json_lines,
    "csv": csv_files,
    "parquet": parquet_files,
    "arrow": lambda _: frames(),
    "rows": lambda _: {"Thing": mixed(THINGS, WRONG_THINGS), "Near": mixed(NEAR, WRONG_NEAR)},
}


def told(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def check_report(report: list[dict[str, Any]], form: str) -> None:
    """Every wrong row is told of once, with its line and, if it stands in a file, with the record itself."""
    assert sorted((t["type"], t["rule"], str(t["value"] if t["rule"] == "endpoint" else t["entity"])) for t in report) == sorted(
        RULES
    )
    header, longer = form == "csv", 1 if form == "csv" else 0  # a value over two lines moves those below it
    lines = {
        ("Thing", 4 + header),
        ("Thing", 5 + header + longer),
        ("Thing", 6 + header + longer),
        ("Near", 4 + header),
        ("Near", 5 + header),
    }
    assert {(t["type"], t["line"]) for t in report} == lines
    records = {str(t["entity"]): t.get("record") for t in report if t["type"] == "Thing"}
    match form:
        case "jsonl":
            assert {name: json.loads(str(text))["data"] for name, text in records.items()} == {t["name"]: t for t in WRONG_THINGS}
        case "csv":
            assert records["big"] == 'big,1000,50,"over\ntwo lines"'
        case "parquet":
            assert records == {t["name"]: t for t in WRONG_THINGS}
        case _:
            assert set(records.values()) == {None}


@pytest.mark.parametrize("form", FORMS)
def test_the_right_rows_are_loaded_and_the_wrong_ones_written_down(tmp_path: Path, form: str) -> None:
    g, clean = graph(tmp_path, EVERYTHING), graph(tmp_path, EVERYTHING)
    result = g.load(FORMS[form](tmp_path), quarantine=tmp_path / "bad.jsonl")
    clean.load({"Thing": THINGS, "Near": NEAR})
    assert comparable(g) == comparable(clean)
    assert result.quarantined == len(RULES)
    assert (result.nodes_loaded, result.edges_loaded) == ({"Thing": 8}, {"Near": 7})
    check_report(told(tmp_path / "bad.jsonl"), form)
    assert g.verify(deep=True).ok


def test_rows_of_csv_with_another_number_of_cells_are_left_out_too(tmp_path: Path) -> None:
    (tmp_path / "Counted.csv").write_text("number\n1\n2,3\n4\nfive\n")
    g = graph(tmp_path, EVERYTHING)
    result = g.load(tmp_path / "Counted.csv", quarantine=tmp_path / "bad.jsonl")
    assert (counts(g), result.quarantined) == ({"Counted": 2}, 2)
    assert [(t["rule"], t["line"], t["record"]) for t in told(tmp_path / "bad.jsonl")] == [("csv", 3, "2,3"), ("type", 5, "five")]


def test_with_nothing_wrong_the_file_is_empty(tmp_path: Path) -> None:
    g = graph(tmp_path, EVERYTHING)
    assert g.load({"Thing": THINGS}, quarantine=str(tmp_path / "bad.jsonl")).quarantined == 0
    assert (tmp_path / "bad.jsonl").read_text() == ""


def test_what_leaving_out_rows_cannot_mend_is_refused_as_ever(tmp_path: Path) -> None:
    g = graph(tmp_path, EVERYTHING)
    (tmp_path / "Thing.csv").write_text("text\nx\n")
    (tmp_path / "Pair.parquet").write_bytes(b"nothing of the kind")
    for name, rule in (("Thing.csv", "required"), ("Pair.parquet", "file")):
        assert {v.rule for v in refused(g, tmp_path / name, quarantine=tmp_path / "bad.jsonl")} == {rule}
    assert not (tmp_path / "bad.jsonl").exists()


def test_where_it_cannot_be_written_is_said_before_any_work(tmp_path: Path) -> None:
    g = graph(tmp_path, EVERYTHING)
    path = written(tmp_path / "a.jsonl", [{"type": "Plain", "data": {"note": "x"}}])
    before = path.read_text()
    with pytest.raises(og.UsageError, match="would be overwritten"):
        g.load(path, quarantine=str(path))
    with pytest.raises(og.UsageError, match="is a folder"):
        g.load(path, quarantine=tmp_path)
    with pytest.raises(og.NotFound, match="no folder"):
        g.load(path, quarantine=tmp_path / "nowhere" / "bad.jsonl")
    with pytest.raises(og.UsageError, match="strict dialect"):
        g.load(path, dialect="compatible", quarantine=tmp_path / "bad.jsonl")
    assert path.read_text() == before
    assert counts(g) == {}
