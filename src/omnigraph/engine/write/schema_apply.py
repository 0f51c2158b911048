"""A new schema: the planner's steps carried out on the tables, and published with the schema in one commit.

    add type          an empty table comes            rename type       nothing: a table is known by identity
    drop type         a table goes                    metadata, enum,   nothing but the schema
    add property      a column without values         constraint
    rename property   a column has another name
    drop property     a column goes

Other branches keep the schema they have; every commit is read with its own. If somebody writes to a table while its columns are
prepared, they are prepared again. A hard drop also takes the data out of history: it is an ordinary drop first, and what older
commits hold is given back by `cleanup` once they are out of the window.
"""

from __future__ import annotations

from dataclasses import dataclass

from omnigraph.catalog.canonical_json import Json, compact
from omnigraph.catalog.catalog import Catalog, EdgeType, NodeType
from omnigraph.catalog.columns import columns_of
from omnigraph.catalog.ir import SchemaIR
from omnigraph.catalog.migration import MigrationPlan, plan_change, refuse_unsupported, render_plan
from omnigraph.engine.view import View, Workspace, table_key, table_location
from omnigraph.errors import ReadSetChanged
from omnigraph.language.source import Source
from omnigraph.storage.changes import Applied, TableState
from omnigraph.storage.columns import add_nullable_columns, drop_columns, rename_columns
from omnigraph.storage.derived import then
from omnigraph.storage.graph_store import NewTable
from omnigraph.storage.lineage import Commit, OpClass
from omnigraph.storage.manifest import SchemaDocument
from omnigraph.storage.plan import PublishPlan, Replacement
from omnigraph.storage.tables import unchanged

ATTEMPTS = 5
"""Times the columns are prepared again because somebody wrote to their table meanwhile."""


@dataclass(frozen=True, slots=True)
class SchemaApplied:
    """What came of a new schema."""

    plan: MigrationPlan
    commit: Commit | None
    """None when the schema says what the old one said."""

    @property
    def applied(self) -> bool:
        return self.commit is not None

    def __repr__(self) -> str:
        lines = [f"- {line}" for line in render_plan(self.plan)] if self.plan.steps else ["no change"]
        return "\n".join(lines)

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


def plan_schema(view: View, desired: Source, *, allow_data_loss: bool = False) -> MigrationPlan:
    """The steps from the schema of a view to another one. Nothing is changed."""
    return plan_change(view.catalog.ir, desired, allow_data_loss=allow_data_loss)[0]


def apply_schema(
    workspace: Workspace, view: View, branch: str, desired: Source, *, allow_data_loss: bool = False, actor: str | None = None
) -> SchemaApplied:
    """Make a branch have another schema, and its tables follow."""
    plan, resolution = plan_change(view.catalog.ir, desired, allow_data_loss=allow_data_loss)
    refuse_unsupported(plan)
    if not plan.steps:
        return SchemaApplied(plan, None)
    document = SchemaDocument(resolution.ir.hash(), desired.text, compact(resolution.ir.to_json()))
    last: ReadSetChanged | None = None
    for _ in range(ATTEMPTS):
        publish = _publish_plan(workspace, view, resolution.ir, document, actor)
        try:
            return SchemaApplied(plan, workspace.store.publish(branch, publish))
        except ReadSetChanged as moved:
            last = moved
            snapshot = workspace.store.snapshot(branch)
            if snapshot.schema != view.snapshot.schema:
                raise  # not the rows but the schema: what was asked for may mean something else now
            view = View(workspace, snapshot, view.catalog)
    assert last is not None
    raise last


def _publish_plan(
    workspace: Workspace, view: View, desired: SchemaIR, document: SchemaDocument, actor: str | None
) -> PublishPlan:
    before, after = _types(view.catalog), _types(Catalog.of(desired))
    new = [NewTable(key, table_location(t), columns_of(t)) for key, t in after.items() if key not in before]
    replacements = []
    for key, type_ in after.items():
        state = view.snapshot.tables.get(key)
        if state is not None and key in before:
            applied = _columns(workspace, state, before[key], type_)
            if applied.state.pin != state.pin:
                replacements.append(Replacement(key, state.pin, applied))
    return PublishPlan(
        OpClass.LOGICAL,
        "schema apply",
        view.snapshot.commit,
        replacements=tuple(replacements),
        creates=workspace.store.create_tables(new),
        drops=tuple(key for key in before if key not in after),
        schema=document,
        actor=actor,
    )


def _types(catalog: Catalog) -> dict[str, NodeType | EdgeType]:
    types: list[NodeType | EdgeType] = [*catalog.nodes.values(), *catalog.edges.values()]
    return {table_key(type_): type_ for type_ in types}


def _columns(workspace: Workspace, state: TableState, before: NodeType | EdgeType, after: NodeType | EdgeType) -> Applied:
    """A table whose columns are those of the new type: some go, some have other names, some come."""
    tables = workspace.store.tables
    old = {prop.property_id: prop.name for prop in before.properties.values()}
    new = {prop.property_id: prop.name for prop in after.properties.values()}
    applied = unchanged(state)
    gone = [name for number, name in old.items() if number not in new]
    if gone:
        applied = then(applied, drop_columns(tables, applied.state, gone))
    renamed = {name: new[number] for number, name in old.items() if number in new and new[number] != name}
    if renamed:
        applied = then(applied, rename_columns(tables, applied.state, renamed))
    fields = columns_of(after)
    came = [fields.field(name) for number, name in new.items() if number not in old]
    if came:
        applied = then(applied, add_nullable_columns(tables, applied.state, came))
    return applied
