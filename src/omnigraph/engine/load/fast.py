"""Lines of one type, all at once, by Arrow's JSON reader: either typed rows that are surely right, or no answer.

The reader is strict by itself (no unknown or repeated members, no value of another JSON type), with exceptions that are made up
for here: it does not check UTF-8, takes NaN for a number, and does not care where lines end. If every line begins with `{` and
ends with `}`, no line can hold an unfinished record (what follows `}` in an unfinished one is never `{`), so as many records as
lines means one record a line.

Whatever is not sure (a date in an unusual spelling is fine, a list with a null is not) gets no answer: `None`. The caller halves
the lines and asks again, and takes the last few line by line (`exact`), which also knows what to say about them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from omnigraph.catalog.catalog import EdgeType, NodeType
from omnigraph.engine.load.identity import ids_from_keys
from omnigraph.engine.load.types import Type, Types
from omnigraph.engine.load.values import Misfit, blob
from omnigraph.engine.write.changeset import whole
from omnigraph.errors import KeyValueError
from omnigraph.model.arrow import arrow_type
from omnigraph.model.times import date_days, datetime_ms
from omnigraph.model.types import PropertyType, Scalar

_FIRST_DAY: Final = -719_162
"""0001-01-01: Arrow reads earlier years, our parser does not."""
_LAST_DAY: Final = 2_932_896
_DAY_MS: Final = 86_400_000
_BLOCK: Final = 1 << 16
_SAMPLE: Final = 4
_NUMBER = re.compile(rb"\s*[-\d]")


class Unsure(Exception):
    """Not an error: somebody else must look at these lines."""


UNCERTAIN: Final = (Unsure, Misfit, KeyValueError, ValueError, pa.ArrowNotImplementedError, pa.ArrowTypeError)
"""Why rows are not taken at once: what Arrow cannot read or convert (its errors are ValueErrors, or the two named here), what a
column cannot hold, what cannot be part of an id. None of it is an answer: the exact path looks at the same rows again, one by
one, and either takes them or says what is wrong with each."""


def fast_rows(type_: Type, lines: pa.BinaryArray, types: Types, *, ascii_only: bool) -> pa.RecordBatch | None:
    """The rows of some lines of a type, or None when something about one of them is not certain."""
    try:
        return _rows(type_, lines, types, ascii_only)
    except UNCERTAIN:
        return None


def _rows(type_: Type, lines: pa.BinaryArray, types: Types, ascii_only: bool) -> pa.RecordBatch:
    data = _bytes_of(lines)
    if not ascii_only:
        lines.cast(pa.string())
    found = pj.read_json(
        pa.BufferReader(data),
        read_options=pj.ReadOptions(use_threads=False, block_size=max(len(data), _BLOCK)),
        parse_options=pj.ParseOptions(explicit_schema=_json_schema(type_, lines), unexpected_field_behavior="error"),
    )
    if found.num_rows != len(lines):
        raise Unsure
    names = whole(found.column(0))
    if names.null_count or not all(_means(types, type_, name) for name in pc.unique(names).to_pylist()):
        raise Unsure
    record = whole(found["data"])
    if record.null_count:
        _require_absent(lines.filter(record.is_null()))
    columns = {name: record.field(i) for i, name in enumerate(record.type.names)}
    if record.null_count:  # a missing record has no values, whatever its children say
        there = record.is_valid()
        columns = {name: pc.if_else(there, column, pa.scalar(None, column.type)) for name, column in columns.items()}
    stored = {name: _stored(prop.type, columns[name]) for name, prop in type_.properties.items()}
    stored["id"] = _ids(type_, columns["id"], stored)
    if isinstance(type_, EdgeType):
        stored["src"], stored["dst"] = whole(found["from"]), whole(found["to"])
        if stored["src"].null_count or stored["dst"].null_count:
            raise Unsure
    schema = types.schema(type_)
    return pa.RecordBatch.from_arrays([stored[name] for name in schema.names], schema=schema)


def _bytes_of(lines: pa.BinaryArray) -> pa.Buffer:
    _, offsets, data = lines.buffers()
    ends = np.frombuffer(offsets, np.int32)[lines.offset : lines.offset + len(lines) + 1]
    return data.slice(int(ends[0]), int(ends[-1] - ends[0]))


def _means(types: Types, type_: Type, name: str) -> bool:
    return name == type_.name if isinstance(type_, NodeType) else types.catalog.edge(name) is type_


def _require_absent(lines: pa.BinaryArray) -> None:
    """`data` may be missing, but must not be null."""
    if pc.any(pc.match_substring(lines, '"data"')).as_py() or pc.any(pc.match_substring(lines, "\\")).as_py():
        raise Unsure


def _ids(type_: Type, given: pa.Array, stored: dict[str, pa.Array]) -> pa.Array:
    if not isinstance(type_, NodeType) or not type_.key:
        return given
    ids = ids_from_keys(type_, stored)
    if ids.null_count:
        raise Unsure
    if given.null_count < len(given) and not pc.all(pc.fill_null(pc.equal(ids, given), True)).as_py():
        raise Unsure
    return ids


# ── the schema the reader is told ────────────────────────────────────────────────────────────────────────────────────────────


def _json_schema(type_: Type, lines: pa.BinaryArray) -> pa.Schema:
    fields = [("id", pa.string())]
    for name, prop in type_.properties.items():
        fields.append((name, _json_type(name, prop.type, lines)))
    data = pa.struct(fields)
    if isinstance(type_, NodeType):
        return pa.schema([("type", pa.string()), ("data", data)])
    return pa.schema([("edge", pa.string()), ("from", pa.string()), ("to", pa.string()), ("data", data)])


def _json_type(name: str, type_: PropertyType, lines: pa.BinaryArray) -> pa.DataType:
    if type_.is_vector:
        return pa.list_(pa.float64())
    scalar = type_.scalar
    if scalar.is_float:
        element = pa.float64()
    elif scalar is Scalar.BLOB:
        element = pa.string()
    elif scalar in (Scalar.DATE, Scalar.DATETIME):
        element = pa.string()
        if _given_as_number(name, lines):
            element = pa.int32() if scalar is Scalar.DATE else pa.int64()
    else:
        element = arrow_type(type_.element())
    return pa.list_(element) if type_.is_list else element


def _given_as_number(name: str, lines: pa.BinaryArray) -> bool:
    """Whether dates are spelt as numbers, as a few lines have it. A wrong guess costs time, nothing else."""
    member = msgspec.json.encode(name)
    for at in sorted({0, len(lines) // 2, len(lines) - 1, *range(min(_SAMPLE, len(lines)))}):
        line: bytes = lines[at].as_py()
        start = line.find(member)
        if start < 0:
            continue
        value = line[start + len(member) : start + len(member) + 16].lstrip(b" :[")
        if value[:1] == b'"':
            return False
        if _NUMBER.match(value):
            return True
    return False


# ── from what JSON has to what is stored ─────────────────────────────────────────────────────────────────────────────────────


def _stored(type_: PropertyType, column: pa.Array) -> pa.Array:
    if type_.is_vector:
        return stored_vectors(type_, column)
    if not type_.is_list:
        return stored_elements(type_, column)
    return stored_lists(type_, column, stored_elements)


def stored_lists(type_: PropertyType, column: pa.Array, elements: Callable[[PropertyType, pa.Array], pa.Array]) -> pa.Array:
    """Lists, by a way to store their elements."""
    flat = column.flatten()
    if flat.null_count:
        raise Unsure
    lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy()
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    mask = column.is_null() if column.null_count else None
    return pa.ListArray.from_arrays(pa.array(offsets), elements(type_, flat), type=arrow_type(type_), mask=mask)


def stored_elements(type_: PropertyType, column: pa.Array) -> pa.Array:
    """Single values, from what JSON has to what is stored."""
    scalar = type_.scalar
    if scalar.is_float:
        found = column if scalar is Scalar.F64 else column.cast(pa.float32(), safe=False)
        _require_finite(found)
        return found
    if scalar is Scalar.BLOB:
        return pa.array([None if v is None else blob(v) for v in column.to_pylist()], pa.large_binary())
    if scalar is Scalar.DATE:
        return dates(column).cast(pa.date32())
    if scalar is Scalar.DATETIME:
        return moments(column).cast(pa.timestamp("ms", tz="UTC"))
    return column


def _require_finite(column: pa.Array) -> None:
    if pc.all(pc.is_finite(column)).as_py() is False:
        raise Unsure


def stored_vectors(type_: PropertyType, column: pa.Array) -> pa.Array:
    """Vectors from lists of numbers."""
    assert type_.dimension is not None
    flat = column.flatten()
    valid = column.is_valid().to_numpy(zero_copy_only=False)
    lengths = pc.fill_null(pc.list_value_length(column), type_.dimension).to_numpy()
    if flat.null_count or (lengths != type_.dimension).any():
        raise Unsure
    numbers = flat.cast(pa.float32(), safe=False)
    _require_finite(numbers)
    if not valid.all():
        spread = np.zeros((len(column), type_.dimension), np.float32)
        spread[valid] = numbers.to_numpy().reshape(-1, type_.dimension)
        numbers = pa.array(spread.reshape(-1))
    mask = None if valid.all() else pa.array(~valid)
    return pa.FixedSizeListArray.from_arrays(numbers, type=arrow_type(type_), mask=mask)


def dates(column: pa.Array) -> pa.Array:
    """Days of dates in text; numbers are days already."""
    if not pa.types.is_string(column.type):
        return column
    lengths = pc.utf8_length(column)
    if pc.all(pc.equal(lengths, 10)).as_py() is not False:
        try:
            found = column.cast(pa.date32()).cast(pa.int32())
        except pa.ArrowInvalid:
            return _each(column, date_days, pa.int32())
        if _between(found, _FIRST_DAY, _LAST_DAY):
            return found
    return _each(column, date_days, pa.int32())


def moments(column: pa.Array) -> pa.Array:
    """Milliseconds of moments in text; numbers are milliseconds already."""
    if not pa.types.is_string(column.type):
        return column
    lengths = pc.utf8_length(column)
    usual = pc.and_(pc.or_(pc.equal(lengths, 20), pc.equal(lengths, 24)), pc.ends_with(column, "Z"))
    if pc.all(usual).as_py() is not False:
        try:
            found = column.cast(pa.timestamp("ms", tz="UTC")).cast(pa.int64())
        except pa.ArrowInvalid:
            return _each(column, datetime_ms, pa.int64())
        if _between(found, _FIRST_DAY * _DAY_MS, (_LAST_DAY + 1) * _DAY_MS):
            return found
    return _each(column, datetime_ms, pa.int64())


def _between(found: pa.Array, low: int, high: int) -> bool:
    bounds = pc.min_max(found).as_py()
    return bounds["min"] is None or (bounds["min"] >= low and bounds["max"] <= high)


def _each(column: pa.Array, parse: Callable[[str], int], type_: pa.DataType) -> pa.Array:
    """Each distinct text once."""
    encoded = column.dictionary_encode()
    try:
        known = pa.array([parse(text) for text in encoded.dictionary.to_pylist()], type_)
    except OverflowError:
        raise Unsure from None
    return known.take(encoded.indices)
