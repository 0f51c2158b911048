"""The catalog: an accepted schema, ready for lookups by name.

Built once from a `SchemaIR` and never changed. Everything downstream (type checks, storage layout, loading) asks it instead of
walking the schema again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from functools import cached_property
from typing import Final, Literal

from omnigraph.catalog.ir import (
    ConstraintIR,
    EdgeIR,
    InterfaceIR,
    KeyIR,
    NodeIR,
    PropertyField,
    PropertyIR,
    SchemaIR,
    shape_of,
)
from omnigraph.catalog.shape import Constraint, Embed
from omnigraph.language.gq.spelling import edge_spelling
from omnigraph.model.frozen import frozen
from omnigraph.model.types import PropertyType, Scalar


@frozen
class Property:
    """A property as the rest of the system sees it."""

    name: str
    property_id: int
    type: PropertyType
    embed: Embed | None = None


ENDS: Final = tuple(Property(end, 0, PropertyType(Scalar.STRING)) for end in ("src", "dst"))
"""The ends of an edge where they are part of its key: ids of nodes, under no identity of their own."""

Kind = Literal["node", "edge"]


@frozen(slots=False)
class EntityType:
    """A node or edge type."""

    kind: Kind
    name: str
    type_id: int
    incarnation: int
    properties: Mapping[str, Property]
    """By name, in alphabetical order: the physical column order after `id` and the ends."""
    constraints: tuple[Constraint, ...]
    key: tuple[Property, ...] = ()
    """What the canonical id is made of, in its order: the ends of an edge (as texts, `ENDS`), then properties by ascending id.
    Empty when the type has no key."""
    implements: tuple[str, ...] = ()
    """Interfaces of a node type."""
    source: str = ""
    """The node type that edges start from."""
    target: str = ""
    """The node type that edges lead to."""
    minimum: int = 0
    """Edges of this type that every node of `source` has at least."""
    maximum: int | None = None

    @property
    def is_node(self) -> bool:
        return self.kind == "node"

    @property
    def is_edge(self) -> bool:
        return self.kind == "edge"

    @property
    def implicit(self) -> tuple[str, ...]:
        """Columns that every type of its kind has, before its properties."""
        return ("id",) if self.is_node else ("id", "src", "dst")

    @cached_property
    def key_names(self) -> frozenset[str]:
        return frozenset(p.name for p in self.key)

    @property
    def connects_one_type(self) -> bool:
        return self.is_edge and self.source == self.target


@frozen
class InterfaceType:
    name: str
    type_id: int
    properties: Mapping[str, Property]
    implementers: tuple[str, ...]
    """Names of the node types that implement it, sorted."""


@frozen(slots=False)
class Catalog:
    """Every type of an accepted schema, by name."""

    ir: SchemaIR
    nodes: Mapping[str, EntityType]
    edges: Mapping[str, EntityType]
    interfaces: Mapping[str, InterfaceType]
    _folded_edges: Mapping[str, EntityType] = field(repr=False)

    @classmethod
    def of(cls, ir: SchemaIR) -> Catalog:
        """The catalog of an accepted schema."""
        shape = shape_of(ir)
        node_constraints = {n.name: n.constraints for n in shape.nodes}
        edge_constraints = {e.name: e.constraints for e in shape.edges}
        nodes = {n.name: _node(n, node_constraints[n.name]) for n in ir.nodes}
        edges = {e.name: _edge(e, edge_constraints[e.name]) for e in ir.edges}
        interfaces = {i.name: _interface(i, ir) for i in ir.interfaces}
        return cls(ir, nodes, edges, interfaces, {name.lower(): edge for name, edge in edges.items()})

    def edge(self, name: str) -> EntityType | None:
        """An edge type by its exact name, else by its name in any case."""
        return self.edges.get(name) or self._folded_edges.get(name.lower())

    @cached_property
    def edge_spellings(self) -> tuple[str, ...]:
        """How each edge is best written in a query."""
        return tuple(edge_spelling(name) for name in self.edges)

    def incident_edges(self, node: str) -> tuple[EntityType, ...]:
        """Edge types that touch a node type at either end, by name."""
        return self._incident.get(node, ())

    @cached_property
    def _incident(self) -> dict[str, tuple[EntityType, ...]]:
        edges = [edge for _, edge in sorted(self.edges.items())]
        return {node: tuple(edge for edge in edges if node in (edge.source, edge.target)) for node in self.nodes}


def _properties(properties: tuple[PropertyIR, ...]) -> dict[str, Property]:
    return {
        p.name: Property(p.name, p.property_id, p.type, None if p.embed is None else Embed(p.embed.source.name, p.embed.model))
        for p in properties
    }


def _node(node: NodeIR, constraints: tuple[Constraint, ...]) -> EntityType:
    properties = _properties(node.properties)
    implements = tuple(ref.name for ref in node.implements)
    key = _key(node.constraints, properties)
    return EntityType("node", node.name, node.type_id, node.incarnation, properties, constraints, key, implements)


def _key(constraints: tuple[ConstraintIR, ...], properties: Mapping[str, Property]) -> tuple[Property, ...]:
    for constraint in constraints:
        if isinstance(constraint, KeyIR):
            named = [properties[field.name] for field in constraint.fields if isinstance(field, PropertyField)]
            ends = {field.name for field in constraint.fields} - properties.keys()
            return (*(end for end in ENDS if end.name in ends), *sorted(named, key=lambda p: p.property_id))
    return ()


def _edge(edge: EdgeIR, constraints: tuple[Constraint, ...]) -> EntityType:
    properties = _properties(edge.properties)
    return EntityType(
        "edge",
        edge.name,
        edge.type_id,
        edge.incarnation,
        properties,
        constraints,
        _key(edge.constraints, properties),
        source=edge.source.name,
        target=edge.target.name,
        minimum=edge.minimum,
        maximum=edge.maximum,
    )


def _interface(interface: InterfaceIR, ir: SchemaIR) -> InterfaceType:
    implementers = sorted(n.name for n in ir.nodes if any(r.type_id == interface.type_id for r in n.implements))
    return InterfaceType(interface.name, interface.type_id, _properties(interface.properties), tuple(implementers))
