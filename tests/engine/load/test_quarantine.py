"""Quarantine: what is right is loaded, what is wrong is written down beside, whatever the form of the input."""

from __future__ import annotations

import csv
import io
import json
import signal
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
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


def records() -> list[dict[str, Any]]:
    nodes: list[dict[str, Any]] = [{"type": "Thing", "data": row} for row in mixed(THINGS, WRONG_THINGS)]
    return nodes + [
        {"edge": "Near", "from": row["from"], "to": row["to"], "data": {"weight": row["weight"]}}
        for row in mixed(NEAR, WRONG_NEAR)
    ]


FORMS: dict[str, Callable[[Path], Any]] = {
    "jsonl": json_lines,
    "csv": csv_files,
    "parquet": parquet_files,
    "arrow": lambda _: frames(),
    "readers": lambda _: {name: table.to_reader(max_chunksize=3) for name, table in frames().items()},
    "pandas": lambda _: {name: pd.DataFrame(table.to_pylist()) for name, table in frames().items()},
    "polars": lambda _: {name: pl.DataFrame(table.to_pylist()) for name, table in frames().items()},
    "rows": lambda _: {"Thing": mixed(THINGS, WRONG_THINGS), "Near": mixed(NEAR, WRONG_NEAR)},
    "generators": lambda _: {"Thing": iter(mixed(THINGS, WRONG_THINGS)), "Near": iter(mixed(NEAR, WRONG_NEAR))},
    "records": lambda _: iter(records()),
    "stream": lambda _: io.BytesIO("".join(json.dumps(r) + "\n" for r in records()).encode()),
}


def told(path: Path) -> list[dict[str, Any]]:
    """What all loads wrote down in a folder."""
    return [json.loads(line) for file in sorted(path.glob("*.jsonl")) for line in file.read_text().splitlines()]


def check_report(report: list[dict[str, Any]], form: str) -> None:
    """Every wrong row is told of once, with its place, with what is wrong, and whole."""
    why = [v for t in report for v in t["violations"]]
    assert sorted((v["type"], v["rule"], str(v["value"] if v["rule"] == "endpoint" else v["entity"])) for v in why) == sorted(
        RULES
    )
    header, longer = form == "csv", 1 if form == "csv" else 0  # a value over two lines moves those below it
    edges = 4 + header + (11 if form in ("records", "stream") else 0)  # which are counted on in one input
    assert sorted(t["line"] for t in report) == sorted([4 + header, 5 + header + longer, 6 + header + longer, edges, edges + 1])
    things = [_without_id(t["record"]["data"]) for t in report if t["record"].get("type") == "Thing"]
    near = [t["record"] for t in report if t["record"].get("edge") == "Near"]
    assert things == WRONG_THINGS
    assert [(e["from"], e["to"], e["data"]["weight"]) for e in near] == [(e["from"], e["to"], e["weight"]) for e in WRONG_NEAR]
    assert not any("id" in e["data"] for e in near)


def _without_id(data: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in data.items() if name != "id" and value is not None}


@pytest.mark.parametrize("form", FORMS)
def test_the_right_rows_are_loaded_and_the_wrong_ones_written_down(tmp_path: Path, form: str) -> None:
    g, clean = graph(tmp_path, EVERYTHING), graph(tmp_path, EVERYTHING)
    result = g.load(FORMS[form](tmp_path), quarantine=tmp_path / "bad")
    clean.load({"Thing": THINGS, "Near": NEAR})
    assert comparable(g) == comparable(clean)
    assert result.quarantined == len(RULES)
    assert (result.nodes_loaded, result.edges_loaded) == ({"Thing": 8}, {"Near": 7})
    assert result.quarantine == str(next((tmp_path / "bad").iterdir()))
    check_report(told(tmp_path / "bad"), form)
    assert g.verify(deep=True).ok


@pytest.mark.parametrize("form", FORMS)
def test_what_was_left_out_loads_when_it_is_mended(tmp_path: Path, form: str) -> None:
    g = graph(tmp_path, EVERYTHING)
    result = g.load(FORMS[form](tmp_path), quarantine=tmp_path / "bad")
    assert result.quarantine is not None
    mended = [json.loads(line)["record"] for line in Path(result.quarantine).read_text().splitlines()]
    for record in mended:
        data = record["data"]
        if record.get("type") == "Thing":
            data["i32"], data["i64"] = 7, data["i64"] + 100
            data["name"] = data.pop("id", None) or data["name"]
            data["name"] += "!" if data["name"] == "t1" else ""
        elif record["from"] == "nobody":
            record["from"] = "shared"
    assert g.load(mended, mode="append").rows == len(RULES)
    assert counts(g) == {"Thing": 11, "Near": 9}


def test_later_loads_write_beside_what_earlier_ones_wrote(tmp_path: Path) -> None:
    g = graph(tmp_path, EVERYTHING)
    for name in ("five", "six"):
        (tmp_path / "Counted.csv").write_text(f"number\n1\n{name}\n")
        g.load(tmp_path / "Counted.csv", quarantine=tmp_path / "bad")
    assert [t["record"]["data"]["number"] for t in told(tmp_path / "bad")] == ["five", "six"]
    assert len(list((tmp_path / "bad").iterdir())) == 2


def test_rows_of_csv_with_another_number_of_cells_are_left_out_too(tmp_path: Path) -> None:
    (tmp_path / "Counted.csv").write_text("number\n1\n2,3\n4\nfive\n")
    g = graph(tmp_path, EVERYTHING)
    result = g.load(tmp_path / "Counted.csv", quarantine=tmp_path / "bad")
    assert (counts(g), result.quarantined) == ({"Counted": 2}, 2)
    assert [(t["violations"][0]["rule"], t["line"], t["record"]) for t in told(tmp_path / "bad")] == [
        ("csv", 3, "2,3"),
        ("type", 5, {"type": "Counted", "data": {"number": "five"}}),
    ]


def test_cells_keep_their_kind_and_what_is_empty(tmp_path: Path) -> None:
    (tmp_path / "Thing.csv").write_text(
        'name,text,i32,f64,flag,day,words\na,"",1000,0.5,true,2024-05-01,"[""x""]"\nb,,1000,,,,\nc,,1,,,,\n'
    )
    graph(tmp_path, EVERYTHING).load(tmp_path / "Thing.csv", quarantine=tmp_path / "bad")
    first, second = (t["record"]["data"] for t in told(tmp_path / "bad"))
    assert first == {"name": "a", "text": "", "i32": 1000, "f64": 0.5, "flag": True, "day": "2024-05-01", "words": ["x"]}
    assert second == {"name": "b", "text": None, "i32": 1000, "f64": None, "flag": None, "day": None, "words": None}


def test_every_edge_that_is_one_too_many_is_written_down(tmp_path: Path) -> None:
    g = graph(tmp_path, EVERYTHING)
    things, plain = [{"name": "a"}, {"name": "b"}], [{"id": f"p{n}", "note": "x"} for n in range(5)]
    owns = [{"from": "a", "to": f"p{n}"} for n in range(5)] + [{"from": "b", "to": "p0"}]
    result = g.load({"Thing": things, "Plain": plain, "Owns": owns}, quarantine=tmp_path / "bad")
    assert (result.edges_loaded, result.quarantined) == ({"Owns": 2}, 4)
    assert [(t["line"], t["record"]["to"]) for t in told(tmp_path / "bad")] == [(n + 1, f"p{n}") for n in range(1, 5)]


FINE, LOST = {"from": "t1", "to": "t2"}, {"from": "t1", "to": "nobody"}


@pytest.mark.parametrize(
    ("rows", "loaded", "left_out"),
    [
        ([FINE | {"weight": 1.0}, LOST], 1.0, [2]),  # who would have replaced the first is dropped: the first counts again
        ([FINE | {"weight": 1.0}, FINE | {"weight": 2.0}, LOST, LOST], 2.0, [3, 4]),
        ([FINE | {"weight": 1.0}, LOST, FINE | {"weight": 3.0}, LOST], 3.0, [4]),  # what is replaced is not looked at
        ([LOST, FINE | {"weight": 2.0}], 2.0, []),
        ([LOST, LOST], None, [1, 2]),
    ],
    ids=["good bad", "good good bad bad", "good bad good bad", "bad good", "bad bad"],
)
def test_of_edges_with_one_id_the_last_good_one_is_loaded(
    tmp_path: Path, rows: list[dict[str, Any]], loaded: float | None, left_out: list[int]
) -> None:
    g = graph(tmp_path, EVERYTHING)
    g.load({"Thing": THINGS})
    given = [{"id": "e", **row} for row in rows]
    result = g.load({"Near": [*given, {"id": "other", **FINE}]}, quarantine=tmp_path / "bad")
    assert [t["line"] for t in (told(tmp_path / "bad") if left_out else [])] == left_out
    assert result.quarantined == len(left_out)
    found = g.get("Near", id="e")
    assert (found and found["weight"]) == loaded
    # what a load without them says, which has nothing to refuse
    plain = graph(tmp_path, EVERYTHING)
    plain.load({"Thing": THINGS})
    plain.load({"Near": [row for line, row in enumerate([*given, {"id": "other", **FINE}], 1) if line not in left_out]})
    assert comparable(g) == comparable(plain)


MOMENT = datetime(2024, 5, 1, 10, tzinfo=UTC)


@pytest.mark.parametrize(
    ("given", "written_down"),
    [
        (MOMENT, "2024-05-01T10:00:00.000Z"),
        (MOMENT.replace(tzinfo=None, microsecond=250_000), "2024-05-01T10:00:00.250Z"),
        (MOMENT.astimezone(timezone(timedelta(hours=2))), "2024-05-01T10:00:00.000Z"),
        (MOMENT.replace(microsecond=1), "2024-05-01T10:00:00.000001Z"),  # finer than milliseconds: that is what is wrong with it
        (pd.Timestamp("2024-05-01T10:00:00.000000001Z"), "2024-05-01T10:00:00.000000001Z"),
        (np.datetime64("2024-05-01T10:00:00.000000000"), "2024-05-01T10:00:00.000Z"),
        (pd.NaT, None),
        (MOMENT.date(), "2024-05-01"),
        (np.datetime64("2024-05-01"), "2024-05-01"),
    ],
    ids=["aware", "naive", "elsewhere", "microsecond", "nanosecond", "numpy", "not a time", "date", "numpy date"],
)
@pytest.mark.parametrize("form", ["rows", "records", "pandas", "polars", "arrow", "parquet"])
def test_moments_are_written_down_as_they_are_everywhere(tmp_path: Path, given: Any, written_down: str | None, form: str) -> None:
    rows = [{"name": "big", "i32": 1000, "moment": given}, {"name": "fine", "i32": 1, "moment": None}]
    as_column = form in ("polars", "arrow", "parquet")
    source: Any = {"Thing": rows}
    if form == "records":
        source = [{"type": "Thing", "data": row} for row in rows]
    elif form == "pandas":
        source = {"Thing": pd.DataFrame({n: pd.Series([row[n] for row in rows], dtype=object) for n in rows[0]})}
    elif as_column:
        moments = pa.array(pd.Series([given, None]), from_pandas=True)  # dates of numpy are moments there
        table = pa.table({"name": ["big", "fine"], "i32": [1000, 1], "moment": moments})
        pq.write_table(table, tmp_path / "Thing.parquet")
        source = {"polars": {"Thing": pl.from_arrow(table)}, "arrow": {"Thing": table}}.get(form, tmp_path / "Thing.parquet")
    graph(tmp_path, EVERYTHING).load(source, quarantine=tmp_path / "bad")
    (found,) = told(tmp_path / "bad")
    assert found["record"]["data"]["moment"] in {written_down, f"{written_down}T00:00:00.000Z" if as_column else written_down}


def test_a_row_with_two_mistakes_is_written_down_once(tmp_path: Path) -> None:
    g = graph(tmp_path, EVERYTHING)
    result = g.load({"Thing": [{"name": "a", "i32": 1000, "text": "no!"}, {"name": "b"}]}, quarantine=tmp_path / "bad")
    (found,) = told(tmp_path / "bad")
    assert result.quarantined == 1
    assert {v["rule"] for v in found["violations"]} == {"range", "check"}


def test_with_nothing_wrong_there_is_no_file(tmp_path: Path) -> None:
    g = graph(tmp_path, EVERYTHING)
    result = g.load({"Thing": THINGS}, quarantine=str(tmp_path / "bad"))
    assert (result.quarantined, result.quarantine) == (0, None)
    assert not (tmp_path / "bad").exists()


@pytest.mark.parametrize(
    ("max_bad", "fits"), [(3, True), (2, False), (0, False), (0.3, True), (0.29, False), (0.0, False), (1.0, True)]
)
def test_a_limit_for_what_is_wrong(tmp_path: Path, max_bad: float, fits: bool) -> None:
    rows = [{"number": n} for n in range(7)] + [{"number": "x"}] * 3
    g = graph(tmp_path, EVERYTHING)
    if fits:
        assert g.load({"Counted": rows}, quarantine=tmp_path / "bad", max_bad=max_bad).quarantined == 3
        return
    with pytest.raises(og.ValidationError, match="3 of 10 records are wrong, and at most") as raised:
        g.load({"Counted": rows}, quarantine=tmp_path / "bad", max_bad=max_bad)
    assert len(raised.value.violations) == 3
    assert counts(g) == {}
    assert not (tmp_path / "bad").exists()


def test_a_load_of_which_all_is_wrong_fails(tmp_path: Path) -> None:
    g = graph(tmp_path, EVERYTHING)
    g.load({"Counted": [{"number": 1}]})
    for mode in ("merge", "overwrite"):
        with pytest.raises(og.ValidationError, match="2 of 2 records are wrong"):
            g.load({"Counted": [{"number": "x"}] * 2}, quarantine=tmp_path / "bad", mode=mode)
    with pytest.raises(og.WouldEmpty):
        g.load({"Counted": [{"number": "x"}], "Plain": [{"note": "y"}]}, quarantine=tmp_path / "bad", mode="overwrite")
    assert counts(g) == {"Counted": 1}
    assert not (tmp_path / "bad").exists()


@pytest.mark.parametrize("given", [-1, 1.5, -0.1, True, "1%", float("nan")])
def test_limits_that_are_none(tmp_path: Path, given: Any) -> None:
    g = graph(tmp_path, EVERYTHING)
    with pytest.raises(og.GraphError, match="max_bad"):
        g.load({"Thing": THINGS}, quarantine=tmp_path / "bad", max_bad=given)
    with pytest.raises(og.UsageError, match="quarantine"):
        g.load({"Thing": THINGS}, max_bad=1)


def test_what_leaving_out_rows_cannot_mend_is_refused_as_ever(tmp_path: Path) -> None:
    g = graph(tmp_path, EVERYTHING)
    (tmp_path / "Thing.csv").write_text("text\nx\n")
    (tmp_path / "Pair.parquet").write_bytes(b"nothing of the kind")
    for name, rule in (("Thing.csv", "required"), ("Pair.parquet", "file")):
        assert {v.rule for v in refused(g, tmp_path / name, quarantine=tmp_path / "bad")} == {rule}
    many = pa.table({"name": [f"t{n}" for n in range(200_000)], "i32": ["x"] * 200_000})
    (found,) = refused(g, {"Thing": many}, quarantine=tmp_path / "bad")
    assert (found.rule, found.property, found.line) == ("type", "i32", None)
    assert not (tmp_path / "bad").exists()


def test_where_it_cannot_be_written_is_said_before_any_work(tmp_path: Path) -> None:
    g = graph(tmp_path, EVERYTHING)
    (tmp_path / "in").mkdir()
    path = written(tmp_path / "in" / "a.jsonl", [{"type": "Plain", "data": {"note": "x"}}])
    before = path.read_text()
    with pytest.raises(og.UsageError, match="is a file"):
        g.load(path, quarantine=str(path))
    with pytest.raises(og.UsageError, match="would be loaded next time"):
        g.load(tmp_path / "in", quarantine=tmp_path / "in" / "bad")
    with pytest.raises(og.NotFound, match="no folder"):
        g.load(path, quarantine=tmp_path / "nowhere" / "bad")
    with pytest.raises(og.UsageError, match="strict dialect"):
        g.load(path, dialect="compatible", quarantine=tmp_path / "bad")
    assert path.read_text() == before
    assert counts(g) == {}


KILLED = """
import os, signal, sys
from unittest.mock import patch
import omnigraph as og
from omnigraph.engine.load.run import chunked as chunked
from omnigraph.engine.load.run.quarantine_files import Aside

folder, step = sys.argv[1:]
with patch.object(chunked if step == "publish" else Aside, step, lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)):
    og.open(f"{folder}/graph-0").load({"Counted": [{"number": 1}, {"number": "x"}]}, quarantine=f"{folder}/bad")
"""


@pytest.mark.parametrize("step", ["publish", "give_name"])
def test_a_load_that_is_killed_claims_nothing_and_forgets_nothing(tmp_path: Path, step: str) -> None:
    graph(tmp_path, EVERYTHING).close()
    died = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path), step], timeout=60, check=False)
    assert died.returncode == -signal.SIGKILL
    assert told(tmp_path / "bad") == []
    g = og.open(tmp_path / "graph-0")
    committed = step == "give_name"
    assert counts(g) == ({"Counted": 1} if committed else {})
    g.load({"Counted": [{"number": 5}]}, quarantine=tmp_path / "bad")
    assert len(told(tmp_path / "bad")) == committed
