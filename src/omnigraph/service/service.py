"""`Service.run`: the only way from a surface to the engine.

authorise    every access the operation needs is decided; a denial stops it before any effect. Where a policy demands reviews,
             a branch moves by a review alone: whatever else would change it is denied (`_MOVES`)
admit        there is room for it now
run          it is done, and what it changes carries the caller's actor
audit        what was decided, and what became of a write, is written down
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final, Literal, TypeVar

from omnigraph.errors import Forbidden, GraphError, HistoryReclaimed, NotFound
from omnigraph.model.frozen import frozen
from omnigraph.model.phrases import counted
from omnigraph.policy.port import Access, Action, Authoriser, Decision, PermitAll, ReviewRule
from omnigraph.service.admission import Admission, Unlimited
from omnigraph.service.audit import AuditRecord, LogSink, Outcome, Sink
from omnigraph.service.caller import Caller
from omnigraph.service.graphs import GraphRef, Graphs
from omnigraph.service.operation import Lookup, Operation

R = TypeVar("R")

REVIEW_REQUIRED: Final = "review-required"
"""The rule by which what would move a protected branch past a review is denied."""


@frozen
class Permit:
    """Accesses that were all allowed. What the operation is about stands for it in the audit of a write: the first that is not
    the gate before a stored query."""

    accesses: tuple[Access, ...]
    decisions: tuple[Decision, ...]

    @property
    def about(self) -> tuple[Access, Decision]:
        """The access that stands for all, and what was decided about it."""
        both = tuple(zip(self.accesses, self.decisions, strict=True))
        return next((pair for pair in both if pair[0].action is not Action.INVOKE_QUERY), both[0])


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
        if permit is None or permit.accesses != tuple(operation.access(self.lookup(operation.graph))):
            permit = self.authorise(caller, operation)
        with self._admission.admit(caller, operation):
            if not operation.writes:
                return operation.run(self.graphs, caller)
            started = time.perf_counter()
            operation = operation.under(self.review_rules(operation.graph))
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
        made: list[tuple[Access, Decision]] = []
        for access in operation.access(self.lookup(operation.graph)):
            try:
                made.append((access, self.decide(caller, operation.name, operation.graph.name, access)))
            except Forbidden as denied:
                raise operation.refusal(access, denied) from denied
        return Permit(tuple(access for access, _ in made), tuple(decision for _, decision in made))

    def shows(self, caller: Caller, graph: GraphRef, access: Access) -> bool:
        """Whether what an access is for is listed to somebody: unless a policy denies it to them. Nothing is written down."""
        decision = self._authoriser.decide(caller.actor, graph.name, access, caller.groups)
        return decision.allowed or decision.by_default

    def decide(self, caller: Caller, operation: str, resource: str, access: Access) -> Decision:
        """One decision, written down; raises if it is a denial. What is about no graph, as a list of them, asks here itself."""
        decision = self._decided(caller, resource, access)
        outcome: Outcome = "allowed" if decision.allowed else "denied"
        if self._audit.takes(outcome):
            self._audit.write(_about("decision", caller, operation, resource, outcome, access, decision))
        if not decision.allowed:
            hint = Forbidden.by_review_hint if decision.rule == REVIEW_REQUIRED else None
            raise Forbidden(decision.message, action=access.action.value, rule=decision.rule, hint=hint)
        return decision

    def lookup(self, graph: GraphRef) -> Lookup:
        """What decisions may know of a graph."""
        return GraphLookup(self.graphs, graph)

    def may(self, caller: Caller, graph: GraphRef, access: Access) -> bool:
        """Whether an access would be allowed, for those who show what can be done. Nothing is done, and nothing written down."""
        return self._decided(caller, graph.name, access).allowed

    def _decided(self, caller: Caller, resource: str, access: Access) -> Decision:
        decision = self._authoriser.decide(caller.actor, resource, access, caller.groups)
        moved = _MOVES.get(access.action, _nothing)(access) if decision.allowed else None
        return decision if moved is None else self._reviewed(resource, access, moved) or decision

    def _reviewed(self, resource: str, access: Access, branch: str) -> Decision | None:
        """The denial of what would move a branch past a review, if the policy demands one."""
        for rule in self._authoriser.review_rules(resource):
            if rule.applies_to(branch):
                group = "" if rule.from_group is None else f" from group '{rule.from_group}'"
                needs = f"{counted(rule.approvals, 'approval')}{group}"
                why = f"branch '{branch}' moves by a review with {needs}: write to a branch of your own, and open a review"
                return Decision(False, REVIEW_REQUIRED, f"policy denied action '{access.action.value}': {why}")
        return None

    def review_rules(self, graph: GraphRef) -> tuple[ReviewRule, ...]:
        """What must be approved before branches of a graph move."""
        return self._authoriser.review_rules(graph.name)

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
        record = _about("write", caller, operation.name, operation.graph.name, outcome, *permit.about)
        code = None if error is None else error.code if isinstance(error, GraphError) else type(error).__name__
        took = round((time.perf_counter() - started) * 1000, 3)
        self._audit.write(replace(record, commit=commit, error=code, duration_ms=took, query=permit.accesses[0].query))


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
        query=access.query,
    )


def _nothing(access: Access) -> str | None:
    return None


_MOVES: Final[Mapping[Action, Callable[[Access], str | None]]] = {
    Action.CHANGE: lambda access: access.branch,
    Action.LOAD_OVERWRITE: lambda access: access.branch,
    Action.SCHEMA_APPLY: lambda access: access.target_branch,
    Action.BRANCH_MERGE: lambda access: access.target_branch,
    Action.BRANCH_DELETE: lambda access: access.target_branch,
}
"""What moves a branch, and which one. Creating a branch moves none, and upkeep changes nothing that a graph says."""


class GraphLookup:
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

    def review(self, number: int, action: Action) -> Access:
        try:
            found = self._graphs.open(self._ref).reviews.get(number)
        except NotFound:
            return Access(action)
        return Access(action, found.source, found.target)

    def review_branches(self, number: int) -> tuple[Access, ...]:
        about = self.review(number, Action.READ)
        return (Access(Action.READ, about.branch), Access(Action.READ, about.target_branch))

    def has_branch(self, name: str) -> bool:
        return name.strip() in self._graphs.open(self._ref).branches.list()
