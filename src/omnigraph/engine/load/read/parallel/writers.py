"""Rows to data files while they are still coming: one thread per type, each with a short queue.

A few rows are handed on as a table, whose file is made in a moment: a stream takes Lance some milliseconds, however short it is.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import suppress
from itertools import chain
from queue import Empty, Full, Queue
from threading import Event, Thread

import pyarrow as pa

from omnigraph.storage.tables.changes import WrittenRows
from omnigraph.storage.tables.recent_rows import KEPT_BYTES, KEPT_ROWS
from omnigraph.storage.tables.table import Rows, Table

_QUEUED = 2
_PATIENCE = 0.2


class Writer:
    """Writes batches of one type as they are put."""

    def __init__(self, table: Table, schema: pa.Schema) -> None:
        self._table = table
        self._schema = schema
        self._queue: Queue[pa.RecordBatch | None] = Queue(_QUEUED)
        self._written: Future[WrittenRows] = Future()
        self._stop = Event()
        self._thread = Thread(target=self._run, name="omnigraph-write", daemon=True)
        self._thread.start()

    def put(self, batch: pa.RecordBatch) -> None:
        """One more batch. Waits while there are enough; raises what went wrong with earlier ones."""
        self._offer(batch)

    def close(self) -> WrittenRows:
        """There are no more: what came of them."""
        self._offer(None)
        return self._written.result()

    def abandon(self) -> None:
        """Nobody wants the rows any more."""
        self._stop.set()
        with suppress(Full):
            self._queue.put_nowait(None)  # who waits for a batch hears of it at once
        self._thread.join()

    def _offer(self, batch: pa.RecordBatch | None) -> None:
        while True:
            try:
                self._queue.put(batch, timeout=_PATIENCE)
                return
            except Full:
                if self._written.done():
                    self._written.result()

    def _batches(self) -> Iterator[pa.RecordBatch]:
        while not self._stop.is_set():
            try:
                batch = self._queue.get(timeout=_PATIENCE)
            except Empty:
                continue
            if batch is None:
                return
            yield batch

    def _rows(self) -> Rows:
        """What comes: as a table if it is little, else as a stream."""
        batches, begun, rows, size = self._batches(), deque[pa.RecordBatch](), 0, 0
        for batch in batches:
            begun.append(batch)
            rows += batch.num_rows
            size += batch.nbytes
            if rows > KEPT_ROWS or size > KEPT_BYTES:
                return pa.RecordBatchReader.from_batches(self._schema, chain(_emptied(begun), batches))
        return pa.Table.from_batches(begun, self._schema)

    def _run(self) -> None:
        try:
            written = self._table.store(self._rows())
        except BaseException as error:  # whoever waits for it must hear of it
            self._written.set_exception(error)
        else:
            self._written.set_result(written)


def _emptied(batches: deque[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Batches that are let go of one after the other: they may be large."""
    while batches:
        yield batches.popleft()
