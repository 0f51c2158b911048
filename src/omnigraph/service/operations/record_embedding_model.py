"""It is noted down which model makes the vectors of a property, before somebody writes vectors that they made themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from omnigraph.model.frozen import frozen
from omnigraph.policy.port import Access, Action
from omnigraph.service.operation import GraphChange, Lookup

if TYPE_CHECKING:
    from omnigraph.embedding.space import Space
    from omnigraph.engine.any_graph import AnyGraph
    from omnigraph.service.caller import Caller


@frozen(slots=False)
class RecordEmbeddingModel(GraphChange["list[Space]"]):
    """Which model makes the vectors of a property is noted down, if nobody has. Another model is refused."""

    name: ClassVar = "embedding model record"
    type: str
    property: str
    model: str
    made_up: bool = False
    branch: str = "main"
    """Where vectors will be written; made from `base` if it is not there."""
    base: str = "main"

    def access(self, lookup: Lookup) -> tuple[Access, ...]:
        change = Access(Action.CHANGE, self.branch)
        return (change,) if lookup.has_branch(self.branch) else (change, Access(Action.BRANCH_CREATE, self.base, self.branch))

    def on(self, graph: AnyGraph, caller: Caller) -> list[Space]:
        from omnigraph.embedding.space import Space
        from omnigraph.engine.parts import vector_property

        there = self.branch in graph.branches.list()
        found = vector_property(graph, self.branch if there else self.base, self.type, self.property)
        found.record(Space(self.model, self.made_up), self.branch, caller.actor)
        return found.spaces()
