"""Columns of ends, as ids of the nodes they name: all at once what `rows.ends` says of each, or no answer (`Unsure`)."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.catalog.catalog import EntityType, Property
from omnigraph.catalog.keys import end_key
from omnigraph.engine.load.read.conversion.columns import UNCERTAIN, Unsure, from_cells, text_column
from omnigraph.engine.load.read.rows.ends import SPELT_IN_IDS, end_id, is_timed
from omnigraph.engine.load.read.rows.identity import key_texts
from omnigraph.model.conversions import Door, takes
from omnigraph.model.given import Kind


def ends_in_texts(node: EntityType, column: pa.Array, door: Door) -> pa.Array:
    """The ids that texts name: those of the keys in them where the key of a node can be text at a door, or the texts."""
    key, column = end_key(node), text_column(column)
    if key is None or not takes(key.type.scalar, Kind.TEXT, door):
        return column
    return _keys(key, column)


def _keys(key: Property, column: pa.Array) -> pa.Array:
    """The same of texts all of which hold keys, or all of which hold days or moments as ids spell them."""
    if is_timed(key):
        as_in_ids = pc.match_substring_regex(column, f"^{SPELT_IN_IDS.pattern}$")
        if pc.all(as_in_ids).as_py():
            return column
        if pc.any(as_in_ids).as_py():
            raise Unsure
    return key_texts(key, from_cells(key.type, column, lossy=False))


def each_end_in_texts(node: EntityType, column: pa.Array, door: Door) -> pa.Array:
    """The same, one by one where they are not all alike."""
    try:
        return ends_in_texts(node, column, door)
    except UNCERTAIN:
        found = [None if end is None else end_id(node, end, door) for end in column.to_pylist()]
        return pa.array(found, pa.string())
