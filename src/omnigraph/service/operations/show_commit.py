"""One commit, by its id, or by a branch or tag that names it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from omnigraph.model.frozen import frozen
from omnigraph.policy.port import Access
from omnigraph.service.operation import GraphOperation, Lookup, read_of

if TYPE_CHECKING:
    from omnigraph.engine.any_graph import AnyGraph
    from omnigraph.service.caller import Caller
    from omnigraph.storage.commits.lineage import Commit


@frozen(slots=False)
class ShowCommit(GraphOperation["Commit"]):
    """One commit, by its id, or by a branch or tag that names it."""

    name: ClassVar = "commit show"
    commit: str
    maintenance: bool = False

    def access(self, lookup: Lookup) -> tuple[Access, ...]:
        return read_of(lookup, None, self.commit)

    def on(self, graph: AnyGraph, caller: Caller) -> Commit:
        return graph.commit(self.commit, maintenance=self.maintenance)
