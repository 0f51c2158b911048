"""Whether a change changes anything. Rows that are written again as they are stand for nothing, and nothing is committed.

Compared is as little as possible: a change of rows that are not there, or of a first row that is another one, is found out by one
lookup of a few rows. Only a change that says nothing new is read to its end.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pyarrow as pa

from omnigraph.engine.snapshot.view import View
from omnigraph.engine.write.changeset import ChangeSet, Delta
from omnigraph.storage.tables.rows import images, rows_of_written

FIRST_ROWS: Final = 200
"""Rows that are compared first…"""

ROWS: Final = 20_000
"""… and at a time."""


def says_nothing_new(changes: ChangeSet, view: View) -> bool:
    """Whether everything is there already, exactly as it is to be."""
    return all(delta.is_empty or _is_there(delta, view) for delta in changes)


def _is_there(delta: Delta, view: View) -> bool:
    blobs = any(prop.type.is_blob for prop in delta.type.properties.values())
    if delta.replaces_all or delta.fresh or delta.must_be_new or len(delta.removed) or blobs:
        return False
    if delta.rows.num_rows > view.snapshot.tables[delta.key].rows:
        return False
    table = view.stored(delta.type).table
    few = delta.ids[:FIRST_ROWS].to_pylist()
    if images(table, few).num_rows < len(few):
        return False
    names = ["id", *(["src", "dst"] if delta.type.is_edge else []), *delta.type.properties]
    for rows in _chunks(delta, view):
        there = images(table, rows["id"].to_pylist())
        if there.num_rows != rows.num_rows:
            return False
        before, after = (found.select(names).sort_by("id").combine_chunks() for found in (there, rows))
        if not all(_equal(before[name], after[name].cast(before[name].type)) for name in names):
            return False
    return True


def _chunks(delta: Delta, view: View) -> Iterator[pa.Table]:
    """The rows, a few first."""
    size = FIRST_ROWS
    state = view.snapshot.tables[delta.key]
    if delta.written is None:
        batches: Iterator[pa.RecordBatch] = iter(delta.rows.to_batches())
    else:
        batches = rows_of_written(view.stored(delta.type).table, state, delta.written)
    for batch in batches:
        at = 0
        while at < batch.num_rows:
            yield pa.Table.from_batches([batch.slice(at, size)])
            at, size = at + size, ROWS


def _equal(before: pa.ChunkedArray, after: pa.ChunkedArray) -> bool:
    """Whether two columns hold the same: zeros of different signs, which compare equal, are not."""
    if not before.equals(after):
        return False
    return not _holds_floats(before.type) or [str(v) for v in before.to_pylist()] == [str(v) for v in after.to_pylist()]


def _holds_floats(type_: pa.DataType) -> bool:
    if pa.types.is_list(type_) or pa.types.is_fixed_size_list(type_) or pa.types.is_large_list(type_):
        return _holds_floats(type_.value_type)
    return bool(pa.types.is_floating(type_))
