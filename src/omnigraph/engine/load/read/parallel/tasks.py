"""An input as a list of tasks: each is a function and its arguments, all of them values, that gives `Parsed`.

Whoever runs them may do so anywhere and in any order, as long as what they give is put together in the order of the list.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any, Final, TypeVar

import pyarrow as pa

from omnigraph.catalog.catalog import EntityType
from omnigraph.engine.load.read.any_format.batches import batches_of
from omnigraph.engine.load.read.any_format.rejected import lines_at, plain, record_of, rows_at
from omnigraph.engine.load.read.columnar.frames import add_row, typed_rows
from omnigraph.engine.load.read.columnar.headers import misfits
from omnigraph.engine.load.read.columnar.layouts import usual
from omnigraph.engine.load.read.conversion.exact import Reader, check_rows
from omnigraph.engine.load.read.delimited.quoting import QUOTING, Misquoted
from omnigraph.engine.load.read.delimited.reader import CELL_COUNT
from omnigraph.engine.load.read.inputs.content import ENCODING, ByteSource, NotUtf8, Text
from omnigraph.engine.load.read.inputs.naming import Format
from omnigraph.engine.load.read.inputs.sources import CELLS, Input, arrow_batches
from omnigraph.engine.load.read.json_lines import compatible
from omnigraph.engine.load.read.json_lines.lines import LineBlock
from omnigraph.engine.load.read.json_lines.parse import parse_block
from omnigraph.engine.load.read.json_lines.rows import lenient_record, record_blocks
from omnigraph.engine.load.read.rows.types import Parsed, Types, label
from omnigraph.engine.write.violations import Violation
from omnigraph.errors import UsageError
from omnigraph.hints import Hint, Option
from omnigraph.model.conversions import Door
from omnigraph.model.given import named
from omnigraph.model.phrases import counted

Task = Callable[[], Parsed]

T = TypeVar("T")

RECORDS = 4_096
"""Records that are taken together."""


def tasks_of(input_: Input, types: Types, *, lenient: bool = False) -> Iterator[Task]:
    """What is to be done to read an input."""
    try:
        yield from _tasks(input_, types, lenient)
    except UNREADABLE as error:
        yield partial(Parsed, violations=unreadable(input_, error))


UNREADABLE: Final = (pa.ArrowException, OSError, EOFError, zlib.error)
"""What goes wrong when a file is read."""


UNREADABLE_FILE: Final = "file"
"""The rule that a file can be read to its end."""


def unreadable(input_: Input, error: Exception) -> tuple[Violation, ...]:
    """What to say of a file that cannot be read, or no further."""
    name = "" if input_.type is None else input_.type.name
    if isinstance(error, Misquoted):
        return tuple(Violation(QUOTING, name, str(place), file=input_.name, line=line) for line, place in error.places)
    if isinstance(error, NotUtf8):
        return tuple(Violation(ENCODING, name, reported, file=input_.name, line=line) for line, reported in error.places)
    text = f"cannot be read: {str(error).splitlines()[0] if str(error) else type(error).__name__}"
    return (Violation(UNREADABLE_FILE, name, text if input_.name else f"rows of {name} {text}", file=input_.name),)


def _tasks(input_: Input, types: Types, lenient: bool) -> Iterator[Task]:
    match input_.format:
        case Format.NDJSON:
            with _opened(input_) as stream:
                if lenient:
                    yield from _lenient(Text(stream), types, input_)
                else:
                    for block in record_blocks(input_, stream):
                        yield partial(_read_lines if types.keeps and not input_.is_file else parse_block, block, types)
        case Format.RECORDS:
            for first, records in _groups(input_.content):
                yield partial(read_records, list(enumerate(records, first)), types, None, lenient)
        case Format.ROWS:
            assert input_.type is not None
            for first, rows in _groups(input_.content):
                yield partial(read_rows, rows, input_.type, types, first, input_.door, lenient)
        case Format.ARROW:
            yield from column_tasks(input_, types, arrow_batches(input_.content))
        case Format.CSV | Format.TSV | Format.PARQUET | Format.IPC:
            bad: list[object] = []
            yield from column_tasks(input_, types, batches_of(input_, bad.append), text=input_.format in CELLS)
            if bad:
                assert input_.type is not None
                reported = Violation(
                    CELL_COUNT, input_.type.name, f"{counted(len(bad), 'row')} with another number of cells", file=input_.name
                )
                yield partial(Parsed, violations=(reported,))
        case Format.DISTRIBUTED:
            raise UsageError(
                "the rows of a Spark data frame are on a cluster",
                hint=Hint("Use ", Option("engine", "spark"), ", or give an Arrow table."),
            )


def column_tasks(
    input_: Input, types: Types, batches: Iterable[pa.RecordBatch], *, text: bool = False, first: int = 1
) -> Iterator[Task]:
    """What is to be done to read columns; `first` is the number of the first row."""
    assert input_.type is not None
    for batch in batches:
        yield partial(_read_columns, input_.type, batch, types, input_.name, first, text)
        first += batch.num_rows


def _read_columns(type_: EntityType, batch: pa.RecordBatch, types: Types, file: str | None, first: int, text: bool) -> Parsed:
    batch = batch if text else usual(batch)
    wrong = () if text else tuple(misfits(type_, batch, types.catalog, file))
    if wrong:  # no row can be right
        return Parsed(violations=wrong, broken=frozenset({label(type_)}), lines=batch.num_rows)
    parsed = typed_rows(type_, batch, types, file, first, text=text)
    if not types.keeps or text or not parsed.violations:
        return parsed
    return replace(parsed, records=rows_at(type_, batch, first, _wrong_lines(parsed)))


def _read_lines(block: LineBlock, types: Types) -> Parsed:
    parsed = parse_block(block, types)
    return replace(parsed, records=lines_at(block, _wrong_lines(parsed)))


def _wrong_lines(parsed: Parsed) -> set[int]:
    return {v.line for v in parsed.violations if v.line is not None}


def read_records(records: list[tuple[int, object]], types: Types, file: str | None, lenient: bool) -> Parsed:
    """Records as lines have them, each with its number. Values may be Python's own."""
    reader = Reader(types, file, lenient)
    for number, record in records:
        reader.record(number, record.to_record() if hasattr(record, "to_record") else record)
    return _checked(reader, dict(records), plain)


def read_rows(
    rows: list[object], type_: EntityType, types: Types, first: int, door: Door = Door.RECORDS, lenient: bool = False
) -> Parsed:
    """Mappings of properties, all of one type. What comes from columns is read as ever: the compatible dialect is of JSON."""
    reader = Reader(types, None, lenient and door is Door.RECORDS, door)
    for number, row in enumerate(rows, first):
        if isinstance(row, Mapping):
            add_row(reader, number, type_, dict(row))
        else:
            message = f"a row of {type_.name} is a mapping, not {named(row)}"
            reader.violations.append(Violation("record", type_.name, message, line=number))
    given = dict(enumerate(rows, first))
    return _checked(reader, given, lambda row: record_of(type_, row) if isinstance(row, Mapping) else plain(row))


def _checked(reader: Reader, given: Mapping[int, object], shown: Callable[[Any], object]) -> Parsed:
    parsed = reader.parsed()
    wrong = (*parsed.violations, *(v for rows in parsed.rows for v in check_rows(rows, reader.types)))
    lines = {v.line for v in wrong if v.line is not None} if reader.types.keeps else set()
    records = {line: shown(given[line]) for line in lines}
    return replace(parsed, violations=wrong, lines=len(given), records=records)


def _lenient(stream: ByteSource, types: Types, input_: Input) -> Iterator[Task]:
    file, found = input_.name, compatible.records(stream)
    pending: list[tuple[int, object]] = []
    try:
        for number, value in found:
            pending.append((number, lenient_record(value, input_)))
            if len(pending) == RECORDS:
                yield partial(read_records, pending, types, file, True)
                pending = []
    except compatible.BrokenStream as error:
        yield partial(read_records, pending, types, file, True)
        yield partial(Parsed, violations=(Violation("json", "", str(error), file=file, line=error.record),))
    else:
        if pending:
            yield partial(read_records, pending, types, file, True)


def _groups(items: Iterable[T]) -> Iterator[tuple[int, list[T]]]:
    iterator, first = iter(items), 1
    while group := list(islice(iterator, RECORDS)):
        yield first, group
        first += len(group)


class _opened:  # noqa: N801 - reads as a function
    """A path or a stream as bytes. Streams of others stay open."""

    def __init__(self, input_: Input) -> None:
        self._own = input_.is_file
        self._stream: Any = input_.opened() if self._own else input_.content

    def __enter__(self) -> _opened:
        return self

    def __exit__(self, *_: object) -> None:
        if self._own:
            self._stream.close()

    def read(self, size: int, /) -> bytes:
        found = self._stream.read(size)
        if isinstance(found, str):
            return found.encode()
        if found is None or not isinstance(found, bytes | bytearray):
            raise UsageError(f"reading from {type(self._stream).__name__} gave {type(found).__name__}, not bytes")
        return bytes(found)
