"""A graph as a folder of files, written side by side: for graphs that are too large for one file, or for one machine.

    out/Person.000000000.parquet   Person.000000001.parquet   Knows.000000000.parquet   _export.json

Each file holds rows of one type, as JSON lines or as Parquet, in no particular order; the folder as a whole loads back to an
equal graph (`g.load("out")`). The target is a folder or an address of an object store. `_export.json` is written last: it names
the commit and every file, and where it is missing the export did not end. Who writes a file is up to whoever runs the parts.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from enum import Enum
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from omnigraph.catalog.catalog import EntityType
from omnigraph.catalog.columns import columns_of
from omnigraph.engine.arrays.json_lines import lines
from omnigraph.engine.arrays.numbering import Numbers
from omnigraph.engine.export.lines import exported_types
from omnigraph.engine.export.tables import parquet_rows
from omnigraph.engine.snapshot.view import View
from omnigraph.errors import AlreadyExists, UsageError
from omnigraph.model.frozen import frozen
from omnigraph.storage.files.place import Place
from omnigraph.storage.tables.rows import SCANNED_IMAGES, fragments, row_bytes, scan_images
from omnigraph.storage.tables.work import PinnedTable, Run, cut

FILE_ROWS: Final = 262_144
"""Rows per file: a file is made in memory…"""

FILE_BYTES: Final = 256 << 20
"""…and bytes of rows, more or less."""

_BATCH_BYTES: Final = 32 << 20
_ROOM: Final = 1_000_000

DONE: Final = "_export.json"


class ExportFormat(Enum):
    """How rows are written."""

    JSONL = "jsonl"
    PARQUET = "parquet"


@frozen(slots=False)
class ExportPart:
    """Fragments of a type for one process to write."""

    table: PinnedTable
    type: EntityType
    fragments: tuple[int, ...]
    target: str
    options: tuple[tuple[str, str], ...]
    format: ExportFormat
    number: int
    """Of its first file; a part has room for a million."""


@frozen
class ExportedFile:
    """A file that was written."""

    name: str
    type: str
    rows: int
    bytes: int


@frozen
class ExportedParts:
    """What came of an export."""

    commit: str
    """The commit that was read."""
    target: str
    files: tuple[ExportedFile, ...] = field(default=())

    @property
    def entities(self) -> int:
        """How many nodes and edges there are."""
        return sum(file.rows for file in self.files)


def export_parts(
    view: View,
    place: Place,
    target: str,
    *,
    format_: str = "parquet",
    types: Iterable[str] | None = None,
    options: Mapping[str, str] | None = None,
    run: Run,
) -> ExportedParts:
    """Write some types, or all, to a folder that does not hold anything yet."""
    try:
        chosen = ExportFormat(format_)
    except ValueError:
        known = ", ".join(f.value for f in ExportFormat)
        raise UsageError(f"no format `{format_}` to export to", hint=f"There are {known}.") from None
    folder = Place.at(target, options)
    folder.require_folder()
    if folder.names(""):
        raise AlreadyExists(f"{target} is not empty", hint="Export to a new folder.")
    settings = tuple(sorted((options or {}).items()))
    parts = []
    for type_ in exported_types(view.catalog, types):
        stored = view.stored(type_)
        pinned = PinnedTable.of(place, stored.state)
        groups = cut(fragments(stored.table), FILE_ROWS)
        parts += [ExportPart(pinned, type_, g, folder.uri, settings, chosen, _ROOM * n) for n, g in enumerate(groups)]
    files = tuple(file for done in run(export_part, parts) for file in done)
    reported = [{"name": f.name, "type": f.type, "rows": f.rows, "bytes": f.bytes} for f in files]
    done = {"commit": view.snapshot.commit, "format": chosen.value, "files": reported}
    folder.put(DONE, json.dumps(done, indent=1).encode())
    return ExportedParts(view.snapshot.commit, folder.uri, files)


def export_part(part: ExportPart) -> list[ExportedFile]:
    """Write the files of a part. A second attempt writes the same files under the same names."""
    folder = Place.at(part.target, dict(part.options))
    found = []
    for number, rows in enumerate(_chunks(part), part.number):
        data = lines(part.type, rows) if part.format is ExportFormat.JSONL else _parquet(part, rows)
        name = f"{part.type.name}.{number:09}.{part.format.value}"
        folder.put(name, data)
        found.append(ExportedFile(name, part.type.name, rows.num_rows, len(data)))
    return found


def _chunks(part: ExportPart) -> Iterator[pa.Table]:
    table, columns = part.table.open(), columns_of(part.type).names
    sizes = row_bytes(table, columns, part.fragments)
    batches: list[pa.RecordBatch] = []
    begins = at = 0
    for batch in scan_images(table, columns, fragments=part.fragments, batch_rows=_at_once(sizes)):
        batches.append(batch)
        at += batch.num_rows
        if at - begins >= FILE_ROWS or sizes[begins:at].sum() >= FILE_BYTES:
            yield pa.Table.from_batches(batches)
            batches, begins = [], at
    if batches:
        yield pa.Table.from_batches(batches)


def _at_once(sizes: Numbers) -> int:
    """How many rows that follow one another never have more than some megabytes; one, where a single one has."""
    rows = SCANNED_IMAGES
    while rows > 1 and np.add.reduceat(sizes, np.arange(0, len(sizes), rows)).max(initial=0) > _BATCH_BYTES:
        rows //= 2
    return rows


def _parquet(part: ExportPart, rows: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    given = parquet_rows(part.type, rows, "Parquet holds bytes. Export to jsonl, which spells the URI.")
    pq.write_table(given, sink, compression="zstd")
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]
