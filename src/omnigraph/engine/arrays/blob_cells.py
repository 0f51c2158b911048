"""Columns of Blobs: which cells are references to objects outside the graph, and how cells are shown."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.catalog.catalog import EntityType
from omnigraph.engine.arrays.column import to_mask
from omnigraph.errors import UsageError
from omnigraph.model.blobs import BASE64, MARK, bytes_of, managed, uri_of


def blob_properties(type_: EntityType) -> list[str]:
    """Properties of a type that are Blobs."""
    return [name for name, prop in type_.properties.items() if prop.type.is_blob]


def spelt_cell(cell: bytes | None) -> str | None:
    """A cell as an export spells it: `base64:…`, or the URI it refers to."""
    if cell is None:
        return None
    uri = uri_of(cell)
    return BASE64 + base64.b64encode(bytes_of(cell)).decode() if uri is None else uri


def plain_cell(cell: bytes) -> bytes | str:
    """A cell as plain Python: its bytes, or the URI it refers to."""
    uri = uri_of(cell)
    return bytes_of(cell) if uri is None else uri


def given_bytes(column: pa.Array) -> pa.Array:
    """Bytes as they are stored."""
    marked = _marked(column)
    return column if not marked else _replaced(column, {at: managed(column[at].as_py()) for at in marked})


def held_bytes(type_: EntityType, name: str, column: pa.Array, hint: str) -> pa.Array:
    """The bytes of stored cells, for those who cannot say anything else. A reference is refused."""
    marked = _marked(column)
    if not marked:
        return column
    uri = next((uri for _, uri in references(column)), None)
    if uri is not None:
        raise UsageError(f"{type_.name}.{name} refers to another place: {uri}", hint=hint)
    return _replaced(column, {at: bytes_of(column[at].as_py()) for at in marked})


def references(column: pa.Array) -> Iterator[tuple[int, str]]:
    """Cells that refer to another place, by position."""
    for at in _marked(column):
        uri = uri_of(column[at].as_py())
        if uri is not None:
            yield at, uri


def replaced_cells(batch: pa.RecordBatch, name: str, cells: dict[int, bytes]) -> pa.RecordBatch:
    """Rows with other cells at some positions of a column."""
    at = batch.schema.get_field_index(name)
    return batch.set_column(at, batch.schema.field(at), _replaced(batch.column(at), cells)) if cells else batch


def _marked(column: pa.Array) -> Sequence[int]:
    found = pc.starts_with(column, MARK)
    return np.flatnonzero(to_mask(pc.fill_null(found, False))).tolist() if pc.any(found).as_py() else []


def _replaced(column: pa.Array, cells: dict[int, bytes]) -> pa.Array:
    mask = np.zeros(len(column), np.bool_)
    mask[list(cells)] = True
    given = pa.array([cells[at] for at in sorted(cells)], column.type)
    return pc.replace_with_mask(column, pa.array(mask), given)
