"""A cluster in a folder of its own, or below a bucket: written, planned, applied, damaged."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from omnigraph.cluster.applying.apply import apply
from omnigraph.cluster.applying.observing import import_, refresh, status
from omnigraph.cluster.applying.outputs import Applied, Approved, Observed, Planned, Unlocked, Validated
from omnigraph.cluster.applying.planning import approve, plan, validate
from omnigraph.cluster.applying.session import Control
from omnigraph.cluster.applying.unlocking import force_unlock
from omnigraph.cluster.ledger import layout
from omnigraph.cluster.ledger.records import Approval, Lock, Sidecar
from omnigraph.cluster.ledger.state import pretty
from omnigraph.cluster.serving.revision import ClusterNotReady, read_serving
from omnigraph.errors import StorageError
from omnigraph.service import Caller, Origin, Service
from omnigraph.service.direct import DirectGraphs
from omnigraph.service.objects import SmallObjects
from omnigraph.storage.files.effects import Call, Effects

PERSON = "node Person { name: String @key  age: I32? }\n"
MORE = "node Person { name: String @key  age: I32?  city: String? }\n"
OTHER = "node Thing { name: String @key }\n"
NAMES = "query names() { match { $p: Person } return { $p.name } }\n"
TEAM = """version: 1
groups:
  team: [ada, ben]
rules:
  - id: team-read
    allow: { actors: { group: team }, actions: [read, change] }
"""
LISTS = """version: 1
groups:
  team: [ada]
rules:
  - id: lists
    allow: { actors: { group: team }, actions: [graph_list] }
"""
SIMPLE = "version: 1\ngraphs:\n  people: { schema: people.pg }\n"
FULL = """version: 1
metadata: { name: demo }
graphs:
  people: { schema: people.pg, queries: queries/ }
policies:
  team: { file: team.yaml, applies_to: [people] }
"""
TWO = "version: 1\ngraphs:\n  people: { schema: people.pg }\n  things: { schema: things.pg }\n"
NONE = "version: 1\n"

FILES = {
    "cluster.yaml": SIMPLE,
    "people.pg": PERSON,
    "things.pg": OTHER,
    "queries/names.gq": NAMES,
    "team.yaml": TEAM,
    "lists.yaml": LISTS,
}


class StoppedClock:
    """A clock that stands, and is put forward by hand."""

    def __init__(self) -> None:
        self.time = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)

    def now(self) -> datetime:
        return self.time


class NumberedIds:
    """ULIDs that count."""

    def __init__(self) -> None:
        self.number = 0

    def next(self) -> str:
        self.number += 1
        return f"01J{self.number:023d}"


class Cluster:
    """A configuration with its storage root."""

    def __init__(self, folder: Path, storage: str | None = None) -> None:
        self.folder = folder
        self.storage = storage
        self.clock, self.ids = StoppedClock(), NumberedIds()
        self.steal_after: timedelta | None = None
        self.actor: str | None = "ada"
        folder.mkdir(parents=True, exist_ok=True)
        for path, text in FILES.items():
            self.write(path, text)

    @property
    def objects(self) -> SmallObjects:
        return SmallObjects(self.storage or str(self.folder))

    def write(self, path: str, text: str) -> Cluster:
        """A file of the configuration."""
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        if path == "cluster.yaml" and self.storage is not None:
            text = f"{text}storage: {self.storage}\n"
        file.write_text(text)
        return self

    def config(self, text: str) -> Cluster:
        return self.write("cluster.yaml", text)

    def control(self) -> Control:
        service = Service(DirectGraphs())
        return Control(self.folder, service, Caller(self.actor, Origin.CLI), self.steal_after, self.ids, self.clock)

    # ── commands ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def validate(self) -> Validated:
        return validate(self.control())

    def plan(self) -> Planned:
        return plan(self.control())

    def apply(self, *, init: bool = True) -> Applied:
        return apply(self.control(), init=init)

    def applied(self) -> Cluster:
        """Everything that can be, as it has to work."""
        found = self.apply()
        assert found.ok, found.diagnostics
        return self

    def approve(self, resource: str) -> Approved:
        return approve(self.control(), resource)

    def status(self) -> Observed:
        return status(self.control())

    def refresh(self) -> Observed:
        return refresh(self.control())

    def import_(self) -> Observed:
        return import_(self.control())

    def unlock(self, lock_id: str) -> Unlocked:
        return force_unlock(self.control(), lock_id)

    def serving(self) -> list[Any]:
        """What a server is told: warnings, or why it may not serve."""
        try:
            return list(read_serving(self.storage or str(self.folder)).warnings)
        except ClusterNotReady as error:
            return list(error.diagnostics)

    # ── what lies below the root ─────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def state(self) -> Any:
        raw = self.objects.read(layout.STATE)
        return None if raw is None else json.loads(raw)

    def put(self, path: str, content: object) -> Cluster:
        """An object below the root, whatever was there."""
        data = content if isinstance(content, bytes) else pretty(content)
        before = self.objects.read(path)
        if before is None:
            self.objects.create(path, data)
        else:
            assert self.objects.replace(path, data, before)
        return self

    def edit_state(self, **members: Any) -> Cluster:
        return self.put(layout.STATE, {**self.state, **members})

    def edit_resource(self, address: str, entry: dict[str, Any] | None) -> Cluster:
        revision = self.state["applied_revision"]
        others = {one: said for one, said in revision["resources"].items() if one != address}
        resources = others if entry is None else {**others, address: entry}
        return self.edit_state(applied_revision={**revision, "resources": resources})

    def payload(self, address: str) -> str:
        path = layout.payload(address, self.state["applied_revision"]["resources"][address]["digest"])
        assert path is not None
        return path

    def remove(self, path: str) -> Cluster:
        content = self.objects.read(path)
        assert content is not None, path
        self.objects.remove(path, content)
        return self

    def lock(self, **members: Any) -> Lock:
        lock = Lock(
            **{"version": 1, "lock_id": "01LOCK", "operation": "apply", "created_at": "2026-05-01T11:00:00Z", "pid": 7, **members}
        )
        self.put(layout.LOCK, lock)
        return lock

    def sidecar(self, **members: Any) -> Sidecar:
        said: dict[str, Any] = {
            "schema_version": 1,
            "operation_id": "01SIDECAR",
            "started_at": "2026-05-01T11:00:00Z",
            "actor": "ada",
            "kind": "graph_create",
            "graph_id": "people",
            "graph_uri": self.objects.address(layout.graph_root("people")),
            "observed_manifest_version": None,
            "expected_manifest_version": None,
            "desired_schema_digest": None,
            "state_cas_base": None,
            "approval_id": None,
            **members,
        }
        sidecar = Sidecar(**said)
        self.put(layout.sidecar(sidecar.operation_id), sidecar)
        return sidecar

    def approval(self, **members: Any) -> Approval:
        said: dict[str, Any] = {
            "schema_version": 1,
            "approval_id": "01APPROVAL",
            "resource": "graph.people",
            "operation": "delete",
            "reason": "x",
            "bound_config_digest": "x",
            "bound_before_digest": "x",
            "bound_after_digest": None,
            "approved_by": "ada",
            "created_at": "2026-05-01T11:00:00Z",
            **members,
        }
        approval = Approval(**said)
        self.put(layout.approval(approval.approval_id), approval)
        return approval

    def link(self, path: str) -> Cluster:
        """A link in place of a folder or a file: nothing behind it is read or written."""
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        if file.exists():
            file.rename(file.with_name(f"{file.name}.away"))
        file.symlink_to(file.with_name("elsewhere"))
        return self


@contextmanager
def failing(call: Call, path: str | None = None) -> Iterator[None]:
    """Every effect of a kind fails before it is made, as a store that went away."""

    def before(self: Effects, made: Call) -> None:
        if made is call:
            raise StorageError("the store went away")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Effects, "before", before)
        yield


@contextmanager
def unreadable(part: str) -> Iterator[None]:
    """Objects whose path has a part cannot be read."""
    original = SmallObjects.read

    def read(self: SmallObjects, path: str) -> bytes | None:
        if part in path:
            raise StorageError(f"{path} cannot be read")
        return original(self, path)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SmallObjects, "read", read)
        yield
