"""The storage root of a cluster: its ledger, lock, copies, sidecars and approvals, read and written as typed values.

What cannot be read is a diagnostic with its code, never a traceback. Everything is written once (`create`), or replaced under the
condition that it still says what was read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import msgspec

from omnigraph.cluster.config import digests
from omnigraph.cluster.config.diagnostics import Diagnostics
from omnigraph.cluster.ledger import layout
from omnigraph.cluster.ledger.records import Approval, DeploymentRecord, Lock, Sidecar, Unsupported, decoded
from omnigraph.cluster.ledger.state import Ledger, pretty, read_ledger
from omnigraph.errors import AlreadyExists, DamagedRecord, GraphError
from omnigraph.model.frozen import frozen
from omnigraph.service.objects import SmallObjects

T = TypeVar("T")


@frozen
class State:
    """The ledger as it was read, and what it is compared by."""

    ledger: Ledger
    raw: bytes | None
    """None if there is none yet."""

    @property
    def cas(self) -> str | None:
        return None if self.raw is None else digests.state_cas(self.raw)


class StateMoved(Exception):
    """Somebody else has written the ledger."""


@frozen
class Pending:
    """A sidecar that was found, as it is and as it was written."""

    path: str
    raw: bytes
    sidecar: Sidecar


@frozen(slots=False)
class ClusterStore:
    """What lies below a storage root."""

    objects: SmallObjects

    # ── the ledger ───────────────────────────────────────────────────────────────────────────────────────────────────────────

    def read_state(self, problems: Diagnostics) -> State | None:
        """The ledger, an empty one if there is none; None if there is one that cannot be read."""
        try:
            raw = self.objects.read(layout.STATE)
        except GraphError as error:
            problems.error("state_read_error", layout.STATE, f"the ledger cannot be read: {error.message}")
            return None
        if raw is None:
            return State(Ledger.empty(), None)
        try:
            return State(read_ledger(raw), raw)
        except Unsupported as error:
            problems.error("unsupported_state_version", layout.STATE, str(error))
        except ValueError as error:
            problems.error("invalid_state_json", layout.STATE, f"this is no ledger: {error}")
        return None

    def write_state(self, before: State, after: Ledger) -> State:
        """Publish another ledger. `StateMoved` if somebody else has; then nothing was written."""
        data = after.encoded()
        if before.raw is None:
            try:
                self.objects.create(layout.STATE, data)
            except AlreadyExists:
                raise StateMoved from None
        elif not self.objects.replace(layout.STATE, data, before.raw):
            raise StateMoved
        return State(after, data)

    # ── the lock ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def read_lock(self, problems: Diagnostics) -> tuple[Lock, bytes] | None:
        """The lock that is held; None if none is, or if it cannot be read."""
        try:
            raw = self.objects.read(layout.LOCK)
        except GraphError as error:
            problems.error("state_lock_read_error", layout.LOCK, f"the lock cannot be read: {error.message}")
            return None
        if raw is None:
            return None
        try:
            return decoded(raw, Lock, "version"), raw
        except Unsupported as error:
            problems.error("unsupported_state_lock_version", layout.LOCK, str(error))
        except ValueError as error:
            problems.error("invalid_state_lock", layout.LOCK, f"this is no lock: {error}")
        return None

    # ── copies ───────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def read_payload(self, address: str, digest: str) -> bytes | None:
        """The copy of a resource, as it is; None if it is gone."""
        path = layout.payload(address, digest)
        assert path is not None, address
        return self.objects.read(path)

    def write_payload(self, address: str, content: bytes) -> None:
        """Keep a copy of a resource. One that is there already is left, unless it says something else."""
        path = layout.payload(address, digests.of_bytes(content))
        assert path is not None, address
        found = self.objects.read(path)
        if found is None:
            try:
                self.objects.create(path, content)
            except AlreadyExists:
                self.write_payload(address, content)
        elif found != content:
            self.objects.replace(path, content, found)

    # ── sidecars and approvals ───────────────────────────────────────────────────────────────────────────────────────────────

    def write_sidecar(self, sidecar: Sidecar) -> Pending:
        """Say what is about to be done."""
        path, data = layout.sidecar(sidecar.operation_id), pretty(sidecar)
        self.objects.create(path, data)
        return Pending(path, data, sidecar)

    def remove_sidecar(self, pending: Pending) -> None:
        """It was done, or will not be."""
        self.objects.remove(pending.path, pending.raw)

    def read_sidecars(self, problems: Diagnostics) -> list[Pending]:
        """Every sidecar that can be read, oldest first."""
        codes = ("recovery_sidecar_read_error", "invalid_recovery_sidecar", "unsupported_recovery_sidecar_version")
        return [Pending(*found) for found in self._records(layout.RECOVERIES, Sidecar, codes, problems.error)]

    def write_approval(self, approval: Approval) -> None:
        """Keep a new approval."""
        self.objects.create(layout.approval(approval.approval_id), pretty(approval))

    def replace_approval(self, raw: bytes, approval: Approval) -> bool:
        """Write down that an approval was used up; False if somebody else has changed it."""
        return self.objects.replace(layout.approval(approval.approval_id), pretty(approval), raw)

    def read_approvals(self, problems: Diagnostics) -> list[tuple[Approval, bytes]]:
        """Every approval that can be read, oldest first. One that cannot authorises nothing."""
        codes = ("approval_read_error", "invalid_approval_artifact", "unsupported_approval_version")
        found = []
        for path, raw, approval in self._records(layout.APPROVALS, Approval, codes, problems.warn):
            if path == layout.approval(approval.approval_id):
                found.append((approval, raw))
            else:
                problems.warn("invalid_approval_artifact", path, f"it is approval {approval.approval_id!r} under another name")
        return found

    # ── deployments ──────────────────────────────────────────────────────────────────────────────────────────────────────────

    def read_deployment(self, deployment_id: str) -> tuple[DeploymentRecord, bytes] | None:
        """What was written down of a deployment; None if nothing was."""
        path = layout.deployment(deployment_id)
        raw = self.objects.read(path)
        if raw is None:
            return None
        try:
            return decoded(raw, DeploymentRecord), raw
        except (Unsupported, ValueError) as error:
            raise DamagedRecord(f"{self.objects.address(path)} is no record of a deployment: {error}") from error

    def write_deployment(self, record: DeploymentRecord, before: bytes | None = None) -> bool:
        """Write down that a deployment has begun, or what came of it; False if somebody else has written meanwhile."""
        path, data = layout.deployment(record.deployment_id), pretty(record)
        if before is not None:
            return self.objects.replace(path, data, before)
        try:
            self.objects.create(path, data)
        except AlreadyExists:
            return False
        return True

    def deployment_ids(self) -> list[str]:
        """Of every deployment that was begun."""
        begins, ends = f"{layout.DEPLOYMENTS}/", ".json"
        return [path.removeprefix(begins).removesuffix(ends) for path in self.objects.list(layout.DEPLOYMENTS)]

    def _records(
        self, folder: str, type_: type[T], codes: tuple[str, str, str], report: Callable[[str, str, str], None]
    ) -> list[tuple[str, bytes, T]]:
        unreadable, invalid, unsupported = codes
        try:
            paths = self.objects.list(folder)
        except GraphError as error:
            report(unreadable, folder, f"the folder cannot be read: {error.message}")
            return []
        found = []
        for path in paths:
            try:
                raw = self.objects.read(path)
                if raw is not None:
                    found.append((path, raw, decoded(raw, type_)))
            except GraphError as error:
                report(unreadable, path, f"it cannot be read: {error.message}")
            except Unsupported as error:
                report(unsupported, path, str(error))
            except (ValueError, msgspec.MsgspecError) as error:
                report(invalid, path, f"it cannot be understood: {error}")
        return found
