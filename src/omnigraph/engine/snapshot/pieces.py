"""What two pins of a table have in common, row by row: which rows of one are copied from the other, and which are read.

    pin 0x9f3…   fragment A, 1000 rows            │ fragment B, 20 rows
    pin 0xc01…   fragment A, 999 rows (500 gone)  │ fragment B, 20 rows  │ fragment C, 1 row

    the second, from the first:    copy 0 … 499   copy 501 … 1019   read C

Nothing is read for that but deletion marks, and what it costs does not depend on how many rows the pins share.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Final

import numpy as np

from omnigraph.engine.arrays.numbering import Numbers
from omnigraph.errors import HistoryReclaimed, NotFound, StorageError
from omnigraph.model.frozen import frozen
from omnigraph.storage.tables.rows import Fragment

_CUTS: Final = 1_024
"""Of a fragment that lost more rows than that, the others are chosen one by one."""


@frozen(slots=False)
class Copied:
    """Rows that another pin has too."""

    start: int
    """Where they begin there."""
    rows: int
    """How many stand there."""
    kept: Numbers | None = None
    """Which of those; None: all."""

    @property
    def count(self) -> int:
        return self.rows if self.kept is None else len(self.kept)


Piece = Copied | tuple[Fragment, ...]
"""Rows that are copied, or fragments that are read."""

Deleted = Callable[[Fragment], Numbers]
"""Where in a fragment the rows stand that are deleted."""


def compared(here: Sequence[Fragment], there: Sequence[Fragment], deleted: Deleted, deleted_there: Deleted) -> tuple[Piece, ...]:
    """One pin as what another one has and what it has not, in row order."""
    places: dict[tuple[str, ...], tuple[int, Fragment]] = {}
    position = 0
    for fragment in there:
        places[fragment.files] = (position, fragment)
        position += fragment.rows
    found: list[Piece] = []
    for fragment in here:
        known = places.get(fragment.files)
        copied = None if known is None else _copied(fragment, *known, deleted, deleted_there)
        if copied is not None:
            _add(found, copied)
        elif found and isinstance(found[-1], tuple):
            found[-1] = (*found[-1], fragment)
        else:
            found.append((fragment,))
    return tuple(found)


def _copied(fragment: Fragment, start: int, old: Fragment, deleted: Deleted, deleted_there: Deleted) -> list[Copied] | None:
    """The rows of a fragment as another pin has them; None: it lacks some, or what it has is not known."""
    if fragment.holds_the_same_as(old):
        return [Copied(start, old.rows)]
    try:
        before = deleted_there(old)
    except (NotFound, HistoryReclaimed, StorageError):  # the other pin was reclaimed
        return None
    after = deleted(fragment)
    lost = np.setdiff1d(after, before, assume_unique=True)
    if len(lost) != len(after) - len(before):
        return None  # rows that were deleted there live here: the other pin is younger
    gone = lost - np.searchsorted(before, lost)
    if len(gone) > _CUTS:
        return [Copied(start, old.rows, np.delete(np.arange(old.rows), gone))]
    cuts = [-1, *gone.tolist(), old.rows]
    return [Copied(start + low + 1, high - low - 1) for low, high in pairwise(cuts) if high - low > 1]


def _add(found: list[Piece], copied: Iterable[Copied]) -> None:
    for piece in copied:
        last = found[-1] if found else None
        if isinstance(last, Copied) and last.kept is piece.kept is None and last.start + last.rows == piece.start:
            found[-1] = Copied(last.start, last.rows + piece.rows)
        else:
            found.append(piece)


def changed_rows(pieces: Sequence[Piece], rows: int) -> int:
    """How many rows came, and how many of those that the other pin has are gone."""
    came = sum(fragment.rows for piece in pieces if not isinstance(piece, Copied) for fragment in piece)
    return came + rows - sum(piece.count for piece in pieces if isinstance(piece, Copied))


def new_rows(pieces: Sequence[Piece]) -> Numbers:
    """Where the rows stand that are not copied."""
    parts, at = [np.empty(0, np.int64)], 0
    for piece in pieces:
        count = piece.count if isinstance(piece, Copied) else sum(fragment.rows for fragment in piece)
        if not isinstance(piece, Copied):
            parts.append(np.arange(at, at + count))
        at += count
    return np.concatenate(parts)


def lost_rows(pieces: Sequence[Piece], rows: int) -> Numbers:
    """Which of so many rows of the other pin are not copied."""
    ranges = sorted((p.start, p.rows, i) for i, p in enumerate(pieces) if isinstance(p, Copied))
    parts, at = [np.empty(0, np.int64)], 0
    for start, count, number in ranges:
        parts.append(np.arange(at, start))
        piece = pieces[number]
        if isinstance(piece, Copied) and piece.kept is not None:
            parts.append(start + np.setdiff1d(np.arange(count), piece.kept, assume_unique=True))
        at = start + count
    parts.append(np.arange(at, rows))
    return np.concatenate(parts)
