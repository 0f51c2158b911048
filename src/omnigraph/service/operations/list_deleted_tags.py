"""Tags that were deleted: what they named, who deleted them and when."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from omnigraph.model.frozen import frozen
from omnigraph.policy.port import Access, Action
from omnigraph.service.operation import GraphOperation, Lookup

if TYPE_CHECKING:
    from omnigraph.engine.any_graph import AnyGraph
    from omnigraph.service.caller import Caller
    from omnigraph.storage.commits.deleted_tags import DeletedTag


@frozen(slots=False)
class ListDeletedTags(GraphOperation["list[DeletedTag]"]):
    """Tags that were deleted: what they named, who deleted them and when."""

    name: ClassVar = "tag deleted"

    def access(self, lookup: Lookup) -> tuple[Access, ...]:
        return (Access(Action.READ),)

    def on(self, graph: AnyGraph, caller: Caller) -> list[DeletedTag]:
        return graph.tags.deleted()
