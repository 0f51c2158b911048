"""`validate`, `plan` and `approve`: what is wanted, what it takes, and consent to what cannot be undone. None changes a graph."""

from __future__ import annotations

from contextlib import suppress

from omnigraph.cluster.applying.differences import Changes, Gate, classify, find_changes, open_gates
from omnigraph.cluster.applying.outputs import Approved, Planned, Validated
from omnigraph.cluster.applying.recovery import sweep
from omnigraph.cluster.applying.session import Control, Session, open_store, require_sound
from omnigraph.cluster.config import addresses, checks
from omnigraph.cluster.config.cluster_yaml import FILE
from omnigraph.cluster.config.desired import read_desired
from omnigraph.cluster.config.diagnostics import Diagnostics, Stopped
from omnigraph.cluster.ledger import layout
from omnigraph.cluster.ledger.records import Approval
from omnigraph.cluster.ledger.state import Ledger
from omnigraph.errors import Forbidden, GraphError
from omnigraph.model.frozen import frozen


@frozen
class Plan:
    """What is to be done."""

    ledger: Ledger
    """As it is once what a killed apply left is settled."""
    changes: Changes
    gates: tuple[Gate, ...]


def validate(control: Control) -> Validated:
    """Does the configuration make sense, with every file it names? Nothing else is looked at."""
    problems = Diagnostics()
    desired = read_desired(control.folder, problems)
    if desired is not None:
        with suppress(Stopped):
            open_store(desired, problems)
        for graph_id, catalog in desired.catalogs.items():
            if checks.has_blobs(catalog) and not desired.config.graphs[graph_id].blob_bases:
                message = "the schema has Blob properties; bytes may be given for them, and no URI"
                problems.warn("external_blob_ingress_default_deny", f"graphs.{graph_id}.external_blobs", message)
    return Validated(str(control.folder), tuple(problems.found), str(control.folder / FILE), desired)


def plan(control: Control) -> Planned:
    """What `apply` would do."""
    session = Session(control, "plan")
    found: Plan | None = None
    with suppress(Stopped), session.begun():
        found = work_out(session)
    return Planned(
        control.files.where,
        tuple(session.problems.found),
        session.wanted,
        session.observations(),
        () if found is None else tuple(found.changes.values()),
        () if found is None else found.gates,
    )


def work_out(session: Session) -> Plan:
    """The changes, with what becomes of each and the steps of migrations."""
    require_sound(session)
    swept = sweep(session.store, session.state.ledger, session.live, session.problems)
    found = changes_of(session, swept.ledger, swept.pending)
    for change in found.changes.values():
        if change.kind == "schema" and change.operation == "update" and change.graph is not None:
            try:
                steps = session.live.steps(change.graph, session.desired.schema_text(change.graph))
            except Forbidden:
                raise
            except GraphError as error:
                message = f"the steps are not known, because the graph does not open: {error.message}"
                session.problems.warn("schema_preview_unavailable", change.resource, message)
            else:
                from omnigraph.catalog.migration.render import render_plan

                change.migration, change.steps = dict(steps.to_json()), render_plan(steps)
                if not steps.supported and change.made:
                    change.block("schema_apply_failed")
    return found


def changes_of(session: Session, ledger: Ledger, pending: set[str]) -> Plan:
    """The changes from a ledger to what is wanted, with what becomes of each."""
    changes = find_changes(session.desired, ledger)
    approvals = [approval for approval, _ in session.store.read_approvals(session.problems)]
    gates = open_gates(changes, ledger, session.desired.config_digest, approvals, session.problems)
    classify(changes, ledger, gates, pending, session.problems)
    return Plan(ledger, changes, tuple(gates))


def approve(control: Control, resource: str) -> Approved:
    """Consent to a change that needs it. It is bound to the configuration and to the graph as they are now."""
    session = Session(control, "approve")
    approval: Approval | None = None
    with suppress(Stopped), session.begun():
        found = work_out(session)
        gate = next((gate for gate in found.gates if gate.resource == resource), None)
        if gate is None:
            known = ", ".join(gate.resource for gate in found.gates) or "nothing"
            raise session.error("approval_not_required", resource, f"no change of it needs an approval; {known} does")
        given = _approval(session, found, gate)
        try:
            session.store.write_approval(given)
        except GraphError as error:
            path = layout.approval(given.approval_id)
            raise session.error("approval_write_error", path, f"it could not be written: {error.message}") from error
        approval = given
    said = tuple(session.problems.found)
    if approval is None:
        return Approved(str(control.folder), said, resource=resource if addresses.is_address(resource) else None)
    given_by = (approval.approval_id, approval.resource, approval.operation, approval.approved_by)
    return Approved(str(control.folder), said, *given_by)


def _approval(session: Session, plan: Plan, gate: Gate) -> Approval:
    change, control = plan.changes[gate.resource], session.control
    return Approval(
        1,
        control.ids.next(),
        change.resource,
        change.operation,
        gate.reason,
        session.desired.config_digest,
        change.before_digest,
        change.after_digest,
        control.caller.actor,
        control.now(),
    )
