"""The steps a migration plan is made of, one value per kind, and the plan itself.

A step says what changes in the words of the schema; how the data follows is the business of whoever applies it. Names are the
desired ones, except where a step is about something that goes: a dropped type has only its accepted name.

Steps that add a promise (`RequireProperty`, `TightenCardinality`, `AddConstraint` of anything but an index) hold for a graph
whose entities keep it; whoever applies them looks.
"""

from __future__ import annotations

from enum import Enum

from omnigraph.catalog.canonical_json import Json
from omnigraph.catalog.declare.names import TypeKind
from omnigraph.catalog.migration.codes import MigrationCode
from omnigraph.catalog.migration.instructions import Computed, Fill
from omnigraph.catalog.shape import Constraint, Note, constraint_json, type_json
from omnigraph.errors import UnsupportedChange
from omnigraph.model.frozen import frozen
from omnigraph.model.phrases import counted
from omnigraph.model.printable import printable
from omnigraph.model.types import PropertyType


class DropMode(Enum):
    """What happens to the data of what is dropped."""

    SOFT = "soft"
    """It leaves the current image; earlier commits still show it."""
    HARD = "hard"
    """It is reclaimed from earlier commits too."""


@frozen
class AddType:
    type_kind: TypeKind
    name: str

    def to_json(self) -> dict[str, Json]:
        return {"kind": "add_type", "type_kind": self.type_kind, "name": self.name}


@frozen
class RenameType:
    type_kind: TypeKind
    old: str
    new: str

    def to_json(self) -> dict[str, Json]:
        return {"kind": "rename_type", "type_kind": self.type_kind, "from": self.old, "to": self.new}


@frozen
class AddProperty:
    type_kind: TypeKind
    type_name: str
    property_name: str
    property_type: PropertyType
    backfill: Fill = None
    """What entities get that exist already; None: they have none."""

    def to_json(self) -> dict[str, Json]:
        data: dict[str, Json] = {
            "kind": "add_property",
            "type_kind": self.type_kind,
            "type_name": self.type_name,
            "property_name": self.property_name,
            "property_type": type_json(self.property_type),
        }
        return {**data, **_filled(self.backfill)}


@frozen
class RequireProperty:
    """A property that could be missing has to be there from now on."""

    type_kind: TypeKind
    type_name: str
    property_name: str
    backfill: Fill = None
    """What entities get that have none; None: there may be no such entity."""

    def to_json(self) -> dict[str, Json]:
        data: dict[str, Json] = {
            "kind": "require_property",
            "type_kind": self.type_kind,
            "type_name": self.type_name,
            "property_name": self.property_name,
        }
        return {**data, **_filled(self.backfill)}


@frozen
class RelaxProperty:
    """A property that had to be there may be missing from now on."""

    type_kind: TypeKind
    type_name: str
    property_name: str

    def to_json(self) -> dict[str, Json]:
        return {
            "kind": "relax_property",
            "type_kind": self.type_kind,
            "type_name": self.type_name,
            "property_name": self.property_name,
        }


@frozen
class WidenProperty:
    """A property gets a type that holds every value of the one it had: `I32` to `I64`, say."""

    type_kind: TypeKind
    type_name: str
    property_name: str
    old: PropertyType
    new: PropertyType

    def to_json(self) -> dict[str, Json]:
        return {
            "kind": "widen_property",
            "type_kind": self.type_kind,
            "type_name": self.type_name,
            "property_name": self.property_name,
            "from": type_json(self.old),
            "to": type_json(self.new),
        }


@frozen
class RenameEnumValues:
    """Values of an enum have other names; entities that had them have the new ones."""

    type_kind: TypeKind
    type_name: str
    property_name: str
    renamed: tuple[tuple[str, str], ...]
    """Old and new value, by the old one."""

    def to_json(self) -> dict[str, Json]:
        return {
            "kind": "rename_enum_values",
            "type_kind": self.type_kind,
            "type_name": self.type_name,
            "property_name": self.property_name,
            "renamed": dict(self.renamed),
        }


@frozen
class RenameProperty:
    type_kind: TypeKind
    type_name: str
    old: str
    new: str

    def to_json(self) -> dict[str, Json]:
        return {
            "kind": "rename_property",
            "type_kind": self.type_kind,
            "type_name": self.type_name,
            "from": self.old,
            "to": self.new,
        }


@frozen
class AddConstraint:
    type_kind: TypeKind
    type_name: str
    constraint: Constraint

    def to_json(self) -> dict[str, Json]:
        return {
            "kind": "add_constraint",
            "type_kind": self.type_kind,
            "type_name": self.type_name,
            "constraint": constraint_json(self.constraint),
        }


@frozen
class RemoveConstraint:
    """A constraint goes that nothing could be held against."""

    type_kind: TypeKind
    type_name: str
    constraint: Constraint

    def to_json(self) -> dict[str, Json]:
        return {
            "kind": "remove_constraint",
            "type_kind": self.type_kind,
            "type_name": self.type_name,
            "constraint": constraint_json(self.constraint),
        }


@frozen
class TightenCardinality:
    """A source may have fewer different numbers of edges than before."""

    type_name: str
    minimum: int
    maximum: int | None

    def to_json(self) -> dict[str, Json]:
        return {
            "kind": "tighten_cardinality",
            "type_kind": "edge",
            "type_name": self.type_name,
            "min": self.minimum,
            "max": self.maximum,
        }


@frozen
class ExtendEnum:
    type_kind: TypeKind
    type_name: str
    property_name: str
    added_values: tuple[str, ...]

    def to_json(self) -> dict[str, Json]:
        return {
            "kind": "extend_enum",
            "type_kind": self.type_kind,
            "type_name": self.type_name,
            "property_name": self.property_name,
            "added_values": list(self.added_values),
        }


@frozen
class UpdateTypeMetadata:
    type_kind: TypeKind
    name: str
    annotations: tuple[Note, ...]
    """All the descriptions and instructions there will be."""

    def to_json(self) -> dict[str, Json]:
        return {
            "kind": "update_type_metadata",
            "type_kind": self.type_kind,
            "name": self.name,
            "annotations": [note.to_json() for note in self.annotations],
        }


@frozen
class UpdatePropertyMetadata:
    type_kind: TypeKind
    type_name: str
    property_name: str
    annotations: tuple[Note, ...]

    def to_json(self) -> dict[str, Json]:
        return {
            "kind": "update_property_metadata",
            "type_kind": self.type_kind,
            "type_name": self.type_name,
            "property_name": self.property_name,
            "annotations": [note.to_json() for note in self.annotations],
        }


@frozen
class DropType:
    type_kind: TypeKind
    name: str
    mode: DropMode

    def to_json(self) -> dict[str, Json]:
        return {"kind": "drop_type", "type_kind": self.type_kind, "name": self.name, "mode": self.mode.value}


@frozen
class DropProperty:
    type_kind: TypeKind
    type_name: str
    property_name: str
    mode: DropMode

    def to_json(self) -> dict[str, Json]:
        return {
            "kind": "drop_property",
            "type_kind": self.type_kind,
            "type_name": self.type_name,
            "property_name": self.property_name,
            "mode": self.mode.value,
        }


@frozen
class Refusal:
    """`unsupported_change`: a difference that no step can carry out."""

    entity: str
    reason: str
    """One sentence: what is not possible, and what to do instead."""
    code: MigrationCode | None = None

    @property
    def message(self) -> str:
        return self.reason if self.code is None else f"[{self.code}] {self.reason}"

    def to_json(self) -> dict[str, Json]:
        data: dict[str, Json] = {"kind": "unsupported_change", "entity": self.entity, "reason": self.reason}
        if self.code is not None:
            data["code"] = self.code.code
        return data


Step = (
    AddType
    | RenameType
    | AddProperty
    | RequireProperty
    | RelaxProperty
    | WidenProperty
    | RenameEnumValues
    | RenameProperty
    | AddConstraint
    | RemoveConstraint
    | TightenCardinality
    | ExtendEnum
    | UpdateTypeMetadata
    | UpdatePropertyMetadata
    | DropType
    | DropProperty
    | Refusal
)


@frozen
class MigrationPlan:
    """The way from the accepted schema to the desired one."""

    steps: tuple[Step, ...] = ()

    @property
    def refusals(self) -> tuple[Refusal, ...]:
        return tuple(step for step in self.steps if isinstance(step, Refusal))

    @property
    def supported(self) -> bool:
        return not self.refusals

    def __repr__(self) -> str:
        from omnigraph.catalog.migration.render import render_plan  # it names every step, and so comes after them

        if not self.steps:
            return "Migration: no schema changes"
        refused = f", {len(self.refusals):,} not supported" if self.refusals else ""
        head = f"Migration: {counted(len(self.steps), 'step')}{refused}"
        return printable("\n".join([head, *(f"- {line}" for line in render_plan(self))]))

    def to_json(self) -> dict[str, Json]:
        return {"supported": self.supported, "steps": [step.to_json() for step in self.steps]}


def _filled(fill: Fill) -> dict[str, Json]:
    match fill:
        case None:
            return {}
        case Computed(expression):
            return {"compute": expression}
        case _:
            return {"backfill": fill}


def refuse_unsupported(plan: MigrationPlan) -> None:
    """Raise `UnsupportedChange` with the first step that cannot be applied, if there is one."""
    if not plan.supported:
        raise UnsupportedChange(plan.refusals[0].message)
