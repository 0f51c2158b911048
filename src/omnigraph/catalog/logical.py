"""The typed logical form of a query: what the text means, with every name resolved and every type known.

The checker (`catalog.check`) turns a tree into this form; lowering (`engine.planning.lowering`) turns the patterns of a
read into a pipeline of operators; the engine turns the pipeline into a plan. From here on nobody looks at text again.

    $p: Person { name: $n }          Bind("p", ("Person",), matches=(Match("name", …, Parameter("n")),))
    $p worksAt $c                    Hop("p", "c", edge="WorksAt", OUT, …)
    $c.city = "Oslo"                 Keep(Compare(PropertyValue("c", "city"), EQ, Constant("Oslo")))
    not { $p knows $_ }              Without((Hop("p", "_", …),), outer=("p",))
"""

from __future__ import annotations

from enum import Enum

from omnigraph.language.gq.tree import AggregateFunction, Direction, Function
from omnigraph.model.frozen import frozen
from omnigraph.model.types import PropertyType, Scalar

ANONYMOUS = "_"

BOOL = PropertyType(Scalar.BOOL)
DATETIME = PropertyType(Scalar.DATETIME)
SCORE = PropertyType(Scalar.F64, nullable=True)


# ── expressions ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


@frozen
class PropertyValue:
    """A property of a bound node or edge."""

    variable: str
    property: str
    type: PropertyType
    of_edge: bool = False


@frozen
class Entity:
    """A bound node itself; as a result its id."""

    variable: str
    label: str
    """The node type, or the interface, the variable ranges over."""
    nullable: bool = False


@frozen
class Parameter:
    """A parameter. An undeclared one (possible in an inline match) can never be given and fails when the query runs."""

    name: str
    type: PropertyType
    declared: bool = True


ConstantItem = str | int | float | bool


@frozen
class Constant:
    """A literal; dates and date-times are still text, lists are tuples."""

    value: ConstantItem | tuple[ConstantItem, ...]
    type: PropertyType


@frozen
class Now:
    """The moment the query started."""

    type: PropertyType = DATETIME


@frozen
class TextMatch:
    """`search`, `match_text` or `fuzzy`: does the text contain a term of the query?"""

    function: Function
    field: Expression
    query: Expression
    edits: Expression | None = None
    type: PropertyType = BOOL


@frozen
class Nearest:
    """Distance between a vector property and a vector (or a text to embed)."""

    field: PropertyValue
    query: Expression
    type: PropertyType = SCORE


@frozen
class Bm25:
    """Relevance of a text property for a query."""

    field: Expression
    query: Expression
    type: PropertyType = SCORE


@frozen
class Fusion:
    """`rrf`: two rankings merged by reciprocal rank."""

    first: Nearest | Bm25
    second: Nearest | Bm25
    k: Expression | None = None
    type: PropertyType = SCORE


@frozen
class Aggregated:
    function: AggregateFunction
    argument: Expression
    distinct: bool
    type: PropertyType


@frozen
class Column:
    """A result column by its alias. The type is unknown when no projection has the alias."""

    name: str
    type: PropertyType | None = None


Expression = PropertyValue | Entity | Parameter | Constant | Now | TextMatch | Nearest | Bm25 | Fusion | Aggregated | Column
Ranking = Nearest | Bm25 | Fusion


# ── conditions ───────────────────────────────────────────────────────────────────────────────────────────────────────────────


class Comparator(Enum):
    EQ = "="
    NE = "!="
    GT = ">"
    LT = "<"
    GE = ">="
    LE = "<="
    CONTAINS = "contains"
    """Membership in a list."""
    STRING_CONTAINS = "string_contains"
    """Substring."""
    STARTS_WITH = "starts_with"


@frozen
class Compare:
    left: Expression
    comparator: Comparator
    right: Expression


@frozen
class IsNull:
    operand: Expression
    negated: bool


@frozen
class Among:
    operand: Expression
    choices: Expression


@frozen
class AllOf:
    parts: tuple[Condition, ...]


@frozen
class AnyOf:
    parts: tuple[Condition, ...]


Condition = Compare | IsNull | Among | TextMatch | AllOf | AnyOf


# ── patterns ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────


@frozen
class Match:
    """An inline condition: equality, or membership when the property is a list."""

    property: str
    type: PropertyType
    value: Expression


@frozen
class Bind:
    variable: str
    types: tuple[str, ...]
    """One node type, or every implementer of an interface."""
    label: str
    matches: tuple[Match, ...] = ()


class HopDirection(Enum):
    OUT = "out"
    IN = "in"
    BOTH = "both"

    def reversed(self) -> HopDirection:
        return _REVERSED[self]


_REVERSED = {HopDirection.OUT: HopDirection.IN, HopDirection.IN: HopDirection.OUT, HopDirection.BOTH: HopDirection.BOTH}


@frozen
class Hop:
    """A traversal with its direction settled: from `source` over `edge` in `direction` to `target`."""

    source: str
    target: str
    edge: str
    direction: HopDirection
    source_type: str
    target_type: str
    minimum: int = 1
    maximum: int = 1
    edge_variable: str | None = None


@frozen
class Keep:
    condition: Condition


@frozen
class Without:
    """`not { … }`: drop rows for which the inner pattern has a match."""

    pattern: tuple[Pattern, ...]
    outer: tuple[str, ...]
    """Outer variables the block mentions, in order of first mention."""


@frozen
class Maybe:
    """`optional { … }`: extend rows where the inner pattern matches, keep the others with nulls."""

    pattern: tuple[Pattern, ...]
    outer: tuple[str, ...]
    introduces: tuple[str, ...]
    """Variables first bound inside, nullable afterwards."""


Pattern = Bind | Hop | Keep | Without | Maybe


# ── queries ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────


@frozen
class Projection:
    expression: Expression
    alias: str | None
    column: str
    """Name of the result column (spec 4.4)."""


@frozen
class SortKey:
    expression: Expression
    direction: Direction

    @property
    def is_backwards(self) -> bool:
        """Whether it is a ranking from its worst end."""
        return isinstance(self.expression, Ranking) and self.direction is not best_first(self.expression)


def best_first(expression: Expression) -> Direction:
    """The direction of a sort key that has none written: scores from the highest, distances and values from the lowest."""
    return Direction.DESC if isinstance(expression, Bm25 | Fusion) else Direction.ASC


@frozen
class ReadQuery:
    """A checked read."""

    name: str
    parameters: tuple[Parameter, ...]
    pattern: tuple[Pattern, ...]
    projections: tuple[Projection, ...]
    distinct: bool
    order: tuple[SortKey, ...]
    limit: int | None
    offset: int | None

    @property
    def aggregates(self) -> bool:
        return any(isinstance(p.expression, Aggregated) for p in self.projections)


@frozen
class Assign:
    property: str
    type: PropertyType
    value: Expression


@frozen
class Where:
    """The one comparison of an update or delete. `from` and `to` of an edge are properties here."""

    property: str
    type: PropertyType
    comparator: Comparator
    value: Expression


@frozen
class InsertNode:
    type: str
    assignments: tuple[Assign, ...]


@frozen
class InsertEdge:
    type: str
    source: Expression
    target: Expression
    assignments: tuple[Assign, ...]


@frozen
class UpdateNode:
    type: str
    assignments: tuple[Assign, ...]
    where: Where


@frozen
class DeleteNode:
    type: str
    where: Where


@frozen
class DeleteEdge:
    type: str
    where: Where


Statement = InsertNode | InsertEdge | UpdateNode | DeleteNode | DeleteEdge


@frozen
class MutationQuery:
    """A checked mutation."""

    name: str
    parameters: tuple[Parameter, ...]
    statements: tuple[Statement, ...]


LogicalQuery = ReadQuery | MutationQuery
