"""A node, or an edge between two nodes, as one commit."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from omnigraph.model.frozen import frozen
from omnigraph.policy.port import Access, Action
from omnigraph.service.operation import GraphCommit, Lookup

if TYPE_CHECKING:
    from omnigraph.engine.any_graph import AnyGraph
    from omnigraph.engine.export.entities import Key
    from omnigraph.engine.write.receipt import Receipt
    from omnigraph.service.caller import Caller


@frozen(slots=False)
class PutEntity(GraphCommit["Receipt"]):
    """A node, or an edge between two nodes, as one commit."""

    name: ClassVar = "put"
    type: str
    values: Mapping[str, object]
    ends: tuple[Key, Key] | None = None
    """Of an edge."""
    patch: bool = False
    branch: str = "main"
    if_commit: str | None = None
    message: str | None = None
    idempotency_key: str | None = None

    @property
    def brings_its_rows(self) -> bool:
        return not self.patch

    def access(self, lookup: Lookup) -> tuple[Access, ...]:
        return (Access(Action.CHANGE, self.branch),)

    def on(self, graph: AnyGraph, caller: Caller) -> Receipt:
        if self.ends is None:
            return graph.put(
                self.type,
                self.values,
                patch=self.patch,
                branch=self.branch,
                if_commit=self.if_commit,
                actor=caller.actor,
                message=self.message,
                idempotency_key=self.idempotency_key,
            )
        return graph.put_edge(
            self.type,
            *self.ends,
            self.values,
            patch=self.patch,
            branch=self.branch,
            if_commit=self.if_commit,
            actor=caller.actor,
            message=self.message,
            idempotency_key=self.idempotency_key,
        )

    @property
    def size(self) -> int:
        return len(json.dumps(self.values, default=str))

    def commit_of(self, result: Receipt) -> str | None:
        return None if result.commit is None else result.commit.id
