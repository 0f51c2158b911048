"""What an operation is: a frozen value that says what is wanted, what it needs permission for, and how it is done.

    @frozen(slots=False)
    class DeleteBranch(GraphChange["Commit | None"]):
        name: ClassVar = "branch delete"
        branch: str

        def access(self, lookup: Lookup) -> tuple[Access, ...]:
            return (Access(Action.BRANCH_DELETE, target_branch=self.branch),)

        def on(self, graph: AnyGraph, caller: Caller) -> Commit | None:
            return graph.branches.delete(self.branch, actor=caller.actor)

A new operation is one module in `operations`, and every surface can offer it. It hands `caller.actor` to what it changes: the
operation itself has no actor. Modules of operations import nothing heavy; the engine comes with the graph.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, ClassVar, Generic, Protocol, TypeVar

from omnigraph.errors import Forbidden, GraphError
from omnigraph.model.frozen import frozen
from omnigraph.policy.port import Access, Action, ReviewRule
from omnigraph.service.caller import Caller
from omnigraph.service.graphs import GraphRef, Graphs

if TYPE_CHECKING:
    from omnigraph.engine.any_graph import AnyGraph
    from omnigraph.language.source import Source

R = TypeVar("R")

SMALL = 256
"""Estimate of an operation that carries next to nothing, in bytes."""


class Lookup(Protocol):
    """What a decision may need to know of a graph. Asking has no effect on it."""

    def branch_of(self, state: str) -> str | None:
        """The branch that a branch, tag or commit belongs to; None if there is no such thing."""
        ...

    def has_branch(self, name: str) -> bool:
        """Whether there is a branch of that name."""
        ...

    def review(self, number: int, action: Action) -> Access:
        """An action about a review: the branch that is to be merged, and the one it is to be merged into."""
        ...

    def review_branches(self, number: int) -> tuple[Access, ...]:
        """The branches that are read to show what a review is about."""
        ...


@frozen(slots=False)
class Operation(ABC, Generic[R]):
    """Something that somebody wants done, and what they get for it."""

    name: ClassVar[str]
    """What it is called in the audit."""
    graph: GraphRef

    @property
    def writes(self) -> bool:
        """Whether it may change the graph."""
        return False

    @property
    def size(self) -> int:
        """Bytes it carries or asks for, estimated: what admission goes by."""
        return SMALL

    @property
    def brings_its_rows(self) -> bool:
        """Whether what is written is what the caller gave, with nothing in it that is in the graph already."""
        return False

    @abstractmethod
    def access(self, lookup: Lookup) -> Iterable[Access]:
        """What it needs permission for. All of it is decided before anything is done, one after the other: what may be known
        only to those who have an access is looked at after it."""

    def refusal(self, access: Access, denied: Forbidden) -> GraphError:
        """What whoever may not have an access is told."""
        return denied

    def reveals(self, lookup: Lookup) -> Iterable[Access]:
        """What must be allowed to whoever is shown what is in conflict, besides what it needs itself."""
        return ()

    def deciding(self, resolve: object, lookup: Lookup) -> Iterable[Access]:
        """What must be allowed to whoever decides single conflicts: a guess that is right would tell what is there."""
        return self.reveals(lookup) if isinstance(resolve, Mapping) else ()

    def under(self, rules: tuple[ReviewRule, ...]) -> Operation[R]:
        """The same, bound by what must be approved before branches move. Of use to merges of reviews alone."""
        return self

    def informed(self, result: R, rules: tuple[ReviewRule, ...]) -> R:
        """What came of it, with what the rules about reviews say of it. Of use to those that give reviews."""
        return result

    def readable(self, result: R, may: Callable[[Access], bool]) -> R:
        """What came of it, without what the caller may not read. Of use to those that tell of other branches."""
        return result

    @abstractmethod
    def run(self, graphs: Graphs, caller: Caller) -> R:
        """Do it."""

    def commit_of(self, result: R) -> str | None:
        """The commit that came of it, for the audit; None if none did."""
        return None

    def changed(self, result: R) -> bool:
        """Whether a write came to something, for the audit."""
        return True


class GraphOperation(Operation[R]):
    """An operation on a graph that exists."""

    def run(self, graphs: Graphs, caller: Caller) -> R:
        return self.on(graphs.open(self.graph), caller)

    @abstractmethod
    def on(self, graph: AnyGraph, caller: Caller) -> R:
        """Do it to the open graph."""


class GraphChange(GraphOperation[R]):
    """One that changes it."""

    @property
    def writes(self) -> bool:
        return True


class GraphCommit(GraphChange[R]):
    """One that changes it by a commit, or by none if there was nothing to change."""

    def changed(self, result: R) -> bool:
        return self.commit_of(result) is not None


class ReviewOperation(GraphOperation[R]):
    """One that gives reviews: they say how many approvals they have, and how many they need."""

    def informed(self, result: R, rules: tuple[ReviewRule, ...]) -> R:
        if not rules:
            return result
        from omnigraph.engine.reviews.verdicts import informed

        return informed(result, rules)


class ReviewChange(ReviewOperation[R], GraphChange[R]):
    """One that changes a review."""


def read_of(lookup: Lookup, branch: str | None, at: str | None, action: Action = Action.READ) -> tuple[Access, ...]:
    """The access of a read of a branch, or of the branch that a commit or tag belongs to; main unless one is named.

    Both are given for a branch at a time.
    """
    if at is None:
        return (Access(action, branch or "main"),)
    return (Access(action, lookup.branch_of(at if branch is None else f"{branch}@{at}"), found=True),)


def query_size(source: str | Source, params: Mapping[str, object] | None) -> int:
    """The length of a query and its parameters."""
    text = source if isinstance(source, str) else source.text
    return len(text.encode("utf-8", "replace")) + (len(json.dumps(params, default=str)) if params else 0)
