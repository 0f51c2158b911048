"""What an update or delete is about: the committed entities for which its `where` holds, and what that was found out from.

A condition that fixes the id or the whole key names one entity; one that fixes an end of an edge is about the edges of that node,
which an index finds; any other is about the whole type. What was looked at is what the change relies on:

    where name = "Ada" and age > 3                 the entity            `rows`
    where from = "Ada" and to = "Bob"              edges of one node     `ends`, and the edges found
    where age > 3 or name = "Ada"                  the type              `types`
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from omnigraph.catalog import logical as lg
from omnigraph.catalog.catalog import EntityType
from omnigraph.catalog.columns import columns_of
from omnigraph.catalog.keys import entity_id
from omnigraph.engine.arrays.chunked import whole
from omnigraph.engine.arrays.column import Mask, Vec
from omnigraph.engine.execution.evaluate import Scope, constant, holds
from omnigraph.engine.execution.frame import Frame
from omnigraph.engine.execution.operators import run_steps
from omnigraph.engine.execution.run import Run
from omnigraph.engine.planning import steps as st
from omnigraph.engine.planning.bindings import Binding, EdgeBinding, NodeBinding
from omnigraph.engine.planning.parameters import Value
from omnigraph.engine.planning.rules import key_lookup
from omnigraph.engine.snapshot.committed import existing, places
from omnigraph.engine.snapshot.view import table_key
from omnigraph.engine.write.staging import Row
from omnigraph.errors import KeyValueError
from omnigraph.model.types import Scalar
from omnigraph.storage.lance_format.filters import one_of
from omnigraph.storage.tables.changes import RowPlace
from omnigraph.storage.tables.lookups import FEW_IDS, rows_at, rows_where_seen
from omnigraph.storage.tables.rows import images

_NO_TAIL = st.Tail((), False, (), None, 0)


@dataclass
class ReliedOn:
    """What a mutation looked at, by table: if somebody else changes it, the mutation is void."""

    types: set[str] = field(default_factory=set)
    """Types that were searched…"""
    rows: dict[str, set[str]] = field(default_factory=dict)
    """… entities that were named…"""
    ends: dict[str, set[str]] = field(default_factory=dict)
    """… and nodes whose edges were looked for."""

    def on_rows(self, type_: EntityType, ids: Sequence[str]) -> None:
        self.rows.setdefault(table_key(type_), set()).update(ids)


@dataclass
class Found:
    """Committed entities, by id."""

    rows: dict[str, Row]
    stood: tuple[RowPlace, ...] = ()
    """Where some of them stand."""


class TableRows(Scope):
    """Rows that are at hand: conditions and values are evaluated on their columns."""

    __slots__ = ("_columns",)

    def __init__(self, run: Run, rows: pa.Table) -> None:
        super().__init__(run, Frame(rows.num_rows, {}), {})
        self._columns = rows

    def property(self, variable: str, name: str) -> Vec:
        return Vec.of(whole(self._columns[name]))


class Searching:
    """Finds what conditions are about, next to one view."""

    def __init__(self, run: Run, relied_on: ReliedOn) -> None:
        self._run, self._view, self._relied_on = run, run.view, relied_on

    def found(self, type_: EntityType, where: lg.Condition) -> Found:
        """Complete images of the entities for which a condition holds."""
        if self.holds_for_nothing(where):  # whatever there is
            return Found({})
        fixed = self._note(type_, where)
        named = self._named(type_, fixed)
        if named is None and _end(type_, fixed) is None:
            return Found(*self.images(type_, self._searched(type_, where)))
        return self._among_few(type_, where, fixed, named)

    def ids(self, type_: EntityType, where: lg.Condition) -> tuple[list[str], tuple[RowPlace, ...]]:
        """Only their ids, and where they stand as far as that is known."""
        if self.holds_for_nothing(where):
            return [], ()
        fixed = self._note(type_, where)
        named = self._named(type_, fixed)
        if named is not None and type_.is_node and _says_no_more(where):
            return [named] if existing(self._view, type_, pa.array([named], pa.string())).all() else [], ()
        if named is None and _end(type_, fixed) is None:
            return self._searched(type_, where), ()
        found = self._among_few(type_, where, fixed, named)
        return sorted(found.rows), found.stood

    def _among_few(self, type_: EntityType, where: lg.Condition, fixed: dict[str, Value], named: str | None) -> Found:
        """Those of one id, or of the edges of one node, for which a condition holds."""
        if named is not None:
            rows, stood = self.images(type_, [named])
        else:
            end = _end(type_, fixed)
            assert end is not None
            rows, stood = self._edges_of(type_, *end)
            self._relied_on.on_rows(type_, list(rows))
        if not rows or _says_no_more(where):
            return Found(rows, stood)
        kept = self.kept(type_, rows, where)
        return Found(kept, tuple(place for place in stood if place.id in kept))

    def kept(self, type_: EntityType, rows: dict[str, Row], where: lg.Condition) -> dict[str, Row]:
        """Those of some images for which a condition holds."""
        if not rows or self.holds_for_nothing(where):
            return {}
        mask: Mask = holds(where, TableRows(self._run, table_of(type_, list(rows.values()))))
        return {id_: row for (id_, row), keep in zip(rows.items(), mask.tolist(), strict=True) if keep}

    def holds_for_nothing(self, where: lg.Condition) -> bool:
        """Null, a list or a vector is neither equal nor unequal to anything."""
        if not isinstance(where, lg.Compare) or not isinstance(where.left, lg.PropertyValue):
            return False
        if not isinstance(where.right, lg.Parameter | lg.Constant | lg.Now):
            return False
        value = constant(where.right, self._run)
        return value is None or isinstance(value, tuple)

    def images(self, type_: EntityType, ids: Sequence[str]) -> tuple[dict[str, Row], tuple[RowPlace, ...]]:
        """Complete rows of some entities, those that exist."""
        blobs = any(prop.type.is_blob for prop in type_.properties.values())
        stored, tables = self._view.stored(type_), self._view.workspace.store.tables
        if not ids:
            return {}, ()
        ready = self._view.images.get(table_key(type_), {})
        if all(id_ in ready for id_ in ids):
            rows = {id_: row for id_ in ids if (row := ready[id_][0]) is not None}
            return rows, tuple(place for id_ in ids if (place := ready[id_][1]) is not None)
        seen = () if blobs else places(self._view, type_, ids)
        found: dict[str, Row] = {row["id"]: row for row in rows_at(tables, stored.state, seen)}
        rest = [id_ for id_ in ids if id_ not in found]
        if blobs or len(rest) > FEW_IDS:
            return found | {row["id"]: row for row in images(stored.table, rest).to_pylist()}, ()
        more, stood = rows_where_seen(tables, stored.state, "id", rest) if rest else ([], ())
        return found | {row["id"]: row for row in more}, (*(place for place in seen if place.id in found), *stood)

    def look_up(self, type_: EntityType, ids: Sequence[str]) -> None:
        """Have the images of some entities ready, for several mutations next to this view that are about one each."""
        rows, stood = self.images(type_, ids)
        places = {place.id: place for place in stood}
        self._view.images[table_key(type_)] = {id_: (rows.get(id_), places.get(id_)) for id_ in ids}

    def named(self, type_: EntityType, where: lg.Condition) -> str | None:
        """The id that a condition fixes, whether or not there is such an entity; None: it is about others, or about nothing."""
        return None if self.holds_for_nothing(where) else self._named(type_, self._fixed(where))

    # ── what a condition fixes ───────────────────────────────────────────────────────────────────────────────────────────────

    def _note(self, type_: EntityType, where: lg.Condition) -> dict[str, Value]:
        """Properties that a condition fixes; noted down is what the mutation relies on therefore."""
        fixed = self._fixed(where)
        named, end = self._named(type_, fixed), _end(type_, fixed)
        if named is not None:
            self._relied_on.on_rows(type_, [named])
        elif end is not None:
            self._relied_on.ends.setdefault(table_key(type_), set()).add(end[1])
        else:
            self._relied_on.types.add(table_key(type_))
        return fixed

    def _fixed(self, where: lg.Condition) -> dict[str, Value]:
        found: dict[str, Value] = {}
        for part in conjuncts(where):
            match part:
                case lg.Compare(lg.PropertyValue(_, name), lg.Comparator.EQ, other) if _is_constant(other):
                    found.setdefault(name, constant(other, self._run))
                case lg.Compare(other, lg.Comparator.EQ, lg.PropertyValue(_, name)) if _is_constant(other):
                    found.setdefault(name, constant(other, self._run))
                case _:
                    pass
        return found

    def _named(self, type_: EntityType, fixed: dict[str, Value]) -> str | None:
        """The id that is fixed, whether or not there is such an entity; None: it is not."""
        id_ = fixed.get("id")
        if isinstance(id_, str):
            return id_
        if not type_.key or any(not _spells(prop.type.scalar, fixed.get(prop.name)) for prop in type_.key):
            return None
        try:
            return entity_id(type_.key, fixed)  # type: ignore[arg-type]
        except KeyValueError:  # out of range: nobody has it
            return None

    # ── looking ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _edges_of(self, type_: EntityType, column: str, node: str) -> tuple[dict[str, Row], tuple[RowPlace, ...]]:
        stored = self._view.stored(type_)
        if any(prop.type.is_blob for prop in type_.properties.values()):
            ids = stored.table.read(["id"], one_of(column, [node]))["id"].to_pylist()
            return self.images(type_, ids)
        return _by_id(*rows_where_seen(self._view.workspace.store.tables, stored.state, column, [node]))

    def _searched(self, type_: EntityType, where: lg.Condition) -> list[str]:
        """Ids of all for which a condition holds, sorted."""
        if type_.is_edge:
            edges = self._view.edges(type_.name)
            frame = Frame(edges.count, {lg.IT: np.arange(edges.count)})
            scope = Scope(self._run, frame, {lg.IT: EdgeBinding(type_.name)})
            return sorted(edges.values(np.flatnonzero(holds(where, scope)), "id").to_pylist())
        bindings: dict[str, Binding] = {lg.IT: NodeBinding((type_.name,))}
        scan = st.Scan(lg.IT, (type_.name,), tuple(conjuncts(where)))
        plan = key_lookup.apply(st.Plan((scan,), _NO_TAIL, bindings), self._view.catalog)
        numbers = [frame.columns[lg.IT] for frame in run_steps(plan.steps, self._run, plan.bindings)]
        return sorted(self._view.nodes(type_.name).ids(np.concatenate(numbers)).to_pylist()) if numbers else []


def conjuncts(where: lg.Condition) -> list[lg.Condition]:
    """What must hold, part by part."""
    return [inner for part in where.parts for inner in conjuncts(part)] if isinstance(where, lg.AllOf) else [where]


def _is_constant(value: lg.Expression) -> bool:
    return isinstance(value, lg.Parameter | lg.Constant | lg.Now)


def _spells(scalar: Scalar, value: Value) -> bool:
    """Whether a value says how it is spelt in an id: texts do, and whole numbers."""
    if scalar is Scalar.STRING:
        return isinstance(value, str)
    return scalar.is_integer and isinstance(value, int) and not isinstance(value, bool)


def _end(type_: EntityType, fixed: dict[str, Value]) -> tuple[str, str] | None:
    for column in ("src", "dst") if type_.is_edge else ():
        node = fixed.get(column)
        if isinstance(node, str):
            return column, node
    return None


def _says_no_more(where: lg.Condition) -> bool:
    """Whether a condition holds for everything that was looked up by what it fixes."""
    return len(conjuncts(where)) == 1


def _by_id(rows: Sequence[dict[str, Any]], stood: tuple[RowPlace, ...]) -> tuple[dict[str, Row], tuple[RowPlace, ...]]:
    return {row["id"]: row for row in sorted(rows, key=lambda row: str(row["id"]))}, stood


def table_of(type_: EntityType, rows: Sequence[Row]) -> pa.Table:
    """Images as columns."""
    blobs = {name for name, prop in type_.properties.items() if prop.type.is_blob}
    return pa.Table.from_pylist(list(rows), schema=pa.schema([f for f in columns_of(type_) if f.name not in blobs]))
