"""Merging a branch into another, and undoing a commit.

Where two branches parted is found over the real graph of commits, merged parents included. Then there are three cases:

    already_up_to_date   the target has everything; no commit
    fast_forward         the target has nothing of its own: it takes the tables that the source changed as they are; no row is
                         read or written
    merged               both have something: theirs is combined with ours (`combine`), validated, and written on top of ours

Each merge but the first kind is one commit with two parents. It carries along the source's commits, so that the lineage (and the
next merge base) survives the deletion of the source. Maintenance does not count as something of one's own. A fast-forward takes
over the schema too; two sides that both have something must have one schema by now, whatever it was when they parted.

**What is written.** A table that only theirs changed is taken over by its pin. Rows that theirs only added, in data files of
their own, are grafted: the files are named by the target too. Everything else is written again, as few rows as were changed.

**Somebody else.** A commit to the target while the merge is prepared makes it void if it touched anything the merge looked at;
then it is prepared again, against the new state, a bounded number of times. Nothing is ever merged against a state that is gone.

A revert is the same thing with other ends: the commit is the base, its parent is theirs. What happened later to the same
entities comes up as conflicts. The schema may have changed since: types and properties are known by identity, so what was
renamed is brought back under its new name, what was dropped since is not brought back, and what has become a rule since is
checked. A commit of a branch whose schema changed apart is read in the terms of the branch it is undone on (`parting`). Only a
commit that changed the schema itself cannot be reverted, whether it touched rows or not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import field, replace
from typing import Any, Literal, Protocol

from omnigraph.engine.history.changes import ChangeList
from omnigraph.engine.history.combine import Combination, Combined, Combiner
from omnigraph.engine.history.commit_log import CommitLog
from omnigraph.engine.history.conflicts import Conflict, Resolutions, Resolve, refused
from omnigraph.engine.history.deltas import Deltas
from omnigraph.engine.history.diff import lines_of
from omnigraph.engine.history.evolution import SchemaChange
from omnigraph.engine.history.parting import in_terms_of
from omnigraph.engine.history.row_delta import DELETE, INSERT, UPDATE
from omnigraph.engine.snapshot.view import View
from omnigraph.engine.write.changeset import typed
from omnigraph.engine.write.names import named
from omnigraph.engine.write.validate import relied_on
from omnigraph.errors import HistoryReclaimed, PreconditionFailed, ReadSetChanged, SchemaBoundary, UsageError
from omnigraph.hints import Action, Hint
from omnigraph.model.frozen import frozen
from omnigraph.model.limits import MAX_MERGE_ATTEMPTS
from omnigraph.model.phrases import LONGEST_LINE, by_actor, counted, one_line, short_id
from omnigraph.model.printable import printable
from omnigraph.storage.commits.lineage import Commit, OpClass, merge_base, merge_bases, nearest_ancestor
from omnigraph.storage.commits.manifest import ManifestState
from omnigraph.storage.commits.plan import PlannedChange, PublishPlan, Replacement
from omnigraph.storage.commits.since import Since
from omnigraph.storage.commits.waiting import Revalidate
from omnigraph.storage.graph_store import GraphStore
from omnigraph.storage.tables.changes import Append, Applied, Change, Delete, TableState, Upsert
from omnigraph.storage.tables.differences import fragments_apart, graft, same_columns, unlike

GRAFTED_ROWS = 1_024
"""Rows per data file from which files are grafted; smaller ones are better written together."""

Outcome = Literal["already_up_to_date", "fast_forward", "merged", "conflicts", "reverted", "nothing_to_revert"]


@frozen(slots=False)
class Merge:
    """What a merge or revert did, or would do."""

    outcome: Outcome
    """`conflicts` only in a preview; otherwise they are raised."""
    source: str
    """The branch that was merged, or the commit that was reverted."""
    into: str
    base: str
    """The commit where the two parted."""
    dry_run: bool = False
    commit: Commit | None = None
    """None when nothing was to be done, and in a preview."""
    conflicts: tuple[Conflict, ...] = ()
    changes: ChangeList | None = field(default=None, repr=False)
    """What would change about the target: in a preview."""
    actor: str | None = None
    schema: SchemaChange | None = None
    """What became, or would become, of the target's schema; None if it stays."""

    @property
    def is_revert(self) -> bool:
        """Whether it undoes a commit: what it starts from is that commit."""
        return self.source == self.base

    def to_dict(self) -> dict[str, Any]:
        """The outcome as JSON-ready data."""
        recorded = None if self.commit is None else self.commit.actor
        data: dict[str, Any] = {"source": self.source, "target": self.into, "outcome": self.outcome, "actor_id": recorded}
        if self.commit is not None:
            data["graph_commit_id"] = self.commit.id
        if self.schema is not None:
            data["schema"] = self.schema.to_dict()
        if self.dry_run:
            data["dry_run"] = True
            data["merge_conflicts"] = [conflict.to_dict() for conflict in self.conflicts]
            data["changes"] = [] if self.changes is None else [change.to_dict() for change in self.changes]
        return data

    def __repr__(self) -> str:
        undoes = f"Revert of {short_id(self.source)} on {self.into}"
        what = undoes if self.is_revert else f"Merge of {self.source} into {self.into}"
        outcome = counted(len(self.conflicts), "conflict") if self.conflicts else self.outcome.replace("_", " ")
        head = f"{what}: {outcome}{' (preview)' if self.dry_run else ''}"
        if self.commit is not None:
            head += f", commit {short_id(self.commit.id)}{by_actor(self.actor)}"
        head = one_line(head)
        lines = [head, *([] if self.schema is None else self.schema.lines)]
        lines += [line for c in self.conflicts for line in _conflict_lines(c)]
        if self.changes is not None and not self.conflicts:
            lines += [str(self.changes.stats), lines_of(self.changes)]
        return printable("\n".join(lines).rstrip())


def _conflict_lines(conflict: Conflict) -> tuple[str, str]:
    longest = 4 * LONGEST_LINE  # values of three sides, and a key that somebody copies
    return one_line(f"  {conflict.kind}: {conflict.message}", longest), one_line(f"      key {conflict.key}", longest)


class Gate(Protocol):
    """Who has a say in whether a branch is merged: a review."""

    def looks(self, commit: str) -> None:
        """Refuse to merge a commit of the source."""
        ...

    def lets_in(self, onto: str) -> str:
        """The last word before a merge is published on top of a commit of the target. Gives the key that its commit carries."""
        ...


@frozen(slots=False)
class Wanted:
    """How somebody wants a merge."""

    dry_run: bool = False
    resolve: Resolve = None
    strict: bool = False
    actor: str | None = None
    message: str | None = None
    idempotency_key: str | None = None
    asked: str | None = None
    """A digest of what it was asked to merge, if it may be repeated."""
    gate: Gate | None = None


class Merger:
    """Merges and reverts."""

    def __init__(
        self, store: GraphStore, deltas: Deltas, log: CommitLog, view: Callable[[str], View], view_at: Callable[[str], View]
    ) -> None:
        self._store = store
        self._deltas = deltas
        self._log = log
        self._view = view
        """The newest state of a branch."""
        self._view_at = view_at
        """The state at a commit."""

    # ── merge ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def merge(self, source: str, into: str, wanted: Wanted) -> Merge:
        """Merge a branch into another."""
        if source == into:
            raise UsageError(f"branch `{source}` cannot be merged into itself")
        return self._repeatedly(lambda: self._merge(source, into, wanted))

    def base(self, source: str, into: str) -> str:
        """The commit where two branches parted."""
        theirs, ours = self._view(source), self._view(into)
        for branch in (source, into):
            self._log.see(self._store.ref(branch))
        return self._parted(ours, theirs)[0]

    def merged(self, source: str, into: str, commit: Commit) -> Merge:
        """What a merge came to that a commit tells of."""
        assert commit.parent is not None
        assert commit.merged_parent is not None
        base = self._parted(self._view_at(commit.parent), self._view_at(commit.merged_parent))[0]
        outcome: Outcome = "fast_forward" if base == commit.parent else "merged"
        return Merge(outcome, source, into, base, commit=commit, actor=commit.actor)

    def _repeatedly(self, attempt: Callable[[], Merge]) -> Merge:
        for _ in range(MAX_MERGE_ATTEMPTS - 1):
            try:
                return attempt()
            except (ReadSetChanged, PreconditionFailed):  # somebody committed in between: look again
                continue
        return attempt()

    def _merge(self, source: str, into: str, wanted: Wanted) -> Merge:
        theirs, ours = self._view(source), self._view(into)
        if wanted.gate is not None:
            wanted.gate.looks(theirs.snapshot.commit)
        for branch in (source, into):
            self._log.see(self._store.ref(branch))
        bases = self._parted(ours, theirs)
        base = bases[0]
        carried = self._not_in(theirs.snapshot.layout, into, ours.snapshot.layout, base)
        if all(c.is_maintenance for c in carried):
            nothing = ChangeList((), ours.catalog.ir.domain) if wanted.dry_run else None
            return Merge("already_up_to_date", source, into, base, wanted.dry_run, changes=nothing, actor=wanted.actor)
        alone = base == ours.snapshot.commit
        parted = self._laid_out(base, ours, theirs)
        if alone:
            return self._fast_forward(source, into, ours, theirs, parted, carried, wanted)
        _require_one_schema(parted, ours, theirs, source, into)
        combined = Combiner(
            self._deltas,
            parted,
            ours,
            theirs,
            strict=wanted.strict,
            resolutions=Resolutions(wanted.resolve),
            other_bases=self._other_bases(bases, ours, parted),
            slim=not wanted.dry_run,
        ).run()
        if wanted.dry_run or combined.conflicts:
            return self._previewed(combined, "merged", source, into, base, wanted, "merge")
        plan = self._plan(combined, parted, ours, theirs, "merge", _let_in(wanted, ours))
        plan = replace(plan, merged_parent=theirs.snapshot.layout, merged_logical=theirs.snapshot.commit, carried=carried)
        commit = self._store.publish(into, plan, _merged_by_nobody(ours, theirs))
        return Merge("merged", source, into, base, commit=commit.shown(), actor=wanted.actor)

    def _previewed(
        self, combined: Combination, outcome: Outcome, source: str, into: str, base: str, wanted: Wanted, what: str
    ) -> Merge:
        """A preview; or, if this is none, the conflicts as an error."""
        if combined.conflicts and not wanted.dry_run:
            raise refused(combined.conflicts, what, combined.unused)
        changes = ChangeList(combined.deltas(), self._view(into).catalog.ir.domain)
        reported: Outcome = "conflicts" if combined.conflicts else outcome
        return Merge(reported, source, into, base, True, conflicts=combined.conflicts, changes=changes, actor=wanted.actor)

    def _parted(self, ours: View, theirs: View) -> list[str]:
        """The commits where two states parted, as far as they can still be opened. More than one after a criss-cross merge.

        Looked for among logical commits: how often a state was laid out anew is no distance.
        """
        first, second, parents = ours.snapshot.commit, theirs.snapshot.commit, self._log.logical_parents
        every = merge_bases(first, second, parents)
        nearest = merge_base(first, second, parents)
        found = [base for base in sorted(every, key=lambda base: base != nearest) if self._opens(base, ours, theirs)]
        unusable = set(every)
        while not found:
            base = nearest_ancestor(first, second, parents, unusable=unusable)
            if base is None:
                raise HistoryReclaimed(f"no common ancestor of {first} and {second} can be opened")
            unusable.add(base)
            found = [base] if self._opens(base, ours, theirs) else []
        return found

    def _laid_out(self, base: str, ours: View, theirs: View) -> View:
        """A base, in the layout that both sides come from if there is one: then they share most of what they are made of."""
        common = merge_base(ours.snapshot.layout, theirs.snapshot.layout, self._log.parents)
        for view in (ours, theirs):
            if common == view.snapshot.layout:
                return view
        if common is not None and common != base and self._log.logical(common).id == base:
            with suppress(HistoryReclaimed):  # another layout says the same
                return self._view_at(common)
        return self._view_at(base)

    def _opens(self, base: str, ours: View, theirs: View) -> bool:
        """Whether the tables that will be read of a commit are still there."""
        if base in (ours.snapshot.commit, theirs.snapshot.commit):
            return True
        try:
            for key, state in self._log.snapshot(base).tables.items():
                there = theirs.snapshot.tables.get(key)
                if there is not None and there.pin != state.pin:
                    self._store.tables.open(state)
        except HistoryReclaimed:
            return False
        return True

    def _other_bases(self, bases: Sequence[str], ours: View, parted: View) -> list[tuple[View, View]]:
        """Bases besides the first, each with the state where it and the first one parted."""
        found = []
        for base in bases[1:]:
            root = merge_base(bases[0], base, self._log.logical_parents)
            if root is not None:
                found.append((self._view_at(base), self._view_at(root)))
        if len({view.snapshot.schema for view in (ours, *([parted] if found else []), *(v for pair in found for v in pair))}) > 1:
            raise SchemaBoundary(
                f"the two were merged both ways, and the schema changed in between: they diverged at {' and '.join(bases)}",
                hint="Create a branch from one of them, and write to it what only the other has: a diff lists that.",
            )
        return found

    def _not_in(self, commit: str, branch: str, head: str, base: str) -> tuple[Commit, ...]:
        """The commits a branch does not have yet: those of the other one, and what was merged into that."""
        if commit == base:
            return ()
        ref = self._store.ref(branch)
        on_branch = self._log.on_branch(ref, self._log.get(head).seq)
        found: dict[str, Commit] = {}
        waiting = [commit]
        known = {base, *(c.merged_parent for c in self._store.manifest(ref).load().recent)}
        while waiting:
            name = waiting.pop()
            if name in found or name in known:
                continue
            this = self._log.get(name)
            home = self._log.home(name)
            if home is not None and this.seq <= on_branch.get(home.incarnation, -1):
                continue
            found[name] = this
            waiting += this.parents
        return tuple(sorted(found.values(), key=lambda c: (c.seq, c.id)))

    def _fast_forward(
        self, source: str, into: str, ours: View, theirs: View, parted: View, carried: tuple[Commit, ...], wanted: Wanted
    ) -> Merge:
        base = ours.snapshot.commit
        Resolutions(wanted.resolve).check_used()
        if wanted.dry_run:
            changes = ChangeList(self._deltas.between(ours, theirs), ours.catalog.ir.domain)
            schema = SchemaChange.of(ours, theirs)
            return Merge("fast_forward", source, into, base, True, changes=changes, actor=wanted.actor, schema=schema)
        wanted = _let_in(wanted, ours)
        now, there = ours.snapshot.tables, theirs.snapshot.tables
        before = parted.snapshot.tables
        untouched = {key for key, state in there.items() if key in before and before[key].pin == state.pin}
        moved = [key for key in (now.keys() & there.keys()) - untouched if now[key].pin != there[key].pin]
        plan = PublishPlan(
            OpClass.LOGICAL,
            "merge",
            ours.snapshot.layout,
            replacements=tuple(self._replacement(now[key], there[key]) for key in sorted(moved)),
            creates=tuple(there[key] for key in sorted(there.keys() - now.keys())),
            drops=tuple(sorted(now.keys() - there.keys())),
            schema=None if theirs.snapshot.schema == ours.snapshot.schema else self._store.schema(theirs.snapshot),
            expected_head=base,
            actor=wanted.actor,
            message=wanted.message,
            merged_parent=theirs.snapshot.layout,
            merged_logical=theirs.snapshot.commit,
            carried=carried,
            idempotency_key=wanted.idempotency_key,
            asked=wanted.asked,
        )
        commit = self._store.publish(into, plan).shown()
        schema = SchemaChange.of(ours, theirs)
        return Merge("fast_forward", source, into, base, commit=commit, actor=wanted.actor, schema=schema)

    def _replacement(self, now: TableState, then: TableState, added: int | None = None, removed: int = 0) -> Replacement:
        """A table that becomes what it is at another pin. Reads what the two versions are made of, and no row."""
        came, went = fragments_apart(self._store.tables.open(now), self._store.tables.open(then))
        gained = max(then.rows - now.rows, 0) if added is None else added
        lost = max(now.rows - then.rows, 0) if added is None else removed
        return Replacement(now.table, now.pin, Applied(then, gained, lost, came, went, ()))

    # ── revert ───────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def revert(self, commit: Commit, branch: str, wanted: Wanted) -> Merge:
        """Undo a commit on a branch."""
        assert commit.parent is not None
        if not commit.is_maintenance and commit.schema != self._log.get(commit.parent).schema:
            before = self._log.logical(commit.parent).id
            raise SchemaBoundary(
                f"commit {commit.id} changed the schema, which a revert cannot undo",
                hint=Hint(
                    f"Apply the schema of commit {before} again with ",
                    Action("apply_schema"),
                    "; ",
                    Action("plan_schema"),
                    " shows the steps first. Write @rename_from where a name goes back.",
                ),
                commit=commit.id,
            )
        if commit.is_maintenance or not commit.changes:
            none = ChangeList((), self._view(branch).catalog.ir.domain) if wanted.dry_run else None
            return Merge("nothing_to_revert", commit.id, branch, commit.id, wanted.dry_run, changes=none, actor=wanted.actor)
        if wanted.dry_run:
            return self._revert(commit, branch, wanted)
        with self._store.in_flight(self._log.logical(commit.parent).id):
            return self._repeatedly(lambda: self._revert(commit, branch, wanted))

    def _revert(self, commit: Commit, branch: str, wanted: Wanted) -> Merge:
        assert commit.parent is not None
        ours, done, undone = self._view(branch), self._view_at(commit.id), self._view_at(commit.parent)
        parted = self._deltas.parted(done, ours)
        if parted is not None:
            done, undone = (in_terms_of(view, ours.catalog, parted) for view in (done, undone))
        resolutions = Resolutions(wanted.resolve)
        combined = Combiner(self._deltas, done, ours, undone, strict=wanted.strict, resolutions=resolutions).run()
        if wanted.dry_run or combined.conflicts:
            outcome: Outcome = "nothing_to_revert" if combined.changes.is_empty else "reverted"
            return self._previewed(combined, outcome, commit.id, branch, commit.id, wanted, "revert")
        if combined.changes.is_empty:
            return Merge("nothing_to_revert", commit.id, branch, commit.id, actor=wanted.actor)
        plan = self._plan(combined, done, ours, undone, "revert", wanted)
        made = self._store.publish(branch, plan, _same_schema(ours))
        return Merge("reverted", commit.id, branch, commit.id, commit=made.shown(), actor=wanted.actor)

    # ── what is written ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def _plan(
        self,
        combined: Combination,
        base: View,
        ours: View,
        theirs: View,
        operation: str,
        wanted: Wanted,
    ) -> PublishPlan:
        changes: list[PlannedChange] = []
        replacements: list[Replacement] = []
        names = {delta.key: named(delta) for delta in combined.changes}
        for one in combined.types:
            before = base.snapshot.tables.get(one.key)
            now, there = ours.snapshot.tables[one.key], theirs.snapshot.tables[one.key]
            if not one.decided and one.is_plain and before is not None and before.holds_what(now):
                counts = one.theirs
                replacements.append(
                    self._replacement(
                        now, there, counts.count(INSERT) + counts.count(UPDATE), counts.count(DELETE) + counts.count(UPDATE)
                    )
                )
                continue
            change = self._change(one, before, now, there)
            if change is not None:
                grafted = isinstance(change, Append) and change.written.unstored is None  # in the order of the other branch
                changes.append(PlannedChange(one.key, change, None if grafted else names.get(one.key)))
        looked_at = frozenset(one.key for one in combined.types) | relied_on(combined.changes, ours)
        return PublishPlan(
            OpClass.LOGICAL,
            operation,
            ours.snapshot.layout,
            tuple(changes),
            tuple(replacements),
            read_set=looked_at,
            actor=wanted.actor,
            message=wanted.message,
            idempotency_key=wanted.idempotency_key,
            asked=wanted.asked,
        )

    def _change(self, one: Combined, before: TableState | None, now: TableState, there: TableState) -> Change | None:
        delta = one.delta()
        if delta.is_empty:
            return None
        tables = self._store.tables
        ids = tuple(delta.ids.to_pylist())
        old = tuple(delta.before["id"].to_pylist())
        plain_inserts = not one.decided and one.is_plain and delta.inserts_only and before is not None
        if plain_inserts and now.location == there.location and same_columns(tables.open(now), tables.open(there)):
            assert before is not None
            parts = unlike(tables.open(before), tables.open(there))
            rows = sum(part.rows for part in parts.came)
            if parts.is_appended and rows == len(ids) and rows >= GRAFTED_ROWS * len(parts.came):
                return Append(graft(tables.open(there), parts.came), ids)
        if not delta.after.num_rows:
            return Delete(old)
        written = tables.open(now).write(typed(delta.type, delta.after))
        return Upsert(written, old) if old else Append(written, ids)


def _require_one_schema(parted: View, ours: View, theirs: View, source: str, into: str) -> None:
    """Two sides that both have something of their own must have one schema by now."""
    before, now, there = (view.snapshot.schema for view in (parted, ours, theirs))
    if now == there:
        return
    if before in (now, there):
        changed, other = (source, into) if before == now else (into, source)
        raise SchemaBoundary(
            f"`{source}` and `{into}` have different schemas, and both have changes of their own: "
            f"the schema of `{changed}` has changed since they diverged",
            hint=f"Apply to `{other}` what was applied to `{changed}`, step by step, and merge then.",
        )
    raise SchemaBoundary(
        f"the schemas of `{source}` and `{into}` have both changed since they diverged, in different ways",
        hint="Change the schema on one of them, merge, and go on from there: what both add is two things, by whatever name.",
    )


def _let_in(wanted: Wanted, ours: View) -> Wanted:
    """A merge that whoever has a say in it lets in."""
    return wanted if wanted.gate is None else replace(wanted, idempotency_key=wanted.gate.lets_in(ours.snapshot.layout))


def _merged_by_nobody(ours: View, theirs: View) -> Revalidate:
    """Refuse to merge what somebody has merged meanwhile, even if that changed nothing."""
    same_schema = _same_schema(ours)

    def check(state: ManifestState, between: Since) -> None:
        same_schema(state, between)
        for commit in between:
            logical = None if commit.logical is None else commit.logical.merged_parent
            if theirs.snapshot.layout == commit.merged_parent or theirs.snapshot.commit == logical:
                raise ReadSetChanged(f"commit {commit.id} has merged the same while this merge was prepared")

    return check


def _same_schema(ours: View) -> Revalidate:
    def check(state: ManifestState, between: Since) -> None:
        if state.head.schema != ours.snapshot.schema:
            raise ReadSetChanged("the schema changed while the merge was prepared")

    return check
