"""The ledger, `state.json`: what was applied, in which revision, and how it is doing.

It is a value: every change gives another one, and `store` publishes it by replacing the file under the condition that nobody else
has. `applied_revision.config_digest` is set by an apply that reached everything `cluster.yaml` asks for, and by nothing else.

It is read strictly (`read_ledger`): every member is there and of its kind, digests are digests, addresses are addresses. Paths
are made of both, so nothing that somebody wrote into the file leads anywhere else.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from omnigraph.cluster.config import addresses
from omnigraph.cluster.config.resources import Digest, Resource, graph_digest
from omnigraph.cluster.ledger.records import Kind, decoded

StatusName = Literal["pending", "planned", "applying", "applied", "drifted", "blocked", "error"]

VERSION: Literal[1] = 1


class Revision(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What was applied."""

    config_digest: Digest | None
    resources: dict[str, Resource]


class Status(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a resource is doing."""

    status: StatusName
    conditions: tuple[str, ...] = ()
    message: str | None = None


APPLIED = Status("applied")


class ApprovalRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """That an approval was used up, by which operation. What it was for is not known if its file is gone."""

    resource: str | None
    operation: str | None
    approved_by: str | None
    consumed_at: str
    consumed_by_operation: str


class RecoveryRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What became of an operation that a killed apply left behind."""

    kind: Kind
    graph_id: str
    outcome: str
    actor: str | None
    started_at: str


class Observation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What was seen of a graph. Of one that was deleted only that is said."""

    exists: bool
    graph_manifest_version: int | UnsetType | None = UNSET
    live_schema_digest: Digest | UnsetType | None = UNSET
    desired_schema_digest: Digest | UnsetType | None = UNSET
    schema_match: bool | UnsetType = UNSET
    deleted: bool | UnsetType = UNSET


class Ledger(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Everything."""

    version: Literal[1]
    state_revision: Annotated[int, Meta(ge=0, lt=2**53)]
    applied_revision: Revision
    resource_statuses: dict[str, Status]
    approval_records: dict[str, ApprovalRecord]
    recovery_records: dict[str, RecoveryRecord]
    observations: dict[str, Observation]

    @classmethod
    def empty(cls) -> Ledger:
        """That of a cluster to which nothing was applied yet."""
        return cls(VERSION, 0, Revision(None, {}), {}, {}, {}, {})

    @property
    def resources(self) -> dict[str, Resource]:
        return self.applied_revision.resources

    @property
    def graphs(self) -> list[str]:
        """The ids of the graphs that were applied."""
        return sorted(addresses.name(address) for address in self.resources if addresses.kind(address) == "graph")

    def digest(self, address: str) -> str | None:
        """The digest of a resource, if it was applied."""
        found = self.resources.get(address)
        return None if found is None else found.digest

    def digest_map(self) -> dict[str, str]:
        """Digest by address."""
        return {address: self.resources[address].digest for address in sorted(self.resources)}

    def with_resources(self, resources: Mapping[str, Resource]) -> Ledger:
        """The same with other resources; the digests of graphs follow their parts."""
        return _digested(self, dict(resources))

    def with_resource(self, address: str, resource: Resource | None) -> Ledger:
        """The same with another resource, or without it."""
        others = {one: entry for one, entry in self.resources.items() if one != address}
        return self.with_resources(others if resource is None else {**others, address: resource})

    def with_status(self, address: str, status: Status | None) -> Ledger:
        """The same with another status of a resource, or with none."""
        others = {one: entry for one, entry in self.resource_statuses.items() if one != address}
        return msgspec.structs.replace(self, resource_statuses=others if status is None else {**others, address: status})

    def with_observation(self, address: str, observed: Observation) -> Ledger:
        """The same with what was seen of a graph."""
        return msgspec.structs.replace(self, observations={**self.observations, address: observed})

    def with_config(self, digest: str | None) -> Ledger:
        """The same, applied from a configuration; None: from no one in particular."""
        return msgspec.structs.replace(
            self, applied_revision=msgspec.structs.replace(self.applied_revision, config_digest=digest)
        )

    def without_graph(self, graph_id: str) -> Ledger:
        """The same without a graph, its schema and its queries."""
        gone = {address for address in {*self.resources, *self.resource_statuses} if addresses.graph_of(address) == graph_id}
        kept = {one: status for one, status in self.resource_statuses.items() if one not in gone}
        left = {one: entry for one, entry in self.resources.items() if one not in gone}
        return msgspec.structs.replace(self.with_resources(left), resource_statuses=kept)

    def encoded(self) -> bytes:
        """As it is written."""
        return pretty(self)


def read_ledger(content: bytes) -> Ledger:
    """A ledger from its file. `Unsupported` if its version is another one, `ValueError` with the place of what is wrong."""
    ledger = decoded(content, Ledger, "version")
    for address in (*ledger.resources, *ledger.resource_statuses, *ledger.observations):
        if not addresses.is_address(address):
            raise ValueError(f"{address!r} is not the address of a resource")
    for address, resource in ledger.resources.items():
        for scope in resource.applies_to or ():
            if scope != addresses.CLUSTER and not (addresses.is_address(scope) and addresses.kind(scope) == "graph"):
                raise ValueError(f"{address} is bound to {scope!r}, which is neither the cluster nor a graph")
        bound = resource.embedding_provider
        if bound is not None and not (addresses.is_address(bound) and addresses.kind(bound) == "embedding_provider"):
            raise ValueError(f"{address} has the provider {bound!r}, which is none")
    return ledger


def pretty(value: object) -> bytes:
    """JSON for people and machines: two spaces, maps in order of their keys, a newline at the end."""
    return msgspec.json.format(msgspec.json.encode(value, order="deterministic"), indent=2) + b"\n"


def _digested(ledger: Ledger, resources: dict[str, Resource]) -> Ledger:
    for address in [address for address in resources if addresses.kind(address) == "graph"]:
        digest = graph_digest(addresses.name(address), resources)
        resources[address] = msgspec.structs.replace(resources[address], digest=digest)
    revision = msgspec.structs.replace(ledger.applied_revision, resources=resources)
    return msgspec.structs.replace(ledger, applied_revision=revision)


def tampered(ledger: Ledger) -> list[str]:
    """The addresses of graphs whose digest is not that of their parts."""
    wrong = []
    for graph_id in ledger.graphs:
        address = addresses.graph(graph_id)
        if ledger.resources[address].digest != graph_digest(graph_id, ledger.resources):
            wrong.append(address)
    return wrong
