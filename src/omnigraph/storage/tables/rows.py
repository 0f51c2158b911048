"""Rows of a pinned table by position, and what two pins of a table have in common.

The rows of a pin have an order: fragment after fragment, deleted rows left out. The *position* of a row in that order is what the
engine numbers columns by. A `Fragment` says which rows are where without reading them, so that whoever holds a column of one pin
can make the column of another by reading only the fragments that differ:

    pin 0x9f3…   fragment A, 1000 rows          │ fragment B, 20 rows
    pin 0xc01…   fragment A, 999 rows (1 gone)  │ fragment B, 20 rows  │ fragment C, 1 row       an update of one row of A

    B is the same, C is new, and of A it is enough to know which rows survived (`offsets`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import lance
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.model.frozen import frozen
from omnigraph.storage.files.dataset_folders import DATA
from omnigraph.storage.lance_format.deletions import Positions, read_deletions
from omnigraph.storage.lance_format.file_names import deletion_file
from omnigraph.storage.lance_format.filters import Filter, is_null, one_of
from omnigraph.storage.lance_format.fragments import names_of
from omnigraph.storage.tables.cell_bytes import cell_bytes, is_fixed
from omnigraph.storage.tables.changes import Overwrite, TableState, WrittenRows
from omnigraph.storage.tables.table import LOOKUP_BATCH, Table

Mask = np.ndarray[tuple[int], np.dtype[np.bool_]]

SIDE_BY_SIDE = 200_000
"""From so many rows on, two halves are read at once."""

_SCANNED_ROWS = 1 << 17
_SCANNED_BYTES = 32 << 20
_IDS = 1 << 20

SCANNED_IMAGES = 8_192
"""Complete rows that are read at a time."""


@frozen
class Fragment:
    """Rows that were written together, less those deleted since."""

    number: int
    files: tuple[str, ...]
    """Where the rows stand: equal files are equal rows, whatever the pin."""
    deletions: str | None
    """Which of them are deleted: equal marks are equal deletions."""
    written: int
    rows: int
    """Those not deleted."""

    def holds_the_same_as(self, other: Fragment) -> bool:
        return self.files == other.files and self.deletions == other.deletions


def fragments(table: Table) -> tuple[Fragment, ...]:
    """What a pin is made of, in row order. A pin does not change, so a handle is asked once."""
    known: tuple[Fragment, ...] | None = table.about.get("fragments")
    if known is not None:
        return known
    found = []
    with table.reading(f"list what {table.location} is made of"):
        for fragment in table.dataset.get_fragments():
            about = fragment.metadata
            name = None if about.deletion_file is None else deletion_file(about)
            files = tuple(names_of(about.files))
            found.append(Fragment(fragment.fragment_id, files, name, about.physical_rows, about.num_rows))
    table.about["fragments"] = tuple(found)
    return tuple(found)


def column_identity(table: Table, name: str) -> int:
    """What a column is, whatever it is called: one that was dropped and added again under its old name is another one."""
    found = table.dataset.lance_schema.field(name)
    assert found is not None
    return int(found.id())


def read_fragments(table: Table, chosen: Sequence[Fragment], columns: Sequence[str]) -> pa.Table:
    """All rows of some fragments, in row order."""
    with table.reading(f"read {table.location}"):
        wanted = {fragment.number for fragment in chosen}
        fragments = [f for f in table.dataset.get_fragments() if f.fragment_id in wanted]
        schema = pa.schema([table.schema.field(name) for name in columns])
        if not fragments:
            return schema.empty_table()

        def read(some: Sequence[lance.LanceFragment]) -> pa.Table:
            scanner = table.scanner(columns=list(columns), fragments=list(some), scan_in_order=True, batch_size=_SCANNED_ROWS)
            return scanner.to_table()

        if len(fragments) < 2 or sum(fragment.rows for fragment in chosen) < SIDE_BY_SIDE:
            return read(fragments)
        sizes = np.cumsum([f.metadata.physical_rows for f in fragments])
        half = min(max(1, int(np.searchsorted(sizes, sizes[-1] / 2, side="right"))), len(fragments) - 1)
        with ThreadPoolExecutor(2, thread_name_prefix="omnigraph-read") as pool:  # Lance decodes a scan in one thread
            return pa.concat_tables(pool.map(read, (fragments[:half], fragments[half:])))


def scan_fragments(table: Table, chosen: Sequence[Fragment], columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """The same in batches of some megabytes, for those who keep less than they read."""
    with table.reading(f"read {table.location}"):
        wanted = {fragment.number for fragment in chosen}
        fragments = [f for f in table.dataset.get_fragments() if f.fragment_id in wanted]
        if fragments:
            yield from table.scanner(
                columns=list(columns), fragments=fragments, scan_in_order=True, batch_size_bytes=_SCANNED_BYTES
            ).to_batches()


def offsets(table: Table, fragment: Fragment) -> Positions:
    """Where in a fragment, as it was written, the rows stand that are not deleted; ascending."""
    there = np.ones(fragment.written, np.bool_)
    there[deleted(table, fragment)] = False
    return np.flatnonzero(there)


def deleted(table: Table, fragment: Fragment) -> Positions:
    """Where in a fragment the rows stand that are deleted; ascending. Reads the deletion file, and no row."""
    if fragment.deletions is None:
        return np.empty(0, np.int64)
    with table.reading(f"read deletions of {table.location}"):
        return read_deletions(table.place, f"{table.location}/{fragment.deletions}", fragment.written - fragment.rows)


def take(table: Table, positions: Positions, columns: Sequence[str]) -> pa.Table:
    """Some rows, in the order asked for."""
    with table.reading(f"read {table.location}"):
        return table.dataset.take(positions.tolist(), columns=list(columns))


def positions_of(table: Table, ids: pa.Array) -> Positions:
    """Where the rows of some ids stand, in row order; -1 for ids that are not there. Reads all ids, a million at a time."""
    found, at = np.full(len(ids), -1, np.int64), 0
    for there in _ids(table):
        if there.equals(pa.chunked_array([ids.slice(at, len(there))], there.type)):  # the same rows in the same order
            found[at : at + len(there)] = np.arange(at, at + len(there))
        else:
            places = pc.index_in(ids, value_set=there)
            found[pc.is_valid(places).to_numpy(zero_copy_only=False)] = places.drop_null().to_numpy() + at
        at += len(there)
    return found


def _ids(table: Table) -> Iterator[pa.ChunkedArray]:
    """The ids of all rows in row order, a million or so at a time however many fragments they are in."""
    parts: list[pa.Array] = []
    with table.reading(f"read {table.location}"):
        for batch in table.scanner(columns=["id"], scan_in_order=True, batch_size=_SCANNED_ROWS).to_batches():
            parts.append(batch.column("id"))
            if sum(map(len, parts)) >= _IDS:
                yield pa.chunked_array(parts)
                parts = []
    if parts:
        yield pa.chunked_array(parts)


def take_from(table: Table, number: int, rows: Sequence[int]) -> pa.Table:
    """Some rows of a fragment, counted without those that are deleted; blobs are not among their columns."""
    with table.reading(f"read {table.location}"):
        fragment = table.dataset.get_fragment(number)
        assert fragment is not None
        table.sound.require(f"{table.location}/{DATA}/{name}" for name in names_of(fragment.metadata.files))
        return fragment.take(list(rows))


def row_bytes(table: Table, columns: Sequence[str], fragments: Iterable[int] | None = None) -> Positions:
    """About how many bytes each row has in memory, in row order. Reads texts and lists, some megabytes at a time, and no blob."""
    kinds = {name: table.schema.field(name).type for name in columns}
    varying = [name for name, kind in kinds.items() if not is_fixed(kind)]
    wanted = None if fragments is None else set(fragments)
    found = [np.empty(0, np.int64)]
    with table.reading(f"read {table.location}"):
        chosen = [f for f in table.dataset.get_fragments() if wanted is None or f.fragment_id in wanted]
        if not chosen:
            return found[0]
        scanner = table.scanner(
            columns=varying, fragments=chosen, scan_in_order=True, batch_size=SCANNED_IMAGES, batch_size_bytes=_SCANNED_BYTES
        )
        for batch in scanner.to_batches():
            sizes = np.full(batch.num_rows, 8 * len(columns), np.int64)
            for column in batch.columns:
                sizes += cell_bytes(column)
            found.append(sizes)
    return np.concatenate(found)


def found(
    table: Table, columns: Sequence[str], where: Filter, *, use_index: bool = True, among: Sequence[int] | None = None
) -> tuple[Positions, pa.Table]:
    """Rows a filter keeps, of all fragments or of some (by number), through an index if there is one: their addresses (fragment
    number, then offset) and some columns."""
    with table.reading(f"read {table.location}"):
        rows = table.scanner(
            columns=list(columns),
            fragments=None if among is None else table.fragments_by_number(among),
            filter=where.sql,
            with_row_address=True,
            use_scalar_index=use_index,
            prefilter=True,
        ).to_table()
    return rows["_rowaddr"].to_numpy().astype(np.int64), rows.drop_columns(["_rowaddr"])


def images(table: Table, ids: Sequence[str]) -> pa.Table:
    """Complete rows by id, blobs as bytes, in no particular order."""
    wanted = list(dict.fromkeys(ids))
    parts = []
    with table.reading(f"read {table.location}"):
        for at in range(0, len(wanted), LOOKUP_BATCH):
            where = one_of("id", wanted[at : at + LOOKUP_BATCH])
            parts.append(table.scanner(filter=where.sql, prefilter=True, blob_handling="all_binary").to_table())
    return pa.concat_tables(parts) if parts else table.schema.empty_table()


def scan_images(
    table: Table,
    columns: Sequence[str] | None = None,
    *,
    fragments: Iterable[int] | None = None,
    batch_rows: int = SCANNED_IMAGES,
) -> Iterator[pa.RecordBatch]:
    """Complete rows, or some of their columns, in row order, blobs as bytes; all, or of some fragments (by number)."""
    wanted = None if fragments is None else set(fragments)
    with table.reading(f"read {table.location}"):
        chosen = None if wanted is None else [f for f in table.dataset.get_fragments() if f.fragment_id in wanted]
        if chosen == []:
            return
        scanner = table.scanner(
            columns=None if columns is None else list(columns),
            fragments=chosen,
            scan_in_order=True,
            blob_handling="all_binary",
            batch_size=batch_rows,
        )
        yield from scanner.to_batches()


def scan_without(table: Table, column: str, fragments: Iterable[int]) -> Iterator[pa.RecordBatch]:
    """Complete rows of some fragments that have no value in a column, blobs as bytes. Reads no value of the others."""
    wanted = set(fragments)
    with table.reading(f"read {table.location}"):
        chosen = [f for f in table.dataset.get_fragments() if f.fragment_id in wanted]
        if not chosen:
            return
        scanner = table.scanner(
            filter=is_null(column).sql,
            fragments=chosen,
            scan_in_order=True,
            blob_handling="all_binary",
            batch_size=SCANNED_IMAGES,
        )
        yield from scanner.to_batches()


def rows_of_written(table: Table, state: TableState, written: WrittenRows) -> Iterator[pa.RecordBatch]:
    """Rows of data files that nothing refers to yet, as they were written, blobs as bytes: read through a version nobody sees."""
    few = _few_of(table, written)
    if few is not None:
        yield from few.to_batches()
        return
    _, handle = table.apply(state, Overwrite(written))
    if handle is not None:
        with table.reading(f"read {table.location}"):
            yield from handle.scanner(scan_in_order=True, blob_handling="all_binary").to_batches()


def _few_of(table: Table, written: WrittenRows) -> pa.Table | None:
    """Rows that were written a moment ago, if they are so few that they are still in memory."""
    if written.unstored is not None:
        return written.unstored.rows
    files = [file.path for fragment in written.fragments for file in fragment.files]
    rows = table.recent.of(f"{table.location}/{DATA}/{files[0]}", table.columns, table.schema) if len(files) == 1 else None
    return rows if rows is not None and rows.num_rows == written.rows else None


def columns_of_written(table: Table, state: TableState, written: WrittenRows, columns: Sequence[str]) -> pa.Table:
    """Some columns of rows in data files that nothing refers to yet, as they were written."""
    few = _few_of(table, written)
    if few is not None:
        return few.select(list(columns))
    _, handle = table.apply(state, Overwrite(written))
    if handle is None:
        return pa.schema([table.schema.field(name) for name in columns]).empty_table()
    return read_fragments(handle, fragments(handle), columns)


def chosen_of_written(table: Table, state: TableState, written: WrittenRows, chosen: Mask) -> Iterator[pa.RecordBatch]:
    """Some of the rows that were written, blobs as bytes. Files that hold none of them are not read."""
    at = 0
    for fragment in written.fragments:
        one = replace(written, fragments=(fragment,), rows=fragment.physical_rows, unsynced=(), unstored=None)
        mask = chosen[at : at + one.rows]
        at += one.rows
        if mask.any():
            seen = 0
            for batch in rows_of_written(table, state, one):
                yield batch.filter(pa.array(mask[seen : seen + batch.num_rows]))
                seen += batch.num_rows


def written_without(table: Table, state: TableState, written: WrittenRows, keep: Mask, schema: pa.Schema) -> WrittenRows:
    """Only some of the rows that were written. Files that lose a row are written again, the others are used as they are."""
    kept: list[WrittenRows] = []
    at = 0
    for one in by_fragment(written):
        mask = keep[at : at + one.rows]
        at += one.rows
        if mask.all():
            kept.append(one)
        elif mask.any():
            kept.append(table.write(pa.RecordBatchReader.from_batches(schema, _filtered(table, state, one, mask, schema))))
    return together(kept, written)


def by_fragment(written: WrittenRows) -> Iterator[WrittenRows]:
    """Rows in data files, each file by itself."""
    for fragment in written.fragments:
        paths = {f"{DATA}/{file.path}" for file in fragment.files}
        folders = tuple(f"{path.rpartition('.')[0]}/" for path in paths)
        stored = tuple(s for s in written.stored if s.path in paths or s.path.startswith(folders))
        yield WrittenRows((fragment,), fragment.physical_rows, (), written.fence, stored=stored)


def together(parts: Sequence[WrittenRows], before: WrittenRows | None = None) -> WrittenRows:
    """Rows in data files as one. Some of the files may be those that they were in before."""
    fences = [part.fence for part in parts] if before is None else [before.fence]
    return WrittenRows(
        tuple(f for part in parts for f in part.fragments),
        sum(part.rows for part in parts),
        (*(() if before is None else before.unsynced), *(f for part in parts for f in part.unsynced)),
        min(fences, default=0),
        stored=tuple(s for part in parts for s in part.stored),
    )


def _filtered(table: Table, state: TableState, written: WrittenRows, mask: Mask, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    at = 0
    for batch in rows_of_written(table, state, written):
        kept = batch.filter(pa.array(mask[at : at + batch.num_rows]))
        yield kept.select(schema.names).cast(schema)  # a column that was added stands last in the table, not in the type
        at += batch.num_rows
