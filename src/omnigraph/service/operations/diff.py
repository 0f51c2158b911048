"""What differs between two branches, tags or commits."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from omnigraph.model.frozen import frozen
from omnigraph.policy.port import Access
from omnigraph.service.operation import GraphOperation, Lookup, read_of

if TYPE_CHECKING:
    from omnigraph.engine.any_graph import AnyGraph
    from omnigraph.engine.history.diff import Diff as FoundDiff
    from omnigraph.service.caller import Caller


@frozen(slots=False)
class Diff(GraphOperation["FoundDiff"]):
    """What differs between two branches, tags or commits."""

    name: ClassVar = "diff"
    before: str
    after: str
    kinds: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    ops: tuple[str, ...] = ()

    def access(self, lookup: Lookup) -> tuple[Access, ...]:
        return (*read_of(lookup, None, self.before), *read_of(lookup, None, self.after))

    def on(self, graph: AnyGraph, caller: Caller) -> FoundDiff:
        return graph.diff(self.before, self.after, kinds=self.kinds, types=self.types, ops=self.ops)
