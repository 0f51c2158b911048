"""Canonical ids and Arrow columns."""

from __future__ import annotations

import math
import struct
from datetime import UTC, date, datetime, timedelta, timezone

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.catalog.catalog import Catalog
from omnigraph.catalog.columns import columns_of
from omnigraph.catalog.keys import KeyValue, entity_id, float_key_text, key_text
from omnigraph.catalog.opening import offline_catalog
from omnigraph.errors import KeyValueError
from omnigraph.language import Source
from omnigraph.model.types import PropertyType, Scalar


def catalog(text: str) -> Catalog:
    return offline_catalog(Source(text, "s.pg"))


@pytest.mark.parametrize(
    ("scalar", "value", "expected"),
    [
        (Scalar.STRING, " As is, even empty: ", " As is, even empty: "),
        (Scalar.STRING, "", ""),
        (Scalar.I32, -7, "-7"),
        (Scalar.U64, 2**64 - 1, "18446744073709551615"),
        (Scalar.BOOL, True, "true"),
        (Scalar.BOOL, False, "false"),
        (Scalar.DATE, date(2024, 1, 1), "19723"),
        (Scalar.DATE, date(1969, 12, 31), "-1"),
        (Scalar.DATE, 19723, "19723"),
        (Scalar.DATETIME, datetime(2024, 1, 1, tzinfo=UTC), "1704067200000"),
        (Scalar.DATETIME, datetime(2024, 1, 1, 2, tzinfo=timezone(timedelta(hours=2))), "1704067200000"),
        (Scalar.DATETIME, datetime(1969, 12, 31, 23, 59, 59, 999_500, tzinfo=UTC), "-1"),
        (Scalar.F64, 3.0, "3"),
        (Scalar.F64, -0.0, "0"),
        (Scalar.F64, 1e21, "1000000000000000000000"),
        (Scalar.F64, 1e-7, "0.0000001"),
        (Scalar.F64, 0.1, "0.1"),
        (Scalar.F32, 0.1, "0.1"),
        (Scalar.F32, 16777217, "16777216"),
        (Scalar.F32, 3.4028235e38, "340282350000000000000000000000000000000"),
        (Scalar.F32, 1.23456789, "1.2345679"),
    ],
)
def test_key_text(scalar: Scalar, value: KeyValue, expected: str) -> None:
    assert key_text("k", PropertyType(scalar), value) == expected


@pytest.mark.parametrize(
    ("scalar", "value"),
    [
        (Scalar.STRING, None), (Scalar.STRING, 3), (Scalar.I32, 2**31), (Scalar.U32, -1), (Scalar.I64, "7"), (Scalar.I64, True),
        (Scalar.I32, 5.0), (Scalar.F64, math.nan), (Scalar.F64, math.inf), (Scalar.F32, 1e39), (Scalar.BOOL, 1),
        (Scalar.DATE, datetime(2024, 1, 1)), (Scalar.DATETIME, date(2024, 1, 1)), (Scalar.F64, "1"), (Scalar.F64, True),
    ],
)  # fmt: skip
def test_values_that_cannot_be_keys(scalar: Scalar, value: KeyValue | None) -> None:
    with pytest.raises(KeyValueError):
        key_text("k", PropertyType(scalar), value)


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_single_floats_read_back(value: float) -> None:
    text = float_key_text("k", value, single=True)
    assert "e" not in text
    assert struct.pack("<f", float(text)) == struct.pack("<f", value + 0.0)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_double_floats_read_back(value: float) -> None:
    text = float_key_text("k", value, single=False)
    assert "e" not in text
    assert float(text) == value


def test_s4_s5_composite_ids_are_ordered_by_property_id() -> None:
    node = catalog("node A { b: I32 a: String @key(b, a) }").nodes["A"]
    assert entity_id(node.key, {"b": 7, "a": "acme"}) == '["acme","7"]'
    node = catalog("node A { tenant: String number: I32 @key(tenant, number) }").nodes["A"]
    assert entity_id(node.key, {"tenant": "acme", "number": 7}) == '["7","acme"]'


def test_composite_ids_escape_minimally() -> None:
    node = catalog("node A { a: String b: String @key(a, b) }").nodes["A"]
    assert entity_id(node.key, {"a": 'q"\\\n', "b": "é\u2028"}) == '["q\\"\\\\\\n","é\u2028"]'


def test_single_key() -> None:
    node = catalog("node A { day: Date @key }").nodes["A"]
    assert entity_id(node.key, {"day": date(2024, 1, 1)}) == "19723"


def test_columns_are_implicit_ones_then_properties_in_alphabetical_order() -> None:
    found = catalog(
        """
        node A { z: String y: I32? x: U64 v: Vector(3)? t: [Date]? s: enum(b, a) d: DateTime b: Blob? f: F32 ok: Bool day: Date }
        edge E: A -> A { w: F64? }
        """
    )
    timestamp = pa.timestamp("ms", tz="UTC")
    expected = pa.schema(
        [
            pa.field("id", pa.string(), nullable=False),
            pa.field("b", pa.large_binary(), metadata={"lance-encoding:blob": "true"}),
            pa.field("d", timestamp, nullable=False),
            pa.field("day", pa.date32(), nullable=False),
            pa.field("f", pa.float32(), nullable=False),
            pa.field("ok", pa.bool_(), nullable=False),
            pa.field("s", pa.string(), nullable=False),
            pa.field("t", pa.list_(pa.date32())),
            pa.field("v", pa.list_(pa.float32(), 3)),
            pa.field("x", pa.uint64(), nullable=False),
            pa.field("y", pa.int32()),
            pa.field("z", pa.string(), nullable=False),
        ]
    )
    assert columns_of(found.nodes["A"]).equals(expected, check_metadata=True)
    assert columns_of(found.edges["E"]).names == ["id", "src", "dst", "w"]


def test_why_a_datetime_is_not_a_date64() -> None:
    """Arrow's date64 is whole days: a time of day fails validation and is lost on reading."""
    noon = pa.array([43_200_000], pa.int64()).view(pa.date64())
    with pytest.raises(pa.ArrowInvalid):
        noon.validate(full=True)
    assert noon.to_pylist() == [date(1970, 1, 1)]


def test_edges_are_found_in_any_case() -> None:
    found = catalog("node A {} edge WorksAt: A -> A")
    assert found.edge("WorksAt") is found.edge("worksAt") is found.edge("wORKSAT") is found.edges["WorksAt"]
    assert found.edge("works_at") is None
