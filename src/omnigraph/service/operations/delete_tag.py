"""A tag is forgotten."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from omnigraph.model.frozen import frozen
from omnigraph.policy.port import Access, Action
from omnigraph.service.operation import GraphChange, Lookup

if TYPE_CHECKING:
    from omnigraph.engine.any_graph import AnyGraph
    from omnigraph.service.caller import Caller
    from omnigraph.storage.commits.deleted_tags import DeletedTag


@frozen(slots=False)
class DeleteTag(GraphChange["DeletedTag | None"]):
    """A tag is forgotten."""

    name: ClassVar = "tag delete"
    tag: str

    def access(self, lookup: Lookup) -> tuple[Access, ...]:
        return (Access(Action.BRANCH_DELETE, target_branch=self.tag),)

    def on(self, graph: AnyGraph, caller: Caller) -> DeletedTag | None:
        return graph.tags.delete(self.tag, actor=caller.actor)

    def commit_of(self, result: DeletedTag | None) -> str | None:
        return None if result is None else result.tag.commit
