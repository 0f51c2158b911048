"""Files of columns, read: CSV and Parquet into batches, and where in a file of CSV a row stands."""

from __future__ import annotations

import csv
import io
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final

import pyarrow as pa
import pyarrow.csv as pcsv
import pyarrow.parquet as pq

from omnigraph.engine.load.sources import Input
from omnigraph.engine.write.violations import Violation

BATCH_ROWS: Final = 65_536


def parquet_batches(input_: Input, groups: Sequence[int] | None = None) -> Iterator[pa.RecordBatch]:
    """The rows of a Parquet file, or of some of its row groups."""
    with pq.ParquetFile(input_.for_arrow) as file:
        yield from file.iter_batches(batch_size=BATCH_ROWS, row_groups=None if groups is None else list(groups))


def csv_batches(input_: Input, on_bad_row: Callable[[object], None]) -> Iterator[pa.RecordBatch]:
    """The rows of a CSV file, all cells as text. Rows with too few or too many cells are told of and left out."""

    def bad(row: object) -> str:
        on_bad_row(row)
        return "skip"

    read = pcsv.ReadOptions(use_threads=False, block_size=4 << 20)
    silent = pcsv.ParseOptions(newlines_in_values=True, invalid_row_handler=_skip)
    with pcsv.open_csv(input_.for_arrow, read_options=read, parse_options=silent) as first:
        names = first.schema.names
    convert = pcsv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.string()),
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
        null_values=[""],
    )
    parse = pcsv.ParseOptions(newlines_in_values=True, invalid_row_handler=bad)
    with pcsv.open_csv(input_.for_arrow, read_options=read, parse_options=parse, convert_options=convert) as reader:
        yield from reader


def _skip(_: object) -> str:
    return "skip"


UNREADABLE_TEXT: Final = (OSError, EOFError, zlib.error, csv.Error)
"""What goes wrong when a CSV file is read as text."""


def text_of(input_: Input) -> io.TextIOWrapper:
    """A CSV file as text, as Python's own reader wants it."""
    return io.TextIOWrapper(io.BufferedReader(input_.opened()), newline="", encoding="utf-8", errors="replace")  # type: ignore[type-var]


def csv_report(input_: Input, violations: list[Violation]) -> list[Violation]:
    """Violations of a CSV file with their lines: until then only rows are counted, and not those with too many or few cells."""
    mine = [v for v in violations if v.file == input_.name]
    wanted = {v.line for v in mine if v.line is not None}
    if not wanted and all(v.rule != "csv" for v in mine):
        return violations
    lines, broken = dict[int, int](), list[Violation]()
    # A file that cannot be read to its end has a violation that says so, and only what comes before has a line.
    with suppress(*UNREADABLE_TEXT), text_of(input_) as file:
        reader = csv.reader(file)
        header = next(reader, [])
        row, begins = 0, reader.line_num + 1
        for cells in reader:
            if len(cells) == len(header):
                row += 1
                if row in wanted:
                    lines[row] = begins
            elif cells:
                message = f"the header has {len(header)} columns, this row {len(cells)}"
                type_ = "" if input_.type is None else input_.type.name
                broken.append(Violation("csv", type_, message, file=input_.name, line=begins))
            begins = reader.line_num + 1
    others = [v for v in violations if v.file != input_.name]
    told = [v if v.line is None else replace(v, line=lines.get(v.line)) for v in mine if v.rule != "csv"]
    return [*others, *told, *broken]
