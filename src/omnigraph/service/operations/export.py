"""A graph, or some of its types, as JSON lines."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, ClassVar

from omnigraph.model.frozen import frozen
from omnigraph.policy.port import Access, Action
from omnigraph.service.operation import GraphOperation, Lookup, read_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from omnigraph.engine.calls.arguments import AnyPath
    from omnigraph.engine.export.lines import ByteSink, Exported
    from omnigraph.engine.graph import Graph
    from omnigraph.service.caller import Caller


@frozen(slots=False)
class Export(GraphOperation["Exported"]):
    """A graph, or some of its types, as JSON lines."""

    name: ClassVar = "export"
    target: AnyPath | ByteSink = field(compare=False)
    types: tuple[str, ...] | None = None
    branch: str | None = None
    at: str | None = None
    progress: Callable[[int], None] | None = field(default=None, compare=False, repr=False)

    def access(self, lookup: Lookup) -> tuple[Access, ...]:
        return read_of(lookup, self.branch, self.at, Action.EXPORT)

    def on(self, graph: Graph, caller: Caller) -> Exported:
        return graph.export(self.target, types=self.types, branch=self.branch, at=self.at, progress=self.progress)
