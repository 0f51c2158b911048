"""A door that leads to one branch: whatever is asked for, nothing else of the graph is read or changed.

An agent that is given a branch to work on gets this door instead of the whole one. It is decided here, by the accesses of an
operation, not by the surface that made it: an argument that nobody thought of is refused like one that somebody did.

    the branch            is created from main by the first write; until then reads show main, which is what it would be
    its past              every commit that the history of the branch lists, which before the fork is main's
    another branch, tag,  refused, and so is a time on another branch, and what is not there: an answer that tells them apart
    commit or name        would say what others have

    door = ConfinedService(graphs, "agent/ada")
    door.run(caller, Mutate(ref, text, branch="agent/ada"))       creates agent/ada from main, then changes it
    door.run(caller, Query(ref, text, branch="main"))             Forbidden
    door.run(caller, ListBranches(ref))                           ["agent/ada"]

Some operations name no branch, because they are about all of them: those that are listed here are answered for the one branch,
and the rest is refused (`policy.one_branch`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final, TypeVar, cast

from omnigraph.errors import AlreadyExists, HistoryReclaimed, InputError, NotFound, UsageError
from omnigraph.policy.one_branch import OneBranch
from omnigraph.policy.port import Access, Action, Authoriser, Decision, PermitAll
from omnigraph.service.audit import Sink
from omnigraph.service.caller import Caller
from omnigraph.service.graphs import GraphRef, Graphs
from omnigraph.service.operation import Lookup, Operation, read_of
from omnigraph.service.operations.commit_changes import CommitChanges
from omnigraph.service.operations.create_branch import CreateBranch
from omnigraph.service.operations.list_branches import ListBranches
from omnigraph.service.operations.list_reviews import ListReviews
from omnigraph.service.operations.list_tags import ListTags
from omnigraph.service.operations.show_review import ShowReview
from omnigraph.service.operations.show_schema import ShowSchema
from omnigraph.service.service import GraphLookup, Service

R = TypeVar("R")

MAIN: Final = "main"

_STATES: Final = ("branch", "at", "before", "after", "commit")
"""Members of reads that name a branch, or a moment of one."""

_NAMED: Final = ("branch", "tag", "commit")
"""What is not found with a hint about what there is instead, here or on a server: it may list what others have."""


class ConfinedService:
    """The door to one branch of a graph. `allowed_by` decides about the branch itself."""

    def __init__(self, graphs: Graphs, branch: str, *, allowed_by: Authoriser | None = None, audit: Sink | None = None) -> None:
        authoriser = allowed_by or PermitAll()
        self.branch = branch
        self.graphs = graphs
        self._line = _Line(graphs, branch)
        self._inside = Service(graphs, authoriser=authoriser, audit=audit)
        self._outside = _Deciding(graphs, self._line, OneBranch(branch, authoriser), audit)

    def run(self, caller: Caller, operation: Operation[R]) -> R:
        """Do something for somebody, if it is about the branch. What went wrong is told without the names of other branches."""
        try:
            return self._run(caller, operation)
        except NotFound as error:
            if error.what not in _NAMED:
                raise
            hint = f"This session is confined to branch `{self.branch}`."
            raise NotFound(error.message, what=error.what, name=error.name, hint=hint) from None

    def _run(self, caller: Caller, operation: Operation[R]) -> R:
        match operation:
            case ListBranches():
                there = self._line.exists(operation.graph)
                return cast(R, [self.branch] if there else [])
            case ListTags():
                lookup = self._outside.lookup(operation.graph)
                found = self._inside.run(caller, operation)
                return cast(R, [tag for tag in found if lookup.branch_of(tag.commit) == self.branch])
            case ShowSchema():
                lookup = self._outside.lookup(operation.graph)
                self._require(caller, operation, *read_of(lookup, operation.branch, operation.at))
            case CommitChanges():  # what is refused here says the same of all that is elsewhere, so there is nothing to hide
                self._require(caller, operation, *operation.access(self._outside.lookup(operation.graph)))
            case ListReviews():
                operation = cast("Operation[R]", replace(operation, source=self.branch))
            case ShowReview():
                about = self._outside.lookup(operation.graph).review(operation.review, Action.READ)
                self._require(caller, operation, Access(Action.READ, about.branch))
            case _:
                self._outside.authorise(caller, operation)
        if not self._line.exists(operation.graph):
            operation = self._before_the_branch(caller, operation)
        done = self._inside.run(caller, operation)
        return operation.readable(done, lambda access: self._outside.may(caller, operation.graph, access))

    def may(self, caller: Caller, graph: GraphRef, access: Access) -> bool:
        """Whether an access would be allowed."""
        return self._outside.may(caller, graph, access)

    def decide(self, caller: Caller, operation: str, resource: str, access: Access) -> Decision:
        """One decision, written down; raises if it is a denial."""
        return self._outside.decide(caller, operation, resource, access)

    def close(self) -> None:
        """Let go of the graphs."""
        self._inside.close()

    def _require(self, caller: Caller, operation: Operation[Any], *accesses: Access) -> None:
        for access in accesses:
            self._outside.decide(caller, operation.name, operation.graph.name, access)

    def _before_the_branch(self, caller: Caller, operation: Operation[R]) -> Operation[R]:
        """The same where the branch is not there yet: a write creates it, a read shows what it would be made from."""
        if not operation.writes:
            given = {name: getattr(operation, name) for name in _STATES if hasattr(operation, name)}
            shown: dict[str, Any] = {name: self._line.shown_by_main(state) for name, state in given.items()}
            return replace(operation, **shown)
        creating = CreateBranch(operation.graph, self.branch, MAIN)
        if any(access.action is Action.CHANGE for access in operation.access(self._outside.lookup(operation.graph))):
            try:
                self._inside.run(caller, creating)
            except AlreadyExists:  # by another session of the same agent, a moment ago
                pass
            except UsageError:  # which would name the branch that is in the way
                hint = "Start the session with another name: letters, digits, `-` and `/`, no path inside that of another branch."
                raise UsageError(f"branch `{self.branch}` cannot be created", hint=hint) from None
        return operation


class _Deciding(Service):
    """Decides by the branch, and runs nothing."""

    def __init__(self, graphs: Graphs, line: _Line, authoriser: Authoriser, audit: Sink | None) -> None:
        super().__init__(graphs, authoriser=authoriser, audit=audit)
        self._line = line

    def lookup(self, graph: GraphRef) -> Lookup:
        return _OnTheLine(self.graphs, graph, self._line)


class _Line:
    """The branch and its past."""

    def __init__(self, graphs: Graphs, branch: str) -> None:
        self.branch = branch
        self._graphs = graphs
        self._seen = branch == MAIN
        self._commits: tuple[str, frozenset[str]] = ("", frozenset())
        """The newest commit, and all that lead to it."""

    def exists(self, graph: GraphRef) -> bool:
        """Whether the branch was created. One that is deleted afterwards is gone, and not created again."""
        if not self._seen:
            self._seen = self.branch in self._graphs.open(graph).branches.list()
        return self._seen

    def shown_by_main(self, state: str | None) -> str | None:
        """What shows the same as a state of the branch, as long as there is no branch."""
        named, at, moment = (state or "").strip().partition("@")
        return f"{MAIN}{at}{moment}" if named == self.branch else state

    def holds(self, graph: GraphRef, commit: str) -> bool:
        """Whether a commit is in the history of the branch, or of main if there is no branch yet."""
        opened = self._graphs.open(graph)
        name = self.branch if self.exists(graph) else MAIN
        head = opened.commit(name, maintenance=True).id
        if self._commits[0] != head:
            self._commits = head, frozenset(c.id for c in opened.commits(name, maintenance=True))
        return commit in self._commits[1]


class _OnTheLine(GraphLookup):
    """Says of every state in the history of the branch that it is the branch's."""

    def __init__(self, graphs: Graphs, ref: GraphRef, line: _Line) -> None:
        super().__init__(graphs, ref)
        self._line = line

    def branch_of(self, state: str) -> str | None:
        own = self._line.branch
        named, at, _ = state.strip().partition("@")
        if named == own and not at:
            return own
        if self.has_branch(named) and named != own:
            return state.strip()
        meant = state if self._line.exists(self._ref) else self._line.shown_by_main(state)
        try:
            commit = self._graphs.open(self._ref).commit(meant or state)
        except (NotFound, HistoryReclaimed, InputError):
            return None
        return own if self._line.holds(self._ref, commit.id) else commit.branch
