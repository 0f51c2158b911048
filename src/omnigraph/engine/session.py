"""Several reads of one commit."""

from __future__ import annotations

from collections.abc import Mapping
from threading import Event
from types import TracebackType
from typing import Protocol

from omnigraph.engine.calls.guard import door
from omnigraph.engine.execution.budget import Budget
from omnigraph.engine.execution.result import Result
from omnigraph.engine.planning.prepared import QueryText


class Read(Protocol):
    """A read of the commit of a session."""

    def __call__(
        self, source: QueryText, params: Mapping[str, object] | None, name: str | None, /, *, budget: Budget
    ) -> Result: ...


class Session:
    """Several reads of one commit: `with g.session() as s: s.query(…)`."""

    def __init__(self, commit: str, read: Read) -> None:
        self._commit = commit
        self._read = read

    def __enter__(self) -> Session:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        return None

    @property
    def graph_commit_id(self) -> str:
        """The commit that is read."""
        return self._commit

    @door()
    def query(
        self,
        source: QueryText,
        params: Mapping[str, object] | None = None,
        *,
        name: str | None = None,
        timeout: float | None = None,
        memory_limit: int | None = None,
        cancel: Event | None = None,
    ) -> Result:
        """The answer to a read."""
        budget = Budget(timeout, memory_limit, cancel)
        return self._read(source, params, name, budget=budget)
