"""A read."""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING, ClassVar

from omnigraph.model.frozen import frozen
from omnigraph.policy.port import Access
from omnigraph.service.operation import GraphOperation, Lookup, query_size, read_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from threading import Event

    from omnigraph.engine.execution.result import Result
    from omnigraph.engine.graph import Graph
    from omnigraph.engine.planning.prepared import QueryText
    from omnigraph.service.caller import Caller


@frozen(slots=False)
class Query(GraphOperation["Result"]):
    """A read."""

    name: ClassVar = "query"
    source: QueryText
    params: Mapping[str, object] | None = None
    query_name: str | None = None
    branch: str | None = None
    at: str | None = None
    timeout: float | None = None
    memory_limit: int | None = None
    cancel: Event | None = field(default=None, compare=False, repr=False)
    """Set by whoever no longer wants the answer."""

    def access(self, lookup: Lookup) -> tuple[Access, ...]:
        return read_of(lookup, self.branch, self.at)

    def on(self, graph: Graph, caller: Caller) -> Result:
        return graph.query(
            self.source,
            self.params,
            name=self.query_name,
            branch=self.branch,
            at=self.at,
            timeout=self.timeout,
            memory_limit=self.memory_limit,
            cancel=self.cancel,
        )

    def state(self, graph: Graph) -> str:
        """What it would read now: the same until the next commit, or until what is stored is laid out anew."""
        from omnigraph.engine.parts import parts_of

        return parts_of(graph).view(self.branch, self.at).snapshot.layout

    def is_small(self, graph: Graph) -> bool:
        """Whether its plan proves to be small."""
        from omnigraph.engine.parts import parts_of
        from omnigraph.engine.planning.small import is_small

        parts = parts_of(graph)
        view = parts.view(self.branch, self.at)
        return is_small(parts.reader.prepare(view, self.source, self.query_name).plan(view), view)

    def unlimited(self) -> Query:
        """The same without limits: for one that is known to stay far below them."""
        return replace(self, timeout=None, memory_limit=None, cancel=None)

    @property
    def size(self) -> int:
        return query_size(self.source, self.params)
