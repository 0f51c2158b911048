"""Promote: let a branch be seen by anybody who can read Lance.

A table's own head never moves: the versions a graph consists of are on nobody's lineage, so `lance.dataset("…/nodes/5-7")`
shows the table as it was created. Promoting a branch puts what it pins onto each table's own lineage. Nothing is copied and no
pin changes; the head is one more reader of the same files.

    before   own lineage   1 (empty)                     pinned by main   0x9f3… → 0xc01…
    after    own lineage   1 (empty) ── 2 = 0xc01…       pinned by main   0x9f3… → 0xc01…

Two things come of it. Any tool that speaks Lance reads the promoted branch, with its indexes. And an outsider who runs Lance's
cleanup on the folder, which takes the files of versions on no lineage for garbage, cannot delete the files of the promoted pins:
the head refers to them. (Older commits and other branches he does damage. `verify` finds it.)

The new version is made by Lance's `Restore`, which takes a version over as it is: fragments with their numbers and deletion
files, fields with their ids, index segments. An `Overwrite` with the same fragments would not do: it numbers fragments anew,
is refused as soon as one of them has deleted rows, and forgets the indexes.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import lance
from lance import LanceDataset
from lance import LanceOperation as Op

from omnigraph.storage.files.effects import Call
from omnigraph.storage.files.lance_errors import translated
from omnigraph.storage.graph_store import MAIN, GraphStore
from omnigraph.storage.lance_format.file_names import version_file
from omnigraph.storage.tables.changes import TableState


@dataclass(frozen=True, slots=True)
class Promoted:
    """A table whose own head shows what a branch pins."""

    table: str
    location: str
    pin: int
    version: int
    """The table's own version that shows it."""
    moved: bool
    """False: it did so already."""


def promote(store: GraphStore, branch: str = MAIN) -> list[Promoted]:
    """Make the own head of every table of a branch show what the branch pins. Safe to repeat, and to run beside writers."""
    store.require_writable()
    return [_promote_table(store, state) for _, state in sorted(store.snapshot(branch).tables.items())]


def _promote_table(store: GraphStore, state: TableState) -> Promoted:
    place = store.place
    pinned = store.tables.open(state).dataset
    with translated(f"promote {state.location}"):
        head = lance.dataset(place.child(state.location), storage_options=dict(place.options) or None)
        if _made_of(head) == _made_of(pinned):
            return Promoted(state.table, state.location, state.pin, head.version, moved=False)
        promoted = place.effects.run(
            Call.PROMOTE, lambda: LanceDataset.commit(head, Op.Restore(state.pin), read_version=head.version)
        )
    place.sync([f"{state.location}/{version_file(promoted.version)}"])
    return Promoted(state.table, state.location, state.pin, promoted.version, moved=True)


def _made_of(dataset: LanceDataset) -> str:
    """What a version consists of: same fragments, same fields, same index segments, same text."""
    fields = [[f.name(), f.id()] for f in dataset.lance_schema.fields()]
    fragments = sorted((f.metadata.to_json() for f in dataset.get_fragments()), key=lambda f: f["id"])
    segments = sorted(
        [index.name, segment.uuid, sorted(segment.fragment_ids)]
        for index in dataset.describe_indices()
        for segment in index.segments
    )
    return json.dumps([fields, str(dataset.schema), fragments, segments], sort_keys=True)
