"""The tree of a `.pg` text: what was written, in the order it was written.

Spans and raw spellings take no part in comparison, so two texts that say the same in another layout give equal trees. Nothing
here is checked or expanded; `omnigraph.catalog` does that.
"""

from __future__ import annotations

from dataclasses import field
from enum import Enum

from omnigraph.language.source import NOWHERE, Span
from omnigraph.model.frozen import frozen
from omnigraph.model.types import PropertyType


@frozen
class Name:
    """A name and where it stands."""

    text: str
    span: Span = field(default=NOWHERE, compare=False)

    def __str__(self) -> str:
        return self.text


class LiteralKind(Enum):
    STRING = "string"
    FLOAT = "float"
    INTEGER = "integer"
    BOOL = "bool"
    NAME = "name"
    """A bare identifier where a literal could stand; its value is its text."""


@frozen
class Literal:
    """An annotation or constraint argument. `value` is the decoded string, or the source text of anything else."""

    kind: LiteralKind
    value: str
    raw: str = field(default="", compare=False)
    span: Span = field(default=NOWHERE, compare=False)


@frozen
class Range:
    """`lo..hi`, `lo..` or `..hi`. An int when written without a fraction."""

    low: int | float | None
    high: int | float | None
    raw: tuple[str, str] = field(default=("", ""), compare=False)
    span: Span = field(default=NOWHERE, compare=False)


@frozen
class Annotation:
    """`@name`, `@name(value)` or `@name(value, key=literal)`."""

    name: Name
    value: Literal | None = None
    kwargs: tuple[tuple[Name, Literal], ...] = ()
    span: Span = field(default=NOWHERE, compare=False)


@frozen
class Property:
    """`name: Type @annotation…`."""

    name: Name
    type: PropertyType
    annotations: tuple[Annotation, ...] = ()
    type_span: Span = field(default=NOWHERE, compare=False)
    enum_order: tuple[Name, ...] = field(default=(), compare=False)
    """Enum values in the order and at the places they were written; the type holds them sorted."""
    span: Span = field(default=NOWHERE, compare=False)


class ConstraintKind(Enum):
    KEY = "key"
    UNIQUE = "unique"
    INDEX = "index"
    RANGE = "range"
    CHECK = "check"


ConstraintArgument = Range | Literal


@frozen
class Constraint:
    """A constraint in a body or in the header of an edge: `@key(a, b)`, `@range(p, 0..1)` and the like."""

    kind: ConstraintKind
    arguments: tuple[ConstraintArgument, ...]
    span: Span = field(default=NOWHERE, compare=False)


Member = Property | Constraint


@frozen
class Cardinality:
    """`@card(min..max)`; no maximum when open."""

    minimum: int = 0
    maximum: int | None = None
    span: Span = field(default=NOWHERE, compare=False)


@frozen
class Body:
    """What stands between braces, and where the braces are."""

    members: tuple[Member, ...] = ()
    opening: Span = field(default=NOWHERE, compare=False)
    closing: Span = field(default=NOWHERE, compare=False)

    @property
    def properties(self) -> tuple[Property, ...]:
        return tuple(m for m in self.members if isinstance(m, Property))

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        return tuple(m for m in self.members if isinstance(m, Constraint))


@frozen
class Interface:
    name: Name
    body: Body
    span: Span = field(default=NOWHERE, compare=False)


@frozen
class Node:
    name: Name
    annotations: tuple[Annotation, ...]
    implements: tuple[Name, ...]
    body: Body
    span: Span = field(default=NOWHERE, compare=False)


@frozen
class Edge:
    name: Name
    source: Name
    target: Name
    cardinality: Cardinality | None
    annotations: tuple[Annotation, ...]
    body: Body | None
    """None when the braces are left out."""
    constraints: tuple[Constraint, ...] = ()
    """Those in its header: `edge Knows: Person -> Person @key(src, dst)`."""
    span: Span = field(default=NOWHERE, compare=False)


Declaration = Interface | Node | Edge


@frozen
class Schema:
    """A whole `.pg` text."""

    declarations: tuple[Declaration, ...] = ()
