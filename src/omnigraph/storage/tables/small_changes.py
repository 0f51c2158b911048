"""Small changes of one table: rows come, rows go, and each writer has a version of its own.

What Lance does for a commit of one row (a transaction, a listing, a scan for the row that goes) costs far more than the row. So
the files of a small change are made here: a data file with the rows that come, a deletion file for each fragment that loses
some, and a version that says so (`made_versions`). Rows that go are known by where they stand, or looked for by their ids.

**A group** publishes one after the other in one swap, and each of its commits pins a version: the n-th has what the first n
writers did. Their rows are few (more are written by the writer itself, before it waits), so they go into one file, and one
fragment. In all versions but the last the rows of later writers are marked as deleted, and the rows that later writers take away
are not yet:

    one file                         rows of a │ rows of b │ rows of d            c only deletes
    version of a's commit            fragment 7, b and d marked
    version of b's commit            fragment 7, d marked
    version of c's commit            fragment 7, d marked    fragment 3, one more row marked
    version of d's commit            fragment 7              fragment 3, the same

So a commit in company costs two or three tiny files, and a group leaves one small fragment instead of many to be folded. From
one of these versions to the next a row may *lose* its mark. That is nothing new to those who compare pins: it is what they see
whenever they go back in time.

No two writers of a group may touch the same row: the publisher ends a group before that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import pyarrow as pa
from pyroaring import BitMap

from omnigraph.model.frozen import frozen
from omnigraph.storage.files.checksums import StoredFile, checksum_of
from omnigraph.storage.files.effects import Call
from omnigraph.storage.lance_format.file_names import version_file
from omnigraph.storage.lance_format.made_versions import Deleted, FragmentEntry, Unfamiliar, Version, described
from omnigraph.storage.tables.changes import (
    NO_ROWS,
    Append,
    Applied,
    Change,
    Delete,
    IndexState,
    Overwrite,
    TableState,
    Upsert,
    WrittenRows,
    unchanged,
)
from omnigraph.storage.tables.lookups import by_fragment, rows_with, still_standing
from omnigraph.storage.tables.recent_rows import KEPT_ROWS
from omnigraph.storage.tables.table import Tables

FEW: Final = KEPT_ROWS
"""A change of more rows than that is not small: Lance makes its version."""


def is_small(change: Change) -> bool:
    """Whether a change is one that is made here."""
    match change:
        case Append(written):
            return 0 < written.rows <= FEW
        case Upsert(written, ids, marks):
            return marks is None and written.rows <= FEW and len(ids) <= FEW
        case Delete(ids):
            return len(ids) <= FEW
        case _:
            return False


def touched(change: Change) -> Sequence[str]:
    """Ids of rows that a small change takes away, as far as they are there."""
    return () if isinstance(change, Append) else change.ids  # type: ignore[union-attr]


@frozen(slots=False)
class Together:
    """What several writers add to one table, in the order of their commits."""

    writes: tuple[WrittenRows, ...]
    shared: WrittenRows
    """The file with the rows of those that had none."""


def write_together(tables: Tables, state: TableState, writes: Sequence[WrittenRows]) -> Together:
    """Put the rows that are in no file into one. Those written for other columns get one of their own."""
    columns = tables.versions.read(state.location, state.pin).columns
    ready, few = list[WrittenRows](), list[pa.Table]()
    for written in writes:
        waiting = written.unstored
        if waiting is not None and tables.versions.read(state.location, waiting.pin).columns != columns:
            written = tables.stored(state, written)
        elif waiting is not None:
            few.append(waiting.rows)
        ready.append(written)
    if not few:
        return Together(tuple(ready), NO_ROWS)
    table = tables.writer(state)
    rows = pa.concat_tables([some.select(table.schema.names) for some in few]).combine_chunks()
    return Together(tuple(ready), table.store(rows))


def apply_small(tables: Tables, state: TableState, change: Change) -> Applied:
    """The table with a change on top of a pinned version, whose rows are in files: by ourselves if it is small, else by Lance."""
    if is_small(change):
        try:
            written = NO_ROWS if isinstance(change, Delete | Overwrite) else change.written
            (gone,) = addresses_of(tables, state, [change])
            (applied,) = apply_each(tables, state, Together((written,), NO_ROWS), [gone])
            return applied
        except Unfamiliar:
            pass
    return tables.apply(state, change)


def apply_each(tables: Tables, base: TableState, together: Together, gone: Sequence[Sequence[int]]) -> list[Applied]:
    """A version for each writer, on top of a pinned one: what applying one change after the other gives.

    `gone` are the addresses, at that pin, of the rows that each takes away; none is named twice.
    """
    making = _Making(tables, base, together.shared)
    applied = [making.step(written, addresses) for written, addresses in zip(together.writes, gone, strict=True)]
    making.write()
    return applied


class _Making:
    """Versions on top of one, each with a little more than the one before."""

    def __init__(self, tables: Tables, base: TableState, shared: WrittenRows) -> None:
        self._place, self._versions, self._base = tables.place, tables.versions, base
        self._version = self._versions.read(base.location, base.pin)
        self._old = dict(self._version.entries)
        self._entries: Mapping[int, FragmentEntry] = self._version.entries
        self._marks: dict[int, BitMap] = {}
        self._new: dict[int, FragmentEntry] = {}
        self._next = self._version.last_fragment + 1
        self._state = base
        self._marks_to_write: dict[str, bytes] = {}
        self._versions_to_write: dict[str, bytes] = {}
        self._made: list[Version] = []
        self._shared, self._filled, self._whole = shared, 0, shared.rows
        self._shared_piece = described(shared.fragments[0], self._number()) if shared.fragments else None

    def _number(self) -> int:
        self._next += 1
        return self._next - 1

    def step(self, written: WrittenRows, gone: Sequence[int]) -> Applied:
        """The next version."""
        if not written.rows and not gone:
            return unchanged(self._state)
        before, files = self._entries, _Files(self._base.location)
        touched = list[int]()
        for fragment, offsets in by_fragment(gone).items():
            self._mark(fragment, offsets, files)
            touched.append(fragment)
        rows_in, at = written, None
        if written.unstored is not None:
            rows_in = self._shared
            at = self._fill(written.rows, files)
            touched.append(at[0])
        else:
            for one in written.fragments:
                number = self._number()
                self._new[number] = described(one, number)
                touched.append(number)
                at = (number, one.files[0].path, 0) if len(written.fragments) == len(one.files) == 1 else None
        after = self._entries = {**self._old, **dict(sorted(self._new.items()))}
        made = self._version.changed(after, self._next - 1)
        content = made.content()
        version = version_file(made.pin)
        self._marks_to_write.update((f"{self._base.location}/{path}", said) for path, said in files.contents.items())
        self._versions_to_write[f"{self._base.location}/{version}"] = content
        self._made.append(made)
        files.contents[version] = content
        self._state = TableState(
            self._base.table,
            self._base.location,
            made.pin,
            self._state.rows + written.rows - len(gone),
            len(after),
            _covered(made, self._state.indexes, [number for number in touched if number not in after]),
        )
        touched.sort()
        return Applied(
            self._state,
            written.rows,
            len(gone),
            tuple(number for number in touched if number in after),
            tuple(number for number in touched if number in before),
            (*rows_in.unsynced, *files.paths()),
            stored=(*rows_in.stored, *(files.stored() if self._place.is_local else ())),
            at=at,
        )

    def write(self) -> None:
        """Put the files of all versions where they belong: first what versions refer to."""
        self._place.put_all_unseen(self._marks_to_write, Call.WRITE_DELETIONS)
        self._place.put_all_unseen(self._versions_to_write, Call.PIN)
        for made in self._made:
            self._versions.keep(self._base.location, made)

    def _mark(self, fragment: int, offsets: BitMap, files: _Files) -> None:
        entry = self._old[fragment]
        known = self._marks.get(fragment)
        if known is None:
            deletions = self._version.entries[fragment].deletions
            known = BitMap() if deletions is None else self._versions.marks(self._base.location, *deletions)
        marks = self._marks[fragment] = known | offsets
        if len(marks) == entry.rows:
            del self._old[fragment]
            return
        self._old[fragment] = self._marked(entry, Deleted(fragment, self._base.pin, marks), files)

    def _fill(self, rows: int, files: _Files) -> tuple[int, str, int]:
        """The next rows of the shared file are there: where they stand."""
        assert self._shared_piece is not None
        number, first = self._shared_piece.number, self._filled
        self._filled += rows
        later = BitMap(range(self._filled, self._whole))
        entry = self._shared_piece
        self._new[number] = self._marked(entry, Deleted(number, self._base.pin, later), files) if later else entry
        return number, self._shared.fragments[0].files[0].path, first

    def _marked(self, entry: FragmentEntry, deleted: Deleted, files: _Files) -> FragmentEntry:
        files.contents[deleted.file] = deleted.content()
        self._versions.keep_marks(f"{self._base.location}/{deleted.file}", deleted.rows)
        return entry.marked(deleted)


class _Files:
    """Files of a version that was just made, as they were written, by their path below the table."""

    def __init__(self, location: str) -> None:
        self._location = location
        self.contents: dict[str, bytes] = {}

    def paths(self) -> list[str]:
        return [f"{self._location}/{path}" for path in self.contents]

    def stored(self) -> list[StoredFile]:
        return [StoredFile(path, *checksum_of(content)) for path, content in self.contents.items()]


def _covered(version: Version, indexes: tuple[IndexState, ...], lost: Sequence[int]) -> tuple[IndexState, ...]:
    """Indexes, less the fragments that are gone."""
    if not indexes or not lost:
        return indexes
    known = version.indexed
    return tuple(replace(i, covered=len(known[i.name] & version.entries.keys())) if i.name in known else i for i in indexes)


# ── where rows stand ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def addresses_of(tables: Tables, state: TableState, changes: Sequence[Change]) -> list[list[int]]:
    """Where the rows stand that each of some changes takes away: as it is known, or found by one look for all of the others."""
    version = tables.versions.read(state.location, state.pin)
    found = list[dict[str, int]]()
    unknown: dict[str, None] = {}
    for change in changes:
        known = {} if isinstance(change, Append | Overwrite) else still_standing(tables, state.location, version, change.places)
        found.append(known)
        unknown.update(dict.fromkeys(id_ for id_ in touched(change) if id_ not in known))
    looked = _looked_up(tables, state, list(unknown)) if unknown else {}
    return [
        [at[id_] if id_ in at else looked[id_] for id_ in dict.fromkeys(touched(change)) if id_ in at or id_ in looked]
        for change, at in zip(changes, found, strict=True)
    ]


def _looked_up(tables: Tables, state: TableState, ids: Sequence[str]) -> dict[str, int]:
    addresses, rows = rows_with(tables, state, "id", ids, ["id"])
    return dict(zip(rows["id"].to_pylist(), addresses.tolist(), strict=True))
