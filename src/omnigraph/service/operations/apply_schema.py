"""A branch gets another schema, as one commit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, ClassVar

from omnigraph.model.frozen import frozen
from omnigraph.policy.port import Access, Action
from omnigraph.service.operation import SMALL, GraphCommit, Lookup
from omnigraph.service.stored.catalogue import NO_QUERIES, StoredQueries

if TYPE_CHECKING:
    from pathlib import Path

    from omnigraph.catalog.canonical_json import Json
    from omnigraph.engine.any_graph import AnyGraph
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
    compute: Mapping[str, str] = field(default_factory=dict)
    also: tuple[str, ...] = ()
    """Other branches that get it, too."""
    queries: StoredQueries = field(default=NO_QUERIES, compare=False, repr=False)
    """What is stored with the graph: a schema of main that one of them does not fit is refused before anything is changed."""

    @property
    def size(self) -> int:
        return len(self.desired) if isinstance(self.desired, str) else SMALL

    def access(self, lookup: Lookup) -> tuple[Access, ...]:
        return tuple(Access(Action.SCHEMA_APPLY, target_branch=branch) for branch in (self.branch, *self.also))

    def on(self, graph: AnyGraph, caller: Caller) -> SchemaApplied:
        if self.queries and "main" in {name.strip() for name in (self.branch, *self.also)}:
            self._check_queries()
        return graph.apply_schema(
            self.desired,
            branch=self.branch,
            allow_data_loss=self.allow_data_loss,
            backfill=self.backfill,
            compute=self.compute,
            also=self.also,
            actor=caller.actor,
        )

    def _check_queries(self) -> None:
        """What a query may say depends on the schema alone, not on the one before it."""
        from omnigraph.catalog.opening import offline_catalog
        from omnigraph.engine.schema.documents import schema_source
        from omnigraph.service.stored.validation import validate

        validate(self.queries, offline_catalog(schema_source(self.desired))).require("the new schema")

    def commit_of(self, result: SchemaApplied) -> str | None:
        return None if result.commit is None else result.commit.id
