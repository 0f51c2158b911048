"""Appends of several writers to one table: one file, and a version for each of them.

Each commit of a group pins a version of its own: the n-th has the rows of the first n writers. Their rows are few (more are
written by the writer itself, before it waits), so they go into one file, and one fragment. Lance makes the last version. In those
before it the rows of later writers are marked as deleted:

    one file                 rows of a │ rows of b │ rows of c
    version of a's commit    fragment 7, b and c marked
    version of b's commit    fragment 7, c marked
    version of c's commit    fragment 7                  Lance's, and what the next write builds on

So a commit in company costs two tiny files instead of a data file and a commit of Lance, and a group leaves one small fragment
instead of many to be folded. From one of these versions to the next a row *loses* its mark. That is nothing new to those who
compare pins: it is what they see whenever they go back in time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pyarrow as pa
from lance import LanceOperation as Op

from omnigraph.model.frozen import frozen
from omnigraph.storage.files.effects import Call
from omnigraph.storage.lance_format.cut_versions import Cut, Marks, cut
from omnigraph.storage.lance_format.file_names import version_file
from omnigraph.storage.tables.changes import NO_ROWS, Applied, TableState, WrittenRows
from omnigraph.storage.tables.table import Table, Tables


@frozen(slots=False)
class Together:
    """What several writers append to one table, in the order of their commits."""

    writes: tuple[WrittenRows, ...]
    shared: WrittenRows
    """The file with the rows of those that had none."""


def write_together(tables: Tables, state: TableState, writes: Sequence[WrittenRows]) -> Together:
    """Put the rows that are in no file into one. Those written for other columns get one of their own."""
    table = tables.open(state)
    ready, few = list[WrittenRows](), list[pa.Table]()
    for written in writes:
        waiting = written.unstored
        if waiting is None or tables.open(replace(state, pin=waiting.pin)).columns != table.columns:
            ready.append(tables.stored(state, written))
        else:
            ready.append(written)
            few.append(waiting.rows.select(table.schema.names))
    return Together(tuple(ready), table.store(pa.concat_tables(few).combine_chunks()) if few else NO_ROWS)


def append_each(tables: Tables, base: TableState, together: Together) -> list[Applied]:
    """A version for each writer, on top of a pinned one: what appending one after the other gives."""
    before = tables.open(base)
    own = [list(written.fragments) for written in together.writes]
    last = tables.remember(before.commit(Op.Append([*together.shared.fragments, *(f for part in own for f in part)])))
    came = sorted(set(last.fragment_ids()) - set(before.fragment_ids()))
    cuts = list(_cuts(came, base.pin, together))
    pins = [*_write_cuts(last, frozenset(came), cuts[:-1]), last.pin]
    found, state, had = list[Applied](), base, dict[int, Marks | None]()
    for written, pin, has in zip(together.writes, pins, cuts, strict=True):
        rows_in = together.shared if written.unstored is not None else written
        marks_in = [f"{base.location}/{marks.file}" for marks in has.values() if marks is not None]
        version = f"{base.location}/{version_file(pin)}"
        files = (*rows_in.unsynced, *marks_in, version)
        stored = (*rows_in.stored, *last.stored_files([*marks_in, version]))
        changed = tuple(sorted(f for f in has if f not in had or has[f] != had[f]))
        rows, fragments = state.rows + written.rows, base.fragments + len(has)
        state = TableState(base.table, base.location, pin, rows, fragments, base.indexes)
        found.append(Applied(state, written.rows, 0, changed, tuple(f for f in changed if f in had), files, stored=stored))
        had = has
    return found


def _cuts(came: Sequence[int], base: int, together: Together) -> Iterator[dict[int, Marks | None]]:
    """What each version has of the fragments that came: the shared one is the first of them."""
    left, whole = list(came), together.shared.rows
    shared = left.pop(0) if together.shared.fragments else None
    has: dict[int, Marks | None] = {}
    filled = 0
    for written in together.writes:
        if written.unstored is None:
            has |= {left.pop(0): None for _ in written.fragments}
        elif shared is not None:
            filled += written.rows
            has[shared] = Marks(shared, base, filled, whole) if filled < whole else None
        yield dict(has)


def _write_cuts(last: Table, came: frozenset[int], cuts: Sequence[Cut]) -> Iterator[int]:
    place, location = last.place, last.location
    if not cuts:
        return
    written = set[str]()
    for chosen, (pin, version) in zip(cuts, cut(place.get(f"{location}/{version_file(last.pin)}"), came, cuts), strict=True):
        for marks in chosen.values():
            if marks is not None and marks.file not in written:
                place.put_unseen(f"{location}/{marks.file}", marks.content(), Call.WRITE_DELETIONS)
                written.add(marks.file)
        place.put_unseen(f"{location}/{version_file(pin)}", version, Call.PIN)
        yield pin
