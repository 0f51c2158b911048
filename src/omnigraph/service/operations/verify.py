"""Whether everything the graph refers to is there."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from omnigraph.model.frozen import frozen
from omnigraph.policy.port import Access, Action
from omnigraph.service.operation import GraphOperation, Lookup

if TYPE_CHECKING:
    from omnigraph.engine.any_graph import AnyGraph
    from omnigraph.service.caller import Caller
    from omnigraph.storage.reclaiming.verify import VerifyReport


@frozen(slots=False)
class Verify(GraphOperation["VerifyReport"]):
    """Whether everything the graph refers to is there."""

    name: ClassVar = "verify"
    deep: bool = False
    content: bool = False

    def access(self, lookup: Lookup) -> tuple[Access, ...]:
        return (Access(Action.ADMIN),)

    def on(self, graph: AnyGraph, caller: Caller) -> VerifyReport:
        return graph.verify(deep=self.deep, content=self.content)
