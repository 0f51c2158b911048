"""The manifest of a branch: the one place where anything becomes visible.

It is a small Lance dataset, one per branch. Its rows are of four kinds, and each row's body is JSON:

    head        one row: the newest commit, its number, the schema, whether the branch is sealed
    state       one row per table: where it is pinned
    commit      one row per commit, for ever
    checkpoint  every pin after a packed commit, so that no question needs more than 64 commits of history

Rows live in fragments. The youngest fragment is the *tail*: head, states, and the newest commits (at most `TAIL_COMMITS`). A
publish is one Lance `Update` that removes the tail and adds a new one. Two publishers that read the same tail both want to
remove it, so exactly one succeeds: a strict compare-and-swap, whatever the store. It stays strict when versions are pruned. Lance
compares a swap with those versions after the one it was made on that *are still there*, and the one that removed the same tail
may not be. So every swap also removes a fragment that never was (`ANCHOR`): any two of them want the same.

    fragment 0   packed: commits 0…63, checkpoint 63
    fragment 9   packed: commits 64…127, checkpoint 127
    fragment 40  tail:   head → commit 149, states, commits 128…149

When the tail is full its commits move to a packed fragment of their own, in the same `Update`. Packed fragments of equal size
are merged as in a binary counter, so that there are logarithmically many. Reading the newest state reads the tail alone: the
cost of a snapshot or a publish does not grow with history.

The state *at* an older commit is the current state with the younger commits undone (each knows what it replaced), starting from
the tail or from the checkpoint after the commit. What a branch did before it was a branch is in the manifest of its parent.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from threading import Event, Lock
from typing import TYPE_CHECKING, Final

import lance
import pyarrow as pa
from lance import LanceDataset
from lance import LanceOperation as Op
from lance.dataset import Session
from lance.fragment import write_fragments

from omnigraph.errors import ConflictError, DamagedRecord, NotFound, StorageError
from omnigraph.model.frozen import frozen
from omnigraph.model.phrases import counted
from omnigraph.storage.commits.lineage import Commit, Logical
from omnigraph.storage.commits.manifest_rows import (
    SCHEMA,
    Body,
    Entry,
    StoredEntry,
    belongs_to,
    numbered,
    read_entries,
    read_rows,
    rows_of,
)
from omnigraph.storage.commits.manifest_versions import ManifestVersions, NextVersion, Opened
from omnigraph.storage.commits.version_hint import hinted_version
from omnigraph.storage.files.dataset_folders import DATA, VERSIONS
from omnigraph.storage.files.effects import Call
from omnigraph.storage.files.lance_errors import LostRace, translated
from omnigraph.storage.files.locks import cleared
from omnigraph.storage.files.place import Place
from omnigraph.storage.files.records import damaged, encoded
from omnigraph.storage.lance_format.file_names import version_file
from omnigraph.storage.lance_format.filters import Filter, equal, one_of
from omnigraph.storage.lance_format.small_files import FILE_WRITER
from omnigraph.storage.tables.changes import TableState

if TYPE_CHECKING:
    from omnigraph.storage.lance_format.made_files import FewRows

TAIL_COMMITS = 64
"""Most commits in the tail."""

FENCE_RACES: Final = 200
"""How often a swap that makes no commit may lose."""

FENCE_FAILURES: Final = 2
"""How often a swap that makes no commit is tried again when its outcome is unclear."""

PATIENCE = 0.1
"""Seconds to wait for a swap of this process rather than read what it wrote."""


@frozen
class Reservation:
    """Somebody has the branch to itself for a moment: see `reservations`."""

    owner: str
    beat: int


@frozen
class Head:
    """Where a branch is."""

    commit: str
    seq: int
    schema: str
    sealed: bool = False
    """The branch was deleted: no further commit may follow."""
    fence: int = 0
    """The newest reclaim whose list everybody who goes on from here has to respect: see `doomed`."""
    reserved: Reservation | None = None
    logical: Logical | None = None
    """What the newest commit says of it."""


@frozen
class SchemaDocument:
    """A schema as it is kept with the graph: opaque to storage."""

    id: str
    source: str
    ir: str


@frozen
class Checkpoint:
    """Every table after a commit."""

    commit: str
    tables: tuple[TableState, ...]


@frozen(slots=False)
class ManifestState:
    """What a manifest says, read from its tail."""

    version: int
    """Version of the manifest dataset it was read from."""
    tail: int
    """Fragment that holds it."""
    head: Head
    tables: Mapping[str, TableState]
    recent: tuple[Commit, ...] = field(default=())
    """Commits of the tail, oldest first."""
    packed: tuple[tuple[int, int], ...] = field(default=())
    """(fragment, rows) of every packed fragment."""

    @property
    def is_first(self) -> bool:
        """Whether nothing was ever published to it: it says what was copied from its parent."""
        return self.version == 1

    def after(self, commit: Commit, *, sealed: bool = False) -> ManifestState:
        """The state with one more commit."""
        tables = dict(self.tables)
        for change in commit.changes:
            if change.after is None:
                tables.pop(change.table, None)
            else:
                tables[change.table] = change.after
        head = Head(commit.id, commit.seq, commit.schema, sealed, self.head.fence, logical=commit.logical)
        return ManifestState(self.version, self.tail, head, tables, (*self.recent, commit), self.packed)


def undo(tables: Mapping[str, TableState], commits: Iterable[Commit]) -> dict[str, TableState]:
    """Tables as they were before these commits, youngest first."""
    before = dict(tables)
    for commit in commits:
        for change in commit.changes:
            if change.before is None:
                before.pop(change.table, None)
            else:
                before[change.table] = change.before
    return before


class Manifest:
    """The manifest of one branch incarnation."""

    def __init__(self, place: Place, incarnation: str, session: Session, *, ignores_hint: bool = False) -> None:
        self.place = place
        self.incarnation = incarnation
        self.location = f"__manifest/{incarnation}"
        self._session = session
        self._versions = ManifestVersions(place, self.location, session, ignores_hint=ignores_hint)
        self._lock = Lock()
        """One thread looks; the others that wait for it then look at what it found."""
        self._swapping = Lock()
        """Held from before a swap of this process until its outcome is known here…"""
        self._settled = Event()
        """…and this is set while there is none. Who waits holds nothing: an interrupt would leave it held for good."""
        self._settled.set()
        self._opened: Opened | None = None
        self._state: ManifestState | None = None
        self._bodies: dict[str, tuple[Commit, bytes]] = {}
        """Commits that were published from here, as they stand in the tail: most of each tail was in the one before it."""
        self.probes = 0
        self.scans = 0

    @property
    def folder(self) -> str | None:
        """Where it is on this machine's disk, if it is."""
        return self.place.child(self.location) if self.place.is_local else None

    # ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def load(self) -> ManifestState:
        """The newest state. When nothing changed since the last look, that costs one probe and reads nothing."""
        if self.place.is_local:  # every query asks this, and two looks at a disk have nothing to translate
            with self._lock:
                if (known := self._unchanged()) is not None:
                    return known
        with self._lock, translated(f"read the manifest {self.location}"):
            if not self.place.is_local and (known := self._unchanged()) is not None:
                return known
            if self._opened is None or self._settled.is_set():
                return self._look()
        # What is new is most likely a swap of this process, and whoever made it is about to say what it did.
        self._settled.wait(PATIENCE)
        with self._lock, translated(f"read the manifest {self.location}"):
            return self._unchanged() or self._look()

    def _unchanged(self) -> ManifestState | None:
        if self._opened is None or self._state is None:
            return None
        self.probes += 1
        return self._state if self._versions.is_latest(self._opened) else None

    def _look(self) -> ManifestState:
        opened = self._versions.first() if self._opened is None else self._versions.newest(self._opened)
        self._opened, self._state = opened, self._read_tail(opened)
        return self._state

    @property
    def is_open(self) -> bool:
        """Whether it was read before."""
        return self._state is not None

    def is_there(self) -> bool:
        """Whether its first version is, as it is right after it was made."""
        return self.place.exists(f"{self.location}/{version_file(1)}")

    def is_stored(self) -> bool:
        """Whether there is any version of it."""
        return self.place.named(f"{self.location}/{VERSIONS}", "") is not None

    def is_untouched(self) -> bool:
        """Whether it is seen from outside that nothing was published to it. Not on an object store: reading is as quick there."""
        if self.folder is None:
            return False
        second, first = (os.path.exists(f"{self.folder}/{version_file(v)}") for v in (2, 1))
        return first and not second and hinted_version(self.place, self.location) <= 1

    def last_known(self) -> ManifestState:
        """The state as of the last look, without looking again: good enough to try a swap on, which finds out."""
        return self._state if self._state is not None else self.load()

    def _read_tail(self, opened: Opened) -> ManifestState:
        self.scans += 1
        tail = max(opened.fragments)
        with translated(f"read the manifest {self.location}"):
            said: dict[str, list[StoredEntry]] = {"head": [], "state": [], "commit": []}
            for entry in opened.entries(tail):
                if entry[0] not in said:  # a checksum of it would tell, but nobody would ask
                    raise damaged(f"the manifest {self.location}", f"its newest fragment has a row of the kind {entry[0]!r}")
                said[entry[0]].append(entry)
        heads = [head for _, head in read_entries(said["head"], Head, self.location)]
        if len(heads) != 1:
            raise damaged(f"the manifest {self.location}", f"its newest fragment has {counted(len(heads), 'head')}")
        self.place.see_fence(heads[0].fence)
        states = [state for _, state in read_entries(said["state"], TableState, self.location)]
        commits = sorted(self._commits_of(said["commit"]), key=lambda c: c[1].seq)
        self._bodies = {commit.id: (commit, raw) for raw, commit in commits}
        recent = tuple(commit for _, commit in commits)
        packed = tuple((number, size) for number, size in opened.fragments.items() if number != tail)
        return ManifestState(opened.number, tail, heads[0], {s.table: s for s in states}, recent, packed)

    def _commits_of(self, entries: Sequence[StoredEntry]) -> list[tuple[bytes, Commit]]:
        """Commits of a tail, as they stand there. Most of them were in the one before, and are not read again."""
        found, unread = list[tuple[bytes, Commit]](), list[StoredEntry]()
        for entry in entries:
            _, key, _, raw = entry
            known = self._bodies.get(key)
            if known is not None and known[1] == raw:
                found.append((raw, known[0]))
            else:
                unread.append(entry)
        return [*found, *read_entries(unread, Commit, self.location)]

    def find(self, commit: str, *, carried: bool = False) -> Commit | None:
        """A commit of this manifest by id. Those a merge carried along are of another chain: `tables_at` does not know them."""
        state = self.load()
        for recent in state.recent:
            if recent.id == commit:
                return recent
        kinds = ["commit", "carried"] if carried else ["commit"]
        found = self._scan(one_of("kind", kinds) & equal("key", commit), Commit)
        return found[0] if found else None

    def history(self, *, before: int | None = None, limit: int | None = None) -> list[Commit]:
        """Commits of this manifest with a number below `before`, youngest first."""
        state = self.load()
        found = [c for c in reversed(state.recent) if before is None or c.seq < before]
        if limit is not None and len(found) >= limit:
            return found[:limit]
        top = state.recent[0].seq if state.recent else state.head.seq + 1
        top = top if before is None else min(top, before)
        low = 0 if limit is None else top - (limit - len(found))
        older = self._scan(numbered("commit", low, top - 1), Commit)
        found += sorted(older, key=lambda c: c.seq, reverse=True)
        return found if limit is None else found[:limit]

    def after(self, number: int, limit: int) -> list[Commit]:
        """Commits of this manifest with a number above another, oldest first."""
        recent = self.load().recent
        older: list[Commit] = []
        if recent and number + 1 < recent[0].seq:
            older = self._scan(numbered("commit", number + 1, min(number + limit, recent[0].seq - 1)), Commit)
        return [*sorted(older, key=lambda c: c.seq), *(c for c in recent if c.seq > number)][:limit]

    def carried(self, *, below: int | None = None, above: int = -1) -> list[Commit]:
        """Commits of other branches that merges brought along; all of them, or those with numbers between two."""
        where = equal("kind", "carried") if below is None else numbered("carried", above + 1, below - 1)
        return self._scan(where, Commit)

    def tables_at(self, commit: Commit) -> dict[str, TableState]:
        """Every table as the commit left it."""
        state = self.load()
        if state.recent and commit.seq >= state.recent[0].seq - 1:
            return undo(state.tables, [c for c in reversed(state.recent) if c.seq > commit.seq])
        points = self._scan(
            numbered("checkpoint", commit.seq, commit.seq + TAIL_COMMITS - 1),
            Checkpoint,
            with_seq=True,
        )
        if not points:
            raise NotFound(f"the manifest {self.location} has no checkpoint for commit {commit.id}")
        seq, checkpoint = min(points, key=lambda p: p[0])
        between = numbered("commit", commit.seq + 1, seq)
        younger = sorted(self._scan(between, Commit), key=lambda c: c.seq, reverse=True)
        return undo({t.table: t for t in checkpoint.tables}, younger)

    def schema(self, schema_id: str) -> SchemaDocument | None:
        """A schema of this manifest by id."""
        found = self._scan(equal("kind", "schema") & equal("key", schema_id), SchemaDocument)
        return found[0] if found else None

    def _scan(self, where: Filter, body: type[Body], *, with_seq: bool = False) -> list:  # type: ignore[type-arg]
        state = self.load()
        opened = self._at(state.version)
        fragments = [number for number in opened.fragments if number != state.tail]
        if not fragments:
            return []
        self.scans += 1
        with translated(f"read the manifest {self.location}"):
            rows = opened.scan(fragments, where)
        found = [value for _, value in read_rows(rows, body, self.location)]
        return list(zip(rows["seq"].to_pylist(), found, strict=True)) if with_seq else found

    # ── writing ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def create(
        self, head: Head, tables: Iterable[TableState], schema: SchemaDocument | None = None, commits: Sequence[Commit] = ()
    ) -> None:
        """A new manifest. Nobody sees it until a ref names it. A branch finds its schemas in the manifest it came from."""
        parts = [] if schema is None else [rows_of([("schema", schema.id, head.seq, schema)]).table()]
        parts.append(_tail_rows(head, {t.table: t for t in tables}, [(c, self._body(c)) for c in commits]).table())
        uri, options = self.place.child(self.location), dict(self.place.options) or None

        def make() -> LanceDataset:
            if len(parts) == 1:
                return lance.write_dataset(parts[0], uri, mode="create", storage_options=options, session=self._session)
            fragments = [f for rows in parts for f in write_fragments(rows, uri, mode="create", storage_options=options)]
            return LanceDataset.commit(uri, Op.Overwrite(SCHEMA, fragments), storage_options=options, max_retries=0)

        with translated(f"create the manifest {self.location}"):
            self.place.effects.run(Call.CREATE_MANIFEST, make)
        self._versions.ignores_hint = True  # it is new
        if self.place.is_local:
            self.place.sync(o.path for o in self.place.objects(self.location))

    def publish(
        self,
        expected: ManifestState,
        desired: ManifestState,
        new: SchemaDocument | None,
        carried: Sequence[Commit],
        files: Sequence[str] = (),
    ) -> None:
        """Replace the tail that was read by one that says `desired`. `LostRace` if somebody else replaced it first.

        `files` are what the new commits rest on. They are synced together with the new tail, before anybody can see it.
        """
        try:
            with translated(f"write the manifest {self.location}"):
                wanted, bodies = self._write_tail(expected, desired, new, carried)
        except NotFound as gone:  # what was read is so old that it was pruned: somebody else has replaced it
            raise LostRace(str(gone)) from gone
        data = (f"{self.location}/{DATA}/{file.path}" for f in wanted.fragments for file in f.files)
        self.place.sync((*files, *data), unnamed=[] if wanted.staged is None else [wanted.staged])
        with self._swapping, cleared(self._settled):
            with translated(f"publish to {self.location}"):
                published = self._versions.swap(wanted)
            tail = max(published.fragments)
            packed = tuple((number, size) for number, size in published.fragments.items() if number != tail)
            with self._lock:
                self._opened = published
                recent = tuple(c for c, _ in bodies)
                self._state = replace(desired, version=published.number, tail=tail, recent=recent, packed=packed)
                self._bodies = {c.id: (c, body) for c, body in bodies}
        self.place.see_fence(desired.head.fence)
        self.place.sync([f"{self.location}/{version_file(published.number)}"])
        if wanted.made is not None:
            self._versions.note(published.number)  # last: it must not outlive a power failure that the version did not

    def _write_tail(
        self, expected: ManifestState, desired: ManifestState, new: SchemaDocument | None, carried: Sequence[Commit]
    ) -> tuple[NextVersion, list[tuple[Commit, bytes]]]:
        """The version to swap to, and the commits of its tail, with their bodies."""
        base = self._at(expected.version)
        self.place.require_inside(self.location)
        removed = [expected.tail]
        fresh: list[pa.Table | FewRows] = []
        if carried:
            fresh.append(rows_of(("carried", c.id, c.seq, c) for c in carried))
        if new is not None:
            fresh.append(rows_of([("schema", new.id, desired.head.seq, new)]))
        kept = desired.recent
        if len(kept) > TAIL_COMMITS:
            stay = max(1, TAIL_COMMITS // 4)  # a plan that is a little late finds what it missed in the tail
            old, kept = kept[:-stay], kept[-stay:]
            rows = _packed_rows([(c, self._body(c)) for c in old], desired.tables, kept).table()
            merged, rows = self._merge_packed(base, expected.packed, rows)
            removed += merged
            fresh.append(rows)
        bodies = [(c, self._body(c)) for c in kept]
        fresh.append(_tail_rows(desired.head, desired.tables, bodies))
        handle, columns = self._versions.handle, self._versions.columns
        files = [FILE_WRITER.written(handle, columns, self.place, self.location, rows, Call.WRITE_MANIFEST) for rows in fresh]
        return self._versions.prepared(base, removed, [file.fragment for file in files]), bodies

    def _at(self, version: int) -> Opened:
        opened = self._opened
        return opened if opened is not None and opened.number == version else self._versions.at(version)

    def encode(self, commit: Commit) -> None:
        """Make the body of a commit that is about to be published; refuse one that could not be read again."""
        self._bodies[commit.id] = (commit, encoded(commit, belongs_to("commit", commit.id, commit.seq)))

    def _body(self, commit: Commit) -> bytes:
        known = self._bodies.get(commit.id)
        if known is not None and known[0] is commit:
            return known[1]
        return encoded(commit, belongs_to("commit", commit.id, commit.seq))

    def fence(self, number: int) -> None:
        """Put the number of a reclaim into the head: whoever publishes after that knows of it. No commit is made."""
        failures, races = 0, 0
        while not ((state := self.load()).head.sealed or state.head.fence >= number):
            try:
                self.publish(state, replace(state, head=replace(state.head, fence=number)), None, ())
            except LostRace as lost:
                races += 1
                if races == FENCE_RACES:
                    raise ConflictError(f"{self.location} is too busy to be fenced: {races} attempts lost the race") from lost
            except StorageError:  # perhaps it went through: looking tells
                failures += 1
                if failures > FENCE_FAILURES:
                    raise

    def make_durable(self) -> None:
        """Sync all of it: after a swap whose outcome was unclear, nobody knows what was."""
        if self.place.is_local:
            self.place.sync(o.path for o in self.place.objects(self.location))

    def _merge_packed(self, base: Opened, packed: Sequence[tuple[int, int]], rows: pa.Table) -> tuple[list[int], pa.Table]:
        """Merge the new packed rows with packed fragments that are not larger, as a binary counter carries."""
        merged: list[int] = []
        for number, size in sorted(packed, reverse=True):
            if size < TAIL_COMMITS // 2 or size > rows.num_rows:
                continue
            rows = pa.concat_tables([base.rows(number), rows])
            merged.append(number)
        return merged, rows


def _tail_rows(head: Head, tables: Mapping[str, TableState], commits: Iterable[tuple[Commit, bytes]]) -> FewRows:
    states = (("state", t.table, head.seq, t) for t in tables.values())
    return rows_of([("head", "head", head.seq, head), *states, *(("commit", c.id, c.seq, body) for c, body in commits)])


def _packed_rows(commits: Sequence[tuple[Commit, bytes]], tables: Mapping[str, TableState], after: Sequence[Commit]) -> FewRows:
    """Commits, and a checkpoint after the last and every `TAIL_COMMITS` before it: a group may have overfilled the tail.

    `after` are the commits from the last one to the tables. Behind one that cannot be read nobody knows what a table was.
    """
    checkpoints = list[Entry]()
    with suppress(DamagedRecord):
        for end in range(len(commits), 0, -TAIL_COMMITS):
            tables = undo(tables, reversed(after))
            last, _ = commits[end - 1]
            checkpoints.append(("checkpoint", last.id, last.seq, Checkpoint(last.id, tuple(tables.values()))))
            after = [c for c, _ in commits[max(end - TAIL_COMMITS, 0) : end]]
    return rows_of([*(("commit", c.id, c.seq, body) for c, body in commits), *checkpoints])
