"""Nodes by type and id, as a commit has them; those it does not have are left out."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from omnigraph.model.frozen import frozen
from omnigraph.policy.port import Access
from omnigraph.service.operation import GraphOperation, Lookup, read_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from omnigraph.engine.any_graph import AnyGraph
    from omnigraph.engine.export.entities import Node
    from omnigraph.service.caller import Caller


@frozen(slots=False)
class ReadNodes(GraphOperation["tuple[Node, ...]"]):
    """Nodes by type and id, as a commit has them; those it does not have are left out."""

    name: ClassVar = "nodes"
    ids: Mapping[str, frozenset[str]]
    at: str

    def access(self, lookup: Lookup) -> tuple[Access, ...]:
        return read_of(lookup, None, self.at)

    def on(self, graph: AnyGraph, caller: Caller) -> tuple[Node, ...]:
        from omnigraph.engine.export.entities import nodes_by_id
        from omnigraph.engine.parts import parts_of

        view = parts_of(graph).view(at=self.at)
        wanted = {type_: set(ids) for type_, ids in self.ids.items() if type_ in view.catalog.nodes}
        return tuple(node for type_, ids in wanted.items() for node in nodes_by_id(view, (type_,), ids).values())
