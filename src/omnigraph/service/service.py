"""`Service.run`: the only way from a surface to the engine.

authorise    every access the operation needs is decided; a denial stops it before any effect. Where a policy demands reviews,
             a branch moves by a review alone: whatever else would change it is denied (`policy.by_review`)
admit        there is room for it now
run          it is done, and what it changes carries the caller's actor. What went wrong is told as far as the caller may know:
             conflicts and broken rules without what is in the graph to those who may not read it, no names of branches to
             those who may not list them
audit        what was decided, and what became of a write, is written down
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final, Generic, Literal, TypeVar, cast

from omnigraph.errors import Forbidden, GraphError, HistoryReclaimed, MergeConflict, NotFound, ValidationError
from omnigraph.model.frozen import frozen
from omnigraph.policy.by_review import past_a_review
from omnigraph.policy.port import Access, Action, Authoriser, Decision, PermitAll, ReviewRule
from omnigraph.service.admission import Admission, Unlimited
from omnigraph.service.audit import AuditRecord, LogSink, Outcome, Sink
from omnigraph.service.caller import Caller
from omnigraph.service.graphs import GraphRef, Graphs
from omnigraph.service.operation import Lookup, Operation

R = TypeVar("R")

NO_TOKEN: Final = "no-token"
"""The rule by which somebody is turned away before anything is decided: without a token that the server knows."""


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


@dataclass(slots=True)
class _Write(Generic[R]):
    """A write that was let in."""

    operation: Operation[R]
    result: R = field(init=False)
    """What came of it, once it is over."""


OnEach = Callable[[Graphs, Sequence[tuple[Caller, Operation[R]]]], Sequence[R | Exception]]
"""Does several writes in one go: what came of each, or why it did not."""


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
        if not operation.writes:
            with self._admission.admit(caller, operation):
                return self._run(caller, operation, lambda: operation.run(self.graphs, caller))
        with self._write(caller, operation, permit) as write:
            write.result = self._run(caller, write.operation, lambda: write.operation.run(self.graphs, caller))
        return write.result

    def run_each(self, asked: Sequence[tuple[Caller, Operation[R]]], on_each: OnEach[R]) -> list[R | Exception]:
        """The same for several writes that are done in one go: what came of each, or why it did not."""
        outcomes: list[R | Exception | None] = [None] * len(asked)
        under_way: list[tuple[int, Caller, _Write[R], ExitStack]] = []
        for at, (caller, operation) in enumerate(asked):
            try:
                door = ExitStack()
                write = door.enter_context(self._write(caller, operation, self.authorise(caller, operation)))
                under_way.append((at, caller, write, door))
            except Exception as error:
                outcomes[at] = error
        came = self._done_each([(caller, write.operation) for _, caller, write, _ in under_way], on_each)
        for (at, caller, write, door), one in zip(under_way, came, strict=True):
            try:
                with door:
                    write.result = self._run(caller, write.operation, partial(_given, one))
                outcomes[at] = write.result
            except Exception as error:
                outcomes[at] = error
        return cast("list[R | Exception]", outcomes)

    def _done_each(self, asked: Sequence[tuple[Caller, Operation[R]]], on_each: OnEach[R]) -> Sequence[R | Exception]:
        try:
            return on_each(self.graphs, asked) if asked else []
        except Exception as error:
            return [error] * len(asked)

    @contextmanager
    def _write(self, caller: Caller, operation: Operation[R], permit: Permit) -> Iterator[_Write[R]]:
        """A write that there is room for, and that is written down when it is over."""
        with self._admission.admit(caller, operation):
            started = time.perf_counter()
            write = _Write(operation.under(self.review_rules(operation.graph)))
            try:
                yield write
            except BaseException as error:
                self._written(caller, write.operation, permit, started, "failed", error=error)
                raise
            outcome: Outcome = "done" if operation.changed(write.result) else "unchanged"
            self._written(caller, write.operation, permit, started, outcome, operation.commit_of(write.result))

    def _run(self, caller: Caller, operation: Operation[R], work: Callable[[], R]) -> R:
        try:
            result = operation.informed(work(), self.review_rules(operation.graph))
            return operation.readable(result, lambda access: self.may(caller, operation.graph, access))
        except GraphError as error:
            told = self._told(caller, operation, error)
            if told is error:
                raise
            raise told from None

    def _told(self, caller: Caller, operation: Operation[Any], error: GraphError) -> GraphError:
        """What went wrong, as far as the caller may know: a message is no way around a right."""
        graph = operation.graph
        if isinstance(error, MergeConflict) and error.conflicts:
            readable = all(self.may(caller, graph, access) for access in operation.reveals(self.lookup(graph)))
            return error if readable else error.without_values()
        if isinstance(error, ValidationError) and error.violations:
            accesses = operation.access(self.lookup(graph))
            branches = {name for access in accesses for name in (access.branch, access.target_branch) if name is not None}
            if not all(self.may(caller, graph, Access(Action.READ, branch)) for branch in branches):
                from omnigraph.engine.write.violations import unread

                return unread(error, own_rows=operation.brings_its_rows)
            return error
        if error.unlisted is not None and not self.may(caller, graph, Access(Action.READ)):
            return error.unlisted
        return error

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
            by_review = past_a_review(self._authoriser.review_rules(resource), access) is not None
            hint = decision.hint or (Forbidden.by_review_hint if by_review else None)
            told = decision.message
            if access.found and decision.hint is None:
                from omnigraph.policy.states import denial

                told = denial(replace(access, branch=None, target_branch=None), caller.actor)
            raise Forbidden(told, action=access.action.value, rule=decision.rule, hint=hint)
        return decision

    def unknown(self, caller: Caller, operation: str, resource: str) -> None:
        """Write down that somebody was turned away who did not say who they are, or whom nobody believed."""
        if self._audit.takes("denied"):
            self._audit.write(
                AuditRecord(
                    "decision", _now(), caller.request_id, None, caller.origin.value, operation, resource, "denied", rule=NO_TOKEN
                )
            )

    def lookup(self, graph: GraphRef) -> Lookup:
        """What decisions may know of a graph."""
        return GraphLookup(self.graphs, graph)

    def may(self, caller: Caller, graph: GraphRef, access: Access) -> bool:
        """Whether an access would be allowed, for those who show what can be done. Nothing is done, and nothing written down."""
        return self._decided(caller, graph.name, access).allowed

    def _decided(self, caller: Caller, resource: str, access: Access) -> Decision:
        decision = self._authoriser.decide(caller.actor, resource, access, caller.groups)
        if not decision.allowed:
            return decision
        return past_a_review(self._authoriser.review_rules(resource), access) or decision

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


def _given(came: R | Exception) -> R:
    if isinstance(came, Exception):
        raise came
    return came


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
        _now(),
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


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


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
            return graph.commit(state, maintenance=True).branch
        except (NotFound, HistoryReclaimed, Forbidden):
            return None

    def review(self, number: int, action: Action) -> Access:
        try:
            found = self._graphs.open(self._ref).reviews.get(number)
        except NotFound:
            return Access(action, found=True)
        return Access(action, found.source, found.target, found=True)

    def review_branches(self, number: int) -> tuple[Access, ...]:
        about = self.review(number, Action.READ)
        return (Access(Action.READ, about.branch, found=True), Access(Action.READ, about.target_branch, found=True))

    def has_branch(self, name: str) -> bool:
        try:
            return name.strip() in self._graphs.open(self._ref).branches.list()
        except Forbidden:  # by a server, which decides itself
            return False
