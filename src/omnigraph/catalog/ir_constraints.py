"""Constraints of the accepted schema, over columns that are known by id.

A column is a property or one of the system columns every entity has. Inside a constraint, system columns (id, src, dst) come
first, then properties by id, so that renaming a column never changes the order of a composite key.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from omnigraph.catalog.canonical_json import Json
from omnigraph.catalog.shape import Bound, Check, Constraint, Index, Key, Range, Unique, bound_json
from omnigraph.model.frozen import frozen

Role = Literal["id", "src", "dst"]
ROLES: Final[tuple[Role, ...]] = ("id", "src", "dst")
"""Columns every entity has, in their order inside a constraint."""


@dataclass(frozen=True, slots=True, order=True)
class PropertyRef:
    """Sorts the way interface links are sorted."""

    owner_id: int
    owner: str
    property_id: int
    name: str

    def to_json(self) -> dict[str, Json]:
        return {
            "owner_type_id": self.owner_id,
            "owner_type_name": self.owner,
            "property_id": self.property_id,
            "property_name": self.name,
        }


@frozen
class PropertyField:
    """A constraint column that is a property."""

    ref: PropertyRef

    @property
    def name(self) -> str:
        return self.ref.name

    def to_json(self) -> dict[str, Json]:
        return {"kind": "property", **self.ref.to_json()}


@frozen
class SystemField:
    """A constraint column every entity has without declaring it."""

    type_id: int
    type_name: str
    incarnation: int
    role: Role

    @property
    def name(self) -> str:
        return self.role

    def to_json(self) -> dict[str, Json]:
        return {
            "kind": "system",
            "stable_table_id": self.type_id,
            "table_type_name": self.type_name,
            "table_incarnation_id": self.incarnation,
            "role": self.role,
        }


Field = PropertyField | SystemField


@frozen
class KeyIR:
    fields: tuple[Field, ...]


@frozen
class UniqueIR:
    fields: tuple[Field, ...]


@frozen
class IndexIR:
    fields: tuple[Field, ...]


@frozen
class RangeIR:
    field: Field
    low: Bound
    high: Bound


@frozen
class CheckIR:
    field: Field
    pattern: str


ConstraintIR = KeyIR | UniqueIR | IndexIR | RangeIR | CheckIR


def constraint_ir_json(constraint: ConstraintIR) -> dict[str, Json]:
    match constraint:
        case KeyIR(fields):
            return {"kind": "key", "fields": [f.to_json() for f in fields]}
        case UniqueIR(fields):
            return {"kind": "unique", "fields": [f.to_json() for f in fields]}
        case IndexIR(fields):
            return {"kind": "index", "fields": [f.to_json() for f in fields]}
        case RangeIR(field, low, high):
            return {"kind": "range", "field": field.to_json(), "min": bound_json(low), "max": bound_json(high)}
        case CheckIR(field, pattern):
            return {"kind": "check", "field": field.to_json(), "pattern": pattern}


def field_order(field: Field) -> tuple[int, int]:
    """System columns in their fixed order, then properties by id."""
    return (0, ROLES.index(field.role)) if isinstance(field, SystemField) else (1, field.ref.property_id)


def constraint_shape(constraint: ConstraintIR) -> Constraint:
    """The constraint by the names its columns have now."""
    match constraint:
        case KeyIR(fields):
            return Key(_columns(fields))
        case UniqueIR(fields):
            return Unique(_columns(fields))
        case IndexIR(fields):
            return Index(_columns(fields))
        case RangeIR(field, low, high):
            return Range(field.name, low, high)
        case CheckIR(field, pattern):
            return Check(field.name, pattern)


def _columns(fields: Sequence[Field]) -> tuple[str, ...]:
    return tuple(sorted(f.name for f in fields))
