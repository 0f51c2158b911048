"""What it takes to get from the schema of a branch to another one. Nothing is changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, ClassVar

from omnigraph.model.frozen import frozen
from omnigraph.policy.port import Access, Action
from omnigraph.service.operation import GraphOperation, Lookup

if TYPE_CHECKING:
    from omnigraph.catalog.canonical_json import Json
    from omnigraph.catalog.identity import Resolution
    from omnigraph.catalog.migration import MigrationPlan
    from omnigraph.engine.any_graph import AnyGraph
    from omnigraph.language.source import Source
    from omnigraph.service.caller import Caller


@frozen(slots=False)
class PlanSchema(GraphOperation["tuple[MigrationPlan, Resolution]"]):
    """What it takes to get from the schema of a branch to another one, and how its names were resolved."""

    name: ClassVar = "schema plan"
    desired: Source
    branch: str = "main"
    allow_data_loss: bool = False
    backfill: Mapping[str, Json] = field(default_factory=dict)
    compute: Mapping[str, str] = field(default_factory=dict)

    @property
    def size(self) -> int:
        return len(self.desired.text)

    def access(self, lookup: Lookup) -> tuple[Access, ...]:
        return (Access(Action.READ, self.branch),)

    def on(self, graph: AnyGraph, caller: Caller) -> tuple[MigrationPlan, Resolution]:
        from omnigraph.catalog.migration import plan_change
        from omnigraph.engine.parts import accepted_schema

        accepted = accepted_schema(graph, self.branch).catalog.ir
        return plan_change(
            accepted, self.desired, allow_data_loss=self.allow_data_loss, backfill=self.backfill, compute=self.compute
        )
