"""A stored query is invoked: a read, or a mutation.

Whoever may not invoke a query is told what they are told when there is none: the gate comes before everything that depends on
what is stored under the name. The read or the change behind it is decided about as any other, and its denial is visible.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field, replace
from typing import TYPE_CHECKING, ClassVar

from omnigraph.errors import Forbidden, GraphError, NotFound, UsageError
from omnigraph.model.frozen import frozen
from omnigraph.policy.port import Access, Action
from omnigraph.service.operation import GraphOperation, Lookup, query_size
from omnigraph.service.operations.mutate import Mutate
from omnigraph.service.operations.query import Query

if TYPE_CHECKING:
    from collections.abc import Mapping
    from threading import Event

    from omnigraph.engine.any_graph import AnyGraph
    from omnigraph.engine.execution.result import Result
    from omnigraph.engine.graph import Graph
    from omnigraph.engine.snapshot.view import View
    from omnigraph.engine.write.receipt import Receipt
    from omnigraph.language.source import Source
    from omnigraph.service.caller import Caller
    from omnigraph.service.stored import StoredQuery


@frozen(slots=False)
class InvokeQuery(GraphOperation["Result | Receipt"]):
    """A stored query is invoked."""

    name: ClassVar = "queries invoke"
    query_name: str
    stored: StoredQuery | None = field(default=None, compare=False, repr=False)
    """What is stored under that name where somebody looked. None: nothing, or the graph is behind a server, which looks."""
    params: Mapping[str, object] | None = None
    branch: str | None = None
    at: str | None = None
    if_commit: str | None = None
    expect_mutation: bool | None = None
    """What the caller takes it for."""
    message: str | None = None
    idempotency_key: str | None = None
    timeout: float | None = None
    memory_limit: int | None = None
    cancel: Event | None = field(default=None, compare=False, repr=False)
    view: View | None = field(default=None, compare=False, repr=False)

    @property
    def writes(self) -> bool:
        return bool(self.expect_mutation) if self.stored is None else self.stored.mutation

    @property
    def size(self) -> int:
        return query_size(self.query_name if self.stored is None else self.stored.source, self.params)

    def access(self, lookup: Lookup) -> Iterator[Access]:
        yield Access(Action.INVOKE_QUERY, query=self.query_name)
        yield from self._inner(self._checked()).access(lookup)

    def refusal(self, access: Access, denied: Forbidden) -> GraphError:
        return _not_found() if access.action is Action.INVOKE_QUERY else denied

    def on(self, graph: AnyGraph, caller: Caller) -> Result | Receipt:
        if self.stored is None:
            return graph.invoke(
                self.query_name,
                self.params,
                branch=self.branch,
                at=self.at,
                if_commit=self.if_commit,
                expect_mutation=self.expect_mutation,
                message=self.message,
                idempotency_key=self.idempotency_key,
            )
        return self._inner(self._checked()).on(graph, caller)

    def commit_of(self, result: Result | Receipt) -> str | None:
        commit = getattr(result, "commit", None)
        return None if commit is None else str(commit.id)

    def changed(self, result: Result | Receipt) -> bool:
        return self.commit_of(result) is not None

    def _checked(self) -> StoredQuery:
        """What is stored, if it is what the caller takes it for."""
        stored = self.stored
        if stored is None:
            raise _not_found()
        if self.expect_mutation is not None and self.expect_mutation is not stored.mutation:
            verb = "mutate" if stored.mutation else "query"
            raise UsageError(f"'{stored.name}' is a {stored.kind} — use omnigraph {verb} {stored.name}", hint="")
        if stored.mutation:
            if self.at is not None:
                raise UsageError("stored mutation cannot target a snapshot", hint="Give a branch.")
            return stored
        own = {"a condition": self.if_commit, "an idempotency key": self.idempotency_key, "a message": self.message}
        for what, given in own.items():
            if given is not None:
                raise UsageError(f"'{stored.name}' is a read, and {what} is for mutations", hint="Leave it out.")
        return stored

    def _inner(self, stored: StoredQuery) -> Query | Mutate:
        if stored.mutation:
            branch = self.branch or "main"
            return Mutate(
                self.graph, stored.source, self.params, stored.name, branch, self.if_commit, self.message, self.idempotency_key
            )
        return self._read(stored)

    def _read(self, stored: StoredQuery) -> Query:
        return Query(
            self.graph,
            stored.source,
            self.params,
            stored.name,
            self.branch,
            self.at,
            self.timeout,
            self.memory_limit,
            self.cancel,
            self.view,
        )

    # ── a read that may be answered where it arrives ─────────────────────────────────────────────────────────────────────────

    @property
    def source(self) -> Source:
        """The text of what is stored."""
        assert self.stored is not None
        return self.stored.source

    def until(self, cancel: Event) -> InvokeQuery:
        """The same, which ends when somebody sets an event."""
        return replace(self, cancel=cancel)

    def seen(self, graph: Graph) -> View:
        """What it would read now."""
        assert self.stored is not None
        return self._read(self.stored).seen(graph)

    def is_small(self, graph: Graph, view: View) -> bool:
        """Whether its plan proves to be small."""
        assert self.stored is not None
        return self._read(self.stored).is_small(graph, view)

    def quickly(self, view: View) -> InvokeQuery:
        """The same of what was seen, without limits: for one that is known to stay far below them."""
        return replace(self, view=view, timeout=None, memory_limit=None)


def _not_found() -> NotFound:
    return NotFound("stored query not found", what="stored query")
