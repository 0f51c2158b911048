"""A graph, or some of its types, as JSON lines, a chunk at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from omnigraph.model.frozen import frozen
from omnigraph.policy.port import Access, Action
from omnigraph.service.operation import GraphOperation, Lookup, read_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from omnigraph.engine.any_graph import AnyGraph
    from omnigraph.service.caller import Caller


@frozen(slots=False)
class ExportStream:
    """Lines that are read as they are taken, and the commit they are of."""

    commit: str
    chunks: Iterator[bytes]


@frozen(slots=False)
class StreamExport(GraphOperation[ExportStream]):
    """A graph, or some of its types, as JSON lines. What is wrong with the request is said before the first of them."""

    name: ClassVar = "export stream"
    types: tuple[str, ...] | None = None
    branch: str | None = None
    at: str | None = None

    def access(self, lookup: Lookup) -> tuple[Access, ...]:
        return read_of(lookup, self.branch, self.at, Action.EXPORT)

    def on(self, graph: AnyGraph, caller: Caller) -> ExportStream:
        from omnigraph.engine.export.lines import chunks, exported_types
        from omnigraph.engine.parts import parts_of

        view = parts_of(graph).view(self.branch, self.at)
        chosen = exported_types(view.catalog, self.types)
        return ExportStream(view.snapshot.commit, (data for _, data in chunks(view, chosen)))
