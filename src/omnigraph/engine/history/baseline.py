"""A baseline: everything there is at one commit, and the cursor that starts right after it.

Whoever keeps a copy of a graph up to date begins with a baseline and then follows the change feed. Nothing is missed and nothing
comes twice, whatever is committed while the baseline is read: the records are those of one commit, the cursor stands on it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from omnigraph.catalog.catalog import EdgeType
from omnigraph.engine.history.changes import Filter, spelt
from omnigraph.engine.history.deltas import types_of
from omnigraph.engine.history.row_delta import raw_rows
from omnigraph.engine.view import View
from omnigraph.storage.differences import everything, read_parts

BATCH = 4_096
"""Records made at once."""


@dataclass(frozen=True)
class Baseline:
    """A snapshot to start from."""

    commit: str
    cursor: str
    """Give it to `changes` as `since`."""
    branch: str
    _view: View = field(repr=False)
    _filter: Filter = field(repr=False)

    def records(self) -> Iterator[dict[str, Any]]:
        """Every entity as an export writes it: types by kind and name, entities by id."""
        return records(self._view, self._filter)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The records, and at last the one that says where to go on."""
        yield from self.records()
        yield {"baseline": {"snapshot_commit_id": self.commit, "resume_cursor": self.cursor}}


def records(view: View, chosen: Filter) -> Iterator[dict[str, Any]]:
    """The entities of a view in the order and spelling of an export."""
    types = sorted(types_of(view.catalog).items(), key=lambda item: (not isinstance(item[1], EdgeType), item[1].name))
    for key, type_ in types:
        if not chosen.wants(type_):
            continue
        table = view.workspace.store.tables.open(view.snapshot.tables[key])
        rows = read_parts(table, everything(table)).sort_by("id")
        for at in range(0, rows.num_rows, BATCH):
            for row in raw_rows(rows.slice(at, BATCH)):
                data = {"id": row["id"], **{n: spelt(type_.properties[n].type, row[n]) for n in sorted(type_.properties)}}
                if isinstance(type_, EdgeType):
                    yield {"edge": type_.name, "from": row["src"], "to": row["dst"], "data": data}
                else:
                    yield {"type": type_.name, "data": data}
