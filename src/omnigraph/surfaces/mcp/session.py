"""For whom tools work: the graphs of a connection, the caller, the door, and what is left out.

A session is made by whoever hosts the connection. `Call` is one use of a tool within it: it names the graph, fills in the branch
that is meant when none is named, and takes operations to the door, under a caller with a request id of its own.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Event
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from omnigraph.errors import Forbidden, UsageError
from omnigraph.policy.port import SERVER_ACTIONS, Access, Action, Decision
from omnigraph.service import Caller, GraphRef

if TYPE_CHECKING:
    from omnigraph.service.graphs import Graphs
    from omnigraph.service.operation import Operation
    from omnigraph.service.stored import StoredQueries, StoredQuery
    from omnigraph.surfaces.mcp.tool import Tool
    from omnigraph.wire.outputs import GraphEntry, HealthOutput

R = TypeVar("R")

SECONDS: Final = 60.0
"""How long a query may take…"""
MEMORY: Final = 2 << 30
"""…and how much memory it may use, unless the host says otherwise."""

_SOME_BRANCH: Final = "agent/any"
"""A branch that no policy names: what is allowed there is allowed on branches that are not protected."""
_ASKED_BRANCHES: Final = 64


class Door(Protocol):
    """Has operations done: `Service`, or one that is confined to a branch."""

    graphs: Graphs

    def run(self, caller: Caller, operation: Operation[R]) -> R:
        """Do something for somebody, if they may."""
        ...

    def may(self, caller: Caller, graph: GraphRef, access: Access) -> bool:
        """Whether they might."""
        ...

    def decide(self, caller: Caller, operation: str, resource: str, access: Access) -> Decision:
        """The same, written down; raises if they may not."""
        ...


class Work(Protocol):
    """Where tools run: away from whoever reads requests, so that a slow one delays nobody."""

    def __call__(self, work: Callable[[Event], R], *, writes: bool) -> Awaitable[R]:
        """Run something in a thread; the event is set when nobody wants its answer any more."""
        ...


@dataclass(kw_only=True)
class Session:
    """What a connection is about."""

    door: Door
    graphs: Mapping[str, GraphRef]
    """By id; tools of a session with several take the graph as an argument."""
    caller: Callable[[], Caller]
    """Who asks; with a request id of its own for each call."""
    work: Work
    health: Callable[[], HealthOutput]
    list_graphs: Callable[[Caller], list[GraphEntry]]
    branch: str = "main"
    """The branch that is meant when none is named."""
    confined: bool = False
    """Whether there is no other."""
    read_only: bool = False
    query_seconds: float | None = SECONDS
    query_bytes: int | None = MEMORY
    stored: Mapping[str, Iterable[StoredQuery]] = field(default_factory=dict)
    """The stored queries of each graph."""
    filtered: bool = False
    """Whether tools are shown as far as the caller may use them."""

    @property
    def graph_ids(self) -> tuple[str, ...]:
        """The graphs, by id."""
        return tuple(sorted(self.graphs))

    def graph(self, name: object) -> GraphRef:
        """The graph of an id; the only one, if there is one."""
        if name is None and len(self.graphs) == 1:
            return next(iter(self.graphs.values()))
        found = self.graphs.get(name) if isinstance(name, str) else None
        if found is None:
            known = ", ".join(self.graph_ids) or "none"
            said = "which graph?" if name is None else f"no graph {str(name)[:100]!r}"
            raise UsageError(said, hint=f"Set `graph` to one of: {known}.")
        return found

    def offers(self, tool: Tool, caller: Caller, graph: GraphRef) -> bool:
        """Whether a tool is there for a caller: not if it could only be refused."""
        if self.read_only and tool.writes:
            return False
        if self.confined and any(action in _OF_OTHER_BRANCHES for action in tool.needs):
            return False
        if not self.filtered:
            return not any(action in _BY_POLICY for action in tool.needs)
        return self._missing(tool, caller, graph) is None

    def turned_away(self, tool: Tool, caller: Caller, graph: GraphRef) -> None:
        """Write down that somebody called a tool that is hidden from them, as every request that is refused."""
        action = self._missing(tool, caller, graph) if self.filtered else None
        if action is not None:
            self.denied(caller, tool.name, GraphRef("root") if action in SERVER_ACTIONS else graph, Access(action))

    def denied(self, caller: Caller, tool: str, graph: GraphRef, access: Access) -> None:
        """Write down that an access is denied which nobody is told of."""
        if self.filtered:
            with suppress(Forbidden):
                self.door.decide(caller, tool, graph.name, access)

    def readable(self, caller: Caller, graph: GraphRef) -> str | None:
        """A branch that the caller may read: the one that is meant when none is named, if they may."""
        if self.door.may(caller, graph, Access(Action.READ, self.branch)):
            return self.branch
        names = self.door.graphs.open(graph).branches.list()[:_ASKED_BRANCHES]
        return next((name for name in names if self.door.may(caller, graph, Access(Action.READ, name))), None)

    def _missing(self, tool: Tool, caller: Caller, graph: GraphRef) -> Action | None:
        """What a tool needs that a caller is allowed nowhere."""
        return next((action for action in tool.needs if not self._allowed_somewhere(action, caller, graph)), None)

    def _allowed_somewhere(self, action: Action, caller: Caller, graph: GraphRef) -> bool:
        if action in SERVER_ACTIONS:
            return self.door.may(caller, GraphRef("root"), Access(action))
        if action in (Action.INVOKE_QUERY, Action.ADMIN):
            return self.door.may(caller, graph, Access(action))
        one = action in (Action.READ, Action.EXPORT, Action.CHANGE, Action.LOAD_OVERWRITE)
        return any(
            self.door.may(caller, graph, Access(action, name) if one else Access(action, _SOME_BRANCH, name))
            for name in self._branches(graph)
        )

    def _branches(self, graph: GraphRef) -> Iterator[str]:
        """Branches that somebody may be allowed something on; those that are there are looked up only if it takes them."""
        yield from ("main", _SOME_BRANCH)
        yield from self.door.graphs.open(graph).branches.list()[:_ASKED_BRANCHES]


_OF_OTHER_BRANCHES: Final = frozenset(
    {Action.BRANCH_CREATE, Action.BRANCH_DELETE, Action.BRANCH_MERGE, Action.REVIEW_APPROVE, Action.REVIEW_MERGE}
)
"""What a session that is confined to one branch has no use for."""

_BY_POLICY: Final = frozenset({Action.REVIEW_APPROVE, Action.REVIEW_MERGE})
"""What an agent may do only where somebody was asked whether it may."""


@dataclass
class Call:
    """One use of a tool."""

    session: Session
    caller: Caller
    graph: GraphRef
    cancel: Event
    """Set when nobody wants the answer any more."""
    tool: str
    arguments: Mapping[str, Any]

    def run(self, operation: Operation[R]) -> R:
        """Through the door."""
        return self.session.door.run(self.caller, operation)

    @property
    def queries(self) -> StoredQueries:
        """What is stored with the graph."""
        from omnigraph.service.stored import StoredQueries

        return StoredQueries(tuple(self.session.stored.get(self.graph.name, ())))

    def branch(self, given: str | None) -> str:
        """The branch that is meant."""
        return self.session.branch if given is None else named(given, "branch")

    def state(self, branch: str | None, snapshot: str | None) -> tuple[str | None, str | None]:
        """What is read: a branch, or a commit, tag or time; not both."""
        if snapshot is None:
            return self.branch(branch), None
        if branch is not None:
            raise UsageError("`branch` and `snapshot` exclude each other", hint="Leave one of them out.")
        return None, named(snapshot, "snapshot")


def named(given: str, what: str) -> str:
    """A name that says something."""
    if not given.strip():
        raise UsageError(f"`{what}` must not be blank", hint="Leave it out, or name one.")
    return given.strip()
