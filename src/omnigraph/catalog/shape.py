"""The shape of a schema: what a `.pg` text says, in canonical form, without identity.

Two texts have the same shape when they mean the same: comments, layout, the order of declarations, properties, enum values and
constraint columns, and rename hints play no part. The hash of the shape is therefore how a graph notices that its schema file and
its accepted schema have drifted apart.

A shape is plain values. `omnigraph.catalog.declare` builds one from a tree, `omnigraph.catalog.identity` gives it stable ids.
"""

from __future__ import annotations

from dataclasses import field

from omnigraph.catalog.canonical_json import Json, compact, float_text, sha256
from omnigraph.model.frozen import frozen
from omnigraph.model.types import PropertyType, Scalar

Bound = int | float | None


@frozen
class Note:
    """An annotation that is kept with the schema: `@description`, `@instruction` or one of the writer's own."""

    name: str
    value: str | None = None
    kwargs: tuple[tuple[str, str], ...] = ()
    """Sorted by key."""

    def to_json(self) -> dict[str, Json]:
        data: dict[str, Json] = {"name": self.name, "value": self.value}
        if self.kwargs:
            data["kwargs"] = dict(self.kwargs)
        return data


@frozen
class Key:
    columns: tuple[str, ...]


@frozen
class Unique:
    columns: tuple[str, ...]


@frozen
class Index:
    columns: tuple[str, ...]


@frozen
class Range:
    property: str
    low: Bound
    high: Bound


@frozen
class Check:
    property: str
    pattern: str


Constraint = Key | Unique | Index | Range | Check
"""Columns of key, unique and index are sorted; the written order has no meaning."""


@frozen
class Embed:
    """`@embed(source, model="…")`: this vector is derived from that text."""

    source: str
    model: str | None = None


@frozen
class PropertyShape:
    name: str
    type: PropertyType
    notes: tuple[Note, ...] = ()
    constraints: tuple[str, ...] = ()
    """Which of key, unique, index stand on the property itself; sorted."""
    embed: Embed | None = None
    declared_directly: bool = True
    satisfies: tuple[tuple[str, str], ...] = ()
    """(interface, property) pairs this property fulfils; sorted."""
    rename_from: str | None = field(default=None, compare=False)
    renamed_values: tuple[tuple[str, str], ...] = field(default=(), compare=False)
    """Values of an enum that had another name before: old, new."""


@frozen
class InterfaceShape:
    name: str
    properties: tuple[PropertyShape, ...]


@frozen
class NodeShape:
    name: str
    notes: tuple[Note, ...]
    implements: tuple[str, ...]
    properties: tuple[PropertyShape, ...]
    constraints: tuple[Constraint, ...]
    rename_from: str | None = field(default=None, compare=False)


@frozen
class EdgeShape:
    name: str
    source: str
    target: str
    minimum: int
    maximum: int | None
    notes: tuple[Note, ...]
    properties: tuple[PropertyShape, ...]
    constraints: tuple[Constraint, ...]
    rename_from: str | None = field(default=None, compare=False)


@frozen
class Shape:
    """A whole schema. Every tuple is sorted by name."""

    interfaces: tuple[InterfaceShape, ...] = ()
    nodes: tuple[NodeShape, ...] = ()
    edges: tuple[EdgeShape, ...] = ()

    def to_json(self) -> dict[str, Json]:
        return {
            "interfaces": [{"name": i.name, "properties": [property_json(p) for p in i.properties]} for i in self.interfaces],
            "nodes": [_node_json(n) for n in self.nodes],
            "edges": [_edge_json(e) for e in self.edges],
        }

    def hash(self) -> str:
        return sha256(compact(self.to_json()))


def canonical_notes(notes: list[Note]) -> tuple[Note, ...]:
    """Sorted by their JSON text, without repetition."""
    return tuple(sorted(set(notes), key=lambda note: compact(note.to_json())))


def canonical_constraints(constraints: list[Constraint]) -> tuple[Constraint, ...]:
    """Sorted by kind and content, without repetition."""
    distinct = {constraint_sort_key(c): c for c in constraints}  # not a set: to `==`, the bounds 1 and 1.0 are the same
    return tuple(distinct[key] for key in sorted(distinct))


def constraint_sort_key(constraint: Constraint) -> str:
    """The text constraints are ordered by; part of the hashed form, so it never changes."""
    match constraint:
        case Key(columns):
            return f"key:{','.join(columns)}"
        case Unique(columns):
            return f"unique:{','.join(columns)}"
        case Index(columns):
            return f"index:{','.join(columns)}"
        case Range(name, low, high):
            return f"range:{name}:{_bound_key(low)}:{_bound_key(high)}"
        case Check(name, pattern):
            return f"check:{name}:{pattern}"


def _bound_key(bound: Bound) -> str:
    if bound is None:
        return "None"
    return f"Some(Integer({bound}))" if isinstance(bound, int) else f"Some(Float({float_text(bound)}))"


def bound_json(bound: Bound) -> Json:
    if bound is None:
        return None
    return {"Integer": bound} if isinstance(bound, int) else {"Float": bound}


def constraint_json(constraint: Constraint) -> dict[str, Json]:
    match constraint:
        case Key(columns):
            return {"Key": list(columns)}
        case Unique(columns):
            return {"Unique": list(columns)}
        case Index(columns):
            return {"Index": list(columns)}
        case Range(name, low, high):
            return {"Range": {"property": name, "min": bound_json(low), "max": bound_json(high)}}
        case Check(name, pattern):
            return {"Check": {"property": name, "pattern": pattern}}


def type_json(type_: PropertyType) -> dict[str, Json]:
    scalar: Json = {"Vector": type_.dimension} if type_.scalar is Scalar.VECTOR else type_.scalar.value
    values: Json = None if type_.enum_values is None else list(type_.enum_values)
    return {"scalar": scalar, "nullable": type_.nullable, "list": type_.is_list, "enum_values": values}


def property_json(prop: PropertyShape) -> dict[str, Json]:
    return {
        "name": prop.name,
        "prop_type": type_json(prop.type),
        "annotations": [note.to_json() for note in prop.notes],
        "property_constraints": list(prop.constraints),
        "embed_source": None if prop.embed is None else {"property_name": prop.embed.source, "model": prop.embed.model},
        "declared_directly": prop.declared_directly,
        "satisfies_interface_properties": [{"owner_name": o, "property_name": p} for o, p in prop.satisfies],
    }


def _node_json(node: NodeShape) -> dict[str, Json]:
    return {
        "name": node.name,
        "annotations": [note.to_json() for note in node.notes],
        "implements": list(node.implements),
        "properties": [property_json(p) for p in node.properties],
        "constraints": [constraint_json(c) for c in node.constraints],
    }


def _edge_json(edge: EdgeShape) -> dict[str, Json]:
    return {
        "name": edge.name,
        "from_type": edge.source,
        "to_type": edge.target,
        "cardinality": {"min": edge.minimum, "max": edge.maximum},
        "annotations": [note.to_json() for note in edge.notes],
        "properties": [property_json(p) for p in edge.properties],
        "constraints": [constraint_json(c) for c in edge.constraints],
    }
