"""Vectors of `@embed` properties where they are missing or their text has changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from omnigraph.model.frozen import frozen
from omnigraph.policy.port import Access, Action
from omnigraph.service.operation import GraphChange, Lookup

if TYPE_CHECKING:
    from omnigraph.engine.any_graph import AnyGraph
    from omnigraph.engine.upkeep.embedding import Embedded
    from omnigraph.service.caller import Caller


@frozen(slots=False)
class Embed(GraphChange["Embedded"]):
    """Vectors of `@embed` properties where they are missing or their text has changed."""

    name: ClassVar = "embed"
    types: tuple[str, ...] | None = None
    branch: str = "main"
    again: bool = False
    timeout: float | None = None

    def access(self, lookup: Lookup) -> tuple[Access, ...]:
        return (Access(Action.CHANGE, self.branch),)

    def on(self, graph: AnyGraph, caller: Caller) -> Embedded:
        return graph.embed(types=self.types, branch=self.branch, again=self.again, timeout=self.timeout, actor=caller.actor)
