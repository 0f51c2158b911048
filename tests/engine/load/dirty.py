"""Rows of several types with something wrong here and there, and the forms they may be given in."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st
from tests.engine.load.loading import EVERYTHING, comparable, graph, said, without_made_up, written

import omnigraph as og

Rows = dict[str, list[dict[str, Any]]]
"""Rows by type. A value that does not fit is a text: columns of frames have one type, and then all of them are texts."""

number = st.integers(-120, 120)
rows: st.SearchStrategy[Rows] = st.fixed_dictionaries(
    {
        "Thing": st.lists(
            st.fixed_dictionaries(
                {
                    "name": st.integers(0, 9).map("t{}".format) | st.none(),
                    "i32": number | number | number | st.just("many"),
                    "i64": st.none() | st.integers(0, 30),
                    "text": st.sampled_from(["fine", "no!", None, "two\nlines, and a comma"]),
                }
            ),
            max_size=12,
        ),
        "Plain": st.lists(
            st.fixed_dictionaries({"id": st.integers(0, 9).map("p{}".format), "note": st.sampled_from(["x", "y", None])}),
            max_size=6,
        ),
        "Near": st.lists(
            st.fixed_dictionaries({"from": st.integers(0, 11).map("t{}".format), "to": st.integers(0, 11).map("t{}".format)}),
            max_size=8,
        ),
        "Owns": st.lists(
            st.fixed_dictionaries({"from": st.integers(0, 9).map("t{}".format), "to": st.integers(0, 9).map("p{}".format)}),
            max_size=5,
        ),
        "Step": st.lists(
            st.fixed_dictionaries(
                {
                    "from": st.sampled_from(["t1", "t2", 't"3']),
                    "to": st.sampled_from(["t1", "t2"]),
                    "number": st.integers(0, 2) | st.none(),
                    "text": st.sampled_from(["x", None]),
                }
            ),
            max_size=5,
        ),
    }
)
broken = st.lists(
    st.sampled_from(["nonsense", '{"type": "Thing"', "", '{"type": "Thang", "data": {}}', "1,2,3,4,5,6"]), max_size=2
)
"""Lines that are no records."""


def as_lines(folder: Path, given: Rows, broken: list[str]) -> Any:
    nodes = [{"type": t, "data": row} for t in ("Thing", "Plain") for row in given[t]]
    edges: list[object] = [{"edge": t, **row} for t in ("Near", "Owns") for row in given[t]]
    edges += [{"edge": "Step", "from": r["from"], "to": r["to"], "data": _but_ends(r)} for r in given["Step"]]
    return [written(folder / "nodes.jsonl", [*nodes, *broken]), written(folder / "edges.jsonl", [*edges, *broken])]


def as_rows(folder: Path, given: Rows, broken: list[str]) -> Any:
    """Lines that do not say their types: it is said for them. (A first line that says it is refused before any is read.)"""
    broken = [line for line in broken if not line.endswith("{}}")]
    return {name: written(folder / f"{name}.rows.jsonl", [*its, *broken]) for name, its in given.items() if its or broken}


def _but_ends(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in ("from", "to")}


def as_csv(folder: Path, given: Rows, broken: list[str]) -> Any:
    for name, its in given.items():
        with (folder / f"{name}.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS[name], lineterminator="\n")
            writer.writeheader()
            writer.writerows(its)
            file.write("".join(f"{line}\n" for line in broken))
    return [folder / f"{name}.csv" for name in given]


COLUMNS = {
    "Thing": ["name", "i32", "i64", "text"],
    "Plain": ["id", "note"],
    "Near": ["from", "to"],
    "Owns": ["from", "to"],
    "Step": ["from", "to", "number", "text"],
}


def table(name: str, its: list[dict[str, Any]]) -> pa.Table:
    """Rows as columns; where a number is a text, all of them are."""
    mixed = any(isinstance(row.get("i32"), str) for row in its)
    types = {"i32": pa.string() if mixed else pa.int32(), "i64": pa.int64(), "number": pa.int32()}
    columns = {c: [row[c] for row in its] for c in COLUMNS[name]}
    if mixed:
        columns["i32"] = [str(value) for value in columns["i32"]]
    return pa.table({c: pa.array(values, types.get(c, pa.string())) for c, values in columns.items()})


def as_parquet(folder: Path, given: Rows, broken: list[str]) -> Any:
    for name, its in given.items():
        pq.write_table(table(name, its), folder / f"{name}.parquet", row_group_size=3)
    return [folder / f"{name}.parquet" for name in given]


def as_frames(folder: Path, given: Rows, broken: list[str]) -> Any:
    return {name: table(name, its) for name, its in given.items()}


FORMS: dict[str, Callable[[Path, Rows, list[str]], Any]] = {
    "jsonl": as_lines,
    "rows": as_rows,
    "csv": as_csv,
    "parquet": as_parquet,
    "frames": as_frames,
}


def quarantined(g: og.Graph, source: Any, engine: Any, path: Path, **options: Any) -> list[str]:
    """What a load writes down that leaves out what is wrong, without ids that were made for it."""
    before = set(path.glob("*.jsonl"))
    problems = said(g, source, engine, quarantine=path, **options)
    lines = [line for file in set(path.glob("*.jsonl")) - before for line in file.read_text().splitlines()]
    found = without_made_up([(line,) for line in lines]) if not problems else [(json.dumps(problems),)]
    return [str(line[0]) for line in found]


def check_agreement(folder: Path, before: Rows, source: Any, theirs: Any, engine: Any, mode: str) -> None:
    """That another engine says of an input what this process says of it, loads what it loads, and leaves out what it leaves out.

    `theirs` is the input in the form that the other engine takes.
    """
    here, there = graph(folder, EVERYTHING), graph(folder, EVERYTHING)
    for g in (here, there):
        said(g, before, "local", quarantine=folder / "left-out")  # of which all may be wrong
    options: dict[str, Any] = {"mode": mode, "allow_empty": True}
    found = said(there, theirs, engine, **options)
    assert without_made_up(found) == without_made_up(said(here, source, "local", **options))
    assert comparable(here) == comparable(there)
    bad = folder / "bad"
    assert quarantined(there, theirs, engine, bad, **options) == quarantined(here, source, "local", bad, **options)
    assert comparable(here) == comparable(there)
    assert there.verify(deep=True).ok
