"""Logical commits: what people see of a history that upkeep also writes to.

Building an index, folding and compacting publish commits of their own, for a branch moves by its one compare-and-swap only. Those
commits change no answer. So nobody is shown them: wherever a commit is named, it is the nearest one along the first parents that
is not maintenance, and the same state may be *laid out* several times.

    stored        L1 ─ L2 ─ m3 ─ m4 ─ L5 ─ m6          m: maintenance
    logical       L1 ─ L2 ─────────── L5               L5's parent is L2, and it is number 3
    layouts       L2: L2, m3, m4 (the newest)          L5: L5, m6

A commit notes down where it stands (`Commit.logical`), and so does the head of a branch, so none of this reads history. What was
written before commits did that is found by walking back along the first parents, once.

Whoever reads a commit reads its newest layout that has not been reclaimed. Any of them says the same.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from omnigraph.errors import GraphError, HistoryReclaimed
from omnigraph.storage.commits.lineage import Commit, Logical
from omnigraph.storage.commits.manifest import Head, Manifest
from omnigraph.storage.commits.reclaimed_commits import reclaimed
from omnigraph.storage.commits.refs import Ref
from omnigraph.storage.files.place import Place

_log = logging.getLogger(__name__)

FOLLOWING: Final = 8
"""Commits read at a time when layouts are looked for: mostly there are none, or one per type."""

SHORT_RUN = 64
"""Commits read at a time by who goes back past maintenance…"""

LONG_RUN = 1_024
"""… and by who may have to go far back."""


def logical_id(line: Iterable[Commit]) -> str | None:
    """The id of the logical commit that a line begins with. A line is a commit and its first parents, youngest first."""
    for commit in line:
        if commit.logical is not None:
            return commit.logical.id
        if not commit.is_maintenance:
            return commit.id
    return None


def logical_of(line: Iterable[Commit]) -> Logical | None:
    """Where the commit that a line begins with stands. Walks back to one that has it written down, or to the first of all."""
    passed: list[Commit] = []
    for commit in line:
        known = commit.logical
        if known is not None:
            if not passed:
                return known
            parent = passed[1].id if len(passed) > 1 else known.id
            return Logical(passed[0].id, known.seq + len(passed), parent)
        if not commit.is_maintenance:
            passed.append(commit)
    if not passed:
        return None
    return Logical(passed[0].id, len(passed) - 1, passed[1].id if len(passed) > 1 else None)


def layouts(manifest: Manifest, commit: Commit) -> list[Commit]:
    """A commit and the maintenance that directly follows it in its manifest, newest first."""
    found = [commit]
    while following := manifest.after(found[-1].seq, FOLLOWING):
        for next_one in following:
            if not next_one.is_maintenance:
                return found[::-1]
            found.append(next_one)
        if len(following) < FOLLOWING:
            break
    return found[::-1]


class LogicalCommits:
    """The commits of a stored graph along first parents, and which of them people see. Safe from any thread."""

    def __init__(self, place: Place, manifest: Callable[[str], Manifest]) -> None:
        self._place = place
        self._manifest = manifest
        self._computed: dict[str, Logical] = {}
        """Where commits stand that have not noted it down."""
        self._ids: dict[str, str] = {}
        """Which logical commits they are: all that is needed for the newest state of a branch, at every question."""

    def find(self, ref: Ref, commit: str) -> tuple[Ref, Commit | None]:
        """A commit of a branch or of those it came from, and the branch whose manifest holds it."""
        for current in ref.ancestry():
            found = self._manifest(current.incarnation).find(commit)
            if found is not None:
                return current, found
        return ref, None

    def line(self, ref: Ref, seq: int, run: int | None = None) -> Iterator[Commit]:
        """The commit of a branch with a number and its first parents, youngest first. Read in runs, no further than needed."""
        current: Ref | None = ref
        before = seq + 1
        while current is not None:
            while before > 0 and (found := self._manifest(current.incarnation).history(before=before, limit=run or LONG_RUN)):
                yield from found
                before = found[-1].seq
            if current.fork_commit is None or current.origin is None:
                return
            before = self._fork(current, current.fork_commit, current.origin) + 1
            current = current.origin

    def _fork(self, ref: Ref, commit: str, origin: Ref) -> int:
        _, found = self.find(origin, commit)
        if found is None:
            raise HistoryReclaimed(f"commit {commit}, where branch `{ref.branch}` began, was reclaimed")
        return found.seq

    def logical(self, owner: Ref, commit: Commit | Head) -> Logical:
        """Where a commit of a branch stands among the logical ones."""
        if commit.logical is not None:
            return commit.logical
        id_ = commit.commit if isinstance(commit, Head) else commit.id
        found = self._computed.get(id_)
        if found is None:
            try:
                found = logical_of(self.line(owner, commit.seq))
            except GraphError as error:
                _log.warning("commits before %s cannot be read, so how many there are is not known: %s", id_, error.message)
            self._computed[id_] = found = found or Logical(id_, commit.seq)
        return found

    def logical_id(self, owner: Ref, commit: Commit | Head) -> str:
        """The logical commit that a commit of a branch is, or lays out."""
        if commit.logical is not None:
            return commit.logical.id
        id_ = commit.commit if isinstance(commit, Head) else commit.id
        found = self._ids.get(id_)
        if found is None:
            known = self._computed.get(id_)
            found = known.id if known is not None else logical_id(self.line(owner, commit.seq, SHORT_RUN)) or id_
            self._ids[id_] = found
        return found

    def logical_commit(self, owner: Ref, commit: Commit) -> tuple[Ref, Commit]:
        """The same as a commit, and the branch whose manifest holds it."""
        if not commit.is_maintenance:
            return owner, commit
        home, found = self.find(owner, self.logical_id(owner, commit))
        return (owner, commit) if found is None else (home, found)

    def laid_out(self, owner: Ref, commit: Commit) -> tuple[Ref, Commit]:
        """The layout to read of a commit, and the branch whose manifest holds it; `HistoryReclaimed` if there is none left.

        Maintenance is a layout itself. As long as it is there, it is the one that was named.
        """
        gone = reclaimed(self._place)
        if commit.is_maintenance and not gone.lacks(owner, commit.seq):
            return owner, commit
        home, logical = self.logical_commit(owner, commit)
        for layout in layouts(self._manifest(home.incarnation), logical):
            if not gone.lacks(home, layout.seq):
                return home, layout
        raise HistoryReclaimed(f"commit {logical.id} was reclaimed")

    def layouts(self, owner: Ref, commit: Commit) -> list[int]:
        """The numbers of a commit and of its other layouts."""
        return [layout.seq for layout in layouts(self._manifest(owner.incarnation), commit)]
