"""Bytes into lines, and ids of many rows at once."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.load.loading import EVERYTHING, graph, refused

from omnigraph.catalog.keys import entity_id
from omnigraph.catalog.opening import offline_catalog
from omnigraph.engine.load.read.conversion.exact import NotARecord, decode_line, plain_array
from omnigraph.engine.load.read.json_lines.lines import line_blocks
from omnigraph.engine.load.read.rows.identity import fresh_ids, ids_from_keys
from omnigraph.language import Source
from omnigraph.model.arrow import arrow_type
from omnigraph.model.ids import UlidSource

CATALOG = offline_catalog(Source(EVERYTHING, "s.pg"))


@given(st.lists(st.text("ab\r", max_size=6), max_size=12), st.integers(1, 9), st.booleans())
def test_blocks_hold_every_line_once(lines: list[str], size: int, ends: bool) -> None:
    text = "\n".join(lines) + ("\n" if ends and lines else "")
    found = list(line_blocks(io.BytesIO(text.encode()), "f", size=size, limit=1000))
    joined = "".join(c.data.decode() for c in found)
    assert joined == (text if not text or text.endswith("\n") else text + "\n")
    first = 1
    for block in found:
        assert block.first_line == first
        assert block.data.endswith(b"\n")
        first += block.line_count


def test_lines_that_are_too_long_are_left_out_and_named() -> None:
    text = b"a\n" + b"b" * 30 + b"\nc\n" + b"d" * 40
    found = list(line_blocks(io.BytesIO(text), "f", size=8, limit=20))
    assert b"".join(c.data for c in found) == b"a\n\nc\n\n"
    assert [n for c in found for n in c.too_long] == [2, 4]


def test_lists_are_counted_outside_strings_and_what_is_in_them_is_not() -> None:
    text = b'{"a":"' + rb"[\"{" * 100_000 + b'","b":[' + b"1," * 200_000 + b"1]}"
    found = decode_line(text)
    assert isinstance(found, dict)
    assert len(found["b"]) == 200_001
    with pytest.raises(NotARecord, match="more than 131,072 lists and objects"):
        decode_line(b'{"a":[' + b"[]," * 131_072 + b"[]]}")


class Counting:
    """Ids one after the other."""

    def __init__(self) -> None:
        self._numbers: Iterator[int] = iter(range(10**6))

    def next(self) -> str:
        return f"id{next(self._numbers)}"


class Stopped:
    """A clock that stands still."""

    def now(self) -> datetime:
        return datetime(2026, 1, 2, tzinfo=UTC)


def test_fresh_ids_are_ulids_that_ascend_and_never_repeat() -> None:
    """Also those of one millisecond, by several sources of one process."""
    parts = [fresh_ids(UlidSource(Stopped()), 1_000).to_pylist() for _ in range(50)]
    single = [UlidSource(Stopped()).next() for _ in range(50)]
    found = [*single, *(i for part in parts for i in part)]
    assert len(set(found)) == 50_050
    assert all(part == sorted(part) for part in parts)
    assert {i[:10] for i in found} == {single[0][:10]}
    assert all(len(i) == 26 and not set(i) - set("0123456789ABCDEFGHJKMNPQRSTVWXYZ") for i in found)
    assert fresh_ids(Counting(), 3).to_pylist() == ["id0", "id1", "id2"]


VALUES = {
    "String": st.text(st.characters(codec="utf-8"), max_size=8),
    "I32": st.integers(-(2**31), 2**31 - 1),
    "Date": st.integers(-(10**6), 10**6),
    "F32": st.floats(width=32, allow_nan=False, allow_infinity=False),
}


@pytest.mark.parametrize("name", ["Thing", "Pair", "Dated", "Counted", "Measured"])
@given(st.data())
def test_ids_of_many_rows_are_those_of_single_ones(name: str, data: st.DataObject) -> None:
    type_ = CATALOG.nodes[name]
    rows: list[dict[str, Any]] = [
        {p.name: data.draw(VALUES[p.type.scalar.value]) for p in type_.key} for _ in range(data.draw(st.integers(0, 5)))
    ]
    columns: dict[str, pa.Array] = {p.name: plain_array([r[p.name] for r in rows], arrow_type(p.type)) for p in type_.key}
    assert ids_from_keys(type_, columns).to_pylist() == [entity_id(type_.key, row) for row in rows]


@pytest.mark.parametrize("at", [0, 1, 30, 60])
@pytest.mark.parametrize("member", ['"id":null', '"\\u0069d":null', '"id" : null', '"i\\u0064":"x"', '"id":"x"'])
def test_one_id_among_many_lines_without(tmp_path: Path, at: int, member: str) -> None:
    """An id that is null is refused wherever it stands; one that is given is taken."""
    g = graph(tmp_path, EVERYTHING)
    lines = ['{"type":"Plain","data":{"note":"the \\"id\\""}}'] * 61
    lines[at] = f'{{"type":"Plain","data":{{"note":"this",{member}}}}}'
    if "null" in member:
        found = refused(g, io.BytesIO("\n".join(lines).encode()))
        assert [(v.line, v.property) for v in found] == [(at + 1, "id")]
        return
    g.load(io.BytesIO("\n".join(lines).encode()))
    sink = io.BytesIO()
    g.export(sink)
    rows = [json.loads(line)["data"] for line in sink.getvalue().splitlines()]
    assert [row["id"] for row in rows if row["note"] == "this"] == ["x"]
    assert len(rows) == 61
