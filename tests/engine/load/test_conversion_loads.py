"""The matrix of conversions by whole loads, one for each door: what a graph holds afterwards, and what was left out."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from decimal import Decimal
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.engine.load.conversion_cases import CASES, CELLS, PARAMETER_TEXTS, REFUSED, TYPES
from tests.engine.load.conversion_loads import Tried, check, each, graph, in_columns, learnt, singly
from tests.engine.load.loading import refused

import omnigraph as og


def is_json(value: Any) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return False
    return True


def as_lines(folder: Path, tried: list[Tried]) -> Any:
    path = folder / "lines.jsonl"
    path.write_text("".join(json.dumps({"type": "Each", "data": {"k": t.key, t.property: t.value}}) + "\n" for t in tried))
    return path


RECORDS: dict[str, Callable[[Path, list[Tried]], Any]] = {
    "lines": as_lines,
    "records": lambda folder, tried: ({"type": "Each", "data": {"k": t.key, t.property: t.value}} for t in tried),
    "rows": lambda folder, tried: {"Each": [{"k": t.key, t.property: t.value} for t in tried]},
}


@pytest.mark.parametrize("lossy", [None, "round"], ids=["exact", "round"])
@pytest.mark.parametrize("door", RECORDS)
def test_records(tmp_path: Path, door: str, lossy: Any) -> None:
    tried = singly([c for c in CASES if door != "lines" or is_json(c.value)], rounds=lossy is not None)
    g = graph(tmp_path)
    result = g.load(RECORDS[door](tmp_path, tried), quarantine=tmp_path / "bad", lossy=lossy)
    check(learnt(g, "Each", result), tried)


def test_csv(tmp_path: Path) -> None:
    tried = [
        Tried(f"{n} {type_}", f"{text} as {type_}", each(type_), text, takes.get(type_, REFUSED))
        for n, (text, takes) in enumerate(CELLS)
        for type_ in TYPES
    ]
    with (tmp_path / "Each.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, ["k", *map(each, TYPES)])
        writer.writeheader()
        writer.writerows({"k": t.key, t.property: t.value} for t in tried)
    g = graph(tmp_path)
    result = g.load(tmp_path / "Each.csv", quarantine=tmp_path / "bad")
    check(learnt(g, "Each", result), tried)


def as_parquet(folder: Path, table: pa.Table) -> Any:
    pq.write_table(table, folder / "Wide.parquet")
    return folder / "Wide.parquet"


def as_arrow_file(folder: Path, table: pa.Table) -> Any:
    with pa.ipc.new_file(folder / "Wide.arrow", table.schema) as file:
        file.write_table(table)
    return folder / "Wide.arrow"


COLUMNS: dict[str, Callable[[Path, pa.Table], Any]] = {
    "parquet": as_parquet,
    "arrow file": as_arrow_file,
    "arrow": lambda folder, table: {"Wide": table},
    "polars": lambda folder, table: {"Wide": polars.from_arrow(table)},
    "pandas": lambda folder, table: {"Wide": table.to_pandas(types_mapper=pandas.ArrowDtype)},
}


@pytest.mark.parametrize("lossy", [None, "round"], ids=["exact", "round"])
@pytest.mark.parametrize("door", COLUMNS)
def test_columns(tmp_path: Path, door: str, lossy: Any) -> None:
    g = graph(tmp_path)
    left = ("NaN", "NaN in a list") if door == "pandas" else ()  # is no value there
    cases = [c for c in CASES if c.arrow is not None and c.name not in left]
    columns = in_columns(g, cases, rounds=lossy is not None)
    result = g.load(COLUMNS[door](tmp_path, columns.table), quarantine=tmp_path / "bad", lossy=lossy)
    check(learnt(g, "Wide", result), columns.tried)


@pytest.mark.parametrize("door", COLUMNS)
def test_columns_that_never_fit(tmp_path: Path, door: str) -> None:
    g = graph(tmp_path)
    never = in_columns(g, [c for c in CASES if c.arrow is not None]).never
    found = refused(g, COLUMNS[door](tmp_path, never))
    assert sorted(v.property or "" for v in found) == sorted(never.column_names[1:])
    assert {(v.rule, v.line) for v in found} == {("type", None)}


def test_parameters(tmp_path: Path) -> None:
    g = graph(tmp_path)
    tried = singly(CASES)
    beyond = {f"{name} as {type_}": value for name, takes in PARAMETER_TEXTS.items() for type_, value in takes.items()}
    tried = [Tried(t.key, t.name, t.property, t.value, beyond.get(t.name, t.expected)) for t in tried]
    types = {each(name): "String" if name == "Enum" else type_ for name, type_ in TYPES.items()}

    def inserted(some: list[Tried]) -> None:
        """All in one mutation."""
        declared = ", ".join(f"${t.property}: {types[t.property]}?" for t in some)
        inserts = "\n".join(f'insert Each {{ k: "{t.key}", {t.property}: ${t.property} }}' for t in some)
        g.mutate(f"query i({declared}) {{ {inserts} }}", {t.property: t.value for t in some})

    found: dict[str, Any] = {}
    for _, group in groupby(tried, key=lambda t: t.name.partition(" as ")[0]):
        mine = list(group)
        if taken := [t for t in mine if t.expected != REFUSED]:
            inserted(taken)
        for t in mine:
            if t.expected == REFUSED:
                with pytest.raises(og.GraphError):
                    inserted([t])
                found[t.key] = REFUSED
    check(found | learnt(g, "Each"), tried)


LAYOUTS: dict[str, tuple[str, pa.Array, Any]] = {
    "binary view": ("Blob", pa.array([b"hi", None], pa.binary_view()), "base64:aGk="),
    "binary of one length": ("Blob", pa.array([b"hi", None], pa.binary(2)), "base64:aGk="),
    "large binary": ("Blob", pa.array([b"hi", None], pa.large_binary()), "base64:aGk="),
    "dictionary of bytes": ("Blob", pa.array([b"hi", None], pa.binary()).dictionary_encode(), "base64:aGk="),
    "string view": ("String", pa.array(["x", None], pa.string_view()), "x"),
    "large string": ("String", pa.array(["x", None], pa.large_string()), "x"),
    "dictionary of dates": ("Date", pa.array(["2024-02-29", None]).dictionary_encode(), "2024-02-29"),
    "large list": ("Ints", pa.array([[1], None], pa.large_list(pa.int64())), [1]),
    "list view": ("Ints", pa.array([[1], None], pa.list_view(pa.int64())), [1]),
    "large list view": ("Wides", pa.array([[1.5], None], pa.large_list_view(pa.float64())), [1.5]),
    "list of one length": ("Texts", pa.array([["x"], None], pa.list_(pa.string(), 1)), ["x"]),
    "vectors as a list view": ("Vector", pa.array([[1, 2], None], pa.list_view(pa.int64())), [1.0, 2.0]),
    "large list of texts in a dictionary": (
        "Texts", pa.LargeListArray.from_arrays([0, 1, 1], pa.array(["x"]).dictionary_encode()), ["x"],
    ),
    "no items of another type": ("Texts", pa.array([[], None], pa.list_(pa.int64())), []),
    "half floats": ("F32", pa.array([np.float16(1.5), None], pa.float16()), 1.5),
    "date64": ("Date", pa.array([86_400_000, None], pa.date64()), "1970-01-02"),
    "decimal256": ("U64", pa.array([Decimal(2**64 - 1), None], pa.decimal256(40, 2)), 2**64 - 1),
}  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_of_columns(tmp_path: Path, layout: str) -> None:
    type_, column, expected = LAYOUTS[layout]
    g = graph(tmp_path)
    g.load({"Each": pa.table({"k": ["a"], each(type_): column[:1]})})
    assert learnt(g, "Each") == {"a": expected}
