"""Finding the rows that a large merge replaces, in parallel: each fragment is compared with the new ids.

    fragment 0 ─┐                        ┌─▶ 3 rows go: a deletion file
    fragment 1 ─┼─ ids among the new? ───┼─▶ nothing
    fragment 2 ─┘                        └─▶ all rows go: the fragment goes

The marks hold for the version they were made on. If the table has moved by the time they are published, the publisher looks for
the ids itself, as it does for small changes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow.compute as pc

from omnigraph.model.frozen import frozen
from omnigraph.storage.tables.changes import Marks
from omnigraph.storage.tables.rows import fragments
from omnigraph.storage.tables.work import PinnedTable, Run

_IDS = 1 << 20
"""New ids that are compared at a time."""


@frozen
class Marking:
    """One fragment of a table, and the table whose ids replace it."""

    table: PinnedTable
    fragment: int
    new: PinnedTable


def marks_for(table: PinnedTable, new: PinnedTable, run: Run) -> Marks:
    """Marks for all rows of a table whose ids are among those of another."""
    found: Sequence[Marks] = run(mark, [Marking(table, fragment.number, new) for fragment in fragments(table.open())])
    return Marks(
        table.state.pin,
        tuple(f for marks in found for f in marks.touched),
        tuple(n for marks in found for n in marks.emptied),
        sum(marks.removed for marks in found),
    )


def mark(work: Marking) -> Marks:
    """Marks for the rows of one fragment."""
    table = work.table.open()
    with table.reading(f"look for replaced rows in {table.location}"):
        fragment = table.dataset.get_fragment(work.fragment)
        assert fragment is not None
        rows = table.scanner(columns=["id"], fragments=[fragment], with_row_address=True).to_table()
    ids, there = rows["id"], np.zeros(rows.num_rows, np.bool_)
    for batch in work.new.open().scan(["id"], batch_rows=_IDS):
        there |= pc.is_in(ids, value_set=batch.column("id")).to_numpy()
    touched, emptied, removed = table.mark_deleted(rows["_rowaddr"].to_numpy()[there])
    return Marks(table.pin, tuple(touched), tuple(emptied), removed)
