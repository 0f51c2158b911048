"""Columns of CSV, Parquet, Arrow and data frames into typed rows of one type.

A column is brought into the type of its property at once. When something does not fit, the batch is halved until the rows that
are to blame stand alone; they are taken value by value (`exact`), which says what is wrong with them.

A frame may be more generous than JSON: whole numbers may come as floats (pandas has no other way to leave one out), text may be a
dictionary, times have any unit. In CSV everything is text: an empty cell is null, `""` is an empty string, lists and vectors are
JSON arrays.
"""

from __future__ import annotations

import json
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.catalog.catalog import EdgeType, NodeType
from omnigraph.engine.external.cells import given_bytes
from omnigraph.engine.load.exact import NotARecord, Reader, check_rows, decode, plain_array
from omnigraph.engine.load.fast import UNCERTAIN, Unsure, dates, moments, stored_elements, stored_lists, stored_vectors
from omnigraph.engine.load.headers import ENDS, column_violations
from omnigraph.engine.load.identity import ids_from_keys
from omnigraph.engine.load.types import Parsed, Rows, Type, Types, key_of, line_numbers
from omnigraph.engine.load.values import Misfit, kind, stored_value
from omnigraph.engine.write.violations import Violation
from omnigraph.model.arrow import arrow_type
from omnigraph.model.types import PropertyType, Scalar

_FEW: Final = 16
_BOOLEANS: Final = pa.array(["true", "false", None])
_DAY_MS: Final = 86_400_000


# ── batches ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def typed_rows(type_: Type, batch: pa.RecordBatch, types: Types, file: str | None, first: int, *, text: bool = False) -> Parsed:
    """Rows of a type from columns of its properties, with `id` if wanted and `from` and `to` of an edge. `text`: all is text."""
    wrong = column_violations(type_, batch.schema.names, file) if first == 1 else []
    missing = {name for name, prop in type_.properties.items() if not prop.type.nullable and name not in batch.schema.names}
    reader = Reader(types, file, convert=text_value if text else frame_value)
    parts: list[Rows] = []
    numbers = line_numbers(first, batch.num_rows)
    if len(set(batch.schema.names)) == len(batch.schema.names):
        _halve(type_, batch, numbers, types, text, parts, reader)
    singly = reader.parsed()
    rows = tuple(parts) + singly.rows
    checked = [v for part in rows for v in check_rows(part, types)]
    told = {("required", name) for name in missing} | {("unknown_property", name) for name in batch.schema.names}
    found = [v for v in (*singly.violations, *checked) if (v.rule, v.property) not in told]  # once, of the column
    return Parsed(rows, (*wrong, *found), singly.doubtful, singly.broken, lines=batch.num_rows)


def _halve(type_: Type, batch: pa.RecordBatch, numbers: Any, types: Types, text: bool, parts: list[Rows], reader: Reader) -> None:
    try:
        parts.append(Rows(type_, _typed(type_, batch, types, text), reader.file, numbers))
    except UNCERTAIN:
        if batch.num_rows > _FEW:
            middle = batch.num_rows // 2
            _halve(type_, batch.slice(0, middle), numbers[:middle], types, text, parts, reader)
            _halve(type_, batch.slice(middle), numbers[middle:], types, text, parts, reader)
        else:
            for number, row in zip(numbers.tolist(), batch.to_pylist(), strict=True):
                add_row(reader, number, type_, row)


def add_row(reader: Reader, number: int, type_: Type, row: dict[str, object]) -> None:
    """One row by itself."""
    ends: dict[str, object] = {}
    fine = True
    if isinstance(type_, EdgeType):
        for column, spellings in ENDS.items():
            given = next((row.pop(s) for s in spellings if s in row), None)
            ends[column] = given if isinstance(given, str) else None
            if not isinstance(given, str):
                message = f"{type_.name}: `{spellings[0]}` must be a string, not {kind(given)}"
                reader.violations.append(
                    Violation("record", type_.name, message, spellings[0], value=given, file=reader.file, line=number)
                )
                fine = False
    reader.row(number, type_, row, ends, fine=fine)


def _typed(type_: Type, batch: pa.RecordBatch, types: Types, text: bool) -> pa.RecordBatch:
    names = set(batch.schema.names)
    if not names <= {*type_.properties, "id", *(("from", "to", "src", "dst") if isinstance(type_, EdgeType) else ())}:
        raise Unsure
    stored: dict[str, pa.Array] = {}
    for name, prop in type_.properties.items():
        wanted = arrow_type(prop.type)
        if name not in names or pa.types.is_null(batch.column(name).type):
            stored[name] = pa.nulls(batch.num_rows, wanted)
        else:
            stored[name] = (_from_text if text else _from_column)(prop.type, batch.column(name))
    given = _string(batch.column("id")) if "id" in names else pa.nulls(batch.num_rows, pa.string())
    stored["id"] = given
    if isinstance(type_, NodeType) and key_of(type_):
        stored["id"] = ids_from_keys(type_, stored)
        if stored["id"].null_count or pc.any(pc.not_equal(stored["id"], given)).as_py():
            raise Unsure
    if isinstance(type_, EdgeType):
        for column, spellings in ENDS.items():
            found = [s for s in spellings if s in names]
            if len(found) != 1:
                raise Unsure
            stored[column] = _string(batch.column(found[0]))
            if stored[column].null_count:
                raise Unsure
    schema = types.schema(type_)
    return pa.RecordBatch.from_arrays([stored[name] for name in schema.names], schema=schema)


# ── columns ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _string(column: pa.Array) -> pa.Array:
    type_ = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if pa.types.is_null(type_) or pa.types.is_string(type_) or pa.types.is_large_string(type_) or type_ == pa.string_view():
        return column.cast(pa.string())
    raise Unsure


def _from_column(type_: PropertyType, column: pa.Array) -> pa.Array:
    if type_.is_vector or type_.is_list:
        return _nested(type_, column)
    return _single(type_, column)


def _nested(type_: PropertyType, column: pa.Array) -> pa.Array:
    kinds = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    if not any(is_kind(column.type) for is_kind in kinds):
        raise Unsure
    value = column.type.value_type
    if type_.is_vector:
        if not (pa.types.is_floating(value) or pa.types.is_integer(value)):
            raise Unsure
        return stored_vectors(type_, column.cast(pa.list_(pa.float64())))
    return stored_lists(type_, column.cast(pa.list_(value)), _single)


def _single(type_: PropertyType, column: pa.Array) -> pa.Array:
    scalar, given = type_.scalar, column.type
    number = pa.types.is_integer(given) or pa.types.is_floating(given)
    if scalar is Scalar.STRING:
        return _string(column)
    if scalar is Scalar.BOOL and pa.types.is_boolean(given):
        return column
    if scalar.is_integer and (number or pa.types.is_decimal(given)):
        return _without_nan(column).cast(arrow_type(type_.element()))
    if scalar.is_float and (number or pa.types.is_decimal(given)):
        return stored_elements(type_, _without_nan(column).cast(pa.float64(), safe=False))
    if scalar is Scalar.BLOB:
        if pa.types.is_binary(given) or pa.types.is_large_binary(given):
            return given_bytes(column.cast(pa.large_binary()))
        return stored_elements(type_, _string(column))
    if scalar is Scalar.DATE:
        return _days(column).cast(pa.date32())
    if scalar is Scalar.DATETIME:
        return _milliseconds(column).cast(pa.timestamp("ms", tz="UTC"))
    raise Unsure


def _without_nan(column: pa.Array) -> pa.Array:
    """NaN is how data frames spell that there is no value."""
    if not pa.types.is_floating(column.type):
        return column
    nan = pc.is_nan(column)
    return pc.if_else(nan, pa.scalar(None, column.type), column) if pc.any(nan).as_py() else column


def _days(column: pa.Array) -> pa.Array:
    if pa.types.is_timestamp(column.type):
        moments_ = _milliseconds(column)
        return _floored(moments_, _DAY_MS).cast(pa.int32())
    if pa.types.is_date(column.type):
        return column.cast(pa.date32()).cast(pa.int32())
    return column.cast(pa.int32()) if pa.types.is_integer(column.type) else dates(_string(column))


def _milliseconds(column: pa.Array) -> pa.Array:
    given = column.type
    if pa.types.is_timestamp(given):
        parts = {"s": (1000, 1), "ms": (1, 1), "us": (1, 1000), "ns": (1, 1_000_000)}[given.unit]
        numbers = column.cast(pa.int64())
        return _floored(pc.multiply_checked(numbers, parts[0]), parts[1])
    if pa.types.is_date(given):
        return pc.multiply_checked(column.cast(pa.date32()).cast(pa.int32()).cast(pa.int64()), _DAY_MS)
    return column.cast(pa.int64()) if pa.types.is_integer(given) else moments(_string(column))


def _floored(numbers: pa.Array, by: int) -> pa.Array:
    """Whole quotients, towards −∞."""
    if by == 1:
        return numbers
    quotient = pc.divide(numbers, by)
    below = pc.and_(pc.less(numbers, 0), pc.not_equal(pc.multiply(quotient, by), numbers))
    return pc.if_else(below, pc.subtract(quotient, 1), quotient)


def _from_text(type_: PropertyType, column: pa.Array) -> pa.Array:
    scalar = type_.scalar
    if type_.is_list or type_.is_vector:
        return plain_array([None if v is None else text_value(type_, v) for v in column.to_pylist()], arrow_type(type_))
    if scalar is Scalar.STRING:
        return column
    if scalar is Scalar.BOOL:
        if pc.all(pc.is_in(column, value_set=_BOOLEANS)).as_py() is False:
            raise Unsure
        return pc.equal(column, "true")
    if scalar.is_integer:
        if pc.all(pc.match_substring_regex(column, r"^-?\d+$")).as_py() is False:
            raise Unsure
        return column.cast(arrow_type(type_.element()))
    if scalar.is_float:
        return stored_elements(type_, column.cast(pa.float64()))
    if scalar is Scalar.DATE:
        return dates(column).cast(pa.date32())
    if scalar is Scalar.DATETIME:
        return moments(column).cast(pa.timestamp("ms", tz="UTC"))
    return stored_elements(type_, column)


# ── values ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def text_value(type_: PropertyType, value: object) -> object:
    """A cell of a CSV file as it is stored."""
    if not isinstance(value, str):
        raise Misfit(f"must be {type_}, not {kind(value)}")
    scalar = type_.scalar
    if type_.is_list or type_.is_vector:
        try:
            return stored_value(type_, decode(value))
        except NotARecord:
            raise Misfit(f"is {type_}: a cell holds it as a JSON array") from None
    if scalar is Scalar.BOOL:
        if value in ("true", "false"):
            return value == "true"
    elif scalar.is_integer or scalar.is_float:
        try:
            return stored_value(type_, int(value) if scalar.is_integer else float(value))
        except ValueError:
            pass
    else:
        return stored_value(type_, value)
    raise Misfit(f"is {json.dumps(value)[:80]}, not {type_}")


def frame_value(type_: PropertyType, value: object) -> object:
    """A value of a data frame, or of a Python record, as it is stored."""
    if hasattr(value, "tolist") and not isinstance(value, date | datetime):
        value = value.tolist()  # numpy
    if type_.is_list or type_.is_vector:
        items = list(value) if isinstance(value, tuple | set | frozenset) else value
        if isinstance(items, list):
            items = [i.tolist() if hasattr(i, "tolist") else i for i in items]
        return stored_value(type_, items)
    if isinstance(value, Decimal):
        value = int(value) if type_.scalar.is_integer and value == value.to_integral_value() else float(value)
    if type_.scalar.is_integer and isinstance(value, float) and value.is_integer():
        value = int(value)
    return stored_value(type_, value)
