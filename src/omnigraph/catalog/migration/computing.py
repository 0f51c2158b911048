"""Expressions for entities that exist, checked against the schema they have: names are properties of before the change."""

from __future__ import annotations

from omnigraph.catalog import logical as lg
from omnigraph.catalog.catalog import Catalog, EntityType
from omnigraph.catalog.check import check_value
from omnigraph.catalog.ir import SchemaIR
from omnigraph.catalog.migration.instructions import Computed
from omnigraph.catalog.migration.steps import AddProperty, MigrationPlan, RequireProperty
from omnigraph.language import parse_expression
from omnigraph.language.source import Source


def check_computed(plan: MigrationPlan, accepted: SchemaIR, desired: SchemaIR) -> None:
    """Raise for the first expression of a plan that cannot be read, or gives no value of its property."""
    steps = [s for s in plan.steps if isinstance(s, AddProperty | RequireProperty) and isinstance(s.backfill, Computed)]
    if not steps:
        return
    before, after = (
        {(t.kind, t.type_id): t for t in (*c.nodes.values(), *c.edges.values())}
        for c in (Catalog.of(accepted), Catalog.of(desired))
    )
    for step in steps:
        assert isinstance(step.backfill, Computed)
        for key, type_ in after.items():
            if (type_.kind, type_.name) == (step.type_kind, step.type_name):
                computed_value(Catalog.of(accepted), before[key], type_, step.property_name, step.backfill)


def computed_value(accepted: Catalog, before: EntityType, after: EntityType, name: str, computed: Computed) -> lg.Expression:
    """The typed form of an expression that gives a property of a type its values."""
    source = Source(computed.expression, f"<compute {after.name}.{name}>")
    return check_value(accepted, before, name, after.properties[name].type, parse_expression(source), source)
