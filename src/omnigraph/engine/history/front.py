"""The part of the front door that is about the past: `g.diff`, `g.changes`, `g.merge`, `g.revert` and their kin."""

from __future__ import annotations

from abc import ABC, abstractmethod

from omnigraph.catalog.catalog import Catalog
from omnigraph.engine.calls import arguments
from omnigraph.engine.calls.arguments import State, name_of
from omnigraph.engine.calls.guard import door
from omnigraph.engine.history.baseline import Baseline
from omnigraph.engine.history.blocks import Block
from omnigraph.engine.history.changes import Filter
from omnigraph.engine.history.conflicts import Resolve
from omnigraph.engine.history.diff import Diff
from omnigraph.engine.history.feed import DEFAULT_BYTES, DEFAULT_CHANGES, DEFAULT_COMMITS, ChangePage, Limits
from omnigraph.engine.history.merge import Merge, Wanted
from omnigraph.engine.history.past import Names, Past
from omnigraph.engine.snapshot.view import View
from omnigraph.storage.graph_store import MAIN


class PastMethods(ABC):
    """What a graph can say about its past, and do with it. `Graph` has it, and gives it the two methods it needs."""

    past: Past

    @abstractmethod
    def view(self, branch: str | None = None, at: State | None = None) -> View:
        """One coherent view."""

    @abstractmethod
    def _after_write(self, branch: str, catalog: Catalog) -> None:
        """Something was committed to a branch."""

    @door()
    def diff(self, before: State, after: State, *, kinds: Names = None, types: Names = None, ops: Names = None) -> Diff:
        """What differs between two branches, tags or commits. What it costs follows what differs.

        d = g.diff("main", "agent/7", types="Person", ops=["insert", "update"])
        d.stats, d.changes, print(d)
        """
        return self.past.diff(name_of(before), name_of(after), kinds, types, ops)

    @door()
    def changes(
        self,
        since: str = "now",
        *,
        branch: str = MAIN,
        limit: int = DEFAULT_CHANGES,
        max_bytes: int = DEFAULT_BYTES,
        max_commits: int = DEFAULT_COMMITS,
        kinds: Names = None,
        types: Names = None,
        ops: Names = None,
    ) -> ChangePage:
        """What was committed to a branch since a cursor, `now`, the `beginning`, or `after:<commit>`: a page of it.

        page = g.changes(since="beginning")
        while not page.caught_up:
            page = g.changes(since=page.next)
        """
        return self.past.changes(branch, since, Filter.of(kinds, types, ops), Limits(limit, max_bytes, max_commits))

    @door()
    def commit_changes(
        self,
        commit: State,
        *,
        page_token: str | None = None,
        limit: int = DEFAULT_CHANGES,
        max_bytes: int = DEFAULT_BYTES,
        kinds: Names = None,
        types: Names = None,
        ops: Names = None,
    ) -> Block:
        """What one commit changed, against its first parent. `next_page_token` leads to the rest, if there is any."""
        return self.past.commit_changes(name_of(commit), Filter.of(kinds, types, ops), Limits(limit, max_bytes), page_token)

    @door()
    def baseline(self, branch: str = MAIN, *, kinds: Names = None, types: Names = None, ops: Names = None) -> Baseline:
        """Everything at the newest commit of a branch, and the cursor to follow its changes from there.

        `ops` is for the cursor only.
        """
        return self.past.baseline(branch, Filter.of(kinds, types, ops))

    @door(source=arguments.branch)
    def merge(
        self,
        source: str,
        into: str = MAIN,
        *,
        dry_run: bool = False,
        resolve: Resolve = None,
        strict: bool = False,
        actor: str | None = None,
        message: str | None = None,
    ) -> Merge:
        """Merge a branch into another, as one commit with two parents.

        Two sides that changed different properties of one entity are merged; with `strict` that is a conflict too. Conflicts are
        raised as `MergeConflict`, all together, and nothing is changed; `dry_run` gives them, and what would change, without
        raising. `resolve` is `"ours"` (the branch that is merged into), `"theirs"`, or a mapping from the keys of conflicts to a
        side or to values.

            g.merge("agent/7", resolve={"divergent_update:node:Person:Ada": {"age": 40}})
        """
        return self._done(self.past.merge(source, into, Wanted(dry_run, resolve, strict, actor, message)))

    @door()
    def revert(
        self,
        commit: State,
        branch: str = MAIN,
        *,
        dry_run: bool = False,
        resolve: Resolve = None,
        strict: bool = False,
        actor: str | None = None,
        message: str | None = None,
    ) -> Merge:
        """Undo what a commit did, by a new commit. What happened to the same entities since comes up as conflicts, as in a merge:
        `ours` is the branch as it is, `theirs` the state before the commit."""
        return self._done(self.past.revert(name_of(commit), branch, Wanted(dry_run, resolve, strict, actor, message)))

    def _done(self, merge: Merge) -> Merge:
        if merge.commit is not None:
            self._after_write(merge.into, self.view(merge.into).catalog)
        return merge
