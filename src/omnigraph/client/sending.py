"""What is loaded, on its way to a server: an archive of files, made as it is sent.

    0000/Person.csv                          a file, as it is
    0001/Person/country=de/part-1.parquet    one of a folder whose names are columns
    0002/Knows.arrow                         a frame
    0003/records.jsonl                       records, and rows that no frame can hold

Numbers are the order in which they are read. What the server finds wrong is told by the names that the caller gave.
"""

from __future__ import annotations

import json
import os
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from types import TracebackType
from typing import IO, Any, Final, cast
from urllib.parse import quote

import pyarrow as pa

from omnigraph.catalog.catalog import Catalog, EntityType
from omnigraph.client.asking import as_json, only_here
from omnigraph.client.spelling import row
from omnigraph.engine.load.read.any_format.rejected import record_of
from omnigraph.engine.load.read.conversion.digits import Digits
from omnigraph.engine.load.read.inputs.naming import ENDINGS, PACKED, Format
from omnigraph.engine.load.read.inputs.sources import Input, Source, arrow_batches, inputs_of
from omnigraph.engine.load.read.json_lines.rows import record_lines
from omnigraph.engine.write.violations import Violation, refuse
from omnigraph.errors import KeyConflict, StorageError, UsageError, ValidationError
from omnigraph.model.frozen import frozen
from omnigraph.storage.files.inputs import is_remote, opened

TAR: Final = {"Content-Type": "application/x-tar"}
_PIECE: Final = 1 << 20
_BLOCK: Final = tarfile.BLOCKSIZE
_ENDING: Final = {form: ending for ending, form in reversed(ENDINGS.items())}
_PACKED: Final = {codec: ending for ending, codec in PACKED.items()}
_NO_VALUE: Final = "__HIVE_DEFAULT_PARTITION__"


@frozen
class Member:
    """A file of an archive: what it is called there, and what the caller calls it."""

    name: str
    given: str | None
    path: str | None
    """Where it is; None: `content` holds it."""
    content: IO[bytes] | None
    size: int


class Archive:
    """Files to be loaded, in order."""

    def __init__(self, members: list[Member], skipped: tuple[str, ...], held: ExitStack) -> None:
        self._members, self.skipped, self._held = members, skipped, held

    @classmethod
    def of(cls, source: Source, catalog: Catalog, types: Mapping[str, str] | None, *, skip_unknown: bool, lossy: bool) -> Archive:
        """Whatever an open graph loads, but what is on a cluster."""
        found = inputs_of(source, catalog, types, skip_unknown=skip_unknown)
        rows = _Rows(catalog, lossy)
        with ExitStack() as held:
            members = [_member(number, input_, held, rows) for number, input_ in enumerate(found.inputs)]
            refuse(rows.wrong)
            return cls(members, found.skipped, held.pop_all())
        raise AssertionError  # unreachable: the block returns

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._held.close()

    def chunks(self) -> Iterator[bytes]:
        """The archive, from its beginning."""
        for member in self._members:
            about = tarfile.TarInfo(member.name)
            about.size = member.size
            yield about.tobuf(tarfile.PAX_FORMAT)
            yield from _content(member)
            yield b"\0" * (-member.size % _BLOCK)
        yield b"\0" * (2 * _BLOCK)

    def refuse(self, error: ValidationError | KeyConflict) -> None:
        """Raise what is wrong by the names that the caller gave."""
        told = [self._told(cast(Violation, v)) for v in error.violations]
        refuse(told)

    def _told(self, violation: Violation) -> Violation:
        message = violation.message
        for member in self._members:
            if violation.file == member.name:
                violation = replace(violation, file=member.given)
            message = message.replace(member.name, member.given or "record")
        return replace(violation, message=message)


def _content(member: Member) -> Iterator[bytes]:
    left = member.size
    with ExitStack() as held:
        if member.content is None:
            assert member.path is not None
            file: IO[bytes] = held.enter_context(open(member.path, "rb"))
        else:
            file = member.content
            file.seek(0)
        while left:
            piece = file.read(min(_PIECE, left))
            if not piece:
                raise StorageError(f"{member.given} became shorter while it was sent", hint="Load it again.", retryable=True)
            left -= len(piece)
            yield piece


def _member(number: int, input_: Input, held: ExitStack, rows: _Rows) -> Member:
    match input_.format:
        case Format.DISTRIBUTED:
            only_here("a frame of Spark is loaded by Spark", "Open the graph itself, or send what it holds as files.")
        case Format.ROWS if input_.type is not None and not _some(input_.content):
            return _kept(f"{number:04}/{input_.type.name}.arrow", replace(input_, content=_no_rows(input_.type)), held, None)
        case Format.RECORDS | Format.ROWS:
            return _kept(f"{number:04}/records.jsonl", input_, held, rows.lines(input_))
        case Format.NDJSON if input_.type is not None:
            with input_.opened() as stream:
                return _kept(f"{number:04}/records.jsonl", input_, held, record_lines(input_, stream))
        case Format.ARROW:
            assert input_.type is not None
            return _kept(f"{number:04}/{input_.type.name}.arrow", input_, held, None)
    name = f"{number:04}/{_name(input_)}"
    if isinstance(input_.content, str) and not is_remote(input_.content):
        return Member(name, input_.name, input_.content, None, os.path.getsize(input_.content))
    content: IO[bytes] = held.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 - held closes it
    stream = opened(input_.content, input_.options) if isinstance(input_.content, str) else input_.content
    while piece := stream.read(_PIECE):
        content.write(piece.encode() if isinstance(piece, str) else piece)
    return Member(name, input_.name, None, content, content.tell())


def _name(input_: Input) -> str:
    ending = _ENDING[input_.format] + (_PACKED[input_.packed] if input_.packed else "")
    if input_.type is None:
        return f"records{ending}"
    if not input_.columns:
        return f"{input_.type.name}{ending}"
    folders = [
        f"{quote(name, safe='')}={_NO_VALUE if value is None else quote(value, safe='')}" for name, value in input_.columns
    ]
    return "/".join([input_.type.name, *folders, f"part-1{ending}"])


def _kept(name: str, input_: Input, held: ExitStack, lines: Iterator[bytes] | None) -> Member:
    """What is in memory, as a temporary file."""
    content: IO[bytes] = held.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 - held closes it
    if lines is not None:
        content.writelines(lines)
    else:
        _write_frame(content, input_.content)
    return Member(name, input_.name, None, content, content.tell())


def _some(rows: Any) -> bool:
    return not hasattr(rows, "__len__") or len(rows) > 0


def _no_rows(type_: EntityType) -> pa.Table:
    """A type of which there are no rows: it is touched nevertheless."""
    names = [*type_.properties, *(("from", "to") if type_.is_edge else ())]
    return pa.table({name: pa.nulls(0) for name in names})


def _write_frame(file: IO[bytes], frame: Any) -> None:
    schema = frame.schema
    with pa.ipc.new_file(pa.PythonFile(file, "w"), schema) as writer:
        for batch in arrow_batches(frame):
            writer.write_batch(batch)


class _Rows:
    """Records and rows as lines, and what is wrong with them as far as they cannot be sent."""

    def __init__(self, catalog: Catalog, lossy: bool) -> None:
        self._types = {type_.name: type_ for type_ in (*catalog.nodes.values(), *catalog.edges.values())}
        self._lossy = lossy
        self.wrong: list[Violation] = []

    def lines(self, input_: Input) -> Iterator[bytes]:
        """A line of JSON for each."""
        for at, given in enumerate(input_.content, 1):
            record = given.to_record() if hasattr(given, "to_record") else given
            if not isinstance(record, Mapping):
                hint = "Give records, or rows of one type."
                raise UsageError(f"record {at} is {type(record).__name__}, not a mapping", hint=hint)
            made = self._record(record, at) if input_.type is None else record_of(input_.type, self._row(input_.type, record, at))
            yield json.dumps(made, ensure_ascii=False, default=_spelt).encode("utf-8", "surrogatepass") + b"\n"

    def _record(self, record: Mapping[str, Any], at: int) -> Mapping[str, Any]:
        data = record.get("data")
        name = record.get("type", record.get("edge"))
        type_ = self._types.get(name) if isinstance(name, str) else None
        return {**record, "data": self._row(type_, data, at)} if type_ is not None and isinstance(data, Mapping) else record

    def _row(self, type_: EntityType, values: Mapping[str, object], at: int) -> dict[str, object]:
        found, wrong = row(type_, values, at, lossy=self._lossy)
        self.wrong += wrong
        return found


def _spelt(value: object) -> object:
    return json.loads(value.to_json()) if isinstance(value, Digits) else as_json(value)
