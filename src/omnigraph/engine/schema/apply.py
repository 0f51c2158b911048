"""A new schema: the planner's steps carried out on the tables, and published with the schema in one commit.

    add type          an empty table comes              rename type             nothing: a table is known by identity
    drop type         a table goes                      metadata, index         nothing but the schema
    …property, enum   columns follow (`reshape`)        other constraints       what exists has to keep them (`promises`)

All entities that break a new promise are reported at once, and then nothing is changed. If somebody writes to a table while it
was prepared or looked at, that is done again; if somebody changes the schema, the change is void. A write that was prepared for
the old schema is void in turn (`commit`), so no entity slips in that the new one does not allow.

Other branches keep the schema they have, unless they are named too: then all are prepared and looked at before the first is
published, and each gets a commit of its own. If one of them cannot be published because somebody wrote to it, those before it
have the schema; asking again goes on with the rest. Every commit is read with its own schema.

A hard drop (`allow_data_loss`) takes the data out of everything the new commit refers to; what older commits hold is given back
by `cleanup`, once they are out of its window.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from omnigraph.catalog.canonical_json import Json, compact
from omnigraph.catalog.catalog import Catalog, EntityType
from omnigraph.catalog.columns import columns_of
from omnigraph.catalog.identity import Resolution
from omnigraph.catalog.ir import SchemaIR
from omnigraph.catalog.migration import MigrationPlan, plan_change, refuse_unsupported, render_plan
from omnigraph.engine.execution.run import Run
from omnigraph.engine.schema.promises import broken, promises_of
from omnigraph.engine.schema.reshape import reshaped, reshaping_of
from omnigraph.engine.snapshot.view import View, Workspace, table_key, table_location
from omnigraph.engine.write.violations import Violation, refuse
from omnigraph.errors import ReadSetChanged, WouldEmpty
from omnigraph.hints import Hint, Option
from omnigraph.language.source import Source
from omnigraph.model.frozen import frozen
from omnigraph.model.phrases import counted, short_id
from omnigraph.model.printable import printable
from omnigraph.storage.commits.lineage import Commit, OpClass
from omnigraph.storage.commits.manifest import ManifestState, SchemaDocument
from omnigraph.storage.commits.plan import PublishPlan, Replacement
from omnigraph.storage.commits.since import Since
from omnigraph.storage.graph_store import NewTable

Backfills = Mapping[str, Json]
"""Values for entities that exist, by `Type.property`."""

Expressions = Mapping[str, str]
"""Expressions for entities that exist, by `Type.property`."""

ATTEMPTS = 5
"""Times the columns are prepared again because somebody wrote to their table meanwhile."""


@frozen
class SchemaApplied:
    """What came of a new schema."""

    plan: MigrationPlan
    commit: Commit | None
    """None when the schema says what the old one said."""
    also: Mapping[str, SchemaApplied] = field(default_factory=dict)
    """What came of it on other branches that were named, by branch."""

    @property
    def applied(self) -> bool:
        return self.commit is not None

    def __repr__(self) -> str:
        return printable("\n".join([*self._lines(), *(f"{b}: {one._lines()[0]}" for b, one in self.also.items())]))

    def _lines(self) -> list[str]:
        if self.commit is None:
            return ["Schema applied: no change"]
        head = f"Schema applied: {counted(len(self.plan.steps), 'step')}, commit {short_id(self.commit.id)}"
        return [head, *(f"- {line}" for line in render_plan(self.plan))]

    def to_dict(self) -> dict[str, Json]:
        """The outcome as JSON-ready data."""
        plan = self.plan.to_json()
        data: dict[str, Json] = {
            "supported": self.plan.supported,
            "applied": self.applied,
            "step_count": len(self.plan.steps),
            "steps": plan["steps"],
            "commit": None if self.commit is None else self.commit.id,
        }
        return data if not self.also else {**data, "also": {branch: one.to_dict() for branch, one in self.also.items()}}


@frozen
class SchemaRequest:
    """A desired schema, and what is to become of the entities that exist."""

    desired: Source
    allow_data_loss: bool = False
    backfill: Backfills = field(default_factory=dict)
    compute: Expressions = field(default_factory=dict)
    actor: str | None = None

    def plan(self, accepted: SchemaIR) -> tuple[MigrationPlan, Resolution]:
        """The steps from an accepted schema, and the identities of the desired one."""
        return plan_change(
            accepted, self.desired, allow_data_loss=self.allow_data_loss, backfill=self.backfill, compute=self.compute
        )


def plan_schema(view: View, request: SchemaRequest) -> MigrationPlan:
    """The steps from the schema of a view to another one. Nothing is changed, and no entity is looked at."""
    plan, resolution = request.plan(view.catalog.ir)
    for type_ in _types(Catalog.of(resolution.ir)).values():
        reshaping_of(plan, type_)  # a value that does not fit is reported now
    return plan


def apply_schema(workspace: Workspace, views: Mapping[str, View], request: SchemaRequest) -> list[SchemaApplied]:
    """Make branches have another schema, and their tables follow. All are looked at before the first is changed."""
    changes = [_Change(workspace, branch, view, request) for branch, view in views.items()]
    for change in changes:
        refuse_unsupported(change.plan)
    for change in changes:
        change.prepare()
    return [change.publish() for change in changes]


class _Change:
    """A schema that comes to one branch."""

    def __init__(self, workspace: Workspace, branch: str, view: View, request: SchemaRequest) -> None:
        self._workspace, self._branch, self._view, self._request = workspace, branch, view, request
        self._accepted = view.snapshot.schema
        self.plan, self._resolution = request.plan(view.catalog.ir)
        self._prepared: PublishPlan | None = None

    def prepare(self) -> None:
        """Write what is new, and look whether entities keep what is promised. Nobody sees any of it yet."""
        if self.plan.steps:
            if not self._request.allow_data_loss:
                _refuse_to_drop_all(self._view, self._resolution.ir)
            self._prepared = self._publish_plan()

    def publish(self) -> SchemaApplied:
        """Make it the state of the branch."""
        last: ReadSetChanged | None = None
        for _ in range(ATTEMPTS):
            if self._prepared is None:
                return SchemaApplied(self.plan, None)
            try:
                commit = self._workspace.store.publish(self._branch, self._prepared, self._still_accepted)
                return SchemaApplied(self.plan, commit.shown())
            except ReadSetChanged as moved:
                last = moved
                snapshot = self._workspace.store.snapshot(self._branch)
                if snapshot.schema != self._accepted:
                    raise  # not the rows but the schema: what was asked for may mean something else now
                self._view = View(self._workspace, snapshot, self._view.catalog)
                self.prepare()
        assert last is not None
        raise last

    def _still_accepted(self, state: ManifestState, between: Since) -> None:
        if state.head.schema != self._accepted:
            raise ReadSetChanged("the schema changed while a change of it was prepared", hint="Plan the change again.")

    def _publish_plan(self) -> PublishPlan:
        store, view, desired = self._workspace.store, self._view, self._resolution.ir
        before, after = _types(view.catalog), _types(Catalog.of(desired))
        new = [NewTable(key, table_location(t), columns_of(t)) for key, t in after.items() if key not in before]
        replacements: list[Replacement] = []
        looked_at: set[str] = set()
        found: list[Violation] = []
        run = Run(view, {}, store.clock)
        for key in (key for key in after if key in before and key in view.snapshot.tables):
            state = view.snapshot.tables[key]
            applied = reshaped(store.tables, state, before[key], after[key], reshaping_of(self.plan, after[key]), run)
            if applied.state.pin != state.pin:
                replacements.append(Replacement(key, state.pin, applied))
            promises = promises_of(self.plan, after[key])
            if promises is not None:
                looked_at.add(key)
                found += broken(promises, store.tables.open(applied.state), view)
        refuse(found)
        return PublishPlan(
            OpClass.LOGICAL,
            "schema apply",
            view.snapshot.layout,
            replacements=tuple(replacements),
            creates=store.create_tables(new),
            drops=tuple(key for key in before if key not in after),
            read_set=frozenset(looked_at),
            schema=SchemaDocument(desired.hash(), self._request.desired.text, compact(desired.to_json())),
            actor=self._request.actor,
        )


def _refuse_to_drop_all(view: View, desired: SchemaIR) -> None:
    """Refuse a schema without types for a branch that has entities: nothing of it could be read any more."""
    held = {
        type_.name: view.snapshot.tables[key].rows for key, type_ in _types(view.catalog).items() if key in view.snapshot.tables
    }
    held = {name: count for name, count in held.items() if count}
    if held and not _types(Catalog.of(desired)):
        reported = ", ".join(f"{name} ({count:,})" for name, count in held.items())
        raise WouldEmpty(
            f"the schema has no types: those that have entities would be dropped, {reported}",
            types=held,
            hint=Hint("Nothing was changed. To go ahead anyway, set ", Option("allow_data_loss", True), "."),
        )


def _types(catalog: Catalog) -> dict[str, EntityType]:
    types: list[EntityType] = [*catalog.nodes.values(), *catalog.edges.values()]
    return {table_key(type_): type_ for type_ in types}
