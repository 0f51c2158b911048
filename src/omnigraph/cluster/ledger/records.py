"""The small records beside the ledger: lock, sidecars, approvals, deployments. Each has its version; unknown members are refused.

Ids of graphs and of approvals become parts of paths, so they are checked where a record is read and not where it is used.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal, TypeVar

import msgspec

from omnigraph.cluster.config import addresses

Kind = Literal["graph_create", "schema_apply", "graph_delete"]
T = TypeVar("T")


class Lock(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who works on the cluster."""

    version: int
    lock_id: str
    operation: str
    created_at: str
    """RFC 3339."""
    pid: int

    def age(self, now: datetime) -> int | None:
        """How many seconds it has been held; None if nobody can tell."""
        try:
            return max(0, int((now - datetime.fromisoformat(self.created_at)).total_seconds()))
        except (ValueError, TypeError, OverflowError):
            return None


class Sidecar(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What an apply is about to do to a graph: written before, removed once the ledger says that it was done."""

    schema_version: int
    operation_id: str
    started_at: str
    actor: str | None
    kind: Kind
    graph_id: str
    graph_uri: str
    observed_manifest_version: int | None
    expected_manifest_version: int | None
    desired_schema_digest: str | None
    state_cas_base: str | None
    approval_id: str | None


class Approval(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Somebody's consent to one change, bound to what it was given for."""

    schema_version: int
    approval_id: str
    resource: str
    operation: Literal["create", "update", "delete"]
    reason: str
    bound_config_digest: str
    bound_before_digest: str | None
    bound_after_digest: str | None
    approved_by: str | None
    created_at: str
    consumed_at: str | None = None
    consumed_by_operation: str | None = None


class DeploymentRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A configuration that was sent to a server: by whom, and what came of it. It is written before anything is done."""

    schema_version: int
    deployment_id: str
    digest: str
    """Of the files that were sent."""
    config_digest: str
    actor: str | None
    submitted_at: str
    finished_at: str | None = None
    state_revision: int | None = None
    """The ledger that it came to…"""
    state_cas: str | None = None
    result: dict[str, Any] | None = None
    """…and everything that the apply had to say."""


class Unsupported(Exception):
    """A record of a version that is not known."""


def decoded(content: bytes, type_: type[T], version: str = "schema_version") -> T:
    """A record. `Unsupported` if its version is another one, `ValueError` if it is none at all."""
    try:
        found: Any = msgspec.json.decode(content)
        if isinstance(found, dict):
            said = found.get(version)
            if isinstance(said, int) and not isinstance(said, bool) and said != 1:
                raise Unsupported(f"version {said} is not known; this is version 1")
        record = msgspec.convert(found, type_)
    except (msgspec.MsgspecError, UnicodeError, RecursionError, OverflowError) as error:
        raise ValueError(str(error)) from error
    if isinstance(record, Sidecar) and not addresses.is_id(record.graph_id):
        raise ValueError(f"{record.graph_id!r} is not the id of a graph")
    return record
