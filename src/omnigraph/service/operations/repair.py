"""What stands where, for whoever looks for something to repair: a commit is one atomic step, so there is nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from omnigraph.model.frozen import frozen
from omnigraph.policy.port import Access, Action
from omnigraph.service.operation import GraphOperation, Lookup

if TYPE_CHECKING:
    from omnigraph.engine.any_graph import AnyGraph
    from omnigraph.engine.inspect import GraphSnapshot
    from omnigraph.service.caller import Caller


@frozen(slots=False)
class Repair(GraphOperation["GraphSnapshot"]):
    """What stands where, for whoever looks for something to repair: a commit is one atomic step, so there is nothing."""

    name: ClassVar = "repair"

    def access(self, lookup: Lookup) -> tuple[Access, ...]:
        return (Access(Action.ADMIN),)

    def on(self, graph: AnyGraph, caller: Caller) -> GraphSnapshot:
        return graph.snapshot()
