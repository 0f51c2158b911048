"""Three states of a graph combined into a change of one of them: what merge and revert have in common.

    base ──── theirs        what they did since the base is what is to be done to ours as well
       ╲
        ──── ours

A merge takes the state where two branches parted as base. A revert takes the commit as base and its parent as theirs: the way
back.

Only what they did is looked at, row by row (`deltas`). Where ours did not touch the same entity, theirs is taken as it is; where
it did, `three_way` decides. The outcome is validated against ours by the one evaluator that mutations and loads pass too, and
what it finds are conflicts as well, reported together with the clashes (an entity that is still contested counts as ours has it).
A conflict that is resolved changes the outcome, which is validated again; so preferring one side may bring up another conflict,
never a broken graph.

**Several bases.** After a criss-cross merge the two sides have more than one nearest common state. Then the base is a state that
nobody ever saw: those states merged with each other, entity by entity, as far as they differ. What both sides took from one
another is in it, so it is no change of either side.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from omnigraph.catalog.catalog import EntityType
from omnigraph.engine.arrays.chunked import among, whole
from omnigraph.engine.history.conflicts import (
    Choice,
    Conflict,
    ConflictKind,
    Resolutions,
    described,
    in_order,
    sides,
    wire_names,
    with_values,
)
from omnigraph.engine.history.deltas import DIRECT_ROWS, Deltas, aligned, types_of
from omnigraph.engine.history.row_delta import DELETE, RawRow, RowDelta, no_images, raw_rows, table_of
from omnigraph.engine.history.three_way import Clash, decide
from omnigraph.engine.snapshot.committed import rows_where
from omnigraph.engine.snapshot.view import View, table_key
from omnigraph.engine.write.changeset import ChangeSet, Delta, no_rows
from omnigraph.engine.write.validate import violations
from omnigraph.engine.write.violations import Violation
from omnigraph.errors import UsageError
from omnigraph.storage.tables.differences import rows_apart
from omnigraph.storage.tables.rows import images

ROUNDS = 16
"""How often resolving what validation finds may bring up something new."""

Type = EntityType

_KINDS: dict[str, ConflictKind] = {
    "endpoint": "orphan_edge",
    "unique": "unique_violation",
    "cardinality": "cardinality_violation",
}


@dataclass
class Combined:
    """What becomes of one type: theirs as it is, except for some entities that were decided one by one."""

    type: Type
    theirs: RowDelta
    decided: dict[str, tuple[RawRow | None, RawRow | None]] = field(default_factory=dict)
    """By id, the image ours has now and the one it is to have."""
    is_plain: bool = True
    """Whether the base is a state that was: if not, its pins say nothing."""

    @property
    def key(self) -> str:
        return table_key(self.type)

    def clean(self) -> RowDelta:
        """What is taken from theirs as it is."""
        if not self.decided:
            return self.theirs
        return self.theirs.only(~among(self.theirs.ids, pa.array(list(self.decided), pa.string())))

    def delta(self) -> RowDelta:
        """What changes about ours."""
        clean = self.clean()
        changed = [(old, new) for _, (old, new) in sorted(self.decided.items()) if old != new]
        if not changed:
            return clean
        before = table_of(self.type, [old for old, _ in changed if old is not None])
        after = table_of(self.type, [new for _, new in changed if new is not None])
        return clean.beside(before, after)


@dataclass
class Combination:
    """The outcome: a change of ours, or why there is none."""

    types: list[Combined]
    conflicts: tuple[Conflict, ...]
    changes: ChangeSet
    unused: tuple[str, ...] = ()
    """Keys that were resolved and that no conflict has."""

    def deltas(self) -> list[RowDelta]:
        """What changes about ours, type by type."""
        return [delta for delta in (combined.delta() for combined in self.types) if not delta.is_empty]


class Combiner:
    """Combines three states."""

    def __init__(
        self,
        deltas: Deltas,
        base: View,
        ours: View,
        theirs: View,
        *,
        strict: bool,
        resolutions: Resolutions,
        other_bases: Sequence[tuple[View, View]] = (),
        slim: bool = False,
    ) -> None:
        self._deltas = deltas
        self.base, self.ours, self.theirs = base, ours, theirs
        self._other_bases = other_bases
        """Further bases, each with the state where it and the first one parted."""
        self._slim = slim
        """The outcome is applied and not shown: old images of what only theirs changed are not needed."""
        self._strict = strict
        self._resolutions = resolutions
        self._types = types_of(ours.catalog)
        self._base_types = types_of(base.catalog)
        self._combined: dict[str, Combined] = {}

    def run(self) -> Combination:
        """The outcome."""
        conflicts: list[Conflict] = []
        for key, type_ in sorted(self._types.items()):
            common = self._common(key, type_)
            delta = common.inverse().then(self._theirs(key, type_, slim=self._slim and common.is_empty))
            if not delta.is_empty:
                conflicts += self._decide(delta, common)
        contested = {about for conflict in conflicts for about in conflict.about}
        conflicts += [conflict for conflict in self._validate() if contested.isdisjoint(conflict.about)]
        if not conflicts:
            self._resolutions.check_used()
        types = [self._combined[key] for key in sorted(self._combined)]
        return Combination(types, in_order(conflicts), self._changes(), self._resolutions.unused)

    def _theirs(self, key: str, type_: Type, *, slim: bool) -> RowDelta:
        """What they did to a type."""
        states = [view.snapshot.tables.get(key) for view in (self.base, self.theirs)]
        there = types_of(self.theirs.catalog).get(key)
        if slim and states[0] is not None and states[1] is not None and there is not None and not states[0].holds_what(states[1]):
            found = self._deltas.slim(states[0], there, states[1], type_)
            if found is not None:
                return found
        return next(self._deltas.between(self.base, self.theirs, [key], self._types), RowDelta.nothing(type_))

    # ── entities that both sides changed ─────────────────────────────────────────────────────────────────────────────────────

    def _common(self, key: str, type_: Type) -> RowDelta:
        """What the base has of further bases, against the first."""
        decided: dict[str, tuple[RawRow | None, RawRow | None]] = {}
        for other, root in self._other_bases:
            for delta in self._deltas.between(self.base, other, [key], self._types):
                roots = {str(row["id"]): row for row in raw_rows(self._rows(root, type_, delta.ids.to_pylist()))}
                for id_, first, second in delta.images(0, len(delta.ids)):
                    so_far = decided[id_][1] if id_ in decided else first
                    outcome = decide(type_, roots.get(id_), so_far, second, strict=False)
                    decided[id_] = (first, outcome.ours if isinstance(outcome, Clash) else outcome)
        return Combined(type_, RowDelta.nothing(type_), decided).delta()

    def _decide(self, theirs: RowDelta, common: RowDelta) -> list[Conflict]:
        combined = self._combined[table_key(theirs.type)] = Combined(theirs.type, theirs, is_plain=common.is_empty)
        ours = self._moved_since(theirs, common)
        if ours.is_empty:
            return []
        unresolved = []
        wanted = theirs.only(among(theirs.ids, ours.ids))
        afterwards = {str(row["id"]): row for row in raw_rows(wanted.after)}
        for id_, base, now in ours.images(0, len(ours.ids)):
            new = afterwards.get(id_)
            outcome = decide(theirs.type, base, now, new, strict=self._strict)
            if isinstance(outcome, Clash):
                conflict = self._clash(theirs.type, id_, outcome, base, now, new)
                choice = self._resolutions.of(conflict)
                if choice is None:
                    unresolved.append(conflict)
                    outcome = now  # for the time being: what breaks a rule elsewhere is reported together with it
                else:
                    outcome = self._chosen(theirs.type, outcome, choice, conflict)
            combined.decided[id_] = (now, outcome)
        return unresolved

    def _moved_since(self, theirs: RowDelta, common: RowDelta) -> RowDelta:
        """Of the entities they changed, those that ours changed too: as they were at the base, and as they are in ours."""
        key = table_key(theirs.type)
        before = self.base.snapshot.tables.get(key)
        now, there = self.ours.snapshot.tables[key], self.theirs.snapshot.tables[key]
        if before is None:
            return RowDelta.of(theirs.type, no_images(theirs.type), self._rows(self.ours, theirs.type, theirs.ids.to_pylist()))
        if before.holds_what(now) and common.is_empty:
            return RowDelta.nothing(theirs.type)
        if common.is_empty and (found := self._deltas.touched_too(theirs, before, self._base_types[key], there, now)) is not None:
            return found
        tables = self.ours.workspace.store.tables
        if rows_apart(tables.open(before), tables.open(now)) <= DIRECT_ROWS:
            delta = common.inverse().then(
                self._deltas.of_pins(self._base_types[key], before, theirs.type, now) or RowDelta.nothing(theirs.type)
            )
            return delta.only(among(delta.ids, theirs.ids))
        ids = theirs.ids.to_pylist()
        old = self._rows(self.base, theirs.type, ids) if theirs.is_slim else theirs.before
        return RowDelta.of(theirs.type, old, self._rows(self.ours, theirs.type, ids))

    def _chosen(self, type_: Type, clash: Clash, choice: Choice, conflict: Conflict) -> RawRow | None:
        if isinstance(choice, str):
            return clash.preferring(choice)
        row = clash.ours if clash.ours is not None else clash.theirs
        assert row is not None
        return with_values(type_, row, choice, conflict)

    def _clash(
        self, type_: Type, id_: str, clash: Clash, base: RawRow | None, ours: RawRow | None, theirs: RawRow | None
    ) -> Conflict:
        columns = clash.columns
        if clash.kind == "delete_vs_update":
            left = ours if ours is not None else theirs
            assert base is not None
            assert left is not None
            columns = tuple(name for name in left if left[name] != base[name])
        values = (described(type_, columns, base), described(type_, columns, ours), described(type_, columns, theirs))
        about = "deleted on one side and changed on the other" if clash.kind == "delete_vs_update" else "changed on both sides"
        about = "added on both sides, differently" if clash.kind == "divergent_insert" else about
        message = f"{type_.name} `{id_}` was {about}: {sides(values)}"
        key = table_key(type_)
        return Conflict(clash.kind, type_.kind, type_.name, id_, message, wire_names(columns), *values, ((key, id_),))

    # ── the outcome against the rules ────────────────────────────────────────────────────────────────────────────────────────

    def _changes(self) -> ChangeSet:
        deltas = []
        for combined in self._combined.values():
            delta = combined.delta()
            if not delta.is_empty:
                gone = delta.ids.filter(pa.array(delta.operations == DELETE))
                deltas.append(Delta(combined.type, delta.after if delta.after.num_rows else no_rows(combined.type), gone))
        return ChangeSet(deltas)

    def _validate(self) -> list[Conflict]:
        settled: set[str] = set()
        for _ in range(ROUNDS):
            found = in_order(self._conflicts(violations(self._changes(), self.ours)))
            if not found:
                return []
            unresolved = []
            for conflict in found:
                choice = self._resolutions.of(conflict)
                if choice is None or conflict.key in settled:
                    unresolved.append(conflict)
                    continue
                settled.add(conflict.key)
                self._settle(conflict, choice)
            if unresolved:
                return unresolved
        return list(found)

    def _settle(self, conflict: Conflict, choice: Choice) -> None:
        """Change the outcome as a conflict is resolved."""
        if isinstance(choice, str):
            for key, id_ in conflict.about:
                self._override(key, id_, self._row(self.ours if choice == "ours" else self.theirs, self._types[key], id_))
            return
        if conflict.kind == "cardinality_violation" or not conflict.about:
            raise UsageError(f"{conflict.key} cannot be resolved by values", hint='Choose "ours" or "theirs".')
        key, id_ = conflict.about[0]
        row = self._outcome(key, id_)
        if row is None:
            row = self._row(self.theirs, self._types[key], id_)
        assert row is not None
        self._override(key, id_, with_values(self._types[key], row, choice, conflict))

    def _override(self, key: str, id_: str, row: RawRow | None) -> None:
        type_ = self._types[key]
        combined = self._combined.setdefault(key, Combined(type_, RowDelta.nothing(type_)))
        now = combined.decided[id_][0] if id_ in combined.decided else self._row(self.ours, type_, id_)
        combined.decided[id_] = (now, row)

    def _outcome(self, key: str, id_: str) -> RawRow | None:
        """An entity as it is to be."""
        combined = self._combined.get(key)
        if combined is not None and id_ in combined.decided:
            return combined.decided[id_][1]
        if combined is not None:
            delta = combined.theirs.only(among(combined.theirs.ids, pa.array([id_], pa.string())))
            if not delta.is_empty:
                return next(iter(raw_rows(delta.after)), None)
        return self._row(self.ours, self._types[key], id_)

    def _rows(self, view: View, type_: Type, ids: list[str]) -> pa.Table:
        """Rows of a view, in the columns of ours."""
        key = table_key(type_)
        state, there = view.snapshot.tables.get(key), types_of(view.catalog).get(key)
        if state is None or there is None:
            return no_images(type_)
        return aligned(images(view.workspace.store.tables.open(state), ids), there, type_)

    def _row(self, view: View, type_: Type, id_: str) -> RawRow | None:
        return next(iter(raw_rows(self._rows(view, type_, [id_]))), None)

    def _conflicts(self, found: Iterable[Violation]) -> list[Conflict]:
        return [self._conflict(violation) for violation in found]

    def _conflict(self, violation: Violation) -> Conflict:
        kind = _KINDS.get(violation.rule, "value_constraint_violation")
        catalog = self.ours.catalog
        if kind in ("orphan_edge", "cardinality_violation") or violation.type not in catalog.nodes:
            type_: Type = catalog.edges[violation.type]
        else:
            type_ = self._type_with(violation)
        entity = violation.entity or ""
        about = self._about(kind, type_, violation)
        node = type_.is_node
        properties = () if violation.property is None else tuple(violation.property.split(", "))
        base = ours = theirs = None
        if kind != "cardinality_violation":
            columns = list(properties) if node else [{"from": "src", "to": "dst"}.get(p, p) for p in properties]
            base, ours, theirs = (
                described(type_, columns, self._row(view, type_, entity)) for view in (self.base, self.ours, self.theirs)
            )
        kind_of = "node" if node else "edge"
        return Conflict(kind, kind_of, type_.name, entity, violation.message, properties, base, ours, theirs, about)  # type: ignore[arg-type]

    def _type_with(self, violation: Violation) -> Type:
        """A node and an edge type may share a name: the one whose change holds the entity."""
        node, edge = self.ours.catalog.nodes[violation.type], self.ours.catalog.edges.get(violation.type)
        if edge is not None and table_key(edge) in self._combined:
            delta = self._combined[table_key(edge)].delta()
            if violation.entity in set(delta.ids.to_pylist()):
                return edge
        return node

    def _holders(self, type_: Type, violation: Violation) -> list[str]:
        """Who else is to have the values that only one entity may have."""
        group = (violation.property or "").split(", ")
        values = violation.value if len(group) > 1 else [violation.value]
        assert isinstance(values, list)
        first = pa.array([values[0]], no_rows(type_).schema.field(group[0]).type)
        found = rows_where(self.ours, type_, group[0], first, ["id", *group])
        combined = self._combined.get(table_key(type_))
        if combined is not None:
            delta = combined.delta()
            found = found.filter(pa.array(~among(whole(found["id"]), delta.ids)))
            found = pa.concat_tables([found, delta.after.select(["id", *group])], promote_options="default")
        rows = [row for row in found.to_pylist() if [row[name] for name in group] == values]
        return sorted({row["id"] for row in rows} - {violation.entity})

    def _about(self, kind: ConflictKind, type_: Type, violation: Violation) -> tuple[tuple[str, str], ...]:
        """Every entity a violation is about."""
        entity = violation.entity or ""
        own = (table_key(type_), entity)
        if kind == "orphan_edge":
            assert type_.is_edge
            end = type_.source if violation.property == "from" else type_.target
            return (own, (table_key(self.ours.catalog.nodes[end]), str(violation.value)))
        if kind == "unique_violation":
            return (own, *((table_key(type_), other) for other in self._holders(type_, violation)))
        if kind == "cardinality_violation":
            edges: set[str] = set()
            for view in (self.ours, self.theirs):
                found = rows_where(view, type_, "src", pa.array([entity], pa.string()), ["id"])
                edges |= set(whole(found["id"]).to_pylist())
            return tuple((table_key(type_), edge) for edge in sorted(edges))
        return (own,)
