"""A name for a commit, or for the newest one of a branch."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from omnigraph.model.frozen import frozen
from omnigraph.policy.port import Access, Action
from omnigraph.service.operation import GraphChange, Lookup

if TYPE_CHECKING:
    from omnigraph.engine.any_graph import AnyGraph
    from omnigraph.service.caller import Caller
    from omnigraph.storage.commits.refs import Tag


@frozen(slots=False)
class CreateTag(GraphChange["Tag"]):
    """A name for a commit, or for the newest one of a branch."""

    name: ClassVar = "tag create"
    tag: str
    commit: str | None = None
    branch: str = "main"

    def access(self, lookup: Lookup) -> tuple[Access, ...]:
        return (Access(Action.BRANCH_CREATE, lookup.branch_of(self.commit or self.branch), self.tag),)

    def on(self, graph: AnyGraph, caller: Caller) -> Tag:
        named = self.commit or graph.commit(self.branch).id
        return graph.tags.create(self.tag, named, actor=caller.actor)

    def commit_of(self, result: Tag) -> str | None:
        return result.commit
