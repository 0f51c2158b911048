"""Reading CSV and TSV into batches of text, and the line of each row."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from threading import Lock
from typing import IO, TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.csv as pcsv

from omnigraph.engine.load.read.conversion.partition_columns import no_rows, with_columns
from omnigraph.engine.load.read.delimited.quoting import QUOTING, Misquoted, Quotes, Watched
from omnigraph.engine.load.read.inputs.content import ENCODING, NotUtf8, Text, Unfit
from omnigraph.engine.load.read.inputs.sources import Input
from omnigraph.engine.write.violations import Violation, repeating
from omnigraph.model.frozen import frozen
from omnigraph.model.limits import MAX_LINE_BYTES, MAX_VIOLATIONS
from omnigraph.model.phrases import counted

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

CELL_COUNT: Final = "csv"
"""The rule that a row has as many cells as the header."""

_BLOCK: Final = 4 << 20
_TEXT_BLOCK: Final = 1 << 16


def csv_batches(input_: Input, on_bad_row: Callable[[object], None]) -> Iterator[pa.RecordBatch]:
    """The rows of a CSV file, all cells as text. Rows with too few or too many cells are reported and left out."""

    def bad(row: object) -> str:
        on_bad_row(row)
        return "skip"

    header = _header(input_)
    names = header.names
    parse = pcsv.ParseOptions(
        delimiter=input_.separator,
        newlines_in_values=True,
        invalid_row_handler=bad,
        ignore_empty_lines=not header.every_line_is_a_row,
    )
    block = _block_of(input_)
    if header.every_line_is_a_row:
        read = pcsv.ReadOptions(
            use_threads=False, block_size=block, column_names=names, skip_rows_after_names=header.empty_before + 1
        )
    else:
        read = pcsv.ReadOptions(use_threads=False, block_size=block)
    given = False
    if header.has_rows:
        with (
            input_.streamed() as source,
            _well_quoted(input_, source) as watched,
            pcsv.open_csv(watched, read_options=read, parse_options=parse, convert_options=as_text(names)) as reader,
        ):
            for batch in reader:
                given = True
                yield with_columns(input_, batch)
    if not given:
        yield with_columns(input_, no_rows(_schema(header)))


def as_text(names: Iterable[str]) -> pcsv.ConvertOptions:
    """Every cell as it is written. An empty one is null, `""` an empty string."""
    return pcsv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.string()),
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
        null_values=[""],
    )


def csv_schema(input_: Input) -> pa.Schema:
    """The columns of a CSV file, all of them text."""
    return _schema(_header(input_))


def _block_of(input_: Input) -> int:
    """Bytes that are read at a time. A row must end in the block after the one it begins in, and one with a Blob may be long."""
    blobs = input_.type is not None and any(prop.type.is_blob for prop in input_.type.properties.values())
    return _BLOCK if not blobs else min(max(_BLOCK, input_.size or MAX_LINE_BYTES), MAX_LINE_BYTES)


@contextmanager
def _well_quoted(input_: Input, source: IO[bytes]) -> Iterator[Watched]:
    """A stream for Arrow's reader. When it was read, or failed to be, misplaced quotes are reported rather than anything else."""
    quotes = Quotes(input_.separator)
    watched = Watched(source, quotes)
    try:
        yield watched
    except pa.ArrowException:
        watched.drain()
        _require_quoting(input_, quotes)
        _require_utf8(input_)
        raise
    _require_quoting(input_, quotes)


def _require_quoting(input_: Input, quotes: Quotes) -> None:
    if quotes.misplaced:
        with input_.opened() as text:
            raise Misquoted.of(quotes.misplaced, text)


def _require_utf8(input_: Input) -> None:
    """Tell of lines that are no UTF-8: Arrow knows columns and rows of a block."""
    found = list[tuple[int, str]]()
    with io.BufferedReader(_Raw(input_.opened()), _TEXT_BLOCK) as lines:
        for number, line in enumerate(lines, 1):
            try:
                line.decode()
            except UnicodeDecodeError as error:
                found.append((number, f"not UTF-8: {error.reason} at byte {error.start + 1}"))
                if len(found) == MAX_VIOLATIONS:
                    break
    if found:
        raise NotUtf8(found)


@frozen
class _Header:
    """What is known of a CSV file before its rows are read."""

    names: list[str]
    empty_before: int
    """Empty lines that come before the names."""
    every_line_is_a_row: bool
    has_rows: bool


def _header(input_: Input) -> _Header:
    with text_of(input_) as file:
        empty, names = 0, list[str]()
        try:
            for names in csv.reader(file, delimiter=input_.separator):
                if names:
                    break
                empty += 1
        except csv.Error as error:
            raise Unfit(f"its header cannot be read: {error}") from error
        if not names:
            raise Unfit("it is empty: there is not even a header")
        if any("\N{REPLACEMENT CHARACTER}" in name for name in names):
            _require_utf8(input_)
        every = every_line_is_a_row(input_, names)
        return _Header(names, empty, every, any(every or line.strip("\r\n") for line in file))


def _schema(header: _Header) -> pa.Schema:
    return pa.schema([(name, pa.string()) for name in header.names])


def every_line_is_a_row(input_: Input, names: list[str]) -> bool:
    """Whether an empty line is a row without a value: where there is one column that may lack values. Elsewhere it is nothing."""
    prop = None if input_.type is None or len(names) != 1 else input_.type.properties.get(names[0])
    return prop is not None and prop.type.nullable


UNREADABLE_TEXT: Final = (OSError, EOFError, csv.Error, pa.ArrowException)
"""What goes wrong when a CSV file is read as text."""


def text_of(input_: Input) -> io.TextIOWrapper:
    """A CSV file as text, as Python's own reader wants it."""
    return io.TextIOWrapper(io.BufferedReader(_Raw(input_.opened()), _TEXT_BLOCK), newline="", encoding="utf-8", errors="replace")


class _Raw(io.RawIOBase):
    """Bytes of a text as a stream of Python's own."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream, self._text, self._left = stream, Text(stream), b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        target = memoryview(buffer).cast("B")
        data = self._left or self._text.read(len(target))
        target[: len(data)], self._left = data[: len(target)], data[len(target) :]
        return min(len(data), len(target))

    def close(self) -> None:
        self._stream.close()
        super().close()


@contextmanager
def records_of(input_: Input) -> Iterator[tuple[Iterator[tuple[int, list[str]]], list[str]]]:
    """Records of a CSV file, each with the line it begins at, and the text of the last one, a line each. One without cells is an
    empty line that is no row."""
    with _LIMIT:
        before = csv.field_size_limit(MAX_LINE_BYTES)  # of the whole process
        try:
            with text_of(input_) as file:
                read = list[str]()
                yield _numbered(input_, csv.reader(_noted(file, read), delimiter=input_.separator), read), read
        finally:
            csv.field_size_limit(before)


_LIMIT: Final = Lock()


def _numbered(input_: Input, reader: Any, read: list[str]) -> Iterator[tuple[int, list[str]]]:
    begins, header, empty = 1, list[str](), list[str]()
    for cells in reader:
        yield begins, cells or empty
        if cells and not header:
            header, empty = cells, [""] if every_line_is_a_row(input_, cells) else []
        read.clear()
        begins = reader.line_num + 1


def _noted(lines: Iterable[str], notes: list[str]) -> Iterator[str]:
    for line in lines:
        notes.append(line)
        yield line


def is_of_file(violation: Violation) -> bool:
    """Whether a column or a file is wrong, and not a row."""
    return violation.rule in (QUOTING, ENCODING) or (violation.line is None and violation.rule != CELL_COUNT)


def csv_report(input_: Input, violations: list[Violation]) -> list[Violation]:
    """Violations of a CSV file with their lines: until then only rows are counted, and not those with too many or few cells."""
    mine = [v for v in violations if v.file == input_.name]
    wanted = {v.line for v in mine if v.line is not None and not is_of_file(v)}
    wanted |= {v.first[1] for v in violations if v.first is not None and v.first[0] == input_.name and v.first[1] is not None}
    if not wanted and all(v.rule != CELL_COUNT for v in mine):
        return violations
    lines, broken = dict[int, int](), list[Violation]()
    # A file that cannot be read to its end has a violation that says so, and only what comes before has a line.
    with suppress(*UNREADABLE_TEXT), records_of(input_) as (records, _):
        full = ((begins, cells) for begins, cells in records if cells)
        header, row = next(full, (0, []))[1], 0
        for begins, cells in full:
            if len(cells) == len(header):
                row += 1
                if row in wanted:
                    lines[row] = begins
            else:
                message = f"the header has {counted(len(header), 'column')}, this row {len(cells)}"
                type_ = "" if input_.type is None else input_.type.name
                broken.append(Violation(CELL_COUNT, type_, message, file=input_.name, line=begins))
    others = [v for v in violations if v.file != input_.name]
    reported = [v if is_of_file(v) else replace(v, line=lines.get(v.line or 0)) for v in mine if v.rule != CELL_COUNT]
    return [*(_placed(v, input_.name, lines) for v in (*others, *reported)), *broken]


def _placed(violation: Violation, file: str | None, lines: dict[int, int]) -> Violation:
    """A violation that names the line, in this file, of the row that it repeats."""
    if violation.first is None or violation.first[0] != file:
        return violation
    return repeating(violation, file, lines.get(violation.first[1] or 0))
