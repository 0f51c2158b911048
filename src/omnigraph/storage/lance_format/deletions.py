"""Which rows of a fragment are deleted, read from its deletion file and not from the rows.

Lance writes the offsets of deleted rows either as an Arrow file (few of them) or as a Roaring bitmap in its portable form
(many). Both formats are published, and a guard test holds this Lance to them; scanning a fragment of a million rows for the ones
that are still there takes sixty times as long.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from omnigraph.errors import StorageError
from omnigraph.model.phrases import counted
from omnigraph.storage.files.place import Place

Positions = np.ndarray[tuple[int], np.dtype[np.int64]]


def read_deletions(place: Place, path: str, count: int) -> Positions:
    """The numbers in a deletion file, ascending. There must be so many."""
    content = place.get(path)
    try:
        found = _from_arrow(content) if path.endswith(".arrow") else from_roaring(content)
    except (pa.ArrowInvalid, ValueError, IndexError) as error:
        raise StorageError(f"the deletion file {path} cannot be read: {error}") from error
    if len(found) != count:
        raise StorageError(f"the deletion file {path} names {counted(len(found), 'row')}, not {count}")
    return found


def _from_arrow(content: bytes) -> Positions:
    column = pa.ipc.open_file(pa.py_buffer(content)).read_all().column(0)
    return np.sort(column.to_numpy().astype(np.int64))


def from_roaring(content: bytes) -> Positions:
    """The numbers of a Roaring bitmap."""
    from pyroaring import BitMap  # only fragments of which many rows are deleted need it

    return np.frombuffer(BitMap.deserialize(content).to_array(), np.uint32).astype(np.int64)
