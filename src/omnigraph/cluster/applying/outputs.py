"""What commands print as JSON: members in a fixed order, those that say nothing left out; maps in order of their keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from datetime import datetime

import msgspec

from omnigraph.cluster.applying.differences import Change, Gate
from omnigraph.cluster.config import addresses
from omnigraph.cluster.config.desired import Desired
from omnigraph.cluster.config.diagnostics import Diagnostic
from omnigraph.cluster.ledger import layout
from omnigraph.cluster.ledger.records import Lock
from omnigraph.cluster.ledger.state import Ledger
from omnigraph.cluster.ledger.store import ClusterStore, State
from omnigraph.model.frozen import frozen


@frozen
class StateObservations:
    """What was seen of the ledger and the lock."""

    state_path: str = ""
    lock_path: str = ""
    state_found: bool = False
    applied_config_digest: str | None = None
    state_revision: int = 0
    state_cas: str | None = None
    resource_count: int = 0
    held: Lock | None = None
    """The lock of somebody else."""
    acquired: str | None = None
    """The id of our own."""
    lock_age: int | None = None

    @classmethod
    def of(
        cls, store: ClusterStore, state: State | None, held: Lock | None, acquired: str | None, now: datetime
    ) -> StateObservations:
        """What there is."""
        paths = (store.objects.address(layout.STATE), store.objects.address(layout.LOCK))
        age = None if held is None else held.age(now)
        if state is None:
            return cls(*paths, held=held, acquired=acquired, lock_age=age)
        applied = state.ledger.applied_revision
        revision, count = state.ledger.state_revision, len(applied.resources)
        return cls(*paths, state.raw is not None, applied.config_digest, revision, state.cas, count, held, acquired, age)

    def to_json(self) -> dict[str, object]:
        lock = self.held
        return _present(
            {
                "state_path": self.state_path,
                "lock_path": self.lock_path,
                "state_found": self.state_found,
                "applied_config_digest": self.applied_config_digest,
                "state_revision": self.state_revision,
                "state_cas": self.state_cas,
                "resource_count": self.resource_count,
                "locked": lock is not None,
                "lock_id": None if lock is None else lock.lock_id,
                "lock_acquired": self.acquired is not None,
                "acquired_lock_id": self.acquired,
                "lock_operation": None if lock is None else lock.operation,
                "lock_created_at": None if lock is None else lock.created_at,
                "lock_pid": None if lock is None else lock.pid,
                "lock_age_seconds": self.lock_age,
            }
        )


@frozen
class Output:
    """What every command gives."""

    config_dir: str
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def ok(self) -> bool:
        return all(d.severity != "error" for d in self.diagnostics)

    def to_json(self) -> dict[str, object]:
        """All of it, in order."""
        return _present({"ok": self.ok, **self.said(), "diagnostics": [d.to_json() for d in self.diagnostics]})

    def said(self) -> dict[str, object | None]:
        """What stands between `ok` and the diagnostics."""
        return {"config_dir": self.config_dir}


@frozen
class Validated(Output):
    """`validate`."""

    config_file: str = ""
    desired: Desired | None = None

    def said(self) -> dict[str, object | None]:
        wanted = {} if self.desired is None else self.desired.resources
        return {
            **Output.said(self),
            "config_file": self.config_file,
            "resource_digests": {} if self.desired is None else self.desired.digest_map,
            "resources": [
                _present({"address": a, "kind": addresses.kind(a), "digest": w.resource.digest, "path": w.path})
                for a, w in wanted.items()
            ],
            "dependencies": _dependencies(self.desired),
        }


@frozen
class Planned(Output):
    """`plan`."""

    desired: Desired | None = None
    observations: StateObservations = field(default_factory=StateObservations)
    changes: Sequence[Change] = ()
    gates: Sequence[Gate] = ()

    @property
    def change_count(self) -> int:
        """How many changes there are, without those that only follow from others."""
        return sum(change.disposition != "derived" for change in self.changes)

    def said(self) -> dict[str, object | None]:
        return {
            **Output.said(self),
            "desired_revision": _revision(self.desired),
            "resource_digests": {} if self.desired is None else self.desired.digest_map,
            "dependencies": _dependencies(self.desired),
            "state_observations": self.observations.to_json(),
            "changes": [change.to_json() for change in self.changes],
            "blast_radius": [{"resource": one, "affected": affected} for one, affected in self.blast_radius().items()],
            "approvals_required": [gate.to_json() for gate in self.gates],
        }

    def blast_radius(self) -> dict[str, list[str]]:
        """By each resource that changes, everything that rests on it, however far away."""
        if self.desired is None:
            return {}
        resting: dict[str, list[str]] = {}
        for one, needed in self.desired.dependencies:
            resting.setdefault(needed, []).append(one)
        found = {}
        for change in self.changes:
            reached: set[str] = set()
            waiting = [change.resource]
            while waiting:
                for one in resting.get(waiting.pop(), ()):
                    if one not in reached:
                        reached.add(one)
                        waiting.append(one)
            found[change.resource] = sorted(reached - {change.resource})
        return found


@frozen
class Applied(Output):
    """`apply`."""

    actor: str | None = None
    desired: Desired | None = None
    observations: StateObservations = field(default_factory=StateObservations)
    changes: Sequence[Change] = ()
    converged: bool = False
    written: bool = False
    ledger: Ledger = field(default_factory=Ledger.empty)

    @property
    def applied_count(self) -> int:
        """What was made for its own sake: what only follows from that is no change of its own."""
        return sum(change.disposition == "applied" for change in self.changes)

    @property
    def deferred_count(self) -> int:
        """What was not made: deferred, or blocked."""
        return sum(not change.made for change in self.changes)

    def said(self) -> dict[str, object | None]:
        return {
            **Output.said(self),
            "actor": self.actor,
            "desired_revision": _revision(self.desired),
            "state_observations": self.observations.to_json(),
            "changes": [change.to_json() for change in self.changes],
            "applied_count": self.applied_count,
            "deferred_count": self.deferred_count,
            "converged": self.converged,
            "state_written": self.written,
            "resource_statuses": _statuses(self.ledger),
        }


@frozen
class Approved(Output):
    """`approve`."""

    approval_id: str | None = None
    resource: str | None = None
    operation: str | None = None
    approved_by: str | None = None

    def said(self) -> dict[str, object | None]:
        return {
            **Output.said(self),
            "approval_id": self.approval_id,
            "resource": self.resource,
            "operation": self.operation,
            "approved_by": self.approved_by,
        }


@frozen
class Observed(Output):
    """`status`; `refresh` and `import` say their name first."""

    operation: str | None = None
    observations: StateObservations = field(default_factory=StateObservations)
    ledger: Ledger = field(default_factory=Ledger.empty)

    def said(self) -> dict[str, object | None]:
        return {
            "operation": self.operation,
            **Output.said(self),
            "state_observations": self.observations.to_json(),
            "resource_digests": self.ledger.digest_map(),
            "resource_statuses": _statuses(self.ledger),
            "observations": {one: msgspec.to_builtins(said) for one, said in sorted(self.ledger.observations.items())},
        }


@frozen
class Unlocked(Output):
    """`force-unlock`."""

    observations: StateObservations = field(default_factory=StateObservations)
    removed: Lock | None = None

    def said(self) -> dict[str, object | None]:
        return {
            **Output.said(self),
            "state_observations": self.observations.to_json(),
            "lock_removed": self.removed is not None,
        }


def _present(data: Mapping[str, object | None]) -> dict[str, object]:
    return {name: value for name, value in data.items() if value is not None}


def _revision(desired: Desired | None) -> dict[str, object]:
    return {} if desired is None else {"config_digest": desired.config_digest}


def _dependencies(desired: Desired | None) -> list[dict[str, str]]:
    return [] if desired is None else [{"from": one, "to": needed} for one, needed in desired.dependencies]


def _statuses(ledger: Ledger) -> dict[str, object]:
    found = sorted(ledger.resource_statuses.items())
    return {one: {"status": s.status, "conditions": list(s.conditions), "message": s.message} for one, s in found}
