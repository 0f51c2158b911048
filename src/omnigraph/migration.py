"""What a plan of `g.plan_schema` consists of: `from omnigraph import migration`.

for step in g.plan_schema("people.pg").steps:
    match step:
        case migration.DropProperty(): ...
"""

from __future__ import annotations

from omnigraph.catalog.migration.codes import Family, MigrationCode, Severity, Status, Tier
from omnigraph.catalog.migration.instructions import Computed
from omnigraph.catalog.migration.steps import (
    AddConstraint,
    AddProperty,
    AddType,
    DropMode,
    DropProperty,
    DropType,
    ExtendEnum,
    MigrationPlan,
    Refusal,
    RelaxProperty,
    RemoveConstraint,
    RenameEnumValues,
    RenameProperty,
    RenameType,
    RequireProperty,
    TightenCardinality,
    UpdatePropertyMetadata,
    UpdateTypeMetadata,
    WidenProperty,
)
from omnigraph.catalog.shape import Check, Index, Key, Note, Range, Unique
from omnigraph.model.types import PropertyType, Scalar

__all__ = [
    "AddConstraint",
    "AddProperty",
    "AddType",
    "Check",
    "Computed",
    "DropMode",
    "DropProperty",
    "DropType",
    "ExtendEnum",
    "Family",
    "Index",
    "Key",
    "MigrationCode",
    "MigrationPlan",
    "Note",
    "PropertyType",
    "Range",
    "Refusal",
    "RelaxProperty",
    "RemoveConstraint",
    "RenameEnumValues",
    "RenameProperty",
    "RenameType",
    "RequireProperty",
    "Scalar",
    "Severity",
    "Status",
    "Tier",
    "TightenCardinality",
    "Unique",
    "UpdatePropertyMetadata",
    "UpdateTypeMetadata",
    "WidenProperty",
]
