"""The schema of a branch, or of the graph as a commit or tag has it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from omnigraph.model.frozen import frozen
from omnigraph.policy.port import Access, Action
from omnigraph.service.operation import GraphOperation, Lookup, read_of

if TYPE_CHECKING:
    from omnigraph.engine.any_graph import AnyGraph
    from omnigraph.engine.schema.documents import AcceptedSchema
    from omnigraph.service.caller import Caller


@frozen(slots=False)
class ShowSchema(GraphOperation["AcceptedSchema"]):
    """The schema of a branch, or of the graph as a commit or tag has it."""

    name: ClassVar = "schema show"
    branch: str | None = None
    at: str | None = None

    def access(self, lookup: Lookup) -> tuple[Access, ...]:
        if self.branch is None and self.at is None:  # by the contract: of the graph, not of one of its branches
            return (Access(Action.READ),)
        return read_of(lookup, self.branch, self.at)

    def on(self, graph: AnyGraph, caller: Caller) -> AcceptedSchema:
        from omnigraph.engine.parts import accepted_schema

        return accepted_schema(graph, self.branch, self.at)
