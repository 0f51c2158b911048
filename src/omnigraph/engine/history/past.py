"""The history of an open graph behind one interface: diff, changes, baselines, merge and revert.

Everything read of a commit stays true, so it is remembered here as long as the graph is open.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache, partial
from itertools import islice

from omnigraph.catalog.catalog import Catalog
from omnigraph.engine.export.entities import Key, keys_of, type_of, wanted_id
from omnigraph.engine.history.asked import digest_of
from omnigraph.engine.history.baseline import Baseline, chunks_of
from omnigraph.engine.history.blocks import Block, Blocks
from omnigraph.engine.history.changes import ChangeList, Filter
from omnigraph.engine.history.commit_log import CommitLog
from omnigraph.engine.history.cursors import rejected, write_token
from omnigraph.engine.history.deltas import Deltas, types_of
from omnigraph.engine.history.diff import Diff, End
from omnigraph.engine.history.entity import EntityHistories, EntityHistory
from omnigraph.engine.history.evolution import SchemaChange
from omnigraph.engine.history.feed import ChangePage, Feed, Limits, Line
from omnigraph.engine.history.merge import Merge, Merger, Wanted
from omnigraph.engine.history.parting import paired
from omnigraph.engine.history.repeats import Keyed, Repeats
from omnigraph.engine.history.row_delta import DELETE, RowDelta
from omnigraph.engine.snapshot.view import View, Workspace
from omnigraph.engine.snapshot.views import Views
from omnigraph.errors import HistoryReclaimed, NotFound, ParentlessCommit
from omnigraph.hints import Action, Hint
from omnigraph.storage.commits.lineage import Commit
from omnigraph.storage.commits.name_rules import reads_like_id
from omnigraph.storage.commits.reclaimed_commits import reclaimed
from omnigraph.storage.graph_store import Snapshot

Names = Iterable[str] | str | None


class Past:
    """The history of one open graph. Safe from any thread."""

    def __init__(self, workspace: Workspace, views: Views) -> None:
        self._workspace = workspace
        self._store = workspace.store
        self._view = views.view
        self._catalog = views.catalog
        self.log = CommitLog(self._store)
        self.repeats = Repeats(self._store)
        self.deltas = Deltas(workspace, self.log, views.catalog)
        self._feed = Feed(Blocks(self.deltas, self.log), self.log)
        self.entities = EntityHistories(self._store, self.log, self._catalog_of)
        self._merger = Merger(self._store, self.deltas, self.log, views.view, self.view_at)

    def view_at(self, commit: str) -> View:
        """The graph at a commit, also one that is known from a merge only."""
        snapshot = self.log.snapshot(commit)
        return View(self._workspace, snapshot, self._catalog(snapshot))

    def is_layout(self, commit: str, of: str) -> bool:
        """Whether a commit is another layout of a logical one."""
        try:
            return reads_like_id(commit) and self.log.logical(commit).id == of
        except (HistoryReclaimed, NotFound):
            return False

    def named(self, name: str) -> View:
        """The graph by a name, as `GraphStore.resolve` reads it."""
        if not reads_like_id(name) and self._store.is_branch(name):
            view = self._view(name)
            self.log.see(self._store.ref(name))
            return view
        snapshot = self._store.snapshot_at(name)
        return View(self._workspace, snapshot, self._catalog(snapshot))

    def commit(self, name: str, *, maintenance: bool) -> Commit:
        """A commit by a name, as people see it."""
        found = self.log.get(name) if reads_like_id(name) else self._store.resolve(name)[1]
        return self.log.shown(found if maintenance else self.log.logical(found.id), maintenance=maintenance)

    def commits(self, branch: str, limit: int | None, *, maintenance: bool) -> list[Commit]:
        """Commits of a branch along its first parents, newest first, as people see them."""
        line = (c for c in self._store.line(branch, limit) if maintenance or not c.is_maintenance)
        return [self.log.shown(c, maintenance=maintenance) for c in islice(line, limit)]

    def history(self, branch: str, type_: str, key: Key | None, id_: str | None, limit: int | None) -> EntityHistory:
        """Every commit of a branch that changed an entity, which is named by its key or its id."""
        view = self._view(branch)
        self.log.see(self._store.ref(branch))
        found = type_of(view.catalog, type_)
        return self.entities.of(view, branch, found, wanted_id(keys_of(view), found, key, id_), limit)

    # ── comparing ────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def diff(self, before: str, after: str, kinds: Names, types: Names, ops: Names) -> Diff:
        """Two states compared."""
        return self._compared((before, self.named(before)), (after, self.named(after)), kinds, types, ops)

    def between(self, before: str, after: str) -> Diff:
        """Two commits compared, also such that are known from a merge only."""
        return self._compared((before, self.view_at(before)), (after, self.view_at(after)), None, None, None)

    def _compared(self, before: tuple[str, View], after: tuple[str, View], kinds: Names, types: Names, ops: Names) -> Diff:
        (before_name, old), (after_name, new) = before, after
        chosen = Filter.of(kinds, types, ops)
        chosen.check(old.catalog, new.catalog)
        parted = self.deltas.parted(old, new)
        if parted is None:
            chosen = chosen.following((), old.catalog, new.catalog)
            every = {**types_of(old.catalog), **types_of(new.catalog)}
            found = self.deltas.between(old, new, [key for key, type_ in every.items() if chosen.wants(type_)])
        else:
            found = self._apart(old, new, parted, chosen)
        deltas = [chosen.applied(delta) for delta in found]
        now = types_of(new.catalog)
        pins = {now[key].name: state.version for key, state in new.snapshot.tables.items() if key in now}
        ends = [End(name, c.id, c.number) for name, c in ((before_name, self._seen(old)), (after_name, self._seen(new)))]
        schema = SchemaChange.of(old, new, Filter.of(kinds, types, ()))
        return Diff(ends[0], ends[1], ChangeList(deltas, new.catalog.ir.domain), pins, schema)

    def _seen(self, view: View) -> Commit:
        return self.log.shown(self.log.get(view.snapshot.commit))

    def _apart(self, old: View, new: View, parted: int, chosen: Filter) -> Iterator[RowDelta]:
        for pair in paired(old.catalog, new.catalog, parted):
            if any(chosen.wants(type_) for type_ in pair.sides):
                delta = self.deltas.of_types(old, (pair.before, pair.before_key), new, (pair.after, pair.after_key), parted)
                if delta is not None and not delta.is_empty:
                    yield delta

    # ── changes ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _line(self, branch: str) -> Line:
        view = self._view(branch)
        ref = self._store.ref(branch)
        self.log.see(ref)
        head, layout = self.log.get(view.snapshot.commit), self.log.get(view.snapshot.layout)
        gone = cache(lambda: reclaimed(self._store.place))
        return Line(ref, head.id, head.seq, layout.seq, view.catalog.ir.domain, self._catalog_of, gone)

    def _catalog_of(self, commit: Commit) -> Catalog:
        return self._catalog(Snapshot(commit.branch, commit.id, commit.schema, {}, commit.id))

    def changes(self, branch: str, since: str, chosen: Filter, limits: Limits) -> ChangePage:
        """A page of the change feed."""
        line = self._line(branch)
        return self._feed.page(line, self._feed.start(line, since, chosen), chosen, limits)

    def commit_changes(self, commit: str, chosen: Filter, limits: Limits, token: str | None) -> Block:
        """What one commit changed."""
        found = self._commit(commit)
        ends = [found] if found.parent is None else [self._commit(found.parent), found]
        catalogs = [self._catalog_of(end) for end in ends]
        chosen.check(*catalogs)
        chosen = chosen.following((), *catalogs)
        return self._feed.block(found, self._catalog_of, reclaimed(self._store.place), chosen, limits, token)

    def stretch(
        self, branch: str, since: str, chosen: Filter, most: int | None = None, until: str | None = None
    ) -> tuple[str, str]:
        """The cursor a text means, and the one after the commits that follow it: at most so many, and none behind a cursor.

        Reads no change.
        """
        line = self._line(branch)
        start = self._feed.start(line, since, chosen)
        if start.kind != "cursor":
            raise rejected("it points inside a commit")
        last = line.number if until is None else self._feed.start(line, until, chosen).number
        if most is not None:
            run = self.log.logical_after(line.ref, start.number, last, most)
            last = run[-1].seq if len(run) == most else last
        return write_token(start), write_token(self._feed.end(line, start, chosen, last))

    def commits_of(self, branch: str, start: str, end: str, chosen: Filter) -> list[tuple[Commit, Filter]]:
        """The commits between two cursors, oldest first, each with what is wanted of it."""
        line = self._line(branch)
        first, last = (self._feed.start(line, cursor, chosen) for cursor in (start, end))
        return self._feed.commits(line, first, chosen, last.number)

    def changes_of(self, commit: str, chosen: Filter) -> ChangeList:
        """Everything one commit changed."""
        found = self._commit(commit)
        return self._feed.every(found, self._catalog_of, reclaimed(self._store.place), chosen)

    def written(self, commit: Commit) -> dict[str, dict[str, int]]:
        """How many entities a commit wrote or removed, by kind and type."""
        found: dict[str, dict[str, int]] = {"node": {}, "edge": {}}
        for _, delta in self.changes_of(commit.id, Filter()).deltas:
            found["node" if delta.is_node else "edge"][delta.type.name] = len(delta.ids)
        return found

    def removed(self, commit: Commit) -> dict[str, int]:
        """How many entities of each type a commit removed."""
        found = {delta.type.name: delta.count(DELETE) for _, delta in self.changes_of(commit.id, Filter()).deltas}
        return {name: count for name, count in found.items() if count}

    def baseline(self, branch: str, chosen: Filter) -> Baseline:
        """Everything at the newest commit of a branch, and the cursor after it."""
        line = self._line(branch)
        view = self._view(branch)
        if view.snapshot.commit != line.head:  # somebody has committed meanwhile
            view = self.view_at(line.head)
        chosen.check(view.catalog)
        cursor = write_token(self._feed.start(line, "now", chosen))
        return Baseline(line.head, cursor, branch, partial(chunks_of, view, chosen))

    # ── merging ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def merge(self, source: str, into: str, wanted: Wanted) -> Merge:
        """Merge a branch into another."""
        if not wanted.dry_run:
            self._store.require_writable()
        keyed = None
        if wanted.idempotency_key is not None and not wanted.dry_run:
            asked = digest_of("merge", into, wanted.actor, source, wanted.strict, wanted.resolve)
            keyed = Keyed(into, wanted.idempotency_key, "merge", asked)
            wanted = replace(wanted, asked=asked)
        return self.repeats.once(
            keyed,
            lambda: self._merger.merge(source, into, wanted),
            lambda commit: self._merger.merged(source, into, self.log.shown(commit)),
        )

    def base(self, source: str, into: str) -> str:
        """The commit where two branches parted."""
        return self._merger.base(source, into)

    def revert(self, commit: str, branch: str, wanted: Wanted) -> Merge:
        """Undo a commit on a branch."""
        if not wanted.dry_run:
            self._store.require_writable()
        found = self._commit(commit)
        if found.parent is None:
            raise ParentlessCommit(f"commit {commit} is the first of its graph: there is no state before it", commit=commit)
        return self._merger.revert(found, branch, wanted)

    def _commit(self, name: str) -> Commit:
        try:
            return self.log.get(name) if reads_like_id(name) else self.log.logical(self._store.resolve(name)[1].id)
        except (HistoryReclaimed, NotFound):
            raise NotFound(
                f"no commit `{name}`", what="commit", name=name, hint=Hint(Action("list_commits"), " lists those of a branch.")
            ) from None
