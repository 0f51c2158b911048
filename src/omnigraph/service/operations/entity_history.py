"""Every commit of a branch that changed an entity."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from omnigraph.model.frozen import frozen
from omnigraph.policy.port import Access, Action
from omnigraph.service.operation import GraphOperation, Lookup, read_of

if TYPE_CHECKING:
    from omnigraph.engine.any_graph import AnyGraph
    from omnigraph.engine.history.entity import EntityHistory as FoundHistory
    from omnigraph.service.caller import Caller


@frozen(slots=False)
class EntityHistory(GraphOperation["FoundHistory"]):
    """Every commit of a branch that changed an entity, which is named by its key (one text for each part of it) or its id."""

    name: ClassVar = "history"
    type: str
    key: tuple[str, ...] | None = None
    id: str | None = None
    branch: str = "main"
    limit: int | None = None

    def access(self, lookup: Lookup) -> tuple[Access, ...]:
        return read_of(lookup, self.branch, None)

    def readable(self, result: FoundHistory, may: Callable[[Access], bool]) -> FoundHistory:
        """Commits that merges brought along are told of to whoever may read the branches they were made on."""
        branches = {commit.branch for revision in result for commit in revision.origins}
        hidden = {branch for branch in branches if not may(Access(Action.READ, branch))}
        if not hidden:
            return result
        told = (replace(r, origins=tuple(c for c in r.origins if c.branch not in hidden)) for r in result)
        return replace(result, revisions=tuple(told))

    def on(self, graph: AnyGraph, caller: Caller) -> FoundHistory:
        return graph.history(self.type, self.key, id=self.id, branch=self.branch, limit=self.limit)
