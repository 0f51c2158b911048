"""What `omnigraph cluster` says to people: one line that sums up, then a line per change, with the reason of what waits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from omnigraph.model.text_tables import aligned, padded, width

if TYPE_CHECKING:
    from omnigraph.cluster.applying.differences import Change
    from omnigraph.cluster.applying.outputs import Applied, Approved, Observed, Planned, Unlocked, Validated
    from omnigraph.cluster.config.desired import Desired

_SIGNS: Final = {"create": "+", "update": "~", "delete": "-"}

_REASONS: Final[Mapping[str, str]] = {
    "approval_required": "needs an approval",
    "cluster_recovery_pending": "waits for the recovery of its graph",
    "dependency_not_applied": "waits for what it rests on",
    "apply_unsupported_kind": "is never applied by itself",
    "graph_create_failed": "the graph could not be created",
    "schema_apply_failed": "the schema cannot be applied",
    "graph_delete_failed": "the graph could not be deleted",
}


def validated(found: Validated) -> list[str]:
    """`cluster validate`."""
    if not found.ok or found.desired is None:
        return [f"cluster config invalid: {sum(d.severity == 'error' for d in found.diagnostics)} error(s)"]
    resources, edges = len(found.desired.resources), len(found.desired.dependencies)
    return [f"cluster config valid: {resources} resource(s), {edges} dependency edge(s)"]


def planned(found: Planned) -> list[str]:
    """`cluster plan`."""
    gates = {gate.resource: gate for gate in found.gates}
    lines = [f"cluster plan: {found.change_count} change(s), {len(found.gates)} approval gate(s)"]
    lines += _changes(found.changes, found.desired)
    for gate in gates.values():
        given = f"approved ({gate.approval})" if gate.approval else f"omnigraph cluster approve {gate.resource}"
        lines.append(f"  ! {gate.resource}: {gate.reason}: {given}")
    if found.ok and not found.changes:
        lines.append("  nothing to do")
    return lines


def applied(found: Applied) -> list[str]:
    """`cluster apply`."""
    seen = found.observations
    state = f"  state: revision {seen.state_revision}, converged: {_word(found.converged)}, written: {_word(found.written)}"
    head = f"cluster apply: {found.applied_count} applied, {found.deferred_count} deferred/blocked"
    return [head, state, *_changes(found.changes, found.desired)]


def approved(found: Approved) -> list[str]:
    """`cluster approve`."""
    if found.approval_id is None:
        return [f"cluster approve: nothing approved{'' if found.resource is None else f' for {found.resource}'}"]
    by = found.approved_by or "nobody named"
    how = "" if found.approved_by else "; --as says who"
    return [f"cluster approve: {found.operation} {found.resource} approved by {by} (approval {found.approval_id}){how}"]


def observed(found: Observed) -> list[str]:
    """`cluster status`, `refresh` and `import`."""
    seen = found.observations
    if not seen.state_found:
        return [f"cluster {found.operation}: no ledger" if found.operation else "cluster state missing"]
    summary = f"revision {seen.state_revision}, {seen.resource_count} resource(s)"
    lines = [f"cluster {found.operation}: {summary}" if found.operation else f"cluster state: {summary}"]
    if seen.held is not None:
        age = "" if seen.lock_age is None else f", {seen.lock_age} s ago"
        lines.append(f"  locked by {seen.held.operation} (pid {seen.held.pid}{age}): {seen.held.lock_id}")
    rows = []
    for address, status in sorted(found.ledger.resource_statuses.items()):
        conditions = f" ({', '.join(status.conditions)})" if status.conditions else ""
        rows.append((address, f"{status.status}{conditions}"))
    return [*lines, *(f"  {line}" for line in aligned(rows))]


def unlocked(found: Unlocked) -> list[str]:
    """`cluster force-unlock`."""
    lock = found.removed
    if lock is None:
        return ["cluster force-unlock: nothing removed"]
    about = f"id={lock.lock_id}, operation={lock.operation}, pid={lock.pid}, created_at={lock.created_at}"
    return [f"cluster force-unlock: removed lock ({about})"]


def _changes(changes: Iterable[Change], desired: Desired | None) -> list[str]:
    """A line per change, and below it its steps and what goes with it. Digests that only follow from others are left out."""
    changes = list(changes)
    shown = [change for change in changes if change.disposition != "derived"]
    going: dict[str | None, list[str]] = {}
    for change in changes:
        if change.disposition == "derived" and change.operation == "delete":
            going.setdefault(change.graph, []).append(change.resource)
    lines = []
    for change, resource in zip(shown, _padded([change.resource for change in shown]), strict=True):
        wanted = None if desired is None else desired.resources.get(change.resource)
        why = "; ".join([*([wanted.path] if wanted is not None and wanted.path else []), *_why(change)])
        line = f"  {_SIGNS[change.operation]} {resource}  {change.operation}"
        lines.append(f"{line}: {why}" if why else line)
        lines += [f"      {step}" for step in change.steps]
        if change.kind == "graph" and change.graph in going:
            lines.append(f"      with {', '.join(going[change.graph])}")
    return lines


def _why(change: Change) -> list[str]:
    said = []
    if change.binding_change:
        said.append(f"bound to {', '.join(change.bound) or 'nothing'}")
    elif change.own and change.kind == "graph" and change.operation == "update":
        said.append("its provider or its policy for external Blobs")
    if change.reason is not None:
        said.append(f"{change.disposition}, {_REASONS.get(change.reason, change.reason)}")
    return said


def _word(value: bool) -> str:
    return "true" if value else "false"


def _padded(texts: Sequence[str]) -> list[str]:
    """Texts of one width."""
    columns = max(map(width, texts), default=0)
    return [padded(text, columns) for text in texts]
