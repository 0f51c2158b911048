"""The steps of a plan, as values. `omnigraph.engine.execution.operators` runs them; rules turn some into better ones.

A plan is a list of steps that each take frames and give frames, and a tail that turns frames into the result. `describe` is how a
step is shown to people, in `explain` and in the fixtures of the rules.
"""

from __future__ import annotations

from dataclasses import field

from omnigraph.catalog import logical as lg
from omnigraph.catalog.logical import HopDirection
from omnigraph.catalog.render import condition_text, expression_text
from omnigraph.engine.planning.bindings import Binding
from omnigraph.model.frozen import frozen

_ARROWS = {HopDirection.OUT: ("-", "->"), HopDirection.IN: ("<-", "-"), HopDirection.BOTH: ("<-", "->")}


@frozen
class Hop:
    """An edge type followed in a direction, a number of times."""

    edge: str
    direction: HopDirection
    minimum: int
    maximum: int
    source_type: str
    target_type: str
    turned: bool = False
    """Whether it is followed from the end that the query names second; what is found is the same (`execution.walk`)."""

    @property
    def single(self) -> bool:
        return self.minimum == self.maximum == 1

    def __str__(self) -> str:
        left, right = _ARROWS[self.direction]
        bounds = "" if self.single else f"{{{self.minimum},{self.maximum}}}"
        return f"{left}{self.edge}{bounds}{right}"


@frozen
class Start:
    """The rows a block is evaluated for: one empty row, or the outer rows."""

    def describe(self) -> str:
        return "Start"


@frozen
class Ranked:
    """Where the place of a row in a ranking is written, and how many places there are."""

    column: str
    ranking: lg.Nearest | lg.Bm25
    best: int | None = None
    ties: bool = False
    """Whether all that are as good as the last of the best are kept: something else decides between them."""
    required: bool = True
    """Whether nodes that the ranking leaves out are dropped; not if another variable's ranking may still want them."""

    def __str__(self) -> str:
        best = "" if self.best is None else f"best {self.best} "
        return f"{best}by {expression_text(self.ranking)}"


@frozen
class Scan:
    """Every node of some types for which the conditions hold, crossed with the rows so far."""

    variable: str
    types: tuple[str, ...]
    conditions: tuple[lg.Condition, ...] = ()
    stop_early: bool = False
    """Only a few rows will be wanted."""
    rankings: tuple[Ranked, ...] = ()

    def describe(self) -> str:
        ranked = "".join(f", {r}" for r in self.rankings) + (", a few at first" if self.stop_early else "")
        return f"Scan {self.variable}: {' | '.join(self.types)}{_where(self.conditions)}{ranked}"


@frozen
class Lookup:
    """The node with a key, crossed with the rows so far."""

    variable: str
    type: str
    key: tuple[tuple[str, lg.Expression], ...]
    """Values of the key properties, in the order of the id."""
    conditions: tuple[lg.Condition, ...] = ()

    def describe(self) -> str:
        key = ", ".join(f"{name} = {expression_text(value)}" for name, value in self.key)
        return f"Lookup {self.variable}: {self.type} by {key}{_where(self.conditions)}"


@frozen
class Expand:
    """From each row to the nodes that a hop leads to."""

    source: str
    target: str
    hop: Hop
    conditions: tuple[lg.Condition, ...] = ()
    """About the target."""
    edge_variable: str | None = None

    def describe(self) -> str:
        edge = "" if self.edge_variable is None else f" as {self.edge_variable}"
        return f"Expand {self.source} {self.hop} {self.target}: {self.hop.target_type}{edge}{_where(self.conditions)}"


@frozen
class Reach:
    """From all rows together to the nodes that a hop leads to, each once; everything else about the rows is forgotten."""

    source: str
    target: str
    hop: Hop
    conditions: tuple[lg.Condition, ...] = ()
    """About the target."""
    weighted: bool = False
    """Whether it counts how many walks lead to each."""

    def describe(self) -> str:
        walks = " with its walks" if self.weighted else ""
        return f"Reach {self.source} {self.hop} {self.target}: {self.hop.target_type}, each once{walks}{_where(self.conditions)}"


@frozen
class Close:
    """Keep rows where a hop leads from one bound node to another; with an edge variable, a row per such edge."""

    source: str
    target: str
    hop: Hop
    edge_variable: str | None = None

    def describe(self) -> str:
        edge = "" if self.edge_variable is None else f" as {self.edge_variable}"
        return f"Close {self.source} {self.hop} {self.target}{edge}"


@frozen
class Paths:
    """The shortest path between two nodes of a row; rows for which there is none within the bounds go."""

    source: str
    target: str
    hop: Hop
    variable: str

    def describe(self) -> str:
        return f"Shortest path {self.variable}: {self.source} {self.hop} {self.target}"


@frozen
class Filter:
    """Keep rows for which a condition holds."""

    condition: lg.Condition

    def describe(self) -> str:
        return f"Filter {condition_text(self.condition)}"


@frozen
class Exists:
    """Keep rows whose node has an edge, or has none."""

    source: str
    hop: Hop
    negated: bool

    def describe(self) -> str:
        return f"{'No edge' if self.negated else 'Some edge'} {self.source} {self.hop}"


@frozen
class Anti:
    """Drop rows for which the inner steps find something."""

    outer: tuple[str, ...]
    inner: tuple[Step, ...]
    bindings: dict[str, Binding]

    def describe(self) -> str:
        return f"Without ({', '.join(self.outer)})"


@frozen
class Optional:
    """Extend rows by what the inner steps find; rows without a match get nothing."""

    outer: tuple[str, ...]
    introduces: tuple[str, ...]
    inner: tuple[Step, ...]
    bindings: dict[str, Binding]

    def describe(self) -> str:
        return f"Optional ({', '.join(self.introduces)})"


@frozen
class Walk:
    """One hop of counted walks, with what must hold for the node it leads to."""

    target: str
    hop: Hop
    conditions: tuple[lg.Condition, ...] = ()


@frozen
class CountWalks:
    """Multiply the weight of each row by the number of walks from its node; nobody asks where they lead."""

    source: str
    walks: tuple[Walk, ...]

    def describe(self) -> str:
        return f"Count walks {self.source} {' '.join(f'{w.hop} {w.target}{_where(w.conditions)}' for w in self.walks)}"


@frozen
class Merge:
    """Forget variables that nobody asks for, and make equal rows one row with a weight."""

    keep: tuple[str, ...]

    def describe(self) -> str:
        return f"Merge equal rows of ({', '.join(self.keep)})"


@frozen
class EdgeScan:
    """Every edge of a type, with its ends."""

    source: str
    target: str
    hop: Hop
    edge_variable: str | None

    def describe(self) -> str:
        edge = "" if self.edge_variable is None else f" as {self.edge_variable}"
        return f"Scan edges {self.source} {self.hop} {self.target}{edge}"


Step = Start | Scan | Lookup | Expand | Reach | Close | Paths | Filter | Exists | Anti | Optional | CountWalks | Merge | EdgeScan


Limits = tuple[int | None, int | None]
"""How many rows are returned, and how many are left out before."""


@frozen
class Tail:
    """What becomes of the rows: projections, grouping, order, limits."""

    projections: tuple[lg.Projection, ...]
    distinct: bool
    order: tuple[lg.SortKey, ...]
    """By what rows are ordered; with rankings, where those leave two rows equal."""
    limit: int | None
    offset: int
    arms: tuple[Ranked, ...] = ()
    """Rankings that order the rows: one, or the two that `rrf` merges."""
    late: tuple[str, ...] = ()
    """Columns of those among them that no scan has filled in: their nodes were reached by a hop."""
    fusion: lg.Fusion | None = None
    backwards: bool = False
    """Whether the worst of the ranking comes first."""
    final: tuple[lg.Expression, ...] = ()
    """What is returned of each group, over the columns that were found (`lg.Found`); empty: these as they are."""
    having: lg.Condition | None = None
    """Which groups are kept, over the same."""
    counts: tuple[str, str] | None = None
    """`limit` and `offset` as they are written, where a parameter says them."""
    aggregates: bool = field(init=False)
    """Whether rows are grouped."""
    names_columns: bool = field(init=False)
    """Whether something is returned by the alias of another column."""
    expressions: tuple[lg.Expression, ...] = field(init=False)
    """What is returned."""

    def __post_init__(self) -> None:
        expressions = tuple(p.expression for p in self.projections)
        object.__setattr__(self, "expressions", expressions)
        object.__setattr__(self, "aggregates", any(isinstance(e, lg.Aggregated) for e in expressions))
        object.__setattr__(self, "names_columns", any(isinstance(e, lg.Column) for e in expressions))


@frozen
class Plan:
    """Steps and tail, and what each variable stands for."""

    steps: tuple[Step, ...]
    tail: Tail
    bindings: dict[str, Binding] = field(default_factory=dict)


def _where(conditions: tuple[lg.Condition, ...]) -> str:
    return f" where {' and '.join(condition_text(c) for c in conditions)}" if conditions else ""
