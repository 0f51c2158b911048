"""A statement is remembered, with where it is from."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from omnigraph.model.frozen import frozen
from omnigraph.policy.port import Access, Action
from omnigraph.service.operation import SMALL, GraphCommit, Lookup

if TYPE_CHECKING:
    from omnigraph.engine.any_graph import AnyGraph
    from omnigraph.memory.memory import Memory
    from omnigraph.memory.recollections import Remembered
    from omnigraph.service.caller import Caller


def change_of(lookup: Lookup, branch: str) -> tuple[Access, ...]:
    """The accesses of what changes a memory: of its branch, which is made from main if it is not there."""
    change = Access(Action.CHANGE, branch)
    return (change,) if lookup.has_branch(branch) else (change, Access(Action.BRANCH_CREATE, "main", branch))


def memory_of(graph: AnyGraph, branch: str, caller: Caller, *, base: str | None = "main") -> Memory:
    """The memory of whoever asks, on a branch. A server knows by the token who that is, and records it with the commit."""
    from omnigraph.memory.memory import Memory

    return Memory(graph, agent=caller.actor, branch=branch, base=base, actor=caller.actor)


@frozen(slots=False)
class Remember(GraphCommit["Remembered"]):
    """A statement is remembered. From the same source a second time it changes nothing."""

    name: ClassVar = "remember"
    text: str
    branch: str
    about: tuple[str, ...] = ()
    source: str | None = None
    kind: str | None = None
    confidence: float | None = None
    importance: float | None = None
    half_life_days: float | None = None
    valid_from: str | None = None
    valid_until: str | None = None

    @property
    def size(self) -> int:
        return SMALL + len(self.text)

    def access(self, lookup: Lookup) -> tuple[Access, ...]:
        return change_of(lookup, self.branch)

    def on(self, graph: AnyGraph, caller: Caller) -> Remembered:
        return memory_of(graph, self.branch, caller).remember(
            self.text,
            about=self.about,
            source=self.source,
            kind=self.kind,
            confidence=self.confidence,
            importance=self.importance,
            half_life_days=self.half_life_days,
            valid_from=self.valid_from,
            valid_until=self.valid_until,
        )

    def commit_of(self, result: Remembered) -> str | None:
        return result.commit if result.changed else None
