"""How a read is answered; with `analyze` it is run."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from omnigraph.model.frozen import frozen
from omnigraph.policy.port import Access
from omnigraph.service.operation import GraphOperation, Lookup, query_size, read_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from omnigraph.engine.any_graph import AnyGraph
    from omnigraph.engine.execution.explain import Explanation
    from omnigraph.engine.planning.prepared import QueryText
    from omnigraph.engine.reading import TraversalName
    from omnigraph.service.caller import Caller


@frozen(slots=False)
class Explain(GraphOperation["Explanation"]):
    """How a read is answered; with `analyze` it is run."""

    name: ClassVar = "explain"
    source: QueryText
    params: Mapping[str, object] | None = None
    query_name: str | None = None
    branch: str | None = None
    at: str | None = None
    analyze: bool = False
    traversal: TraversalName | None = None

    def access(self, lookup: Lookup) -> tuple[Access, ...]:
        return read_of(lookup, self.branch, self.at)

    def on(self, graph: AnyGraph, caller: Caller) -> Explanation:
        return graph.explain(
            self.source,
            self.params,
            name=self.query_name,
            branch=self.branch,
            at=self.at,
            analyze=self.analyze,
            traversal=self.traversal,
        )

    @property
    def size(self) -> int:
        return query_size(self.source, self.params)
