"""A branch gets another schema, as one commit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, ClassVar

from omnigraph.model.frozen import frozen
from omnigraph.policy.port import Access, Action
from omnigraph.service.operation import SMALL, GraphCommit, Lookup

if TYPE_CHECKING:
    from pathlib import Path

    from omnigraph.catalog.canonical_json import Json
    from omnigraph.engine.graph import Graph
    from omnigraph.engine.schema.apply import SchemaApplied
    from omnigraph.service.caller import Caller


@frozen(slots=False)
class ApplySchema(GraphCommit["SchemaApplied"]):
    """A branch gets another schema, as one commit."""

    name: ClassVar = "schema apply"
    desired: str | Path
    """Its text, or the path of a `.pg` file."""
    branch: str = "main"
    allow_data_loss: bool = False
    backfill: Mapping[str, Json] = field(default_factory=dict)

    @property
    def size(self) -> int:
        return len(self.desired) if isinstance(self.desired, str) else SMALL

    def access(self, lookup: Lookup) -> tuple[Access, ...]:
        return (Access(Action.SCHEMA_APPLY, target_branch=self.branch),)

    def on(self, graph: Graph, caller: Caller) -> SchemaApplied:
        return graph.apply_schema(
            self.desired,
            branch=self.branch,
            allow_data_loss=self.allow_data_loss,
            backfill=self.backfill,
            actor=caller.actor,
        )

    def commit_of(self, result: SchemaApplied) -> str | None:
        return None if result.commit is None else result.commit.id
