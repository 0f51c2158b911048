"""The tree of a `.gq` text: what was written, in the order it was written.

Spans and raw spellings take no part in comparison. Names of variables are kept without their `$`; `_` is the anonymous variable.
"""

from __future__ import annotations

from dataclasses import field
from enum import Enum

from omnigraph.language.pg.tree import Name
from omnigraph.language.source import NOWHERE, Span
from omnigraph.model.frozen import frozen
from omnigraph.model.types import PropertyType

ANONYMOUS = "_"


# ── expressions ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


@frozen
class String:
    value: str
    raw: str = field(default="", compare=False)
    span: Span = field(default=NOWHERE, compare=False)


@frozen
class Integer:
    value: int
    span: Span = field(default=NOWHERE, compare=False)


@frozen
class Float:
    value: float
    raw: str = field(default="", compare=False)
    span: Span = field(default=NOWHERE, compare=False)


@frozen
class Bool:
    value: bool
    span: Span = field(default=NOWHERE, compare=False)


@frozen
class Date:
    """`date("…")`; the text is looked at when the query runs."""

    text: String
    span: Span = field(default=NOWHERE, compare=False)


@frozen
class DateTime:
    """`datetime("…")`; the text is looked at when the query runs."""

    text: String
    span: Span = field(default=NOWHERE, compare=False)


@frozen
class List:
    items: tuple[Literal, ...]
    span: Span = field(default=NOWHERE, compare=False)


Literal = String | Integer | Float | Bool | Date | DateTime | List


@frozen
class Variable:
    """`$name`: a bound node or edge, or a parameter."""

    name: str
    span: Span = field(default=NOWHERE, compare=False)


@frozen
class Access:
    """`$variable.property`."""

    variable: Variable
    property: Name
    span: Span = field(default=NOWHERE, compare=False)


@frozen
class Alias:
    """A bare name: refers to `… as name` of the return block."""

    name: str
    span: Span = field(default=NOWHERE, compare=False)


class Function(Enum):
    NOW = "now"
    NEAREST = "nearest"
    SEARCH = "search"
    FUZZY = "fuzzy"
    MATCH_TEXT = "match_text"
    BM25 = "bm25"
    RRF = "rrf"
    LOWER = "lower"
    UPPER = "upper"
    LENGTH = "length"
    CONCAT = "concat"
    COALESCE = "coalesce"
    DAYS = "days"
    HOURS = "hours"
    MINUTES = "minutes"
    SECONDS = "seconds"


TEXT_TESTS = frozenset({Function.SEARCH, Function.FUZZY, Function.MATCH_TEXT})
"""Functions that answer yes or no and may stand alone as a clause."""

RANKINGS = frozenset({Function.NEAREST, Function.BM25, Function.RRF})
"""Functions that order entities by relevance."""

SPANS = frozenset({Function.DAYS, Function.HOURS, Function.MINUTES, Function.SECONDS})
"""Functions that make a duration of a whole number."""


@frozen
class Call:
    function: Function
    arguments: tuple[Expression, ...] = ()
    span: Span = field(default=NOWHERE, compare=False)


class AggregateFunction(Enum):
    COUNT = "count"
    SUM = "sum"
    AVG = "avg"
    MIN = "min"
    MAX = "max"
    COLLECT = "collect"


@frozen
class Aggregate:
    function: AggregateFunction
    argument: Expression
    distinct: bool = False
    span: Span = field(default=NOWHERE, compare=False)


class ArithmeticOperator(Enum):
    ADD = "+"
    SUBTRACT = "-"
    MULTIPLY = "*"
    DIVIDE = "/"
    REMAINDER = "%"


PRODUCTS = frozenset({ArithmeticOperator.MULTIPLY, ArithmeticOperator.DIVIDE, ArithmeticOperator.REMAINDER})
"""Operators that bind more closely than the others."""


@frozen
class Arithmetic:
    """`a + b`. Parentheses are not kept: the tree says what belongs together."""

    left: Expression
    operator: ArithmeticOperator
    right: Expression
    span: Span = field(default=NOWHERE, compare=False)


@frozen
class Negative:
    """`-x`, where x is no number written out: the sign of such a number belongs to it."""

    operand: Expression
    span: Span = field(default=NOWHERE, compare=False)


Expression = Call | Aggregate | Access | Variable | Literal | Alias | Arithmetic | Negative


# ── conditions ───────────────────────────────────────────────────────────────────────────────────────────────────────────────


class Operator(Enum):
    STARTS_WITH = "starts_with"
    ENDS_WITH = "ends_with"
    CONTAINS = "contains"
    GE = ">="
    LE = "<="
    NE = "!="
    GT = ">"
    LT = "<"
    EQ = "="


@frozen
class Comparison:
    left: Expression
    operator: Operator
    right: Expression
    span: Span = field(default=NOWHERE, compare=False)


@frozen
class IsNull:
    """`x is null`, `x is not null`."""

    operand: Expression
    negated: bool
    span: Span = field(default=NOWHERE, compare=False)


@frozen
class Among:
    """`x in [a, b]`, `x in $list`, `x not in $list`."""

    operand: Expression
    choices: Expression
    negated: bool = False
    span: Span = field(default=NOWHERE, compare=False)


@frozen
class TextTest:
    """`search(…)`, `fuzzy(…)` or `match_text(…)` standing alone."""

    call: Call
    span: Span = field(default=NOWHERE, compare=False)


@frozen
class And:
    parts: tuple[Condition, ...]
    span: Span = field(default=NOWHERE, compare=False)


@frozen
class Or:
    parts: tuple[Condition, ...]
    span: Span = field(default=NOWHERE, compare=False)


@frozen
class Not:
    """`not ( … )`: where what is inside is known to be false."""

    part: Condition
    span: Span = field(default=NOWHERE, compare=False)


Condition = Comparison | IsNull | Among | TextTest | And | Or | Not
CONDITIONS = (Comparison, IsNull, Among, TextTest, And, Or, Not)


# ── clauses ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────


@frozen
class Null:
    """`null`: a property gets no value."""

    span: Span = field(default=NOWHERE, compare=False)


@frozen
class Assignment:
    """`property: value`, in an inline match or a mutation."""

    property: Name
    value: Expression | Null
    """`null` only in a mutation."""
    span: Span = field(default=NOWHERE, compare=False)


@frozen
class Binding:
    """`$v: Type { property: value, … }`."""

    variable: Variable
    type: Name
    matches: tuple[Assignment, ...] = ()
    span: Span = field(default=NOWHERE, compare=False)


@frozen
class Hops:
    """`{min,max}`; the maximum is missing when written `{min,}`."""

    minimum: int
    maximum: int | None
    span: Span = field(default=NOWHERE, compare=False)


@frozen
class Traversal:
    """`$a edge $b`, `$a <edge> $b`, `$a $w:edge $b`, `$a $p:shortest edge{1,3} $b`, with hop bounds before the target."""

    source: Variable
    edge: Name
    target: Variable
    binding: Variable | None = None
    undirected: bool = False
    hops: Hops | None = None
    shortest: bool = False
    """Whether the variable in front is the shortest path, and no edge."""
    span: Span = field(default=NOWHERE, compare=False)


@frozen
class Filter:
    condition: Condition
    span: Span = field(default=NOWHERE, compare=False)


@frozen
class Block:
    """Clauses between braces."""

    clauses: tuple[Clause, ...]
    opening: Span = field(default=NOWHERE, compare=False)
    closing: Span = field(default=NOWHERE, compare=False)


@frozen
class Negation:
    """`not { … }`."""

    block: Block
    span: Span = field(default=NOWHERE, compare=False)


@frozen
class Optional:
    """`optional { … }`."""

    block: Block
    span: Span = field(default=NOWHERE, compare=False)


Clause = Negation | Optional | Binding | Traversal | Filter


# ── queries ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────


@frozen
class Projection:
    expression: Expression
    alias: Name | None = None
    span: Span = field(default=NOWHERE, compare=False)


class Direction(Enum):
    ASC = "asc"
    DESC = "desc"


class Nulls(Enum):
    FIRST = "first"
    LAST = "last"


@frozen
class Ordering:
    expression: Expression
    direction: Direction | None = None
    """None when not written: ascending."""
    nulls: Nulls | None = None
    """Where missing values come; None when not written: they are the smallest."""
    span: Span = field(default=NOWHERE, compare=False)


@frozen
class Part:
    """Where a `return { … }` or `order { … }` block stands."""

    start: int
    opening: Span
    closing: Span


@frozen
class Read:
    match: Block
    projections: tuple[Projection, ...]
    distinct: bool = False
    order: tuple[Ordering, ...] = ()
    limit: int | Variable | None = None
    offset: int | Variable | None = None
    having: Condition | None = None
    match_span: Span = field(default=NOWHERE, compare=False)
    return_part: Part | None = field(default=None, compare=False)
    order_part: Part | None = field(default=None, compare=False)
    having_part: Part | None = field(default=None, compare=False)
    limit_span: Span = field(default=NOWHERE, compare=False)
    offset_span: Span = field(default=NOWHERE, compare=False)


@frozen
class Insert:
    type: Name
    assignments: tuple[Assignment, ...]
    match: Block | None = None
    """One for each row of a pattern; without one, one."""
    action: int = field(default=0, compare=False)
    """Where the statement goes on after its pattern."""
    span: Span = field(default=NOWHERE, compare=False)


@frozen
class Update:
    type: Name
    assignments: tuple[Assignment, ...]
    where: Condition
    """A bare name is a property of what is updated."""
    span: Span = field(default=NOWHERE, compare=False)


@frozen
class Delete:
    type: Name
    where: Condition
    span: Span = field(default=NOWHERE, compare=False)


@frozen
class MatchedUpdate:
    """`match { … } update $v set { … }`: what a variable of a pattern stands for."""

    match: Block
    variable: Variable
    assignments: tuple[Assignment, ...]
    action: int = field(default=0, compare=False)
    span: Span = field(default=NOWHERE, compare=False)


@frozen
class MatchedDelete:
    """`match { … } delete $v`."""

    match: Block
    variable: Variable
    action: int = field(default=0, compare=False)
    span: Span = field(default=NOWHERE, compare=False)


Statement = Insert | Update | Delete | MatchedUpdate | MatchedDelete


@frozen
class Mutation:
    statements: tuple[Statement, ...]


@frozen
class Parameter:
    name: str
    type: PropertyType
    span: Span = field(default=NOWHERE, compare=False)


class QueryAnnotationKind(Enum):
    DESCRIPTION = "description"
    INSTRUCTION = "instruction"


@frozen
class QueryAnnotation:
    kind: QueryAnnotationKind
    text: String
    span: Span = field(default=NOWHERE, compare=False)


@frozen
class Query:
    name: Name
    parameters: tuple[Parameter, ...]
    annotations: tuple[QueryAnnotation, ...]
    body: Read | Mutation
    opening: Span = field(default=NOWHERE, compare=False)
    closing: Span = field(default=NOWHERE, compare=False)
    span: Span = field(default=NOWHERE, compare=False)

    @property
    def is_read(self) -> bool:
        return isinstance(self.body, Read)


@frozen
class QueryFile:
    """A whole `.gq` text. Two queries may share a name; asking by name gives the first."""

    queries: tuple[Query, ...] = ()

    def named(self, name: str) -> Query | None:
        return next((q for q in self.queries if q.name.text == name), None)
