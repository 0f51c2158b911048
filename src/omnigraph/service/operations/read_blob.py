"""The bytes of a Blob property, or where they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from omnigraph.model.frozen import frozen
from omnigraph.policy.port import Access
from omnigraph.service.operation import GraphOperation, Lookup, read_of

if TYPE_CHECKING:
    from omnigraph.engine.any_graph import AnyGraph
    from omnigraph.engine.inspect import Blob
    from omnigraph.service.caller import Caller


@frozen(slots=False)
class ReadBlob(GraphOperation["Blob"]):
    """The bytes of a Blob property, or where they are."""

    name: ClassVar = "blob"
    entity: Literal["node", "edge"]
    type: str
    id: str
    property_name: str
    branch: str | None = None
    at: str | None = None

    def access(self, lookup: Lookup) -> tuple[Access, ...]:
        return read_of(lookup, self.branch, self.at)

    def on(self, graph: AnyGraph, caller: Caller) -> Blob:
        return graph.blob(self.entity, self.type, self.id, self.property_name, branch=self.branch, at=self.at)
