"""The publisher: the only code that moves a branch.

Publishing is a loop around one compare-and-swap (`Manifest.publish`):

    load the head → apply the plan on top of it → write the new tail → swap
                                                                        ├ won: the commit is visible, to everybody, at once
                                                                        └ lost: somebody else published; once more, from the top

**What losing means** is read off the plan and the commits in between. If those are maintenance only, nothing the plan relied on
has changed, and it is applied to the tables as they are now. If a logical commit touched a table of the plan's read set, the
plan is void (`ReadSetChanged`, with the table, the pin it expected and the pin it found). Otherwise the changes are applied
again: new rows stay in the data files they are in, only the small commits on top are made anew; ids that must be new are looked
up again, and the caller's `revalidate` sees what happened in between.

**Files that reclaim took for garbage** meanwhile are found out before the swap, and the plan fails (`doomed`).

**Who has lost twice** has the branch to itself for a moment; everybody else waits for that before a swap (`reservations`).

**An unclear outcome** (a timeout after the swap was sent) is settled by reading the branch again: the commit's id is chosen
before the first attempt, so either the lineage holds it, and the publish succeeded, or it does not, and the attempt is repeated
or reported.

**Group commit.** Threads of one process that publish to one branch share a swap. The first becomes the leader and takes
everything that is waiting; each plan becomes a commit of its own, applied on top of the one before, and one new tail carries
them all. A plan that turns out void fails alone. Small changes of a group to one table, as far as they touch different rows, are
foreseen: rows go into one file, and versions are made side by side (`small_changes`). A write that is prepared quickly may leave
that to the leader (`publish_prepared`), who prepares one after the other on top of one state: threads that prepare side by side
take turns at running Python, and take longer. Who relies on what one before it changes is prepared with the next group, on top of
that. When its own plan is done, a leader hands over to the first in the queue, who gives those of the last group a moment to come
back. Worked example, two inserts queued behind a third:

    a leads, publishes a       queue: b, c
    b leads, publishes b ← c   one swap, two commits: parent of b is a, parent of c is b
"""

from __future__ import annotations

import logging
import random
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from threading import Condition, Lock

from omnigraph.errors import (
    AlreadyExists,
    ConflictError,
    GraphError,
    HistoryReclaimed,
    KeyConflict,
    NotFound,
    PreconditionFailed,
    ReadSetChanged,
    StalledWrite,
    StorageError,
)
from omnigraph.model.ids import Clock, IdSource
from omnigraph.storage.commits.lineage import Commit, Logical, OpClass, TableChange
from omnigraph.storage.commits.manifest import TAIL_COMMITS, Head, Manifest, ManifestState
from omnigraph.storage.commits.plan import PlannedChange, PublishPlan
from omnigraph.storage.commits.reclaim_fence import newest, require_kept
from omnigraph.storage.commits.reservations import Reservations
from omnigraph.storage.commits.since import Since
from omnigraph.storage.commits.turns import Turns
from omnigraph.storage.commits.waiting import (
    Prepare,
    Queue,
    Revalidate,
    Waiting,
    fail,
    first_batch,
    prepared,
    write_meanwhile,
)
from omnigraph.storage.files.lance_errors import LostRace
from omnigraph.storage.lance_format.made_versions import Unfamiliar
from omnigraph.storage.rewriting.derived import then
from omnigraph.storage.rewriting.rewrites import FOLD_FRAGMENTS, fold_small_fragments
from omnigraph.storage.tables.changes import (
    NO_ROWS,
    Append,
    Applied,
    Change,
    Delete,
    Named,
    Overwrite,
    TableState,
    Upsert,
    unchanged,
)
from omnigraph.storage.tables.small_changes import (
    FEW,
    Together,
    addresses_of,
    apply_each,
    apply_small,
    write_together,
)
from omnigraph.storage.tables.table import Tables

_log = logging.getLogger(__name__)

ATTEMPTS = 200
"""Most swaps tried for one batch before giving up; with backoff that is about a minute of losing."""

PATIENCE = 0.5
"""How long a leader waits for the last group, as a share of what publishing that took."""

FIRST_BACKOFF = 0.002
LONGEST_BACKOFF = 0.25


class Publisher:
    """Publishes plans to one branch."""

    def __init__(
        self,
        branch: str,
        manifest: Manifest,
        tables: Tables,
        ids: IdSource,
        clock: Clock,
        logical: Callable[[Head], Logical],
    ) -> None:
        self.branch = branch
        self._logical = logical
        """Where a head stands among logical commits."""
        self.manifest = manifest
        self._tables = tables
        self._ids = ids
        self._clock = clock
        self._turns = Turns(manifest.folder)
        self.reservations = Reservations(manifest)
        self._lock = Lock()
        self._complete = Condition(self._lock)
        """Everybody whom the leader waits for is in the queue."""
        self._awaited = 0
        self._last_writers, self._last_seconds = 0, 0.0
        """How many shared the last swap or came while it was made, and how long it took."""
        self._queue: list[Waiting] = []
        self._leader: Waiting | None = None
        """Who publishes for those in the queue; None: nobody is there."""
        self._together: dict[tuple[str, ...], Together] = {}
        """What the batch that is under way appends, by table and commits: another attempt finds it in its files."""

    def publish(self, plan: PublishPlan, revalidate: Revalidate | None = None) -> Commit:
        """Make a plan a commit, or raise why it cannot be one. Returns when it is durable and visible."""
        fence = plan.fence(self.manifest.place.fence)
        commit = self._published(Waiting(self._ids.next(), plan, revalidate, fence=fence))
        assert commit is not None
        return commit

    def publish_prepared(self, prepare: Prepare) -> Commit | None:
        """The same with a plan that whoever leads makes, if anything is to be published."""
        return self._published(Waiting(self._ids.next(), prepare=prepare))

    def publish_each(self, prepares: Sequence[Prepare]) -> list[Commit | Exception | None]:
        """The same of several that one thread brings. Each is a commit of its own: gives what it came to, or why it did not."""
        together = [Waiting(self._ids.next(), prepare=prepare) for prepare in prepares]
        begun = self._see_through(together)
        found = list[Commit | Exception | None]()
        for waiting in together:
            try:
                found.append(self._outcome(waiting, begun))
            except Exception as error:
                found.append(error)
        return found

    def _published(self, waiting: Waiting) -> Commit | None:
        return self._outcome(waiting, self._see_through([waiting]))

    def _see_through(self, together: Sequence[Waiting]) -> float:
        """Have some plans published, or refused; gives when that was begun."""
        self.reservations.wait_for_threads()
        begun = time.monotonic()
        try:
            with self._lock:
                self._queue += together
                if 0 < self._awaited <= len(self._queue):
                    self._complete.notify()
                if self._leader is None:
                    self._leader = together[0]
            for waiting in together:
                if self._leader is not waiting:
                    waiting.wait()
                if not waiting.is_done:
                    self._lead(waiting)
        except BaseException:  # nobody will lead, or be published, in the name of a thread that has gone
            for waiting in together:
                self._give_up(waiting)
            raise
        return begun

    def _outcome(self, waiting: Waiting, begun: float) -> Commit | None:
        try:
            commit = waiting.outcome()
        except ReadSetChanged:  # whoever wrote on a condition decides anew, and need not come back
            self.reservations.lost(begun)
            raise
        self.reservations.won()
        return commit

    def _give_up(self, waiting: Waiting) -> None:
        """Go without an outcome. Who leads lets another one do it."""
        with self._lock:
            waiting.is_gone = True
            self._queue = [w for w in self._queue if w is not waiting]
        if self._leader is waiting:
            self._hand_over()

    def _hand_over(self) -> None:
        """Let the first in the queue lead. A leader that went on for others would never return while there are others."""
        with self._lock:
            self._awaited = 0
            self._leader = self._queue[0] if self._queue else None
            if self._leader is not None:
                self._leader.call()

    def _lead(self, own: Waiting) -> None:
        """Publish what is waiting, until one's own plan is done."""
        while not own.is_done:
            taken = batch = list[Waiting]()
            try:
                with self._lock:
                    self._await_the_last()
                    taken, self._queue = first_batch(self._queue)
                    batch = taken
                begun = time.monotonic()
                batch, later = prepared(taken, self.manifest)
                with self._lock:
                    self._queue = [*(w for w in later if not w.is_gone), *self._queue]
                if batch:
                    with self._turns.turn(partial(write_meanwhile, batch, self._tables, self.manifest)):
                        self._publish_batch(batch)
                self._last_seconds = time.monotonic() - begun
            except Exception as error:
                fail(batch, error)
            except BaseException:  # this thread is to end: nobody may go on waiting for it
                if not taken:
                    raise
                with self._lock:
                    behind, self._queue = self._queue, []
                    self._leader = None
                fail(
                    taken, StorageError("interrupted while publishing: the commit may have landed", hint="Look before retrying.")
                )
                fail(behind, StorageError("interrupted before publishing: nothing was written", hint="Retry."))
                raise
        self._hand_over()

    def _await_the_last(self) -> None:
        """Give those who shared the last swap a moment to come back, so that they share this one and need not wait for the next.

        Otherwise one who came a little earlier would publish alone, and the others would wait for that. They are counted, not
        known: a server runs what a client writes in any of its threads. A single writer is never waited for.
        """
        if self._last_writers > 1:
            self._awaited = self._last_writers
            self._complete.wait_for(lambda: len(self._queue) >= self._awaited, self._last_seconds * PATIENCE)
            self._awaited = 0

    def _publish_batch(self, batch: list[Waiting]) -> None:
        doubtful = False
        self._together.clear()
        for attempt in range(ATTEMPTS):
            if attempt:
                time.sleep(random.uniform(0, min(LONGEST_BACKOFF, FIRST_BACKOFF * 2 ** min(attempt, 10))))
                self._turns.wait()
            head = self._head(batch) if attempt == 0 else self.manifest.load()
            if doubtful:
                batch = self._settle(batch)
                doubtful = False
            head = self.reservations.respected(head, self._turns)
            state, commits, batch = self._apply_batch(batch, self._fenced(head))
            if not batch:
                return
            files = [f for w in batch for a in w.applied.values() for f in a.files]
            schema = next((w.plan.schema for w in batch if w.plan.schema is not None), None)
            try:
                self.manifest.publish(head, state, schema, [c for w in batch for c in w.plan.carried], files)
            except LostRace:
                continue
            except StorageError:
                doubtful = True
                if attempt + 1 == ATTEMPTS or attempt >= 3:
                    self._settle(batch)
                    raise
                continue
            self._last_writers = len(batch) + len(self._queue)  # before any of them can come back
            for waiting, commit in zip(batch, commits, strict=True):
                waiting.succeeded(commit)
            return
        raise ConflictError(
            f"branch `{self.branch}` is too busy: {ATTEMPTS} attempts lost the race", hint="Retry, or write in larger commits."
        )

    def _head(self, batch: Sequence[Waiting]) -> ManifestState:
        """The state to try first. On a disk the newest: a look costs nothing, and others may have published before our turn.

        On an object store as last seen, if that is what every plan was made on: then only the swap can say it is old.
        """
        if self.manifest.place.is_local:
            return self.manifest.load()
        known = self.manifest.last_known()
        expected = {w.plan.expected_head for w in batch} - {None, known.head.commit, self._logical(known.head).id}
        made_on = {w.plan.base for w in batch}
        return known if made_on == {known.head.commit} and not expected else self.manifest.load()

    def _settle(self, batch: list[Waiting]) -> list[Waiting]:
        """After an unclear outcome: those whose commit is in the lineage have succeeded; gives the rest."""
        rest = []
        for waiting in batch:
            found = self.manifest.find(waiting.commit_id)
            if found is None:
                rest.append(waiting)
            else:
                self.manifest.make_durable()
                waiting.succeeded(found)
        return rest

    def _apply_batch(self, batch: Sequence[Waiting], head: ManifestState) -> tuple[ManifestState, list[Commit], list[Waiting]]:
        """Apply plans one on top of the other. Plans that may not be published fail here, alone."""
        self._foresee(batch, head)
        state, commits, accepted = head, list[Commit](), list[Waiting]()
        histories = dict[str, Since]()
        for waiting in batch:
            try:
                commit = self._commit(waiting, state, histories)
                self._require_kept(waiting, commit, head)
            except Exception as error:
                waiting.failed(error)
                continue
            state = state.after(commit, sealed=waiting.plan.seals)
            for history in histories.values():
                history.append(commit)
            commits.append(commit)
            accepted.append(waiting)
        return state, commits, accepted

    def _fenced(self, head: ManifestState) -> ManifestState:
        """A head whose fence counts: a branch nobody has published to yet has the one of its parent, which may be old."""
        if not head.is_first:
            return head
        return replace(head, head=replace(head.head, fence=max(head.head.fence, newest(self.manifest.place))))

    def _require_kept(self, waiting: Waiting, commit: Commit, head: ManifestState) -> None:
        """Refuse a commit that names files which reclaim has taken for garbage since they were begun."""
        if waiting.fence < head.head.fence:
            moved = [(c.before, c.after) for c in commit.changes if c.after is not None and c.after != c.before]
            require_kept(self.manifest.place, self._tables, moved)

    def _foresee(self, batch: Sequence[Waiting], head: ManifestState) -> None:
        """Make the versions that the small changes of a group will need, in one go, as if each plan were going to be accepted.

        Whoever turns out void leaves a version that nothing refers to, and those behind it are applied one by one, as ever.
        """
        queues: dict[str, Queue] = defaultdict(Queue)
        for waiting in batch:
            plan = waiting.plan
            if any(queues[table].touches(ids) for table, ids in plan.read_rows.items()):
                continue  # it will be void
            for planned in plan.changes:
                queues[planned.table].add(waiting, planned.change)
            for name in (*(r.table for r in plan.replacements), *plan.drops):
                queues[name].closed = True
        for table, queue in queues.items():
            before = head.tables.get(table)
            if len(queue.waiting) < 2 or before is None or (table, before.pin) in queue.waiting[0].applied:
                continue
            try:
                folded = self._folded(before, queue.changes[0])
                together = self._written_together(folded.state, queue)
                gone = addresses_of(self._tables, folded.state, queue.changes)
                first, *others = apply_each(self._tables, folded.state, together, gone)
            except (GraphError, Unfamiliar) as error:  # one by one, then: whoever is to blame is told, and nobody else
                _log.info("changes of %s are made one by one: %s", table, error)
                continue
            for waiting, applied in zip(queue.waiting, [then(folded, first), *others], strict=True):
                waiting.foreseen = {**waiting.foreseen, (table, before.pin): applied}
                before = applied.state

    def _written_together(self, table: TableState, queue: Queue) -> Together:
        key = (table.table, *(waiting.commit_id for waiting in queue.waiting))
        if key not in self._together:
            writes = [
                NO_ROWS if isinstance(change, Delete | Overwrite) else waiting.stored.get(table.table, change.written)
                for waiting, change in zip(queue.waiting, queue.changes, strict=True)
            ]
            self._together[key] = write_together(self._tables, table, writes)
        return self._together[key]

    def _commit(self, waiting: Waiting, state: ManifestState, histories: dict[str, Since]) -> Commit:
        plan = waiting.plan
        if state.head.sealed:
            hint = "Create it again, or write to another branch."
            raise NotFound(f"branch `{self.branch}` was deleted", what="branch", name=self.branch, hint=hint)
        below = self._logical(state.head)
        if plan.expected_head not in (None, below.id, state.head.commit):
            raise PreconditionFailed(
                f"branch `{self.branch}` is at {below.id}, not at {plan.expected_head}: somebody committed in between",
                branch=self.branch,
                expected=plan.expected_head,
                actual=below.id,
            )
        between = self._between(plan.base, state, histories)
        earlier = between if plan.looked_since is None else self._between(plan.looked_since, state, histories)
        self._check_still_valid(waiting, state, between, earlier)
        try:
            applied = [self._apply(waiting, planned, state, between) for planned in plan.changes]
        except (NotFound, HistoryReclaimed) as gone:
            if self.manifest.load().head.fence <= waiting.fence:
                raise  # nobody has reclaimed anything since
            raise StalledWrite(f"what the write is based on was reclaimed while it was stalled: {gone.message}") from gone
        changes = [
            c for c in applied if c.before != c.after
        ]  # deleting what is not there touches nothing, and voids nobody's plan
        for replacement in plan.replacements:
            before = state.tables[replacement.table]
            changes.append(_table_change(replacement.table, before, replacement.applied))
        changes += [TableChange(c.table, None, c, files=self._tables.files_of_new(c)) for c in plan.creates]
        changes += [TableChange(name, state.tables[name], None) for name in plan.drops]
        commit = Commit(
            waiting.commit_id,
            state.head.seq + 1,
            state.head.commit,
            plan.merged_parent,
            self.branch,
            plan.actor,
            int(self._clock.now().timestamp() * 1_000_000),
            plan.op_class,
            plan.operation,
            plan.message,
            state.head.schema if plan.schema is None else plan.schema.id,
            tuple(changes),
            plan.idempotency_key,
            _on(below, waiting),
            plan.asked,
        )
        self.manifest.encode(commit)  # here, where it fails alone
        return commit

    def _check_still_valid(self, waiting: Waiting, state: ManifestState, between: Since, earlier: Since) -> None:
        plan = waiting.plan
        for commit in earlier if plan.idempotency_key is not None else ():
            if commit.idempotency_key == plan.idempotency_key:
                raise AlreadyExists(
                    f"commit {commit.id} has the idempotency key `{plan.idempotency_key}` already",
                    hint="Nothing was written: this write happened before.",
                )
        for commit in between if plan.may_be_concerned(between) else ():
            for change in commit.changes:
                if commit.op_class is OpClass.LOGICAL and change.table in plan.read_set:
                    expected = None if change.before is None else change.before.pin
                    actual = None if change.after is None else change.after.pin
                    raise ReadSetChanged(
                        f"table {change.table} changed while the write was prepared: expected pin {expected}, found {actual} "
                        f"(commit {commit.id})"
                    )
                if commit.op_class is OpClass.LOGICAL and plan.is_about(change):
                    raise ReadSetChanged(
                        f"rows of {change.table} that the write is about changed while it was prepared (commit {commit.id})"
                    )
        for replacement in plan.replacements:
            found = state.tables.get(replacement.table)
            moved = found is None or found.pin != replacement.base_pin
            if moved and (found is None or not _only_maintained(plan, replacement.table, between)):
                raise ReadSetChanged(
                    f"table {replacement.table} moved while its new version was prepared: expected pin {replacement.base_pin}, "
                    f"found {None if found is None else found.pin}"
                )
        for name in (c.table for c in plan.creates if c.table in state.tables):
            raise ReadSetChanged(f"table {name} was created on branch `{self.branch}` by somebody else in between")
        for name in (name for name in plan.drops if name not in state.tables):
            raise ReadSetChanged(f"table {name} no longer exists on branch `{self.branch}`")
        if waiting.revalidate is not None and between.is_logical:
            waiting.revalidate(state, between)

    def _between(self, base: str, state: ManifestState, known: dict[str, Since]) -> Since:
        """Commits on the branch after `base`: mostly none but those of the group."""
        found = known.get(base)
        if found is None:
            is_head = base in (state.head.commit, self._logical(state.head).id)
            found = known[base] = Since(() if is_head else self._since(base, state))
        return found

    def _since(self, base: str, state: ManifestState) -> list[Commit]:
        recent = list(state.recent)
        for at in range(len(recent) - 1, -1, -1):  # mostly a group or so ago
            if recent[at].parent == base:
                return recent[at:]
        for at, commit in enumerate(recent):
            if _follows(commit, base):
                return recent[at:]
        for limit in (TAIL_COMMITS, None):  # seldom far behind, but a plan may have been prepared for hours
            older = self.manifest.history(before=recent[0].seq if recent else None, limit=limit)
            chain = [*reversed(older), *recent]
            for at, commit in enumerate(chain):
                if _follows(commit, base):
                    return chain[at:]
        raise ReadSetChanged(f"commit {base}, which the write was prepared against, is not on branch `{self.branch}`")

    def _apply(self, waiting: Waiting, planned: PlannedChange, state: ManifestState, between: Since) -> TableChange:
        before = state.tables.get(planned.table)
        if before is None:
            raise ReadSetChanged(f"table {planned.table} no longer exists on branch `{self.branch}`")
        key = (planned.table, before.pin)
        change, applied = planned.change, waiting.applied.get(key)
        if applied is None:
            applied = waiting.foreseen.get(key)
            if isinstance(change, Append) and change.ids:
                present = self._present(planned.table, change.ids, before, between)
                if present and not change.or_replace:
                    raise KeyConflict(f"{planned.table} already has an entity with id '{min(present)}'")
                if present:
                    change, applied = Upsert(change.written, change.ids), None
        if applied is None:
            folded = self._folded(before, change)
            # Together: later writers look for their keys in the fragments a commit added, and folded rows stand in one of them.
            stored = self._stored(waiting, planned.table, change, folded.state)
            applied = then(folded, apply_small(self._tables, folded.state, stored))
        waiting.applied[key] = applied
        return _table_change(planned.table, before, applied, planned.named)

    def _stored(self, waiting: Waiting, name: str, change: Change, table: TableState) -> Change:
        """A change whose rows are in files."""
        if isinstance(change, Delete):
            return change
        if name not in waiting.stored:
            waiting.stored[name] = self._tables.stored(table, change.written)
        return replace(change, written=waiting.stored[name])

    def _folded(self, table: TableState, change: Change) -> Applied:
        """The table to write on: with its small fragments folded into one, when too many have piled up.

        The writer does it on its way, in its own commit: what a commit costs stays flat without anybody having to clean up.
        """
        if table.fragments <= FOLD_FRAGMENTS or isinstance(change, Overwrite):
            return unchanged(table)
        return fold_small_fragments(self._tables, table)

    def _present(self, name: str, ids: Sequence[str], table: TableState, between: Since) -> list[str]:
        """Which of some ids, new at the plan's base, are there now: looks where commits in between have put rows, only there."""
        touched = between.of(name)
        if not touched.changes or (len(ids) <= FEW and not touched.touches(ids)):
            return []
        handle = self._tables.open(table)
        added = [number for change in touched.changes for number in change.fragments_added]
        return handle.ids_among(ids, handle.fragment_ids() if touched.maintained else added)


def _on(below: Logical, waiting: Waiting) -> Logical:
    """Where a commit on top of another stands."""
    if waiting.plan.op_class is OpClass.MAINTENANCE:
        return below
    return Logical(waiting.commit_id, below.seq + 1, below.id, waiting.plan.merged_logical)


def _follows(commit: Commit, base: str) -> bool:
    """Whether a commit is the next one after another, or after a layout of it that is in another manifest."""
    if commit.parent == base:
        return True
    return commit.logical is not None and not commit.is_maintenance and commit.logical.parent == base


def _only_maintained(plan: PublishPlan, table: str, between: Sequence[Commit]) -> bool:
    """Whether what a logical plan replaces says the same as when it was prepared: maintenance moved it, and nobody else."""
    touching = [c for c in between for change in c.changes if change.table == table]
    return plan.op_class is OpClass.LOGICAL and bool(touching) and all(c.is_maintenance for c in touching)


def _table_change(table: str, before: TableState, applied: Applied, named: Named | None = None) -> TableChange:
    return TableChange(
        table,
        before,
        applied.state,
        applied.added,
        applied.removed,
        applied.fragments_added,
        applied.fragments_removed,
        applied.stored,
        None if named is None else named.standing(applied.at if len(named.came) == applied.added else None),
    )
