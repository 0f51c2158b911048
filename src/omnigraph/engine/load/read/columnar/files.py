"""Parquet and Arrow files into batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pyarrow as pa
import pyarrow.parquet as pq

from omnigraph.engine.load.read.conversion.partition_columns import no_rows, with_columns
from omnigraph.engine.load.read.inputs.content import Unfit, mismatch, peeked
from omnigraph.engine.load.read.inputs.sources import BATCH_ROWS, Input, arrow_batches


def parquet_batches(input_: Input, groups: Sequence[int] | None = None) -> Iterator[pa.RecordBatch]:
    """The rows of a Parquet file, or of some of its row groups."""
    with _explained(input_, "a Parquet file"), pq.ParquetFile(input_.for_arrow) as file:
        chosen = None if groups is None else list(groups)
        schema, given = file.schema_arrow, False
        for batch in file.iter_batches(batch_size=BATCH_ROWS, row_groups=chosen):
            given = True
            yield with_columns(input_, batch)
        if not given:
            yield with_columns(input_, no_rows(schema))


def parquet_schema(input_: Input) -> pa.Schema:
    """The columns of a Parquet file."""
    with _explained(input_, "a Parquet file"), pq.ParquetFile(input_.for_arrow) as file:
        return file.schema_arrow


def ipc_batches(input_: Input) -> Iterator[pa.RecordBatch]:
    """The rows of a file of Arrow, with or without its index of batches."""
    with _ipc(input_) as reader:
        given = False
        for batch in arrow_batches(reader):
            given = True
            yield with_columns(input_, batch)
        if not given:
            yield with_columns(input_, no_rows(reader.schema))


def ipc_schema(input_: Input) -> pa.Schema:
    """The columns of a file of Arrow."""
    with _ipc(input_) as reader:
        return reader.schema


@contextmanager
def _ipc(input_: Input) -> Iterator[pa.RecordBatchReader]:
    with _explained(input_, "an Arrow file"), pa.input_stream(input_.for_arrow, compression=None) as source:
        head = peeked(source)
        source.seek(0)
        if mismatch(head, "an Arrow file") is None:
            file = pa.ipc.open_file(source)
            batches = (file.get_batch(n) for n in range(file.num_record_batches))
            yield pa.RecordBatchReader.from_batches(file.schema, batches)
        else:
            yield pa.ipc.open_stream(source)


@contextmanager
def _explained(input_: Input, expected: str) -> Iterator[None]:
    """Say of a file that cannot be read what it is instead, if it is something else."""
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        with input_.opened() as stream:
            reported = mismatch(peeked(stream), expected)
        stream_of_arrow = expected == "an Arrow file" and reported is not None and "a stream of Arrow" in reported
        if reported is None or stream_of_arrow or isinstance(error, Unfit):
            raise
        raise Unfit(reported) from error
