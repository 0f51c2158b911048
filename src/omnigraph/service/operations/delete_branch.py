"""A branch is sealed and its name forgotten."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from omnigraph.model.frozen import frozen
from omnigraph.policy.port import Access, Action
from omnigraph.service.operation import GraphChange, Lookup

if TYPE_CHECKING:
    from omnigraph.engine.any_graph import AnyGraph
    from omnigraph.service.caller import Caller
    from omnigraph.storage.commits.lineage import Commit


@frozen(slots=False)
class DeleteBranch(GraphChange["Commit | None"]):
    """A branch is sealed and its name forgotten."""

    name: ClassVar = "branch delete"
    branch: str

    def access(self, lookup: Lookup) -> tuple[Access, ...]:
        return (Access(Action.BRANCH_DELETE, target_branch=self.branch),)

    def on(self, graph: AnyGraph, caller: Caller) -> Commit | None:
        return graph.branches.delete(self.branch, actor=caller.actor)

    def commit_of(self, result: Commit | None) -> str | None:
        return None if result is None else result.id
