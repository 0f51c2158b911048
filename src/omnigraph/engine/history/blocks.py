"""What one commit changed: a block, the commit against its first parent.

A merge therefore tells what entered its branch. Commits that wrote equal values again are empty blocks; so is maintenance, if
somebody asks for it by its id.
The first commit of a graph has no parent, and is refused with an error of its own. A commit that changed the schema says so in
its block, and rows are compared by the identity of types and properties (`omnigraph.engine.history.evolution`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field
from typing import Any

from omnigraph.catalog.catalog import Catalog
from omnigraph.engine.history.changes import Change, ChangeList, Filter
from omnigraph.engine.history.commit_log import CommitLog
from omnigraph.engine.history.deltas import Deltas, Type, types_of
from omnigraph.engine.history.evolution import SchemaChange, incomparable
from omnigraph.errors import ChangeFeedGap, HistoryReclaimed, ParentlessCommit, SchemaBoundary
from omnigraph.hints import Action, Hint
from omnigraph.model.frozen import frozen
from omnigraph.model.phrases import ago, by_actor, counted, one_line, short_id
from omnigraph.storage.commits.lineage import Commit
from omnigraph.storage.commits.reclaimed_commits import Reclaimed
from omnigraph.storage.tables.changes import TableState


@frozen(slots=False)
class Cause:
    """The commit behind some changes."""

    commit: str
    parent: str | None
    merged_parent: str | None
    branch: str
    """Where it was made."""
    actor: str | None
    created_at: int
    """Microseconds since the epoch."""

    @classmethod
    def of(cls, commit: Commit) -> Cause:
        """The cause that a commit is."""
        return cls(commit.id, commit.parent, commit.merged_parent, commit.branch, commit.actor, commit.created_at)

    def __repr__(self) -> str:
        return one_line(f"Commit {short_id(self.commit)} on {self.branch}{by_actor(self.actor)}, {ago(self.created_at)}")

    def to_dict(self) -> dict[str, Any]:
        """The cause as JSON-ready data."""
        data: dict[str, Any] = {"graph_commit_id": self.commit}
        for name, value in (("parent_commit_id", self.parent), ("merged_parent_commit_id", self.merged_parent)):
            if value is not None:
                data[name] = value
        data["authored_branch"] = self.branch
        if self.actor is not None:
            data["actor_id"] = self.actor
        data["authored_at"] = self.created_at
        return data


@frozen(slots=False)
class Block:
    """Changes of one commit, or the part of them that is on a page."""

    cause: Cause
    changes: list[Change] = field(default_factory=list)
    next_page_token: str | None = None
    """Where the rest begins, when these are the changes of a single commit and there are more."""
    schema: SchemaChange | None = None
    """What the commit did to the schema, if it did; comes before the changes, and with the first of them."""

    def __repr__(self) -> str:
        schema = "" if self.schema is None else " and the schema"
        more = "" if self.next_page_token is None else ", and more on the next page"
        commit = f"commit {short_id(self.cause.commit)} on {self.cause.branch}{by_actor(self.cause.actor)}"
        return one_line(f"Block: {counted(len(self.changes), 'change')}{schema} in {commit}, {ago(self.cause.created_at)}{more}")

    def to_dict(self) -> dict[str, Any]:
        """The block as JSON-ready data."""
        data: dict[str, Any] = {"cause": self.cause.to_dict()}
        if self.schema is not None:
            data["schema"] = self.schema.to_dict()
        data["changes"] = [change.to_dict() for change in self.changes]
        if self.next_page_token is not None:
            data["next_page_token"] = self.next_page_token
        return data


CatalogOf = Callable[[Commit], Catalog]
"""The schema a commit is written in."""


class Blocks:
    """Reads blocks."""

    def __init__(self, deltas: Deltas, log: CommitLog) -> None:
        self._deltas = deltas
        self._log = log

    def changes(self, commit: Commit, catalog_of: CatalogOf, chosen: Filter, gone: Reclaimed) -> ChangeList:
        """What a commit changed, as far as it is wanted."""
        catalog = catalog_of(commit)
        if commit.parent is None:
            raise ParentlessCommit(f"commit {commit.id} is the first of its graph and has no parent", commit=commit.id)
        if commit.is_maintenance or not commit.changes:
            return ChangeList((), catalog.ir.domain)
        after = types_of(catalog)
        parent = self._log.get(commit.parent)
        before = after if parent.schema == commit.schema else types_of(catalog_of(parent))
        found = []
        try:
            for table, first, second in self._ends(commit, commit.parent, gone):
                old, new = before.get(table), after.get(table)
                if not any(type_ is not None and chosen.wants(type_) for type_ in (old, new)):
                    continue
                if old is not new:
                    _require_comparable(commit, old, new)
                delta = self._deltas.of_pins(old, first, new, second)
                if delta is not None:
                    found.append(chosen.applied(delta))
        except HistoryReclaimed:
            raise gap(commit) from None
        return ChangeList(found, catalog.ir.domain)

    def _ends(self, commit: Commit, parent: str, gone: Reclaimed) -> Iterator[tuple[str, TableState | None, TableState | None]]:
        """What a commit touched, before and after. Where those layouts were reclaimed, others say the same."""
        reopened = self._is_gone(commit.id, gone) or self._is_gone(parent, gone)
        if not reopened:
            yield from ((change.table, change.before, change.after) for change in commit.changes)
            return
        first, second = self._log.snapshot(parent).tables, self._log.snapshot(commit.id).tables
        yield from ((change.table, first.get(change.table), second.get(change.table)) for change in commit.changes)

    def schema(self, commit: Commit, catalog_of: CatalogOf, chosen: Filter) -> SchemaChange | None:
        """What a commit did to the schema; None: nothing."""
        if commit.parent is None:
            return None
        parent = self._log.get(commit.parent)
        if parent.schema == commit.schema:
            return None
        return SchemaChange.between(catalog_of(parent), catalog_of(commit), chosen)

    def _is_gone(self, commit: str, gone: Reclaimed) -> bool:
        home = self._log.home(commit)
        if home is None:
            return False
        return gone.holds(home.incarnation, self._log.get(commit).seq) or home.incarnation in gone.manifests


def _require_comparable(commit: Commit, old: Type | None, new: Type | None) -> None:
    name = None if old is None or new is None else incomparable(old, new)
    if name is not None:
        assert new is not None
        raise SchemaBoundary(
            f"commit {commit.id} gave {new.name}.{name} another type: its values before and after cannot be compared",
            commit=commit.id,
            type_name=new.name,
            hint=Hint("Take a new baseline (", Action("baseline"), ") and go on from its cursor."),
        )


def gap(commit: Commit, cursor: str | None = None) -> ChangeFeedGap:
    """The error for changes that cannot be read any more."""
    return ChangeFeedGap(
        f"change feed gap at commit {commit.id}: what it changed was reclaimed",
        first_unreadable_commit_id=commit.id,
        cursor=cursor,
    )
