"""The files a version of a dataset needs, as paths below the place.

Lance lists the files of versions on a table's own lineage (`tracked_files`), but the versions we pin are on nobody's lineage,
and to its cleanup their files are garbage. So this module reads off a pinned version itself what it rests on:

    nodes/5-7/_versions/d13849….manifest        the version itself
    nodes/5-7/data/0110….lance                  per fragment: data files (one more per column added later)
    nodes/5-7/data/0110…/10….blob               blobs too large for their data file, in a folder named after it
    nodes/5-7/_deletions/4-138…-77….arrow       per fragment with deleted rows: the marks
    nodes/5-7/_indices/9d21…/part_0_docs.lance  per index segment: a folder of its own

Names of data files, deletion files and versions are in the version. What is in the folder of an index segment or of a data
file's blobs is not, so those are needed as folders, whatever is in them. Sizes are given where the version records them.

Transaction files (`_transactions/`) are in none of these: Lance repeats the transaction inside the version, and reads the file
only to settle a commit that is under way.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field

import lance
from lance.dataset import Session

from omnigraph.model.frozen import frozen
from omnigraph.storage.files.dataset_folders import DATA, INDICES
from omnigraph.storage.files.lance_errors import translated
from omnigraph.storage.files.place import Place
from omnigraph.storage.lance_format.file_names import deletion_file, version_file
from omnigraph.storage.tables.table import Table


@frozen
class Needs:
    """What a version rests on, with sizes in bytes where they are recorded. A folder ends with `/` and is needed whole."""

    files: Mapping[str, int | None] = field(default_factory=dict)
    folders: Mapping[str, int | None] = field(default_factory=dict)

    def cover(self, path: str) -> bool:
        """Whether a file is needed."""
        return path in self.files or folder_of(path) in self.folders


def needs_of(table: Table) -> Needs:
    """What a table at its pin rests on. Reads nothing but the version."""
    files: dict[str, int | None] = {f"{table.location}/{version_file(table.pin)}": None}
    folders: dict[str, int | None] = {}
    with translated(f"list the files of {table.location} at {table.pin}"):
        for fragment in table.dataset.get_fragments():
            described = fragment.metadata
            data = [*described.files, *(overlay.data_file for overlay in described.overlays)]
            for file in data:
                path = f"{table.location}/{DATA}/{file.path}"
                files[path] = file.file_size_bytes
                folders[f"{path.rpartition('.')[0]}/"] = None
            if described.deletion_file is not None:
                files[f"{table.location}/{deletion_file(described)}"] = None
        for index in table.dataset.describe_indices():
            for segment in index.segments:
                folders[f"{table.location}/{INDICES}/{segment.uuid}/"] = segment.size_bytes
    return Needs(files, folders)


def files_of(table: Table, stored: Iterable[str] | None = None) -> frozenset[str]:
    """Every file a table needs at its pin. `stored` is what there is below its location, if somebody listed it already."""
    needs = needs_of(table)
    listed = (o.path for o in table.place.objects(table.location)) if stored is None else stored
    return frozenset(needs.files) | {path for path in listed if needs.cover(path)}


def manifest_files(place: Place, location: str, oldest: int, session: Session) -> frozenset[str]:
    """Every file the versions of a branch manifest need, from the version `oldest` on."""
    with translated(f"list the files of {location}"):
        dataset = lance.dataset(place.child(location), storage_options=dict(place.options) or None, session=session)
        tracked = dataset.tracked_files(min_version=oldest).read_all()
    return frozenset(f"{location}/{path}" for path in tracked["path"].to_pylist())


def folder_of(path: str) -> str | None:
    """The folder of an index segment or of a data file's blobs that a file is in: `nodes/5-7/_indices/9d21…/`."""
    parts = path.split("/")
    if len(parts) < 5 or parts[2] not in (DATA, INDICES):
        return None
    return "/".join(parts[:4]) + "/"
