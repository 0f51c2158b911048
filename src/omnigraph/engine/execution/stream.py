"""An answer that comes in parts: Arrow batches as soon as they are there, or their rows one by one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from omnigraph.engine.arrays.plain_values import plain_array
from omnigraph.engine.calls.guard import still_inside
from omnigraph.model.phrases import one_line


class Stream(Iterator[pa.RecordBatch]):
    """The batches of one answer, in order, each of them once. `rows()` gives what is left of them row by row."""

    def __init__(self, query_name: str, columns: list[str], graph_commit_id: str, batches: Iterator[pa.RecordBatch]) -> None:
        self.query_name = query_name
        self.columns = columns
        self.graph_commit_id = graph_commit_id
        """Commit the rows are read from."""
        self._batches = still_inside("stream", batches)

    def __iter__(self) -> Stream:
        return self

    def __next__(self) -> pa.RecordBatch:
        return next(self._batches)

    def __repr__(self) -> str:
        return one_line(f"Stream of {self.query_name}: {', '.join(self.columns)}")

    def rows(self) -> Iterator[dict[str, Any]]:
        """Every row as a dict, as in the rows of a result. Only one batch of them is in memory at a time."""
        for batch in self:
            values = [plain_array(column) for column in batch.columns]
            for row in zip(*values, strict=True):
                yield dict(zip(self.columns, row, strict=True))
