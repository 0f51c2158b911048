"""A graph in numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from omnigraph.model.frozen import frozen
from omnigraph.policy.port import Access
from omnigraph.service.operation import GraphOperation, Lookup, read_of

if TYPE_CHECKING:
    from omnigraph.engine.any_graph import AnyGraph
    from omnigraph.engine.inspect import Stats as GraphStats
    from omnigraph.service.caller import Caller


@frozen(slots=False)
class Stats(GraphOperation["GraphStats"]):
    """A graph in numbers."""

    name: ClassVar = "stats"
    branch: str | None = None
    at: str | None = None

    def access(self, lookup: Lookup) -> tuple[Access, ...]:
        return read_of(lookup, self.branch, self.at)

    def on(self, graph: AnyGraph, caller: Caller) -> GraphStats:
        return graph.stats(self.branch, self.at)
