"""What a commit did is undone by a new one; with `dry_run` it is only said what that would do."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from omnigraph.model.frozen import frozen
from omnigraph.policy.port import Access, Action
from omnigraph.service.operation import GraphCommit, Lookup, read_of

if TYPE_CHECKING:
    from omnigraph.engine.any_graph import AnyGraph
    from omnigraph.engine.history.conflicts import Resolve
    from omnigraph.engine.history.merge import Merge as Merged
    from omnigraph.service.caller import Caller


@frozen(slots=False)
class Revert(GraphCommit["Merged"]):
    """What a commit did is undone by a new one; with `dry_run` it is only said what that would do."""

    name: ClassVar = "revert"
    commit: str
    branch: str = "main"
    dry_run: bool = False
    resolve: Resolve = None
    strict: bool = False
    message: str | None = None

    def access(self, lookup: Lookup) -> tuple[Access, ...]:
        change = Access(Action.READ if self.dry_run else Action.CHANGE, self.branch)
        return (change, *read_of(lookup, None, self.commit), *self.deciding(self.resolve, lookup))

    def reveals(self, lookup: Lookup) -> tuple[Access, ...]:
        return (Access(Action.READ, self.branch),)

    def on(self, graph: AnyGraph, caller: Caller) -> Merged:
        return graph.revert(
            self.commit,
            self.branch,
            dry_run=self.dry_run,
            resolve=self.resolve,
            strict=self.strict,
            actor=caller.actor,
            message=self.message,
        )

    @property
    def writes(self) -> bool:
        return not self.dry_run

    def commit_of(self, result: Merged) -> str | None:
        return None if result.commit is None else result.commit.id
