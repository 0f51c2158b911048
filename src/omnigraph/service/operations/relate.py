"""It is said how an entity relates to another one."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from omnigraph.model.frozen import frozen
from omnigraph.policy.port import Access
from omnigraph.service.operation import GraphCommit, Lookup
from omnigraph.service.operations.remember import change_of, memory_of

if TYPE_CHECKING:
    from omnigraph.engine.any_graph import AnyGraph
    from omnigraph.memory.recollections import Remembered
    from omnigraph.service.caller import Caller


@frozen(slots=False)
class Relate(GraphCommit["Remembered"]):
    """It is said how an entity relates to another one. Entities that are not there are added."""

    name: ClassVar = "relate"
    from_: str
    how: str
    to: str
    branch: str
    confidence: float | None = None

    def access(self, lookup: Lookup) -> tuple[Access, ...]:
        return change_of(lookup, self.branch)

    def on(self, graph: AnyGraph, caller: Caller) -> Remembered:
        return memory_of(graph, self.branch, caller).relate(self.from_, self.how, self.to, confidence=self.confidence)

    def commit_of(self, result: Remembered) -> str | None:
        return result.commit if result.changed else None
