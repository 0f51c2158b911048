"""A new schema: the planner's steps carried out on the tables, and published with the schema in one commit.

    add type          an empty table comes              rename type             nothing: a table is known by identity
    drop type         a table goes                      metadata, enum, index   nothing but the schema
    …property         columns follow (`reshape`)        other constraints       what exists has to keep them (`promises`)

All entities that break a new promise are reported at once, and then nothing is changed. If somebody writes to a table while it
was prepared or looked at, that is done again; if somebody changes the schema, the change is void. A write that was prepared for
the old schema is void in turn (`commit`), so no entity slips in that the new one does not allow.

Other branches keep the schema they have; every commit is read with its own. A hard drop (`allow_data_loss`) takes the data out of
everything the new commit refers to; what older commits hold is given back by `cleanup`, once they are out of its window.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from omnigraph.catalog.canonical_json import Json, compact
from omnigraph.catalog.catalog import Catalog, EntityType
from omnigraph.catalog.columns import columns_of
from omnigraph.catalog.ir import SchemaIR
from omnigraph.catalog.migration import MigrationPlan, plan_change, refuse_unsupported, render_plan
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
from omnigraph.storage.graph_store import NewTable

Backfills = Mapping[str, Json]
"""Values for entities that exist, by `Type.property`."""

ATTEMPTS = 5
"""Times the columns are prepared again because somebody wrote to their table meanwhile."""


@frozen
class SchemaApplied:
    """What came of a new schema."""

    plan: MigrationPlan
    commit: Commit | None
    """None when the schema says what the old one said."""

    @property
    def applied(self) -> bool:
        return self.commit is not None

    def __repr__(self) -> str:
        if self.commit is None:
            return "Schema applied: no change"
        head = f"Schema applied: {counted(len(self.plan.steps), 'step')}, commit {short_id(self.commit.id)}"
        return printable("\n".join([head, *(f"- {line}" for line in render_plan(self.plan))]))

    def to_dict(self) -> dict[str, Json]:
        """The outcome as JSON-ready data."""
        plan = self.plan.to_json()
        return {
            "supported": self.plan.supported,
            "applied": self.applied,
            "step_count": len(self.plan.steps),
            "steps": plan["steps"],
            "commit": None if self.commit is None else self.commit.id,
        }


def plan_schema(
    view: View, desired: Source, *, allow_data_loss: bool = False, backfill: Backfills | None = None
) -> MigrationPlan:
    """The steps from the schema of a view to another one. Nothing is changed, and no entity is looked at."""
    plan, resolution = plan_change(view.catalog.ir, desired, allow_data_loss=allow_data_loss, backfill=backfill)
    for type_ in _types(Catalog.of(resolution.ir)).values():
        reshaping_of(plan, type_)  # a value that does not fit is reported now
    return plan


def apply_schema(
    workspace: Workspace,
    view: View,
    branch: str,
    desired: Source,
    *,
    allow_data_loss: bool = False,
    backfill: Backfills | None = None,
    actor: str | None = None,
) -> SchemaApplied:
    """Make a branch have another schema, and its tables follow."""
    plan, resolution = plan_change(view.catalog.ir, desired, allow_data_loss=allow_data_loss, backfill=backfill)
    refuse_unsupported(plan)
    if not plan.steps:
        return SchemaApplied(plan, None)
    accepted = view.snapshot.schema

    def still_accepted(state: ManifestState, between: Sequence[Commit]) -> None:
        if state.head.schema != accepted:
            raise ReadSetChanged("the schema changed while a change of it was prepared", hint="Plan the change again.")

    last: ReadSetChanged | None = None
    for _ in range(ATTEMPTS):
        if not allow_data_loss:
            _refuse_to_drop_all(view, resolution.ir)
        publish = _publish_plan(workspace, view, plan, resolution.ir, desired.text, actor)
        try:
            return SchemaApplied(plan, workspace.store.publish(branch, publish, still_accepted).shown())
        except ReadSetChanged as moved:
            last = moved
            snapshot = workspace.store.snapshot(branch)
            if snapshot.schema != accepted:
                raise  # not the rows but the schema: what was asked for may mean something else now
            view = View(workspace, snapshot, view.catalog)
    assert last is not None
    raise last


def _publish_plan(
    workspace: Workspace, view: View, plan: MigrationPlan, desired: SchemaIR, text: str, actor: str | None
) -> PublishPlan:
    before, after = _types(view.catalog), _types(Catalog.of(desired))
    new = [NewTable(key, table_location(t), columns_of(t)) for key, t in after.items() if key not in before]
    replacements: list[Replacement] = []
    looked_at: set[str] = set()
    found: list[Violation] = []
    for key in (key for key in after if key in before and key in view.snapshot.tables):
        state = view.snapshot.tables[key]
        applied = reshaped(workspace.store.tables, state, before[key], after[key], reshaping_of(plan, after[key]))
        if applied.state.pin != state.pin:
            replacements.append(Replacement(key, state.pin, applied))
        promises = promises_of(plan, after[key])
        if promises is not None:
            looked_at.add(key)
            found += broken(promises, workspace.store.tables.open(applied.state), view)
    refuse(found)
    return PublishPlan(
        OpClass.LOGICAL,
        "schema apply",
        view.snapshot.layout,
        replacements=tuple(replacements),
        creates=workspace.store.create_tables(new),
        drops=tuple(key for key in before if key not in after),
        read_set=frozenset(looked_at),
        schema=SchemaDocument(desired.hash(), text, compact(desired.to_json())),
        actor=actor,
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
