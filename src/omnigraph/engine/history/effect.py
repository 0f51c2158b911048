"""What a change that is not committed yet would leave different.

    rows        images that come    equal to what is there: no difference, however often they were written on the way
    removed     entities that go    always one

An entity counts once, and exactly if a diff of the states before and after would show it. Images with Blobs are not compared:
they count as different.
"""

from __future__ import annotations

import pyarrow as pa

from omnigraph.engine.history.deltas import aligned
from omnigraph.engine.history.row_delta import RowDelta
from omnigraph.engine.snapshot.committed import existing
from omnigraph.engine.snapshot.view import View
from omnigraph.engine.write.changeset import ChangeSet, Delta
from omnigraph.storage.tables.lookups import images_with


def different(changes: ChangeSet, view: View) -> tuple[int, int]:
    """How many nodes and edges would not be as they are in the view."""
    nodes = edges = 0
    for delta in changes:
        if delta.is_node:
            nodes += _count(delta, view)
        else:
            edges += _count(delta, view)
    return nodes, edges


def _count(delta: Delta, view: View) -> int:
    every: int = delta.rows.num_rows + len(delta.removed)
    if not delta.rows.num_rows or delta.fresh or any(prop.type.is_blob for prop in delta.type.properties.values()):
        return every
    there = existing(view, delta.type, delta.ids)
    if not there.any():
        return every
    after = aligned(delta.rows.filter(pa.array(there)), delta.type, delta.type)
    before = images_with(view.workspace.store.tables, view.stored(delta.type).state, after["id"].to_pylist())
    equal: int = after.num_rows - len(RowDelta.of(delta.type, aligned(before, delta.type, delta.type), after).ids)
    return every - equal
