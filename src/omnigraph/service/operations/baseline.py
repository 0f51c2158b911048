"""Everything at the newest commit of a branch, and the cursor behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from omnigraph.model.frozen import frozen
from omnigraph.policy.port import Access, Action
from omnigraph.service.operation import GraphOperation, Lookup

if TYPE_CHECKING:
    from omnigraph.engine.any_graph import AnyGraph
    from omnigraph.engine.history.baseline import Baseline as CapturedBaseline
    from omnigraph.service.caller import Caller


@frozen(slots=False)
class Baseline(GraphOperation["CapturedBaseline"]):
    """Everything at the newest commit of a branch, and the cursor behind it."""

    name: ClassVar = "changes baseline"
    branch: str = "main"
    kinds: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    ops: tuple[str, ...] = ()

    def access(self, lookup: Lookup) -> tuple[Access, ...]:
        return (Access(Action.EXPORT, self.branch),)

    def on(self, graph: AnyGraph, caller: Caller) -> CapturedBaseline:
        return graph.baseline(self.branch, kinds=self.kinds, types=self.types, ops=self.ops)
