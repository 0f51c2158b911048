"""CSV files of one column: an empty line is a row without a value where there can be one, and nothing elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.engine.load.loading import refused

import omnigraph as og
from omnigraph.engine.load.read.any_format.rejected import records_at
from omnigraph.engine.load.read.delimited.reader import csv_batches
from omnigraph.engine.load.read.inputs.sources import inputs_of

SCHEMA = """
node Text { v: String? }
node Number { v: I32? }
node Word { v: String }
node Named { v: String @key }
node Pair { v: String? w: I32? }
"""


def loaded(folder: Path, name: str, data: bytes, *columns: str, **options: Any) -> list[Any]:
    """What a graph holds after a file was loaded."""
    g = og.init(folder / "g", schema=SCHEMA, durability="os")
    (folder / f"{name}.csv").write_bytes(data)
    g.load(folder / f"{name}.csv", mode="append", **options)
    shown = ", ".join(f"$p.{c} as {c}" for c in columns or ("v",))
    rows = g.query(f"query q() {{ match {{ $p: {name} }} return {{ {shown} }} }}").rows
    return sorted((tuple(row.values()) if columns else row["v"] for row in rows), key=repr)


@pytest.mark.parametrize(
    ("name", "data", "found"),
    [
        ("Text", b"v\na\n\nb\n", [None, "a", "b"]),
        ("Text", b"v\n\n\n", [None, None]),
        ("Text", b"v\na\n\n", [None, "a"]),
        ("Text", b"v\na", ["a"]),
        ("Text", b"v\n", []),
        ("Text", b"v", []),
        ("Text", b'v\n""\n\n" "\n', [" ", "", None]),
        ("Text", b'v\r\na\r\n\r\n"b\r\n\r\nc"\r\n', ["a", "b\r\n\r\nc", None]),
        ("Text", b"\n\nv\n\na\n", [None, "a"]),
        ("Text", b"\xef\xbb\xbfv\n\na\n", [None, "a"]),
        ("Text", b'\xef\xbb\xbf\n"v"\n\na\n', [None, "a"]),
        ("Number", b"v\n1\n\n2\n\n", [1, 2, None, None]),
        ("Word", b"\nv\na\n\nb\n\n\n", ["a", "b"]),
        ("Named", b"v\na\n\nb\n\n\n", ["a", "b"]),
    ],
)
def test_empty_lines_of_one_column(tmp_path: Path, name: str, data: bytes, found: list[Any]) -> None:
    assert loaded(tmp_path, name, data) == sorted(found, key=repr)


def test_empty_lines_of_several_columns_are_nothing(tmp_path: Path) -> None:
    found = loaded(tmp_path, "Pair", b"\nv,w\na,1\n\n,\n\r\nb,2\n\n\n", "v", "w")
    assert found == [("a", 1), ("b", 2), (None, None)]


def test_more_empty_lines_than_are_read_at_once(tmp_path: Path) -> None:
    lines = b"v\n" + b"\n" * 5_000_000 + b"7\n"
    (tmp_path / "Number.csv").write_bytes(lines)
    g = og.init(tmp_path / "g", schema=SCHEMA, durability="os")
    (input_,) = inputs_of(tmp_path / "Number.csv", g._view().catalog).inputs
    batches = list(csv_batches(input_, lambda row: None))
    assert len(batches) > 1
    assert sum(b.num_rows for b in batches) == 5_000_001
    assert sum(b.column("v").null_count for b in batches) == 5_000_000


def test_lines_of_violations_count_empty_ones(tmp_path: Path) -> None:
    g = og.init(tmp_path / "g", schema=SCHEMA, durability="os")
    (tmp_path / "Number.csv").write_text("\nv\n\n1\n\nx\n1,2\n\ny\n")
    found = refused(g, tmp_path / "Number.csv", mode="append")
    assert sorted((v.line, v.rule) for v in found) == [(6, "type"), (7, "csv"), (9, "type")]
    (input_,) = inputs_of(tmp_path / "Number.csv", g._view().catalog).inputs
    kept = records_at(input_, {5, 6, 7, 9})
    assert kept == {
        5: {"type": "Number", "data": {"v": None}},
        6: {"type": "Number", "data": {"v": "x"}},
        7: "1,2",
        9: {"type": "Number", "data": {"v": "y"}},
    }
