"""Commits by id and along first parents, remembered.

A commit never changes, so what was read once need not be read again. Commits are read in runs, because whoever asks for one
mostly asks for its parents next; so walking back costs one look at a manifest per `RUN` commits.

Along first parents commits are numbered without gaps, and a branch goes on counting where it began. So "the fifty commits after
number 120, as seen from branch work" needs no walk: the refs say which manifest holds which numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from omnigraph.errors import GraphError, HistoryReclaimed, NotFound
from omnigraph.storage.commits.lineage import Commit, DamagedCommit, Logical
from omnigraph.storage.commits.refs import Ref
from omnigraph.storage.graph_store import MAIN, GraphStore, Snapshot

RUN = 64
"""Commits read at once."""

REMEMBERED = 4_096
"""Most commits kept in memory."""


class CommitLog:
    """The commits of a stored graph. Safe from any thread."""

    def __init__(self, store: GraphStore) -> None:
        self._store = store
        self._known: dict[str, Commit] = {}
        self._homes: dict[str, Ref] = {}
        self._hints: dict[str, Ref] = {}
        """For commits that are not known yet: a branch they are an ancestor of."""

    def see(self, ref: Ref) -> None:
        """Take note of a branch: what its manifest has at hand anyway is not looked for later."""
        state = self._store.manifest(ref).load()
        self._hints.setdefault(state.head.commit, ref)
        self._remember(ref, state.recent)

    def get(self, commit: str) -> Commit:
        """A commit, also one that a merge brought along from a branch that is gone."""
        known = self._known.get(commit)
        if known is None:
            known = self._known[commit] = self._read(commit)
        return known

    def parents(self, commit: str) -> tuple[str, ...]:
        """The parents of a commit, first parent first."""
        return self.get(commit).parents

    # ── as people see it ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def logical(self, commit: str) -> Commit:
        """The logical commit that a commit is, or lays out."""
        found = self.get(commit)
        while found.is_maintenance and found.logical is None and found.parent is not None:
            found = self.get(found.parent)
        return self.get(found.logical.id) if found.is_maintenance and found.logical is not None else found

    def logical_parents(self, commit: str) -> tuple[str, ...]:
        """The parents of a logical commit among logical ones, first parent first."""
        return tuple(self.logical(parent).id for parent in self.get(commit).parents)

    def shown(self, commit: Commit, *, maintenance: bool = False) -> Commit:
        """A commit with the number and the parents that it has among logical ones; among all of them, if that is asked for."""
        if isinstance(commit, DamagedCommit):
            return commit
        shown = replace(commit, logical=self._place(commit)).shown()
        return replace(shown, parent=commit.parent, merged_parent=commit.merged_parent) if maintenance else shown

    def _place(self, commit: Commit) -> Logical:
        if commit.logical is not None:
            return commit.logical
        home = self.home(commit.id)  # None: brought along by a merge, and its line is in no manifest
        place = Logical(commit.id, commit.seq) if home is None else self._store.history.logical(home, commit)
        parents = [None if parent is None else self._logical_id(parent) for parent in (commit.parent, commit.merged_parent)]
        return replace(place, parent=parents[0], merged_parent=parents[1])

    def _logical_id(self, commit: str) -> str:
        try:
            return self.logical(commit).id
        except GraphError:  # its branch is gone, or cannot be read; the id is what is known
            return commit

    # ── along first parents ──────────────────────────────────────────────────────────────────────────────────────────────────

    def home(self, commit: str) -> Ref | None:
        """The branch in whose manifest a commit was found; None: it was found among those a merge brought along."""
        self.get(commit)
        return self._homes.get(commit)

    def first_parents(self, commit: str, number: int) -> list[Commit]:
        """A commit and its first parents, youngest first, down to the one above a number."""
        found = []
        current: Commit | None = self.get(commit)
        while current is not None and current.seq > number:
            found.append(current)
            current = None if current.parent is None else self.get(current.parent)
        return found

    def after(self, ref: Ref, number: int, last: int) -> list[Commit]:
        """The commits of a branch above a number, up to another, oldest first."""
        found: list[Commit] = []
        for current in ref.ancestry():
            below = -1 if current.fork_commit is None else self._fork(current)
            low = max(number, below)
            if last > low:
                run = self._store.manifest(current).history(before=last + 1, limit=last - low)
                self._remember(current, run)
                found += [c for c in run if c.seq > low]
                last = low
            if last <= number:
                break
        return found[::-1]

    def logical_after(self, ref: Ref, number: int, last: int, most: int | None = None) -> list[Commit]:
        """The same without maintenance, and at most so many."""
        found: list[Commit] = []
        while number < last and (most is None or len(found) < most):
            until = last if most is None else min(last, number + most - len(found))
            found += [c for c in self.after(ref, number, until) if not c.is_maintenance]
            number = until
        return found

    def on_branch(self, ref: Ref, number: int) -> dict[str, int]:
        """Per manifest that holds first parents of a branch, the number of the last one in it; the branch is at `number`."""
        found = {}
        for current in ref.ancestry():
            found[current.incarnation] = number
            if current.fork_commit is not None:
                number = self._fork(current)
        return found

    def _fork(self, ref: Ref) -> int:
        """The number of the commit a branch was made of."""
        assert ref.fork_commit is not None
        if ref.origin is not None:
            self._hints.setdefault(ref.fork_commit, ref.origin)
        return self.get(ref.fork_commit).seq

    def snapshot(self, commit: str) -> Snapshot:
        """The graph as a commit left it, also when only a merge knows it: then its parents' tables, changed as it says."""
        carried: list[Commit] = []
        current = self.get(commit)
        while True:
            try:
                start = self._opened(current)
                break
            except HistoryReclaimed:
                if current.parent is None or self._has_a_branch(current.id):
                    raise
                carried.append(current)
                current = self.get(current.parent)
        tables = dict(start.tables)
        for change in (change for step in reversed(carried) for change in step.changes):
            if change.after is None:
                tables.pop(change.table, None)
            else:
                tables[change.table] = change.after
        if not carried:
            return start
        shown = self.logical(commit)
        return Snapshot(shown.branch, shown.id, carried[0].schema, tables, commit)

    def _opened(self, commit: Commit) -> Snapshot:
        home = self._homes.get(commit.id)
        if home is None:
            return self._store.snapshot_at(commit.id)
        try:
            return self._store.opened(home, commit)
        except NotFound:  # the branch is gone, and its manifest too
            return self._store.snapshot_at(commit.id)

    def _has_a_branch(self, commit: str) -> bool:
        try:
            self._store.locate(commit)
        except HistoryReclaimed:
            return False
        return True

    def _read(self, commit: str) -> Commit:
        hint = self._hints.get(commit)
        refs = () if hint is None else tuple(hint.ancestry())
        for carried in (False, True):
            for ref in refs:
                try:
                    found = self._store.manifest(ref).find(commit, carried=carried)
                except NotFound:  # the branch is gone for good
                    continue
                if found is not None:
                    return self._read_run(ref, found) if not carried else self._carried(ref, found)
        self.see(self._store.ref(MAIN))  # where most people look, and at hand
        if commit in self._known:
            return self._known[commit]
        try:
            owner, found = self._store.locate(commit)
        except HistoryReclaimed:
            return self._store.commit(commit)
        return self._read_run(owner, found)

    def _read_run(self, owner: Ref, last: Commit) -> Commit:
        self._remember(owner, [last, *self._store.manifest(owner).history(before=last.seq, limit=RUN - 1)])
        return last

    def _carried(self, ref: Ref, commit: Commit) -> Commit:
        for one in (commit, *self._store.manifest(ref).carried(below=commit.seq, above=commit.seq - RUN)):
            self._known.setdefault(one.id, one)
            for parent in () if isinstance(one, DamagedCommit) else one.parents:
                self._hints.setdefault(parent, ref)
        return commit

    def _remember(self, owner: Ref, commits: Sequence[Commit]) -> None:
        if len(self._known) > REMEMBERED:
            self._known, self._homes, self._hints = {}, {}, {}
        for commit in commits:
            self._homes[commit.id] = owner
            self._known[commit.id] = commit
            for parent in () if isinstance(commit, DamagedCommit) else commit.parents:
                if parent not in self._known:
                    self._hints.setdefault(parent, owner)
