"""Rows of a table by a value, or by where they stand, without opening its newest version.

Each of a stream of small commits makes a version, and leaves a fragment that no index covers yet. To open the version costs more
than to read a row of it, and Lance scans each of those fragments for every lookup: three dozen of them take four times as long as
the index, which finds a row among millions. But this process mostly wrote them itself, so their rows are in memory
(`recent_rows`), and everything else is in an earlier version that is open. A row never changes in its file, so it is enough to
know which files a version has and which of their rows it marks as deleted (`versions`):

    newest version      fragment 0, 1 M rows, 3 marked     fragment 8     fragment 9     fragment 10
    asked               Lance, through version 7,          memory         memory         memory
                        where 2 of the 3 are marked,
                        then less the third

A version in which other rows were marked, as after a revert, or with other columns, is of no use for that: then the newest one is
opened, as for everything that this process knows nothing of.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyroaring import BitMap

from omnigraph.errors import HistoryReclaimed, NotFound
from omnigraph.storage.files.dataset_folders import DATA
from omnigraph.storage.lance_format.deletions import Positions
from omnigraph.storage.lance_format.filters import one_of
from omnigraph.storage.lance_format.made_versions import FragmentEntry, Unfamiliar, Version
from omnigraph.storage.tables.changes import RowPlace, TableState
from omnigraph.storage.tables.rows import found, images, take_from
from omnigraph.storage.tables.table import Table, Tables

FEW_IDS: Final = 256
"""For more rows than that the newest version is opened, whatever is in memory."""


def rows_with(
    tables: Tables, state: TableState, column: str, values: Sequence[str], columns: Sequence[str] | None = None
) -> tuple[Positions, pa.Table]:
    """Rows that have one of some texts in a column, in no particular order: their addresses, and some columns or all."""
    try:
        version = tables.versions.read(state.location, state.pin)
        alike = tables.writer(state)
        recent = {} if alike.has_blobs else dict(_in_memory(alike, version.entries.values()))
    except Unfamiliar:
        version, recent = None, {}
    if version is None or not recent:
        table = tables.open(state)
        return found(table, table.schema.names if columns is None else columns, one_of(column, values))
    wanted = alike.schema.names if columns is None else list(columns)
    parts = list(_found_in_memory(tables, state, version, recent, column, values, wanted))
    rest = [number for number in version.entries if number not in recent]
    if rest:
        parts.append(_found_in_files(tables, state, version, rest, column, values, wanted))
    addresses = np.concatenate([at for at, _ in parts]) if parts else np.empty(0, np.int64)
    schema = pa.schema([alike.schema.field(name) for name in wanted])
    return addresses, pa.concat_tables([schema.empty_table(), *(rows for _, rows in parts)])


def images_with(tables: Tables, state: TableState, ids: Sequence[str]) -> pa.Table:
    """Complete rows by id, blobs as bytes, in no particular order."""
    if len(ids) > FEW_IDS or tables.writer(state).has_blobs:
        return images(tables.open(state), ids)
    return rows_with(tables, state, "id", list(dict.fromkeys(ids)))[1]


def rows_where_seen(
    tables: Tables, state: TableState, column: str, values: Sequence[str]
) -> tuple[list[dict[str, Any]], tuple[RowPlace, ...]]:
    """Complete rows with one of some texts, without blobs, and where they stand, as far as that can be said."""
    addresses, rows = rows_with(tables, state, column, values)
    seen = rows.to_pylist()
    try:
        entries = tables.versions.read(state.location, state.pin).entries
    except Unfamiliar:
        return seen, ()
    at = [(address >> 32, address & 0xFFFF_FFFF) for address in addresses.tolist()]
    stood = (RowPlace(row["id"], n, entries[n].files, offset) for row, (n, offset) in zip(seen, at, strict=True) if n in entries)
    return seen, tuple(stood)


def rows_at(tables: Tables, state: TableState, places: Sequence[RowPlace]) -> list[dict[str, Any]]:
    """Complete rows, without blobs, that still stand where they were seen; of the others nothing is said."""
    if not places:
        return []
    try:
        version = tables.versions.read(state.location, state.pin)
        standing = still_standing(tables, state.location, version, places)
    except Unfamiliar:
        return []
    seen: list[dict[str, Any]] = []
    for number, offsets in by_fragment(list(standing.values())).items():
        seen += (row for row in _rows(tables, state, version.entries[number], offsets) if row["id"] in standing)
    return seen


def still_standing(tables: Tables, location: str, version: Version, places: Sequence[RowPlace]) -> dict[str, int]:
    """Addresses of rows that stand where they stood when somebody looked, in some version: the same file, and no mark."""
    standing: dict[str, int] = {}
    for place in places:
        entry = version.entries.get(place.fragment)
        if entry is None or entry.files != place.files or place.offset >= entry.rows:
            continue
        if place.offset not in _marks(tables, location, entry):
            standing[place.id] = place.fragment << 32 | place.offset
    return standing


def by_fragment(addresses: Sequence[int]) -> Mapping[int, BitMap]:
    """Offsets of rows, by the number of their fragment."""
    offsets: dict[int, BitMap] = {}
    for address in addresses:
        offsets.setdefault(address >> 32, BitMap()).add(address & 0xFFFF_FFFF)
    return offsets


# ── in memory ────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _in_memory(alike: Table, entries: Iterable[FragmentEntry]) -> Iterator[tuple[int, pa.Table]]:
    """Fragments whose rows this process wrote a moment ago, with all of them, by number."""
    for entry in entries:
        if len(entry.files) == 1:
            rows = alike.recent.of(f"{alike.location}/{DATA}/{entry.files[0]}", alike.columns, alike.schema)
            if rows is not None and rows.num_rows == entry.rows:
                yield entry.number, rows


def _found_in_memory(
    tables: Tables,
    state: TableState,
    version: Version,
    recent: Mapping[int, pa.Table],
    column: str,
    values: Sequence[str],
    columns: Sequence[str],
) -> Iterator[tuple[Positions, pa.Table]]:
    texts = pa.chunked_array([chunk for rows in recent.values() for chunk in rows.column(column).chunks])
    matches = np.flatnonzero(pc.is_in(texts, value_set=pa.array(values, texts.type)).to_numpy())
    begins = np.cumsum([0, *(rows.num_rows for rows in recent.values())])
    for (number, rows), begin, end in zip(recent.items(), begins[:-1], begins[1:], strict=True):
        here = matches[(matches >= begin) & (matches < end)] - begin
        if len(here):
            marks = _marks(tables, state.location, version.entries[number])
            offsets = np.array([offset for offset in here.tolist() if offset not in marks], np.int64)
            yield offsets | number << 32, rows.select(columns).take(offsets)


# ── in files ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _found_in_files(
    tables: Tables,
    state: TableState,
    version: Version,
    numbers: Sequence[int],
    column: str,
    values: Sequence[str],
    columns: Sequence[str],
) -> tuple[Positions, pa.Table]:
    """Rows of some fragments, through the first handle that has them; less those that are marked since."""
    entries = [version.entries[number] for number in numbers]
    table = next(handle for handle in _handles(tables, state) if _has_them_all(tables, handle, state, entries))
    addresses, rows = found(table, columns, one_of(column, values), among=numbers)
    if table.pin == state.pin:
        return addresses, rows
    marks = {number: _marks(tables, state.location, version.entries[number]) for number in {int(at) >> 32 for at in addresses}}
    marked = np.array([address & 0xFFFF_FFFF in marks[address >> 32] for address in addresses.tolist()], np.bool_)
    return (addresses[~marked], rows.filter(pa.array(~marked))) if marked.any() else (addresses, rows)


def _rows(tables: Tables, state: TableState, entry: FragmentEntry, offsets: BitMap) -> Iterator[dict[str, Any]]:
    """Rows of a fragment that are not marked at a pin."""
    alike = tables.writer(state)
    for _, recent in () if alike.has_blobs else _in_memory(alike, [entry]):
        yield from recent.take(list(offsets)).to_pylist()
        return
    for table in _handles(tables, state):
        if _has_them_all(tables, table, state, [entry]):
            there = tables.versions.read(state.location, table.pin).entries[entry.number]
            marks = _marks(tables, state.location, there)
            yield from take_from(table, entry.number, [offset - marks.rank(offset) for offset in offsets]).to_pylist()
            return


def _handles(tables: Tables, state: TableState) -> Iterator[Table]:
    """Versions that are open, then the one of a state, which has to be opened."""
    alike = tables.writer(state)
    yield alike
    if alike.pin != state.pin:
        yield tables.open(state)


def _has_them_all(tables: Tables, handle: Table, state: TableState, entries: Iterable[FragmentEntry]) -> bool:
    """Whether a version has fragments with all the rows that they have at a pin, and perhaps more."""
    if handle.pin == state.pin:
        return True
    with suppress(NotFound, HistoryReclaimed):  # a cleanup has taken what only that version needs
        known = tables.versions.read(state.location, handle.pin).entries
        for entry in entries:
            there = known.get(entry.number)
            if there is None or there.files != entry.files:
                return False
            changed = there.deletions not in (None, entry.deletions)
            if changed and not _marks(tables, state.location, there) <= _marks(tables, state.location, entry):
                return False
        return True
    return False


def _marks(tables: Tables, location: str, entry: FragmentEntry) -> BitMap:
    """Rows of a fragment that are deleted."""
    return BitMap() if entry.deletions is None else tables.versions.marks(location, *entry.deletions)
