"""`Service.run`: the only way from a surface to the engine.

authorise    every access the operation needs is decided; a denial stops it before any effect
admit        there is room for it now
run          it is done, and what it changes carries the caller's actor
audit        what was decided, and what became of a write, is written down
"""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Literal, TypeVar

from omnigraph.errors import Forbidden, GraphError, HistoryReclaimed, NotFound
from omnigraph.model.frozen import frozen
from omnigraph.policy.port import Access, Authoriser, Decision, PermitAll
from omnigraph.service.admission import Admission, Unlimited
from omnigraph.service.audit import AuditRecord, LogSink, Outcome, Sink
from omnigraph.service.caller import Caller
from omnigraph.service.graphs import GraphRef, Graphs
from omnigraph.service.operation import Operation

R = TypeVar("R")


@frozen
class Permit:
    """Accesses that were all allowed. The first, which is what the operation is about, stands for it in the audit of a write."""

    accesses: tuple[Access, ...]
    decision: Decision


class Service:
    """The door. Whoever holds one decides what is behind it: graphs, an authoriser, admission, and where the audit goes."""

    def __init__(
        self,
        graphs: Graphs,
        *,
        authoriser: Authoriser | None = None,
        admission: Admission | None = None,
        audit: Sink | None = None,
    ) -> None:
        self.graphs = graphs
        self._authoriser = authoriser or PermitAll()
        self._admission = admission or Unlimited()
        self._audit = audit or LogSink()

    def run(self, caller: Caller, operation: Operation[R], permit: Permit | None = None) -> R:
        """Do something for somebody, if they may. A permit that was given for the same accesses is not asked for again."""
        if permit is None or permit.accesses != operation.access(_Lookup(self.graphs, operation.graph)):
            permit = self.authorise(caller, operation)
        with self._admission.admit(caller, operation):
            if not operation.writes:
                return operation.run(self.graphs, caller)
            started = time.perf_counter()
            try:
                result = operation.run(self.graphs, caller)
            except BaseException as error:
                self._written(caller, operation, permit, started, "failed", error=error)
                raise
            commit = operation.commit_of(result)
            self._written(caller, operation, permit, started, "done" if operation.changed(result) else "unchanged", commit)
            return result

    def authorise(self, caller: Caller, operation: Operation[Any]) -> Permit:
        """Decide about every access an operation needs, before its content is there; raises if one is denied."""
        accesses = operation.access(_Lookup(self.graphs, operation.graph))
        decisions = [self.decide(caller, operation.name, operation.graph.uri, access) for access in accesses]
        return Permit(accesses, decisions[0])

    def decide(self, caller: Caller, operation: str, resource: str, access: Access) -> Decision:
        """One decision, written down; raises if it is a denial. What is about no graph, as a list of them, asks here itself."""
        decision = self._authoriser.decide(caller.actor, resource, access)
        outcome: Outcome = "allowed" if decision.allowed else "denied"
        if self._audit.takes(outcome):
            self._audit.write(_about("decision", caller, operation, resource, outcome, access, decision))
        if not decision.allowed:
            raise Forbidden(decision.message, action=access.action.value, rule=decision.rule)
        return decision

    def close(self) -> None:
        """Let go of the graphs."""
        self.graphs.close()

    def _written(
        self,
        caller: Caller,
        operation: Operation[Any],
        permit: Permit,
        started: float,
        outcome: Outcome,
        commit: str | None = None,
        error: BaseException | None = None,
    ) -> None:
        record = _about("write", caller, operation.name, operation.graph.uri, outcome, permit.accesses[0], permit.decision)
        code = None if error is None else error.code if isinstance(error, GraphError) else type(error).__name__
        took = round((time.perf_counter() - started) * 1000, 3)
        self._audit.write(replace(record, commit=commit, error=code, duration_ms=took))


def _about(
    kind: Literal["decision", "write"],
    caller: Caller,
    operation: str,
    resource: str,
    outcome: Outcome,
    access: Access,
    decision: Decision,
) -> AuditRecord:
    return AuditRecord(
        kind,
        datetime.now(UTC).isoformat(timespec="milliseconds"),
        caller.request_id,
        caller.actor,
        caller.origin.value,
        operation,
        resource,
        outcome,
        access.action.value,
        access.branch,
        access.target_branch,
        decision.rule,
    )


class _Lookup:
    """Looks at a graph, which is opened only if somebody asks."""

    def __init__(self, graphs: Graphs, ref: GraphRef) -> None:
        self._graphs = graphs
        self._ref = ref

    def branch_of(self, state: str) -> str | None:
        graph = self._graphs.open(self._ref)
        if self.has_branch(state):
            return state
        try:
            return graph.commit(state).branch
        except (NotFound, HistoryReclaimed):
            return None

    def has_branch(self, name: str) -> bool:
        return name.strip() in self._graphs.open(self._ref).branches.list()
