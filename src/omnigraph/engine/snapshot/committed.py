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
from omnigraph.engine.snapshot.edges import Ends
from omnigraph.engine.snapshot.existence import LOADED_ROWS, ONE_BY_ONE, KnownIds
from omnigraph.engine.snapshot.stored import Stored
from omnigraph.engine.snapshot.view import View
from omnigraph.errors import HistoryReclaimed, NotFound
from omnigraph.storage.lance_format.filters import one_of
from omnigraph.storage.tables.changes import RowPlace
from omnigraph.storage.tables.lookups import rows_with
from omnigraph.storage.tables.rows import take
from omnigraph.storage.tables.table import Table

LOOKUP_KEYS = 8_192
"""Most keys in one question to an index."""

REMEMBERED_KEYS = 64
"""Answers about so few keys are remembered: what a mutation looked for, the rules ask again."""

REMEMBERED_ANSWERS = 64
"""So many of them, per pin."""

SCANNED_ROWS = 1 << 20
"""Rows read at a time: what is looked for is hashed anew for each."""

SCANNED_ABOVE = 4 * LOOKUP_KEYS
"""For more keys than that, reading the columns of all rows costs less than asking an index."""


def existing(view: View, type_: EntityType, ids: pa.Array) -> Mask:
    """Which ids exist."""
    if not len(ids) or not view.stored(type_).rows:
        return np.zeros(len(ids), np.bool_)
    if type_.is_node:
        nodes = view.nodes(type_.name)
        known = known_ids(view, type_, len(ids)) if len(ids) <= ONE_BY_ONE else None
        if known is not None:
            return np.array([known.has(id_) for id_ in ids.to_pylist()], np.bool_)
        if nodes.loaded or nodes.stored.rows <= LOADED_ROWS or len(ids) > LOOKUP_KEYS:
            return nodes.find(ids) >= 0
    found = rows_where(view, type_, "id", ids, ["id"])
    return pc.is_in(ids, value_set=whole(found["id"])).to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]


def known_ids(view: View, type_: EntityType, wanted: int) -> KnownIds | None:
    """The ids of a node type, if they are known without a question to an index."""
    return view.workspace.existence.ids(view.nodes(type_.name), view.snapshot.recent, wanted)


def places(view: View, type_: EntityType, ids: Sequence[str]) -> tuple[RowPlace, ...]:
    """Where some entities stand, as far as that is known."""
    known = known_ids(view, type_, len(ids)) if type_.is_node and 0 < len(ids) <= ONE_BY_ONE else None
    seen = _places_seen(view, type_)
    try:
        found = [seen.get(id_) if known is None else known.place(id_) for id_ in ids]
    except (NotFound, HistoryReclaimed):  # a cleanup has taken what said where they stood at an earlier pin
        return ()
    return tuple(place for place in found if place is not None)


def touching(view: View, edge: EntityType, column: str, nodes: pa.Array, columns: Sequence[str]) -> pa.Table:
    """Edges with one of some nodes at an end. Of nodes that have none that is mostly known."""
    if len(nodes) <= ONE_BY_ONE and view.stored(edge).rows:
        known = view.workspace.existence.ends(view.edges(edge.name), view.snapshot.recent, len(nodes))
        if known is not None:
            near = [id_ for id_ in nodes.to_pylist() if known.may_touch(column, id_)]
            if not near:
                return _nothing(view.stored(edge), columns)
            nodes = pa.array(near, pa.string())
        ends = view.edges(edge.name).known_ends() if len(nodes) and not view.stored(edge).alike.has_blobs else None
        if ends is not None:
            return _touching(view, edge, column, ends, nodes, columns)
    return rows_where(view, edge, column, nodes, columns)


def _touching(view: View, edge: EntityType, column: str, ends: Ends, nodes: pa.Array, columns: Sequence[str]) -> pa.Table:
    """The same where both ends of all edges are in memory: their rows are read by where they stand, which is remembered."""
    edges, stored = view.edges(edge.name), view.stored(edge)
    key = (stored.location, stored.pin, "rows touching", column, *nodes.to_pylist(), *columns)

    def found() -> pa.Table:
        near, at = (edges.source, ends.sources) if column == "src" else (edges.target, ends.targets)
        numbers = [near.numbering.number(id_) for id_ in nodes.to_pylist()]
        rows = np.flatnonzero(np.isin(at, [number for number in numbers if number >= 0]))
        if not len(rows) or len(rows) > LOOKUP_KEYS:
            return rows_where(view, edge, column, nodes, columns)
        wanted = list(dict.fromkeys(["id", *columns]))
        table = take(stored.table, rows, wanted)
        _note_places(view, edge, table["id"].to_pylist(), stored.addresses(rows).tolist())
        return table.select(list(columns))

    table: pa.Table = view.workspace.memory.keep(key, found, lambda t: t.nbytes + 512)
    return table


def _places_seen(view: View, type_: EntityType) -> dict[str, RowPlace]:
    """Where entities stand that were found at one pin, by their ids."""
    seen: dict[str, RowPlace] = view.stored(type_).derived.setdefault("places seen", {})
    return seen


def _note_places(view: View, type_: EntityType, ids: Sequence[str], addresses: Sequence[int]) -> None:
    files = {fragment.number: fragment.files for fragment in view.stored(type_).fragments}
    at = ((id_, address >> 32, address & 0xFFFF_FFFF) for id_, address in zip(ids, addresses, strict=True))
    _places_seen(view, type_).update((id_, RowPlace(id_, n, files[n], offset)) for id_, n, offset in at)


def rows_where(view: View, type_: EntityType, column: str, values: pa.Array, columns: Sequence[str]) -> pa.Table:
    """Rows whose value in a column is among some."""
    stored = view.stored(type_)
    wanted = pc.unique(values)
    wanted = wanted.filter(wanted.is_valid())
    if not stored.rows or not len(wanted):
        return _nothing(stored, columns)
    if len(wanted) > SCANNED_ABOVE:
        return _scanned(stored.table, column, wanted, columns)
    if len(wanted) > REMEMBERED_KEYS:
        return _looked_up(stored.table, column, wanted, columns)
    few = wanted.to_pylist()
    key = (stored.location, stored.pin, "rows where", column, *few, *columns)

    def looked_up() -> pa.Table:
        if not pa.types.is_string(wanted.type):
            return _looked_up(stored.table, column, wanted, columns)
        addresses, rows = rows_with(view.workspace.store.tables, stored.state, column, few, columns)
        if "id" in columns:
            _note_places(view, type_, rows["id"].to_pylist(), addresses.tolist())
        return rows

    found: pa.Table = view.workspace.memory.keep(key, looked_up, lambda t: t.nbytes + 512)
    return found


def _looked_up(table: Table, column: str, wanted: pa.Array, columns: Sequence[str]) -> pa.Table:
    parts = [table.read(columns, one_of(column, wanted.slice(at, LOOKUP_KEYS))) for at in range(0, len(wanted), LOOKUP_KEYS)]
    return pa.concat_tables(parts) if parts else _no_rows(table, columns)


def _nothing(stored: Stored, columns: Sequence[str]) -> pa.Table:
    """The same of a pin, kept: a commit finds nothing several times."""
    key = " ".join(("nothing", *columns))
    found: pa.Table | None = stored.derived.get(key)
    if found is None:
        found = stored.derived[key] = _no_rows(stored.alike, columns)
    return found


def _no_rows(table: Table, columns: Sequence[str]) -> pa.Table:
    """What a read that finds nothing gives. To have Lance find nothing takes as long as to find a row."""
    return pa.schema([table.schema.field(name) for name in columns]).empty_table()


def _scanned(table: Table, column: str, wanted: pa.Array, columns: Sequence[str]) -> pa.Table:
    """The same by reading everything once."""
    read = list(dict.fromkeys([column, *columns]))
    schema = pa.schema([table.schema.field(name) for name in read])
    kept = [b.filter(pc.is_in(b.column(column), value_set=wanted)) for b in table.scan(read, batch_rows=SCANNED_ROWS)]
    return pa.Table.from_batches(kept, schema).select(list(columns))
