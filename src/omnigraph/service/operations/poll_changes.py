"""What was committed to a branch since a cursor: a page of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from omnigraph.model.frozen import frozen
from omnigraph.policy.port import Access, Action
from omnigraph.service.operation import GraphOperation, Lookup

if TYPE_CHECKING:
    from omnigraph.engine.any_graph import AnyGraph
    from omnigraph.engine.history.feed import ChangePage
    from omnigraph.service.caller import Caller


@frozen(slots=False)
class PollChanges(GraphOperation["ChangePage"]):
    """What was committed to a branch since a cursor: a page of it."""

    name: ClassVar = "changes poll"
    since: str = "now"
    branch: str = "main"
    limit: int = 1_000
    kinds: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    ops: tuple[str, ...] = ()
    max_bytes: int = 4 << 20
    max_commits: int = 128

    def access(self, lookup: Lookup) -> tuple[Access, ...]:
        return (Access(Action.READ, self.branch),)

    def on(self, graph: AnyGraph, caller: Caller) -> ChangePage:
        return graph.changes(
            self.since,
            branch=self.branch,
            limit=self.limit,
            max_bytes=self.max_bytes,
            max_commits=self.max_commits,
            kinds=self.kinds,
            types=self.types,
            ops=self.ops,
        )
