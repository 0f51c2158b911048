"""What stands where at the newest commit of a branch."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from omnigraph.model.frozen import frozen
from omnigraph.policy.port import Access
from omnigraph.service.operation import GraphOperation, Lookup, read_of

if TYPE_CHECKING:
    from omnigraph.engine.graph import Graph
    from omnigraph.engine.inspect import GraphSnapshot
    from omnigraph.service.caller import Caller


@frozen(slots=False)
class Snapshot(GraphOperation["GraphSnapshot"]):
    """What stands where at the newest commit of a branch."""

    name: ClassVar = "snapshot"
    branch: str | None = None

    def access(self, lookup: Lookup) -> tuple[Access, ...]:
        return read_of(lookup, self.branch, None)

    def on(self, graph: Graph, caller: Caller) -> GraphSnapshot:
        return graph.snapshot(self.branch)
