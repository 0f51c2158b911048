"""One property of many entities, given by id: what computed values (analytics, embeddings) are written with.

Only rows whose value differs are written again, as whole rows, a chunk at a time: in memory are the ids and the new values,
never the rows. What comes of it is a `Delta` like any other; each row was checked by itself.

    fill(view, Person, "rank", table(id=["Ada", "Bob"], value=[0.6, 0.4]))      None if both have these ranks already
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.catalog.catalog import EntityType
from omnigraph.catalog.columns import columns_of
from omnigraph.catalog.shape import Unique
from omnigraph.engine.arrays.chunked import whole
from omnigraph.engine.arrays.column import Mask, to_mask
from omnigraph.engine.snapshot.view import View
from omnigraph.engine.write.changeset import Delta
from omnigraph.engine.write.rules import values
from omnigraph.engine.write.violations import refuse
from omnigraph.storage.tables.rows import images, scan_images

_LOOKED_UP = 8_192
"""To change more rows than that, the table is read through once."""


def fill(view: View, type_: EntityType, name: str, new: pa.Table) -> Delta | None:
    """The change that gives entities (`id`) a new value (`value`) of a property. Ids that do not exist are left out."""
    table = view.stored(type_).table
    schema = columns_of(type_)
    ids, given = whole(new["id"]), whole(new["value"]).cast(schema.field(name).type)
    if len(ids) <= _LOOKED_UP:
        rows: Iterator[pa.RecordBatch] = iter(images(table, ids.to_pylist()).combine_chunks().to_batches())
    else:
        rows = scan_images(table)
    changed = _changed(rows, ids, given, name)
    first = next(changed, None)
    if first is None:
        return None
    kept_columns = looked_at(type_)
    kept: list[pa.RecordBatch] = []

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in (first, *changed):
            row_batch = batch.select(schema.names).cast(schema)
            refuse(list(values.check(Delta(type_, pa.Table.from_batches([row_batch])))))
            kept.append(row_batch.select(kept_columns))
            yield row_batch

    written = table.write(pa.RecordBatchReader.from_batches(schema, batches()))
    return Delta(type_, pa.Table.from_batches(kept).combine_chunks(), written=written)


def _changed(rows: Iterator[pa.RecordBatch], ids: pa.Array, given: pa.Array, name: str) -> Iterator[pa.RecordBatch]:
    """Rows whose value differs, with the new one."""
    for batch in rows:
        places = pc.index_in(batch.column("id"), value_set=ids)
        known = to_mask(places.is_valid())
        part = batch.filter(pa.array(known))
        new = given.take(places.drop_null())
        differs = _differs(part.column(name), new)
        if differs.any():
            mask = pa.array(differs)
            at = part.schema.get_field_index(name)
            yield part.set_column(at, part.schema.field(at).with_nullable(True), new).filter(mask)


def _differs(old: pa.Array, new: pa.Array) -> Mask:
    if pa.types.is_nested(old.type):
        return np.array([a != b for a, b in zip(old.to_pylist(), new.to_pylist(), strict=True)], np.bool_)
    same = pc.or_(pc.fill_null(pc.equal(old, new), False), pc.and_(old.is_null(), new.is_null()))
    return ~to_mask(same)


def looked_at(type_: EntityType) -> list[str]:
    """Columns that rules about sets of rows look at."""
    implicit = type_.implicit
    unique = [c for constraint in type_.constraints if isinstance(constraint, Unique) for c in constraint.columns]
    return list(dict.fromkeys((*implicit, *unique)))
