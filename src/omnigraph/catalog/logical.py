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

from omnigraph.language.gq.tree import AggregateFunction, Direction, Function, Nulls
from omnigraph.model.frozen import frozen
from omnigraph.model.types import PropertyType, Scalar

ANONYMOUS = "_"

BOOL = PropertyType(Scalar.BOOL)
DATETIME = PropertyType(Scalar.DATETIME)
DURATION = PropertyType(Scalar.DURATION)
SCORE = PropertyType(Scalar.F64, nullable=True)


# ── expressions ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


@frozen
class PropertyValue:
    """A property of a bound node or edge, or its id."""

    variable: str
    property: str
    type: PropertyType
    of_edge: bool = False


@frozen
class Entity:
    """A bound node or edge itself; as a result its id."""

    variable: str
    label: str
    """The node type, the interface or the edge type the variable ranges over."""
    nullable: bool = False
    of_edge: bool = False


@frozen
class Parameter:
    """A parameter. An undeclared one (possible in an inline match) can never be given and fails when the query runs."""

    name: str
    type: PropertyType
    declared: bool = True
    key: PropertyType | None = None
    """What its values are where they name nodes by their keys: then it stands for the ids of these, which are texts."""


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


class Operation(Enum):
    """What values are computed by, as it is written."""

    ADD = "+"
    SUBTRACT = "-"
    MULTIPLY = "*"
    DIVIDE = "/"
    REMAINDER = "%"
    NEGATE = "- "
    LOWER = "lower"
    UPPER = "upper"
    LENGTH = "length"
    CONCAT = "concat"
    COALESCE = "coalesce"
    DAYS = "days"
    HOURS = "hours"
    MINUTES = "minutes"
    SECONDS = "seconds"


@frozen
class Computed:
    """A value computed from others: arithmetic, or a function."""

    operation: Operation
    arguments: tuple[Expression, ...]
    type: PropertyType


@frozen
class Aggregated:
    function: AggregateFunction
    argument: Expression
    distinct: bool
    type: PropertyType


@frozen
class Found:
    """A column of the groups found so far, by its place. Plans have it; the checker never makes one."""

    place: int
    text: str
    type: PropertyType | None


@frozen
class Column:
    """A result column by its alias. The type is unknown when no projection has the alias."""

    name: str
    type: PropertyType | None = None


Expression = (
    PropertyValue
    | Entity
    | Parameter
    | Constant
    | Now
    | TextMatch
    | Nearest
    | Bm25
    | Fusion
    | Computed
    | Aggregated
    | Column
    | Found
)
Ranking = Nearest | Bm25 | Fusion


def is_fixed(expression: Expression) -> bool:
    """Whether a value is the same for every row of a query."""
    if isinstance(expression, Computed):
        return all(map(is_fixed, expression.arguments))
    return isinstance(expression, Parameter | Constant | Now)


def declared_values(expression: Expression) -> tuple[str, ...] | None:
    """The values of an enum in the order it declares, if it is an enum that is ordered by another than that of texts."""
    if isinstance(expression, Entity) or expression.type is None or expression.type.is_list:
        return None
    return expression.type.enum_order


def aggregates_in(expression: Expression) -> tuple[Aggregated, ...]:
    """The aggregates that a value is computed from."""
    if isinstance(expression, Computed):
        return tuple(found for argument in expression.arguments for found in aggregates_in(argument))
    return (expression,) if isinstance(expression, Aggregated) else ()


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
    ENDS_WITH = "ends_with"


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
    negated: bool = False
    """Whether it is none of them that is asked for."""


@frozen
class AllOf:
    parts: tuple[Condition, ...]


@frozen
class AnyOf:
    parts: tuple[Condition, ...]


@frozen
class Not:
    """What is inside is known to be false."""

    part: Condition


Condition = Compare | IsNull | Among | TextMatch | AllOf | AnyOf | Not


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
    path_variable: str | None = None
    """The shortest path between the two, if it is asked for."""


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
    nulls: Nulls | None = None
    """Where missing values come, if that was said."""

    @property
    def nulls_first(self) -> bool:
        """Null is the smallest value, unless it was said where it comes."""
        return self.direction is Direction.ASC if self.nulls is None else self.nulls is Nulls.FIRST

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
    limit: int | Parameter | None
    offset: int | Parameter | None
    having: Condition | None = None
    """Which groups are kept."""

    @property
    def aggregates(self) -> bool:
        """Whether rows are grouped."""
        return self.having is not None or any(aggregates_in(p.expression) for p in self.projections)


IT = "#"
"""The variable that stands for what an update or delete is about: its `where` and `set` name properties alone."""


@frozen
class Assign:
    property: str
    type: PropertyType
    value: Expression | None
    """None: it gets no value."""


@frozen
class InsertNode:
    type: str
    assignments: tuple[Assign, ...]
    pattern: tuple[Pattern, ...] = ()
    """One for each row of it; without one, one."""


@frozen
class InsertEdge:
    type: str
    source: Expression
    target: Expression
    assignments: tuple[Assign, ...]
    pattern: tuple[Pattern, ...] = ()


@frozen
class UpdateNode:
    type: str
    assignments: tuple[Assign, ...]
    where: Condition


@frozen
class UpdateEdge:
    type: str
    assignments: tuple[Assign, ...]
    where: Condition
    """The ends of an edge are its properties `src` and `dst` here."""


@frozen
class PatchNode:
    """A node by its key: what is assigned changes, the rest stays as it is. If there is none, it is inserted."""

    type: str
    assignments: tuple[Assign, ...]


@frozen
class PatchEdge:
    """The same of an edge, which is between these ends afterwards."""

    type: str
    source: Expression
    target: Expression
    assignments: tuple[Assign, ...]


@frozen
class DeleteNode:
    type: str
    where: Condition


@frozen
class DeleteEdge:
    type: str
    where: Condition


@frozen
class UpdateMatched:
    """What a variable of a pattern stands for is changed."""

    pattern: tuple[Pattern, ...]
    entity: Entity
    assignments: tuple[Assign, ...]


@frozen
class DeleteMatched:
    """What a variable of a pattern stands for is removed."""

    pattern: tuple[Pattern, ...]
    entity: Entity


Statement = (
    InsertNode
    | InsertEdge
    | UpdateNode
    | UpdateEdge
    | PatchNode
    | PatchEdge
    | DeleteNode
    | DeleteEdge
    | UpdateMatched
    | DeleteMatched
)


@frozen
class MutationQuery:
    """A checked mutation."""

    name: str
    parameters: tuple[Parameter, ...]
    statements: tuple[Statement, ...]


LogicalQuery = ReadQuery | MutationQuery
