"""The stored queries of a graph, as far as whoever asks may know of them."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, ClassVar

from omnigraph.model.frozen import frozen
from omnigraph.policy.port import Access, Action
from omnigraph.service.operation import GraphOperation, Lookup

if TYPE_CHECKING:
    from omnigraph.catalog.signature import QuerySignature
    from omnigraph.engine.any_graph import AnyGraph
    from omnigraph.service.caller import Caller


@frozen(slots=False)
class ListQueries(GraphOperation["list[QuerySignature]"]):
    """The stored queries of a graph."""

    name: ClassVar = "queries list"
    shown: tuple[QuerySignature, ...] | None = field(default=None, compare=False, repr=False)
    """Those that whoever asks may know of. None: the graph is behind a server, which knows."""

    def access(self, lookup: Lookup) -> tuple[Access, ...]:
        return (Access(Action.READ, "main"),)

    def on(self, graph: AnyGraph, caller: Caller) -> list[QuerySignature]:
        return graph.stored_queries() if self.shown is None else list(self.shown)
