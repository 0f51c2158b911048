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

    from omnigraph.engine.any_graph import AnyGraph
    from omnigraph.engine.execution.result import Result
    from omnigraph.engine.graph import Graph
    from omnigraph.engine.planning.prepared import QueryText
    from omnigraph.engine.reading import TraversalName
    from omnigraph.engine.snapshot.view import View
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
    view: View | None = field(default=None, compare=False, repr=False)
    """What is read, if it was looked at already."""
    traversal: TraversalName | None = None

    def access(self, lookup: Lookup) -> tuple[Access, ...]:
        return read_of(lookup, self.branch, self.at)

    def on(self, graph: AnyGraph, caller: Caller) -> Result:
        if self.view is not None:
            from omnigraph.engine.parts import parts_of

            return parts_of(graph).session(self.view, self.branch, self.at).query(self.source, self.params, name=self.query_name)
        return graph.query(
            self.source,
            self.params,
            name=self.query_name,
            branch=self.branch,
            at=self.at,
            traversal=self.traversal,
            timeout=self.timeout,
            memory_limit=self.memory_limit,
            cancel=self.cancel,
        )

    def until(self, cancel: Event) -> Query:
        """The same, which ends when somebody sets an event."""
        return replace(self, cancel=cancel)

    def seen(self, graph: Graph) -> View:
        """What it would read now: the same until the next commit, or until what is stored is laid out anew."""
        from omnigraph.engine.parts import parts_of

        return parts_of(graph).view(self.branch, self.at)

    def is_small(self, graph: Graph, view: View) -> bool:
        """Whether its plan proves to be small."""
        from omnigraph.engine.parts import parts_of
        from omnigraph.engine.planning.small import is_small

        return is_small(parts_of(graph).reader.prepare(view, self.source, self.query_name).plan(view), view)

    def quickly(self, view: View) -> Query:
        """The same of what was seen, without limits: for one that is known to stay far below them."""
        return Query(self.graph, self.source, self.params, self.query_name, self.branch, self.at, view=view)

    @property
    def size(self) -> int:
        return query_size(self.source, self.params)
