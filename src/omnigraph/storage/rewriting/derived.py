"""Versions of a table that hold the same entities and are stored differently: what indexing, compaction and columns share.

Each of them opens the table at its pin, writes files nobody refers to, commits one or two detached versions and says which one is
meant. Only that last one is named by the `Applied`; a version in between is garbage from the moment it exists.

    0x9f3…  the pin of a graph commit
      └ 0xa10…  fragments rewritten                    garbage: no commit will ever name it
          └ 0xb77…  index segments for the new ones    → Applied.state.pin, to be published as a `Replacement`

**Own handles.** Building an index borrows the handle it is called on, and a reader that uses the same object meanwhile gets
`RuntimeError('Already mutably borrowed')`. Handles of `Tables` are shared, so this work takes a copy (`own`), which is free.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from omnigraph.storage.files.checksums import StoredFile
from omnigraph.storage.files.lance_errors import translated
from omnigraph.storage.lance_format.file_names import version_file
from omnigraph.storage.tables.changes import Applied, IndexState, TableState
from omnigraph.storage.tables.table import Table


def own(table: Table) -> Table:
    """The same table at the same pin, behind a handle that nobody else has."""
    with translated(f"open {table.location} at {table.pin}"):
        dataset = table.dataset.checkout_version(table.pin)
    return table.same(dataset)


def outcome(
    state: TableState,
    before: Table,
    after: Table,
    files: Iterable[str] = (),
    untrained: Iterable[IndexState] = (),
    stored: Iterable[StoredFile] = (),
) -> Applied:
    """What a chain of detached versions came to. `untrained` are indexes that were asked for and could not be built yet.

    `stored` is what is known of its files already: the checksums of the others are taken here.
    """
    found = after.indexes()
    known = {index.name for index in found}
    indexes = sorted((*found, *(i for i in untrained if i.name not in known)), key=lambda i: i.name)
    old, new = set(before.fragment_ids()), set(after.fragment_ids())
    moved = () if after.pin == before.pin else (*files, f"{after.location}/{version_file(after.pin)}")
    known_files = () if after.pin == before.pin else tuple(stored)
    paths = {file.path for file in known_files}
    after.place.sync(moved)  # here, so that publishing has nothing left to wait for
    return Applied(
        replace(state, pin=after.pin, fragments=len(new), indexes=tuple(indexes)),
        0,
        0,
        tuple(sorted(new - old)),
        tuple(sorted(old - new)),
        moved,
        before.fence,
        (*known_files, *after.stored_files(file for file in moved if file[len(after.location) + 1 :] not in paths)),
    )


def then(first: Applied, second: Applied) -> Applied:
    """Two outcomes, the second on top of the first, as one: what came and went from before the first to after the second."""
    came, went = set(first.fragments_added), set(second.fragments_removed)
    return Applied(
        second.state,
        first.added + second.added,
        first.removed + second.removed,
        tuple(sorted((came - went) | set(second.fragments_added))),
        tuple(sorted(set(first.fragments_removed) | (went - came))),
        (*first.files, *second.files),
        min(first.fence, second.fence),
        (*first.stored, *second.stored),
        second.at,
    )
