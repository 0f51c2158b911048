"""Mutations: statements in order, one commit in the end.

    insert   a keyed node replaces the one with its key; everything else gets a fresh id
    update   committed entities and those of earlier statements; never the key
    delete   entities, and with a node every edge that touches it

`where` compares one property; a missing value never fulfils it, nor does a list or a vector. What an update or delete searched is
its read set: the entity, where it names a key; the edges of a node, where it names an end; else the whole type. If somebody else
changes that meanwhile, the mutation is void and says so. Inserts are not: they are checked again against what came in between,
and go through.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from omnigraph.catalog import logical as lg
from omnigraph.catalog.catalog import EntityType
from omnigraph.catalog.keys import entity_id
from omnigraph.engine.arrays.chunked import whole
from omnigraph.engine.arrays.column import Vec
from omnigraph.engine.blobs.settling import External
from omnigraph.engine.execution.evaluate import Scope, constant, holds
from omnigraph.engine.execution.frame import Frame
from omnigraph.engine.execution.operators import run_steps
from omnigraph.engine.execution.run import Run
from omnigraph.engine.planning import steps as st
from omnigraph.engine.planning.bindings import EdgeBinding, NodeBinding
from omnigraph.engine.planning.rules import key_lookup
from omnigraph.engine.snapshot.committed import existing, places, rows_where, touching
from omnigraph.engine.snapshot.view import View, table_key
from omnigraph.engine.write.blobs import copied
from omnigraph.engine.write.changeset import ChangeSet, Delta
from omnigraph.engine.write.convert import stored
from omnigraph.engine.write.rules import values
from omnigraph.engine.write.staging import MutationStaging, Row
from omnigraph.engine.write.violations import refuse
from omnigraph.errors import ParameterError, UsageError
from omnigraph.model.blobs import uri_of
from omnigraph.model.ids import IdSource
from omnigraph.model.types import Scalar
from omnigraph.storage.tables.rows import images
from omnigraph.storage.tables.small_changes import rows_at

_VARIABLE = "it"


@dataclass
class Outcome:
    """What a mutation comes to, before it is committed."""

    changes: ChangeSet
    nodes: int = 0
    edges: int = 0
    searched: frozenset[str] = field(default_factory=frozenset)
    """Types that were searched, by their tables…"""
    read_rows: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """… entities that were named…"""
    read_ends: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """… and nodes whose edges were looked for."""

    @property
    def relied_on(self) -> dict[str, Any]:
        """What a commit of it is to be told."""
        return {"strict": self.searched, "read_rows": self.read_rows, "read_ends": self.read_ends}


def stage(query: lg.MutationQuery, run: Run, ids: IdSource, external: External | None = None) -> Outcome:
    """Run the statements against a view."""
    mutation = _Mutation(run, ids, copied(query, run, external or External()))
    for statement in query.statements:
        mutation.run_statement(statement)
    refuse([v for delta in mutation.staging.every_version() for v in values.check(delta)])
    read_rows, read_ends = (
        {key: frozenset(ids) for key, ids in read.items()} for read in (mutation.read_rows, mutation.read_ends)
    )
    changes = mutation.staging.changes()
    return Outcome(changes, mutation.nodes, mutation.edges, frozenset(mutation.searched), read_rows, read_ends)


class _Mutation:
    def __init__(self, run: Run, ids: IdSource, blobs: Mapping[str, bytes]) -> None:
        self.run = run
        self.blobs = blobs
        """What is stored in place of URIs."""
        self.view: View = run.view
        self.ids = ids
        self.staging = MutationStaging()
        self.searched: set[str] = set()
        self.read_rows: dict[str, set[str]] = {}
        self.read_ends: dict[str, set[str]] = {}
        self.nodes = 0
        self.edges = 0

    def run_statement(self, statement: lg.Statement) -> None:
        catalog = self.view.catalog
        match statement:
            case lg.InsertNode(name, assignments):
                self._insert_node(catalog.nodes[name], assignments)
            case lg.InsertEdge(name, source, target, assignments):
                self._insert_edge(catalog.edges[name], source, target, assignments)
            case lg.UpdateNode(name, assignments, where):
                self._update(catalog.nodes[name], assignments, where)
            case lg.DeleteNode(name, where):
                self._delete_nodes(catalog.nodes[name], where)
            case lg.DeleteEdge(name, where):
                edge = catalog.edges[name]
                ids = self._matching_edges(edge, where)
                end = self._named_end(where)
                if end is None:
                    self.searched.add(table_key(edge))
                else:
                    self.read_ends.setdefault(table_key(edge), set()).add(end)
                    self.read_rows.setdefault(table_key(edge), set()).update(ids)
                self.edges += self.staging.remove(edge, ids)

    # ── insert ───────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _insert_node(self, type_: EntityType, assignments: tuple[lg.Assign, ...]) -> None:
        row = self._assigned(assignments)
        id_ = entity_id(type_.key, row) if type_.key else self.ids.next()  # type: ignore[arg-type]
        whole_row: Row = {name: row.get(name) for name in type_.properties}
        self.staging.put(type_, id_, {"id": id_, **whole_row}, fresh=not type_.key)
        self.nodes += 1

    def _insert_edge(
        self, type_: EntityType, source: lg.Expression, target: lg.Expression, assignments: tuple[lg.Assign, ...]
    ) -> None:
        row = self._assigned(assignments)
        ends = {"src": self._endpoint(type_, "from", source), "dst": self._endpoint(type_, "to", target)}
        id_ = self.ids.next()
        whole_row: Row = {name: row.get(name) for name in type_.properties}
        self.staging.put(type_, id_, {"id": id_, **ends, **whole_row}, fresh=True)
        self.edges += 1

    def _endpoint(self, type_: EntityType, name: str, expression: lg.Expression) -> str:
        value = constant(expression, self.run)
        if not isinstance(value, str):
            raise ParameterError(f"`{name}` of {type_.name} is the id of a node, not {value!r}")
        return value

    def _assigned(self, assignments: tuple[lg.Assign, ...]) -> Row:
        row = {a.property: stored(a.property, a.type, constant(a.value, self.run)) for a in assignments}
        for name, value in row.items():
            uri = uri_of(value) if isinstance(value, bytes) else None
            if uri is not None:
                row[name] = self.blobs[uri]
        return row

    # ── update ───────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _update(self, type_: EntityType, assignments: tuple[lg.Assign, ...], where: lg.Where) -> None:
        for assignment in assignments:
            if assignment.property in type_.key_names:
                raise UsageError(
                    f"cannot update @key property '{assignment.property}'",
                    hint="The key is the identity of an entity: insert a new one and delete the old one.",
                )
        new = self._assigned(assignments)
        pending = self.staging.pending(type_)
        named = self._relied_on(type_, where)
        committed = [id_ for id_ in (self._matching_nodes(type_, where) if named is None else named) if id_ not in pending]
        matched = {**self._images(type_, committed), **{id_: pending[id_] for id_ in self._matching_pending(type_, where)}}
        for id_ in sorted(matched):
            if id_ in pending or not all(_same(matched[id_][name], value) for name, value in new.items()):
                self.staging.put(type_, id_, {**matched[id_], **new}, fresh=False)
        self.nodes += len(matched)

    def _images(self, type_: EntityType, ids: list[str]) -> dict[str, Row]:
        blobs = any(prop.type.is_blob for prop in type_.properties.values())
        seen = () if blobs else places(self.view, type_, ids)
        table = self.view.stored(type_).table
        found: dict[str, Row] = {row["id"]: row for row in rows_at(self.view.workspace.store.tables, table, seen)}
        rest = [id_ for id_ in ids if id_ not in found]
        return found | ({row["id"]: row for row in images(table, rest).to_pylist()} if rest else {})

    def _matching_pending(self, type_: EntityType, where: lg.Where) -> list[str]:
        pending = list(self.staging.pending(type_).values())
        if not pending or self._holds_for_nothing(where):
            return []
        delta = MutationStaging()
        for row in pending:
            delta.put(type_, str(row["id"]), row, fresh=True)
        (staged,) = delta.changes()
        found = holds(self._condition(where), _Pending(self.run, staged))
        return [id_ for id_, keep in zip(staged.ids.to_pylist(), found.tolist(), strict=True) if keep]

    # ── delete ───────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _delete_nodes(self, type_: EntityType, where: lg.Where) -> None:
        named = self._relied_on(type_, where)
        ids = self._matching_nodes(type_, where) if named is None else self._existing(type_, named)
        self.nodes += self.staging.remove(type_, ids)
        if not ids:
            return
        gone = pa.array(ids, pa.string())
        for edge in self.view.catalog.incident_edges(type_.name):
            going: list[str] = []
            for column, end in (("src", edge.source), ("dst", edge.target)):
                if end == type_.name:
                    going += whole(touching(self.view, edge, column, gone, ["id", column])["id"]).to_pylist()
            if going:
                self.edges += self.staging.remove(edge, sorted(set(going)))

    # ── where ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _condition(self, where: lg.Where) -> lg.Condition:
        return lg.Compare(lg.PropertyValue(_VARIABLE, where.property, where.type), where.comparator, where.value)

    def _holds_for_nothing(self, where: lg.Where) -> bool:
        """Null, a list or a vector is neither equal nor unequal to anything."""
        value = constant(where.value, self.run)
        return value is None or isinstance(value, tuple)

    def _named(self, type_: EntityType, where: lg.Where) -> list[str] | None:
        """Ids that a predicate about the key names, whether or not there are such nodes; None: it is about something else."""
        if where.comparator is not lg.Comparator.EQ or [prop.name for prop in type_.key] != [where.property]:
            return None
        (key,) = type_.key
        value = constant(where.value, self.run)
        if key.type.scalar is Scalar.STRING:
            return [value] if isinstance(value, str) else []
        if key.type.scalar.is_integer and isinstance(value, int) and not isinstance(value, bool):
            return [str(value)]
        return None

    def _relied_on(self, type_: EntityType, where: lg.Where) -> list[str] | None:
        """The same, noted down as what the mutation relies on; if it is about something else, the whole type is."""
        named = self._named(type_, where)
        if named is None:
            self.searched.add(table_key(type_))
        else:
            self.read_rows.setdefault(table_key(type_), set()).update(named)
        return named

    def _existing(self, type_: EntityType, named: list[str]) -> list[str]:
        there = existing(self.view, type_, pa.array(named, pa.string()))
        return [id_ for id_, is_there in zip(named, there.tolist(), strict=True) if is_there]

    def _named_end(self, where: lg.Where) -> str | None:
        """The node whose edges a predicate is about, if it names one."""
        if where.property not in ("from", "to") or where.comparator is not lg.Comparator.EQ:
            return None
        value = constant(where.value, self.run)
        return value if isinstance(value, str) else None

    def _matching_nodes(self, type_: EntityType, where: lg.Where) -> list[str]:
        """Ids of committed nodes that fulfil a predicate, sorted."""
        if self._holds_for_nothing(where):
            return []
        bindings = {_VARIABLE: NodeBinding((type_.name,))}
        scan = st.Scan(_VARIABLE, (type_.name,), (self._condition(where),))
        plan = key_lookup.apply(st.Plan((scan,), _NO_TAIL, dict(bindings)), self.view.catalog)
        numbers = [frame.columns[_VARIABLE] for frame in run_steps(plan.steps, self.run, plan.bindings)]
        if not numbers:
            return []
        return sorted(self.view.nodes(type_.name).ids(np.concatenate(numbers)).to_pylist())

    def _matching_edges(self, type_: EntityType, where: lg.Where) -> list[str]:
        """Ids of committed edges that fulfil a predicate, sorted."""
        column = {"from": "src", "to": "dst"}.get(where.property, where.property)
        if self._holds_for_nothing(where):
            return []
        value = constant(where.value, self.run)
        if column in ("src", "dst") and where.comparator is lg.Comparator.EQ:
            found = rows_where(self.view, type_, column, pa.array([value], pa.string()), ["id"])
            return sorted(whole(found["id"]).to_pylist())
        edges = self.view.edges(type_.name)
        frame = Frame(edges.count, {_VARIABLE: np.arange(edges.count)})
        scope = Scope(self.run, frame, {_VARIABLE: EdgeBinding(type_.name)})
        kept = np.flatnonzero(holds(self._condition(_renamed(where, column)), scope))
        return sorted(edges.values(kept, "id").to_pylist())


class _Pending(Scope):
    """Rows that exist only in the mutation so far."""

    __slots__ = ("_staged",)

    def __init__(self, run: Run, staged: Delta) -> None:
        super().__init__(run, Frame(staged.rows.num_rows, {}), {})
        self._staged = staged

    def property(self, variable: str, name: str) -> Vec:
        return Vec.of(self._staged.column(name))


def _same(before: object, after: object) -> bool:
    """Whether a value is the one that is there: then it is not written again. Zeros of different signs are two."""
    if type(before) is not type(after) or before != after:
        return False
    return not isinstance(before, float | list) or repr(before) == repr(after)


def _renamed(where: lg.Where, column: str) -> lg.Where:
    return lg.Where(column, where.type, where.comparator, where.value)


_NO_TAIL = st.Tail((), False, (), None, 0)
