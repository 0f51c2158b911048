"""A graph, or some of its types, as JSON lines, or as a folder of Parquet or CSV files."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, ClassVar, Literal

from omnigraph.model.frozen import frozen
from omnigraph.policy.port import Access, Action
from omnigraph.service.operation import GraphOperation, Lookup, read_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from omnigraph.engine.any_graph import AnyGraph
    from omnigraph.engine.calls.arguments import AnyPath
    from omnigraph.engine.export.lines import ByteSink, Exported
    from omnigraph.service.caller import Caller


@frozen(slots=False)
class Export(GraphOperation["Exported"]):
    """A graph, or some of its types, as JSON lines, or as a folder of Parquet or CSV files."""

    name: ClassVar = "export"
    target: AnyPath | ByteSink = field(compare=False)
    types: tuple[str, ...] | None = None
    branch: str | None = None
    at: str | None = None
    format: Literal["jsonl", "parquet", "csv"] = "jsonl"
    progress: Callable[[int], None] | None = field(default=None, compare=False, repr=False)

    def access(self, lookup: Lookup) -> tuple[Access, ...]:
        return read_of(lookup, self.branch, self.at, Action.EXPORT)

    def on(self, graph: AnyGraph, caller: Caller) -> Exported:
        return graph.export(
            self.target, format=self.format, types=self.types, branch=self.branch, at=self.at, progress=self.progress
        )
