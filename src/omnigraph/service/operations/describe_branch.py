"""A branch: where it came from, who created it and when."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from omnigraph.model.frozen import frozen
from omnigraph.policy.port import Access, Action
from omnigraph.service.operation import GraphOperation, Lookup

if TYPE_CHECKING:
    from omnigraph.engine.any_graph import AnyGraph
    from omnigraph.service.caller import Caller
    from omnigraph.storage.commits.refs import Ref


@frozen(slots=False)
class DescribeBranch(GraphOperation["Ref"]):
    """A branch: where it came from, who created it and when."""

    name: ClassVar = "branch describe"
    branch: str = "main"

    def access(self, lookup: Lookup) -> tuple[Access, ...]:
        return (Access(Action.READ, self.branch),)

    def on(self, graph: AnyGraph, caller: Caller) -> Ref:
        return graph.branches.get(self.branch)
