"""Where a branch is."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from omnigraph.model.frozen import frozen
from omnigraph.policy.port import Access
from omnigraph.service.operation import GraphOperation, Lookup, read_of

if TYPE_CHECKING:
    from omnigraph.engine.any_graph import AnyGraph
    from omnigraph.service.caller import Caller


@frozen(slots=False)
class ShowBranch(GraphOperation["str"]):
    """Where a branch is."""

    name: ClassVar = "branch show"
    branch: str = "main"

    def access(self, lookup: Lookup) -> tuple[Access, ...]:
        return read_of(lookup, None, self.branch)

    def on(self, graph: AnyGraph, caller: Caller) -> str:
        return graph.commit(self.branch).id
