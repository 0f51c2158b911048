"""The names of the branches."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from omnigraph.model.frozen import frozen
from omnigraph.policy.port import Access, Action
from omnigraph.service.operation import GraphOperation, Lookup

if TYPE_CHECKING:
    from omnigraph.engine.any_graph import AnyGraph
    from omnigraph.service.caller import Caller


@frozen(slots=False)
class ListBranches(GraphOperation["list[str]"]):
    """The names of the branches."""

    name: ClassVar = "branch list"

    def access(self, lookup: Lookup) -> tuple[Access, ...]:
        return (Access(Action.READ),)

    def on(self, graph: AnyGraph, caller: Caller) -> list[str]:
        return graph.branches.list()
