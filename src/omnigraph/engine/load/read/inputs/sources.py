"""What was given to load: files by path, folder or pattern, on a disk or in an object store, frames by type, or records.

Each becomes an `Input` that says what it holds and how it is read (`naming` has the rules for files). The list is made once,
before anything is read, and is the same for every runner. Of a folder or pattern every file is loaded, or it is named and the
load refused; whoever asks for `skip_unknown` gets the names with the result.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import IO, Any, cast

import pyarrow as pa

from omnigraph.catalog.catalog import Catalog, EntityType
from omnigraph.engine.load.read.inputs.content import first_members, mismatch, peeked, require_packed
from omnigraph.engine.load.read.inputs.naming import (
    ENDINGS,
    PACKED,
    Columns,
    Form,
    Format,
    Naming,
    Whose,
    columns_within,
    form_of,
    type_named,
)
from omnigraph.errors import GraphError, NotFound, UsageError
from omnigraph.hints import Hint, Option
from omnigraph.model.conversions import Door
from omnigraph.model.frozen import frozen
from omnigraph.model.given import tangled
from omnigraph.model.phrases import counted
from omnigraph.storage.files.inputs import InputFile, files_at, is_remote, opened

_SMALL_BYTES = 64 << 20
_SMALL_ROWS = 100_000
BATCH_ROWS = 65_536
_SHOWN = 20
_UNTYPED = "has rows of which type?"

Source = Any
"""A path, several, a mapping of types to frames, or an iterable of records."""


FILES = frozenset({Format.NDJSON, Format.CSV, Format.TSV, Format.PARQUET, Format.IPC})
"""What is read from a path, by whoever can reach it."""

CELLS = frozenset({Format.CSV, Format.TSV})
"""What has cells of text."""


@frozen(slots=False)
class Input:
    """One thing to read."""

    format: Format
    content: Any
    """A path, or what holds the rows."""
    name: str | None = None
    """What to call it in a report."""
    type: EntityType | None = None
    size: int | None = None
    """In bytes, if that is known."""
    options: Mapping[str, str] = field(default_factory=dict)
    """How to reach the object store it is in."""
    packed: str | None = None
    """The codec that a file is packed by."""
    columns: Columns = ()
    """Columns that stand in no file, with their one value: folders are called after them."""
    door: Door = Door.RECORDS
    """What values of rows mean: those of a frame that Arrow cannot hold are still values of columns."""

    @property
    def is_file(self) -> bool:
        """Whether it is read from a path."""
        return self.format in FILES and isinstance(self.content, str)

    @property
    def separator(self) -> str:
        """What stands between cells."""
        return "\t" if self.format is Format.TSV else ","

    def opened(self) -> IO[bytes]:
        """The bytes of a file, unpacked."""
        return opened(self.content, self.options) if self.packed is None else self.streamed()

    def streamed(self) -> IO[bytes]:
        """The same, as those of Arrow's readers take it that read on and on."""
        if self.packed is None and not is_remote(self.content):
            return cast(IO[bytes], pa.input_stream(self.content, compression=None))
        raw = opened(self.content, self.options)
        if self.packed is not None:
            require_packed(peeked(raw), self.packed)
            raw.seek(0)
        if self.packed is None or is_remote(self.content):
            return cast(IO[bytes], pa.input_stream(raw, compression=self.packed))
        raw.close()
        return cast(IO[bytes], pa.input_stream(self.content, compression=self.packed))

    @property
    def for_arrow(self) -> str | IO[bytes]:
        """A file as those of Arrow's readers take it that jump to and fro in it."""
        if self.packed is None:
            return opened(self.content, self.options) if is_remote(self.content) else self.content
        whole = tempfile.TemporaryFile()  # noqa: SIM115 - whoever reads it closes it
        with self.opened() as stream:
            shutil.copyfileobj(stream, whole, 4 << 20)
        whole.seek(0)
        return whole

    @property
    def is_small(self) -> bool:
        """Whether it is surely read within minutes."""
        if self.size is not None:
            return self.size < _SMALL_BYTES
        return not self.is_file and hasattr(self.content, "__len__") and len(self.content) < _SMALL_ROWS


@frozen(slots=False)
class Found:
    """Everything there is to read, in order, and what was skipped on request."""

    inputs: list[Input]
    skipped: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    """Folders of which every file is loaded."""


def inputs_of(
    source: Source,
    catalog: Catalog,
    types: Mapping[str, str] | None = None,
    options: Mapping[str, str] | None = None,
    *,
    skip_unknown: bool = False,
) -> Found:
    """Everything there is to read, in order. `options` are for what is in an object store."""
    files = _Files(catalog, dict(types or {}), dict(options or {}), skip_unknown)
    if isinstance(source, str | os.PathLike):
        files.add(os.fspath(source))
    elif isinstance(source, Mapping):
        for name, content in source.items():
            files.add_type(type_named(str(name), catalog), content)
    elif hasattr(source, "read") and not is_distributed(source):
        files.inputs.append(Input(Format.NDJSON, source, getattr(source, "name", None) or "<stream>"))
    elif is_frame(source) or is_distributed(source):
        raise UsageError("a frame has rows of one type", hint='Name it: {"Person": frame}.')
    elif isinstance(source, Sequence) and source and all(isinstance(item, str | os.PathLike) for item in source):
        for item in source:
            files.add(os.fspath(item))
    elif isinstance(source, Iterable) and not isinstance(source, bytes):
        files.inputs.append(Input(Format.RECORDS, source))
    else:
        raise UsageError(
            f"cannot load from {type(source).__name__}",
            hint="Give a path, a pattern, a mapping of type names to frames, or an iterable of records.",
        )
    return files.found()


class _Files:
    """Puts inputs together, and what is wrong with files."""

    def __init__(self, catalog: Catalog, types: Mapping[str, str], options: Mapping[str, str], skip_unknown: bool) -> None:
        self._catalog, self._options, self._skip_unknown = catalog, options, skip_unknown
        self._naming = Naming(catalog, types)
        self._paths: set[str] = set()
        self._skipped: dict[str, str] = {}
        self._folders: list[str] = []
        self.inputs: list[Input] = []

    def found(self) -> Found:
        if self._skipped and not self._skip_unknown:
            reported = [f"  {path} {why}" for path, why in list(self._skipped.items())[:_SHOWN]]
            more = len(self._skipped) - len(reported)
            head = f"{counted(len(self._skipped), 'file')} cannot be loaded"
            untyped = next((_whose(path) for path, why in self._skipped.items() if why.startswith(_UNTYPED)), None)
            typed = () if untyped is None else (" ", untyped)
            raise UsageError(
                "\n".join([head, *reported, *([f"  … and {more} more"] if more else [])]),
                hint=Hint("Move them elsewhere, or skip them: ", Option("skip_unknown", True), ".", *typed),
            )
        self._naming.require_used()
        return Found(self.inputs, tuple(self._skipped), tuple(self._folders))

    def add(self, path: str, type_: EntityType | None = None) -> None:
        """What a path means. `type_`: the type of all its rows, if somebody said so."""
        files = files_at(path, self._options)
        alone = [f.path for f in files] == [path.removeprefix("file://")]
        count = 0
        for file in files:
            where = _from_anywhere(file.path)
            if where in self._paths:
                count += 1
                continue
            made = self._input(file, where, type_, alone)
            if isinstance(made, Input):
                self.inputs.append(made)
                self._paths.add(where)
                count += 1
            elif alone:
                hint = _whose(file.path) if made.startswith(_UNTYPED) else f"Files end in {_ENDINGS}."
                raise UsageError(f"{path} {made}", hint=hint)
            else:
                self._skipped[file.path] = made
        if not alone:
            self._folders.append(_from_anywhere(path))
        if not count and (self._skip_unknown or not self._skipped):
            raise NotFound(f"nothing to load at {path}", hint=f"Files end in {_ENDINGS}.")

    def _input(self, file: InputFile, where: str, type_: EntityType | None, alone: bool) -> Input | str:
        """A file to read, or why it cannot be."""
        if file.problem is not None:
            return file.problem
        form = form_of(file) or self._by_content(file)
        if isinstance(form, str):
            return form
        size = None if form.packed else file.size
        if type_ is None:
            whose = self._naming.whose(file)
        else:
            whose = Whose(type_, () if alone else columns_within(file.within), said=True)
        if form.format is Format.NDJSON:
            return _rows_or_records(Input(form.format, where, file.path, None, size, self._options, form.packed), whose)
        if whose.type is None:
            name = os.path.basename(file.path)
            return f"{_UNTYPED} There is no type `{name.partition('.')[0]}`"
        return Input(form.format, where, file.path, whose.type, size, self._options, form.packed, whose.columns)

    def _by_content(self, file: InputFile) -> Form | str:
        """The format of a file whose name has no ending at all."""
        if "." in os.path.basename(file.path):
            return "has an ending that says nothing: what kind of file is it?"
        try:
            with opened(file.path, self._options) as stream:
                head = peeked(stream)
        except OSError as error:
            return f"cannot be read: {error}"
        if mismatch(head, "a Parquet file") is None:
            return Form(Format.PARQUET)
        if mismatch(head, "an Arrow file") is None:
            return Form(Format.IPC)
        return "has no ending that says what kind of file it is"

    def add_type(self, type_: EntityType, content: Any) -> None:
        """Rows of a type."""
        if isinstance(content, str | os.PathLike):
            self.add(os.fspath(content), type_)
        elif is_distributed(content):
            self.inputs.append(Input(Format.DISTRIBUTED, content, None, type_))
        elif is_frame(content):
            self.inputs.append(_frame(type_, content))
        elif isinstance(content, Iterable) and not isinstance(content, bytes | Mapping):
            self.inputs.append(Input(Format.ROWS, content, None, type_))
        else:
            raise UsageError(
                f"cannot load rows of {type_.name} from {type(content).__name__}",
                hint="Give an Arrow table, a pandas, polars or Spark frame, a list of mappings, or a path.",
            )


def _rows_or_records(records: Input, whose: Whose) -> Input:
    """JSON lines of a file that is called after a type, or said to be of it: rows of it, unless they say their types."""
    if whose.type is None:
        return records
    try:
        with records.opened() as stream:
            first = first_members(stream)
    except (OSError, EOFError, zlib.error, pa.ArrowException):
        return records  # whoever reads it says what is wrong
    says = first & {"type", "edge"}
    if whose.said and says and not says & whose.type.properties.keys():
        raise UsageError(f"{records.name} names the types of its records itself", hint="Load it by its path alone.")
    return replace(records, type=whose.type, columns=whose.columns) if whose.said or (first and not says) else records


_ENDINGS = f"{', '.join(ENDINGS)}, also with {', '.join(PACKED)}"


def _whose(path: str) -> Hint:
    """How to say which type the rows of a file have."""
    return Hint("Name the type of its rows: ", Option("types", {os.path.basename(path): "…"}))


def is_distributed(content: object) -> bool:
    """Whether something is a data frame of Spark, which is not imported to find out."""
    kind = type(content)
    return kind.__module__.startswith("pyspark.sql.") and kind.__name__ == "DataFrame"


def is_frame(content: object) -> bool:
    """Whether something holds columns, as Arrow has them."""
    if isinstance(content, pa.Table | pa.RecordBatch | pa.RecordBatchReader):
        return True
    return hasattr(content, "__arrow_c_stream__") and not _is_series(content)


def _is_series(content: object) -> bool:
    """Whether this is one column of pandas, which speaks Arrow's interface as a frame does, and is none."""
    return type(content).__module__.partition(".")[0] == "pandas" and not hasattr(content, "columns")


def of_frame(type_: EntityType, content: Any) -> Any:
    """What holds the rows of a frame: something of Arrow's, or a list of mappings where Arrow cannot hold them."""
    return _frame(type_, content).content


def _frame(type_: EntityType, content: Any) -> Input:
    """A frame as Arrow has it: Arrow's own, or anything that speaks Arrow's interface (pandas and polars do)."""
    if isinstance(content, pa.Table | pa.RecordBatch | pa.RecordBatchReader):
        return Input(Format.ARROW, content, None, type_)
    of_pandas = type(content).__module__.partition(".")[0] == "pandas"
    try:
        if of_pandas:
            return _of_pandas(type_, _with_index(type_, content))
        if any(str(kind) == "Object" for kind in getattr(content, "dtypes", ())):  # Arrow would get addresses of these
            return Input(Format.ROWS, content.to_dicts(), None, type_, door=Door.COLUMNS)
        made = pa.table(content) if hasattr(content, "__len__") else pa.RecordBatchReader.from_stream(content)
    except GraphError:
        raise
    except Exception as error:  # whatever the library or a value in it raises
        raise UsageError(f"cannot read the rows of {type_.name}: {error}", hint="Give columns that Arrow can hold.") from error
    return Input(Format.ARROW, made, None, type_)


def _with_index(type_: EntityType, frame: Any) -> Any:
    """A frame of pandas with its index among its columns, if that has a name: what has none only numbers the rows."""
    names = list(frame.index.names)
    if all(name is None for name in names):
        return frame
    if None in names:
        raise UsageError(
            f"the index of the frame of {type_.name} has names for some of its levels only: {names}",
            hint="Make columns of it, reset_index(), or leave it out, reset_index(drop=True).",
        )
    twice = [name for name in names if name in frame.columns]
    if twice:
        raise UsageError(
            f"the frame of {type_.name} has a column `{twice[0]}`, and an index of that name too",
            hint="Leave the index out, reset_index(drop=True), or give it another name.",
        )
    return frame.reset_index()


def _of_pandas(type_: EntityType, frame: Any) -> Input:
    names = [str(name) for name in frame.columns]
    if len(names) > len(set(names)):
        # Neither Arrow nor a row by itself can hold these: the names alone, which are refused before any row.
        return Input(Format.ARROW, pa.Table.from_arrays([pa.nulls(0)] * len(names), names), None, type_)
    if not any(_is_read_singly(frame[name]) for name in frame.columns):
        try:
            return Input(Format.ARROW, pa.Table.from_pandas(frame, preserve_index=False), None, type_)
        except Exception:  # values of several kinds in a column: whoever reads them singly says which
            return Input(Format.ROWS, _rows_of_pandas(frame), None, type_, door=Door.COLUMNS)
    return Input(Format.ROWS, _rows_of_pandas(frame), None, type_, door=Door.COLUMNS)


def _is_read_singly(column: Any) -> bool:
    """Whether a column holds Python objects that Arrow, which calls itself for what is inside, would not come back from, or
    moments with nanoseconds, which Arrow would drop."""
    if column.dtype != object:
        return False
    kind = sys.modules["pandas"].api.types.infer_dtype(column, skipna=True)  # quick, and says of texts that they are all texts
    if kind == "datetime":
        return any(getattr(value, "nanosecond", 0) for value in column.array)
    return kind == "mixed" and any(tangled(value) is not None for value in column.array)


def _rows_of_pandas(frame: Any) -> list[dict[str, object]]:
    names = [str(name) for name in frame.columns]
    values, missing = frame.itertuples(index=False, name=None), frame.isna().itertuples(index=False, name=None)
    return [
        {name: None if gone else value for name, value, gone in zip(names, row, none, strict=True)}
        for row, none in zip(values, missing, strict=True)
    ]


def arrow_batches(content: pa.Table | pa.RecordBatch | pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
    """The rows of a frame, some thousands at a time."""
    if isinstance(content, pa.Table):
        yield from content.to_batches(max_chunksize=BATCH_ROWS)
        return
    for batch in [content] if isinstance(content, pa.RecordBatch) else content:
        for at in range(0, batch.num_rows, BATCH_ROWS):
            yield batch.slice(at, BATCH_ROWS)


def _from_anywhere(path: str) -> str:
    """A path that means the same to a process that was started in another folder."""
    return path if is_remote(path) else os.path.abspath(path)
