"""From names to identities: the IR of a shape, once every type, property and table has its id.

Plain translation. Every name in the shape (an implemented interface, an endpoint, a constraint column, the source of an `@embed`)
becomes a reference that carries the id as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import cast

from omnigraph.catalog.declare.names import IMPLICIT_NAMES, TypeKind
from omnigraph.catalog.ir import EdgeIR, EmbedIR, InterfaceIR, NodeIR, PropertyIR, SchemaIR, TypeRef
from omnigraph.catalog.ir_constraints import (
    CheckIR,
    ConstraintIR,
    Field,
    IndexIR,
    KeyIR,
    PropertyField,
    PropertyRef,
    RangeIR,
    Role,
    SystemField,
    UniqueIR,
    field_order,
)
from omnigraph.catalog.matching import PropertyKey, TypeKey
from omnigraph.catalog.shape import (
    Check,
    Constraint,
    EdgeShape,
    Index,
    InterfaceShape,
    Key,
    NodeShape,
    PropertyShape,
    Range,
    Shape,
    Unique,
)
from omnigraph.model.frozen import frozen


@frozen
class Identities:
    """The id of everything in a shape."""

    types: Mapping[TypeKey, int]
    properties: Mapping[PropertyKey, int]
    incarnations: Mapping[TypeKey, int]
    next_id: int


def bind(shape: Shape, identities: Identities, domain: str) -> SchemaIR:
    """The IR that says what the shape says, with these identities."""
    binder = _Binder(identities)
    return SchemaIR(
        domain,
        identities.next_id,
        tuple(binder.interface(i) for i in shape.interfaces),
        tuple(binder.node(n) for n in shape.nodes),
        tuple(binder.edge(e) for e in shape.edges),
    )


@frozen
class _Binder:
    ids: Identities

    def interface(self, shape: InterfaceShape) -> InterfaceIR:
        properties = self._properties("interface", shape.name, shape.properties)
        return InterfaceIR(shape.name, self.ids.types["interface", shape.name], properties)

    def node(self, shape: NodeShape) -> NodeIR:
        implements = sorted((self._type_ref("interface", name) for name in shape.implements), key=lambda ref: ref.type_id)
        return NodeIR(
            shape.name,
            self.ids.types["node", shape.name],
            self.ids.incarnations["node", shape.name],
            shape.notes,
            tuple(implements),
            self._properties("node", shape.name, shape.properties),
            tuple(self._constraint("node", shape.name, c) for c in shape.constraints),
        )

    def edge(self, shape: EdgeShape) -> EdgeIR:
        return EdgeIR(
            shape.name,
            self.ids.types["edge", shape.name],
            self.ids.incarnations["edge", shape.name],
            self._type_ref("node", shape.source),
            self._type_ref("node", shape.target),
            shape.minimum,
            shape.maximum,
            shape.notes,
            self._properties("edge", shape.name, shape.properties),
            tuple(self._constraint("edge", shape.name, c) for c in shape.constraints),
        )

    def _properties(self, kind: TypeKind, owner: str, properties: Iterable[PropertyShape]) -> tuple[PropertyIR, ...]:
        return tuple(
            PropertyIR(
                p.name,
                self.ids.properties[kind, owner, p.name],
                p.type,
                p.notes,
                p.constraints,
                None if p.embed is None else EmbedIR(self._property_ref(kind, owner, p.embed.source), p.embed.model),
                p.declared_directly,
                tuple(sorted(self._property_ref("interface", *link) for link in p.satisfies)),
            )
            for p in properties
        )

    def _constraint(self, kind: TypeKind, owner: str, constraint: Constraint) -> ConstraintIR:
        match constraint:
            case Key(columns):
                return KeyIR(self._fields(kind, owner, columns))
            case Unique(columns):
                return UniqueIR(self._fields(kind, owner, columns))
            case Index(columns):
                return IndexIR(self._fields(kind, owner, columns))
            case Range(column, low, high):
                return RangeIR(self._field(kind, owner, column), low, high)
            case Check(column, pattern):
                return CheckIR(self._field(kind, owner, column), pattern)

    def _fields(self, kind: TypeKind, owner: str, columns: Iterable[str]) -> tuple[Field, ...]:
        return tuple(sorted((self._field(kind, owner, column) for column in columns), key=field_order))

    def _field(self, kind: TypeKind, owner: str, column: str) -> Field:
        if column in IMPLICIT_NAMES[kind]:
            return SystemField(self.ids.types[kind, owner], owner, self.ids.incarnations[kind, owner], cast(Role, column))
        return PropertyField(self._property_ref(kind, owner, column))

    def _type_ref(self, kind: TypeKind, name: str) -> TypeRef:
        return TypeRef(self.ids.types[kind, name], name)

    def _property_ref(self, kind: TypeKind, owner: str, name: str) -> PropertyRef:
        return PropertyRef(self.ids.types[kind, owner], owner, self.ids.properties[kind, owner, name], name)
