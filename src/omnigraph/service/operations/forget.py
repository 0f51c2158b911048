"""Memories are deleted: one, or all about an entity, or all from a source."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from omnigraph.model.frozen import frozen
from omnigraph.policy.port import Access
from omnigraph.service.operation import GraphCommit, Lookup
from omnigraph.service.operations.remember import change_of, memory_of

if TYPE_CHECKING:
    from omnigraph.engine.any_graph import AnyGraph
    from omnigraph.memory.recollections import Forgotten
    from omnigraph.service.caller import Caller


@frozen(slots=False)
class Forget(GraphCommit["Forgotten"]):
    """Memories are deleted, with their edges."""

    name: ClassVar = "forget"
    branch: str
    id: str | None = None
    about: str | None = None
    source: str | None = None

    def access(self, lookup: Lookup) -> tuple[Access, ...]:
        return change_of(lookup, self.branch)

    def on(self, graph: AnyGraph, caller: Caller) -> Forgotten:
        return memory_of(graph, self.branch, caller).forget(self.id, about=self.about, source=self.source)

    def commit_of(self, result: Forgotten) -> str | None:
        return result.commit
