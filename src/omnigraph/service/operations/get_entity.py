"""A node or an edge by its key or its id."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from omnigraph.model.frozen import frozen
from omnigraph.policy.port import Access
from omnigraph.service.operation import GraphOperation, Lookup, read_of

if TYPE_CHECKING:
    from omnigraph.engine.any_graph import AnyGraph
    from omnigraph.engine.export.entities import Edge, Key, Node
    from omnigraph.service.caller import Caller


@frozen(slots=False)
class GetEntity(GraphOperation["Node | Edge | None"]):
    """A node or an edge by its key or its id; None if there is none."""

    name: ClassVar = "get"
    type: str
    key: Key | None = None
    id: str | None = None
    branch: str | None = None
    at: str | None = None

    def access(self, lookup: Lookup) -> tuple[Access, ...]:
        return read_of(lookup, self.branch, self.at)

    def on(self, graph: AnyGraph, caller: Caller) -> Node | Edge | None:
        return graph.get(self.type, self.key, id=self.id, branch=self.branch, at=self.at)
