"""Values have one spelling, wherever they come out: exports, baselines, feeds, comparisons, commits, conflicts, answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.load.loading import exported

import omnigraph as og
from omnigraph.engine.arrays.plain_values import plain, spelt, spelt_column
from omnigraph.model.arrow import arrow_type
from omnigraph.model.types import PropertyType, Scalar

SCHEMA = """
node Thing {
    name: String @key
    text: String?
    kind: enum(a, b)?
    flag: Bool?
    i32: I32?
    i64: I64?
    u32: U32?
    u64: U64?
    f64: F64?
    day: Date?
    moment: DateTime?
    vector: Vector(2)?
    blob: Blob?
    words: [String]?
    numbers: [I64]?
    days: [Date]?
    moments: [DateTime]?
}
edge Near: Thing -> Thing { since: Date?  at: DateTime? }
"""

BEFORE: dict[str, Any] = {
    "name": "x",
    "text": "2024-05-01",
    "kind": "a",
    "flag": True,
    "i32": -1,
    "i64": 2**62,
    "u32": 2**32 - 1,
    "u64": 2**63 - 1,
    "f64": 0.1,
    "day": "2024-02-29",
    "moment": "2024-05-01T10:00:00.250Z",
    "vector": [0.5, 1.0],
    "blob": "base64:aGk=",
    "words": ["a", ""],
    "numbers": [1, -1],
    "days": ["1969-12-31", "2024-01-01"],
    "moments": ["1969-12-31T23:59:59.999Z"],
}
AFTER: dict[str, Any] = BEFORE | {
    "text": "other",
    "kind": "b",
    "flag": False,
    "i32": 2,
    "i64": 3,
    "u32": 4,
    "u64": 5,
    "f64": 2.5,
    "day": "+12024-05-01",
    "moment": "-00044-03-15T00:00:00.000Z",
    "vector": [1.0, 0.25],
    "blob": "base64:",
    "words": [],
    "numbers": [0],
    "days": ["+10000-01-01"],
    "moments": ["+10000-01-01T00:00:00.001Z", "2024-05-01T00:00:00.000Z"],
}
EDGE = {"since": "2024-05-01", "at": "2024-05-01T10:00:00.000Z"}


@pytest.fixture
def history(tmp_path: Path) -> og.Graph:
    """One thing, written and written anew, and an edge."""
    g = og.init(tmp_path / "g", schema=SCHEMA, durability="os")
    g.load([{"type": "Thing", "data": BEFORE}])
    g.load([{"type": "Thing", "data": AFTER}, {"edge": "Near", "from": "x", "to": "x", "data": {"id": "e", **EDGE}}])
    return g


def images(g: og.Graph) -> Iterator[tuple[str, dict[str, Any]]]:
    """The thing and the edge as they are now, from every way out."""
    first, second = g.commits()[1].id, g.commits()[0].id
    for record in exported(g):
        yield "export", record["data"]
    for record in g.baseline().records():
        yield "baseline", record["data"]
    for data in (
        {"feed": g.changes(since=f"after:{first}").to_dict()["blocks"][0]["changes"]},
        {"commit": g.commit_changes(second).to_dict()["changes"]},
        {"diff": g.diff(first, second).to_dict()["changes"]},
    ):
        for name, changes in data.items():
            for change in json.loads(json.dumps(changes)):
                yield name, {"id": change["id"], **change["after"]["properties"]}


def test_every_way_out_spells_every_type_the_same(history: og.Graph) -> None:
    found = list(images(history))
    assert {name for name, _ in found} == {"export", "baseline", "feed", "commit", "diff"}
    for name, image in found:
        wanted = {"id": "e", **EDGE} if image["id"] == "e" else {"id": "x", **AFTER}
        assert image == wanted, name
    (change,) = history.commit_changes(history.commits()[1].id).to_dict()["changes"]
    assert change["after"]["properties"] == BEFORE


def test_an_answer_has_the_same_spelling(history: og.Graph) -> None:
    names = [name for name in BEFORE if name != "blob"]
    returned = ", ".join(f"$t.{name}" for name in names)
    query = f"query q() {{ match {{ $t: Thing }} return {{ {returned} }} }}"
    (row,) = json.loads(history.query(query, at=history.commits()[1].id).to_json())["rows"]
    assert {name: row[f"t.{name}"] for name in names} == {name: BEFORE[name] for name in names}


def test_a_conflict_has_the_same_spelling(history: og.Graph) -> None:
    history.branches.create("b")
    ours = BEFORE | {"day": "2024-03-01", "moment": "2024-05-01T11:00:00.000Z"}
    history.load([{"type": "Thing", "data": ours}], branch="b")
    history.load([{"type": "Thing", "data": BEFORE}])
    (conflict,) = history.merge("b", dry_run=True).conflicts
    told = json.loads(json.dumps(conflict.to_dict()))
    names = ("base", "ours", "theirs")
    days, moments = ([told[side][name] for side in names] for name in ("day", "moment"))
    assert days == ["+12024-05-01", "2024-02-29", "2024-03-01"]
    assert moments == ["-00044-03-15T00:00:00.000Z", "2024-05-01T10:00:00.250Z", "2024-05-01T11:00:00.000Z"]


def test_what_was_written_loads_back(history: og.Graph, tmp_path: Path) -> None:
    history.export(tmp_path / "out.jsonl")
    copy = og.init(tmp_path / "copy", schema=SCHEMA, durability="os")
    copy.load(tmp_path / "out.jsonl")
    assert exported(copy) == exported(history)


def test_python_has_dates_where_its_calendar_has_them(history: og.Graph) -> None:
    after, before = history.commit_changes(history.commits()[1].id).changes[0], history.diff(*_ends(history)).changes[0]
    assert after.after is not None
    assert before.after is not None
    assert (after.after.properties["day"], after.after.properties["moment"]) == (
        date(2024, 2, 29),
        datetime(2024, 5, 1, 10, 0, 0, 250_000, UTC),
    )
    assert (before.after.properties["day"], before.after.properties["moment"]) == (AFTER["day"], AFTER["moment"])
    assert before.after.properties["moments"] == [AFTER["moments"][0], datetime(2024, 5, 1, tzinfo=UTC)]


def _ends(g: og.Graph) -> tuple[str, str]:
    return g.commits()[1].id, g.commits()[0].id


# ── laws ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

NUMBERS = {
    Scalar.DATE: st.integers(-95_000_000, 95_000_000) | st.integers(-719_165, -719_160) | st.integers(0, 20_000),
    Scalar.DATETIME: st.integers(-(2**52), 2**52)
    | st.integers(-62_135_596_800_002, -62_135_596_799_998)
    | st.integers(0, 10**12),
}


@given(st.data(), st.sampled_from([Scalar.DATE, Scalar.DATETIME]), st.booleans())
def test_a_column_is_spelt_as_its_values(data: st.DataObject, scalar: Scalar, is_list: bool) -> None:
    type_ = PropertyType(scalar, is_list=is_list, nullable=True)
    values = st.lists(NUMBERS[scalar], max_size=3) if is_list else NUMBERS[scalar]
    given_ = data.draw(st.lists(st.none() | values, max_size=8))
    raw = pa.int32() if scalar is Scalar.DATE else pa.int64()
    column = pa.array(given_, pa.list_(raw) if is_list else raw).cast(arrow_type(type_))
    start = data.draw(st.integers(0, len(given_)))
    chunked = pa.chunked_array([column.slice(0, start), column.slice(start)], column.type)
    assert spelt_column(chunked) == [spelt(type_, value) for value in given_]
    assert spelt_column(chunked.slice(start)) == [spelt(type_, value) for value in given_[start:]]


@given(st.data(), st.sampled_from([Scalar.DATE, Scalar.DATETIME]))
def test_python_is_never_given_a_number_for_a_day(data: st.DataObject, scalar: Scalar) -> None:
    type_ = PropertyType(scalar)
    number = data.draw(NUMBERS[scalar])
    found = plain(type_, number)
    assert isinstance(found, date | str)
    if isinstance(found, str):
        assert found == spelt(type_, number)
