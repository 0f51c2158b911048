"""The nodes next to one, each with the edge that connects them."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from omnigraph.model.frozen import frozen
from omnigraph.policy.port import Access
from omnigraph.service.operation import GraphOperation, Lookup, read_of

if TYPE_CHECKING:
    from omnigraph.engine.any_graph import AnyGraph
    from omnigraph.engine.export.entities import Direction, Key, Neighbor
    from omnigraph.service.caller import Caller


@frozen(slots=False)
class ListNeighbors(GraphOperation["list[Neighbor]"]):
    """The nodes next to one, each with the edge that connects them."""

    name: ClassVar = "neighbors"
    type: str
    key: Key
    edges: tuple[str, ...] | None = None
    direction: Direction = "both"
    limit: int | None = None
    branch: str | None = None
    at: str | None = None

    def access(self, lookup: Lookup) -> tuple[Access, ...]:
        return read_of(lookup, self.branch, self.at)

    def on(self, graph: AnyGraph, caller: Caller) -> list[Neighbor]:
        return graph.neighbors(
            self.type,
            self.key,
            edges=self.edges,
            direction=self.direction,
            limit=self.limit,
            branch=self.branch,
            at=self.at,
        )
