"""Plans and deployments of a cluster as they travel. A plan is what `omnigraph cluster plan --json` prints, member by member."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType


class DeploymentFiles(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A configuration: `cluster.yaml` and every file it names, as texts by their paths relative to its folder."""

    files: dict[str, str]


class ClusterPlanRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A configuration that is to be planned."""

    deployment: DeploymentFiles


class DeploymentRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A configuration that is to be applied."""

    deployment_id: str
    """Of the caller's choice. The same id and the same files happen once, however often they are sent."""
    deployment: DeploymentFiles


class ClusterDiagnosticOutput(msgspec.Struct, frozen=True, kw_only=True):
    """Something that is wrong, or worth knowing."""

    code: str
    severity: Literal["error", "warning"]
    path: str
    message: str


class DesiredRevisionOutput(msgspec.Struct, frozen=True, kw_only=True):
    """What is wanted, in short."""

    config_digest: str | UnsetType = UNSET


class DependencyOutput(msgspec.Struct, frozen=True, kw_only=True, rename={"from_": "from"}):
    """The first rests on the second."""

    from_: str
    to: str


class StateObservationsOutput(msgspec.Struct, frozen=True, kw_only=True):
    """What was seen of the ledger and the lock."""

    state_path: str
    lock_path: str
    state_found: bool
    applied_config_digest: str | UnsetType = UNSET
    state_revision: int
    state_cas: str | UnsetType = UNSET
    resource_count: int
    locked: bool
    lock_id: str | UnsetType = UNSET
    lock_acquired: bool
    acquired_lock_id: str | UnsetType = UNSET
    lock_operation: str | UnsetType = UNSET
    lock_created_at: str | UnsetType = UNSET
    lock_pid: int | UnsetType = UNSET
    lock_age_seconds: int | UnsetType = UNSET


class ClusterChangeOutput(msgspec.Struct, frozen=True, kw_only=True):
    """A resource that is to become another, and what becomes of that."""

    resource: str
    operation: Literal["create", "update", "delete"]
    before_digest: str | UnsetType = UNSET
    after_digest: str | UnsetType = UNSET
    disposition: Literal["applied", "derived", "deferred", "blocked"] | UnsetType = UNSET
    reason: str | UnsetType = UNSET
    binding_change: bool | UnsetType = UNSET
    metadata_change: str | UnsetType = UNSET
    migration: dict[str, Any] | UnsetType = UNSET


class BlastRadiusOutput(msgspec.Struct, frozen=True, kw_only=True):
    """What rests on a resource that changes."""

    resource: str
    affected: list[str]


class ApprovalRequiredOutput(msgspec.Struct, frozen=True, kw_only=True):
    """A change that nobody makes without an approval, and whether there is one."""

    resource: str
    reason: str
    satisfied: bool


class ResourceStatusOutput(msgspec.Struct, frozen=True, kw_only=True):
    """How a resource is doing."""

    status: str
    conditions: list[str]
    message: str | None


class ClusterPlanOutput(msgspec.Struct, frozen=True, kw_only=True):
    """What a deployment would do. It is a plan, too, if something is wrong: then it is not `ok`, and says why."""

    ok: bool
    config_dir: str
    desired_revision: DesiredRevisionOutput
    resource_digests: dict[str, str]
    dependencies: list[DependencyOutput]
    state_observations: StateObservationsOutput
    changes: list[ClusterChangeOutput]
    blast_radius: list[BlastRadiusOutput]
    approvals_required: list[ApprovalRequiredOutput]
    diagnostics: list[ClusterDiagnosticOutput]


class ClusterApplyOutput(msgspec.Struct, frozen=True, kw_only=True):
    """What an apply did."""

    ok: bool
    config_dir: str
    actor: str | UnsetType = UNSET
    desired_revision: DesiredRevisionOutput
    state_observations: StateObservationsOutput
    changes: list[ClusterChangeOutput]
    applied_count: int
    deferred_count: int
    converged: bool
    state_written: bool
    resource_statuses: dict[str, ResourceStatusOutput]
    diagnostics: list[ClusterDiagnosticOutput]


class DeploymentState(msgspec.Struct, frozen=True, kw_only=True):
    """A deployment, as far as it has come."""

    deployment_id: str
    status: Literal["applying", "interrupted", "applied", "partial", "failed"]
    """`partial`: something waits for an approval, or is blocked. `interrupted`: send it again, and it is continued."""
    digest: str
    """Of the files that were sent."""
    config_digest: str
    actor_id: str | None
    submitted_at: str
    lock_id: str | UnsetType = UNSET
    """Of the lock that is held for it while it is under way. If whoever held it died, it has to be removed by this id…"""
    lock_created_at: str | UnsetType = UNSET
    """…and is as old as this."""
    finished_at: str | UnsetType = UNSET
    state_revision: int | UnsetType = UNSET
    """The ledger that it came to."""
    state_cas: str | UnsetType = UNSET
    result: ClusterApplyOutput | UnsetType = UNSET


class DeploymentOutput(msgspec.Struct, frozen=True, kw_only=True):
    """A deployment, and what this server makes of it."""

    deployment: DeploymentState
    active: bool
    """Whether this server serves exactly what it came to."""
    in_progress: bool
    """Whether somebody is at it."""


class DeploymentListOutput(msgspec.Struct, frozen=True, kw_only=True):
    """The newest deployment, and those before it."""

    deployment: DeploymentState | None
    active: bool
    in_progress: bool
    deployments: list[DeploymentOutput]
    """All of them, the newest first; at most 100."""
