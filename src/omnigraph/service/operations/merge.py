"""A branch is merged into another; with `dry_run` it is only said what that would do."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, ClassVar

from omnigraph.model.frozen import frozen
from omnigraph.policy.port import Access, Action
from omnigraph.service.operation import GraphCommit, Lookup
from omnigraph.service.stored.catalogue import NO_QUERIES, StoredQueries

if TYPE_CHECKING:
    from omnigraph.engine.any_graph import AnyGraph
    from omnigraph.engine.history.conflicts import Resolve
    from omnigraph.engine.history.merge import Merge as Merged
    from omnigraph.service.caller import Caller


@frozen(slots=False)
class Merge(GraphCommit["Merged"]):
    """A branch is merged into another; with `dry_run` it is only said what that would do."""

    name: ClassVar = "branch merge"
    source: str
    into: str = "main"
    dry_run: bool = False
    resolve: Resolve = None
    strict: bool = False
    message: str | None = None
    idempotency_key: str | None = None
    queries: StoredQueries = field(default=NO_QUERIES, compare=False, repr=False)
    """What is stored with the graph: a merge that brings main a schema which one of them does not fit is refused."""

    def access(self, lookup: Lookup) -> tuple[Access, ...]:
        if self.dry_run:
            return self.reveals(lookup)
        return (Access(Action.BRANCH_MERGE, self.source, self.into), *self.deciding(self.resolve, lookup))

    def reveals(self, lookup: Lookup) -> tuple[Access, ...]:
        return (Access(Action.READ, self.source), Access(Action.READ, self.into))

    def on(self, graph: AnyGraph, caller: Caller) -> Merged:
        if self.queries and not self.dry_run:
            from omnigraph.service.stored.merging import require_fitting_merge

            require_fitting_merge(self.queries, graph, self.source, self.into)
        return graph.merge(
            self.source,
            self.into,
            dry_run=self.dry_run,
            resolve=self.resolve,
            strict=self.strict,
            actor=caller.actor,
            message=self.message,
            idempotency_key=self.idempotency_key,
        )

    @property
    def writes(self) -> bool:
        return not self.dry_run

    def commit_of(self, result: Merged) -> str | None:
        return None if result.commit is None else result.commit.id
