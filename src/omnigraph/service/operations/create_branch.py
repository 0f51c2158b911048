"""A new branch, from another one, a commit or a tag."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from omnigraph.model.frozen import frozen
from omnigraph.policy.port import Access, Action
from omnigraph.service.operation import GraphChange, Lookup

if TYPE_CHECKING:
    from omnigraph.engine.any_graph import AnyGraph
    from omnigraph.service.caller import Caller
    from omnigraph.storage.commits.refs import Ref


@frozen(slots=False)
class CreateBranch(GraphChange["Ref"]):
    """A new branch, from another one, a commit or a tag."""

    name: ClassVar = "branch create"
    branch: str
    from_: str = "main"

    def access(self, lookup: Lookup) -> tuple[Access, ...]:
        return (Access(Action.BRANCH_CREATE, lookup.branch_of(self.from_), self.branch),)

    def on(self, graph: AnyGraph, caller: Caller) -> Ref:
        return graph.branches.create(self.branch, from_=self.from_, actor=caller.actor)

    def commit_of(self, result: Ref) -> str | None:
        return result.fork_commit
