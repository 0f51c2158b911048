"""Graphs as they are: looked at, created, changed and deleted through the service, in the name of whoever runs the command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.cluster.config import digests
from omnigraph.cluster.ledger import layout
from omnigraph.errors import Forbidden, GraphError, NotFound
from omnigraph.language.source import Source
from omnigraph.model.frozen import frozen
from omnigraph.service import Caller, GraphRef, Service
from omnigraph.service.objects import SmallObjects
from omnigraph.service.operations.apply_schema import ApplySchema
from omnigraph.service.operations.delete_graph import DeleteGraph
from omnigraph.service.operations.init import Init
from omnigraph.service.operations.plan_schema import PlanSchema
from omnigraph.service.operations.show_schema import ShowSchema
from omnigraph.service.operations.snapshot import Snapshot

if TYPE_CHECKING:
    from omnigraph.catalog.migration import MigrationPlan


@frozen
class Seen:
    """What was seen of a graph."""

    exists: bool
    """Whether there is a graph that can be opened, or one that should be."""
    begun: bool = False
    """There are files, and no graph yet: somebody died while creating it, and it can be created again."""
    version: int | None = None
    schema: str | None = None
    error: str | None = None
    """Why it cannot be read."""

    @property
    def digest(self) -> str | None:
        """The digest of its schema."""
        return None if self.schema is None else digests.of_bytes(self.schema.encode())


@frozen(slots=False)
class LiveGraphs:
    """The graphs below a storage root."""

    service: Service
    caller: Caller
    objects: SmallObjects

    def uri(self, graph_id: str) -> str:
        """Where a graph is."""
        return self.objects.address(layout.graph_root(graph_id))

    def exists(self, graph_id: str) -> bool:
        """Whether anything is left of it."""
        return self.objects.has_graph(layout.graph_root(graph_id))

    def look(self, graph_id: str) -> Seen:
        """What there is of it. Nothing is changed."""
        if not self.exists(graph_id):
            return Seen(False)
        ref = self._ref(graph_id, read_only=True)
        try:
            schema = self.service.run(self.caller, ShowSchema(ref, "main")).source
            return Seen(True, version=self.service.run(self.caller, Snapshot(ref, "main")).number, schema=schema)
        except Forbidden:
            raise
        except NotFound:
            return Seen(False, begun=True)
        except GraphError as error:
            return Seen(True, error=error.message)

    def steps(self, graph_id: str, desired: str) -> MigrationPlan:
        """What it takes to get from its schema to another one."""
        plan, _ = self.service.run(self.caller, PlanSchema(self._ref(graph_id, read_only=True), Source(desired, "<schema>")))
        return plan

    def has_schema(self, graph_id: str, seen: Seen, digest: str | None, text: str | None) -> bool:
        """Whether its schema says what another one says: the same text, or one that takes no step to get to."""
        if seen.schema is None or digest is None:
            return False
        if seen.digest == digest:
            return True
        return text is not None and not self.steps(graph_id, text).steps

    def create(self, graph_id: str, schema: str) -> None:
        """A new graph."""
        self.service.run(self.caller, Init(self._ref(graph_id), schema))

    def apply_schema(self, graph_id: str, schema: str) -> None:
        """Another schema for it. What is dropped stays in its history."""
        self.service.run(self.caller, ApplySchema(self._ref(graph_id), schema))

    def delete(self, graph_id: str) -> None:
        """The whole graph goes."""
        self.service.run(self.caller, DeleteGraph(self._ref(graph_id)))

    def _ref(self, graph_id: str, *, read_only: bool = False) -> GraphRef:
        return GraphRef(self.uri(graph_id), read_only=read_only, id=graph_id)
