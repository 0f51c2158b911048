"""The space of old commits is given back; with `dry_run` it is only said what would go."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from omnigraph.model.frozen import frozen
from omnigraph.policy.port import Access, Action
from omnigraph.service.operation import GraphChange, Lookup

if TYPE_CHECKING:
    from datetime import timedelta

    from omnigraph.engine.any_graph import AnyGraph
    from omnigraph.service.caller import Caller
    from omnigraph.storage.reclaiming.reclaim import ReclaimReport


@frozen(slots=False)
class Cleanup(GraphChange["ReclaimReport"]):
    """The space of old commits is given back; with `dry_run` it is only said what would go."""

    name: ClassVar = "cleanup"
    keep: int = 10
    older_than: str | timedelta = "7d"
    dry_run: bool = True

    def access(self, lookup: Lookup) -> tuple[Access, ...]:
        return (Access(Action.ADMIN),)

    def on(self, graph: AnyGraph, caller: Caller) -> ReclaimReport:
        return graph.cleanup(self.keep, self.older_than, dry_run=self.dry_run, actor=caller.actor)

    @property
    def writes(self) -> bool:
        return not self.dry_run

    def changed(self, result: ReclaimReport) -> bool:
        return result.files_removed > 0 or result.commits_reclaimed > 0
