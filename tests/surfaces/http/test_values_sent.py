"""Values that JSON has no form of: a connected graph takes and refuses them as an open one does, and in the same words."""

from __future__ import annotations

import math
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.engine.served import Server

import omnigraph as og

SCHEMA = (
    "node P { k: String @key  s: String?  e: enum(red, blue)?  n: I32?  f: F64?  b: Blob?  d: Date?  t: DateTime?  ds: [Date]? }"
)


class Color(str, Enum):  # noqa: UP042 - this is what people write
    RED = "red"


VALUES: list[object] = [
    math.nan,
    math.inf,
    b"abc",
    bytearray(b"abc"),
    uuid.UUID(int=5),
    Path("a"),
    1j,
    date(2024, 1, 5),
    datetime(2024, 1, 5, 10, 0, 0, 999),
    datetime(2024, 1, 5, 10, 0, 0, 5000, UTC),
    timedelta(1),
    Decimal("NaN"),
    Decimal("1E+3"),
    Decimal(5),
    Decimal("0.5"),
    "\ud800",
    pd.NA,
    pd.NaT,
    pd.Timestamp("2024-01-05T10:00:00.123456789"),
    np.int64(7),
    np.float32(0.5),
    np.datetime64("2024-01-05"),
    np.str_("x"),
    Color.RED,
    [date(2024, 1, 5), None],
    ("a", "b"),
    {"a"},
    [b"x"],
    2**70,
]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, Any]]:
    server = Server()
    here, served = (og.init(tmp_path_factory.mktemp(name) / "g", schema=SCHEMA, durability="os") for name in ("here", "served"))
    with og.connect(server.url, graph=server.graphs.hold(served), token="ada") as connected:
        yield here, connected
    server.close()


TYPES = {"s": "String", "e": "String", "n": "I32", "f": "F64", "d": "Date", "t": "DateTime", "ds": "[Date]", "b": "Blob"}


def _load(g: Any, k: str, name: str, value: object) -> None:
    g.load({"P": [{"k": k, name: value}]} if len(k) % 2 else [{"type": "P", "data": {"k": k, name: value}}])


def _put(g: Any, k: str, name: str, value: object) -> None:
    g.put("P", {"k": k, name: value})


def _mutate(g: Any, k: str, name: str, value: object) -> None:
    g.mutate(f"query q($k: String, $v: {TYPES[name]}?) {{ insert P {{ k: $k, {name}: $v }} }}", {"k": k, "v": value})


@pytest.mark.parametrize("way", [_load, _put, _mutate])
@pytest.mark.parametrize("name", TYPES)
def test_what_is_sent_is_what_would_be_stored_here(
    both: tuple[Any, Any], way: Callable[[Any, str, str, object], None], name: str
) -> None:
    for number, value in enumerate(VALUES):
        key = f"{way.__name__} {name} {number}"
        assert _outcome(both[1], way, key, name, value) == _outcome(both[0], way, key, name, value), (value, name)


def _outcome(graph: Any, way: Callable[[Any, str, str, object], None], key: str, name: str, value: object) -> object:
    try:
        way(graph, key, name, value)
    except og.GraphError as error:
        return f"{type(error).__name__}: {error.message}"
    blob = None
    if name == "b":
        with suppress(og.NotFound):
            blob = graph.blob("node", "P", key, "b").data
    return graph.get("P", key).properties, blob
