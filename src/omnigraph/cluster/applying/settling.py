"""The end of a command that has published: sidecars go, and approvals that were used up say so.

Both can be done again: a sidecar whose work the ledger has is retired by the next sweep, and an approval that the ledger says was
used up authorises nothing, whatever its own file says.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from omnigraph.cluster.applying.session import Session
from omnigraph.cluster.config.diagnostics import Diagnostics
from omnigraph.cluster.ledger import layout
from omnigraph.cluster.ledger.records import Approval
from omnigraph.cluster.ledger.state import ApprovalRecord, Ledger
from omnigraph.cluster.ledger.store import Pending
from omnigraph.errors import GraphError


def finish(session: Session, done: Iterable[Pending], consumed: Mapping[str, str]) -> None:
    """Remove sidecars, and stamp approvals with the operation that used them up."""
    for pending in done:
        try:
            session.store.remove_sidecar(pending)
        except GraphError as error:
            message = f"it could not be removed: {error.message}"
            session.problems.warn("recovery_sidecar_cleanup_failed", pending.path, message)
    recorded = {one: said.consumed_by_operation for one, said in session.state.ledger.approval_records.items()}
    used = {**recorded, **consumed}
    if not used:
        return
    for approval, raw in session.store.read_approvals(Diagnostics()):
        if approval.approval_id in used and approval.consumed_at is None:
            stamped = stamp(session, approval, used[approval.approval_id])
            try:
                session.store.replace_approval(raw, stamped)
            except GraphError as error:
                path = layout.approval(approval.approval_id)
                session.problems.warn("approval_write_error", path, f"it could not be stamped: {error.message}")


def stamp(session: Session, approval: Approval, operation: str) -> Approval:
    """An approval that was used up."""
    return msgspec.structs.replace(approval, consumed_at=session.control.now(), consumed_by_operation=operation)


def consumed(ledger: Ledger, session: Session, approval_id: str, operation: str) -> Ledger:
    """The ledger with the note that an approval was used up."""
    found = {one.approval_id: one for one, _ in session.store.read_approvals(Diagnostics())}
    approval = found.get(approval_id)
    record = ApprovalRecord(
        None if approval is None else approval.resource,
        None if approval is None else approval.operation,
        None if approval is None else approval.approved_by,
        session.control.now(),
        operation,
    )
    return msgspec.structs.replace(ledger, approval_records={**ledger.approval_records, approval_id: record})
