"""Property types as Arrow types. The only module of `model` that imports pyarrow; import it where columns are handled.

DateTime is `timestamp[ms, UTC]`, not `date64`: Arrow defines `date64` as whole days, so its own validation refuses a time of
day and its readers drop it. Milliseconds since the epoch in UTC is what is stored either way.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.model.types import PropertyType, Scalar

BLOB_METADATA = {b"lance-encoding:blob": b"true"}
"""Marks a column whose values are stored aside and fetched on demand."""

_STORED_BLOB = "lance.blob.v2"
"""What a Blob column is called once it is stored: the mark above is gone then, and the column is of a type of Lance's own."""

_SCALARS: dict[Scalar, pa.DataType] = {
    Scalar.STRING: pa.string(),
    Scalar.BLOB: pa.large_binary(),
    Scalar.BOOL: pa.bool_(),
    Scalar.I32: pa.int32(),
    Scalar.I64: pa.int64(),
    Scalar.U32: pa.uint32(),
    Scalar.U64: pa.uint64(),
    Scalar.F32: pa.float32(),
    Scalar.F64: pa.float64(),
    Scalar.DATE: pa.date32(),
    Scalar.DATETIME: pa.timestamp("ms", tz="UTC"),
    Scalar.DURATION: pa.duration("ms"),
}


def arrow_type(type_: PropertyType) -> pa.DataType:
    """The Arrow type of a column. List elements are nullable in Arrow; writing a null element is refused elsewhere."""
    if type_.scalar is Scalar.VECTOR:
        return pa.list_(pa.float32(), type_.dimension)
    scalar = _SCALARS[type_.scalar]
    return pa.list_(scalar) if type_.is_list else scalar


def pattern_problem(pattern: str) -> str | None:
    """Why Arrow cannot run a regular expression; None if it can."""
    try:
        pc.match_substring_regex(pa.array([""], pa.string()), pattern=pattern)
    except pa.ArrowInvalid as refused:
        return str(refused).removeprefix("Invalid regular expression: ").partition("\n")[0]
    except UnicodeEncodeError:
        return "it holds half a character (a lone surrogate)"
    return None


def arrow_field(name: str, type_: PropertyType) -> pa.Field:
    """A column of this name and type."""
    metadata = BLOB_METADATA if type_.is_blob else None
    return pa.field(name, arrow_type(type_), nullable=type_.nullable, metadata=metadata)


def is_blob(field: pa.Field) -> bool:
    """Whether the values of a column are stored aside, be it as it was declared or as it comes back from a table."""
    metadata = field.metadata or {}
    return (
        getattr(field.type, "extension_name", None) == _STORED_BLOB
        or metadata.get(b"ARROW:extension:name") == _STORED_BLOB.encode()
        or BLOB_METADATA.items() <= metadata.items()
    )
