"""What the path of a file says: its format, its compression, the type of its rows, and partition columns.

The format is said by the ending (`.jsonl`, `.csv`, …, after which `.gz`, `.bz2` or `.zst` may follow). A file without one that is
known, as writers of many parts make them (`part-00000`), has the ending of the nearest folder around it that has one
(`Person.parquet/part-00000`).

The type is said by the nearest name that is that of a type, up to the first dot: the file's own, then those of the folders around
it, as far as the folder that was given.

    people/Person.csv                                      Person
    Person.parquet/part-00000-c000.snappy.parquet          Person
    Person/country=de/part-0.parquet                       Person; `country` is a column, and `de` its value in every row
    Person/Knows.csv                                       Knows
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Final
from urllib.parse import unquote

from omnigraph.catalog.catalog import Catalog, EntityType
from omnigraph.errors import UsageError
from omnigraph.language.diagnostics import did_you_mean
from omnigraph.model.frozen import frozen
from omnigraph.storage.files.inputs import InputFile, partition


class Format(Enum):
    """How rows are written."""

    NDJSON = "ndjson"
    CSV = "csv"
    TSV = "tsv"
    PARQUET = "parquet"
    IPC = "arrow file"
    ARROW = "arrow"
    """A frame in memory."""
    ROWS = "rows"
    """Mappings of properties, all of one type."""
    RECORDS = "records"
    """Mappings as lines of NDJSON have them."""
    DISTRIBUTED = "distributed"
    """A frame whose rows are on a cluster: only a runner that works there reads it."""


ENDINGS: Final = {
    ".jsonl": Format.NDJSON,
    ".ndjson": Format.NDJSON,
    ".json": Format.NDJSON,
    ".csv": Format.CSV,
    ".tsv": Format.TSV,
    ".parquet": Format.PARQUET,
    ".arrow": Format.IPC,
    ".feather": Format.IPC,
}
PACKED: Final = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}

_NO_VALUE: Final = "__HIVE_DEFAULT_PARTITION__"
_PART: Final = "part-"

Columns = tuple[tuple[str, str | None], ...]
"""Names and values, of every row of a file."""


@frozen
class Form:
    """How a file is written."""

    format: Format
    packed: str | None = None
    """The codec that it is packed by as a whole."""


def form_of(file: InputFile) -> Form | None:
    """How a file is written, if its name or a folder says so."""
    name = file.path.rpartition("/")[2]
    bare, packed = _unpacked(name)
    own = _ending(bare)
    if own is None and ("." not in bare or bare.startswith(_PART)):
        own = next((found for folder in reversed(file.within) if (found := _ending(_unpacked(folder)[0]))), None)
    return None if own is None else Form(own, packed)


def _unpacked(name: str) -> tuple[str, str | None]:
    codec = next((codec for ending, codec in PACKED.items() if name.lower().endswith(ending)), None)
    return (name, None) if codec is None else (name.rpartition(".")[0], codec)


def _ending(name: str) -> Format | None:
    stem, dot, ending = name.rpartition(".")
    return ENDINGS.get(f".{ending.lower()}") if dot and stem else None


@frozen
class Whose:
    """The type of the rows of a file, if its name or a folder says so, and what folders say of every row."""

    type: EntityType | None
    columns: Columns = ()
    said: bool = False
    """Whether whoever loads the file gave its type."""


class Naming:
    """Types by the names of files."""

    def __init__(self, catalog: Catalog, types: Mapping[str, str]) -> None:
        self._catalog = catalog
        self._said = {name.rstrip("/"): type_named(type_, catalog) for name, type_ in types.items()}
        self._used: set[str] = set()

    def whose(self, file: InputFile) -> Whose:
        """The type of a file: by the nearest name, from its own outwards."""
        path, columns = file.path, list[tuple[str, str | None]]()
        found = self._of(path)
        for folder in reversed(file.within):
            if found is not None:
                break
            path = path.rpartition("/")[0] or folder
            column = column_of(folder)
            if column is None:
                path = path if path.endswith(folder) else folder
                found = self._of(path)
            else:
                columns.append(column)
        return Whose(found, tuple(reversed(columns)), said=self._said_of(path) is not None)

    def _said_of(self, path: str) -> str | None:
        """Which of the names that somebody gave a type for means a path."""
        found = next((name for name in self._said if path == name or path.endswith(f"/{name}")), None)
        if found is not None:
            self._used.add(found)
        return found

    def require_used(self) -> None:
        """Refuse names that mean no file."""
        unused = [name for name in self._said if name not in self._used]
        if unused:
            raise UsageError(f"a type is given for `{unused[0]}`, and no such file is loaded", hint="Check the spelling.")

    def _of(self, path: str) -> EntityType | None:
        said = self._said_of(path)
        if said is not None:
            return self._said[said]
        stem = path.rpartition("/")[2].partition(".")[0]
        folded = {name.lower(): name for name in self._catalog.nodes}
        known = self._catalog.nodes.get(stem) or self._catalog.edge(stem)
        known = known or self._catalog.nodes.get(folded.get(stem.lower(), ""))
        return known or self._catalog.nodes.get(type_name(stem)) or self._catalog.edge(type_name(stem))


def type_name(stem: str) -> str:
    """What a type is called that is called after a file: `order-items.csv` has OrderItems."""
    words = [word for word in re.split(r"[^A-Za-z0-9]+", stem) if word]
    name = "".join(word[0].upper() + word[1:] for word in words) or "Thing"
    return name if name[0].isalpha() else f"T{name}"


def columns_within(folders: Iterable[str]) -> Columns:
    """What the names of folders say of every row of a file in them."""
    return tuple(column for folder in folders if (column := column_of(folder)) is not None)


def column_of(folder: str) -> tuple[str, str | None] | None:
    """The column that a folder is called after, as Hive and Spark spell it."""
    found = partition(folder)
    if found is None:
        return None
    name, value = unquote(found[0]), unquote(found[1])
    return name, None if value == _NO_VALUE else value


def type_named(name: str, catalog: Catalog) -> EntityType:
    """A type by its name."""
    found = catalog.nodes.get(name) or catalog.edge(name)
    if found is None:
        known = [*catalog.nodes, *catalog.edges]
        hint = did_you_mean(name, known) or f"There are {', '.join(known)}."
        if name in ("type", "edge", "data"):
            hint = "Put a single record into a list."
        raise UsageError(f"there is no type `{name}`", hint=hint)
    return found
