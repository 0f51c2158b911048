"""The commits of a branch, newest first."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from omnigraph.errors import UsageError
from omnigraph.model.frozen import frozen
from omnigraph.policy.port import Access, Action
from omnigraph.service.operation import GraphOperation, Lookup

if TYPE_CHECKING:
    from omnigraph.engine.any_graph import AnyGraph
    from omnigraph.service.caller import Caller
    from omnigraph.storage.commits.lineage import Commit


@frozen(slots=False)
class ListCommits(GraphOperation["list[Commit]"]):
    """The commits of a branch, newest first."""

    name: ClassVar = "commit list"
    branch: str = "main"
    limit: int | None = None
    maintenance: bool = False
    before: str | None = None
    """Only commits older than this one."""

    def access(self, lookup: Lookup) -> tuple[Access, ...]:
        return (Access(Action.READ, self.branch),)

    def on(self, graph: AnyGraph, caller: Caller) -> list[Commit]:
        if self.before is None:
            return graph.commits(self.branch, self.limit, maintenance=self.maintenance)
        found = graph.commits(self.branch, maintenance=self.maintenance)
        ids = [commit.id for commit in found]
        if self.before not in ids:
            raise UsageError(f"the page token is not of branch '{self.branch}'", hint="Start again without one.")
        return found[ids.index(self.before) + 1 :][: self.limit]
