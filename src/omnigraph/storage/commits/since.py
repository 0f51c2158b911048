"""What happened on a branch since a commit: the commits, and by table the rows that they were about.

A plan that was prepared on an older state asks whether any of that is its business. In a group of sixteen each is asked about
those before it; commit by commit that would be a hundred and twenty questions. So the names that commits have noted down are
collected once, as commits come, and a question is whether two sets share anything:

    m8: Person came eve                       Person     ids eve, bob    went bob
    m9: Person went bob, Knows came a1        Knows      ids a1          ends ada, cy

Names are collected when somebody asks for them: of a commit whose record is damaged, only whoever needs it is told.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import overload

from omnigraph.storage.commits.lineage import Commit, TableChange


class Touched:
    """What commits did to one table."""

    def __init__(self) -> None:
        self.changes: list[TableChange] = []
        """Those of logical commits."""
        self.maintained = False
        """Maintenance laid it out anew."""
        self.is_named = True
        """Every logical change has noted down its rows."""
        self.ids: set[str] = set()
        """Rows that came, went, or have another image."""
        self.went: set[str] = set()
        self.ends: set[str] = set()
        self.values: set[str] = set()

    def add(self, change: TableChange, *, maintenance: bool) -> None:
        if maintenance:
            self.maintained = True
            return
        self.changes.append(change)
        named = change.named
        if named is None:
            self.is_named = False
            return
        self.ids.update(named.came)
        if named.went:
            self.ids.update(named.went)
            self.went.update(named.went)
        if named.ends:
            self.ends.update(named.ends)
        if named.values:
            self.values.update(named.values)

    def touches(self, ids: Collection[str]) -> bool:
        """Whether one of these rows may have come, gone, or changed."""
        return not self.is_named or not self.ids.isdisjoint(ids)


_NOTHING = Touched()


class Since(Sequence[Commit]):
    """Commits of a branch after some commit, oldest first. More may come."""

    def __init__(self, commits: Iterable[Commit] = ()) -> None:
        self._commits = list(commits)
        self.is_logical = not all(commit.is_maintenance for commit in self._commits)
        """Whether one of them is more than maintenance."""
        self._collected = 0
        self._tables: dict[str, Touched] = {}

    def append(self, commit: Commit) -> None:
        """One more."""
        self._commits.append(commit)
        self.is_logical = self.is_logical or not commit.is_maintenance

    def __len__(self) -> int:
        return len(self._commits)

    @overload
    def __getitem__(self, at: int) -> Commit: ...
    @overload
    def __getitem__(self, at: slice) -> list[Commit]: ...
    def __getitem__(self, at: int | slice) -> Commit | list[Commit]:
        return self._commits[at]

    def __iter__(self) -> Iterator[Commit]:
        return iter(self._commits)

    def of(self, table: str) -> Touched:
        """What they did to a table."""
        return self.tables.get(table, _NOTHING)

    @property
    def tables(self) -> dict[str, Touched]:
        """What they did, by table."""
        while self._collected < len(self._commits):
            commit = self._commits[self._collected]
            for change in commit.changes:
                known = self._tables.get(change.table)
                if known is None:
                    known = self._tables[change.table] = Touched()
                known.add(change, maintenance=commit.is_maintenance)
            self._collected += 1
        return self._tables

    @property
    def is_named(self) -> bool:
        """Whether every logical change has noted down its rows."""
        return all(touched.is_named for touched in self.tables.values())

    def changed(self, tables: Iterable[str]) -> bool:
        """Whether one of some tables says something else than before, or may."""
        known = self.tables
        return any(table in known and known[table].changes for table in tables)
