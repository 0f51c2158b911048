"""SchemaIR version 2: the accepted schema of a graph, in which everything has an identity.

A shape says what a schema *means*; the IR says which thing is which. Types, properties and tables carry ids from one counter that
never goes back (`omnigraph.catalog.identity` hands them out), and every reference holds the id besides the name. A rename changes
names and nothing else; a type that was dropped and added again shares nothing with its predecessor but the spelling.

    TypeRef(3, "Person")                       a node or interface, as an edge or `implements` points at it
    PropertyRef(3, "Person", 7, "name")        a property, as a constraint, an `@embed` or an interface link points at it
    SystemField(4, "Knows", 11, "src")         a column every entity has, as a constraint points at it

Orders are part of the value, because the IR is hashed:

    types, properties                by name
    `implements`                     by type id
    interface links                  by owner id, owner, property id, property
    constraints                      as in the shape (`constraint_sort_key`)
    fields of one constraint         system columns id, src, dst; then properties by id

The last rule is why a composite key survives the rename of one of its columns: the ids of existing entities are built from the
key values in this order.

Writing is here; `omnigraph.catalog.ir_json` reads, `omnigraph.catalog.ir_rules` says what a sound IR is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar, Final

from omnigraph.catalog.canonical_json import Json, compact, sha256
from omnigraph.catalog.declare.names import TypeKind
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
    constraint_ir_json,
    constraint_shape,
)
from omnigraph.catalog.shape import EdgeShape, Embed, InterfaceShape, NodeShape, Note, PropertyShape, Shape, type_json
from omnigraph.model.frozen import frozen
from omnigraph.model.types import PropertyType

__all__ = [
    "IR_VERSION",
    "CheckIR",
    "ConstraintIR",
    "EdgeIR",
    "EmbedIR",
    "Field",
    "IndexIR",
    "InterfaceIR",
    "KeyIR",
    "NodeIR",
    "PropertyField",
    "PropertyIR",
    "PropertyRef",
    "RangeIR",
    "Role",
    "SchemaIR",
    "SystemField",
    "TableIR",
    "TypeIR",
    "TypeRef",
    "UniqueIR",
    "entity",
    "shape_of",
]

IR_VERSION: Final = 2


@frozen
class TypeRef:
    type_id: int
    name: str

    def to_json(self) -> dict[str, Json]:
        return {"type_id": self.type_id, "type_name": self.name}


@frozen
class EmbedIR:
    source: PropertyRef
    model: str | None

    def to_json(self) -> dict[str, Json]:
        return {"source": self.source.to_json(), "model": self.model}


@frozen
class PropertyIR:
    name: str
    property_id: int
    type: PropertyType
    notes: tuple[Note, ...]
    constraints: tuple[str, ...]
    """Which of key, unique, index stand on the property itself; sorted."""
    embed: EmbedIR | None
    declared_directly: bool
    satisfies: tuple[PropertyRef, ...]

    def to_json(self) -> dict[str, Json]:
        return {
            "name": self.name,
            "property_id": self.property_id,
            "prop_type": type_json(self.type),
            "annotations": [note.to_json() for note in self.notes],
            "property_constraints": list(self.constraints),
            "embed_source": None if self.embed is None else self.embed.to_json(),
            "declared_directly": self.declared_directly,
            "satisfies_interface_properties": [ref.to_json() for ref in self.satisfies],
        }


@frozen
class InterfaceIR:
    kind: ClassVar[TypeKind] = "interface"
    name: str
    type_id: int
    properties: tuple[PropertyIR, ...]

    def to_json(self) -> dict[str, Json]:
        return {"name": self.name, "type_id": self.type_id, "properties": [p.to_json() for p in self.properties]}


@frozen
class NodeIR:
    kind: ClassVar[TypeKind] = "node"
    name: str
    type_id: int
    incarnation: int
    notes: tuple[Note, ...]
    implements: tuple[TypeRef, ...]
    properties: tuple[PropertyIR, ...]
    constraints: tuple[ConstraintIR, ...]

    def to_json(self) -> dict[str, Json]:
        return {
            "name": self.name,
            "type_id": self.type_id,
            "table_incarnation_id": self.incarnation,
            "annotations": [note.to_json() for note in self.notes],
            "implements": [ref.to_json() for ref in self.implements],
            "properties": [p.to_json() for p in self.properties],
            "constraints": [constraint_ir_json(c) for c in self.constraints],
        }


@frozen
class EdgeIR:
    kind: ClassVar[TypeKind] = "edge"
    name: str
    type_id: int
    incarnation: int
    source: TypeRef
    target: TypeRef
    minimum: int
    maximum: int | None
    notes: tuple[Note, ...]
    properties: tuple[PropertyIR, ...]
    constraints: tuple[ConstraintIR, ...]

    def to_json(self) -> dict[str, Json]:
        return {
            "name": self.name,
            "type_id": self.type_id,
            "table_incarnation_id": self.incarnation,
            "from_type": self.source.to_json(),
            "to_type": self.target.to_json(),
            "cardinality": {"min": self.minimum, "max": self.maximum},
            "annotations": [note.to_json() for note in self.notes],
            "properties": [p.to_json() for p in self.properties],
            "constraints": [constraint_ir_json(c) for c in self.constraints],
        }


TableIR = NodeIR | EdgeIR
"""A type that has entities."""
TypeIR = InterfaceIR | TableIR


@frozen
class SchemaIR:
    """A whole accepted schema."""

    domain: str
    """ULID of the space the ids belong to: ids of two graphs are comparable only when their domains are equal."""
    next_id: int
    interfaces: tuple[InterfaceIR, ...] = ()
    nodes: tuple[NodeIR, ...] = ()
    edges: tuple[EdgeIR, ...] = ()

    @property
    def tables(self) -> Iterator[TableIR]:
        """Nodes, then edges."""
        yield from self.nodes
        yield from self.edges

    @property
    def types(self) -> Iterator[TypeIR]:
        """Interfaces, nodes, then edges."""
        yield from self.interfaces
        yield from self.tables

    def to_json(self) -> dict[str, Json]:
        return {
            "ir_version": IR_VERSION,
            "schema_identity_domain": self.domain,
            "next_identity_id": self.next_id,
            "interfaces": [i.to_json() for i in self.interfaces],
            "nodes": [n.to_json() for n in self.nodes],
            "edges": [e.to_json() for e in self.edges],
        }

    @staticmethod
    def from_json(data: object) -> SchemaIR:
        """The IR held by parsed JSON. Raises `SchemaIdentityError` saying what is wrong with it."""
        from omnigraph.catalog.ir_json import read_ir  # it builds these classes, so it imports this module

        return read_ir(data)

    def hash(self) -> str:
        return sha256(compact(self.to_json()))


def entity(kind: TypeKind, name: str, property_name: str | None = None) -> str:
    """How a type or property is named in messages and plans: `node:Person`, `node:Person.name`."""
    return f"{kind}:{name}" if property_name is None else f"{kind}:{name}.{property_name}"


def shape_of(ir: SchemaIR) -> Shape:
    """What the IR says, without identities."""
    return Shape(
        tuple(InterfaceShape(i.name, _property_shapes(i.properties)) for i in ir.interfaces),
        tuple(
            NodeShape(
                n.name,
                n.notes,
                tuple(sorted(ref.name for ref in n.implements)),
                _property_shapes(n.properties),
                tuple(constraint_shape(c) for c in n.constraints),
            )
            for n in ir.nodes
        ),
        tuple(
            EdgeShape(
                e.name,
                e.source.name,
                e.target.name,
                e.minimum,
                e.maximum,
                e.notes,
                _property_shapes(e.properties),
                tuple(constraint_shape(c) for c in e.constraints),
            )
            for e in ir.edges
        ),
    )


def _property_shapes(properties: Sequence[PropertyIR]) -> tuple[PropertyShape, ...]:
    return tuple(
        PropertyShape(
            p.name,
            p.type,
            p.notes,
            p.constraints,
            None if p.embed is None else Embed(p.embed.source.name, p.embed.model),
            p.declared_directly,
            tuple(sorted((ref.owner, ref.name) for ref in p.satisfies)),
        )
        for p in properties
    )
