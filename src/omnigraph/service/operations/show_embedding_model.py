"""Which model made the vectors of a property."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from omnigraph.model.frozen import frozen
from omnigraph.policy.port import Access, Action
from omnigraph.service.operation import GraphOperation, Lookup

if TYPE_CHECKING:
    from omnigraph.embedding.space import Space
    from omnigraph.engine.any_graph import AnyGraph
    from omnigraph.service.caller import Caller


@frozen(slots=False)
class ShowEmbeddingModel(GraphOperation["list[Space]"]):
    """What is known of what made the vectors of a property: by the schema, and as it was recorded."""

    name: ClassVar = "embedding model show"
    type: str
    property: str
    branch: str = "main"

    def access(self, lookup: Lookup) -> tuple[Access, ...]:
        return (Access(Action.READ, self.branch),)

    def on(self, graph: AnyGraph, caller: Caller) -> list[Space]:
        from omnigraph.engine.parts import vector_property

        return vector_property(graph, self.branch, self.type, self.property).spaces()
