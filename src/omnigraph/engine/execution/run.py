"""One query while it runs: its view, its values, its limits, and what it notes down for `explain`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeVar

from omnigraph.engine.execution.budget import Budget
from omnigraph.engine.execution.search import Search
from omnigraph.engine.planning.parameters import Value
from omnigraph.engine.snapshot.view import View
from omnigraph.model.ids import Clock

if TYPE_CHECKING:
    from omnigraph.embedding.query_texts import QueryTexts
    from omnigraph.engine.execution.found_paths import Paths
    from omnigraph.engine.execution.trace import Trace
    from omnigraph.engine.planning.steps import Step


T = TypeVar("T")

_READ: Final = 4
"""Rows that are worked on while one is read for the first time."""


class Traversal(Enum):
    """How hops are made. Both ways give the same rows; tests force one."""

    AUTO = "auto"
    CSR = "csr"
    BTREE = "btree"


def traversal_of(name: str | None) -> Traversal:
    """The way that was asked for, or whichever is the better one."""
    return Traversal.AUTO if name is None else Traversal(name)


@dataclass
class Run:
    """What operators are handed."""

    view: View
    parameters: dict[str, Value]
    clock: Clock
    budget: Budget = field(default_factory=Budget)
    traversal: Traversal = Traversal.AUTO
    trace: Trace | None = None
    texts: Callable[[], QueryTexts] | None = None
    """Texts that are looked for, as vectors; None: by the provider of the environment."""
    steps: tuple[Step, ...] = ()
    """What this query does."""
    share: float = 1.0
    """Which share of the nodes that it starts from was handed out by now."""

    @cached_property
    def sets(self) -> dict[tuple[int, bool], set[Any]]:
        """Values that `in` looks for, by the expression that lists them."""
        return {}

    @cached_property
    def read(self) -> set[tuple[str, ...]]:
        """Edges that this query has in memory."""
        return set()

    @cached_property
    def found(self) -> dict[str, float]:
        """How many edges of a type lookups of this query found per node, at most."""
        return {}

    @cached_property
    def noted(self) -> set[tuple[str, bool]]:
        """Which choices between the ways to edges are noted down already: edge type, and whether it was lookups."""
        return set()

    @cached_property
    def forms(self) -> dict[tuple[str, str], Any]:
        """All edges of a type in some form, by its name: adjacency, edge lists, both ends."""
        return {}

    @cached_property
    def paths(self) -> dict[str, Paths]:
        """Shortest paths that were found, by the variable that stands for them."""
        return {}

    def reading(self, edge: str, form: str, work: Callable[[], T]) -> T:
        """Edges in some form. Reading all of them for the first time may take long: nobody waits for it when time is up."""
        if not self.budget.limited or (edge, form) in self.read or self.view.edges(edge).has(form):
            return work()
        found = self.budget.aside(work, self.view.edges(edge).count * _READ, f"reading the edges of {edge}")
        self.read.add((edge, form))
        return found

    def holding(self, edge: str, form: str, work: Callable[[], T]) -> T:
        """All edges of a type in some form, held until the query ends: what is too large to be kept longer is read once in it."""
        known: T | None = self.forms.get((edge, form))
        if known is None:
            known = self.forms[edge, form] = self.reading(edge, form, work)
        return known

    def reading_nodes(self, type_: str, name: str, work: Callable[[], T]) -> T:
        """Ids of nodes, or a property of some: as long as it is not in memory, all of it may have to be read."""
        if not self.budget.limited:
            return work()
        nodes = self.view.nodes(type_)
        if nodes.loaded and (name in ("id", nodes.id_property) or nodes.stored.has(name)):
            return work()
        return self.budget.aside(work, nodes.count * _READ, f"reading the nodes of {type_}")

    def reading_property(self, edge: str, name: str, work: Callable[[], T]) -> T:
        """The same for a property of some edges."""
        if not self.budget.limited or self.view.edges(edge).stored.has(name):
            return work()
        return self.budget.aside(work, self.view.edges(edge).count * _READ, f"reading the edges of {edge}")

    @cached_property
    def now_ms(self) -> int:
        """The moment the query runs at: one for all its rows."""
        return int(self.clock.now().timestamp() * 1000)

    @cached_property
    def search(self) -> Search:
        """Text and vector search in this view; what it found is kept until the query ends."""
        return Search(self)
