"""The operation descriptor of a query: the fields it returns, the types it reads and writes.

Tools use it to know a query without running it. Field names follow a static rule (the bare property name) that differs from the
column names of a result (`variable.property`); both are part of the contract.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from omnigraph.catalog import logical as lg
from omnigraph.catalog.canonical_json import Json
from omnigraph.catalog.catalog import Catalog
from omnigraph.catalog.render import expression_text
from omnigraph.model.frozen import frozen
from omnigraph.model.types import PropertyType, Scalar

_KINDS = {
    Scalar.STRING: "string",
    Scalar.BLOB: "blob",
    Scalar.BOOL: "bool",
    Scalar.I32: "int",
    Scalar.U32: "int",
    Scalar.I64: "bigint",
    Scalar.U64: "bigint",
    Scalar.F32: "float",
    Scalar.F64: "float",
    Scalar.DATE: "date",
    Scalar.DATETIME: "datetime",
    Scalar.VECTOR: "vector",
    Scalar.DURATION: "duration",
}


@frozen
class Field:
    """One returned field."""

    name: str
    kind: str
    nullable: bool
    item_kind: str | None = None
    vector_dim: int | None = None

    def to_json(self) -> dict[str, Json]:
        data: dict[str, Json] = {"name": self.name, "kind": self.kind}
        if self.item_kind is not None:
            data["item_kind"] = self.item_kind
        if self.vector_dim is not None:
            data["vector_dim"] = self.vector_dim
        data["nullable"] = self.nullable
        return data


@frozen
class Fact:
    """A type that a query touches."""

    kind: Literal["node", "edge"]
    type_name: str

    def to_json(self) -> dict[str, Json]:
        return {"kind": self.kind, "type_name": self.type_name}


@frozen
class Operation:
    """What a query gives back and which types it reads and writes."""

    result: tuple[Field, ...]
    reads: tuple[Fact, ...]
    writes: tuple[Fact, ...]

    def to_json(self) -> dict[str, Json]:
        return {
            "result": [f.to_json() for f in self.result],
            "reads": [f.to_json() for f in self.reads],
            "writes": [f.to_json() for f in self.writes],
        }


def describe(catalog: Catalog, query: lg.LogicalQuery) -> Operation:
    """The descriptor of a checked query."""
    if isinstance(query, lg.ReadQuery):
        fields = tuple(_field(p) for p in query.projections)
        return Operation(fields, _sorted(_pattern_facts(query.pattern)), ())
    reads: list[Fact] = []
    writes: list[Fact] = []
    for statement in query.statements:
        targets = list(_written(catalog, statement))
        writes += targets
        reads += targets
        if isinstance(statement, lg.InsertNode | lg.InsertEdge | lg.UpdateMatched | lg.DeleteMatched):
            reads += _pattern_facts(statement.pattern)
        if isinstance(statement, lg.InsertEdge | lg.PatchEdge):
            edge = catalog.edges[statement.type]
            reads += [Fact("node", edge.source), Fact("node", edge.target)]
    return Operation((), _sorted(iter(reads)), _sorted(iter(writes)))


def _written(catalog: Catalog, statement: lg.Statement) -> Iterator[Fact]:
    match statement:
        case lg.InsertNode(name) | lg.UpdateNode(name) | lg.PatchNode(name):
            yield Fact("node", name)
        case lg.InsertEdge(name) | lg.DeleteEdge(name) | lg.UpdateEdge(name) | lg.PatchEdge(name):
            yield Fact("edge", name)
        case lg.UpdateMatched(_, entity) | lg.DeleteMatched(_, entity) if entity.of_edge:
            yield Fact("edge", entity.label)
        case lg.UpdateMatched(_, entity):
            yield Fact("node", entity.label)
        case lg.DeleteNode(name) | lg.DeleteMatched(_, lg.Entity(label=name)):
            yield Fact("node", name)
            for edge in catalog.incident_edges(name):
                yield Fact("edge", edge.name)


def _pattern_facts(pattern: tuple[lg.Pattern, ...]) -> Iterator[Fact]:
    for part in pattern:
        match part:
            case lg.Bind(_, types):
                for name in types:
                    yield Fact("node", name)
            case lg.Hop():
                yield Fact("edge", part.edge)
                yield Fact("node", part.source_type)
                yield Fact("node", part.target_type)
            case lg.Without(inner) | lg.Maybe(inner):
                yield from _pattern_facts(inner)
            case lg.Keep():
                pass


def _sorted(facts: Iterator[Fact]) -> tuple[Fact, ...]:
    """Nodes before edges, then by name, each once."""
    return tuple(sorted(set(facts), key=lambda f: (f.kind == "edge", f.type_name)))


def _field(projection: lg.Projection) -> Field:
    name = projection.alias or _static_name(projection.expression)
    expression = projection.expression
    if isinstance(expression, lg.Entity):
        return Field(name, "object", expression.nullable)
    if expression.type is None:
        return Field(name, "object", True)
    return _typed_field(name, expression.type)


def _static_name(expression: lg.Expression) -> str:
    match expression:
        case lg.PropertyValue(_, name) | lg.Parameter(name) | lg.Column(name) | lg.Found(_, name):
            return name
        case lg.Entity(variable):
            return variable
        case lg.Constant():
            return "literal"
        case lg.Now():
            return "now"
        case lg.TextMatch(function):
            return function.value
        case lg.Aggregated(aggregate):
            return aggregate.value
        case lg.Nearest():
            return "nearest"
        case lg.Bm25():
            return "bm25"
        case lg.Fusion():
            return "rrf"
        case lg.Computed():
            return expression_text(expression)


def _typed_field(name: str, type_: PropertyType) -> Field:
    kind = _KINDS[type_.scalar]
    if type_.is_list:
        return Field(name, "list", type_.nullable, item_kind=kind)
    if type_.is_vector:
        return Field(name, kind, type_.nullable, vector_dim=type_.dimension)
    return Field(name, kind, type_.nullable)
