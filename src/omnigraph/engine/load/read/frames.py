"""Columns of CSV, Parquet, Arrow and data frames into typed rows of one type.

A column is brought into the type of its property at once. When something does not fit, the batch is halved until the rows that
are to blame stand alone; they are taken value by value (`exact`), which says what is wrong with them.

What becomes of a column is said by the table of conversions (`columns`). In CSV everything is text: an empty cell is null, `""`
an empty string, lists and vectors are JSON arrays.
"""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.catalog.catalog import EntityType
from omnigraph.engine.load.read.columns import UNCERTAIN, Unsure, from_cells, from_column, python_rows, text_column
from omnigraph.engine.load.read.exact import Reader, check_rows
from omnigraph.engine.load.read.headers import ENDS, column_violations
from omnigraph.engine.load.read.identity import ids_from_keys
from omnigraph.engine.load.read.types import Parsed, Rows, Types, key_of, line_numbers
from omnigraph.engine.write.violations import Violation
from omnigraph.model.arrow import arrow_type
from omnigraph.model.conversions import Door, shown
from omnigraph.model.given import named

_FEW: Final = 16


# ── batches ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def typed_rows(
    type_: EntityType, batch: pa.RecordBatch, types: Types, file: str | None, first: int, *, text: bool = False
) -> Parsed:
    """Rows of a type from columns of its properties, with `id` if wanted and `from` and `to` of an edge. `text`: all is text."""
    wrong = column_violations(type_, batch.schema.names, file) if first == 1 else []
    missing = {name for name, prop in type_.properties.items() if not prop.type.nullable and name not in batch.schema.names}
    reader = Reader(types, file, door=Door.CELLS if text else Door.COLUMNS)
    parts: list[Rows] = []
    numbers = line_numbers(first, batch.num_rows)
    if len(set(batch.schema.names)) == len(batch.schema.names):
        _halve(type_, batch, numbers, types, text, parts, reader)
    singly = reader.parsed()
    rows = tuple(parts) + singly.rows
    checked = [v for part in rows for v in check_rows(part, types)]
    reported = {("required", name) for name in missing} | {("unknown_property", name) for name in batch.schema.names}
    found = [v for v in (*singly.violations, *checked) if (v.rule, v.property) not in reported]  # once, of the column
    return Parsed(rows, (*wrong, *found), singly.doubtful, singly.broken, lines=batch.num_rows)


def _halve(
    type_: EntityType, batch: pa.RecordBatch, numbers: Any, types: Types, text: bool, parts: list[Rows], reader: Reader
) -> None:
    try:
        parts.append(Rows(type_, _typed(type_, batch, types, text), reader.file, numbers))
    except UNCERTAIN:
        if batch.num_rows > _FEW:
            middle = batch.num_rows // 2
            _halve(type_, batch.slice(0, middle), numbers[:middle], types, text, parts, reader)
            _halve(type_, batch.slice(middle), numbers[middle:], types, text, parts, reader)
        else:
            for number, row in zip(numbers.tolist(), python_rows(batch), strict=True):
                add_row(reader, number, type_, row)


def add_row(reader: Reader, number: int, type_: EntityType, row: dict[str, object]) -> None:
    """One row by itself."""
    ends: dict[str, object] = {}
    fine = True
    if type_.is_edge:
        for column, spellings in ENDS.items():
            given = next((row.pop(s) for s in spellings if s in row), None)
            ends[column] = given if isinstance(given, str) else None
            if not isinstance(given, str):
                message = f"{type_.name}: `{spellings[0]}` must be a string, not {named(given)}"
                reader.violations.append(
                    Violation("record", type_.name, message, spellings[0], value=shown(given), file=reader.file, line=number)
                )
                fine = False
    reader.row(number, type_, row, ends, fine=fine)


def _typed(type_: EntityType, batch: pa.RecordBatch, types: Types, text: bool) -> pa.RecordBatch:
    names = set(batch.schema.names)
    if not names <= {*type_.properties, "id", *(("from", "to", "src", "dst") if type_.is_edge else ())}:
        raise Unsure
    stored: dict[str, pa.Array] = {}
    for name, prop in type_.properties.items():
        wanted = arrow_type(prop.type)
        if name not in names or pa.types.is_null(batch.column(name).type):
            stored[name] = pa.nulls(batch.num_rows, wanted)
        else:
            stored[name] = (from_cells if text else from_column)(prop.type, batch.column(name), lossy=types.lossy)
    given = text_column(batch.column("id")) if "id" in names else pa.nulls(batch.num_rows, pa.string())
    stored["id"] = given
    if key_of(type_):
        stored["id"] = ids_from_keys(type_, stored)
        if stored["id"].null_count or pc.any(pc.not_equal(stored["id"], given)).as_py():
            raise Unsure
    if type_.is_edge:
        for column, spellings in ENDS.items():
            found = [s for s in spellings if s in names]
            if len(found) != 1:
                raise Unsure
            stored[column] = text_column(batch.column(found[0]))
            if stored[column].null_count:
                raise Unsure
    schema = types.schema(type_)
    return pa.RecordBatch.from_arrays([stored[name] for name in schema.names], schema=schema)
