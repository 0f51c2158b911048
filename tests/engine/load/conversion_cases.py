"""The expectation of every conversion: what each property type makes of about sixty values at the edges, written down by hand.

A case is a value, its type as a column, and what becomes of it by the name of the property type; types that are not named refuse it.
`columns` says where a typed column differs from the same value in JSON or Python. Values are spelt as exports spell them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any, Final

import numpy as np
import pyarrow as pa

TYPES: Final = {
    "String": "String",
    "Bool": "Bool",
    "I32": "I32",
    "I64": "I64",
    "U32": "U32",
    "U64": "U64",
    "F32": "F32",
    "F64": "F64",
    "Date": "Date",
    "DateTime": "DateTime",
    "Blob": "Blob",
    "Vector": "Vector(2)",
    "Enum": "enum(a, b)",
    "Texts": "[String]",
    "Ints": "[I32]",
    "Wides": "[F64]",
    "Days": "[Date]",
}
REFUSED: Final = "refused"
SCHEMA: Final = "\n".join(f"node {name} {{ k: String @key  v: {type_}? }}" for name, type_ in TYPES.items())
INTEGERS: Final = ("I32", "I64", "U32", "U64")
EAST: Final = timezone(timedelta(hours=2))


@dataclass(frozen=True)
class Case:
    """A value, and what becomes of it."""

    name: str
    value: Any
    arrow: pa.DataType | None
    takes: dict[str, Any] = field(default_factory=dict)
    columns: dict[str, Any] = field(default_factory=dict)
    """Where a column differs; None: it is refused there."""
    rounded: dict[str, Any] = field(default_factory=dict)
    """What `lossy="round"` makes of it where it is refused otherwise."""

    def column_takes(self) -> dict[str, Any]:
        return {name: v for name, v in (self.takes | self.columns).items() if v is not None}


def numbers(value: int, *names: str) -> dict[str, Any]:
    return dict.fromkeys(names, value)


def moment(text: str) -> dict[str, Any]:
    return {"DateTime": text}


ONE = numbers(1, *INTEGERS) | {"F32": 1.0, "F64": 1.0, "Date": "1970-01-02", "DateTime": "1970-01-01T00:00:00.001Z"}
BIG = 2**53 + 1
CASES: Final = [
    Case("true", True, pa.bool_(), {"Bool": True}),
    Case("one", 1, pa.int64(), ONE),
    Case("minus one", -1, pa.int64(), {**numbers(-1, "I32", "I64"), "F32": -1.0, "F64": -1.0, "Date": "1969-12-31",
         "DateTime": "1969-12-31T23:59:59.999Z"}),
    Case("I32 max", 2**31 - 1, pa.int64(), {**numbers(2**31 - 1, *INTEGERS), "F32": 2147483600.0, "F64": 2147483647.0,
         "DateTime": "1970-01-25T20:31:23.647Z"}, {"F32": None}, {"F32": 2147483600.0}),
    Case("I32 max + 1", 2**31, pa.int64(), {**numbers(2**31, "I64", "U32", "U64"), "F32": 2147483600.0, "F64": 2147483648.0,
         "DateTime": "1970-01-25T20:31:23.648Z"}),
    Case("U32 max + 1", 2**32, pa.int64(), {**numbers(2**32, "I64", "U64"), "F32": 4294967300.0, "F64": 4294967296.0,
         "DateTime": "1970-02-19T17:02:47.296Z"}),
    Case("what F64 does not hold", BIG, pa.int64(), {**numbers(BIG, "I64", "U64"), "F32": 9007199000000000.0}, {"F32": None},
         {"F64": 9007199254740992.0, "F32": 9007199000000000.0}),
    Case("I64 max", 2**63 - 1, pa.int64(), {**numbers(2**63 - 1, "I64", "U64"), "F32": 9.223372e18}, {"F32": None}, {"F64": 2.0**63}),
    Case("I64 min", -(2**63), pa.int64(), {**numbers(-(2**63), "I64"), "F32": -9.223372e18, "F64": -9.223372036854775808e18}),
    Case("U64 max", 2**64 - 1, pa.uint64(), {"U64": 2**64 - 1, "F32": 1.8446744e19}, {"F32": None}, {"F64": 2.0**64}),
    Case("U64 max + 1", 2**64, None, {"F32": 1.8446744e19, "F64": 1.8446744073709552e19}),
    Case("huge", 10**400, None),
    Case("last day", 95_026_236, pa.int32(), {**numbers(95_026_236, *INTEGERS), "F32": 95026240.0, "F64": 95026236.0,
         "Date": "+262142-12-31", "DateTime": "1970-01-02T02:23:46.236Z"}, {"F32": None}),
    Case("day after the last", 95_026_237, pa.int32(), {**numbers(95_026_237, *INTEGERS), "F32": 95026240.0, "F64": 95026237.0,
         "DateTime": "1970-01-02T02:23:46.237Z"}, {"F32": None}),
    Case("last moment", 8_210_266_876_799_999, pa.int64(), {**numbers(8_210_266_876_799_999, "I64", "U64"), "F32": 8210267000000000.0,
         "F64": 8210266876799999.0, "DateTime": "+262142-12-31T23:59:59.999Z"}, {"F32": None}),
    Case("moment after the last", 8_210_266_876_800_000, pa.int64(), {**numbers(8_210_266_876_800_000, "I64", "U64"),
         "F32": 8210267000000000.0, "F64": 8210266876800000.0}, {"F32": None}),
    Case("5.0", 5.0, pa.float64(), {"F32": 5.0, "F64": 5.0}, numbers(5, *INTEGERS)),
    Case("2.5", 2.5, pa.float64(), {"F32": 2.5, "F64": 2.5}),
    Case("0.1", 0.1, pa.float64(), {"F32": 0.1, "F64": 0.1}, {"F32": None}, {"F32": 0.1}),
    Case("0.1 of F32", float(np.float32(0.1)), pa.float32(), {"F32": 0.1, "F64": 0.10000000149011612}),
    Case("-0.0", -0.0, pa.float64(), {"F32": -0.0, "F64": -0.0}, numbers(0, *INTEGERS)),
    Case("1e300", 1e300, pa.float64(), {"F64": 1e300}),
    Case("F32 max", 3.4028234663852886e38, pa.float64(), {"F32": 3.4028235e38, "F64": 3.4028234663852886e38}),
    Case("too large for F32", 3.5e38, pa.float64(), {"F64": 3.5e38}),
    Case("9007199254740992.0", 2.0**53, pa.float64(), {"F32": 9007199000000000.0, "F64": 9007199254740992.0},
         numbers(2**53, "I64", "U64")),
    Case("NaN", float("nan"), pa.float64()),
    Case("infinity", float("inf"), pa.float64()),
    Case("decimal 7", Decimal(7), pa.decimal128(10, 0), {**numbers(7, *INTEGERS), "F32": 7.0, "F64": 7.0}),
    Case("decimal 7.5", Decimal("7.5"), pa.decimal128(10, 1), {"F32": 7.5, "F64": 7.5}),
    Case("decimal 0.1", Decimal("0.1"), pa.decimal128(10, 1), {"F32": 0.1, "F64": 0.1}),
    Case("decimal beyond U64", Decimal(2**64), pa.decimal128(30, 0), {"F32": 1.8446744e19, "F64": 1.8446744073709552e19}),
    Case("decimal that F64 does not hold", Decimal(BIG), pa.decimal128(30, 0), {**numbers(BIG, "I64", "U64"),
         "F32": 9007199000000000.0}, {"F32": None}, {"F64": 9007199254740992.0}),
    Case("empty text", "", pa.string(), {"String": ""}),
    Case("text", "é\n\"", pa.string(), {"String": "é\n\""}),
    Case("a", "a", pa.string(), {"String": "a", "Enum": "a"}),
    Case("null in text", "null", pa.string(), {"String": "null"}),
    Case("true in text", "true", pa.string(), {"String": "true"}),
    Case("digits", "5", pa.string(), {"String": "5"}),
    Case("base64", "base64:aGk=", pa.string(), {"String": "base64:aGk=", "Blob": "base64:aGk="}),
    Case("broken base64", "base64:?", pa.string(), {"String": "base64:?"}),
    Case("day in text", "2024-02-29", pa.string(), {"String": "2024-02-29", "Date": "2024-02-29",
         "DateTime": "2024-02-29T00:00:00.000Z"}),
    Case("no such day", "2023-02-29", pa.string(), {"String": "2023-02-29"}),
    Case("compact day", "20240229", pa.string(), {"String": "20240229", "Date": "2024-02-29", "DateTime": "2024-02-29T00:00:00.000Z"}),
    Case("year 0", "0000-01-01", pa.string(), {"String": "0000-01-01", "Date": "+00000-01-01",
         "DateTime": "+00000-01-01T00:00:00.000Z"}),
    Case("before Christ", "-0044-03-15", pa.string(), {"String": "-0044-03-15", "Date": "-00044-03-15",
         "DateTime": "-00044-03-15T00:00:00.000Z"}),
    Case("year 12024", "+12024-01-05", pa.string(), {"String": "+12024-01-05", "Date": "+12024-01-05",
         "DateTime": "+12024-01-05T00:00:00.000Z"}),
    Case("year 300000", "+300000-01-01", pa.string(), {"String": "+300000-01-01"}),
    Case("digits of another script", "२०२४-०१-०१", pa.string(), {"String": "२०२४-०१-०१"}),
    Case("midnight in text", "2024-01-05T00:00:00Z", pa.string(), {"String": "2024-01-05T00:00:00Z", "Date": "2024-01-05",
         "DateTime": "2024-01-05T00:00:00.000Z"}),
    Case("moment in text", "2024-01-05T10:30:00.123Z", pa.string(), {"String": "2024-01-05T10:30:00.123Z",
         "DateTime": "2024-01-05T10:30:00.123Z"}, rounded={"Date": "2024-01-05"}),
    Case("zeros below milliseconds", "2024-01-05T10:30:00.123000Z", pa.string(), {"String": "2024-01-05T10:30:00.123000Z",
         "DateTime": "2024-01-05T10:30:00.123Z"}, rounded={"Date": "2024-01-05"}),
    Case("microseconds in text", "2024-01-05T10:30:00.123456Z", pa.string(), {"String": "2024-01-05T10:30:00.123456Z"},
         rounded=moment("2024-01-05T10:30:00.123Z") | {"Date": "2024-01-05"}),
    Case("midnight in another zone", "2024-01-05T00:00:00+02:00", pa.string(), {"String": "2024-01-05T00:00:00+02:00",
         "DateTime": "2024-01-04T22:00:00.000Z"}, rounded={"Date": "2024-01-04"}),
    Case("bytes", b"hi", pa.binary(), {"Blob": "base64:aGk="}),
    Case("date", date(2024, 2, 29), pa.date32(), {"Date": "2024-02-29", "DateTime": "2024-02-29T00:00:00.000Z"}),
    Case("midnight", datetime(2024, 1, 5), pa.timestamp("us"), {"Date": "2024-01-05", "DateTime": "2024-01-05T00:00:00.000Z"}),
    Case("a moment", datetime(2024, 1, 5, 10, 30, tzinfo=UTC), pa.timestamp("ms", "UTC"), moment("2024-01-05T10:30:00.000Z"),
         rounded={"Date": "2024-01-05"}),
    Case("midnight elsewhere", datetime(2024, 1, 5, tzinfo=EAST), pa.timestamp("s", "+02:00"), moment("2024-01-04T22:00:00.000Z"),
         rounded={"Date": "2024-01-04"}),
    Case("microseconds", datetime(1969, 12, 31, 23, 59, 59, 999_999), pa.timestamp("us"),
         rounded=moment("1969-12-31T23:59:59.999Z") | {"Date": "1969-12-31"}),
    Case("nanoseconds", np.datetime64("2024-01-05T00:00:00.000000001", "ns"), pa.timestamp("ns"),
         rounded=moment("2024-01-05T00:00:00.000Z") | {"Date": "2024-01-05"}),
    Case("no items", [], pa.list_(pa.null()), {"Texts": [], "Ints": [], "Wides": [], "Days": []}),
    Case("integers", [1, 2], pa.list_(pa.int64()), {"Ints": [1, 2], "Wides": [1.0, 2.0], "Vector": [1.0, 2.0],
         "Days": ["1970-01-02", "1970-01-03"]}),
    Case("an integer too large", [1, 2**31], pa.list_(pa.int64()), {"Wides": [1.0, 2147483648.0], "Vector": [1.0, 2147483600.0]}),
    Case("floats", [0.1, 0.2], pa.list_(pa.float64()), {"Wides": [0.1, 0.2], "Vector": [0.1, 0.2]}),
    Case("NaN in a list", [1.0, float("nan")], pa.list_(pa.float64())),
    Case("three numbers", [1.5, 2.5, 3.5], pa.list_(pa.float64()), {"Wides": [1.5, 2.5, 3.5]}),
    Case("an item without a value", [1, None], pa.list_(pa.int64())),
    Case("texts", ["x", ""], pa.list_(pa.string()), {"Texts": ["x", ""]}),
    Case("two dimensions", [[1.0, 2.0], [3.0, 4.0]], pa.list_(pa.list_(pa.float64()))),
    Case("an object", {"a": 1}, pa.struct([("a", pa.int64())])),
]  # fmt: skip

PARAMETER_TEXTS: Final = {"digits": numbers(5, *INTEGERS), "compact day": numbers(20240229, *INTEGERS)}
"""What parameters take beyond that: integers in text, since not everybody's JSON has all of them."""

ZERO = numbers(5, *INTEGERS) | {"F32": 5.0, "F64": 5.0, "String": "5"}
CELLS: Final[list[tuple[str, dict[str, Any]]]] = [
    ("5", ZERO),
    ("+5", {**ZERO, "String": "+5"}),
    ("005", {**ZERO, "String": "005"}),
    (" 5", {"String": " 5"}),
    ("1_000", {"String": "1_000"}),
    ("१", {"String": "१"}),
    ("5.0", {"F32": 5.0, "F64": 5.0, "String": "5.0"}),
    ("1e3", {"F32": 1000.0, "F64": 1000.0, "String": "1e3"}),
    ("0.1", {"F32": 0.1, "F64": 0.1, "String": "0.1"}),
    ("NaN", {"String": "NaN"}),
    ("inf", {"String": "inf"}),
    ("0x10", {"String": "0x10"}),
    (str(2**64 - 1), {"U64": 2**64 - 1, "F32": 1.8446744e19, "String": str(2**64 - 1)}),
    (str(BIG), {**numbers(BIG, "I64", "U64"), "F32": 9007199000000000.0, "String": str(BIG)}),
    ("true", {"Bool": True, "String": "true"}),
    ("True", {"String": "True"}),
    ("null", {"String": "null"}),
    ("a", {"Enum": "a", "String": "a"}),
    ("2024-02-29", {"String": "2024-02-29", "Date": "2024-02-29", "DateTime": "2024-02-29T00:00:00.000Z"}),
    ("2024-01-05T10:30:00.123456Z", {"String": "2024-01-05T10:30:00.123456Z"}),
    (
        "[1,2]",
        {"String": "[1,2]", "Ints": [1, 2], "Wides": [1.0, 2.0], "Vector": [1.0, 2.0], "Days": ["1970-01-02", "1970-01-03"]},
    ),
    ("[1,null]", {"String": "[1,null]"}),
    ("[NaN,1]", {"String": "[NaN,1]"}),
    ('["x"]', {"String": '["x"]', "Texts": ["x"]}),
    ("base64:aGk=", {"String": "base64:aGk=", "Blob": "base64:aGk="}),
]


def wanted(case: Case, type_: str, *, column: bool = False, rounds: bool = False) -> Any:
    """What a type makes of a case, in a column or as a value of its own."""
    expected = case.column_takes() if column else case.takes
    if type_ in expected:
        return expected[type_]
    return case.rounded.get(type_, REFUSED) if rounds else REFUSED


def same(a: object, b: object) -> bool:
    """Equal, and zeros of the same sign."""
    if isinstance(a, float) and isinstance(b, float):
        return a == b and math.copysign(1, a) == math.copysign(1, b)
    return type(a) is type(b) and a == b
