"""A whole graph goes, with its history. There is no way back."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from omnigraph.model.frozen import frozen
from omnigraph.policy.port import Access, Action
from omnigraph.service.operation import Lookup, Operation

if TYPE_CHECKING:
    from omnigraph.service.caller import Caller
    from omnigraph.service.graphs import Graphs


@frozen(slots=False)
class DeleteGraph(Operation[int]):
    """A whole graph goes, or what a delete before left of it. Gives the number of objects that went."""

    name: ClassVar = "graph delete"

    @property
    def writes(self) -> bool:
        return True

    def access(self, lookup: Lookup) -> tuple[Access, ...]:
        return (Access(Action.ADMIN),)

    def run(self, graphs: Graphs, caller: Caller) -> int:
        from omnigraph.storage.files.place import Place
        from omnigraph.storage.reclaiming.removal import remove_graph

        return remove_graph(Place.at(self.graph.uri))

    def changed(self, result: int) -> bool:
        return result > 0
