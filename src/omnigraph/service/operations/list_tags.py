"""The tags."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from omnigraph.model.frozen import frozen
from omnigraph.policy.port import Access, Action
from omnigraph.service.operation import GraphOperation, Lookup

if TYPE_CHECKING:
    from omnigraph.engine.any_graph import AnyGraph
    from omnigraph.service.caller import Caller
    from omnigraph.storage.commits.refs import Tag


@frozen(slots=False)
class ListTags(GraphOperation["list[Tag]"]):
    """The tags."""

    name: ClassVar = "tag list"

    def access(self, lookup: Lookup) -> tuple[Access, ...]:
        return (Access(Action.READ),)

    def on(self, graph: AnyGraph, caller: Caller) -> list[Tag]:
        return graph.tags.list()
