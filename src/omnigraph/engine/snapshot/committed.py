"""What is committed already, as validation asks for it: which ids exist, who holds a value, which edges touch a node.

Every question is about a few keys and is answered through an index, or from memory when the graph is loaded. What a change
itself replaces or removes does not count as committed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.catalog.catalog import EntityType
from omnigraph.engine.arrays.chunked import whole
from omnigraph.engine.arrays.column import Mask
from omnigraph.engine.snapshot.view import View
from omnigraph.storage.lance_format.filters import one_of
from omnigraph.storage.tables.table import Table

LOOKUP_KEYS = 8_192
"""Most keys in one question to an index."""

REMEMBERED_KEYS = 64
"""Answers about so few keys are remembered: what a mutation looked for, the rules ask again."""

REMEMBERED_ANSWERS = 64
"""So many of them, per pin."""

SCANNED_ROWS = 1 << 20
"""Rows read at a time: what is looked for is hashed anew for each."""

LOADED_ROWS = 65_536
"""Up to so many nodes all ids are had in memory as fast as some are looked up: a write makes a new pin, which has none there."""

SCANNED_ABOVE = 4 * LOOKUP_KEYS
"""For more keys than that, reading the columns of all rows costs less than asking an index."""


def existing(view: View, type_: EntityType, ids: pa.Array) -> Mask:
    """Which ids exist."""
    if not len(ids) or not view.stored(type_).rows:
        return np.zeros(len(ids), np.bool_)
    if type_.is_node:
        nodes = view.nodes(type_.name)
        if nodes.loaded or nodes.stored.rows <= LOADED_ROWS or len(ids) > LOOKUP_KEYS:
            return nodes.find(ids) >= 0
    found = rows_where(view, type_, "id", ids, ["id"])
    return pc.is_in(ids, value_set=whole(found["id"])).to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]


def rows_where(view: View, type_: EntityType, column: str, values: pa.Array, columns: Sequence[str]) -> pa.Table:
    """Rows whose value in a column is among some."""
    stored = view.stored(type_)
    table = stored.table
    if not stored.rows or not len(values):
        return table.read(columns, limit=0)
    wanted = pc.unique(values)
    wanted = wanted.filter(wanted.is_valid())
    if len(wanted) > SCANNED_ABOVE:
        return _scanned(table, column, wanted, columns)
    if len(wanted) > REMEMBERED_KEYS:
        return _looked_up(table, column, wanted, columns)
    key = (stored.location, stored.pin, "rows where", column, *wanted.to_pylist(), *columns)
    found: pa.Table = view.workspace.memory.keep(
        key, lambda: _looked_up(table, column, wanted, columns), lambda t: t.nbytes + 512
    )
    return found


def _looked_up(table: Table, column: str, wanted: pa.Array, columns: Sequence[str]) -> pa.Table:
    parts = [table.read(columns, one_of(column, wanted.slice(at, LOOKUP_KEYS))) for at in range(0, len(wanted), LOOKUP_KEYS)]
    return pa.concat_tables(parts) if parts else table.read(columns, limit=0)


def _scanned(table: Table, column: str, wanted: pa.Array, columns: Sequence[str]) -> pa.Table:
    """The same by reading everything once."""
    read = list(dict.fromkeys([column, *columns]))
    schema = pa.schema([table.schema.field(name) for name in read])
    kept = [b.filter(pc.is_in(b.column(column), value_set=wanted)) for b in table.scan(read, batch_rows=SCANNED_ROWS)]
    return pa.Table.from_batches(kept, schema).select(list(columns))
