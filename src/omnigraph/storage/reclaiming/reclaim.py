"""Reclaim: free the space of history that is no longer kept, and of work that was never published.

Every change leaves the old files where they are; that is what makes snapshots, branches and time travel free. In return,
somebody has to find out which files nothing refers to. Lance's own cleanup must not: it does not see the versions we pin and
takes their files for garbage. So this is a mark and sweep of ours, over the whole graph at once:

    mark    the commits that stay (`retention`) → their pins → the files each pinned version needs (`files`)
    sweep   every file below `nodes/` and `edges/` that is neither marked nor young; manifests of branches that no branch and
            no tag descends from; old versions of the manifests that stay

Worked example. `main` inserted two people, replaced one of them, then everything; nobody looks back further than one commit:

    commit   operation          pin of node:1-3   files of that version
    m1       insert a, b        0x9f3             data/A
    m2       upsert b           0xc01             data/A  _deletions/0-…  data/B
    m3       overwrite z        0x8aa             data/C
             (a crashed write)  0xb77             data/A  data/D                      named by no commit

    reclaim(keep=2)      stay m3, m2   →  marked A, B, C, the deletion file, versions 0x8aa and 0xc01
                                          removed data/D, versions 0x9f3 and 0xb77
    reclaim(keep=1)      stays m3      →  removed A, B, the deletion file, version 0xc01
    snapshot_at(m1)      HistoryReclaimed: its row is still in the lineage, its tables are gone

**What is running is never touched.** A write puts its files first and names them last, and no reader announces itself. So a
file younger than the *grace period* stays, whoever it belongs to, and so does every commit that was the newest of its branch
during it. The grace period is longer than most writes take (`GRACE`); what takes longer holds a lease (`leases`), and reclaim
waits as long as the oldest of them. Everything else a writer can build on is marked: heads, tags, where branches began. That is a
courtesy, for it rests on clocks. What does not: files that a writer is *about* to name are settled by a list and a fence
(`doomed`), an old commit that is being tagged by the record of `reclaimed`. Both are written before the first file goes.

**Two at once.** Of two reclaims that look at the same time, the record lets one settle what goes; the other begins anew. What
one has settled the other goes by, so that it may help deleting it and never needs it.

**All or nothing to know.** If a version that must stay cannot be opened, nothing is deleted at all: what it needs is unknown.

**Order.** Record, list and fence first, then versions before the files they need. A reclaim that dies is finished by the next.

The branch manifests are pruned by the same rule rather than by Lance's cleanup: it would be safe there, but it counts
differently in a dry run, has a clock of its own, and leaves what a publisher that lost its race has written for seven days.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Final

from lance.dataset import Session

from omnigraph.errors import CleanupUnderWay, DamagedRecord, GraphError, NotFound, StorageError
from omnigraph.hints import Action, Hint
from omnigraph.model.frozen import frozen
from omnigraph.model.phrases import counted, one_line, size
from omnigraph.storage.commits import deleted_tags, reviews
from omnigraph.storage.commits import leases as leases_
from omnigraph.storage.commits import reclaim_fence as doomed
from omnigraph.storage.commits import reclaimed_commits as reclaimed_
from omnigraph.storage.commits.leases import GRACE, Lease, leases
from omnigraph.storage.commits.locate import lost
from omnigraph.storage.commits.name_rules import REFS, TAGS
from omnigraph.storage.commits.reclaimed_commits import (
    Ledger,
    Overtaken,
    Position,
    Reclaimed,
    forget_older,
    ledger,
    put_record,
    runs,
)
from omnigraph.storage.commits.turns import Turns
from omnigraph.storage.files.dataset_folders import DATA, DELETIONS, INDICES, TRANSACTIONS, VERSIONS
from omnigraph.storage.files.effects import Call
from omnigraph.storage.files.place import Place, StoredObject
from omnigraph.storage.graph_store import GraphStore
from omnigraph.storage.lance_format.file_names import attached_version
from omnigraph.storage.reclaiming.retention import Lineage, Policy, microseconds, pinned, read_lineage, retained
from omnigraph.storage.tables.changes import TableState
from omnigraph.storage.tables.needed_files import Needs, folder_of, manifest_files, needs_of
from omnigraph.storage.tables.table import Tables

TABLE_FOLDERS: Final = ("nodes", "edges")
MANIFESTS: Final = "__manifest"
PROBES: Final = "__probe"
RECORDS: Final = (REFS, TAGS, deleted_tags.FOLDER, leases_.FOLDER, reclaimed_.FOLDER, doomed.FOLDER, reviews.FOLDER)
"""Folders of small objects."""

ATTEMPTS: Final = 5
"""How often a reclaim that meets another one begins anew."""

PAUSE: Final = 0.2
"""Most seconds before the second attempt; longer before each that follows."""

_SWEPT: Final = frozenset({DATA, DELETIONS, INDICES, TRANSACTIONS, VERSIONS})


@frozen
class Swept:
    """What a reclaim did below one folder: a table, a manifest."""

    path: str
    files_removed: int
    bytes_removed: int
    files_kept: int
    bytes_kept: int
    is_gone: bool
    """Nothing is left of it."""
    versions_removed: int = 0
    """How many of the files were versions of it."""

    def __repr__(self) -> str:
        removed = f"{counted(self.files_removed, 'file')} removed ({size(self.bytes_removed)})"
        kept = "nothing is left" if self.is_gone else f"{counted(self.files_kept, 'file')} kept ({size(self.bytes_kept)})"
        return one_line(f"Swept {self.path}: {removed}, {kept}")


@frozen
class ReclaimReport:
    """What a reclaim did, or would do."""

    dry_run: bool
    commits_kept: int
    commits_reclaimed: int
    tables: tuple[Swept, ...]
    manifests: tuple[Swept, ...]
    probes_removed: int
    files_too_young: int = 0
    """Files of tables that no commit needs, and that stay because somebody may be about to name them."""
    spared_seconds: int = int(GRACE.total_seconds())
    """What is younger than that stays: the grace period, or the time since the oldest write began that holds a lease."""

    def __repr__(self) -> str:
        did = "would remove" if self.dry_run else "removed"
        gone = (
            f"{counted(self.commits_reclaimed, 'commit')} and {counted(self.files_removed, 'file')} ({size(self.bytes_removed)})"
        )
        return one_line(f"Cleanup {did} {gone}, keeping {counted(self.commits_kept, 'commit')}")

    def __str__(self) -> str:
        return repr(self) if self.reason is None else f"{self!r}\nNothing was removed: {self.reason}"

    @property
    def reason(self) -> str | None:
        """Why nothing was removed; None if something was."""
        if self.files_removed or self.commits_reclaimed:
            return None
        span, grace = timedelta(seconds=self.spared_seconds), int(GRACE.total_seconds())
        lease = f" (a write that began {span} ago holds a lease)" if self.spared_seconds > grace else ""
        if self.files_too_young:
            return (
                f"{counted(self.files_too_young, 'file')} that no commit needs {'is' if self.files_too_young == 1 else 'are'} "
                f"younger than {span}{lease}, and may belong to a write that is in progress"
            )
        return (
            f"every file belongs to {_kept(self.commits_kept)}, kept by the policy, a branch, a tag or an open review, "
            f"or because it was the newest within the last {span}{lease}"
        )

    @property
    def files_removed(self) -> int:
        return sum(s.files_removed for s in (*self.tables, *self.manifests)) + self.probes_removed

    @property
    def bytes_removed(self) -> int:
        return sum(s.bytes_removed for s in (*self.tables, *self.manifests))

    @property
    def manifests_removed(self) -> int:
        return sum(s.is_gone for s in self.manifests)


def _kept(commits: int) -> str:
    return "the one commit that is kept" if commits == 1 else f"one of the {counted(commits, 'commit')} that are kept"


@frozen(slots=False)
class _Marks:
    """What stays, and what goes with it."""

    commits: frozenset[Position]
    reclaimed: frozenset[Position]
    """Commits that can be opened now and will not be any more."""
    pins: Mapping[str, Mapping[int, TableState]]
    leaving: frozenset[str]
    logical: Mapping[Position, Position | None]
    """The logical commit that each of them is, or lays out."""

    @property
    def kept(self) -> int:
        """How many commits stay, as people count them."""
        return len({self.logical[p] for p in self.commits} - {None})

    @property
    def lost(self) -> int:
        """How many commits go, as people count them: none of their layouts stays."""
        return len({self.logical[p] for p in self.reclaimed} - {self.logical[p] for p in self.commits} - {None})

    def together(self, later: _Marks) -> _Marks:
        """What stays by either of two looks; goes only what goes by both."""
        pins = {where: {**self.pins.get(where, {}), **later.pins.get(where, {})} for where in {*self.pins, *later.pins}}
        logical = {**self.logical, **later.logical}
        return _Marks(self.commits | later.commits, self.reclaimed - later.commits, pins, self.leaving & later.leaving, logical)


@frozen(slots=False)
class _Sweep:
    """The files of one folder that go."""

    path: str
    remove: tuple[StoredObject, ...]
    keep: tuple[StoredObject, ...]
    call: Call = Call.RECLAIM
    unnamed: bool = False
    """Among them are files that no version ever named: somebody may be about to."""
    oldest: int = 0
    """Of a manifest: the first version that stays."""
    too_young: int = 0
    """Those that stay although nothing needs them."""

    def among(self, going: frozenset[str]) -> _Sweep:
        spared = [o for o in self.remove if o.path not in going]
        return replace(self, remove=tuple(o for o in self.remove if o.path in going), keep=(*self.keep, *spared))

    def report(self) -> Swept:
        removed, kept = sum(o.size for o in self.remove), sum(o.size for o in self.keep)
        versions = sum(f"/{VERSIONS}/" in o.path for o in self.remove)
        return Swept(self.path, len(self.remove), removed, len(self.keep), kept, not self.keep, versions)


@frozen(slots=False)
class _Plan:
    """Everything that goes."""

    tables: tuple[_Sweep, ...]
    manifests: tuple[_Sweep, ...]
    probes: _Sweep

    def doomed(self) -> frozenset[str]:
        """What goes of tables. Nobody comes to name anything else."""
        return frozenset(o.path for sweep in self.tables for o in sweep.remove)

    def among(self, going: frozenset[str]) -> _Plan:
        """The same, but only what was found before the branches were fenced."""
        return replace(
            self,
            tables=tuple(sweep.among(going) for sweep in self.tables),
            manifests=tuple(sweep.among(going) for sweep in self.manifests),
        )

    def without(self, spared: frozenset[str]) -> _Plan:
        """The same without some."""
        return self.among(self.everything() - spared) if spared else self

    def everything(self) -> frozenset[str]:
        """Whatever goes of tables and manifests."""
        return frozenset(o.path for sweep in (*self.tables, *self.manifests) for o in sweep.remove)

    def unnamed(self) -> frozenset[str]:
        """Manifests whose next version somebody may have begun to write."""
        return frozenset(sweep.path.rpartition("/")[2] for sweep in self.manifests if sweep.unnamed)


class _Unopened(Exception):
    """A version that must stay cannot be opened: it is missing, or another reclaim takes it at this moment."""

    def __init__(self, error: StorageError) -> None:
        super().__init__(error.message)
        self.error = error


def reclaim(
    store: GraphStore,
    *,
    keep: int | None,
    older_than: timedelta | None,
    grace: timedelta = GRACE,
    dry_run: bool = True,
    actor: str | None = None,
) -> ReclaimReport:
    """Delete what nobody can ask for any more. A dry run deletes nothing and reports the same.

    The record of what is gone says who reclaimed last.

    A commit goes if it is beyond the newest `keep` of its branch *and* was replaced longer than `older_than` ago; without a
    limit, history stays and only files that no commit refers to go.

    Another reclaim may take what this one has just looked at. Then it looks again, and gives up after some time
    (`CleanupUnderWay`). What cannot be opened twice, with nobody beside, is missing.
    """
    if not dry_run:
        store.require_writable()
    policy = Policy(keep, older_than, grace)
    unopened: str | None = None
    for attempt in range(ATTEMPTS):
        time.sleep(attempt * random.uniform(0, PAUSE))
        found = ledger(store.place)
        try:
            return _reclaim(store, policy, found, dry_run, actor)
        except Overtaken:
            unopened = None
        except (NotFound, _Unopened) as missed:
            error = missed if isinstance(missed, NotFound) else missed.error
            if error.message == unopened and ledger(store.place).number == found.number:
                raise _of_a_late_branch(store) or error from missed.__cause__
            unopened = error.message
    raise CleanupUnderWay(f"another cleanup of {store.place.uri} is running")


def _of_a_late_branch(store: GraphStore) -> CleanupUnderWay | None:
    """What to say where a branch was made of a commit that was reclaimed: its maker is about to take it back, or has died."""
    gone = reclaimed_.reclaimed(store.place)
    for ref in (r for r in store.refs() if r.origin is not None):
        state = store.manifest(ref).load()
        if ref.origin is not None and not state.recent and gone.lacks(ref.origin, state.head.seq):
            return CleanupUnderWay(
                f"branch `{ref.branch}` is being made of a commit that another cleanup has reclaimed",
                hint=f"Retry in a moment. If that does not end, whoever made it has died: delete branch `{ref.branch}`.",
            )
    return None


def _reclaim(store: GraphStore, policy: Policy, found: Ledger, dry_run: bool, actor: str | None) -> ReclaimReport:
    now = store.clock.now()
    held, ended = _leases(store.place, now)  # first of all: what begins later is younger than everything looked at
    grace = max([policy.grace, *(now - datetime.fromtimestamp(lease.since, UTC) for lease in held)])
    policy = replace(policy, grace=grace)
    marks = _mark(store, policy, now, found)
    old = _Old((now - grace).timestamp(), doomed.lists(store.place))
    plan = _plan(store.place, marks, old)
    if not dry_run:
        marks, plan = _settled(store, policy, now, found, marks, plan, old, actor)
        _remove(store.place, [*plan.tables, *plan.manifests, plan.probes])
        store.place.delete([*ended, *_staged(store.place, old.young)], Call.RECLAIM)
        doomed.forget(store.place, (n for n in old.listed if n != max(old.listed) or plan.doomed()))
    return ReclaimReport(
        dry_run,
        marks.kept,
        marks.lost,
        tuple(s.report() for s in plan.tables),
        tuple(s.report() for s in plan.manifests),
        len(plan.probes.remove),
        sum(s.too_young for s in plan.tables),
        int(grace.total_seconds()),
    )


def _staged(place: Place, young: float) -> list[str]:
    """Halves of puts whose processes have died."""
    stored = (o for folder in RECORDS for o in place.objects(folder))
    return [o.path for o in stored if place.is_staged(o.path) and o.modified < young]


def _leases(place: Place, now: datetime) -> tuple[list[Lease], list[str]]:
    """What is running, and the leases of what is not any more."""
    found = leases(place)
    ended = [path for path, lease in found.items() if lease.until < now.timestamp()]
    return [lease for path, lease in found.items() if path not in ended], ended


# ── mark ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _mark(store: GraphStore, policy: Policy, now: datetime, found: Ledger) -> _Marks:
    written: dict[str, float] = {}
    for entry in _of_datasets(store.place.objects(MANIFESTS)):
        name = entry.path.split("/")[1]
        written[name] = max(written.get(name, 0.0), entry.modified)
    gone = found.settled
    lineage = read_lineage(store, written, (now - policy.grace).timestamp(), found.record.manifests)
    commits = retained(lineage, policy, now, gone)
    going = _going(lineage, commits, gone)
    _require_named(store, lineage.leaving)
    logical = {p: lineage.logical(p) for p in (*commits, *going)}
    return _Marks(commits, going, pinned(lineage, commits), lineage.leaving, logical)


def _require_named(store: GraphStore, leaving: frozenset[str]) -> None:
    """Refuse to take a manifest for garbage whose name was lost: a branch that somebody deleted is sealed.

    Branches come and go meanwhile. One with commits had a name before it had them, and one that is deleted is sealed before its
    name goes: so names are read after the commits were seen, and the seal is looked for after that.
    """
    if not leaving or not _lost(store, leaving):
        return
    owners = [*store.refs(), *(tag.owner for tag in (*store.tags(), *reviews.kept_commits(store.place)))]
    named = {ref.incarnation for owner in owners for ref in owner.ancestry()}
    for incarnation, branch in _lost(store, leaving - named):
        raise DamagedRecord(
            f"the ref of branch `{branch}` is lost: cleanup would take its commits for garbage (__manifest/{incarnation})",
            hint=f"Nothing was removed. Restore __refs/{branch} from a copy, or move __manifest/{incarnation} away.",
        )


def _lost(store: GraphStore, among: frozenset[str]) -> list[tuple[str, str]]:
    there = frozenset(o.path.split("/")[1] for o in store.place.objects(MANIFESTS))
    return [found for found in lost(store.place, store.tables.session, there - among) if found[0] in among]


def _going(lineage: Lineage, commits: frozenset[Position], gone: Reclaimed) -> frozenset[Position]:
    return frozenset(p for p in lineage.positions() - commits if not gone.holds(*p))


@frozen(slots=False)
class _Old:
    """What may go if nothing needs it."""

    young: float
    """What was written since then may not."""
    listed: Mapping[int, frozenset[str]]
    """What reclaims before this one were about to delete: its writers were refused, or will be, however young it is."""

    def holds(self, found: StoredObject) -> bool:
        return found.modified < self.young or any(found.path in paths for paths in self.listed.values())


def _settled(
    store: GraphStore, policy: Policy, now: datetime, found: Ledger, marks: _Marks, plan: _Plan, old: _Old, actor: str | None
) -> tuple[_Marks, _Plan]:
    """Announce what goes, fence the branches, then look once more for what was named meanwhile: that stays. Settle the rest."""
    place, going, unnamed = store.place, plan.doomed(), plan.unnamed()
    newest, announces = found, bool(marks.reclaimed or marks.leaving)
    if announces:
        announced = Reclaimed(microseconds(now), runs(marks.reclaimed), tuple(sorted(marks.leaving)), by=actor)
        newest = put_record(place, found, replace(found.settled, announced=announced), Call.ANNOUNCE)
    number = doomed.announce(place, going, place.fence) if going or unnamed else 0
    if number:
        _fence(store, number, None if going else unnamed)
    final = marks.together(_mark(store, policy, now, found)) if announces or number else marks
    settled = _record(now, found, final, actor)
    if announces or not found.is_alone or replace(settled, at=0, by=None) != replace(found.record, at=0, by=None):
        newest = put_record(place, newest, settled)
        forget_older(place, newest)
    if final != marks:
        plan = _plan(place, final, old).among(plan.everything())
    plan = plan.without(_named_meanwhile(place, plan))
    if number and plan.doomed() != going:
        doomed.correct(place, number, plan.doomed())
    return final, plan


def _named_meanwhile(place: Place, plan: _Plan) -> frozenset[str]:
    """Files of manifests that no version named, and one does now: it was published before the fence came."""
    session = Session()
    return frozenset(path for s in plan.manifests if s.unnamed for path in manifest_files(place, s.path, s.oldest, session))


def _fence(store: GraphStore, number: int, only: frozenset[str] | None) -> None:
    """Put a fence into the head of every branch, also of those that are made meanwhile; or of some.

    Whoever stands before a swap on one of them loses it, and writes what it needs again.
    """
    fenced = set[str]()
    while refs := [r for r in store.refs() if r.incarnation not in fenced and (only is None or r.incarnation in only)]:
        for ref in refs:
            manifest = store.manifest(ref)
            with Turns(manifest.folder).turn():
                manifest.fence(number)
            fenced.add(ref.incarnation)


def _record(now: datetime, found: Ledger, marks: _Marks, actor: str | None) -> Reclaimed:
    """What is gone after this reclaim and those before it. A manifest that goes needs no record of its commits."""
    positions = {*found.settled.positions(), *marks.reclaimed}
    staying = runs(p for p in positions if p[0] not in marks.leaving)
    return Reclaimed(microseconds(now), staying, tuple(sorted(marks.leaving)), by=actor)


# ── sweep ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _plan(place: Place, marks: _Marks, old: _Old) -> _Plan:
    probes = tuple(o for o in place.objects(PROBES) if o.modified < old.young)
    return _Plan(
        tuple(_table_sweeps(place, marks, old)), tuple(_manifest_sweeps(place, marks, old.young)), _Sweep(PROBES, probes, ())
    )


def _table_sweeps(place: Place, marks: _Marks, old: _Old) -> Iterator[_Sweep]:
    tables = Tables(place)  # of its own: the handles other people use stay cached
    for location, stored in _by_folder(o for folder in TABLE_FOLDERS for o in place.objects(folder)).items():
        states = marks.pins.get(location)
        needs = None if states is None else _needs(tables, location, list(states.values()), stored)
        keep, remove, too_young = list[StoredObject](), list[StoredObject](), 0
        for entry in stored:
            needed = needs is not None and (not _is_known(entry.path) or needs.cover(entry.path))
            too_young += not needed and not old.holds(entry)
            (keep if needed or not old.holds(entry) else remove).append(entry)
        yield _Sweep(location, tuple(remove), tuple(keep), too_young=too_young)


def _needs(tables: Tables, location: str, states: Sequence[TableState], stored: Sequence[StoredObject]) -> Needs:
    """What the pins of a table need, and what its own head needs: plain Lance readers see that one."""
    versions = [attached_version(o.path.rpartition("/")[2]) for o in stored if f"/{VERSIONS}/" in o.path]
    newest = max((v for v in versions if v is not None), default=None)
    pins = {state.pin for state in states} | ({newest} if newest is not None else set())
    files, folders = dict[str, int | None](), dict[str, int | None]()
    for pin in sorted(pins):
        try:
            needs = needs_of(tables.open(TableState(location, location, pin, 0, 0)))
        except GraphError as error:
            raise _Unopened(
                StorageError(
                    f"cannot reclaim: {location} at {pin} must stay and cannot be opened ({error.message}). Nothing was deleted.",
                    hint=Hint(
                        Action("verify"), " lists what is missing. Delete the branch or tag that needs it, or restore the file."
                    ),
                )
            ) from error
        files.update(needs.files)
        folders.update(needs.folders)
    return Needs(files, folders)


def _manifest_sweeps(place: Place, marks: _Marks, young: float) -> Iterator[_Sweep]:
    session = Session()
    for location, stored in _by_folder(place.objects(MANIFESTS)).items():
        if location.rpartition("/")[2] in marks.leaving:
            yield _Sweep(location, tuple(stored), ())
            continue
        versions = sorted(
            (version, o.modified) for o in stored if (version := attached_version(o.path.rpartition("/")[2])) is not None
        )
        # In use during the grace period: the newest one, and each that was replaced within it.
        used = [v for (v, _), (_, replaced) in pairwise(versions) if replaced >= young]
        oldest = min([*used, *(v for v, _ in versions[-1:])], default=None)
        needed = frozenset[str]() if oldest is None else manifest_files(place, location, oldest, session)
        remove = [o for o in stored if o.modified < young and _is_known(o.path) and oldest is not None and o.path not in needed]
        gone = {o.path for o in remove}
        data = {o.path for o in remove if f"/{DATA}/" in o.path}
        named = manifest_files(place, location, versions[0][0], session) if data else frozenset[str]()
        keep = tuple(o for o in stored if o.path not in gone)
        yield _Sweep(location, tuple(remove), keep, Call.PRUNE_MANIFEST, bool(data - named), oldest or 0)


def _by_folder(stored: Iterable[StoredObject]) -> dict[str, list[StoredObject]]:
    """Objects by the dataset they belong to: the first two parts of their path."""
    found: dict[str, list[StoredObject]] = {}
    for entry in _of_datasets(stored):
        found.setdefault("/".join(entry.path.split("/")[:2]), []).append(entry)
    return found


def _of_datasets(stored: Iterable[StoredObject]) -> Iterator[StoredObject]:
    """Objects in the folders of a dataset; whatever somebody put beside them is none of our business."""
    return (o for o in stored if len(parts := o.path.split("/")) > 3 and parts[2] in _SWEPT)


def _is_known(path: str) -> bool:
    """Whether a file is listed by the version that needs it, or is one that never came to be. The hint of Lance is neither."""
    return f"/{VERSIONS}/" not in path or path.partition("#")[0].endswith(".manifest")


def _remove(place: Place, sweeps: Sequence[_Sweep]) -> None:
    """Delete what goes: versions first, so that none is left that lacks a file, and the oldest of a manifest before the newer."""
    for versions in (True, False):
        for sweep in sweeps:
            going = [entry.path for entry in sweep.remove if (f"/{VERSIONS}/" in entry.path) is versions]
            place.delete(sorted(going, reverse=versions), sweep.call)  # attached versions count down
    for sweep in sweeps:
        emptied = {sweep.path} if not sweep.keep else {folder for o in sweep.remove if (folder := folder_of(o.path))}
        for folder in sorted(emptied):
            place.remove_empty_folders(folder, sweep.call)
