"""Small fragments are packed and declared indexes completed."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, ClassVar

from omnigraph.model.frozen import frozen
from omnigraph.policy.port import Access, Action
from omnigraph.service.operation import GraphChange, Lookup

if TYPE_CHECKING:
    from collections.abc import Callable

    from omnigraph.engine.any_graph import AnyGraph
    from omnigraph.engine.upkeep.reconcile import Optimized, TypeOutcome
    from omnigraph.service.caller import Caller


@frozen(slots=False)
class Optimize(GraphChange["Optimized"]):
    """Small fragments are packed and declared indexes completed."""

    name: ClassVar = "optimize"
    branch: str = "main"
    progress: Callable[[TypeOutcome], None] | None = field(default=None, compare=False, repr=False)

    def access(self, lookup: Lookup) -> tuple[Access, ...]:
        return (Access(Action.ADMIN, self.branch),)

    def on(self, graph: AnyGraph, caller: Caller) -> Optimized:
        return graph.optimize(self.branch, progress=self.progress, actor=caller.actor)

    def changed(self, result: Optimized) -> bool:
        return any(table.commit is not None for table in result.tables)
