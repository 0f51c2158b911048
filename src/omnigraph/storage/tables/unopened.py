"""What is known of a pin without opening it: what it is made of, which rows are deleted, and rows that were written a moment ago.

To open a version and to scan one new fragment takes Lance as long as a small commit. Whoever reads beside writers would do both
after each of them, for a handful of rows. Versions that this process made, and those of others on a disk, are taken apart in
memory anyway (`versions`), and so are the rows of recent small writes (`recent_rows`): here they are read.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from omnigraph.errors import NotFound
from omnigraph.storage.files.dataset_folders import DATA
from omnigraph.storage.lance_format.deletions import Positions
from omnigraph.storage.lance_format.made_versions import FragmentEntry, Unfamiliar
from omnigraph.storage.tables.changes import TableState
from omnigraph.storage.tables.rows import Fragment, deleted, fragments
from omnigraph.storage.tables.table import Tables


def fragments_of(tables: Tables, state: TableState) -> tuple[Fragment, ...]:
    """What a pin is made of, in row order."""
    if tables.place.is_local or tables.versions.knows(state.location, state.pin):
        try:
            version = tables.versions.read(state.location, state.pin)
            found = tuple(_fragment(entry) for entry in version.entries.values())
            if not state.fragments or sum(fragment.rows for fragment in found) == state.rows:
                return found
        except (Unfamiliar, NotFound):  # for Lance to read, or to say what is wrong
            pass
    return fragments(tables.open(state))


def deleted_of(tables: Tables, state: TableState, fragment: Fragment) -> Positions:
    """Where in a fragment the rows stand that are deleted; ascending."""
    if fragment.deletions is None:
        return np.empty(0, np.int64)
    marks = tables.versions.known_marks(f"{state.location}/{fragment.deletions}")
    if marks is None:
        return deleted(tables.open(state), fragment)
    return np.frombuffer(marks.to_array(), np.uint32).astype(np.int64)


def recent_rows(tables: Tables, state: TableState, fragment: Fragment, columns: Sequence[str]) -> pa.Table | None:
    """The rows of a fragment that was written a moment ago, less those deleted since; None: they have to be read."""
    if len(fragment.files) != 1:
        return None
    alike = tables.writer(state)
    rows = alike.recent.of(f"{state.location}/{DATA}/{fragment.files[0]}", alike.columns, alike.schema)
    if rows is None or rows.num_rows != fragment.written or not set(columns) <= set(rows.column_names):
        return None
    rows = rows.select(list(columns))
    if fragment.deletions is None:
        return rows
    there = np.ones(fragment.written, np.bool_)
    there[deleted_of(tables, state, fragment)] = False
    return rows.filter(pa.array(there))


def _fragment(entry: FragmentEntry) -> Fragment:
    name, marked = entry.deletions or (None, 0)
    return Fragment(entry.number, entry.files, name, entry.rows, entry.rows - marked)
