"""A new graph with its first commit."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from omnigraph.model.frozen import frozen
from omnigraph.policy.port import Access, Action
from omnigraph.service.operation import Lookup, Operation

if TYPE_CHECKING:
    from pathlib import Path

    from omnigraph.service.caller import Caller
    from omnigraph.service.graphs import Graphs
    from omnigraph.storage.commits.lineage import Commit


@frozen(slots=False)
class Init(Operation["Commit"]):
    """A new graph with its first commit. A place that holds one is refused."""

    name: ClassVar = "init"
    schema: str | Path
    """Its text, or the path of a `.pg` file."""

    @property
    def writes(self) -> bool:
        return True

    def access(self, lookup: Lookup) -> tuple[Access, ...]:
        return (Access(Action.ADMIN),)

    def run(self, graphs: Graphs, caller: Caller) -> Commit:
        return graphs.create(self.graph, self.schema, caller.actor).commits(limit=1)[0]

    def commit_of(self, result: Commit) -> str | None:
        return result.id
