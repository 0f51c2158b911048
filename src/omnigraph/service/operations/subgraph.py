"""The nodes and edges behind the answer to a read."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from omnigraph.model.frozen import frozen
from omnigraph.policy.port import Access
from omnigraph.service.operation import GraphOperation, Lookup, query_size, read_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from omnigraph.engine.any_graph import AnyGraph
    from omnigraph.engine.export.subgraph import Subgraph as MatchedSubgraph
    from omnigraph.engine.planning.prepared import QueryText
    from omnigraph.service.caller import Caller


@frozen(slots=False)
class Subgraph(GraphOperation["MatchedSubgraph"]):
    """The nodes and edges behind the answer to a read."""

    name: ClassVar = "subgraph"
    source: QueryText
    params: Mapping[str, object] | None = None
    query_name: str | None = None
    branch: str | None = None
    at: str | None = None
    limit: int | None = None

    def access(self, lookup: Lookup) -> tuple[Access, ...]:
        return read_of(lookup, self.branch, self.at)

    def on(self, graph: AnyGraph, caller: Caller) -> MatchedSubgraph:
        most = {} if self.limit is None else {"limit": self.limit}
        return graph.subgraph(self.source, self.params, name=self.query_name, branch=self.branch, at=self.at, **most)

    @property
    def size(self) -> int:
        return query_size(self.source, self.params)
