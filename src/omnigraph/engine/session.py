"""Several reads of one commit."""

from __future__ import annotations

from collections.abc import Mapping
from threading import Event
from types import TracebackType

from omnigraph.engine.calls.guard import guarded
from omnigraph.engine.execution.budget import Budget
from omnigraph.engine.execution.reader import Read, Reader, Target
from omnigraph.engine.execution.result import Result
from omnigraph.engine.planning.prepared import QueryText
from omnigraph.engine.snapshot.view import View
from omnigraph.model.phrases import one_line, short_id


class Session:
    """Several reads of one commit: `with g.session() as s: s.query(…)`."""

    def __init__(self, reader: Reader, view: View, target: Target) -> None:
        self._reader = reader
        self._view = view
        self._target = target

    def __enter__(self) -> Session:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        return None

    def __repr__(self) -> str:
        return one_line(f"Session at commit {short_id(self.graph_commit_id)} of {self._view.snapshot.branch}")

    @property
    def graph_commit_id(self) -> str:
        """The commit that is read."""
        return self._view.snapshot.commit

    @guarded()
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
        read = Read(source, params, name, Budget(timeout, memory_limit, cancel))
        return self._reader.answer(self._view, read, self._target)
