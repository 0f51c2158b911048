"""The memories that answer a question best."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, ClassVar

from omnigraph.model.frozen import frozen
from omnigraph.policy.port import Access, Action
from omnigraph.service.operation import SMALL, GraphOperation, Lookup
from omnigraph.service.operations.remember import memory_of

if TYPE_CHECKING:
    from threading import Event

    from omnigraph.engine.any_graph import AnyGraph
    from omnigraph.memory.recollections import Recalled
    from omnigraph.service.caller import Caller


@frozen(slots=False)
class Recall(GraphOperation["Recalled"]):
    """The memories that answer a question best, and relations of what they are about."""

    name: ClassVar = "recall"
    question: str
    branch: str
    k: int = 10
    about: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    moment: str | None = None
    since: str | None = None
    timeout: float | None = None
    cancel: Event | None = field(default=None, compare=False, repr=False)

    @property
    def size(self) -> int:
        return SMALL + len(self.question)

    def access(self, lookup: Lookup) -> tuple[Access, ...]:
        return (Access(Action.READ, self.branch),)

    def on(self, graph: AnyGraph, caller: Caller) -> Recalled:
        return memory_of(graph, self.branch, caller, base=None).recall(
            self.question,
            k=self.k,
            about=self.about,
            kinds=self.kinds,
            at=self.moment,
            since=self.since,
            timeout=self.timeout,
            cancel=self.cancel,
        )
