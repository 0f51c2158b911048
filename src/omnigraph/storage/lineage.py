"""Commits and the graph they form.

A commit is a value: who, when, why, and per table what was pinned before and after. Its id is a ULID; its parents make a
directed graph without cycles. Everything that asks about that graph (is this an ancestor? where did two branches part?) is a
pure function over a `parents_of` callable, so it is tested without storage.

The merge base of two commits is the common ancestor nearest to both: the one with the least distance to the first plus distance
to the second, and among equals the youngest. After a criss-cross merge there may be several; this rule picks one and always the
same.

        a ── b ── d ── f         parents of f: d and e (it merged e)
              ╲       ╱          merge base of f and g: e  (distance 1 + 1), not b (2 + 2)
               c ── e ── g
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum

from omnigraph.storage.changes import TableState

ParentsOf = Callable[[str], tuple[str, ...]]
"""The parents of a commit, first parent first; none for the first commit of a graph."""


class OpClass(Enum):
    """Whether a commit changed what the graph says, or only how it is stored."""

    LOGICAL = "logical"
    MAINTENANCE = "maintenance"


@dataclass(frozen=True, slots=True)
class TableChange:
    """What a commit did to one table. No `before`: it was created; no `after`: it is gone."""

    table: str
    before: TableState | None
    after: TableState | None
    added: int = 0
    removed: int = 0
    fragments_added: tuple[int, ...] = ()
    fragments_removed: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Commit:
    """One publication of the whole graph."""

    id: str
    seq: int
    """Position along the first parents, from 0; a branch continues the count of the commit it was made from."""
    parent: str | None
    merged_parent: str | None
    branch: str
    actor: str | None
    created_at: int
    """Microseconds since the epoch."""
    op_class: OpClass
    operation: str
    """What was asked for: `init`, `mutate`, `load`, `merge`, `optimize`, …"""
    message: str | None
    schema: str
    """Id of the schema the commit is written in."""
    changes: tuple[TableChange, ...] = ()

    @property
    def parents(self) -> tuple[str, ...]:
        return tuple(p for p in (self.parent, self.merged_parent) if p is not None)


def ancestors(commit: str, parents_of: ParentsOf) -> dict[str, int]:
    """Every ancestor of a commit, itself included, with its least distance."""
    distances = {commit: 0}
    frontier = [commit]
    while frontier:
        reached: list[str] = []
        for name in frontier:
            for parent in parents_of(name):
                if parent not in distances:
                    distances[parent] = distances[name] + 1
                    reached.append(parent)
        frontier = reached
    return distances


def merge_base(first: str, second: str, parents_of: ParentsOf) -> str | None:
    """The common ancestor nearest to both commits, or None if they share none."""
    if first == second:
        return first
    near_first, near_second = ancestors(first, parents_of), ancestors(second, parents_of)
    common = near_first.keys() & near_second.keys()
    # ULIDs sort by creation time, so of two equally near ancestors the greater is the younger.
    return min(common, key=lambda c: (near_first[c] + near_second[c], _descending(c)), default=None)


def is_ancestor(older: str, younger: str, parents_of: ParentsOf) -> bool:
    """Whether one commit is among the ancestors of another (or is that commit)."""
    return older in ancestors(younger, parents_of)


def _descending(text: str) -> tuple[int, ...]:
    return tuple(-ord(c) for c in text)


def first_parents(commit: str, parents_of: ParentsOf) -> Iterable[str]:
    """A commit and its first parents, youngest first."""
    current: str | None = commit
    while current is not None:
        yield current
        parents = parents_of(current)
        current = parents[0] if parents else None
