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
from collections.abc import Iterator
from typing import Final

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from omnigraph.catalog.catalog import EntityType
from omnigraph.catalog.keys import end_key
from omnigraph.engine.arrays.chunked import whole
from omnigraph.engine.arrays.column import Mask, to_mask
from omnigraph.engine.load.read.conversion.columns import UNCERTAIN, Unsure, from_json, is_huge
from omnigraph.engine.load.read.conversion.ends import ends_in_texts
from omnigraph.engine.load.read.rows.ends import node_at
from omnigraph.engine.load.read.rows.identity import ids_from_keys, key_texts
from omnigraph.engine.load.read.rows.types import Types
from omnigraph.model.arrow import arrow_type
from omnigraph.model.conversions import Door
from omnigraph.model.types import PropertyType, Scalar

_BLOCK: Final = 1 << 16
_SAMPLE: Final = 4
_ENDS: Final = {"src": "from", "dst": "to"}
_NUMBER = re.compile(rb"\s*[-\d]")
_MANY_DIGITS: Final = r"[:,\[]\s*-?[0-9]{16,}\s*[,\]}]"


Found = tuple[pa.RecordBatch, dict[str, Mask]]
"""Rows, and what they do not say anything about, if that is allowed."""


def fast_rows(type_: EntityType, lines: pa.BinaryArray, types: Types, *, ascii_only: bool) -> Found | None:
    """The rows of some lines of a type, or None when something about one of them is not certain."""
    try:
        return _rows(type_, lines, types, ascii_only)
    except UNCERTAIN:
        return None


def _rows(type_: EntityType, lines: pa.BinaryArray, types: Types, ascii_only: bool) -> Found:
    data = _bytes_of(lines)
    if not ascii_only:
        lines.cast(pa.string())
    found = _read(type_, lines, data, types)
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
    if not types.lossy:
        _require_exact_integers(type_, columns, lines)
    stored = {name: from_json(prop.type, columns[name], lossy=types.lossy) for name, prop in type_.properties.items()}
    given = columns.get("id", pa.nulls(len(lines), pa.string()))
    if "id" in columns:
        _require_no_null_ids(given, lines)
    if type_.is_edge:
        for column, member in _ENDS.items():
            stored[column] = _end_ids(node_at(types.catalog, type_, column), whole(found[member]))
        if not types.partial and (stored["src"].null_count or stored["dst"].null_count):
            raise Unsure
    stored["id"] = _ids(type_, given, stored)
    schema = types.schema(type_)
    rows = pa.RecordBatch.from_arrays([stored[name] for name in schema.names], schema=schema)
    return rows, _absent(type_, rows, lines) if types.partial else {}


def _end_ids(node: EntityType, column: pa.Array) -> pa.Array:
    key = end_key(node)
    if key is None or pa.types.is_string(column.type):
        return ends_in_texts(node, column, Door.RECORDS)
    return key_texts(key, column)


def _absent(type_: EntityType, rows: pa.RecordBatch, lines: pa.BinaryArray) -> dict[str, Mask]:
    """What rows do not say anything about. To the reader a null and nothing are the same: lines with nulls are looked at."""
    if rows.column(0).null_count:
        raise Unsure
    found = {name: to_mask(rows.column(name).is_null()) for name in rows.schema.names if rows.column(name).null_count}
    ends = _ENDS if type_.is_edge else {}
    if any(name in type_.key_names for name in found):
        raise Unsure
    for at in np.flatnonzero(to_mask(pc.match_substring(lines, "null"))).tolist() if found else ():
        record = _MEMBERS.decode(lines[at].as_py())
        if any(member in record and found[end][at] for end, member in ends.items() if end in found):
            raise Unsure
        data = _MEMBERS.decode(record["data"]) if "data" in record else {}
        for name in data.keys() & found.keys():
            found[name][at] = False
    return {name: mask for name, mask in found.items() if mask.any()}


_MEMBERS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])


def _read(type_: EntityType, lines: pa.BinaryArray, data: pa.Buffer, types: Types) -> pa.Table:
    """What the reader makes of lines. Unless its schema has ids, it stumbles over any of them, null or not, and nobody has to
    look for nulls among them, which takes a fifth of the time of reading."""
    read = pj.ReadOptions(use_threads=False, block_size=max(len(data), _BLOCK))

    def parsed(*, ids: bool) -> pa.Table:
        schema = _json_schema(type_, lines, types, ids=ids)
        parse = pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior="error")
        return pj.read_json(pa.BufferReader(data), read_options=read, parse_options=parse)

    if not any(b'"id"' in line for line in _sample(lines)):
        try:
            return parsed(ids=False)
        except pa.ArrowInvalid:
            raw = data.to_pybytes()
            if b'"id"' not in raw and b"\\u006" not in raw:
                raise
    return parsed(ids=True)


def _bytes_of(lines: pa.BinaryArray) -> pa.Buffer:
    _, offsets, data = lines.buffers()
    ends = np.frombuffer(offsets, np.int32)[lines.offset : lines.offset + len(lines) + 1]
    return data.slice(int(ends[0]), int(ends[-1] - ends[0]))


def _means(types: Types, type_: EntityType, name: str) -> bool:
    return name == type_.name if type_.is_node else types.catalog.edge(name) is type_


def _require_absent(lines: pa.BinaryArray) -> None:
    """`data` may be missing, but must not be null."""
    if pc.any(pc.match_substring(lines, '"data"')).as_py() or pc.any(pc.match_substring(lines, "\\")).as_py():
        raise Unsure


def _require_exact_integers(type_: EntityType, columns: dict[str, pa.Array], lines: pa.BinaryArray) -> None:
    """The reader makes floats of integers that no float is equal to."""
    floats = [name for name, prop in type_.properties.items() if prop.type.scalar is Scalar.F64]
    if any(is_huge(columns[name]) for name in floats) and pc.any(pc.match_substring_regex(lines, _MANY_DIGITS)).as_py():
        raise Unsure


def _require_no_null_ids(ids: pa.Array, lines: pa.BinaryArray) -> None:
    """An id may be missing, but must not be null; to the reader both are the same."""
    if not ids.null_count:
        return
    spelt = pc.or_(pc.match_substring(lines, '"id"'), pc.match_substring(lines, "\\u006"))
    if pc.any(pc.and_(spelt, ids.is_null())).as_py():
        raise Unsure


def _ids(type_: EntityType, given: pa.Array, stored: dict[str, pa.Array]) -> pa.Array:
    if not type_.key:
        return given
    ids = ids_from_keys(type_, stored)
    if ids.null_count:
        raise Unsure
    if given.null_count < len(given) and not pc.all(pc.fill_null(pc.equal(ids, given), True)).as_py():
        raise Unsure
    return ids


# ── the schema the reader is given ───────────────────────────────────────────────────────────────────────────────────────────


def _json_schema(type_: EntityType, lines: pa.BinaryArray, types: Types, *, ids: bool) -> pa.Schema:
    fields = [("id", pa.string())] if ids else []
    for name, prop in type_.properties.items():
        fields.append((name, _json_type(name, prop.type, lines)))
    data = pa.struct(fields)
    if type_.is_node:
        return pa.schema([("type", pa.string()), ("data", data)])
    ends = [(member, _end_type(type_, column, lines, types)) for column, member in _ENDS.items()]
    return pa.schema([("edge", pa.string()), *ends, ("data", data)])


def _end_type(type_: EntityType, column: str, lines: pa.BinaryArray, types: Types) -> pa.DataType:
    """Text, or integers that are keys."""
    key = end_key(node_at(types.catalog, type_, column))
    numbers = key is not None and key.type.scalar.is_integer and _given_as_number(_ENDS[column], lines)
    return arrow_type(key.type) if key is not None and numbers else pa.string()


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
    for line in _sample(lines):
        start = line.find(member)
        if start < 0:
            continue
        value = line[start + len(member) : start + len(member) + 16].lstrip(b" :[")
        if value[:1] == b'"':
            return False
        if _NUMBER.match(value):
            return True
    return False


def _sample(lines: pa.BinaryArray) -> Iterator[bytes]:
    for at in sorted({0, len(lines) // 2, len(lines) - 1, *range(min(_SAMPLE, len(lines)))}):
        yield lines[at].as_py()
