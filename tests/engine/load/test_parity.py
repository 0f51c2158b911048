"""The fast path and the exact one agree on every line, clean or broken."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.engine.load.loading import EVERYTHING

from omnigraph.catalog.opening import offline_catalog
from omnigraph.engine.load.read.json_lines import parse
from omnigraph.engine.load.read.json_lines.lines import LineBlock
from omnigraph.engine.load.read.rows.types import Parsed, Types
from omnigraph.language import Source

TYPES = Types(offline_catalog(Source(EVERYTHING, "s.pg")))

TEXT = st.text(st.characters(codec="utf-8"), max_size=6) | st.sampled_from(
    ["a", "b", "x!", "é", "\\", '"', ":", '"data"', "base64:aGk="]
)
DAY = st.integers(-800_000, 3_000_000) | st.sampled_from(
    [
        "2024-01-31",
        "2024-1-5",
        "20240105",
        "0001-01-01",
        "0000-01-01",
        "2024-02-30",
        "9999-12-31",
        "+12024-01-01",
        "2024-01-01T10:00:00Z",
        "",
    ]
)
MOMENT = st.integers(-(2**50), 2**50) | st.sampled_from(
    [
        "2024-01-31T10:30:00Z",
        "2024-01-31T10:30:00.123Z",
        "2024-01-31 10:30:00Z",
        "2024-01-31T10:30:00.5+02:00",
        "2024-01-31T10:30Z",
        "2024-01-31T24:00:00Z",
        "2024-01-31T10:30:60Z",
        "0000-01-31T10:30:00Z",
        "1969-12-31T23:59:59.999Z",
        "2024-01-31",
        "20240131 103000",
    ]
)
F64 = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**30), 10**30)
ANY: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**65), 2**65) | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=4,
)


def small_float() -> st.SearchStrategy[Any]:
    return st.floats(width=32, allow_nan=False, allow_infinity=False) | st.sampled_from(
        [3.4028235e38, 3.4028236e38, 1e39, 1, 0.1]
    )


PROPERTIES: dict[str, st.SearchStrategy[Any]] = {
    "text": TEXT,
    "kind": st.sampled_from(["a", "b", "c"]),
    "flag": st.booleans(),
    "i32": st.integers(-120, 120) | st.sampled_from([2**31, -(2**31)]),
    "i64": st.integers(-(2**63), 2**63),
    "u32": st.integers(-1, 2**32),
    "u64": st.integers(0, 2**64),
    "f32": small_float(),
    "f64": F64,
    "day": DAY,
    "moment": MOMENT,
    "vector": st.lists(small_float(), min_size=3, max_size=3) | st.lists(small_float(), max_size=4),
    "blob": st.sampled_from(["base64:", "base64:aGk=", "base64:aGk", "x"]),
    "words": st.lists(TEXT, max_size=3),
    "numbers": st.lists(st.integers(-5, 5), max_size=3),
    "floats": st.lists(small_float(), max_size=3),
    "days": st.lists(DAY, max_size=3),
}


@st.composite
def records(draw: st.DrawFn) -> dict[str, Any]:
    kind = draw(
        st.sampled_from(["Thing", "Thing", "Thing", "Plain", "Pair", "Dated", "Measured", "Near", "near", "Owns", "Step"])
    )
    data: dict[str, Any]
    if kind == "Thing":
        chosen = draw(st.lists(st.sampled_from(sorted(PROPERTIES)), max_size=4, unique=True))
        data = {"name": draw(TEXT), **{name: draw(st.none() | PROPERTIES[name]) for name in chosen}}
    elif kind == "Pair":
        data = {"number": draw(st.integers(0, 9)), "tenant": draw(TEXT)}
    elif kind in ("Dated", "Measured"):
        data = {"day": draw(DAY)} if kind == "Dated" else {"size": draw(small_float())}
    else:
        data = {"note": draw(TEXT)} if kind == "Plain" else {}
    if kind == "Step":
        data = {"number": draw(st.integers(0, 9) | st.none())} | ({"text": draw(TEXT)} if draw(st.booleans()) else {})
        record = {"edge": kind, "from": draw(TEXT), "to": draw(TEXT), "data": data}
    elif kind in ("Near", "near", "Owns"):
        data = {"since": draw(DAY), "weight": draw(F64)} if kind != "Owns" and draw(st.booleans()) else data
        record = {"edge": kind, "from": draw(TEXT), "to": draw(TEXT), "data": data}
    else:
        record = {"type": kind, "data": data}
    if draw(st.booleans()):
        record.pop("data") if not data else data.update(id=draw(TEXT))
    return record


def spelt(draw: st.DrawFn, record: dict[str, Any]) -> str:
    if draw(st.booleans()):
        record = dict(draw(st.permutations(list(record.items()))))
    separators = draw(st.sampled_from([(",", ":"), (", ", ": "), (" , ", " :\t")]))
    return json.dumps(record, separators=separators, ensure_ascii=draw(st.booleans()))


@st.composite
def broken(draw: st.DrawFn) -> str:
    """A line with something done to it, which may or may not matter."""
    record = draw(records())
    data = record.setdefault("data", {})
    done: list[Callable[[], object]] = [
        lambda: data.update({draw(st.sampled_from([*PROPERTIES, "name", "id", "note"])): draw(ANY)}),
        lambda: data.update({draw(st.sampled_from(["zzz", "src", "_rowid", "_tombstone", "Name"])): 1}),
        lambda: record.update({draw(st.sampled_from(["type", "edge", "from", "to", "data", "other"])): draw(ANY)}),
        lambda: record.pop(draw(st.sampled_from(sorted(record)))),
        lambda: None,
    ]
    draw(st.sampled_from(done))()
    text = spelt(draw, record)
    at = draw(st.integers(0, len(text)))
    changes: list[Callable[[], str]] = [
        lambda: text,
        lambda: (
            text[:at]
            + draw(st.sampled_from(["{", "}", "[", "]", ",", ":", '"', " ", "x", "1", "\\", "\t", "\x01", "\u2028", "é"]))
            + text[at:]
        ),
        lambda: text[:at] + text[at + 1 :],
        lambda: text[:at],
        lambda: text.replace('"name"', '"name":"p","name"'),
        lambda: text.replace('"data"', '"data":{},"data"'),
        lambda: text.replace('"n', '"\\u006e'),
        lambda: text + draw(st.sampled_from([" ", "\r", "x", "{}", text, "\t", ","])),
        lambda: " " + text,
        lambda: text.replace(": ", ":\n"),
        lambda: text.replace("null", "NaN").replace("true", "Infinity"),
        lambda: "",
    ]
    return draw(st.sampled_from(changes))()


def _plain(column: pa.Array) -> list[Any]:
    """Python's dates do not reach as far."""
    found: list[Any] = column.cast(_numbers(column.type)).to_pylist()
    return found


def _numbers(type_: pa.DataType) -> pa.DataType:
    if pa.types.is_date32(type_) or pa.types.is_timestamp(type_):
        return pa.int32() if pa.types.is_date32(type_) else pa.int64()
    return pa.list_(_numbers(type_.value_type)) if pa.types.is_list(type_) else type_


def comparable(parsed: Parsed) -> object:
    rows = {}
    for part in parsed.rows:
        columns = {name: _plain(column) for name, column in zip(part.batch.schema.names, part.batch.columns, strict=True)}
        rows[part.type.name] = (repr(columns), part.lines.tolist())
    wrong = sorted(repr(v) for v in parsed.violations)
    return rows, wrong, sorted(parsed.doubtful), parsed.broken


def both_ways(data: bytes) -> None:
    block = LineBlock("f", 5, data if data.endswith(b"\n") or not data else data + b"\n")
    fast = parse.parse_block(block, TYPES)
    with patch.object(parse, "fast_rows", lambda *_, **__: None):
        exact = parse.parse_block(block, TYPES)
    assert comparable(fast) == comparable(exact)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_clean_lines(data: st.DataObject) -> None:
    lines = [spelt(data.draw, data.draw(records())) for _ in range(data.draw(st.integers(1, 30)))]  # type: ignore[arg-type]
    both_ways("\n".join(lines).encode())


@settings(max_examples=250, deadline=None)
@given(st.lists(broken(), min_size=1, max_size=5))
@example(['{"type":"Plain","data":', '{"note":"x"}}', '{"type":"Plain","data":{"note":"a"}}{"type":"Plain","data":{"note":"b"}}'])
@example(['{"type":"Plain","data":null}', '{"edge":"Owns","from":"a","to":"b","data":null}'])
@example(['{"edge":"Owns","from":"a","to":"b"}', '{"edge":"Owns","from":"\\u0064ata","to":"b"}'])
def test_broken_lines(lines: list[str]) -> None:
    both_ways("\n".join(lines).encode(errors="surrogatepass"))


@pytest.mark.parametrize(
    "data",
    [
        b"\xff\xfe",
        b'{"type":"Plain","data":{"note":"\xff"}}',
        b'{"type":"Plain","data":{"note":"\xc3\xa9"}}\xc3',
        b"\x00\n\x00",
        b"\xef\xbb\xbf{}",
    ],
)
def test_bytes_that_are_no_text(data: bytes) -> None:
    both_ways(data)
    both_ways(b'{"type":"Plain","data":{"note":"fine"}}\n' * 40 + data)
