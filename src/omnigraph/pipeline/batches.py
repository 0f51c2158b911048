"""Rows as they come from Spark, a few at a time, in batches that are worth checking and writing.

Spark hands a Python task its rows in Arrow batches of at most so many rows (`spark.sql.execution.arrow.maxRecordsPerBatch`).
Looking at a batch costs about as much for a thousand rows as for ten thousand, so small ones are put together here; large ones,
and those with large values, are passed on as they are.

Why Spark's batches are small in our sessions: its other limit, on bytes, is asked about after *every row*, which takes half of
all the time that handing rows over takes (measured with Spark 4.3). So our sessions do without it (`NO_LIMIT`), and keep batches
small by their rows instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import pyarrow as pa

SPARK_ROWS: Final = 4096
"""Rows Spark puts into a batch in our sessions: with values of 50 kB each, that is 200 MB."""

NO_LIMIT: Final = 2**31 - 1
"""The number of bytes that Spark takes for "any"."""

_ROWS: Final = 1 << 16
_BYTES: Final = 64 << 20


def gathered(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same rows in the same order, in fewer batches."""
    held: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        held.append(batch)
        rows, size = rows + batch.num_rows, size + batch.get_total_buffer_size()
        if rows >= _ROWS or size >= _BYTES:
            yield _together(held)
            held, rows, size = [], 0, 0
    if held:
        yield _together(held)


def _together(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    return batches[0] if len(batches) == 1 else pa.concat_batches(batches)
