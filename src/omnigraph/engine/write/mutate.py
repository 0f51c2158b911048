"""Mutations: statements in order, one commit in the end.

    insert   what has a key replaces the entity with its key, if it differs; everything else gets a fresh id
    update   committed entities and those of earlier statements; never the key, never the ends of an edge
    delete   entities, and with a node every edge that touches it
    match    the same for each row of a pattern, which sees what earlier statements did

A missing value never fulfils a comparison, nor does a list or a vector. What an update or delete looked at is its read set
(`searching`): if somebody else changes that meanwhile, the mutation is void and says so. Inserts are not: they are checked again
against what came in between, and go through.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from omnigraph.catalog import logical as lg
from omnigraph.catalog.catalog import Catalog, EntityType
from omnigraph.catalog.keys import entity_id
from omnigraph.engine.arrays.chunked import whole
from omnigraph.engine.blobs.settling import External
from omnigraph.engine.execution.evaluate import constant, vector
from omnigraph.engine.execution.operators import run_steps
from omnigraph.engine.execution.run import Run
from omnigraph.engine.execution.tail import finish
from omnigraph.engine.planning.prepared import Prepared
from omnigraph.engine.snapshot.committed import touching
from omnigraph.engine.snapshot.view import View, table_key
from omnigraph.engine.write.blobs import copied
from omnigraph.engine.write.changeset import ChangeSet
from omnigraph.engine.write.convert import stored
from omnigraph.engine.write.rules import values
from omnigraph.engine.write.searching import ReliedOn, Searching, TableRows, table_of
from omnigraph.engine.write.staging import MutationStaging, Row
from omnigraph.engine.write.uncommitted import uncommitted
from omnigraph.engine.write.violations import refuse
from omnigraph.errors import ParameterError, UsageError
from omnigraph.model.blobs import uri_of
from omnigraph.model.ids import IdSource
from omnigraph.model.types import PropertyType, Scalar
from omnigraph.storage.tables.changes import RowPlace


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
    read = mutation.relied_on
    rows, ends = ({key: frozenset(some) for key, some in part.items()} for part in (read.rows, read.ends))
    return Outcome(mutation.staging.changes(), mutation.nodes, mutation.edges, frozenset(read.types), rows, ends)


def insert_each(query: lg.MutationQuery, runs: Sequence[Run], ids: IdSource) -> ChangeSet:
    """What several runs of one insert, which have the same view, come to as one change."""
    mutation = _Mutation(runs[0], ids, {})
    (statement,) = query.statements
    for run in runs:
        mutation.run = run
        mutation.run_statement(statement)
    return mutation.staging.changes()


class _Mutation:
    def __init__(self, run: Run, ids: IdSource, blobs: Mapping[str, bytes]) -> None:
        self.run = run
        self.blobs = blobs
        """What is stored in place of URIs."""
        self.view: View = run.view
        self.ids = ids
        self.staging = MutationStaging()
        self.relied_on = ReliedOn()
        self.search = Searching(run, self.relied_on)
        self.nodes = 0
        self.edges = 0

    def run_statement(self, statement: lg.Statement) -> None:
        catalog = self.view.catalog
        match statement:
            case lg.InsertNode(name, assignments, pattern):
                for row in self._rows(pattern, assignments):
                    self._insert(catalog.nodes[name], row, matched=bool(pattern))
            case lg.InsertEdge(name, source, target, assignments, pattern):
                for row in self._rows(pattern, (*_ends(source, target), *assignments)):
                    self._insert(catalog.edges[name], row, matched=bool(pattern))
            case lg.UpdateNode(name, assignments, where):
                self._update(catalog.nodes[name], assignments, where)
            case lg.UpdateEdge(name, assignments, where):
                self._update(catalog.edges[name], assignments, where)
            case lg.PatchNode(name, assignments):
                self._patch(catalog.nodes[name], assignments)
            case lg.PatchEdge(name, source, target, assignments):
                self._patch(catalog.edges[name], (*_ends(source, target), *assignments))
            case lg.DeleteNode(name, where):
                self._delete(catalog.nodes[name], *self.search.ids(catalog.nodes[name], where))
            case lg.DeleteEdge(name, where):
                self._delete(catalog.edges[name], *self.search.ids(catalog.edges[name], where))
            case lg.UpdateMatched(pattern, entity, assignments):
                self._update_matched(self._type(entity), pattern, entity, assignments)
            case lg.DeleteMatched(pattern, entity):
                ids = {str(row[0]) for row in self._matches(pattern, (entity,)) if row[0] is not None}
                self._delete(self._type(entity), sorted(ids))

    def _type(self, entity: lg.Entity) -> EntityType:
        return (self.view.catalog.edges if entity.of_edge else self.view.catalog.nodes)[entity.label]

    def _count(self, type_: EntityType, entities: int) -> None:
        if type_.is_edge:
            self.edges += entities
        else:
            self.nodes += entities

    # ── insert ───────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _insert(self, type_: EntityType, row: Row, *, matched: bool) -> None:
        for name, end in (("src", "from"), ("dst", "to")) if type_.is_edge else ():
            if not isinstance(row[name], str):
                raise ParameterError(f"`{end}` of {type_.name} is the id of a node, not {row[name]!r}")
        id_ = entity_id(type_.key, row) if type_.key else self.ids.next()  # type: ignore[arg-type]
        whole_row: Row = {name: row.get(name) for name in (*type_.implicit[1:], *type_.properties)}
        image = {"id": id_, **whole_row}
        if matched and type_.key and (before := self._of_this_statement.get(id_)) is not None:
            _require_one(type_, id_, before, image)
            return
        self._of_this_statement[id_] = image
        self.staging.put(type_, id_, image, fresh=not type_.key)
        self._count(type_, 1)

    def _rows(self, pattern: tuple[lg.Pattern, ...], assignments: tuple[lg.Assign, ...]) -> Iterator[Row]:
        """What is assigned: once, or for each row of a pattern."""
        self._of_this_statement: dict[str, Row] = {}
        if not pattern:
            yield self._assigned(assignments)
            return
        given = [a for a in assignments if a.value is not None]
        for found in self._matches(pattern, tuple(a.value for a in given if a.value is not None)):
            taken = {a.property: self._taken(a, value) for a, value in zip(given, found, strict=True)}
            yield {**dict.fromkeys(a.property for a in assignments), **taken}

    def _assigned(self, assignments: tuple[lg.Assign, ...]) -> Row:
        row = {a.property: None if a.value is None else self._stored(a, constant(a.value, self.run)) for a in assignments}
        return row

    def _stored(self, assignment: lg.Assign, value: Any) -> object:
        found = stored(assignment.property, assignment.type, value)
        uri = uri_of(found) if isinstance(found, bytes) else None
        return found if uri is None else self.blobs[uri]

    def _taken(self, assignment: lg.Assign, value: Any) -> object:
        """A value of a row as a column holds it: numbers must fit, everything else is of the type already."""
        if assignment.value is not None and _is_constant(assignment.value):
            return self._stored(assignment, constant(assignment.value, self.run))
        return self._stored(assignment, value) if value is not None and assignment.type.is_numeric else value

    # ── update ───────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _update(self, type_: EntityType, assignments: tuple[lg.Assign, ...], where: lg.Condition) -> None:
        self._require_no_key(type_, assignments)
        same_for_all = all(a.value is None or _is_constant(a.value) for a in assignments)
        constants = self._assigned(assignments) if same_for_all else None
        pending = self.staging.pending(type_)
        found = self.search.found(type_, where)
        self.staging.seen(type_, found.stood)
        matched = {id_: row for id_, row in found.rows.items() if id_ not in pending}
        matched |= self.search.kept(type_, dict(pending), where)
        new = dict.fromkeys(matched, constants) if constants is not None else self._computed(type_, matched, assignments)
        self._change(type_, matched, new)

    def _update_matched(
        self, type_: EntityType, pattern: tuple[lg.Pattern, ...], entity: lg.Entity, assignments: tuple[lg.Assign, ...]
    ) -> None:
        self._require_no_key(type_, assignments)
        given = [a for a in assignments if a.value is not None]
        new: dict[str, Row] = {}
        for id_, *found in self._matches(pattern, (entity, *(a.value for a in given if a.value is not None))):
            if id_ is None:
                continue
            row: Row = dict.fromkeys(a.property for a in assignments)
            row |= {a.property: self._taken(a, value) for a, value in zip(given, found, strict=True)}
            if id_ in new:
                _require_one(type_, id_, new[id_], row)
            new[id_] = row
        pending = self.staging.pending(type_)
        images, stood = self.search.images(type_, sorted(id_ for id_ in new if id_ not in pending))
        self.staging.seen(type_, stood)
        self._change(type_, {**images, **{id_: pending[id_] for id_ in new if id_ in pending}}, new)

    def _change(self, type_: EntityType, matched: Mapping[str, Row], new: Mapping[str, Row]) -> None:
        pending = self.staging.pending(type_)
        for id_ in sorted(matched):
            if id_ in pending or not all(_same(matched[id_][name], value) for name, value in new[id_].items()):
                self.staging.put(type_, id_, {**matched[id_], **new[id_]}, fresh=False)
        self._count(type_, len(matched))

    def _computed(self, type_: EntityType, rows: Mapping[str, Row], assignments: tuple[lg.Assign, ...]) -> dict[str, Row]:
        """What is assigned to each of some rows, from what they hold."""
        scope = TableRows(self.run, table_of(type_, list(rows.values())))
        new: dict[str, Row] = {id_: {} for id_ in rows}
        for assignment in assignments:
            if assignment.value is None:
                column: list[Any] = [None] * len(rows)
            else:
                column = vector(assignment.value, scope).to_arrow().to_pylist()
            for id_, value in zip(rows, column, strict=True):
                new[id_][assignment.property] = self._taken(assignment, value)
        return new

    def _require_no_key(self, type_: EntityType, assignments: tuple[lg.Assign, ...]) -> None:
        for assignment in assignments:
            if assignment.property in type_.key_names:
                raise UsageError(
                    f"cannot update @key property '{assignment.property}'",
                    hint="The key is the identity of an entity: insert a new one and delete the old one.",
                )

    def _patch(self, type_: EntityType, assignments: tuple[lg.Assign, ...]) -> None:
        new = self._assigned(assignments)
        id_ = entity_id(type_.key, new)  # type: ignore[arg-type]
        self.relied_on.on_rows(type_, [id_])
        there = self.staging.pending(type_).get(id_) or self.search.images(type_, [id_])[0].get(id_)
        before: Row = {"id": id_, **dict.fromkeys(type_.properties)} if there is None else there
        if there is None or not all(_same(before[name], value) for name, value in new.items()):
            self.staging.put(type_, id_, {**before, **new}, fresh=False)
        self._count(type_, 1)

    # ── delete ───────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _delete(self, type_: EntityType, ids: list[str], stood: tuple[RowPlace, ...] = ()) -> None:
        self.staging.seen(type_, stood)
        self._count(type_, self.staging.remove(type_, ids))
        if not ids or type_.is_edge:
            return
        gone = pa.array(ids, pa.string())
        for edge in self.view.catalog.incident_edges(type_.name):
            going: list[str] = []
            for column, end in (("src", edge.source), ("dst", edge.target)):
                if end == type_.name:
                    going += whole(touching(self.view, edge, column, gone, ["id", column])["id"]).to_pylist()
            if going:
                self.edges += self.staging.remove(edge, sorted(set(going)))

    # ── patterns ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _matches(self, pattern: tuple[lg.Pattern, ...], wanted: tuple[lg.Expression, ...]) -> Iterator[tuple[Any, ...]]:
        """Values of each row of a pattern, next to what earlier statements did."""
        self.relied_on.types |= {table_key(type_) for type_ in _types_of(pattern, self.view.catalog)}
        run = self.run
        if not self.staging.is_empty:
            run = Run(uncommitted(self.view, self.staging.changes(), self.ids.next()), run.parameters, run.clock, run.budget)
            run.now_ms = self.run.now_ms
        columns = tuple(lg.Projection(expression, None, f"{number}") for number, expression in enumerate(wanted))
        query = lg.ReadQuery("matched", (), pattern, columns, False, (), None, None)
        plan = Prepared(query, self.view.catalog).plan(run.view)
        for part in finish(plan, run_steps(plan.steps, run, plan.bindings), run):
            yield from zip(*(vec.to_arrow().to_pylist() for vec in part), strict=True)


def _types_of(pattern: tuple[lg.Pattern, ...], catalog: Catalog) -> Iterator[EntityType]:
    """Every type that a pattern looks at."""
    for part in pattern:
        match part:
            case lg.Bind(_, types):
                yield from (catalog.nodes[name] for name in types)
            case lg.Hop(edge=edge, source_type=source, target_type=target):
                yield from (catalog.edges[edge], catalog.nodes[source], catalog.nodes[target])
            case lg.Without(inner) | lg.Maybe(inner):
                yield from _types_of(inner, catalog)
            case lg.Keep():
                pass


def _ends(source: lg.Expression, target: lg.Expression) -> tuple[lg.Assign, lg.Assign]:
    return lg.Assign("src", _ID, source), lg.Assign("dst", _ID, target)


def _is_constant(value: lg.Expression) -> bool:
    return isinstance(value, lg.Parameter | lg.Constant | lg.Now)


def _require_one(type_: EntityType, id_: str, before: Row, row: Row) -> None:
    """Refuse two rows of a pattern that say different things of one entity."""
    for name, value in row.items():
        if not _same(before[name], value):
            raise UsageError(
                f"two rows of the pattern give {type_.name} `{id_}` different values for `{name}`",
                hint="Let the pattern find each entity once.",
            )


def _same(before: object, after: object) -> bool:
    """Whether a value is the one that is there: then it is not written again. Zeros of different signs are two."""
    if type(before) is not type(after) or before != after:
        return False
    return not isinstance(before, float | list) or repr(before) == repr(after)


_ID = PropertyType(Scalar.STRING)
