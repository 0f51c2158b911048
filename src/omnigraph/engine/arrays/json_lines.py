"""Rows of a type as JSON lines: written by exports and quarantine, and used to measure the size of an entity."""

from __future__ import annotations

import msgspec
import pyarrow as pa

from omnigraph.catalog.catalog import EntityType
from omnigraph.engine.arrays.plain_values import spelt_column

_ENCODER = msgspec.json.Encoder()


def lines(type_: EntityType, rows: pa.Table) -> bytes:
    """Rows of a type as lines."""
    columns = {name: spelt_column(rows[name]) for name in rows.column_names}
    names = ["id", *sorted(type_.properties)]
    data = [dict(zip(names, values, strict=True)) for values in zip(*(columns[name] for name in names), strict=True)]
    if type_.is_node:
        return _ENCODER.encode_lines([{"type": type_.name, "data": d} for d in data])
    ends = zip(columns["src"], columns["dst"], data, strict=True)
    return _ENCODER.encode_lines([{"edge": type_.name, "from": s, "to": t, "data": d} for s, t, d in ends])
