"""The schema of a branch, or of the graph as a commit or tag has it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from omnigraph.model.frozen import frozen
from omnigraph.policy.port import Access, Action
from omnigraph.service.operation import GraphOperation, Lookup

if TYPE_CHECKING:
    from omnigraph.catalog.catalog import Catalog
    from omnigraph.engine.graph import Graph
    from omnigraph.service.caller import Caller


@frozen(slots=False)
class ShownSchema:
    """A schema as text and as what it means, and the commit that has it."""

    source: str
    catalog: Catalog
    commit: str


@frozen(slots=False)
class ShowSchema(GraphOperation[ShownSchema]):
    """The schema of a branch, or of the graph as a commit or tag has it."""

    name: ClassVar = "schema show"
    branch: str | None = None
    at: str | None = None

    def access(self, lookup: Lookup) -> tuple[Access, ...]:
        return (Access(Action.READ),)

    def on(self, graph: Graph, caller: Caller) -> ShownSchema:
        from omnigraph.engine.parts import parts_of

        view = parts_of(graph).view(self.branch, self.at)
        return ShownSchema(graph.schema(at=view.snapshot.commit), view.catalog, view.snapshot.commit)
