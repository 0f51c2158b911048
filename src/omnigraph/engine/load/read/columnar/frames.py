"""Columns of CSV, Parquet, Arrow and data frames into typed rows of one type.

A column is brought into the type of its property at once. When something does not fit, the batch is halved until the rows that
are to blame stand alone; they are taken value by value (`exact`), which says what is wrong with them.

What becomes of a column is said by the table of conversions (`columns`). In CSV everything is text: an empty cell is null, `""`
an empty string, lists and vectors are JSON arrays.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.catalog.catalog import EntityType
from omnigraph.catalog.keys import end_key
from omnigraph.engine.arrays.column import Mask, to_mask
from omnigraph.engine.load.read.columnar.headers import column_violations, fits_end
from omnigraph.engine.load.read.conversion.columns import UNCERTAIN, Unsure, from_cells, from_column, python_rows, text_column
from omnigraph.engine.load.read.conversion.ends import ends_in_texts
from omnigraph.engine.load.read.conversion.exact import Reader, check_rows
from omnigraph.engine.load.read.rows.ends import node_at
from omnigraph.engine.load.read.rows.identity import ids_from_keys, key_texts
from omnigraph.engine.load.read.rows.removals import COLUMN, DELETE, UPSERTS, Removals, names_column, refusal
from omnigraph.engine.load.read.rows.types import ENDS, Parsed, Rows, Types, key_of, line_numbers
from omnigraph.model.arrow import arrow_type
from omnigraph.model.conversions import Door

_FEW: Final = 16


# ── batches ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def typed_rows(
    type_: EntityType, batch: pa.RecordBatch, types: Types, file: str | None, first: int, *, text: bool = False
) -> Parsed:
    """Rows of a type from columns of its properties, with `id` if wanted and `from` and `to` of an edge. `text`: all is text."""
    names = batch.schema.names
    if names_column(type_, names) and names.count(COLUMN) == 1:
        return _by_operation(type_, batch, types, file, first, text)
    wrong = column_violations(type_, names, file, partial=types.partial) if first == 1 else []
    missing = {name for name, prop in type_.properties.items() if not prop.type.nullable and name not in names}
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


def _by_operation(type_: EntityType, batch: pa.RecordBatch, types: Types, file: str | None, first: int, text: bool) -> Parsed:
    """Rows of which a column says what is done with them."""
    wrong = column_violations(type_, batch.schema.names, file, partial=types.partial) if first == 1 else []
    reader = Reader(types, file, door=Door.CELLS if text else Door.COLUMNS)
    numbers = line_numbers(first, batch.num_rows)
    said = text_column(batch.column(COLUMN))
    writes = to_mask(pc.is_in(pc.fill_null(said, UPSERTS[0]), value_set=pa.array(UPSERTS)))
    rest = batch.drop_columns([COLUMN])
    parts: list[Rows] = []
    removals: list[Removals] = []
    if not wrong:
        _halve(type_, rest.filter(pa.array(writes)), numbers[writes], types, text, parts, reader)
        others = rest.filter(pa.array(~writes))
        try:
            if pc.any(pc.not_equal(said.filter(pa.array(~writes)), DELETE)).as_py() or refusal(types.mode) is not None:
                raise Unsure
            removals.append(Removals(type_, *_removed(type_, others, types, text), file, numbers[~writes]))
        except UNCERTAIN:
            ops = said.filter(pa.array(~writes)).to_pylist()
            for number, op, row in zip(numbers[~writes].tolist(), ops, python_rows(others), strict=True):
                add_row(reader, number, type_, {COLUMN: op, **row})
    singly = reader.parsed()
    removals += singly.removals
    rows = tuple(replace(part, stepwise=True) for part in (*parts, *singly.rows))
    checked = [v for part in rows for v in check_rows(part, types)]
    found = (*wrong, *singly.violations, *checked)
    return replace(singly, rows=rows, violations=found, lines=batch.num_rows, removals=tuple(r for r in removals if len(r.ids)))


def _removed(
    type_: EntityType, batch: pa.RecordBatch, types: Types, text: bool
) -> tuple[pa.Array, tuple[pa.Array, pa.Array] | None]:
    """Ids of rows that delete, and no ends, if they have keys or ids."""
    names = set(batch.schema.names)
    stored: dict[str, pa.Array] = {}
    for prop in type_.key:
        if prop.name in type_.properties and prop.name in names:
            stored[prop.name] = (from_cells if text else from_column)(prop.type, batch.column(prop.name), lossy=False)
    for column, spellings in ENDS.items() if type_.is_edge else ():
        if len(names & set(spellings)) == 1:
            stored[column] = _ends(node_at(types.catalog, type_, column), batch.column(next(iter(names & set(spellings)))), text)
    given = text_column(batch.column("id")) if "id" in names else None
    ids = given
    if type_.key and type_.key_names <= stored.keys():
        ids = ids_from_keys(type_, stored)
        if given is not None and pc.any(pc.not_equal(ids, given)).as_py():
            raise Unsure
    if ids is None or ids.null_count:
        raise Unsure
    nothing = pa.nulls(len(ids), pa.string())
    return ids, (nothing, nothing) if type_.is_edge else None


def _ends(node: EntityType, column: pa.Array, text: bool) -> pa.Array:
    """Ids of the nodes that a column of ends names; `text`: by cells of CSV."""
    key = end_key(node)
    if text or key is None or not fits_end(node, column.type):
        return ends_in_texts(node, column, Door.CELLS if text else Door.COLUMNS)
    return key_texts(key, from_column(key.type, column, lossy=False))


def _halve(
    type_: EntityType, batch: pa.RecordBatch, numbers: Any, types: Types, text: bool, parts: list[Rows], reader: Reader
) -> None:
    try:
        made, absent = _typed(type_, batch, types, text)
        parts.append(Rows(type_, made, reader.file, numbers, absent))
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
    if names_column(type_, row):
        op = row.pop(COLUMN)
        if op is not None and not reader.operation(number, type_, op):
            return
        if op == DELETE:
            spelt = {s[0]: next((row.pop(n) for n in s if n in row), None) for s in ENDS.values()} if type_.is_edge else {}
            reader.removal(number, type_, row, {end: value for end, value in spelt.items() if value is not None})
            return
    if type_.is_edge:
        for column, spellings in ENDS.items():
            if reader.types.partial and column not in type_.key_names and not any(s in row for s in spellings):
                continue
            given = next((row.pop(s) for s in spellings if s in row), None)
            fine &= reader.end(number, type_, spellings[0], column, {spellings[0]: given}, ends)
    reader.row(number, type_, row, ends, fine=fine)


def _typed(type_: EntityType, batch: pa.RecordBatch, types: Types, text: bool) -> tuple[pa.RecordBatch, dict[str, Mask]]:
    """Rows, and what they do not say anything about."""
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
    if type_.is_edge:
        for column, spellings in ENDS.items():
            found = [s for s in spellings if s in names]
            if not found and types.partial:
                stored[column] = pa.nulls(batch.num_rows, pa.string())
                continue
            if len(found) != 1:
                raise Unsure
            stored[column] = _ends(node_at(types.catalog, type_, column), batch.column(found[0]), text)
            if stored[column].null_count:
                raise Unsure
    given = text_column(batch.column("id")) if "id" in names else pa.nulls(batch.num_rows, pa.string())
    stored["id"] = given
    if types.partial and not key_of(type_) and given.null_count:
        raise Unsure
    if key_of(type_):
        stored["id"] = ids_from_keys(type_, stored)
        if stored["id"].null_count or pc.any(pc.not_equal(stored["id"], given)).as_py():
            raise Unsure
    schema = types.schema(type_)
    made = pa.RecordBatch.from_arrays([stored[name] for name in schema.names], schema=schema)
    said = names | {"id"} | {column for column, spellings in ENDS.items() if names & set(spellings)}
    return made, {n: np.ones(batch.num_rows, np.bool_) for n in schema.names if n not in said} if types.partial else {}
