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

from collections.abc import Callable, Container, Iterable
from dataclasses import field, replace
from enum import Enum
from heapq import heapify, heappop, heappush
from typing import NoReturn

from omnigraph.model.frozen import frozen
from omnigraph.model.phrases import ago, by_actor, iso, one_line, short_id
from omnigraph.model.text_tables import html_table, text_table
from omnigraph.storage.files.checksums import StoredFile
from omnigraph.storage.files.records import damaged
from omnigraph.storage.tables.changes import Named, TableState

ParentsOf = Callable[[str], tuple[str, ...]]
"""The parents of a commit, first parent first; none for the first commit of a graph."""


class OpClass(Enum):
    """Whether a commit changed what the graph says, or only how it is stored."""

    LOGICAL = "logical"
    MAINTENANCE = "maintenance"


@frozen
class TableChange:
    """What a commit did to one table. No `before`: it was created; no `after`: it is gone."""

    table: str
    before: TableState | None
    after: TableState | None
    added: int = 0
    removed: int = 0
    fragments_added: tuple[int, ...] = ()
    fragments_removed: tuple[int, ...] = ()
    files: tuple[StoredFile, ...] = ()
    """Files it added, as they were written; none where nobody took their checksums."""
    named: Named | None = None
    """Which rows it is about, where they are few and somebody has noted them down."""


@frozen
class Logical:
    """Where a commit stands among logical ones, which are those that people see: see `logical`."""

    id: str
    """The commit itself; of maintenance, the commit whose state it lays out anew."""
    seq: int
    """Position among the logical commits along the first parents, from 0."""
    parent: str | None = None
    """The logical commit before it."""
    merged_parent: str | None = None


@frozen
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
    """The kind of write: `init`, `mutate`, `load`, `merge`, `optimize`, …"""
    message: str | None
    schema: str
    """Id of the schema the commit is written in."""
    changes: tuple[TableChange, ...] = ()
    mark: str | None = None
    """`idempotency_key`, by its name in the files of a graph."""
    logical: Logical | None = None
    """None where nobody wrote it down: it follows from the commits before (`logical`)."""
    asked: str | None = field(default=None, compare=False, repr=False)
    """A digest of what the write with the key was asked to do. None of commits of before, and of those without a key."""

    @property
    def idempotency_key(self) -> str | None:
        """The key of a write that may be repeated: with the same key it happens once on a branch."""
        return self.mark

    @property
    def is_maintenance(self) -> bool:
        """Whether it changed only how the graph is stored."""
        return self.op_class is OpClass.MAINTENANCE

    def shown(self) -> Commit:
        """The commit with the number and the parents that it has among logical ones, if it has noted them down."""
        place = self.logical
        if place is None or self.is_maintenance:
            return self if place is None else replace(self, seq=place.seq)
        return replace(self, seq=place.seq, parent=place.parent, merged_parent=place.merged_parent)

    @property
    def parents(self) -> tuple[str, ...]:
        return tuple(p for p in (self.parent, self.merged_parent) if p is not None)

    @property
    def number(self) -> int:
        """Position along the first parents, from 1: what people and programs see."""
        return self.seq + 1

    def to_dict(self) -> dict[str, str | int | None]:
        """The commit as JSON-ready data. A commit of the main branch names no branch."""
        return {
            "graph_commit_id": self.id,
            "graph_branch": None if self.branch == "main" else self.branch,
            "graph_manifest_version": self.number,
            "parent_commit_id": self.parent,
            "merged_parent_commit_id": self.merged_parent,
            "actor_id": self.actor,
            "created_at": self.created_at,
            "operation": self.operation,
            "message": self.message,
            **({"maintenance": True} if self.is_maintenance else {}),
            **({} if self.mark is None else {"idempotency_key": self.mark}),
        }

    def __repr__(self) -> str:
        about = f": {self.message}" if self.message else ""
        text = f"Commit {short_id(self.id)} on {self.branch}, {self.operation}{by_actor(self.actor)}, {ago(self.created_at)}"
        return one_line(text + about)


class CommitList(list[Commit]):
    """Commits, newest first. A list like any other; shown as a table."""

    _COLUMNS = ("commit", "branch", "operation", "actor", "when", "message")

    def __repr__(self) -> str:
        return "\n".join(text_table(self._COLUMNS, self._cells())) if self else "no commits"

    def _repr_html_(self) -> str:
        return html_table(self._COLUMNS, self._cells())

    def _cells(self) -> list[list[str]]:
        return [_cells(commit) for commit in self]


def _cells(commit: Commit) -> list[str]:
    if isinstance(commit, DamagedCommit):
        return [commit.id, "", commit.operation, "", "", commit.why]
    when = f"{iso(commit.created_at)} ({ago(commit.created_at)})"
    return [commit.id, commit.branch, commit.operation, commit.actor or "", when, commit.message or ""]


class DamagedCommit(Commit):
    """A commit whose record cannot be read: its id and number are known, and asking for anything else says so."""

    __slots__ = ("why",)
    why: str

    def __init__(self, id_: str, seq: int, why: str) -> None:
        for name, value in (("id", id_), ("seq", seq), ("why", why)):
            object.__setattr__(self, name, value)

    def _unknown(self) -> NoReturn:
        raise damaged(f"the record of commit {self.id} (number {self.number})", self.why)

    parent = merged_parent = branch = actor = created_at = op_class = property(_unknown)
    message = schema = changes = mark = asked = parents = property(_unknown)
    logical = None
    is_maintenance = False

    @property
    def operation(self) -> str:
        return "damaged"

    def to_dict(self) -> dict[str, str | int | None]:
        return {
            "graph_commit_id": self.id,
            "graph_manifest_version": self.number,
            "operation": self.operation,
            "message": self.why,
        }

    def __repr__(self) -> str:
        return one_line(f"Commit {short_id(self.id)}, damaged: {self.why}")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DamagedCommit) and other.id == self.id

    def __hash__(self) -> int:
        return hash(self.id)


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
    """Where two commits parted, or None if they share no ancestor: of the merge bases the one nearest to both.

    The nearest common ancestor alone would not do: `b` comes before `m`, and yet `a` is nearer to both by way of the merge.

        a ── b ── c ── d ── e ── m        from b to a and from m by x to a: 3 steps; from m along the line to b: 4
         ╲                      ╱
          x ───────────────────
    """
    found = merge_bases(first, second, parents_of)
    if len(found) <= 1:
        return found[0] if found else None
    return nearest_ancestor(first, second, parents_of, among=found)


def nearest_ancestor(
    first: str, second: str, parents_of: ParentsOf, *, among: Container[str] | None = None, unusable: Container[str] = ()
) -> str | None:
    """The common ancestor nearest to both commits, or None if they share none.

    Both ways back are walked side by side and no further than an ancestor could still be nearer: what it costs follows how far
    the two have grown apart, not how long their history is.
    """
    near_first, near_second = {first: 0}, {second: 0}
    frontiers = [first], [second]
    best: tuple[int, tuple[int, ...]] | None = None
    base: str | None = None
    fresh = {first, second}
    steps = 0
    while True:
        for name in fresh:
            if name in near_first and name in near_second and name not in unusable and (among is None or name in among):
                # ULIDs sort by creation time, so of two equally near ancestors the greater is the younger.
                rank = (near_first[name] + near_second[name], _descending(name))
                if best is None or rank < best:
                    best, base = rank, name
        # Everything up to `steps` away from either is known: another common ancestor is more than that away from one of them.
        if not any(frontiers) or (best is not None and steps >= best[0]):
            return base
        steps += 1
        reached = [
            _step(frontier, near, steps, parents_of) for frontier, near in zip(frontiers, (near_first, near_second), strict=True)
        ]
        frontiers = reached[0], reached[1]
        fresh = {*reached[0], *reached[1]}


def _step(frontier: list[str], near: dict[str, int], steps: int, parents_of: ParentsOf) -> list[str]:
    reached = []
    for name in frontier:
        for parent in parents_of(name):
            if parent not in near:
                near[parent] = steps
                reached.append(parent)
    return reached


def merge_bases(first: str, second: str, parents_of: ParentsOf) -> tuple[str, ...]:
    """Every common ancestor of two commits that no other common ancestor descends from, youngest first.

    Mostly that is one. After a criss-cross merge there are several, and none of them alone says what both sides started from.

        a ── b ── d ── f         d merged c, e merged b: f and g have both b and c, and neither comes before the other
         ╲     ╲╱
          ╲    ╱╲
            c ── e ── g

    Commits are looked at from the youngest down, and no further than where only ancestors of what was found are left.
    """
    marks, found = _marked(first, second, parents_of)
    return tuple(sorted((name for name in found if not marks[name] & _BELOW), reverse=True))


def only_of(first: str, second: str, parents_of: ParentsOf) -> frozenset[str]:
    """The ancestors of a commit, itself included, that another one does not have: what a merge of the first brings the second."""
    marks, _ = _marked(first, second, parents_of)
    return frozenset(name for name, mark in marks.items() if mark == _LEFT)


_LEFT, _RIGHT, _BELOW = 1, 2, 4


def _marked(first: str, second: str, parents_of: ParentsOf) -> tuple[dict[str, int], list[str]]:
    """Whose ancestors commits are, from the youngest down to where both share all; and the common ones that were met first."""
    left, right, below = _LEFT, _RIGHT, _BELOW
    marks = {first: left}
    marks[second] = marks.get(second, 0) | right
    waiting = [_Youngest(name) for name in marks]
    heapify(waiting)
    found: list[str] = []
    while any(not marks[w.name] & below for w in waiting):
        name = heappop(waiting).name
        carried = marks[name]
        if carried & 3 == 3 and not carried & below:
            if name not in found:
                found.append(name)
            carried |= below
        for parent in parents_of(name):
            if marks.get(parent, 0) & carried != carried:
                marks[parent] = marks.get(parent, 0) | carried
                heappush(waiting, _Youngest(parent))
    return marks, found


@frozen
class _Youngest:
    """A commit in a queue that gives the youngest first."""

    name: str

    def __lt__(self, other: _Youngest) -> bool:
        return self.name > other.name


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
