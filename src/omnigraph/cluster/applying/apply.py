"""`apply`: from what was applied to what is wanted, graph by graph, and then the ledger as one replacement.

    1  read and check what is wanted                 5  create graphs        each announced by a sidecar
    2  read the ledger, refuse an edited one         6  apply schemas        the same; drops stay in history
    3  settle what a killed apply left               7  copy queries and policies, by content
    4  find the changes, and what becomes of each    8  delete graphs that somebody approved of, announced as well
                                                     9  publish the ledger
                                                    10  remove sidecars, stamp approvals

A failure in 5 or 6 ends work on graphs and blocks what rests on it; the rest is still applied. Whatever is done before 9 and not
published (the process dies, somebody else was faster) is found by the next apply: graphs by their sidecars, copies by their
content. So every step may be done again, and an apply that has nothing to do writes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

import msgspec

from omnigraph.cluster.applying.differences import Change, Changes, Gate, demote
from omnigraph.cluster.applying.observing import look_at_graphs
from omnigraph.cluster.applying.outputs import Applied
from omnigraph.cluster.applying.planning import changes_of
from omnigraph.cluster.applying.recovery import Swept, gone, sweep
from omnigraph.cluster.applying.session import Control, Session, require_sound
from omnigraph.cluster.applying.settling import consumed, finish
from omnigraph.cluster.config import addresses, digests
from omnigraph.cluster.config.diagnostics import Diagnostics, Stopped
from omnigraph.cluster.config.resources import Resource
from omnigraph.cluster.ledger import layout
from omnigraph.cluster.ledger.records import Kind, Sidecar
from omnigraph.cluster.ledger.state import APPLIED, Ledger, Observation, Status
from omnigraph.cluster.ledger.store import Pending
from omnigraph.errors import CleanupUnderWay, Forbidden, GraphError

BEGIN_HINT = "there is no ledger; `omnigraph cluster import` begins one, or give --init"


def apply(
    control: Control, *, init: bool = False, operation: str = "apply", begun: Callable[[Session], None] = lambda _: None
) -> Applied:
    """Reach what is wanted. `init`: begin a ledger if there is none. `begun` is called once the lock is held and the ledger read,
    before anything is done; `operation` is what the lock says."""
    session = Session(control, operation)
    work: _Work | None = None
    written = converged = False
    with suppress(Stopped), session.begun(may_create=init):
        if session.state.raw is None and not init:
            raise session.error("state_missing", layout.STATE, BEGIN_HINT)
        require_sound(session)
        begun(session)
        swept = sweep(session.store, session.state.ledger, session.live, session.problems)
        if session.state.raw is None:
            swept.ledger = look_at_graphs(session, swept)
        found = changes_of(session, swept.ledger, swept.pending)
        work = _Work(session, swept, found.changes, found.gates)
        work.run()
        reached = session.problems.ok and not swept.pending and all(change.made for change in found.changes.values())
        config = session.desired.config_digest if reached else _kept_config(session, work.ledger)
        written = session.publish(work.ledger.with_config(config))
        converged = reached
        finish(session, [*swept.retired, *work.done], {**swept.consumed, **work.consumed})
    return Applied(
        control.files.where,
        tuple(session.problems.found),
        control.caller.actor,
        session.wanted,
        session.observations(),
        () if work is None else tuple(work.changes.values()),
        converged,
        written,
        session.state.ledger,
    )


def _kept_config(session: Session, ledger: Ledger) -> str | None:
    """The configuration that was applied before, as long as nothing of it has changed."""
    before = session.state.ledger
    return before.applied_revision.config_digest if before.resources == ledger.resources else None


@dataclass
class _Work:
    """The changes at work, and what has become of the ledger so far."""

    session: Session
    swept: Swept
    changes: Changes
    gates: tuple[Gate, ...]
    failed: bool = False
    """Whether work on graphs has ended."""
    done: list[Pending] = field(default_factory=list)
    """Sidecars of what the ledger is about to say."""
    consumed: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.ledger = self.swept.ledger
        for approval_id, operation in self.swept.consumed.items():
            if approval_id not in self.ledger.approval_records:
                self.ledger = consumed(self.ledger, self.session, approval_id, operation)

    def run(self) -> None:
        """Everything but publishing."""
        for graph_id in sorted(self.swept.leftovers - set(self.session.desired.config.graphs)):
            self._clear(graph_id)
        for change in self._of("graph", "create"):
            self._create(change)
        for change in [*self._of("schema", "update"), *self._of("schema", "create")]:
            if self.ledger.digest(change.resource) != change.after_digest:
                self._apply_schema(change)
        demote(self.changes, self.ledger, self.session.problems)
        for kind in ("query", "policy"):
            for change in [*self._of(kind, "create"), *self._of(kind, "update")]:
                self._copy(change)
        for change in self._of("graph", "delete"):
            self._delete(change)
        demote(self.changes, self.ledger, self.session.problems)
        self._record()

    def _of(self, kind: str, operation: str) -> list[Change]:
        return [c for c in self.changes.values() if c.kind == kind and c.operation == operation and c.made]

    # ── graphs ───────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _clear(self, graph_id: str) -> None:
        """Remove the beginning of a graph that is not wanted any more. It holds nothing, so nobody is asked."""
        live, address = self.session.live, addresses.graph(graph_id)
        if address in self.ledger.resources or not live.look(graph_id).begun:
            return
        try:
            live.delete(graph_id)
        except Forbidden:
            raise
        except GraphError as error:
            message = f"{live.uri(graph_id)} was begun, is not wanted, and could not be removed: {error.message}"
            self.session.problems.warn("graph_create_incomplete", address, message)

    def _create(self, change: Change) -> None:
        graph_id = addresses.name(change.resource)
        schema = addresses.schema(graph_id)
        if self.failed:
            change.block("graph_create_failed")
            self.session.problems.warn("graph_create_skipped", change.resource, "something before it failed")
            return
        if not self._copy_of(schema, change, "graph_create_failed"):
            return
        text = self.session.desired.schema_text(graph_id)
        digest = self.session.desired.resources[schema].resource.digest
        live = self.session.live

        def is_undone() -> bool:
            return not live.look(graph_id).exists

        made = self._announced(
            change,
            "graph_create",
            graph_id,
            lambda: live.create(graph_id, text),
            is_undone,
            desired_schema_digest=digest,
            version=0,
        )
        if made:
            resources = {**self.ledger.resources, schema: Resource(digest), change.resource: Resource("")}
            self.ledger = self.ledger.with_resources(resources)
            self._see(graph_id)

    def _apply_schema(self, change: Change) -> None:
        graph_id = addresses.name(change.resource)
        problems, live = self.session.problems, self.session.live
        if self.failed:
            change.block("schema_apply_failed")
            problems.warn("schema_apply_skipped", change.resource, "something before it failed")
            return
        text = self.session.desired.schema_text(graph_id)
        digest = self.session.desired.resources[change.resource].resource.digest
        try:
            steps = live.steps(graph_id, text)
        except Forbidden:
            raise
        except GraphError as error:
            self._fail(change, "schema_apply_failed", error.message)
            return
        from omnigraph.catalog.migration.render import render_plan

        change.migration, change.steps = dict(steps.to_json()), render_plan(steps)
        if not steps.supported:
            self._fail(change, "schema_apply_failed", steps.refusals[0].message)
            return
        if not self._copy_of(change.resource, change, "schema_apply_failed"):
            return
        if steps.steps:
            before = live.look(graph_id)

            def is_undone() -> bool:
                return live.look(graph_id).digest == before.digest

            made = self._announced(
                change,
                "schema_apply",
                graph_id,
                lambda: live.apply_schema(graph_id, text),
                is_undone,
                desired_schema_digest=digest,
                version=before.version,
            )
            if not made:
                return
        resources = {**self.ledger.resources, change.resource: Resource(digest)}
        self.ledger = self.ledger.with_resources(resources)
        self._see(graph_id)

    def _delete(self, change: Change) -> None:
        graph_id = addresses.name(change.resource)
        gate = next(gate for gate in self.gates if gate.resource == change.resource)
        problems, live = self.session.problems, self.session.live
        if self.failed:
            change.block("graph_delete_failed")
            problems.warn("graph_delete_skipped", change.resource, "something before it failed")
            return
        assert gate.approval is not None
        fresh = {one.approval_id: one for one, _ in self.session.store.read_approvals(Diagnostics())}
        if gate.approval not in fresh or fresh[gate.approval].consumed_at is not None:
            message = f"approval {gate.approval} was used up by somebody else meanwhile"
            problems.error("apply_approval_invariant_violation", change.resource, message)
            change.block("approval_required")
            return
        made = self._announced(
            change, "graph_delete", graph_id, lambda: live.delete(graph_id), lambda: True, approval=gate.approval
        )
        if made:
            operation = self.done[-1].sidecar.operation_id
            self.consumed[gate.approval] = operation
            self.ledger = consumed(gone(self.ledger, graph_id), self.session, gate.approval, operation)

    def _announced(
        self,
        change: Change,
        kind: Kind,
        graph_id: str,
        action: Callable[[], None],
        is_undone: Callable[[], bool],
        *,
        desired_schema_digest: str | None = None,
        version: int | None = None,
        approval: str | None = None,
    ) -> bool:
        """Do something to a graph that a sidecar announces. Whether it was done.

        What failed and left the graph as it was needs no sidecar any more; otherwise the next sweep looks.
        """
        session = self.session
        sidecar = Sidecar(
            schema_version=1,
            operation_id=session.control.ids.next(),
            started_at=session.control.now(),
            actor=session.control.caller.actor,
            kind=kind,
            graph_id=graph_id,
            graph_uri=session.live.uri(graph_id),
            observed_manifest_version=version,
            expected_manifest_version=None if version is None else version + (kind == "schema_apply"),
            desired_schema_digest=desired_schema_digest,
            state_cas_base=session.state.cas,
            approval_id=approval,
        )
        try:
            pending = session.store.write_sidecar(sidecar)
        except GraphError as error:
            self._fail(
                change, f"{kind}_failed", f"its sidecar could not be written: {error.message}", "recovery_sidecar_write_error"
            )
            return False
        try:
            action()
        except Forbidden:
            session.store.remove_sidecar(pending)
            raise
        except CleanupUnderWay as error:
            code = "graph_delete_export_in_progress" if kind == "graph_delete" else f"{kind}_failed"
            self._fail(change, f"{kind}_failed", error.message, code)
        except GraphError as error:
            self._fail(change, f"{kind}_failed", error.message)
        else:
            self.done.append(pending)
            return True
        if is_undone():
            finish(session, [pending], {})
        return False

    def _see(self, graph_id: str) -> None:
        """Write down what there is of a graph that was just changed."""
        seen = self.session.live.look(graph_id)
        wanted = self.session.desired.resources[addresses.schema(graph_id)].resource.digest
        observed = Observation(seen.exists, seen.version, seen.digest, wanted, True)
        self.ledger = self.ledger.with_observation(addresses.graph(graph_id), observed)

    def _fail(self, change: Change, reason: str, message: str, code: str | None = None) -> None:
        self.failed = True
        change.block(reason)
        self.session.problems.error(code or reason, change.resource, message)

    # ── copies and the ledger ────────────────────────────────────────────────────────────────────────────────────────────────

    def _copy_of(self, address: str, change: Change, reason: str) -> bool:
        """Copy the file of a resource, if it is still what was checked. A change that needs it is blocked if it is not."""
        wanted = self.session.desired.resources[address]
        problems = self.session.problems
        assert wanted.content is not None
        assert wanted.path is not None
        try:
            now: bytes | None = self.session.desired.files.read(wanted.path)
        except OSError:
            now = None
        if now is None or digests.of_bytes(now) != wanted.resource.digest:
            problems.error("resource_content_changed", address, f"{wanted.path} changed since it was checked")
            change.block(reason)
            return False
        try:
            self.session.store.write_payload(address, wanted.content)
        except GraphError as error:
            problems.error("resource_payload_write_error", address, f"the copy could not be written: {error.message}")
            change.block(reason)
            return False
        return True

    def _copy(self, change: Change) -> None:
        self._copy_of(change.resource, change, "dependency_not_applied")

    def _record(self) -> None:
        """What is made goes into the ledger; every change leaves its status."""
        resources = dict(self.ledger.resources)
        for change in self.changes.values():
            address = change.resource
            if not change.made:
                continue
            if change.operation == "delete":
                resources.pop(address, None)
            elif change.kind != "schema":
                resources[address] = self.session.desired.resources[address].resource
        self.ledger = self.ledger.with_resources(resources)
        statuses = dict(self.ledger.resource_statuses)
        for address in {*statuses, *self.changes, *resources}:
            change_ = self.changes.get(address)
            if address not in resources and (change_ is None or change_.made):
                statuses.pop(address, None)
            elif change_ is None or change_.made:
                kept = statuses.get(address)
                statuses[address] = kept if kept is not None and addresses.graph_of(address) in self.swept.pending else APPLIED
            elif change_.reason != "cluster_recovery_pending" or address not in statuses:
                statuses[address] = _waiting(change_, address in resources)
        self.ledger = msgspec.structs.replace(self.ledger, resource_statuses=statuses)


def _waiting(change: Change, applied: bool) -> Status:
    """The status of a resource whose change was not made."""
    conditions = () if change.reason is None else (change.reason,)
    if change.reason is not None and change.reason.endswith("_failed"):
        return Status("error", conditions)
    return Status("blocked" if applied else "pending", conditions)
