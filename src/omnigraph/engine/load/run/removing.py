"""Deletions that a load brings, next to what it writes: who goes, which edges go with them, and who was not there.

upserts and deletions of one entity     the last one counts; where rows need not be whole, that is refused
a node that goes                        its edges go too, unless the load writes them anew
an edge named by its ends               goes if it is the only one; of several, nobody could say which
somebody who is not there               is counted, and no mistake: a deletion may be repeated
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.catalog.catalog import EntityType
from omnigraph.engine.arrays.chunked import NO_IDS, among, whole
from omnigraph.engine.arrays.column import Mask
from omnigraph.engine.load.read.inputs.sources import Input
from omnigraph.engine.load.read.rows.collected import kept
from omnigraph.engine.load.read.rows.removals import Removals
from omnigraph.engine.load.read.rows.types import Types, label
from omnigraph.engine.snapshot.committed import existing, rows_where, touching
from omnigraph.engine.snapshot.view import View, table_key
from omnigraph.engine.write.changeset import Delta, no_rows
from omnigraph.engine.write.violations import Violation, repeating
from omnigraph.model.phrases import counted
from omnigraph.storage.tables.rows import written_without

Place = tuple[str | None, int | None]


@dataclass
class Removed:
    """What a load deletes, by type."""

    named: dict[str, int] = field(default_factory=dict)
    """Entities that the input named."""
    cascaded: dict[str, int] = field(default_factory=dict)
    """Edges that go because a node of theirs goes."""
    missing: dict[str, int] = field(default_factory=dict)
    """Entities that the input named and that were not there."""
    _only: set[str] = field(default_factory=set)

    def is_cascade_only(self, delta: Delta) -> bool:
        """Whether nothing of a type was given."""
        return label(delta.type) in self._only


class Removing:
    """Puts deletions and rows together."""

    def __init__(self, deltas: Iterable[Delta], view: View, types: Types, inputs: Sequence[Input]) -> None:
        self._deltas = {label(d.type): d for d in deltas}
        self._view, self._types = view, types
        self._order = {input_.name: at for at, input_ in enumerate(inputs)}
        self.violations: list[Violation] = []
        self.removed = Removed()
        self.searched: dict[str, frozenset[str]] = {}
        """Nodes whose edges were looked for, by what they are searched in."""

    def applied(self, removals: Iterable[Removals], *, rewrite: bool) -> list[Delta]:
        """The changes with what goes. `rewrite`: rows that do not count are left out of their files too."""
        by_type: dict[str, list[Removals]] = {}
        for part in removals:
            by_type.setdefault(label(part.type), []).append(part)
        for parts in by_type.values():
            self._apply(parts, rewrite)
        for name in [name for name, delta in self._deltas.items() if delta.is_node and len(delta.removed)]:
            self._cascade(self._deltas[name])
        return list(self._deltas.values())

    def _apply(self, parts: Sequence[Removals], rewrite: bool) -> None:
        type_ = parts[0].type
        delta = self._of(type_)
        found = [self._ids(part) for part in parts]
        ids = pa.concat_arrays([ids for ids, _ in found])
        places = [(part.file, line) for part in parts for line in part.lines.tolist()]
        given = ids.is_valid()
        gone = pc.unique(ids.filter(given))
        both = among(delta.ids, gone) if len(gone) and delta.rows.num_rows else np.zeros(delta.rows.num_rows, np.bool_)
        written = delta.ids.filter(pa.array(both))
        if both.any():
            delta, gone = self._settled(delta, gone, both, dict(zip(ids.to_pylist(), places, strict=True)), rewrite)
        there = existing(self._view, type_, gone)
        removed = gone.filter(pa.array(there))
        missing = int((~there & ~among(gone, written)).sum()) + sum(nowhere for _, nowhere in found)
        self.removed.named[type_.name] = len(removed)
        if missing:
            self.removed.missing[type_.name] = missing
        self._deltas[label(type_)] = replace(delta, removed=removed, looked_for=gone.filter(pa.array(~there)))

    def _of(self, type_: EntityType) -> Delta:
        found = self._deltas.get(label(type_))
        return Delta(type_, no_rows(type_)) if found is None else found

    # ── by ends ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _ids(self, part: Removals) -> tuple[pa.Array, int]:
        """The ids of what goes, null for edges that are not there or cannot be told apart; and how many are not there."""
        if part.ends is None or not part.ids.null_count:
            return part.ids, 0
        unnamed = np.flatnonzero(part.ids.is_null().to_numpy(zero_copy_only=False))
        sources, targets = (end.take(pa.array(unnamed)) for end in part.ends)
        key = table_key(part.type)
        self.searched[key] = self.searched.get(key, frozenset()) | frozenset(sources.to_pylist())
        found = rows_where(self._view, part.type, "src", sources, ["id", "src", "dst"])
        between: dict[tuple[str, str], list[str]] = {}
        for id_, source, target in zip(*(found[name].to_pylist() for name in ("id", "src", "dst")), strict=True):
            between.setdefault((source, target), []).append(id_)
        ids, nowhere = part.ids.to_pylist(), 0
        for row, ends in zip(unnamed.tolist(), zip(sources.to_pylist(), targets.to_pylist(), strict=True), strict=True):
            edges = between.get(ends, [])
            if len(edges) == 1:
                ids[row] = edges[0]
            elif edges:
                several = f"there are {counted(len(edges), 'edge')} from `{ends[0]}` to `{ends[1]}`"
                message = f"{part.type.name}: {several}: name one by its `id`"
                self.violations.append(
                    Violation("id", part.type.name, message, "id", None, None, part.file, int(part.lines[row]))
                )
            else:
                nowhere += 1
        return pa.array(ids, pa.string()), nowhere

    # ── the same entity twice ────────────────────────────────────────────────────────────────────────────────────────────────

    def _settled(
        self,
        delta: Delta,
        gone: pa.Array,
        both: Mask,
        places: Mapping[str, Place],
        rewrite: bool,
    ) -> tuple[Delta, pa.Array]:
        """Rows and deletions of which no two are about one entity: of two, the later one counts."""
        later, stays = ~both, list[str]()
        for row in np.flatnonzero(both).tolist():
            id_ = delta.ids[row].as_py()
            written, deleted = delta.place(row), places[id_]
            if self._types.partial:
                first, again = sorted((written, deleted), key=self._position)
                found = Violation("unique", delta.type.name, "", "id", id_, id_, *again)
                self.violations.append(repeating(found, *first))
            elif self._position(written) > self._position(deleted):
                later[row] = True
                stays.append(id_)
        gone = gone.filter(pa.array(~among(gone, pa.array(stays, pa.string())))) if stays else gone
        if later.all() or self.violations:
            return delta, gone
        without = kept(delta, later)
        if rewrite and delta.written is not None:
            state, table = self._view.snapshot.tables[delta.key], self._view.stored(delta.type).table
            schema = self._types.schema(delta.type)
            without = replace(without, written=written_without(table, state, delta.written, later, schema))
        return without, gone

    def _position(self, place: Place) -> tuple[int, int]:
        file, line = place
        return self._order.get(file, 0), line or 0

    # ── edges of nodes that go ───────────────────────────────────────────────────────────────────────────────────────────────

    def _cascade(self, node: Delta) -> None:
        for edge in self._view.catalog.incident_edges(node.type.name):
            going = pc.unique(pa.concat_arrays([NO_IDS, *self._touching(node, edge)]))
            known = self._deltas.get(label(edge))
            if known is not None and len(going):
                spared = among(going, pa.concat_arrays([known.ids.cast(pa.string()), known.removed]))
                going = going.filter(pa.array(~spared))
            if not len(going):
                continue
            if known is None:
                self.removed._only.add(label(edge))
            delta = self._of(edge)
            self._deltas[label(edge)] = replace(delta, removed=pa.concat_arrays([delta.removed, going]))
            self.removed.cascaded[edge.name] = self.removed.cascaded.get(edge.name, 0) + len(going)

    def _touching(self, node: Delta, edge: EntityType) -> Iterator[pa.Array]:
        for column, end in (("src", edge.source), ("dst", edge.target)):
            if end == node.type.name:
                yield whole(touching(self._view, edge, column, node.removed, ["id", column])["id"])
