"""What is kept of all rows of a type while they are streamed to data files: ids, ends, unique values, and where each was read.

From that the rules about sets of rows can be checked, and duplicates within one input found: two nodes with the same key are a
mistake in every mode; an id that was given twice is one when entities must be new, and in a merge the later row wins.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.catalog.catalog import EntityType
from omnigraph.engine.arrays.chunked import whole
from omnigraph.engine.arrays.column import Mask
from omnigraph.engine.arrays.hashing import all_differ
from omnigraph.engine.arrays.numbering import Numbers
from omnigraph.engine.load.read.rows.modes import Mode
from omnigraph.engine.load.read.rows.types import Rows, key_of
from omnigraph.engine.write.changeset import Delta
from omnigraph.engine.write.violations import Violation, repeating
from omnigraph.storage.tables.changes import NO_ROWS, WrittenRows


class Places:
    """The file and line of each row, by its position."""

    def __init__(self, files: list[str | None], starts: list[int], lines: Numbers) -> None:
        self._files = files
        self._starts = np.array(starts)
        self._lines = lines

    def __len__(self) -> int:
        return len(self._lines)

    def __getitem__(self, row: int, /) -> tuple[str | None, int | None]:
        part = int(np.searchsorted(self._starts, row, side="right")) - 1
        return self._files[part], int(self._lines[row])

    def rows_at(self, file: str | None, lines: Numbers) -> Numbers:
        """The rows that came from some lines of a file."""
        ends = [*self._starts[1:].tolist(), len(self._lines)]
        parts = [(int(start), end) for name, start, end in zip(self._files, self._starts, ends, strict=True) if name == file]
        return np.concatenate([np.empty(0, np.int64), *(a + np.flatnonzero(np.isin(self._lines[a:b], lines)) for a, b in parts)])

    def keep(self, mask: Mask) -> Places:
        """Those of some rows."""
        kept = np.concatenate([[0], np.cumsum(mask)])
        return Places(self._files, [int(kept[at]) for at in self._starts], self._lines[mask])


@dataclass
class Collected:
    """Rows of one type."""

    type: EntityType
    columns: tuple[str, ...]
    """Those that are kept."""
    count: int = 0
    given_ids: bool = False
    """Whether any row came with an id or a key."""
    unchanged: bool = True
    """Whether all rows are committed already, exactly so, as far as somebody has compared them."""
    stepwise: bool = False
    """Whether rows are steps of which the last one of an entity counts."""
    _parts: list[pa.RecordBatch] = field(default_factory=list)
    _lines: list[Numbers] = field(default_factory=list)
    _files: list[str | None] = field(default_factory=list)
    _starts: list[int] = field(default_factory=list)

    def add(self, rows: Rows, batch: pa.RecordBatch) -> None:
        """Rows as they were read, and with their ids."""
        if rows.batch.column(0).null_count < rows.count:
            self.given_ids = True
        self.stepwise |= rows.stepwise
        self._parts.append(pa.RecordBatch.from_arrays([_own(batch.column(c)) for c in self.columns], list(self.columns)))
        if not self._files or self._files[-1] != rows.file:
            self._files.append(rows.file)
            self._starts.append(self.count)
        self._lines.append(rows.lines)
        self.count += rows.count

    def delta(self, mode: Mode, written: WrittenRows | None) -> Delta:
        """The change these rows make."""
        table = (
            pa.Table.from_batches(self._parts).combine_chunks()
            if self._parts
            else pa.table({c: pa.array([], pa.string()) for c in self.columns})
        )
        self._parts.clear()
        lines = np.concatenate(self._lines) if self._lines else np.empty(0, np.int64)
        return Delta(
            self.type,
            table,
            replaces_all=mode is Mode.OVERWRITE,
            fresh=not self.given_ids,
            must_be_new=mode is Mode.APPEND,
            places=Places(self._files, self._starts, lines),
            written=NO_ROWS if written is None else written,
            completed=mode.is_partial,
            unchanged=self.unchanged,
            stepwise=self.stepwise,
        )


def _own(column: pa.Array) -> pa.Array:
    """A column that keeps nothing else in memory."""
    return pa.concat_arrays([column]) if column.offset or len(column) == 0 else column


def repeated(ids: pa.Array) -> tuple[Numbers, Numbers, Mask] | None:
    """Rows whose id came before, the row where it came first, and which rows are not followed by another with their id."""
    ids = whole(ids)
    if all_differ(ids):
        return None
    encoded = ids.dictionary_encode()
    distinct = len(encoded.dictionary)
    if distinct == len(ids):
        return None
    codes = encoded.indices.to_numpy()
    rows = np.arange(len(codes))
    first, last = np.empty(distinct, np.int64), np.empty(distinct, np.int64)
    first[codes[::-1]] = rows[::-1]
    last[codes] = rows
    again = np.flatnonzero(first[codes] != rows)
    return again, first[codes[again]], last[codes] == rows


def duplicates(delta: Delta, mode: Mode) -> tuple[list[Violation], Mask | None]:
    """What is wrong with ids that occur twice, or which rows to keep: the later ones win."""
    if delta.fresh or delta.rows.num_rows < 2:
        return [], None
    found = repeated(delta.ids)
    if found is None:
        return [], None
    again, first, last = found
    keys = key_of(delta.type)
    if mode is Mode.MERGE and (delta.stepwise or not keys):
        return [], last
    return list(_twice(delta, again, first, keys, mode)), None


def _twice(delta: Delta, again: Numbers, first: Numbers, keys: tuple[str, ...], mode: Mode) -> Iterator[Violation]:
    for row, before in zip(again.tolist(), first.tolist(), strict=True):
        entity = delta.ids[row].as_py()
        file, line = delta.place(row)
        rule = "unique" if keys or mode.is_partial else "key"
        found = Violation(rule, delta.type.name, "", ", ".join(keys) or "id", entity, entity, file, line)
        yield repeating(found, *delta.place(before))


def kept(delta: Delta, mask: Mask) -> Delta:
    """Only some of the rows. What is written must follow."""
    assert isinstance(delta.places, Places)
    table = delta.rows.filter(pa.array(mask)).combine_chunks()
    return replace(delta, rows=table, replaces_all=False, gone=None, fresh=False, places=delta.places.keep(mask), marks=None)


def follow(column: pa.Array, renamed: dict[str, str]) -> pa.Array:
    """Ends of edges, with old spellings of ids replaced."""
    old, new = pa.array(list(renamed), pa.string()), pa.array(list(renamed.values()), pa.string())
    places = pc.index_in(column, value_set=old)
    return pc.coalesce(new.take(places), column)
