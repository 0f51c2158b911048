"""The rows in which two pins of a table differ, found without reading what they share.

    pin 0x9f3…   fragment A, 1000 rows            │ fragment B, 20 rows
    pin 0xc01…   fragment A, 998 rows (2 marked)  │ fragment B, 20 rows  │ fragment C, 2 rows

    B is the same. Of A the two marked rows are read from the first pin: they are gone. C is read from the second: it came.

Whether a row that is gone and a row that came are one entity that changed, or the same image written again (a fold, a
compaction), is for whoever knows ids and values to say. Two pins of different branches compare just as well: a row that is marked
in the first pin and not in the second came.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from omnigraph.model.frozen import frozen
from omnigraph.storage.lance_format.deletions import Positions
from omnigraph.storage.lance_format.filters import one_of
from omnigraph.storage.lance_format.fragments import plain
from omnigraph.storage.tables.changes import WrittenRows
from omnigraph.storage.tables.rows import Fragment, deleted, fragments
from omnigraph.storage.tables.table import LOOKUP_BATCH, Table


@frozen(slots=False)
class Part:
    """Rows of a fragment."""

    fragment: Fragment
    offsets: Positions | None = None
    """Where they stand in it; None: all that are not deleted."""

    @property
    def rows(self) -> int:
        return self.fragment.rows if self.offsets is None else len(self.offsets)


@frozen(slots=False)
class Unlike:
    """What of two pins is not in both."""

    gone: tuple[Part, ...]
    """Of the first pin."""
    came: tuple[Part, ...]
    """Of the second pin."""

    @property
    def rows(self) -> int:
        return sum(part.rows for part in (*self.gone, *self.came))

    @property
    def is_appended(self) -> bool:
        """Whether the second pin is the first with whole fragments added."""
        return not self.gone and all(part.offsets is None and part.fragment.deletions is None for part in self.came)


def rows_apart(first: Table, second: Table) -> int:
    """About how many rows comparing two pins would read. Reads nothing."""
    ours, theirs = _by_files(first), _by_files(second)
    count = sum(fragment.rows for files, fragment in ours.items() if files not in theirs)
    count += sum(fragment.rows for files, fragment in theirs.items() if files not in ours)
    shared = ((ours[files], theirs[files]) for files in ours.keys() & theirs.keys())
    return count + sum(abs(a.rows - b.rows) + 1 for a, b in shared if not a.holds_the_same_as(b))


def unlike(first: Table, second: Table) -> Unlike:
    """Where two pins differ. Reads deletion files, no rows."""
    ours, theirs = _by_files(first), _by_files(second)
    gone = [Part(fragment) for files, fragment in ours.items() if files not in theirs]
    came = [Part(fragment) for files, fragment in theirs.items() if files not in ours]
    for files, fragment in ours.items():
        other = theirs.get(files)
        if other is None or fragment.holds_the_same_as(other):
            continue
        marked, marked_there = deleted(first, fragment), deleted(second, other)
        if len(fell := np.setdiff1d(marked_there, marked, assume_unique=True)):
            gone.append(Part(fragment, fell))
        if len(rose := np.setdiff1d(marked, marked_there, assume_unique=True)):
            came.append(Part(other, rose))
    return Unlike(tuple(gone), tuple(came))


def in_both(parts: Sequence[Part], others: Sequence[Part]) -> tuple[Part, ...]:
    """Rows of a pin that are among two choices."""
    chosen = {part.fragment.files: part for part in others}
    found = []
    for part in parts:
        other = chosen.get(part.fragment.files)
        if other is None:
            continue
        if part.offsets is None or other.offsets is None:
            found.append(part if other.offsets is None else other)
        elif len(offsets := np.intersect1d(part.offsets, other.offsets, assume_unique=True)):
            found.append(Part(part.fragment, offsets))
    return tuple(found)


def addresses(parts: Sequence[Part]) -> Positions:
    """Where rows stand that were chosen one by one: the number of the fragment, then the offset."""
    some = [(part.fragment.number << 32) + part.offsets for part in parts if part.offsets is not None]
    return np.concatenate(some) if some else np.empty(0, np.int64)


def at_addresses(parts: Sequence[Part], chosen: Positions) -> tuple[Part, ...]:
    """Of rows that were chosen one by one, those at some addresses."""
    kept = ((part, np.isin((part.fragment.number << 32) + part.offsets, chosen)) for part in parts if part.offsets is not None)
    return tuple(Part(part.fragment, part.offsets[mask]) for part, mask in kept if part.offsets is not None and mask.any())


def everything(table: Table) -> tuple[Part, ...]:
    """All rows of a pin."""
    return tuple(Part(fragment) for fragment in fragments(table))


def read_parts(table: Table, parts: Sequence[Part], columns: Sequence[str] | None = None) -> pa.Table:
    """Rows, complete by default, blobs as bytes, in no particular order."""
    found: list[pa.Table] = []
    names = None if columns is None else list(columns)
    with table.reading(f"read {table.location}"):
        wanted = {part.fragment.number for part in parts if part.offsets is None}
        if wanted:
            fragments = [f for f in table.dataset.get_fragments() if f.fragment_id in wanted]
            found.append(table.scanner(names, fragments=fragments, blob_handling="all_binary").to_table())
        wherever = addresses(parts)
        for at in range(0, len(wherever), LOOKUP_BATCH):
            chosen = one_of("_rowaddr", wherever[at : at + LOOKUP_BATCH].tolist())  # fetched, not searched for
            scanner = table.scanner(names, filter=chosen.sql, blob_handling="all_binary")
            found.append(scanner.to_table())
    return pa.concat_tables(found) if found else table.schema.empty_table().select(names or table.schema.names)


def same_columns(first: Table, second: Table) -> bool:
    """Whether two pins keep each column under one number, so that the files of the one are rows of the other.

    Two branches that were given one schema may have come there by different ways.
    """

    def columns(table: Table) -> dict[str, int]:
        return {field.name(): field.id() for field in table.dataset.lance_schema.fields()}

    return columns(first) == columns(second)


def graft(table: Table, parts: Sequence[Part]) -> WrittenRows:
    """Whole fragments of a pin as rows to append to another pin with the same columns: the data files stay where they are."""
    described = []
    with table.reading(f"list what {table.location} is made of"):
        for part in parts:
            fragment = table.dataset.get_fragment(part.fragment.number)
            assert fragment is not None
            # Lance numbers an appended fragment itself.
            described.append(
                replace(
                    fragment.metadata,
                    id=0,
                    row_id_meta=None,
                    created_at_version_meta=None,
                    last_updated_at_version_meta=None,
                )
            )
    return WrittenRows(plain(described), sum(part.rows for part in parts), ())


def fragments_apart(first: Table, second: Table) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Numbers of the second pin's fragments that the first does not have, and of the first that the second does not have."""
    ours = {fragment.number: fragment for fragment in fragments(first)}
    theirs = {fragment.number: fragment for fragment in fragments(second)}

    def only(those: dict[int, Fragment], others: dict[int, Fragment]) -> tuple[int, ...]:
        return tuple(sorted(n for n, p in those.items() if n not in others or not p.holds_the_same_as(others[n])))

    return only(theirs, ours), only(ours, theirs)


def _by_files(table: Table) -> dict[tuple[str, ...], Fragment]:
    return {fragment.files: fragment for fragment in fragments(table)}
