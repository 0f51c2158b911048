"""Data files of a few rows, written without the dataset they are for.

Lance's way to write rows looks at the dataset, plans, and splits what it is given; for one row that takes twice as long as to
write the file. What comes of it is the same for every file with the same columns (which field stands in which column of the
file), so it is learnt from the first file that Lance writes. Later ones are made here (`made_files`), or where they hold what is
not known there, by Lance's file writer alone.

Only on a disk, and not for columns that are stored aside (blobs).
"""

from __future__ import annotations

import os
from threading import Lock
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from lance import LanceDataset
from lance.file import LanceFileWriter
from lance.fragment import FragmentMetadata, write_fragments

from omnigraph.model.frozen import frozen
from omnigraph.model.randomness import random_bytes
from omnigraph.storage.files.dataset_folders import DATA
from omnigraph.storage.files.effects import Call
from omnigraph.storage.files.place import Place
from omnigraph.storage.lance_format.fragments import PlainDataFile, plain

if TYPE_CHECKING:
    from omnigraph.storage.lance_format.made_files import FewRows, Template

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
    template: Template | None
    """What files of these columns have in common, if they can be made here."""


@frozen(slots=False)
class SmallFile:
    """A file that was written."""

    fragment: FragmentMetadata
    content: bytes | None
    """What it holds, if that is known here."""


class SmallFiles:
    """Layouts by columns. Safe from any thread."""

    def __init__(self) -> None:
        self._layouts: dict[tuple[Columns, pa.Schema], _Layout] = {}
        self._lock = Lock()

    def written(
        self, dataset: LanceDataset, columns: Columns, place: Place, location: str, rows: pa.Table | FewRows, call: Call
    ) -> SmallFile:
        """A few rows in a file of a dataset with these columns, as Lance lays it out there."""
        layout = self._layouts.get((columns, rows.schema)) if place.is_local else None
        if layout is not None:
            return _file(place, location, layout, rows, call)
        table = rows if isinstance(rows, pa.Table) else rows.table()
        (made,) = plain(place.effects.run(call, lambda: write_fragments(table, dataset, mode="append")))
        if len(made.files) == 1 and place.is_local:
            (file,) = made.files
            from omnigraph.storage.lance_format.made_files import Template  # whoever only reads makes no files

            template = Template.of(place.get(f"{location}/{DATA}/{file.path}"), rows.schema)
            indices = tuple(file.column_indices)
            if indices != tuple(range(len(rows.schema))):
                template = None
            learnt = _Layout(tuple(file.fields), indices, file.file_major_version, file.file_minor_version, template)
            with self._lock:
                if len(self._layouts) >= _LEARNT:
                    self._layouts.clear()
                self._layouts[columns, rows.schema] = learnt
        return SmallFile(made, None)


def _file(place: Place, location: str, layout: _Layout, rows: pa.Table | FewRows, call: Call) -> SmallFile:
    name = f"{random_bytes(16).hex()}.lance"
    path = f"{location}/{DATA}/{name}"
    content = None if layout.template is None else layout.template.file_of(rows)
    if content is None:
        table = rows if isinstance(rows, pa.Table) else rows.table()
        size = place.effects.run(call, lambda: _written_by_lance(place.child(path), layout, table))
    else:
        place.put_unseen(path, content, call)
        size = len(content)
    about = PlainDataFile(name, list(layout.fields), list(layout.column_indices), layout.major, layout.minor, size, None)
    return SmallFile(FragmentMetadata(0, [about], rows.num_rows), content)


def _written_by_lance(path: str, layout: _Layout, rows: pa.Table) -> int:
    with LanceFileWriter(path, rows.schema, version=f"{layout.major}.{layout.minor}") as file:
        file.write_batch(rows)
    return os.stat(path).st_size


FILE_WRITER: Final = SmallFiles()
"""A layout follows from the columns alone, so all graphs of a process share what was learnt."""
