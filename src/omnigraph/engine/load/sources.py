"""What was given to load: files by path, folder or pattern, on a disk or in an object store, frames by type, or records.

Each becomes an `Input` that says what it holds and how it is read. Which type the rows of a CSV or Parquet file have is said by
its name (`Person.csv`), or by whoever asks for the load.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from omnigraph.catalog.catalog import Catalog
from omnigraph.engine.load.types import Type
from omnigraph.errors import NotFound, UsageError
from omnigraph.language.diagnostics import did_you_mean
from omnigraph.storage.inputs import InputFile, is_remote, matching, opened

_SMALL_BYTES = 64 << 20
_SMALL_ROWS = 100_000

Source = Any
"""A path, several, a mapping of types to frames, or an iterable of records."""


class Format(Enum):
    """How rows are written."""

    NDJSON = "ndjson"
    CSV = "csv"
    PARQUET = "parquet"
    ARROW = "arrow"
    ROWS = "rows"
    """Mappings of properties, all of one type."""
    RECORDS = "records"
    """Mappings as lines of NDJSON have them."""
    DISTRIBUTED = "distributed"
    """A frame whose rows are on a cluster: only a runner that works there reads it."""


FILES = frozenset({Format.NDJSON, Format.CSV, Format.PARQUET})
"""What is read from a path, by whoever can reach it."""


@dataclass(frozen=True)
class Input:
    """One thing to read."""

    format: Format
    content: Any
    """A path, or what holds the rows."""
    name: str | None = None
    """What to call it in a report."""
    type: Type | None = None
    size: int | None = None
    """In bytes, if that is known."""
    options: Mapping[str, str] = field(default_factory=dict)
    """How to reach the object store it is in."""

    @property
    def is_file(self) -> bool:
        """Whether it is read from a path."""
        return self.format in FILES and isinstance(self.content, str)

    def opened(self) -> IO[bytes]:
        """The bytes of a file, unpacked."""
        if not self.content.endswith(".gz"):
            return opened(self.content, self.options)
        packed = opened(self.content, self.options) if is_remote(self.content) else self.content
        return gzip.open(packed, "rb")  # type: ignore[return-value]

    @property
    def for_arrow(self) -> str | IO[bytes]:
        """A file as Arrow's readers take it. They unpack what they open themselves."""
        return self.opened() if is_remote(self.content) else self.content

    @property
    def is_small(self) -> bool:
        """Whether it is surely read within minutes."""
        if self.size is not None:
            return self.size < _SMALL_BYTES
        return hasattr(self.content, "__len__") and len(self.content) < _SMALL_ROWS


_FORMATS = {".jsonl": Format.NDJSON, ".ndjson": Format.NDJSON, ".csv": Format.CSV, ".parquet": Format.PARQUET}


def inputs_of(
    source: Source, catalog: Catalog, types: Mapping[str, str] | None = None, options: Mapping[str, str] | None = None
) -> list[Input]:
    """Everything there is to read, in order. `options` are for what is in an object store."""
    named, options = {} if types is None else dict(types), dict(options or {})
    if isinstance(source, str | os.PathLike):
        return [_file(found, catalog, named, options) for found in _expanded(os.fspath(source), options)]
    if isinstance(source, Mapping):
        return [i for name, content in source.items() for i in _of_type(_type_named(str(name), catalog), content, options)]
    if hasattr(source, "read") and not _is_distributed(source):
        return [Input(Format.NDJSON, source, getattr(source, "name", None) or "<stream>")]
    if _is_frame(source) or _is_distributed(source):
        raise UsageError("a frame has rows of one type", hint='Say which: load({"Person": frame}).')
    if isinstance(source, Sequence) and source and all(isinstance(item, str | os.PathLike) for item in source):
        return [_file(found, catalog, named, options) for item in source for found in _expanded(os.fspath(item), options)]
    if isinstance(source, Iterable) and not isinstance(source, bytes):
        return [Input(Format.RECORDS, source)]
    raise UsageError(
        f"cannot load from {type(source).__name__}",
        hint="Give a path, a pattern, a mapping of type names to frames, or an iterable of records.",
    )


def _of_type(type_: Type, content: Any, options: Mapping[str, str]) -> Iterator[Input]:
    if isinstance(content, str | os.PathLike):
        for found in _expanded(os.fspath(content), options):
            format_ = _format(found.path)
            if format_ is Format.NDJSON:
                raise UsageError(f"{found.path} says itself which types its records have", hint="Load it by its path alone.")
            yield Input(format_, _from_anywhere(found.path), found.path, type_, found.size, options)
    elif _is_distributed(content):
        yield Input(Format.DISTRIBUTED, content, None, type_)
    elif _is_frame(content):
        yield Input(Format.ARROW, content, None, type_)
    elif isinstance(content, Iterable) and not isinstance(content, bytes | Mapping):
        yield Input(Format.ROWS, content, None, type_)
    else:
        raise UsageError(
            f"cannot load rows of {type_.name} from {type(content).__name__}",
            hint="Give an Arrow table, a pandas, polars or Spark frame, a list of mappings, or a path.",
        )


def _is_distributed(content: object) -> bool:
    """Whether something is a data frame of Spark, which is not imported to find out."""
    kind = type(content)
    return kind.__module__.startswith("pyspark.sql.") and kind.__name__ == "DataFrame"


def _is_frame(content: object) -> bool:
    return isinstance(content, pa.Table | pa.RecordBatch | pa.RecordBatchReader) or hasattr(content, "__arrow_c_stream__")


def arrow_batches(content: Any) -> Iterator[pa.RecordBatch]:
    """The rows of a frame: Arrow's own, or anything that speaks Arrow's interface (pandas and polars do)."""
    if isinstance(content, pa.RecordBatch):
        yield content
    elif isinstance(content, pa.RecordBatchReader):
        yield from content
    elif isinstance(content, pa.Table):
        yield from content.to_batches(max_chunksize=65_536)
    elif type(content).__module__.partition(".")[0] == "pandas":
        yield from pa.Table.from_pandas(content, preserve_index=False).to_batches(max_chunksize=65_536)
    else:
        for batch in pa.RecordBatchReader.from_stream(content):
            for at in range(0, batch.num_rows, 65_536):
                yield batch.slice(at, 65_536)


def _file(found: InputFile, catalog: Catalog, types: Mapping[str, str], options: Mapping[str, str]) -> Input:
    path = found.path
    format_ = _format(path)
    size = None if path.endswith(".gz") else found.size
    if format_ is Format.NDJSON:
        return Input(format_, _from_anywhere(path), path, None, size, options)
    name = types.get(path) or types.get(os.path.basename(path))
    if name is not None:
        return Input(format_, _from_anywhere(path), path, _type_named(name, catalog), size, options)
    stem = os.path.basename(path).partition(".")[0]
    type_ = catalog.nodes.get(stem) or catalog.edge(stem)
    if type_ is None:
        folded = {n.lower(): n for n in catalog.nodes}
        type_ = catalog.nodes.get(folded.get(stem.lower(), ""))
    if type_ is None:
        raise UsageError(
            f"{path}: there is no type `{stem}`",
            hint=f'Say which type its rows have: types={{"{os.path.basename(path)}": "…"}}.',
        )
    return Input(format_, _from_anywhere(path), path, type_, size, options)


def _from_anywhere(path: str) -> str:
    """A path that means the same to a process that was started in another folder."""
    return path if is_remote(path) else os.path.abspath(path)


def _format(path: str) -> Format:
    suffixes = [s for s in Path(path).suffixes if s != ".gz"]
    found = _FORMATS.get(suffixes[-1].lower()) if suffixes else None
    if found is None:
        raise UsageError(f"{path}: what kind of file is this?", hint=f"Files end in {', '.join(_FORMATS)}, or these with .gz.")
    if found is Format.PARQUET and path.endswith(".gz"):
        raise UsageError(f"{path}: a Parquet file is compressed inside", hint="Unpack it first.")
    return found


def _expanded(path: str, options: Mapping[str, str]) -> list[InputFile]:
    found = matching(path, tuple(_FORMATS), options)
    if not found:
        raise NotFound(f"nothing to load at {path}", hint=f"Files end in {', '.join(_FORMATS)}.")
    return found


def _type_named(name: str, catalog: Catalog) -> Type:
    found = catalog.nodes.get(name) or catalog.edge(name)
    if found is None:
        known = [*catalog.nodes, *catalog.edges]
        hint = did_you_mean(name, known) or f"There are {', '.join(known)}."
        if name in ("type", "edge", "data"):
            hint = "A single record goes into a list: load([record])."
        raise UsageError(f"there is no type `{name}`", hint=hint)
    return found
