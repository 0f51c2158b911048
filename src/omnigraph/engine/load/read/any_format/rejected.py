"""Rejected rows as records in the format of JSON lines, whatever they were read from, so that they can be fixed and loaded again.

    a row of a frame, of Parquet, of CSV     {"type": "Person", "data": {"name": "Ada", "age": 200}}
    a row of an edge type                    {"edge": "Knows", "from": "Ada", "to": "Bob", "data": {}}
    a line or record                         itself; a line that is no JSON, as text

Cells of CSV that fit their property become its values; others stay text. Numbers keep their digits (`digits`), whatever a float
would make of them; moments are spelt as everywhere (`2024-05-01T10:00:00.000Z`); and what JSON cannot hold (bytes, numbers that
are none, lists within themselves) is described in text.

What cannot be read a second time (frames, streams) is kept when it is found to be wrong; rows that only turn out to be wrong
among others are read back from the files they were written to.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import date, datetime
from decimal import Decimal
from io import BytesIO
from typing import Any, Final

import pyarrow as pa
import pyarrow.csv as pcsv

from omnigraph.catalog.catalog import EntityType
from omnigraph.engine.arrays.plain_values import plain_array
from omnigraph.engine.load.read.conversion.columns import python_rows
from omnigraph.engine.load.read.conversion.digits import Digits
from omnigraph.engine.load.read.conversion.exact import NotARecord, decode
from omnigraph.engine.load.read.conversion.kinds import is_list
from omnigraph.engine.load.read.conversion.partition_columns import with_columns
from omnigraph.engine.load.read.delimited.reader import UNREADABLE_TEXT, as_text, records_of
from omnigraph.engine.load.read.inputs.naming import Format
from omnigraph.engine.load.read.inputs.sources import CELLS, Input
from omnigraph.engine.load.read.json_lines.lines import LineBlock
from omnigraph.engine.load.read.json_lines.rows import record_blocks
from omnigraph.engine.load.read.rows.removals import COLUMN, names_column
from omnigraph.engine.load.read.rows.types import ENDS
from omnigraph.model.conversions import Door, Misfit, convert
from omnigraph.model.given import Day, Instant, named, tangled
from omnigraph.model.given import plain as without_library
from omnigraph.model.times import date_text, days_of, ns_of, shortened
from omnigraph.model.types import PropertyType

Record = object
"""What JSON can hold: a record, or the text of a line that is none."""


def can_be_read_again(input_: Input) -> bool:
    """Whether the text of a record is there for whoever wants it."""
    return input_.is_file and (input_.format is Format.NDJSON or input_.format in CELLS)


def records_at(input_: Input, wanted: set[int]) -> dict[int, Record]:
    """Some records of a file of text, by the lines they begin at."""
    if not wanted:
        return {}
    return dict(_of_lines(input_, wanted) if input_.format is Format.NDJSON else _of_cells(input_, wanted))


def rows_at(type_: EntityType, batch: pa.RecordBatch, first: int, wanted: Iterable[int]) -> dict[int, Record]:
    """Some rows of columns, by their numbers."""
    mine = sorted({n for n in wanted if first <= n < first + batch.num_rows})
    return {n: record_of(type_, _row(batch.slice(n - first, 1))) for n in mine}


def _row(batch: pa.RecordBatch) -> dict[str, object]:
    """The values of one row, F32 as they are written."""
    row = python_rows(batch)[0]
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        kind = column.type.value_type if is_list(column.type) else column.type
        if pa.types.is_float32(kind):
            row[name] = plain_array(column)[0]
    return row


def lines_at(block: LineBlock, wanted: Iterable[int]) -> dict[int, Record]:
    """Some lines of a block, by their numbers."""
    mine = {n for n in wanted if block.first_line <= n < block.first_line + block.line_count}
    lines = block.data.split(b"\n") if mine else []
    return {n: _of_text(lines[n - block.first_line].decode(errors="replace").rstrip("\r")) for n in mine}


def record_of(type_: EntityType, row: Mapping[Any, object]) -> Record:
    """A row as a record."""
    data = {str(name): plain(value, 0) for name, value in row.items()}
    done = data.pop(COLUMN) if names_column(type_, data) else None  # null is what it is without a word
    op = {} if done is None else {"op": done}
    if not type_.is_edge:
        return {**op, "type": type_.name, "data": data}
    ends = {
        spellings[0]: data.pop(spelt)
        for spellings in ENDS.values()
        for spelt in [next((s for s in spellings if s in data), None)]
        if spelt is not None
    }
    return {**op, "edge": type_.name, **ends, "data": data}


def plain(value: object, levels: int = 2) -> Any:
    """A value as JSON has it. Of a record that cannot be written as a whole, members and properties are, each by itself."""
    why = tangled(value)
    if why is not None and levels and isinstance(value, Mapping):
        return {str(name): plain(item, levels - 1) for name, item in value.items()}
    return _plain(value) if why is None else f"{named(value)} that {why}"


def _plain(value: object) -> Any:
    if value is None or isinstance(value, bool | str | Digits):
        return value
    if isinstance(value, int):
        return value if value.bit_length() <= _BITS else hex(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return f"base64:{base64.b64encode(value).decode()}"
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item) for item in value]
    if isinstance(value, Decimal):
        return Digits.of(str(value))
    if isinstance(value, Instant | Day):
        return str(value)
    return _foreign(value)


def _foreign(value: object) -> Any:
    """What JSON does not know: of Python's calendar, or of somebody's library."""
    try:
        found = without_library(value)
        if found is not value:
            return plain(found, 0)
        if isinstance(value, datetime):
            return str(Instant(ns_of(value)))
        return date_text(days_of(value)) if isinstance(value, date) else str(value)
    except Exception:  # numbers, dates and arrays of others raise what they like
        return shortened(value)


_BITS: Final = 13_000
"""Of integers that Python writes in digits; longer ones are written sixteen at a time, which does not take longer and longer."""


def _of_text(text: str) -> Record:
    try:
        found = decode(text, numbers_as_written=True)
    except NotARecord:
        return text
    return found if isinstance(found, dict) and tangled(found) is None else text


def _of_lines(input_: Input, wanted: set[int]) -> Iterator[tuple[int, Record]]:
    with input_.opened() as stream:
        for block in record_blocks(input_, stream):
            yield from lines_at(block, wanted).items()


def _of_cells(input_: Input, wanted: set[int]) -> Iterator[tuple[int, Record]]:
    """Records of CSV may go over several lines; those with too few or too many cells stay as they are."""
    header, texts = "", dict[int, str]()
    with suppress(*UNREADABLE_TEXT), records_of(input_) as (records, read):
        columns = 0
        for begins, cells in records:
            if cells and not columns:
                header, columns = "".join(read), len(cells)
            elif begins in wanted:
                text = "".join(read).strip("\r\n")
                if len(cells) == columns:
                    texts[begins] = text
                else:
                    yield begins, text
    if texts:
        yield from zip(texts, _typed_cells(input_, [header.strip("\r\n"), *texts.values()]), strict=True)


def _typed_cells(input_: Input, texts: list[str]) -> Iterator[Record]:
    assert input_.type is not None
    names = pcsv.read_csv(BytesIO(f"{texts[0]}\n".encode()), parse_options=_parsing(input_)).column_names
    data = BytesIO("".join(f"{text}\n" for text in texts).encode())
    table = pcsv.read_csv(data, parse_options=_parsing(input_), convert_options=as_text(names))
    for batch in table.to_batches():
        for row in range(batch.num_rows):
            yield _cells_of(input_, with_columns(input_, batch.slice(row, 1)))


def _parsing(input_: Input) -> pcsv.ParseOptions:
    return pcsv.ParseOptions(delimiter=input_.separator, newlines_in_values=True, ignore_empty_lines=False)


def _cells_of(input_: Input, row: pa.RecordBatch) -> Record:
    assert input_.type is not None
    found: dict[str, object] = {}
    for name, cell in zip(row.schema.names, row.columns, strict=True):
        prop, text = input_.type.properties.get(name), cell[0].as_py()
        found[name] = text
        if prop is not None and isinstance(text, str):
            with suppress(Misfit, NotARecord):
                found[name] = _fitting(prop.type, text)
    return record_of(input_.type, found)


def _fitting(type_: PropertyType, text: str) -> object:
    """What a record has for a cell that fits. Raises `Misfit` for one that does not."""
    value = convert(type_, text, Door.CELLS)
    if type_.is_list or type_.is_vector:
        return decode(text, numbers_as_written=True)
    if type_.scalar.is_float:
        return Digits.of(text)
    return value if isinstance(value, bool) or type_.scalar.is_integer else text


def to_line(record: object) -> bytes:
    """A record as a line of JSON."""
    return _json(record).encode(errors="backslashreplace") + b"\n"


def _json(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join([f"{_json(name)}: {_json(item)}" for name, item in value.items()]) + "}"
    if isinstance(value, list):
        return "[" + ", ".join([_json(item) for item in value]) + "]"
    return value.to_json() if isinstance(value, Digits) else json.dumps(value, ensure_ascii=False, allow_nan=False, default=plain)
