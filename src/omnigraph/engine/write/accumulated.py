"""Changes one after the other as one change, and the graph as it is in between.

    base ── c1 ──▶ pending ── c2 ──▶ pending       what is committed in the end:  c1 and c2, on top of base

A later change was made next to the graph with the earlier ones, so it may remove what they added and add what they removed. Added
up, an entity that came and went again has left no trace; one that went and came again has another image.

The graph in between is a view like any other (`uncommitted`).
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.engine.arrays.chunked import NO_IDS, among
from omnigraph.engine.snapshot.committed import existing
from omnigraph.engine.snapshot.view import View, table_key
from omnigraph.engine.write.changeset import ChangeSet, Delta, typed
from omnigraph.engine.write.mutate import Outcome
from omnigraph.engine.write.rules import values
from omnigraph.engine.write.uncommitted import uncommitted
from omnigraph.engine.write.validate import violations
from omnigraph.engine.write.violations import refuse
from omnigraph.errors import ResourceLimit
from omnigraph.hints import Action, Hint
from omnigraph.model.limits import MAX_MUTATION_ROWS


class Accumulated:
    """What several mutations come to. Begins with nothing, next to a view."""

    def __init__(self, base: View) -> None:
        self.base = base
        self.nodes = 0
        self.edges = 0
        self._deltas: dict[str, Delta] = {}
        self._searched: set[str] = set()
        self._read_rows: dict[str, set[str]] = {}
        self._read_ends: dict[str, set[str]] = {}

    def add(self, outcome: Outcome) -> None:
        """One more. It was staged next to what is here, or touches nothing of it.

        If a row of it breaks a rule about itself, or if it is too much, nothing is added.
        """
        refuse([violation for delta in outcome.changes for violation in values.check(delta)])
        deltas = dict(self._deltas)
        for delta in outcome.changes:
            before = deltas.get(delta.key)
            deltas[delta.key] = added = delta if before is None else self._after(before, delta)
            if before is not None and len(before.removed):
                self._rely_on(delta, before.removed.filter(pa.array(among(before.removed, delta.ids))))
            if added.rows.num_rows > MAX_MUTATION_ROWS:
                raise ResourceLimit(
                    f"a transaction may put at most {MAX_MUTATION_ROWS:,} rows of {delta.type.name}",
                    hint=Hint("For bulk changes use ", Action("load"), "."),
                )
        self._deltas = deltas
        self.nodes += outcome.nodes
        self.edges += outcome.edges
        self._searched |= outcome.searched
        for all_, read in ((self._read_rows, outcome.read_rows), (self._read_ends, outcome.read_ends)):
            for key, ids in read.items():
                all_.setdefault(key, set()).update(ids)

    def _rely_on(self, delta: Delta, back: pa.Array) -> None:
        """What went and came again was there, and a node has lost its edges: one that somebody adds would outlive it."""
        if not len(back):
            return
        ids = back.to_pylist()
        self._read_rows.setdefault(delta.key, set()).update(ids)
        for edge in self.base.catalog.incident_edges(delta.type.name) if delta.is_node else ():
            self._read_ends.setdefault(table_key(edge), set()).update(ids)

    def _after(self, before: Delta, later: Delta) -> Delta:
        stays = np.logical_not(among(before.ids, later.touched))
        kept = before.rows if stays.all() else before.rows.filter(pa.array(stays))
        rows = pa.concat_tables([typed(later.type, some) for some in (kept, later.rows)])
        gone = later.removed
        if len(gone):
            gone = gone.filter(pa.array(existing(self.base, later.type, gone)))
        removed = pc.unique(pa.concat_arrays([before.removed.cast(pa.string()), gone.cast(pa.string())]))
        removed = removed.filter(pa.array(np.logical_not(among(removed, later.ids)))) if len(removed) else NO_IDS
        # In one chunk: what is done with a table of many costs as much per chunk as per thousand rows.
        return Delta(later.type, rows.combine_chunks(), removed, fresh=before.fresh and later.fresh)

    @property
    def is_empty(self) -> bool:
        return all(delta.is_empty for delta in self._deltas.values())

    @property
    def outcome(self) -> Outcome:
        """All of it as one mutation would have done it."""
        rows, ends = ({key: frozenset(ids) for key, ids in read.items()} for read in (self._read_rows, self._read_ends))
        return Outcome(ChangeSet(self._deltas.values()), self.nodes, self.edges, frozenset(self._searched), rows, ends)


def with_changes(view: View, changes: ChangeSet, name: str) -> View:
    """The graph with a change that nobody has committed, if that is valid. The name is what no other state is called."""
    refuse(violations(changes, view))
    return uncommitted(view, changes, name)
