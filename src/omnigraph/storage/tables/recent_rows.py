"""Recent small writes, kept in memory by the data file they are in.

Each of a stream of one-row commits leaves a file that the next fold takes up again. Opening three dozen files for a row each is
most of what a fold costs, and the writer that folds is usually the one that wrote them. Data files never change, so what is
kept here can be missing but never wrong, as long as it is asked for by what its columns *are*: one that was dropped and added
again under its old name is another column, and has no values in an older file.
"""

from __future__ import annotations

from threading import Lock
from typing import Final

import pyarrow as pa

Columns = tuple[tuple[str, int], ...]
"""Names and identities of columns."""

KEPT_BYTES: Final = 16_384
"""Most bytes of one write that is kept."""

KEPT_ROWS: Final = 256
"""Most rows of one write that is kept."""

KEPT_WRITES: Final = 512
"""Most writes that are kept; the oldest go first."""


class RecentRows:
    """Rows by the path of their data file."""

    def __init__(self) -> None:
        self._rows: dict[str, tuple[Columns, pa.Table]] = {}
        self._lock = Lock()

    def keep(self, file: str, columns: Columns, rows: pa.Table) -> None:
        """Remember the rows of a file and the columns they were written for, if they are few."""
        if not is_small(rows):
            return
        with self._lock:
            self._rows[file] = (columns, rows)
            if len(self._rows) > KEPT_WRITES:
                del self._rows[next(iter(self._rows))]

    def of(self, file: str, columns: Columns, schema: pa.Schema) -> pa.Table | None:
        """The rows of a file, if they are known, in these very columns."""
        with self._lock:
            found = self._rows.get(file)
        if found is None or found[0] != columns or not found[1].schema.equals(schema):
            return None
        return found[1]


def is_small(rows: pa.Table) -> bool:
    """Whether rows may stay in memory. Counted is what they hold on to: a slice keeps all it was cut from."""
    return 0 < rows.num_rows <= KEPT_ROWS and int(rows.get_total_buffer_size()) <= KEPT_BYTES
