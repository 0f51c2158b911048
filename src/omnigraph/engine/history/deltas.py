"""Finding what differs between two states of a graph, at a cost that depends on the difference and not on the size of the graph.

Per type there are two pins. If they are equal nothing differs, and nothing is read. If not, the fragments they do not share are
read and their rows matched by id (`omnigraph.storage.tables.differences`).

That is little as long as nobody rewrote the table in between. Where compaction did, two pins share no fragment although they hold
the same rows; but the lineage says which commits were maintenance. So the way from one state to the other is cut at those
commits, each stretch is compared by itself, and the results are composed:

    commit    c1 ──── c2 ──── optimize ──── c4 ──── c5
    pin       A       B       │ B → C │     D       E
              └ A against B ──┘       └── C against E ──┘          composed: what differs between A and E

Two states on different branches are compared through the commit where they parted, if that is cheaper.

A property that the earlier state had once and has dropped makes no difference between entities, whether their rows were written
again since or not: its images have there what they have later. That it is gone is a change of the schema.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.catalog.catalog import Catalog, EntityType
from omnigraph.engine.arrays.chunked import among, whole
from omnigraph.engine.history.commit_log import CommitLog
from omnigraph.engine.history.row_delta import RowDelta, image_columns, no_images
from omnigraph.engine.snapshot.view import View, Workspace, table_key
from omnigraph.errors import HistoryReclaimed
from omnigraph.model.frozen import frozen
from omnigraph.storage.commits.lineage import OpClass, merge_base
from omnigraph.storage.graph_store import Snapshot
from omnigraph.storage.lance_format.filters import equal, one_of
from omnigraph.storage.tables.changes import TableState
from omnigraph.storage.tables.differences import (
    Part,
    Unlike,
    addresses,
    at_addresses,
    everything,
    in_both,
    read_parts,
    rows_apart,
    unlike,
)
from omnigraph.storage.tables.rows import found
from omnigraph.storage.tables.table import Table

DIRECT_ROWS = 16_384
"""Up to so many rows two pins are compared without asking whether the lineage knows a shorter way: as many as a fold rewrites."""

SLIM_ROWS = 256
"""Up to so many rows that came, old images are done without."""

Type = EntityType


@dataclass
class Reads:
    """What finding differences has cost so far: the cost tests count on it."""

    rows: int = 0
    parts: int = 0


@frozen(slots=False)
class _End:
    """A type at one commit."""

    commit: str
    schema: str
    type: Type | None
    state: TableState | None


def types_of(catalog: Catalog) -> dict[str, Type]:
    """Every type by the key of its table."""
    every: list[Type] = [*catalog.nodes.values(), *catalog.edges.values()]
    return {table_key(type_): type_ for type_ in every}


class Deltas:
    """Differences between states of one graph. Safe from any thread."""

    def __init__(self, workspace: Workspace, log: CommitLog, catalog: Callable[[Snapshot], Catalog]) -> None:
        self._workspace = workspace
        self._log = log
        self._catalog = catalog
        self.reads = Reads()

    def between(
        self, before: View, after: View, keys: Collection[str] | None = None, shown: Mapping[str, Type] | None = None
    ) -> Iterator[RowDelta]:
        """What differs, type by type; types in which nothing does are left out. `keys` chooses tables.

        Images are shown in the properties of the later state, or of types of another schema (`shown`).
        """
        old, new = types_of(before.catalog), types_of(after.catalog)
        known = self._known_before(before, after) if shown is None else {}
        for key in sorted(old.keys() | new.keys() if keys is None else keys):
            first = _End(before.snapshot.layout, before.snapshot.schema, old.get(key), before.snapshot.tables.get(key))
            second = _End(after.snapshot.layout, after.snapshot.schema, new.get(key), after.snapshot.tables.get(key))
            dropped = frozenset[str]()
            if key in known and first.type is not None and second.type is not None:
                dropped = _dropped(known[key], first.type, second.type)
            delta = self._between(key, first, second, None if shown is None else shown.get(key), dropped)
            if delta is not None and not delta.is_empty:
                yield delta

    def of_types(
        self, before: View, old: tuple[Type | None, str], after: View, new: tuple[Type | None, str], parted: int
    ) -> RowDelta | None:
        """What differs between a type of one state and a type of another, each with the key of its table.

        `parted` is the first identity that was not given when the two states parted.
        """
        dropped = frozenset[str]()
        if old[0] is not None and new[0] is not None:
            still = {prop.property_id for prop in old[0].properties.values()}
            dropped = frozenset(n for n, p in new[0].properties.items() if p.property_id < parted and p.property_id not in still)
        states = before.snapshot.tables.get(old[1]), after.snapshot.tables.get(new[1])
        return self.of_pins(old[0], states[0], new[0], states[1], dropped=dropped)

    def parted(self, old: View, new: View) -> int | None:
        """The first identity that was not given when two states parted; None where identities mean the same in both."""
        schemas = {view.snapshot.schema for view in (old, new)}
        base = None if len(schemas) == 1 else merge_base(old.snapshot.commit, new.snapshot.commit, self._log.logical_parents)
        if base is None:
            return None
        commit = self._log.get(base)
        if commit.schema in schemas:
            return None
        return self._catalog(Snapshot(commit.branch, commit.id, commit.schema, {}, commit.id)).ir.next_id

    def _known_before(self, before: View, after: View) -> dict[str, Type]:
        """The types of the state that two states have in common, by the keys of their tables; none if the first is that state."""
        if before.snapshot.schema == after.snapshot.schema:
            return {}
        base = merge_base(before.snapshot.commit, after.snapshot.commit, self._log.logical_parents)
        if base is None or base == before.snapshot.commit:
            return {}
        if base == after.snapshot.commit:
            return types_of(after.catalog)
        commit = self._log.get(base)
        return types_of(self._catalog(Snapshot(commit.branch, commit.id, commit.schema, {}, commit.id)))

    def _between(
        self, key: str, first: _End, second: _End, shown: Type | None, dropped: frozenset[str] = frozenset()
    ) -> RowDelta | None:
        if first.state is None or second.state is None or first.type is None or second.type is None:
            return self.of_pins(first.type, first.state, second.type, second.state, shown)
        if first.state.holds_what(second.state):
            return None
        if first.schema == second.schema and (apart := self._apart(first.state, second.state)) > DIRECT_ROWS:
            way = self._shorter_way(key, first, second, apart)
            if way is not None:
                return self._composed(second.type, way, shown or second.type)
        return self.of_pins(first.type, first.state, second.type, second.state, shown, dropped)

    def of_pins(
        self,
        old: Type | None,
        before: TableState | None,
        new: Type | None,
        after: TableState | None,
        shown: Type | None = None,
        dropped: frozenset[str] = frozenset(),
    ) -> RowDelta | None:
        """What differs between two pins of a table. One without a type or a state holds nothing.

        `dropped` are properties of the second that the first had once: they make no difference.
        """
        type_ = shown or new or old
        if type_ is None or (before is None and after is None):
            return None
        type_ = _holding(type_, old, new)
        if before is not None and after is not None and before.holds_what(after):
            return None
        state = after or before
        assert state is not None
        columns = tuple(
            () if t is None else tuple((p.name, p.property_id, p.type.form) for p in t.properties.values())
            for t in (type_, old, new)
        )
        pins = tuple(state and (state.location, state.pin) for state in (before, after))
        key = (state.location, pins, "delta", type_.name, columns, dropped)
        found: RowDelta = self._workspace.memory.keep(
            key, lambda: self._compared(type_, old, before, new, after, dropped), lambda d: d.nbytes + 1024
        )
        return found if found.type is type_ else replace(found, type=type_)

    def _compared(
        self,
        type_: Type,
        old: Type | None,
        before: TableState | None,
        new: Type | None,
        after: TableState | None,
        dropped: frozenset[str],
    ) -> RowDelta:
        first = None if before is None or old is None else self._open(before)
        second = None if after is None or new is None else self._open(after)
        if first is not None and second is not None:
            parts = unlike(first, second)
        else:
            parts = Unlike(() if first is None else everything(first), () if second is None else everything(second))
        rows = []
        for table, of, chosen in ((first, old, parts.gone), (second, new, parts.came)):
            rows.append(no_images(type_) if table is None or of is None else self._read(table, of, type_, chosen))
        return RowDelta.of(type_, _as_later(rows[0], rows[1], dropped), rows[1])

    def slim(self, before: TableState, new: Type, after: TableState, shown: Type) -> RowDelta | None:
        """What differs between two pins, without the old images. None: not to be had for less than with them.

        Rows that went from a large fragment are marked all over it, and reading them costs a request or more each. But the rows
        that came say which entities they are, and the index on ids says where those stood. What stood at a mark and did not come
        again was removed; only of that the ids are read.
        """
        first, second = self._open(before), self._open(after)
        parts = unlike(first, second)
        rows_that_came = sum(part.rows for part in parts.came)
        indexed = any(i.column == "id" and i.covered for i in before.indexes)
        if not indexed or rows_that_came > SLIM_ROWS or not parts.gone or any(part.offsets is None for part in parts.gone):
            return None
        rows = self._read(second, new, shown, parts.came)
        came, gone = whole(rows["id"]), addresses(parts.gone)
        stood, _ = found(first, (), one_of("id", came))
        removed = at_addresses(parts.gone, np.setdiff1d(gone, stood))
        self.reads.parts += len(removed)
        self.reads.rows += sum(part.rows for part in removed)
        ids = [whole(read_parts(first, removed, ["id"])["id"])] if removed else []
        return RowDelta.slim(shown, pa.concat_arrays([*ids, self._held(first, came, len(stood))]), rows)

    def _held(self, table: Table, ids: pa.Array, count: int) -> pa.Array:
        """Those of a few ids that a table has, so many of them. Where an index says it, no row is read."""
        if count in (0, len(ids)):
            return ids.slice(0, count)
        return ids.filter(pa.array([bool(len(found(table, (), equal("id", id_))[0])) for id_ in ids]))

    def touched_too(self, theirs: RowDelta, base: TableState, of: Type, there: TableState, now: TableState) -> RowDelta | None:
        """Of what differs between a base and `there`, what differs between the base and `now`. None: not to be had this way.

        An entity that the base has was touched on both sides exactly if its row in the base is gone on both sides. So of the
        base's rows none are read but those; what is new is in files of its own. `of` is the type as the base has it.
        """
        tables = [self._open(state) for state in (base, there, now)]
        if max(rows_apart(tables[0], tables[1]), rows_apart(tables[0], tables[2])) > DIRECT_ROWS:
            return None
        ours = unlike(tables[0], tables[2])
        gone = in_both(unlike(tables[0], tables[1]).gone, ours.gone)
        before = self._read(tables[0], of, theirs.type, gone)
        came = self._read(tables[2], theirs.type, theirs.type, ours.came)
        kept = [rows.filter(pa.array(among(whole(rows["id"]), theirs.ids))) for rows in (before, came)]
        return RowDelta.of(theirs.type, *kept)

    def _read(self, table: Table, of: Type, wanted: Type, parts: Collection[Part]) -> pa.Table:
        self.reads.parts += len(parts)
        self.reads.rows += sum(part.rows for part in parts)
        if not parts:
            return no_images(wanted)
        return aligned(read_parts(table, tuple(parts)), of, wanted)

    def _open(self, state: TableState) -> Table:
        return self._workspace.store.tables.open(state)

    def _apart(self, before: TableState, after: TableState) -> int:
        return rows_apart(self._open(before), self._open(after))

    # ── ways through the lineage ─────────────────────────────────────────────────────────────────────────────────────────────

    def _composed(self, type_: Type, way: list[tuple[TableState, TableState]], shown: Type) -> RowDelta:
        together = RowDelta.nothing(shown)
        for before, after in way:
            step = self.of_pins(type_, before, type_, after, shown)
            together = together if step is None else together.then(step)
        return together

    def _shorter_way(self, key: str, first: _End, second: _End, apart: int) -> list[tuple[TableState, TableState]] | None:
        """Stretches to compare instead of the two ends, if that reads less than so many rows."""
        try:
            way = self._way(key, first, second)
            if way is None:
                return None
            return way if sum(self._apart(*stretch) for stretch in way) < apart else None
        except HistoryReclaimed:  # some state along it is gone; the two ends are not
            return None

    def _way(self, key: str, first: _End, second: _End) -> list[tuple[TableState, TableState]] | None:
        forwards = self._stretches(key, first, second)
        if forwards is not None:
            return forwards
        backwards = self._stretches(key, second, first)
        if backwards is not None:
            return _reversed(backwards)
        base = merge_base(first.commit, second.commit, self._log.parents)
        if base is None or base in (first.commit, second.commit):
            return None
        parted = self._log.snapshot(base)
        middle = _End(base, parted.schema, first.type, parted.tables.get(key))
        if middle.state is None or middle.schema != first.schema:
            return None
        down, up = self._stretches(key, middle, first), self._stretches(key, middle, second)
        return None if down is None or up is None else [*_reversed(down), *up]

    def _stretches(self, key: str, first: _End, second: _End) -> list[tuple[TableState, TableState]] | None:
        """From an older commit along first parents to a younger one, cut at maintenance. None: it does not lead there."""
        assert first.state is not None
        assert second.state is not None
        if first.commit == second.commit:
            return []
        chain = self._log.first_parents(second.commit, self._log.get(first.commit).seq)
        if not chain or chain[-1].parent != first.commit:
            return None
        found, start = [], first.state
        for commit in reversed(chain):
            for change in commit.changes:
                if change.table == key and commit.op_class is OpClass.MAINTENANCE:
                    if change.before is None or change.after is None:
                        return None
                    found.append((start, change.before))
                    start = change.after
        found.append((start, second.state))
        return [(before, after) for before, after in found if not before.holds_what(after)]


def _reversed(way: list[tuple[TableState, TableState]]) -> list[tuple[TableState, TableState]]:
    return [(after, before) for before, after in reversed(way)]


def _dropped(known: Type, first: Type, second: Type) -> frozenset[str]:
    """Properties of the second that the first does not have, and had once."""
    once, still = ({prop.property_id for prop in type_.properties.values()} for type_ in (known, first))
    return frozenset(name for name, prop in second.properties.items() if prop.property_id in once - still)


def _as_later(before: pa.Table, after: pa.Table, columns: Collection[str]) -> pa.Table:
    """Old images with some columns as the new images of the same entities have them."""
    if not columns or not before.num_rows:
        return before
    places = pc.index_in(whole(before["id"]), value_set=whole(after["id"]))
    for name in columns:
        at = before.schema.get_field_index(name)
        before = before.set_column(at, before.schema.field(at), whole(after[name]).take(places))
    return before


def _holding(type_: Type, *states: Type | None) -> Type:
    """A type that holds the values of states in which some of its properties are wider."""
    wider = {}
    for state in (s for s in states if s is not None and s is not type_):
        there = {prop.property_id: prop.type for prop in state.properties.values()}
        for name, prop in type_.properties.items():
            other = there.get(prop.property_id)
            if other is not None and other.widens(prop.type):
                wider[name] = replace(prop, type=other)
    return type_ if not wider else replace(type_, properties={**type_.properties, **wider})


def aligned(rows: pa.Table, of: Type, wanted: Type) -> pa.Table:
    """Rows of a type in the columns it has in another schema: properties are matched by identity, not by name."""
    schema = image_columns(wanted)
    names = {prop.property_id: prop.name for prop in of.properties.values()}
    if of is wanted or names == {prop.property_id: prop.name for prop in wanted.properties.values()}:
        return rows.select(schema.names).cast(schema)
    columns = []
    for field in schema:
        prop = wanted.properties.get(field.name)
        name = field.name if prop is None else names.get(prop.property_id)
        there = name is not None and name in rows.column_names
        columns.append(rows[name].cast(field.type) if there else pa.nulls(rows.num_rows, field.type))
    return pa.Table.from_arrays(columns, schema=schema)
