"""Objects that no argument was made for, and what a graph looks like before and after they are thrown at it."""

from __future__ import annotations

import datetime as dt
import decimal
import fractions
import os
import threading
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

import omnigraph as og


class Raises:
    """Fails whatever is asked of it, with the error it was made with."""

    def __init__(self, error: type[Exception]) -> None:
        self.__dict__["error"] = error

    def _fail(self, *_: object, **__: object) -> object:
        raise self.__dict__["error"]("hostile")

    __str__ = __repr__ = __eq__ = __hash__ = __iter__ = __len__ = __bool__ = _fail  # type: ignore[assignment]
    __getitem__ = __float__ = __int__ = __index__ = __fspath__ = __lt__ = __call__ = _fail


class RaisingMapping(Mapping[str, object]):
    def __getitem__(self, key: str) -> object:
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        raise RuntimeError("hostile")

    def __len__(self) -> int:
        return 3

    __hash__ = None  # type: ignore[assignment]


class Text(str):
    """A text that is not quite one."""

    def strip(self, chars: str | None = None, /) -> str:
        raise ValueError("hostile")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("hostile")

    __hash__ = str.__hash__


def _deep(levels: int) -> object:
    found: object = []
    for _ in range(levels):
        found = [found]
    return found


def _generator() -> Iterator[object]:
    yield "Person"
    raise ValueError("hostile")


def objects(commit: object) -> dict[str, object]:
    """One of every kind, by a name. Made anew each time: a generator is read once."""
    return {
        "none": None,
        "true": True,
        "zero": 0,
        "minus": -1,
        "huge": 10**5000,
        "minus huge": -(10**400),
        "float": 1.5,
        "nan": float("nan"),
        "inf": float("inf"),
        "complex": 1j,
        "decimal": decimal.Decimal("NaN"),
        "fraction": fractions.Fraction(1, 3),
        "empty": "",
        "blank": "  ",
        "text": "x",
        "nul": "a\0b",
        "surrogate": "a\ud800b",
        "escape": "\x1b[31mred\x1b[0m",
        "bidi": "a\u202eb",
        "long": "x" * 100_000,
        "dots": "../../..",
        "odd text": Text("main"),
        "bytes": b"main",
        "bytearray": bytearray(b"main"),
        "memoryview": memoryview(b"main"),
        "path": Path("/nonexistent/path"),
        "path bytes": b"/nonexistent",
        "list": ["x"],
        "list of ints": [1, None],
        "deep": _deep(2000),
        "tuple": ("x", 3),
        "set": {"x"},
        "dict": {"x": 1},
        "dict of ints": {1: 2},
        "dict of surrogates": {"\ud800": "\ud800"},
        "mapping": RaisingMapping(),
        "generator": _generator(),
        "range": range(3),
        "function": lambda *a, **k: None,
        "class": dict,
        "exception": ValueError("x"),
        "module": decimal,
        "ellipsis": ...,
        "commit": commit,
        "date": dt.date(2024, 1, 1),
        "datetime": dt.datetime(2024, 1, 1, tzinfo=dt.UTC),
        "timedelta": dt.timedelta(seconds=-1),
        "uuid": uuid.UUID(int=1),
        "lock": threading.Lock(),
        "np int": np.int64(3),
        "np bool": np.bool_(True),
        "np nan": np.float32("nan"),
        "np nat": np.datetime64("NaT"),
        "np 0-d": np.array(1),
        "np 1-d": np.array([1, 2]),
        "np 2-d": np.zeros((2, 2)),
        "np object": np.array([None, object()], dtype=object),
        "pd nat": pd.NaT,
        "pd na": pd.NA,
        "pd stamp": pd.Timestamp("2024-01-01"),
        "series": pd.Series([1, 2]),
        "frame": pd.DataFrame({"x": [1]}),
        "polars": pl.DataFrame({"x": [1]}),
        "arrow": pa.table({"x": [1]}),
        "arrow scalar": pa.scalar(1),
        "raises": Raises(ValueError),
        "raises attribute": Raises(AttributeError),
        "raises key": Raises(KeyError),
        "object": object(),
    }


def state(graph: og.Graph) -> object:
    """What changes with everything that is committed or named: cheap, because it is asked often."""
    root = Path(graph._store.place.uri)
    found = []
    for folder in (root / "__refs", root / "__tags", *(root / "__manifest").glob("*/_versions")):
        if folder.exists():
            found += [(entry.path, entry.stat().st_mtime_ns) for entry in os.scandir(folder)]
    return sorted(found)
