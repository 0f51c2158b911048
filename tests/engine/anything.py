"""Objects of every kind, generated: scalars of every library, containers of them, and objects that fail when they are looked at."""

from __future__ import annotations

import datetime as dt
import decimal
import fractions
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from hypothesis import strategies as st
from tests.engine.hostile import Raises, RaisingMapping, Text

from omnigraph.engine.calls.arguments import shown


class Box:
    """A generated object, to be shown when a test fails although it may fail when it is shown."""

    def __init__(self, value: object) -> None:
        self.value = value

    def __repr__(self) -> str:
        try:
            return shown(self.value)
        except Exception as error:
            return f"{type(self.value)} that fails with {type(error)}"


def _of(*makers: Callable[[], object]) -> st.SearchStrategy[object]:
    """Made anew each time: what is read once is there for one test."""
    return st.sampled_from(makers).map(lambda make: make())


class Half:
    """Answers one question, and fails at the next."""

    def __init__(self, error: type[BaseException]) -> None:
        self._error, self._answered = error, False

    def _answer(self, *_: object) -> str:
        if self._answered:
            raise self._error("hostile")
        self._answered = True
        return "Ada"

    __str__ = __repr__ = __fspath__ = _answer


class Number(int):
    """A number whose text fails."""

    def __str__(self) -> str:
        raise ValueError("hostile")

    __repr__ = __str__


class Floating(float):
    def __float__(self) -> float:
        raise ValueError("hostile")

    def __eq__(self, other: object) -> bool:
        raise ValueError("hostile")

    __hash__ = float.__hash__


class RaisingList(list[object]):
    def __iter__(self) -> Iterator[object]:
        raise RuntimeError("hostile")

    def __len__(self) -> int:
        raise RuntimeError("hostile")


class RaisingDict(dict[str, object]):
    def items(self) -> object:  # type: ignore[override]
        raise RuntimeError("hostile")

    def __iter__(self) -> Iterator[str]:
        raise RuntimeError("hostile")

    def __getitem__(self, key: str) -> object:
        raise RuntimeError("hostile")

    def get(self, key: str, default: object = None) -> object:
        raise RuntimeError("hostile")


class Zone(dt.tzinfo):
    """A time zone that fails."""

    def utcoffset(self, _: dt.datetime | None) -> dt.timedelta:
        raise ValueError("hostile")

    tzname = dst = utcoffset  # type: ignore[assignment]


class NoZone(dt.tzinfo):
    """A time zone that does not say how far it is."""

    def utcoffset(self, _: dt.datetime | None) -> None:
        return None

    tzname = dst = utcoffset


class Day(dt.date):
    def isoformat(self) -> str:
        raise ValueError("hostile")

    def toordinal(self) -> int:
        raise ValueError("hostile")


def _failing() -> Iterator[object]:
    yield {"type": "Person", "data": {"name": "g"}}
    raise ValueError("hostile")


_WORDS = """Ada Person Knows name NaN null 2024-01-01 2024-13-01 9999999-01-01 1e400 base64:!! base64: file:///etc/passwd s3://x/y main"""
_ODD_TEXT = (
    st.text(st.characters(exclude_categories=()), max_size=8)
    | st.sampled_from(["", " ", "a\0b", "\ud800", "a\udfffb", "\u202eevil", "\x1b[31m", "\r\n", "\ufeff", "x" * 5000])
    | st.sampled_from(_WORDS.split())
)
_NUMBERS = (
    st.integers()
    | st.sampled_from([2**31, 2**63, -(2**63) - 1, 2**64, 0, -1])
    | _of(lambda: 10**400, lambda: -(10**5000))
    | st.floats()
    | st.decimals()
    | st.just(decimal.Decimal("sNaN"))
    | st.fractions()
    | st.complex_numbers(max_magnitude=10)
)
_TIMES = (
    st.dates()
    | st.datetimes()
    | st.datetimes(timezones=st.timezones())
    | st.datetimes(timezones=st.sampled_from([Zone(), NoZone()]))
    | st.timedeltas()
    | st.times()
    | st.just(Day(2024, 1, 1))
    | st.sampled_from([pd.NaT, pd.NA, pd.Timestamp.max, pd.Timestamp("2024-01-01 00:00:00.000000001"), pd.Timedelta("1d")])
    | st.sampled_from([pd.Timestamp("2024-01-01", tz="Asia/Tokyo"), pd.Period("2024-01"), pd.Interval(0, 1)])
    | st.sampled_from([np.datetime64("NaT"), np.datetime64("2024-01-01"), np.datetime64(2**62, "s"), np.datetime64("2024", "Y")])
    | st.sampled_from([np.timedelta64(1, "D"), np.datetime64(1, "as"), np.datetime64(1, "W")])
)
_LIBRARIES = _of(
    lambda: np.int8(3),
    lambda: np.uint64(2**64 - 1),
    lambda: np.float16("nan"),
    lambda: np.float32(0.1),
    lambda: np.longdouble(1) / 3,
    lambda: np.complex64(1j),
    lambda: np.bool_(True),
    lambda: np.str_("a\ud800"),
    lambda: np.bytes_(b"x"),
    lambda: np.void(b"xx"),
    lambda: np.array(1),
    lambda: np.array("x"),
    lambda: np.array([], float),
    lambda: np.array([1.5, float("nan")]),
    lambda: np.array([0.5, 0.5], np.float32),
    lambda: np.zeros((2, 2)),
    lambda: np.zeros((0, 3)),
    lambda: np.array([None, object()], dtype=object),
    lambda: np.array([(1, "a")], dtype=[("a", "i4"), ("b", "U1")]),
    lambda: np.ma.masked_array([1, 2], mask=[True, False]),
    lambda: np.ma.masked,
    lambda: np.array(["2024-01-01", "NaT"], "datetime64[D]"),
    lambda: pd.Series([1, None]),
    lambda: pd.Series([], dtype=object),
    lambda: pd.Index(["a", "b"]),
    lambda: pd.Categorical(["a"]),
    lambda: pd.DataFrame({"name": ["a"], 3: [object()]}),
    lambda: pd.DataFrame({"name": ["p1", "p2"], "age": [1, 2]}),
    lambda: pd.DataFrame([[1, 2]], columns=["name", "name"]),
    lambda: pl.Series("x", [1, None]),
    lambda: pl.DataFrame({"name": ["q1"]}),
    lambda: pl.DataFrame({"name": [object()]}),
    lambda: pl.LazyFrame({"name": ["q2"]}),
    lambda: pa.scalar(1),
    lambda: pa.scalar(None, pa.int32()),
    lambda: pa.scalar(2**40, pa.timestamp("ns", "Europe/Paris")),
    lambda: pa.scalar(10**30, pa.decimal128(38, 2)),
    lambda: pa.scalar({"a": 1}),
    lambda: pa.array([1, None]),
    lambda: pa.array([[1], None]),
    lambda: pa.array([0.5, 0.5], pa.float32()),
    lambda: pa.chunked_array([[1], [2]]),
    lambda: pa.table({"name": ["r1"]}),
    lambda: pa.record_batch({"name": ["r2"]}),
    lambda: pa.table({"name": [b"\xff"]}),
    lambda: pa.table([pa.array([1]), pa.array([2])], names=["name", "name"]),
    lambda: pa.array(["x"]).dictionary_encode(),
    lambda: pa.array([{"a": 1}]),
    lambda: pa.nulls(2),
    lambda: pa.schema([("name", pa.string())]),
    lambda: pa.int32(),
)
_OBJECTS = _of(
    lambda: None,
    lambda: ...,
    lambda: NotImplemented,
    lambda: object(),
    lambda: dict,
    lambda: type("Empty", (), {}),
    lambda: len,
    lambda: lambda *a, **k: None,
    lambda: (x for x in ["Ada"]),
    lambda: _failing(),
    lambda: iter([]),
    lambda: range(3),
    lambda: Path("/nonexistent/p"),
    lambda: Path("a\0b"),
    lambda: Path("\ud800"),
    lambda: b"",
    lambda: b"\xff\x00",
    lambda: bytearray(b"main"),
    lambda: memoryview(b"main"),
    lambda: memoryview(np.zeros((2, 2))),  # type: ignore[arg-type]
    lambda: uuid.UUID(int=7),
    lambda: fractions.Fraction(1, 3),
    lambda: decimal,
    lambda: ValueError("x"),
    lambda: Raises(ValueError),
    lambda: Raises(AttributeError),
    lambda: Raises(KeyError),
    lambda: Raises(StopIteration),
    lambda: Raises(RecursionError),
    lambda: Raises(OSError),
    lambda: Half(ValueError),
    lambda: Text("main"),
    lambda: Text("Ada"),
    lambda: Number(7),
    lambda: Floating(0.5),
    lambda: RaisingMapping(),
    lambda: RaisingList([1]),
    lambda: RaisingDict(name="x"),
)
SCALARS: st.SearchStrategy[object] = st.one_of(
    _OBJECTS, st.booleans(), _NUMBERS, _ODD_TEXT, st.binary(max_size=4), _TIMES, _LIBRARIES
)


def _dict(pairs: list[tuple[object, object]]) -> dict[object, object]:
    found: dict[object, object] = {}
    for key, value in pairs:
        try:
            found[key] = value
        except Exception:  # what cannot be a key is none
            continue
    return found


def _set(items: list[object]) -> set[object]:
    return set(_dict([(item, None) for item in items]))


def _containers(inner: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    several = st.lists(inner, max_size=3)
    return st.one_of(
        several,
        several.map(tuple),
        several.map(_set),
        several.map(lambda items: frozenset(_set(items))),
        several.map(lambda items: iter(items)),
        several.map(lambda items: pd.Series(items, dtype=object)),
        several.map(lambda items: _dict([(f"k{i}", item) for i, item in enumerate(items)])),
        st.lists(st.tuples(inner, inner), max_size=3).map(_dict),
    )


ANYTHING: st.SearchStrategy[object] = st.recursive(SCALARS, _containers, max_leaves=5)
BOXES: st.SearchStrategy[Box] = ANYTHING.map(Box)
