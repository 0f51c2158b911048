"""A stored graph: branches, their manifests and publishers, tags, snapshots. What the engine builds on.

    store = GraphStore.init(Place.at("people.omni"), schema, tables)
    snapshot = store.snapshot("main")                        one coherent view, for as long as you hold it
    table = store.tables.open(snapshot.tables["node:5-7"])
    plan = PublishPlan(OpClass.LOGICAL, "mutate", snapshot.commit, (PlannedChange("node:5-7", Append(table.write(rows))),))
    commit = store.publish("main", plan)

Opening never writes. A read-only store refuses every write before it starts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import partial
from itertools import islice
from threading import Lock
from typing import TYPE_CHECKING
from urllib.parse import unquote

from omnigraph.errors import (
    AlreadyExists,
    CleanupUnderWay,
    DamagedRecord,
    HistoryReclaimed,
    NotFound,
    StalledWrite,
    StorageError,
    UsageError,
)
from omnigraph.model.ids import Clock, IdSource, SystemClock, UlidSource
from omnigraph.storage.commits.commit_index import CommitIndex
from omnigraph.storage.commits.deleted_tags import DeletedTag, put_deleted
from omnigraph.storage.commits.leases import Held, give_back, holding, lasting
from omnigraph.storage.commits.lineage import Commit, Logical, OpClass, TableChange
from omnigraph.storage.commits.locate import find, no_graph, outdated, require_unused
from omnigraph.storage.commits.logical import LogicalCommits
from omnigraph.storage.commits.manifest import Head, Manifest, ManifestState, SchemaDocument
from omnigraph.storage.commits.name_rules import (
    REFS,
    TAGS,
    branch_exists,
    check_branch_name,
    check_name,
    gives_way,
    is_possible,
    name_in,
    no_branch,
    reads_like_id,
    ref_path,
    tag_path,
    taken,
)
from omnigraph.storage.commits.open_manifests import MOST, MOST_REFS, Lately, OpenManifests
from omnigraph.storage.commits.reclaim_fence import require_kept
from omnigraph.storage.commits.reclaimed_commits import ledger
from omnigraph.storage.commits.refs import Ref as Ref
from omnigraph.storage.commits.refs import Tag as Tag
from omnigraph.storage.commits.reviews import kept, readable_reviews
from omnigraph.storage.commits.snapshots import NewTable as NewTable
from omnigraph.storage.commits.snapshots import Snapshot as Snapshot
from omnigraph.storage.files.fork_guard import refuse_after_fork
from omnigraph.storage.files.lance_errors import translated
from omnigraph.storage.files.place import Place, StoredObject
from omnigraph.storage.files.records import all_of, decoded, encoded, readable
from omnigraph.storage.tables.changes import TableState
from omnigraph.storage.tables.table import Tables

if TYPE_CHECKING:
    from omnigraph.storage.commits.plan import PublishPlan
    from omnigraph.storage.commits.publisher import Publisher
    from omnigraph.storage.commits.waiting import Revalidate

MAIN = "main"


class GraphStore:
    """One stored graph."""

    def __init__(self, place: Place, *, read_only: bool = False, ids: IdSource | None = None, clock: Clock | None = None) -> None:
        self.place = place
        self.tables = Tables(place, self._is_needed)
        self.read_only = read_only
        self._ids = ids or UlidSource(clock)
        self._clock = clock or SystemClock()
        self._session = self.tables.session
        self._open = OpenManifests(lambda incarnation: Manifest(place, incarnation, self._session))
        self._refs = Lately[str, Ref](MOST_REFS)
        self._newest = Lately[str, tuple[ManifestState, Snapshot]](MOST)
        self.history = LogicalCommits(place, self._manifest)
        self.commit_index = CommitIndex(place, read_only=read_only)
        self._lock = Lock()

    @classmethod
    def init(
        cls,
        place: Place,
        schema: SchemaDocument,
        tables: Sequence[NewTable],
        *,
        actor: str | None = None,
        ids: IdSource | None = None,
        clock: Clock | None = None,
    ) -> GraphStore:
        """A new graph with its first commit. Refuses a place that already holds one."""
        place.require_folder()
        store = cls(place, ids=ids, clock=clock)
        if place.names(REFS):
            raise AlreadyExists(f"{place.uri} already holds a graph", hint="Open it, or choose another place.")
        require_unused(place, store._session)
        place.check_conditional_put(f"__probe/{store._ids.next()}")
        states = [store.tables.create(t.table, t.location, t.schema) for t in tables]
        created_at = store._now()
        changes = tuple(TableChange(s.table, None, s, files=store.tables.files_of_new(s)) for s in states)
        first = Logical(store._ids.next(), 0)
        commit = Commit(
            first.id, 0, None, None, MAIN, actor, created_at, OpClass.LOGICAL, "init", None, schema.id, changes, None, first
        )
        incarnation = store._ids.next()
        store._manifest(incarnation).create(Head(commit.id, 0, schema.id, logical=first), states, schema, [commit])
        ref = Ref(MAIN, incarnation, created_by=actor, created_at=created_at)
        place.put_new(ref_path(MAIN), encoded(ref, ref_path(MAIN)))
        return store

    @classmethod
    def open(
        cls, place: Place, *, read_only: bool = False, ids: IdSource | None = None, clock: Clock | None = None
    ) -> GraphStore:
        """An existing graph. Writes nothing. Where the main branch is damaged, whoever reads it is told; `verify` looks."""
        store = cls(place, read_only=read_only, ids=ids, clock=clock)
        main = store.ref(MAIN)
        with suppress(DamagedRecord):
            store.manifest(main).load()
        return store

    def _is_needed(self, location: str, pin: int) -> bool:
        """Whether no reclaim has taken a version: there was none, or the newest state of a branch rests on it."""
        settled = ledger(self.place).settled
        if not settled.commits and not settled.manifests:
            return True
        states = (state for branch in self.branches() for state in self.newest(branch)[1].tables.values())
        return any((state.location, state.pin) == (location, pin) for state in states)

    @property
    def clock(self) -> Clock:
        """What tells this store the time."""
        return self._clock

    @property
    def ids(self) -> IdSource:
        """What gives this store fresh ids."""
        return self._ids

    def _now(self) -> int:
        """Microseconds since the epoch."""
        return int(self._clock.now().timestamp() * 1_000_000)

    # ── branches ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def ref(self, branch: str) -> Ref:
        """A branch by name."""
        refuse_after_fork()
        known = self._refs.get(branch)
        if known is None:
            known, _ = self._read_ref(branch)
            with self._lock:
                self._refs[branch] = known
        return known

    def _read_ref(self, branch: str) -> tuple[Ref, bytes]:
        """A branch as the place has it now, and in which words."""
        try:
            if not is_possible(branch):
                raise NotFound("not a name")
            with translated(f"read the ref of branch `{branch}`"):
                said = self.place.get(ref_path(branch))
                return decoded(said, Ref, ref_path(branch), f"the ref of branch `{branch}`"), said
        except NotFound:
            if branch == MAIN:
                raise no_graph(self.place, self._session) from None
            raise no_branch(branch, branches=self.branches()) from None

    def refs(self) -> list[Ref]:
        """Every live branch, by name, as the place has it now; `DamagedRecord` if there is one that cannot be read."""
        found = all_of(self.readable_refs())
        self._require_main(ref.branch for ref in found)
        return found

    def readable_refs(self) -> tuple[list[Ref], dict[str, DamagedRecord]]:
        """Every live branch that can be read, and by name why others cannot."""
        return readable(self._named_branches(), lambda name: self._read_ref(name)[0])

    def branches(self) -> list[str]:
        """Names of the live branches, sorted. One listing. A graph without its main branch is none."""
        self._require_main(found := self._named_branches())
        return found

    def _require_main(self, names: Iterable[str]) -> None:
        if MAIN not in names:
            self._read_ref(MAIN)  # says what became of the graph

    def _named_branches(self) -> list[str]:
        return sorted(name_in(ref.path) for ref in self.place.names(REFS))

    def create_branch(self, name: str, *, at: str = MAIN, actor: str | None = None) -> Ref:
        """A branch that starts where another branch is, or at a commit or tag. Costs the same whatever the size of the graph."""
        self.require_writable()
        check_name(name, "branch")
        while True:
            removed = self.place.look(ref_path(name))
            others = list(self._in_the_way(name, removed))
            if not any(map(self._finish_deletion, others)):
                break
        check_branch_name(name, others)
        if self._tag(name) is not None:
            raise taken(name, "tag")
        is_head = at == MAIN or (not reads_like_id(at) and self.is_branch(at))
        parent, state = self._branch_point(at, is_head)
        incarnation = self._ids.next()
        self._manifest(incarnation).create(state.head, state.tables.values())
        began = None if state.head.logical is None else state.head.logical.id
        ref = Ref(name, incarnation, parent, state.head.commit, actor, self._now(), began)
        said = encoded(ref, ref_path(name))
        try:
            self.place.put_new(ref_path(name), said, removed)
        except AlreadyExists:
            raise branch_exists(name) from None
        if incarnation in ledger(self.place).feared.manifests or not self._manifest(incarnation).is_there():
            self.place.remove(ref_path(name), said)
            raise StalledWrite(f"creating branch `{name}` took so long that cleanup removed it", hint="Create it again.")
        if not gives_way(lambda: self._tag(name) is not None):
            self.place.remove(ref_path(name), said)
            raise taken(name, "tag")
        if is_head:
            self._still_a_head(parent, state, (ref_path(name), said))
        else:
            self._still_free(parent, state.head.commit, [state.head.seq], (ref_path(name), said))
        with self._lock:
            self._refs[name] = ref
        return ref

    def _in_the_way(self, name: str, found: StoredObject | None) -> Iterator[str]:
        """Live branches that a new one could not be beside: of its name, above it, or below it. Looks at no others."""
        if found is not None and not self.place.is_removed(found):
            yield name
        parts = name.split("/")
        yield from (above for n in range(1, len(parts)) if self.is_branch(above := "/".join(parts[:n])))
        below = self.place.named(REFS, ref_path(f"{name}/").rpartition("/")[2])
        if below is not None:
            yield name_in(below)

    def _tag(self, name: str) -> Tag | None:
        try:
            return self._read_tag(name) if is_possible(name) else None
        except NotFound:
            return None

    def _read_tag(self, name: str) -> Tag:
        with translated(f"read the tag `{name}`"):
            return decoded(self.place.get(tag_path(name)), Tag, tag_path(name), f"the tag `{name}`")

    def is_branch(self, name: str) -> bool:
        """Whether there is a branch of that name now."""
        try:
            return is_possible(name) and bool(self.place.get(ref_path(name)))
        except NotFound:
            return False

    def _branch_point(self, at: str, is_head: bool) -> tuple[Ref, ManifestState]:
        if is_head:
            return self.newest(at)
        owner, commit = self.history.laid_out(*self.resolve(at))
        manifest = self._manifest(owner.incarnation)
        tables = manifest.tables_at(commit)
        state = manifest.load()
        head = Head(commit.id, commit.seq, commit.schema, logical=commit.logical)
        return owner, ManifestState(state.version, state.tail, head, tables)

    def _still_free(self, owner: Ref, commit: str, numbers: Sequence[int], undo: tuple[str, bytes] | None = None) -> None:
        """Refuse a commit that was reclaimed or is about to be, with all of its layouts.

        Asked *after* a name for it was put, which is then undone.
        """
        found = ledger(self.place)
        gone = all(found.settled.lacks(owner, seq) for seq in numbers) or not all(
            self._manifest(r.incarnation).is_stored() for r in owner.ancestry()
        )
        if not gone and not all(found.feared.lacks(owner, seq) for seq in numbers):
            return
        if undo is not None:
            self.place.remove(*undo)
        if gone:
            raise HistoryReclaimed(f"commit {commit} was reclaimed")
        raise CleanupUnderWay(f"commit {commit} is about to be reclaimed by a cleanup that is running or has died")

    def _still_a_head(self, owner: Ref, copied: ManifestState, undo: tuple[str, bytes]) -> None:
        """Refuse a head that was copied so long ago that it was reclaimed. Asked after the copy has a name, which is then undone.

        A reclaim that did not see the name fenced the branch, or found it deleted, before that.
        """
        try:
            now = self._manifest(owner.incarnation).load()
            if now.version == copied.version or (now.head.fence == copied.head.fence and not now.head.sealed):
                return
        except NotFound:
            pass
        self._still_free(owner, copied.head.commit, [copied.head.seq], undo)
        try:
            require_kept(self.place, self.tables, [(None, state) for state in copied.tables.values()])
        except StalledWrite:
            self.place.remove(*undo)
            raise HistoryReclaimed(f"commit {copied.head.commit} was reclaimed while a branch was created from it") from None

    def delete_branch(self, name: str, *, actor: str | None = None) -> Commit | None:
        """Seal a branch and forget its name. A writer that comes too late is told, never silently ignored.

        Gives the commit that sealed it, which says who did; None if nothing was left to seal, or somebody had sealed it before.
        """
        self.require_writable()
        if name == MAIN:
            raise UsageError("branch `main` cannot be deleted")
        ref, said = self._read_ref(name)  # not as remembered: sealing an old incarnation would leave the new one open to writers
        publisher = self.publisher(ref)
        # A branch whose maker died after cleanup had taken its manifest is nothing but a name.
        state = publisher.manifest.load() if publisher.manifest.is_stored() else None
        sealed: Commit | None = None
        if state is not None and not state.head.sealed:
            from omnigraph.storage.commits.plan import PublishPlan

            plan = PublishPlan(OpClass.MAINTENANCE, "branch delete", state.head.commit, actor=actor, seals=True)
            sealed = publisher.publish(plan)
        self.place.remove(ref_path(name), said)
        with self._lock:
            self._refs.pop(name, None)
            self._newest.pop(name, None)
        self._open.let_go(ref.incarnation)
        return sealed

    def _finish_deletion(self, name: str) -> bool:
        """Forget the name of a branch that is sealed: whoever deleted it has died before it was forgotten. Whether it was one."""
        with suppress(NotFound, DamagedRecord):  # then nobody knows that it was deleted
            ref, said = self._read_ref(name)
            if self.manifest(ref).load().head.sealed:
                self.place.remove(ref_path(name), said)
                return True
        return False

    # ── tags ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def create_tag(self, name: str, commit: str, *, actor: str | None = None) -> Tag:
        """Name a commit, for good."""
        self.require_writable()
        check_name(name, "tag")
        if self.is_branch(name) and not self._finish_deletion(name):
            raise taken(name, "branch")
        owner, found = self.history.logical_commit(*self.resolve(commit))
        self.history.laid_out(owner, found)
        tag = Tag(name, found.id, owner, actor, self._now())
        path, said = tag_path(name), encoded(tag, tag_path(name))
        try:
            self.place.put_new(path, said)
        except AlreadyExists:
            raise AlreadyExists(f"tag `{name}` exists already", hint="Delete it first, or choose another name.") from None
        if self.is_branch(name):
            self.place.remove(path, said)
            raise taken(name, "branch")
        self._still_free(owner, found.id, self.history.layouts(owner, found), (path, said))
        return tag

    def tags(self) -> list[Tag]:
        """Every tag, by name; `DamagedRecord` if there is one that cannot be read."""
        return all_of(self.readable_tags())

    def readable_tags(self) -> tuple[list[Tag], dict[str, DamagedRecord]]:
        """Every tag that can be read, and by name why others cannot."""
        return readable((unquote(o.path.rpartition("/")[2]) for o in self.place.names(TAGS)), self._read_tag)

    def delete_tag(self, name: str, *, actor: str | None = None) -> DeletedTag | None:
        """Forget a name; the commit may be reclaimed afterwards. Gives what is recorded of it: nothing of a damaged tag."""
        self.require_writable()
        try:
            if not is_possible(name):
                raise NotFound("not a name")
            path = tag_path(name)
            said = self.place.get(path)
        except NotFound:
            raise NotFound(f"no tag `{name}`", what="tag", name=name) from None
        deleted: DeletedTag | None = None
        with suppress(DamagedRecord):
            deleted = DeletedTag(decoded(said, Tag, path, f"the tag `{name}`"), actor, self._now())
            put_deleted(self.place, deleted)
        self.place.remove(path, said)
        return deleted

    # ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def snapshot(self, branch: str = MAIN) -> Snapshot:
        """The newest state of a branch."""
        return self.snapshot_of(branch, self.newest(branch)[1])

    def snapshot_of(self, branch: str, state: ManifestState) -> Snapshot:
        """A state that a branch had, as others see it."""
        known = self._newest.get(branch)
        if known is None or known[0] is not state:
            head = state.head
            commit = head.logical.id if head.logical is not None else self.history.logical_id(self.ref(branch), head)
            known = (state, Snapshot(branch, commit, head.schema, state.tables, head.commit, state.recent))
            with self._lock:
                self._newest[branch] = known
        return known[1]

    def snapshot_at(self, name: str) -> Snapshot:
        """The graph as a commit left it, whatever happened since. What a name means, `resolve` says."""
        return self.opened(*self.resolve(name))

    def opened(self, owner: Ref, commit: Commit) -> Snapshot:
        """The graph as a commit of a manifest left it: in that layout if it is maintenance, else in the newest there is."""
        _, logical = self.history.logical_commit(owner, commit)
        owner, layout = self.history.laid_out(owner, commit)
        tables = self._manifest(owner.incarnation).tables_at(layout)
        return Snapshot(logical.branch, logical.id, layout.schema, tables, layout.id)

    def resolve(self, name: str) -> tuple[Ref, Commit]:
        """What a name means: the commit of that id, else the newest of that branch, else that of the tag, else of that time.

        Gives the commit, and the branch whose manifest holds it.
        """
        if reads_like_id(name):
            try:
                return self.locate(name)
            except HistoryReclaimed:
                found = self._by_name(name)  # names that read like ids were allowed once
                if found is None:
                    raise
                return found
        from omnigraph.storage.commits.moments import at_moment

        return self._by_name(name) or at_moment(self, name, MAIN)

    def _by_name(self, name: str) -> tuple[Ref, Commit] | None:
        if self.is_branch(name):
            owner, state = self.newest(name)
            head = state.head.commit
        elif (tag := self._tag(name)) is not None:
            head, owner = tag.commit, tag.owner
        else:
            return None
        owner, found = self.history.find(owner, head)
        if found is None:
            raise HistoryReclaimed(f"commit {head}, which `{name}` names, was reclaimed")
        return owner, found

    def commit(self, commit: str) -> Commit:
        """A commit by id: of a branch, or carried along by a merge from a branch that is gone."""
        try:
            return self.locate(commit)[1]
        except HistoryReclaimed:
            found = find(self._known_refs()[0], commit, self._manifest, self.commit_index, carried=True).commit
            if found is None:
                raise
            return found

    def commits(self, branch: str = MAIN, limit: int | None = None) -> list[Commit]:
        """Commits of a branch along its first parents, maintenance too, youngest first, back to where the graph began."""
        return list(islice(self.line(branch, limit), limit))

    def line(self, branch: str, run: int | None = None) -> Iterator[Commit]:
        """The same, one after the other; read so many at a time."""
        ref, state = self.newest(branch)
        return self.history.line(ref, state.head.seq, run)

    def commit_with_key(self, branch: str, begins: str) -> Commit | None:
        """The newest commit of a branch whose idempotency key begins with a text. Reads no further back than needed."""
        return next((c for c in self.line(branch) if (c.idempotency_key or "").startswith(begins)), None)

    def schema_document(self, ref: Ref, schema: str) -> SchemaDocument:
        """A schema by id, from the manifest that holds it or those it came from."""
        for current in ref.ancestry():
            found = self._manifest(current.incarnation).schema(schema)
            if found is not None:
                return found
        raise NotFound(f"schema {schema} is not part of this graph")

    def schema(self, snapshot: Snapshot) -> SchemaDocument:
        """The schema of a snapshot."""
        try:
            return self.schema_document(self.ref(snapshot.branch), snapshot.schema)
        except NotFound:  # a commit of a branch that is gone, and that others descend from or have merged
            for ref in self._known_refs()[0]:
                with suppress(NotFound, StorageError):  # another branch may have it
                    return self.schema_document(ref, snapshot.schema)
            return self.schema_document(self.locate(snapshot.commit)[0], snapshot.schema)

    def newest(self, branch: str) -> tuple[Ref, ManifestState]:
        """A branch and its newest state, which are of one incarnation: the name may be given to another one at any time."""
        ref = self.ref(branch)
        try:
            state = self._manifest(ref.incarnation).load()
            if not state.head.sealed:
                return ref, state
        except NotFound:  # deleted so long ago that its manifest was reclaimed
            pass
        with self._lock:  # the name may have been given to a new incarnation since we looked
            self._refs.pop(branch, None)
        ref = self.ref(branch)
        if (state := self._manifest(ref.incarnation).load()).head.sealed:
            raise no_branch(branch, hint="It was deleted. If its name is still listed, delete it again.")
        return ref, state

    def locate(self, commit: str) -> tuple[Ref, Commit]:
        """A commit of a branch, tag or open review, and who holds it. What cannot be read does not hide what can."""
        refs, unread_refs = self._known_refs()
        found = find(refs, commit, self._manifest, self.commit_index)
        if found.owner is None and self._forget(found.gone):
            return self.locate(commit)
        unread: list[StorageError] = [*unread_refs, *found.unread]
        if found.owner is None:
            (tags, damaged), (reviews, lost) = self.readable_tags(), readable_reviews(self.place)
            found = find([tag.owner for tag in (*tags, *kept(reviews))], commit, self._manifest, self.commit_index)
            unread += [*damaged.values(), *lost.values(), *found.unread]
        if found.owner is not None and found.commit is not None:
            return found.owner, found.commit
        raise unread[0] if unread else HistoryReclaimed(f"commit {commit} is not in the history of any branch or tag")

    def _known_refs(self) -> tuple[list[Ref], list[DamagedRecord]]:
        """Branches as they are remembered or noted, the main one first, and why others cannot be read."""
        with suppress(NotFound, StorageError):  # what is said of the main branch does not hide the others
            self.commit_index.open(self.ref(MAIN).incarnation)
        listed = {name_in(o.path): o for o in self.place.names(REFS)}
        with self._lock:
            still = {name: ref for name, ref in self._refs.items() if name in listed}
            self._refs = Lately(MOST_REFS, {**self.commit_index.refs(listed), **still})
            known = [self._refs[name] for name in listed if name in self._refs]
        fresh, unread = readable(listed.keys() - {ref.branch for ref in known}, lambda name: self._read_ref(name)[0])
        with self._lock:
            self._refs = Lately(MOST_REFS, {**self.commit_index.note_refs(listed, fresh), **self._refs})
        return sorted([*known, *fresh], key=lambda ref: (ref.branch != MAIN, ref.branch)), list(unread.values())

    def _forget(self, gone: Iterable[Ref]) -> bool:
        """Forget branches that were deleted, or deleted and made again; whether there were any."""
        old = outdated(gone, lambda name: self._read_ref(name)[0])
        with self._lock:
            self._refs = Lately(MOST_REFS, {name: ref for name, ref in self._refs.items() if ref not in old})
        return bool(old)

    # ── writing ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def publish(self, branch: str, plan: PublishPlan, revalidate: Revalidate | None = None) -> Commit:
        """Publish a plan to a branch."""
        self.require_writable()
        return self.publisher(branch).publish(plan, revalidate)

    @contextmanager
    def in_flight(self, commit: str | None = None) -> Iterator[Held]:
        """A lease, for a plan, of what takes longer than reclaim waits or uses a commit again: neither is reclaimed meanwhile."""
        self.require_writable()
        owner, found = (None, None) if commit is None else self.history.logical_commit(*self.locate(commit))
        with holding(self.place, self._ids.next(), owner, None if found is None else found.id) as held:
            if owner is not None and found is not None:
                self._still_free(owner, found.id, self.history.layouts(owner, found))
            yield held

    def lease_for(self, time: timedelta) -> Held:
        """A lease that any process may use and give back, and that ends after a time."""
        self.require_writable()
        return lasting(self.place, self._ids.next(), time)

    def give_back(self, lease: Held) -> None:
        """End a lease."""
        give_back(self.place, lease)

    def create_tables(self, tables: Iterable[NewTable]) -> tuple[TableState, ...]:
        """Empty tables for a plan that will create them. Nobody sees them until it is published."""
        self.require_writable()
        return tuple(self.tables.create(t.table, t.location, t.schema) for t in tables)

    def publisher(self, branch: str | Ref) -> Publisher:
        """What publishes to a branch."""
        ref = self.ref(branch) if isinstance(branch, str) else branch
        return self._open.publisher(ref.incarnation, partial(self._publisher, ref))

    def _publisher(self, ref: Ref, manifest: Manifest) -> Publisher:
        from omnigraph.storage.commits.publisher import Publisher

        return Publisher(ref.branch, manifest, self.tables, self._ids, self._clock, partial(self.history.logical, ref))

    def manifest(self, ref: Ref) -> Manifest:
        """The manifest of a branch, live or not."""
        return self._manifest(ref.incarnation)

    def _manifest(self, incarnation: str) -> Manifest:
        refuse_after_fork()
        return self._open.get(incarnation)

    def require_writable(self) -> None:
        """Refuse, before anything is written, when the graph was opened read-only."""
        if self.read_only:
            raise UsageError("the graph was opened read-only", hint="To write, open it without read-only.")
