"""What is wanted against what was applied: the changes between, and what becomes of each.

    applied     it is made
    derived     it follows from others: the digest of a graph from those of its schema and queries
    deferred    `apply` never makes it: a schema that goes without its graph
    blocked     it waits: for an approval, for the end of a recovery, for another change that was not made

Deleting a graph is the one change that cannot be undone, and needs an approval that is bound to what it was given for: the
configuration, and the graph as it was.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from omnigraph.cluster.config import addresses
from omnigraph.cluster.config.desired import Desired
from omnigraph.cluster.config.diagnostics import Diagnostics
from omnigraph.cluster.config.resources import Resource
from omnigraph.cluster.ledger.records import Approval
from omnigraph.cluster.ledger.state import Ledger
from omnigraph.model.frozen import frozen

Operation = Literal["create", "update", "delete"]
Disposition = Literal["applied", "derived", "deferred", "blocked"]

DELETES_GRAPH = "the graph and all of its history are deleted"


@dataclass
class Change:
    """One resource that is to become another."""

    resource: str
    operation: Operation
    before_digest: str | None = None
    after_digest: str | None = None
    disposition: Disposition = "applied"
    reason: str | None = None
    binding_change: bool = False
    metadata_change: str | None = None
    migration: dict[str, Any] | None = None
    steps: tuple[str, ...] = ()
    """Those of the migration, for people."""
    bound: tuple[str, ...] = ()
    """What a policy is to be bound to."""
    own: bool = False
    """Whether something changes that a graph itself says: its provider, or its policy for Blobs."""

    @property
    def kind(self) -> str:
        return addresses.kind(self.resource)

    @property
    def graph(self) -> str | None:
        """The graph it belongs to."""
        return addresses.graph_of(self.resource)

    @property
    def made(self) -> bool:
        """Whether it is, or will be."""
        return self.disposition in ("applied", "derived")

    def block(self, reason: str) -> None:
        """It is not made."""
        self.disposition, self.reason = "blocked", reason

    def to_json(self) -> dict[str, object]:
        data: dict[str, object | None] = {
            "resource": self.resource,
            "operation": self.operation,
            "before_digest": self.before_digest,
            "after_digest": self.after_digest,
            "disposition": self.disposition,
            "reason": self.reason,
            "binding_change": self.binding_change or None,
            "metadata_change": self.metadata_change,
            "migration": self.migration,
        }
        return {name: value for name, value in data.items() if value is not None}


@frozen
class Gate:
    """A change that somebody has to approve of."""

    resource: str
    reason: str
    approval: str | None = None
    """The approval that opens it."""

    def to_json(self) -> dict[str, object]:
        return {"resource": self.resource, "reason": self.reason, "satisfied": self.approval is not None}


Changes = dict[str, Change]


def find_changes(desired: Desired, ledger: Ledger) -> Changes:
    """Everything that differs, by address."""
    wanted = {address: one.resource for address, one in desired.resources.items()}
    found: Changes = {}
    for address in sorted({*wanted, *ledger.resources}):
        before, after = ledger.resources.get(address), wanted.get(address)
        if before == after:
            continue
        operation: Operation = "create" if before is None else "delete" if after is None else "update"
        change = Change(address, operation, ledger.digest(address), None if after is None else after.digest)
        change.bound = () if after is None else after.applies_to or ()
        change.own = _says(before) != _says(after)
        if before is not None and after is not None:
            change.binding_change = before.applies_to != after.applies_to
            if before.digest == after.digest:
                change.metadata_change = "policy_bindings" if change.kind == "policy" else "embedding_profile"
        found[address] = change
    return found


def _says(graph: Resource | None) -> tuple[object, ...] | None:
    return None if graph is None else (graph.embedding_provider, graph.external_blob_policy)


def open_gates(
    changes: Changes, ledger: Ledger, config_digest: str, approvals: Iterable[Approval], problems: Diagnostics
) -> list[Gate]:
    """The changes that need an approval, each with the one it has."""
    gates = []
    for change in changes.values():
        if change.kind != "graph" or change.operation != "delete":
            continue
        bound = (config_digest, change.before_digest, change.after_digest)
        opening = None
        for approval in approvals:
            used = approval.consumed_at is not None or approval.approval_id in ledger.approval_records
            if used or approval.resource != change.resource or approval.operation != change.operation:
                continue
            if (approval.bound_config_digest, approval.bound_before_digest, approval.bound_after_digest) == bound:
                opening = opening or approval.approval_id
            else:
                message = f"approval {approval.approval_id} was given for another configuration or another state of the graph"
                problems.warn("approval_stale", change.resource, message)
        gates.append(Gate(change.resource, DELETES_GRAPH, opening))
    return gates


def classify(changes: Changes, ledger: Ledger, gates: Iterable[Gate], pending: set[str], problems: Diagnostics) -> None:
    """Say of each change what becomes of it. `pending`: graphs whose recovery has not ended."""
    closed = {gate.resource for gate in gates if gate.approval is None}
    for change in changes.values():
        graph = None if change.graph is None else addresses.graph(change.graph)
        if change.graph in pending:
            change.block("cluster_recovery_pending")
        elif change.resource in closed:
            change.block("approval_required")
        elif change.kind == "schema" and change.operation == "delete" and not _goes(changes, graph):
            change.disposition, change.reason = "deferred", "apply_unsupported_kind"
            message = "a schema does not go without its graph; it is left as it is"
            problems.warn("apply_unsupported_change", change.resource, message)
        elif change.operation == "delete" and change.kind in ("schema", "query") and _goes(changes, graph):
            change.disposition = "derived"
    demote(changes, ledger, problems)


def _goes(changes: Changes, address: str | None) -> bool:
    return address in changes and changes[address].operation == "delete"


def demote(changes: Changes, ledger: Ledger, problems: Diagnostics) -> None:
    """Block what rests on changes that are not made. Called again when a change has failed."""
    for kind in ("schema", "query", "policy", "graph", "embedding_provider"):
        for change in changes.values():
            if change.kind != kind or not change.made:
                continue
            waits_for = _waits_for(change, changes, ledger)
            if waits_for is not None:
                change.block("dependency_not_applied")
                if change.operation != "delete" or kind == "embedding_provider":  # parts of a graph go with it
                    message = f"it waits for {waits_for}, which is not applied"
                    problems.warn("apply_dependency_blocked", change.resource, message)
            elif kind == "graph" and change.operation == "update" and not change.own:
                _derive(change, changes)


def _waits_for(change: Change, changes: Changes, ledger: Ledger) -> str | None:
    """What a change needs and does not get."""

    def first_unmade(needed: Iterable[str], *operations: Operation) -> str | None:
        others = (changes[one] for one in needed if one in changes)
        return next((one.resource for one in others if not one.made and one.operation in operations), None)

    graph = [] if change.graph is None else [addresses.graph(change.graph)]
    schema = [] if change.graph is None else [addresses.schema(change.graph)]
    match change.kind, change.operation:
        case (("schema" | "query"), "delete"):
            return first_unmade(graph, "delete")
        case "schema", _:
            return first_unmade(graph, "create")
        case "query", _:
            return first_unmade(graph, "create") or first_unmade(schema, "create", "update")
        case "policy", "delete":
            return first_unmade(_bound_before(change, ledger), "delete")
        case "policy", _:  # a graph that is still there is not left without the policy it had
            return first_unmade(change.bound, "create") or first_unmade(_bound_before(change, ledger), "delete")
        case "embedding_provider", "delete":
            users = [one for one, entry in ledger.resources.items() if entry.embedding_provider == change.resource]
            return first_unmade(users, "update", "delete")
    return None


def _bound_before(change: Change, ledger: Ledger) -> Iterable[str]:
    """What a policy is bound to by the revision that is applied."""
    entry = ledger.resources.get(change.resource)
    return () if entry is None else entry.applies_to or ()


def _derive(change: Change, changes: Changes) -> None:
    """A graph whose digest follows from its parts."""
    parts = [one for one in changes.values() if one.graph == change.graph and one.kind != "graph"]
    if not parts or any(one.made for one in parts):
        change.disposition = "derived"
    else:
        change.block("dependency_not_applied")
