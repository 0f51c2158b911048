"""Inserts and updates, or deletes, as one commit."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from omnigraph.model.frozen import frozen
from omnigraph.policy.port import Access, Action
from omnigraph.service.operation import GraphCommit, Lookup, query_size

if TYPE_CHECKING:
    from collections.abc import Mapping

    from omnigraph.engine.any_graph import AnyGraph
    from omnigraph.engine.planning.prepared import QueryText
    from omnigraph.engine.write.receipt import Receipt
    from omnigraph.service.caller import Caller


@frozen(slots=False)
class Mutate(GraphCommit["Receipt"]):
    """Inserts and updates, or deletes, as one commit."""

    name: ClassVar = "mutate"
    source: QueryText
    params: Mapping[str, object] | None = None
    query_name: str | None = None
    branch: str = "main"
    if_commit: str | None = None
    message: str | None = None
    idempotency_key: str | None = None
    embed: bool = False

    def access(self, lookup: Lookup) -> tuple[Access, ...]:
        return (Access(Action.CHANGE, self.branch),)

    def on(self, graph: AnyGraph, caller: Caller) -> Receipt:
        return graph.mutate(
            self.source,
            self.params,
            name=self.query_name,
            branch=self.branch,
            if_commit=self.if_commit,
            actor=caller.actor,
            message=self.message,
            idempotency_key=self.idempotency_key,
            embed=self.embed,
        )

    @property
    def size(self) -> int:
        return query_size(self.source, self.params)

    def commit_of(self, result: Receipt) -> str | None:
        return None if result.commit is None else result.commit.id
