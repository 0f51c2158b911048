"""What a query gives back.

r.rows            list of dicts, plain Python values         r.to_arrow()  r.to_pandas()  r.to_polars()  r.to_json()
r.columns         names, in the order of the return block    print(r)      a table
for row in r: …   len(r)                                     in a notebook: an HTML table
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, SupportsIndex, overload

import numpy as np
import pyarrow as pa

from omnigraph.engine.arrays.column import FewTexts, Vec, concat
from omnigraph.engine.arrays.plain_values import in_pythons_calendar, plain_array
from omnigraph.engine.calls.arguments import place_text, whole
from omnigraph.engine.calls.guard import guarded
from omnigraph.errors import NoSuchRow
from omnigraph.model.phrases import counted, one_line
from omnigraph.model.text_tables import html_table, text_table
from omnigraph.model.times import datetime_text, duration_text, ms_of

if TYPE_CHECKING:
    import pandas
    import polars

SHOWN_ROWS = 50
"""Rows a table shows in a terminal or a notebook; the rest is counted."""

_WIDEST = 60


class Result:
    """The rows of one query, read from one commit."""

    def __init__(
        self,
        names: Sequence[str],
        types: Sequence[pa.DataType],
        parts: list[list[Vec]],
        *,
        query_name: str,
        graph_commit_id: str,
        branch: str | None,
        snapshot: str | None,
    ) -> None:
        self.columns: list[str] = list(names)
        self.query_name = query_name
        self.graph_commit_id = graph_commit_id
        """Commit the rows were read from."""
        self.branch = branch
        self.snapshot = snapshot
        self._types = list(types)
        self._parts = parts
        self._rows: list[dict[str, Any]] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """What travels between processes: the rows as Arrow has them."""
        return {**self.__dict__, "_rows": None, "_parts": [[vec.to_arrow() for vec in part] for part in self._parts]}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._parts = [[Vec.of(column) for column in part] for part in state["_parts"]]

    def __len__(self) -> int:
        return sum(len(part[0]) for part in self._parts if part)

    @property
    def row_count(self) -> int:
        return len(self)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Every row as a dict."""
        if self._rows is None:
            self._rows = self._as_dicts(python_values)
        return self._rows

    def _as_dicts(self, values_of: Callable[[Vec], list[Any]]) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        names = self.columns
        for part in self._parts:
            match (
                names,
                [values_of(vec) for vec in part],
            ):  # spelt out for few columns: it is the larger part of a small query
                case [a], [first]:
                    found += [{a: x} for x in first]
                case [a, b], [first, second]:
                    found += [{a: x, b: y} for x, y in zip(first, second, strict=True)]
                case [a, b, c], [first, second, third]:
                    found += [{a: x, b: y, c: z} for x, y, z in zip(first, second, third, strict=True)]
                case _, values:
                    found += [dict(zip(names, row, strict=True)) for row in zip(*values, strict=True)]
        return found

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows)

    @overload
    def __getitem__(self, place: SupportsIndex) -> dict[str, Any]: ...

    @overload
    def __getitem__(self, place: slice) -> list[dict[str, Any]]: ...

    def __getitem__(self, place: SupportsIndex | slice) -> dict[str, Any] | list[dict[str, Any]]:
        """A row by its place, or some of them."""
        try:
            return self.rows[place]
        except IndexError:
            raise NoSuchRow(f"the result has {counted(len(self), 'row')}, and none at {place_text(place)}") from None

    def one(self) -> dict[str, Any] | None:
        """The first row, or None."""
        return self.rows[0] if len(self) else None

    def to_arrow(self) -> pa.Table:
        """The rows as an Arrow table, columns in order."""
        if not self._parts:
            return pa.Table.from_arrays([pa.array([], t) for t in self._types], names=self.columns)
        arrays = [concat([part[i] for part in self._parts]).to_arrow() for i in range(len(self.columns))]
        return pa.Table.from_arrays(arrays, names=self.columns)

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a pandas DataFrame (needs pandas). Days that Python's calendar lacks are text, as in `rows`.

        A column of integers that lacks some is one of pandas' nullable integers (`Int64`): as floats they would be rounded.
        """
        table = self.to_arrow()
        odd = [name for name in self.columns if not all(in_pythons_calendar(chunk) for chunk in table[name].chunks)]
        for name in odd:
            at = self.columns.index(name)
            table = table.set_column(at, name, pa.nulls(table.num_rows))
        frame = table.to_pandas()
        for name in self.columns:
            if pa.types.is_integer(table[name].type) and table[name].null_count:
                frame[name] = _nullable_integers(table[name])
        for name in odd:
            frame[name] = frame[name].astype(object)
            frame[name] = [row[name] for row in self.rows]
        return frame

    def to_polars(self) -> polars.DataFrame:
        """The rows as a polars DataFrame (needs polars)."""
        import polars

        found = polars.from_arrow(self.to_arrow())
        assert isinstance(found, polars.DataFrame)
        return found

    def json_rows(self) -> list[dict[str, Any]]:
        """Every row as a dict of values as JSON has them, in the order of the columns."""
        if all(_is_in_json(vec) for part in self._parts for vec in part):
            return self.rows
        return self._as_dicts(_json_values)

    def json_columns(self) -> Iterator[list[list[Any]]]:
        """The same values, column by column, a part of the rows at a time: whoever has no use for dicts need not make them."""
        for part in self._parts:
            yield [_json_values(vec) for vec in part]

    def to_dict(self) -> dict[str, Any]:
        """The answer in the form programs exchange: values as JSON has them."""
        answer: dict[str, Any] = {
            "query_name": self.query_name,
            "target": {"branch": self.branch, "snapshot": self.snapshot},
            "row_count": len(self),
        }
        if self.columns:
            answer["columns"] = self.columns
        answer["rows"] = self.json_rows()
        answer["graph_commit_id"] = self.graph_commit_id
        return answer

    @guarded(indent=whole())
    def to_json(self, *, indent: int | None = None) -> str:
        """The same as text."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=indent)

    def __repr__(self) -> str:
        return self.to_table()

    @guarded()
    def to_table(self, limit: int = SHOWN_ROWS) -> str:
        """The first rows as a table for people."""
        shown = self.rows[:limit]
        numeric = [all(isinstance(row[n], int | float) or row[n] is None for row in shown) for n in self.columns]
        lines = text_table(self.columns, ([_cell(row[name]) for name in self.columns] for row in shown), right=numeric)
        return "\n".join([*lines, _summary(len(self), len(shown))])

    def _repr_html_(self) -> str:
        rows = ([_cell(row[name]) for name in self.columns] for row in self.rows[:SHOWN_ROWS])
        return html_table(self.columns, rows, below=_summary(len(self), min(len(self), SHOWN_ROWS)))


def _nullable_integers(column: pa.ChunkedArray) -> pandas.Series[Any]:
    import pandas

    wanted = {
        pa.int64(): pandas.Int64Dtype(),
        pa.int32(): pandas.Int32Dtype(),
        pa.uint64(): pandas.UInt64Dtype(),
        pa.uint32(): pandas.UInt32Dtype(),
    }
    return column.to_pandas(types_mapper=wanted.get)


def _summary(rows: int, shown: int) -> str:
    text = counted(rows, "row")
    return text if shown == rows else f"{text}, the first {shown} shown"


def _cell(value: object) -> str:
    said = "·" if value is None else wire(value)
    return one_line(said if isinstance(said, str) else _json(said), _WIDEST)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def python_values(vec: Vec) -> list[Any]:
    """A column of an answer as plain Python values."""
    if isinstance(vec, FewTexts):
        return vec.to_pylist()
    if vec.plain is not None and vec.type.id in _AS_THEY_ARE:
        return vec.plain.tolist() if vec.valid is None else vec.to_pylist()
    return plain_array(vec.to_arrow())


_AS_THEY_ARE: Final = frozenset(t.id for t in (pa.int64(), pa.int32(), pa.float64(), pa.bool_(), pa.uint64(), pa.uint32()))

_IN_JSON: Final = frozenset(
    t.id for t in (pa.int64(), pa.int32(), pa.uint64(), pa.uint32(), pa.bool_(), pa.string(), pa.large_string())
)
"""Types whose values are the same in JSON."""


def _is_in_json(vec: Vec) -> bool:
    """Whether all values of a column are the same in JSON; of floats those that are finite are."""
    if pa.types.is_floating(vec.type) and vec.plain is not None:
        return bool(np.isfinite(vec.plain).all())
    return vec.type.id in _IN_JSON


def _json_values(vec: Vec) -> list[Any]:
    values = python_values(vec)
    return values if _is_in_json(vec) else [wire(value) for value in values]


def wire(value: object) -> object:
    """A value as JSON has it."""
    match value:
        case datetime():
            return datetime_text(ms_of(value, lossy=True))
        case date():
            return value.isoformat()
        case timedelta():
            return duration_text(value // timedelta(milliseconds=1))
        case float() if not math.isfinite(value):
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        case list():
            return [wire(item) for item in value]
        case _:
            return value
