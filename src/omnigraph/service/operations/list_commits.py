"""The commits of a branch, newest first."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from omnigraph.model.frozen import frozen
from omnigraph.policy.port import Access, Action
from omnigraph.service.operation import GraphOperation, Lookup

if TYPE_CHECKING:
    from omnigraph.engine.graph import Graph
    from omnigraph.service.caller import Caller
    from omnigraph.storage.commits.lineage import Commit


@frozen(slots=False)
class ListCommits(GraphOperation["list[Commit]"]):
    """The commits of a branch, newest first."""

    name: ClassVar = "commit list"
    branch: str = "main"
    limit: int | None = None
    maintenance: bool = False

    def access(self, lookup: Lookup) -> tuple[Access, ...]:
        return (Access(Action.READ, self.branch),)

    def on(self, graph: Graph, caller: Caller) -> list[Commit]:
        return graph.commits(self.branch, self.limit, maintenance=self.maintenance)
