"""Data files of a few rows, written without the dataset they are for.

Lance's way to write rows looks at the dataset, plans, and splits what it is given; for one row that takes twice as long as to
write the file. What comes of it is the same for every file with the same columns (which field stands in which column of the
file), so it is learnt from the first file that Lance writes, and later ones are written by Lance's file writer alone.

Only on a disk, and not for columns that are stored aside (blobs).
"""

from __future__ import annotations

import os
from threading import Lock
from typing import Final

import pyarrow as pa
from lance import LanceDataset
from lance.file import LanceFileWriter
from lance.fragment import FragmentMetadata, write_fragments

from omnigraph.model.frozen import frozen
from omnigraph.storage.files.dataset_folders import DATA
from omnigraph.storage.files.effects import Call
from omnigraph.storage.files.place import Place
from omnigraph.storage.lance_format.fragments import PlainDataFile, plain

Columns = tuple[tuple[str, int], ...]
"""Names and identities of columns."""

_LEARNT: Final = 1_024


@frozen(slots=False)
class _Layout:
    """How a file describes its columns."""

    fields: tuple[int, ...]
    column_indices: tuple[int, ...]
    major: int
    minor: int


class SmallFiles:
    """Layouts by columns. Safe from any thread."""

    def __init__(self) -> None:
        self._layouts: dict[tuple[Columns, pa.Schema], _Layout] = {}
        self._lock = Lock()

    def written(self, dataset: LanceDataset, place: Place, location: str, rows: pa.Table, call: Call) -> FragmentMetadata:
        """A few rows in a file of a dataset, as Lance lays it out there."""
        columns = tuple((field.name(), field.id()) for field in dataset.lance_schema.fields())
        layout = self._layouts.get((columns, rows.schema)) if place.is_local else None
        if layout is not None:
            return place.effects.run(call, lambda: _file(place.child(location), layout, rows))
        (made,) = plain(place.effects.run(call, lambda: write_fragments(rows, dataset, mode="append")))
        if len(made.files) == 1:
            (file,) = made.files
            learnt = _Layout(tuple(file.fields), tuple(file.column_indices), file.file_major_version, file.file_minor_version)
            with self._lock:
                if len(self._layouts) >= _LEARNT:
                    self._layouts.clear()
                self._layouts[columns, rows.schema] = learnt
        return made


def _file(folder: str, layout: _Layout, rows: pa.Table) -> FragmentMetadata:
    name = f"{os.urandom(16).hex()}.lance"
    path = f"{folder}/{DATA}/{name}"
    with LanceFileWriter(path, rows.schema, version=f"{layout.major}.{layout.minor}") as file:
        file.write_batch(rows)
    size = os.stat(path).st_size
    about = PlainDataFile(name, list(layout.fields), list(layout.column_indices), layout.major, layout.minor, size, None)
    return FragmentMetadata(0, [about], rows.num_rows)


FILE_WRITER: Final = SmallFiles()
"""A layout follows from the columns alone, so all graphs of a process share what was learnt."""
