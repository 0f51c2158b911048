"""The whole schema: declarations in, shape out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, cast

from omnigraph.catalog.declare.annotations import read_property_annotations, read_type_annotations
from omnigraph.catalog.declare.constraints import Constraints, check_cardinality
from omnigraph.catalog.declare.interfaces import expand
from omnigraph.catalog.declare.names import TypeKind, check_endpoints, unique_declarations, unique_properties
from omnigraph.catalog.shape import EdgeShape, InterfaceShape, NodeShape, PropertyShape, Shape, canonical_constraints
from omnigraph.errors import ParseError, SchemaError
from omnigraph.language import read_schema
from omnigraph.language.diagnostics import Family, Problems
from omnigraph.language.pg import tree as pg
from omnigraph.language.source import Source
from omnigraph.model.types import PropertyType


def declare(source: Source) -> Shape:
    """The shape of a `.pg` text. Raises `ParseError` for its grammar, `SchemaError` for its rules."""
    tree, problems = read_schema(source)
    if problems:
        raise ParseError(problems.found)
    shape, problems = read_shape(tree, source)
    if problems:
        raise SchemaError(problems.found)
    return shape


def read_shape(tree: pg.Schema, source: Source) -> tuple[Shape, Problems]:
    """The shape of a tree, and every rule it breaks."""
    problems = Problems(source)
    interfaces = unique_declarations(problems, "interface", [d for d in tree.declarations if isinstance(d, pg.Interface)])
    nodes = unique_declarations(problems, "node", [d for d in tree.declarations if isinstance(d, pg.Node)])
    edges = unique_declarations(problems, "edge", [d for d in tree.declarations if isinstance(d, pg.Edge)])
    interface_shapes = {name: _interface(problems, declaration) for name, declaration in interfaces.items()}
    node_shapes = [_node(problems, declaration, interface_shapes) for declaration in nodes.values()]
    edge_shapes = [_edge(problems, declaration) for declaration in edges.values()]
    check_endpoints(problems, edges.values(), nodes)
    shape = Shape(
        tuple(sorted(interface_shapes.values(), key=lambda i: i.name)),
        tuple(sorted(node_shapes, key=lambda n: n.name)),
        tuple(sorted(edge_shapes, key=lambda e: e.name)),
    )
    return shape, problems


def _interface(problems: Problems, declaration: pg.Interface) -> InterfaceShape:
    properties = _properties(problems, "interface", declaration.name.text, declaration.body, {})
    return InterfaceShape(declaration.name.text, _sorted(properties))


def _node(problems: Problems, declaration: pg.Node, interfaces: Mapping[str, InterfaceShape]) -> NodeShape:
    name = declaration.name.text
    header = read_type_annotations(problems, "node", declaration.annotations)
    inherited = {p.name: p.type for i in declaration.implements if i.text in interfaces for p in interfaces[i.text].properties}
    own = _properties(problems, "node", name, declaration.body, inherited)
    expanded = expand(problems, declaration, own, interfaces)
    constraints = _constraints(problems, "node", name, declaration.body, expanded.properties)
    for prop in expanded.injected:
        for kind in prop.constraints if _annotation_allowed(prop, "node") else ():
            constraints.add_columns(_column_kind(kind), (prop.name,), declaration.name.span)
    return NodeShape(
        name,
        header.notes,
        tuple(sorted({i.text for i in declaration.implements})),
        _sorted(expanded.properties),
        canonical_constraints(constraints.found),
        header.rename_from,
    )


def _edge(problems: Problems, declaration: pg.Edge) -> EdgeShape:
    name = declaration.name.text
    header = read_type_annotations(problems, "edge", declaration.annotations)
    properties = _properties(problems, "edge", name, declaration.body, {})
    constraints = _constraints(problems, "edge", name, declaration.body, properties, declaration.constraints)
    minimum, maximum = check_cardinality(problems, declaration)
    return EdgeShape(
        name,
        declaration.source.text,
        declaration.target.text,
        minimum,
        maximum,
        header.notes,
        _sorted(properties),
        canonical_constraints(constraints.found),
        header.rename_from,
    )


def _properties(
    problems: Problems, kind: TypeKind, owner: str, body: pg.Body | None, inherited: Mapping[str, PropertyType]
) -> dict[str, PropertyShape]:
    """The properties a body declares; `inherited` are the types an `@embed` may name besides them."""
    declared = unique_properties(problems, kind, owner, body)
    siblings = {**inherited, **{name: prop.type for name, prop in declared.items()}}
    shapes: dict[str, PropertyShape] = {}
    for name, prop in declared.items():
        if prop.type.is_list and prop.type.is_blob:
            problems.add(Family.PARSE, "list-of-blob", f"`{name}` cannot be a list of Blob", prop.type_span)
        annotated = read_property_annotations(problems, kind, prop, siblings)
        shapes[name] = PropertyShape(
            name,
            prop.type,
            annotated.notes,
            annotated.constraints,
            annotated.embed,
            rename_from=annotated.rename_from,
            renamed_values=annotated.renamed_values,
        )
    return shapes


def _constraints(
    problems: Problems,
    kind: TypeKind,
    owner: str,
    body: pg.Body | None,
    properties: Mapping[str, PropertyShape],
    header: Sequence[pg.Constraint] = (),
) -> Constraints:
    """Constraints written in the type: those on its properties, then those in its header and in its body."""
    constraints = Constraints(problems, kind, owner, {name: p.type for name, p in properties.items()})
    for prop in body.properties if body is not None else ():
        shape = properties.get(prop.name.text)
        if shape is None or not _annotation_allowed(shape, kind):
            continue
        for column_kind in shape.constraints:
            constraints.add_columns(_column_kind(column_kind), (shape.name,), prop.span)
    for written in (*header, *(body.constraints if body is not None else ())):
        constraints.add_written(written)
    return constraints


def _annotation_allowed(prop: PropertyShape, kind: TypeKind) -> bool:
    """False where the annotation itself was already refused, so that it is not reported twice."""
    refused_key = "key" in prop.constraints and (kind == "edge" or prop.type.is_vector)
    return not (prop.type.is_list or prop.type.is_blob or refused_key)


def _column_kind(kind: str) -> Literal["key", "unique", "index"]:
    return cast(Literal["key", "unique", "index"], kind)


def _sorted(properties: Mapping[str, PropertyShape]) -> tuple[PropertyShape, ...]:
    return tuple(properties[name] for name in sorted(properties))
