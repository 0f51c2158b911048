"""Rows and columns of a file of columns, by the reader of its format."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa

from omnigraph.engine.load.read.columnar.files import ipc_batches, ipc_schema, parquet_batches, parquet_schema
from omnigraph.engine.load.read.delimited.reader import csv_batches, csv_schema
from omnigraph.engine.load.read.inputs.naming import Format
from omnigraph.engine.load.read.inputs.sources import Input


def batches_of(input_: Input, on_bad_row: Callable[[object], None]) -> Iterator[pa.RecordBatch]:
    """The rows of a file. Rows of CSV with too few or too many cells are reported and left out."""
    match input_.format:
        case Format.PARQUET:
            yield from parquet_batches(input_)
        case Format.IPC:
            yield from ipc_batches(input_)
        case _:
            yield from csv_batches(input_, on_bad_row)


def schema_of(input_: Input) -> pa.Schema:
    """The columns of a file, without those of its folders."""
    match input_.format:
        case Format.PARQUET:
            return parquet_schema(input_)
        case Format.IPC:
            return ipc_schema(input_)
        case _:
            return csv_schema(input_)
