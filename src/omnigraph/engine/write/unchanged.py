"""Whether a change has any effect. If all rows are written again as they are, nothing is committed.

Compared is as little as possible: a change of rows that are not there, or of a first row that is another one, is found out by one
lookup of a few rows. Only a change that says nothing new is read to its end, and the rows beside it: by where they stand if they
are a large part of their type, which is about as fast as reading both, and by their ids if they are few.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.engine.arrays.chunked import whole
from omnigraph.engine.snapshot.committed import existing
from omnigraph.engine.snapshot.view import View
from omnigraph.engine.write.changeset import ChangeSet, Delta
from omnigraph.storage.tables.changes import TableState
from omnigraph.storage.tables.lookups import images_with
from omnigraph.storage.tables.rows import positions_of, rows_of_written, take
from omnigraph.storage.tables.table import Table

FIRST_ROWS: Final = 200
"""Rows that are compared first…"""

ROWS: Final = 20_000
"""… and at a time."""

FEW: Final = 10
"""Rows that are less than one of so many of their type are looked up by id: reading where all of them stand takes as long."""

Beside = Callable[[pa.Table], pa.Table]
"""What is there of the entities of some rows: the same entities in the same order, or fewer rows."""


def says_nothing_new(changes: ChangeSet, view: View) -> bool:
    """Whether everything is there already, exactly as it is to be."""
    return all(delta.is_empty or _is_there(delta, view) for delta in changes)


def inserts_nothing_new(changes: ChangeSet, view: View) -> bool:
    """The same of a few entities that are inserted: of one that is new that is known without reading a row."""
    mine = [delta for delta in changes if not delta.is_empty]
    if any(delta.fresh or len(delta.removed) or not existing(view, delta.type, delta.ids).all() for delta in mine):
        return False
    return bool(mine) and says_nothing_new(changes, view)


def _is_there(delta: Delta, view: View) -> bool:
    if delta.completed and not len(delta.removed):
        return delta.unchanged
    if not delta.rows.num_rows and not len(delta.removed):
        return view.snapshot.tables[delta.key].rows == 0  # nothing in place of nothing
    blobs = any(prop.type.is_blob for prop in delta.type.properties.values())
    if delta.replaces_all or delta.fresh or delta.must_be_new or len(delta.removed) or blobs:
        return False
    if delta.rows.num_rows > view.snapshot.tables[delta.key].rows:
        return False
    stored = view.stored(delta.type)
    names = ["id", *(["src", "dst"] if delta.type.is_edge else []), *delta.type.properties]
    are_few = delta.rows.num_rows * FEW < view.snapshot.tables[delta.key].rows
    beside, seen = _by_id(view, stored.state, names), 0
    for number, rows in enumerate(_chunks(delta, view)):
        if number == 1 and not are_few:
            beside = _by_position(stored.table, names, delta.ids, seen)
        there = beside(rows)
        if there.num_rows != rows.num_rows:
            return False
        if not all(equal(there[name], rows[name].cast(there[name].type)) for name in names):
            return False
        seen += rows.num_rows
    return True


def _by_id(view: View, state: TableState, names: list[str]) -> Beside:
    def beside(rows: pa.Table) -> pa.Table:
        there = images_with(view.workspace.store.tables, state, rows["id"].to_pylist()).select(names)
        if there.num_rows < rows.num_rows:
            return there
        return there.take(pc.index_in(rows["id"], value_set=there["id"]))

    return beside


def _by_position(table: Table, names: list[str], ids: pa.Array, seen: int) -> Beside:
    """The ids are those of all rows in the order they are asked for, of which some were."""
    positions = positions_of(table, ids)

    def beside(rows: pa.Table) -> pa.Table:
        nonlocal seen
        where = positions[seen : seen + rows.num_rows]
        seen += rows.num_rows
        return take(table, where[where >= 0], names)

    return beside


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


def equal(before: pa.ChunkedArray | pa.Array, after: pa.ChunkedArray | pa.Array) -> bool:
    """Whether two columns hold the same: zeros of different signs, which compare equal, are not."""
    return bool(before.equals(after)) and _same_signs(whole(before), whole(after))


def _same_signs(before: pa.Array, after: pa.Array) -> bool:
    """Whether numbers that compare equal are the same numbers, too."""
    kind = before.type
    if pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind) or pa.types.is_large_list(kind):
        return _same_signs(before.flatten(), after.flatten())
    if not pa.types.is_floating(kind):
        return True
    bits = _BITS[kind.bit_width]
    return bool(before.view(bits).equals(after.view(bits)))


_BITS: Final = {16: pa.int16(), 32: pa.int32(), 64: pa.int64()}
