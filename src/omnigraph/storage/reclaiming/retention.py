"""Which commits stay: the marking half of reclaim, as pure functions over the lineage.

A commit stays when somebody can still ask for it. Those are

* the head of every live branch;
* the newest `keep` commits of every live branch along its first parents, through the branches it came from;
* every commit that was the newest of its branch at some moment of the last `older_than`: "the graph as it was on Monday" asks
  for the commit that was current on Monday, however old it was then;
* the same for the grace period, whatever the policy says: who took a snapshot, or prepares a write on one, is still using it;
* where live branches began, and the merge base of a branch with `main` and with the branch it came from: the next merge needs
  those;
* what a tag names, what a review needs that is neither merged nor closed, and what somebody holds a lease for.

Without `keep` and `older_than` all history of live branches and tags stays, and only what no commit refers to is garbage.

        keep=2                       m0 ─ m1 ─ m2 ─ m3 ─ m4 ─ m5      main
        tag on m1                          │     ╲
                                           t      w3 ─ w4              work, made of m2

    stay: m5, m4 (keep), m1 (tag), m2 (where work began), w4, w3 (keep)            reclaimed: m0, m3

**Commits are logical ones.** Maintenance lays out a commit anew (`logical`): it neither counts as one nor makes one older. Of a
commit that stays, the newest layout stays. Others stay as long as somebody may be reading them, that is, if they were the newest
of their branch within the times above; and where a branch began with one.

        keep=1, long ago             m1 ─ L2 ─ m3 ─ m4                stays: m4, which is L2; L2 can be opened, and so can m3's id

A wrong clock may not cost anybody a commit: a commit counts as made no earlier than those before it.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from itertools import accumulate, islice

from omnigraph.errors import GraphError, UsageError
from omnigraph.model.frozen import frozen
from omnigraph.storage.commits.leases import leases
from omnigraph.storage.commits.lineage import Commit, merge_bases
from omnigraph.storage.commits.manifest import Manifest
from omnigraph.storage.commits.reclaimed_commits import Position, Reclaimed
from omnigraph.storage.commits.refs import Ref, Tag
from omnigraph.storage.commits.reviews import kept_commits
from omnigraph.storage.graph_store import MAIN, GraphStore
from omnigraph.storage.tables.changes import TableState

_log = logging.getLogger(__name__)


@frozen
class Policy:
    """How much history stays."""

    keep: int | None
    older_than: timedelta | None
    grace: timedelta

    def __post_init__(self) -> None:
        if self.keep is not None and self.keep < 1:
            raise UsageError(f"cannot keep {self.keep} commits of a branch", hint="Keep at least one: the newest.")
        if self.grace < timedelta(0) or (self.older_than is not None and self.older_than < timedelta(0)):
            raise UsageError("a time span cannot be negative")

    @property
    def is_unlimited(self) -> bool:
        return self.keep is None and self.older_than is None

    def horizon(self, now: datetime) -> int:
        """Commits that were replaced before this moment are out of the window. Microseconds since the epoch."""
        return microseconds(now - max(self.grace, self.older_than or timedelta(0)))


@frozen(slots=False)
class History:
    """What one manifest says: its newest tables, and its own commits by number."""

    incarnation: str
    origin: str | None
    head: int
    tables: Mapping[str, TableState]
    commits: Mapping[int, Commit]
    carried: tuple[Commit, ...] = ()

    def fork(self) -> int:
        """The number of the commit the branch was made of."""
        return min(self.commits) - 1 if self.commits else self.head

    def times(self) -> dict[int, int]:
        """When each commit was made, and no earlier than those before it."""
        numbers = sorted(self.commits)
        return dict(zip(numbers, accumulate((self.commits[n].created_at for n in numbers), max), strict=True))


@frozen(slots=False)
class Lineage:
    """Every branch, every tag, and what their manifests say."""

    refs: tuple[Ref, ...]
    tags: tuple[Tag, ...]
    """Those of people, and what reviews need."""
    histories: Mapping[str, History]
    lingering: frozenset[str] = frozenset()
    """Manifests no branch or tag needs, but somebody may be using: just created, or just deleted."""
    leaving: frozenset[str] = frozenset()
    """Manifests nobody needs any more."""
    held: tuple[Tag, ...] = ()
    """Commits that somebody holds a lease for, as if they had a name."""

    def walk(self, incarnation: str, seq: int) -> Iterator[tuple[Position, Commit]]:
        """A commit and its first parents, youngest first."""
        current: str | None = incarnation
        while current is not None and current in self.histories:
            history = self.histories[current]
            while seq in history.commits:
                yield (current, seq), history.commits[seq]
                seq -= 1
            current = history.origin

    def at(self, incarnation: str, seq: int) -> Position | None:
        """The commit with a number, as seen from a branch."""
        return next((position for position, _ in self.walk(incarnation, seq)), None)

    def logical(self, position: Position) -> Position | None:
        """The logical commit that a commit is, or lays out; None: the branch is gone that it was made of."""
        return next((found for found, commit in self.walk(*position) if not commit.is_maintenance), None)

    def layouts(self, position: Position) -> list[Position]:
        """A logical commit and the maintenance that follows it in its manifest, newest first."""
        incarnation, seq = position
        commits = self.histories[incarnation].commits
        found = [position]
        while (next_one := commits.get(seq := seq + 1)) is not None and next_one.is_maintenance:
            found.append((incarnation, seq))
        return found[::-1]

    def newest(self, position: Position, gone: Reclaimed) -> set[Position]:
        """The newest layout that there is of a logical commit."""
        return set(islice((p for p in self.layouts(position) if not gone.holds(*p)), 1))

    def positions(self) -> set[Position]:
        """Every commit."""
        return {(name, seq) for name, history in self.histories.items() for seq in history.commits}


def read_lineage(store: GraphStore, stored: Mapping[str, float], young: float, going: Collection[str] = ()) -> Lineage:
    """The lineage of a stored graph. `stored` is every manifest there is, and when it was last written to.

    Manifests that are `going` may be in pieces. A name for one was put too late: whoever put it takes it back, or has died.
    Leases are read first: who holds one until something else keeps the commit is seen in one of the two places.
    """
    leased = _held(store)
    found, named = store.refs(), [*store.tags(), *kept_commits(store.place)]
    refs = tuple(r for r in found if not _going(r, going))
    tags, held = (tuple(t for t in some if not _going(t.owner, going)) for some in (named, leased))
    late = {name for owner in (*found, *(t.owner for t in (*named, *leased))) for name in _going(owner, going)}
    needed = {ref.incarnation: ref for owner in (*refs, *(t.owner for t in (*tags, *held))) for ref in owner.ancestry()}
    histories = {ref.incarnation: read_history(store.manifest(ref), ref) for ref in needed.values()}
    others = [name for name in stored if name not in needed]
    for name in others:
        try:
            histories[name] = read_history(store.manifest(Ref("", name)), Ref("", name))
        except GraphError as error:  # never finished: its maker died, or is still at it
            _log.info("the manifest %s has no branch and cannot be read: %s", name, error.message)
    lingering = frozenset(name for name in others if stored[name] >= young and name not in going)
    return Lineage(refs, tags, histories, lingering, (frozenset(others) - lingering) | late, held)


def _going(ref: Ref, going: Collection[str]) -> list[str]:
    return [r.incarnation for r in ref.ancestry() if r.incarnation in going]


def _held(store: GraphStore) -> list[Tag]:
    """Commits that somebody is about to use again, as if they had a name."""
    now = store.clock.now().timestamp()
    held = [(path, lease.commit, lease.owner) for path, lease in leases(store.place).items() if lease.until >= now]
    return [Tag(path, commit, owner) for path, commit, owner in held if commit is not None and owner is not None]


def read_history(manifest: Manifest, ref: Ref) -> History:
    """What a manifest says now."""
    state = manifest.load()
    # Somebody may publish between the two looks: what is younger than the state is left for the next time.
    commits = {c.seq: c for c in manifest.history() if c.seq <= state.head.seq}
    origin = None if ref.origin is None else ref.origin.incarnation
    return History(ref.incarnation, origin, state.head.seq, state.tables, commits, tuple(manifest.carried()))


def retained(lineage: Lineage, policy: Policy, now: datetime, gone: Reclaimed) -> frozenset[Position]:
    """The commits that stay."""
    times = {name: history.times() for name, history in lineage.histories.items()}
    found: set[Position] = set()
    for ref in lineage.refs:
        found |= _along(lineage, (ref.incarnation, lineage.histories[ref.incarnation].head), policy, now, times, gone, found)
    for tag in (*lineage.tags, *lineage.held):
        history = lineage.histories[tag.owner.incarnation]
        for seq in (seq for seq, commit in history.commits.items() if commit.id == tag.commit):
            position = (history.incarnation, seq)
            found |= _along(lineage, position, policy, now, times, gone, found) if policy.is_unlimited else set()
            found |= {position} if history.commits[seq].is_maintenance else set()
            found |= lineage.newest(lineage.logical(position) or position, gone)
    for tag in lineage.held:  # whoever holds it may be reading any of its layouts
        history = lineage.histories[tag.owner.incarnation]
        for seq in (seq for seq, commit in history.commits.items() if commit.id == tag.commit):
            found |= set(lineage.layouts((history.incarnation, seq)))
    only_grace = Policy(None, policy.grace, policy.grace)
    for name in lineage.lingering & lineage.histories.keys():
        found |= _along(lineage, (name, lineage.histories[name].head), only_grace, now, times, gone, ())
    found |= _forks(lineage) | _merge_bases(lineage, gone)
    heads = {lineage.at(ref.incarnation, lineage.histories[ref.incarnation].head) for ref in lineage.refs}
    return frozenset(p for p in found if p in heads or not gone.holds(*p))


def _along(
    lineage: Lineage,
    head: Position,
    policy: Policy,
    now: datetime,
    times: Mapping[str, Mapping[int, int]],
    gone: Reclaimed,
    known: Collection[Position],
) -> set[Position]:
    """The commits a policy keeps along the first parents of a head."""
    found: set[Position] = set()
    replaced: int | None = None
    horizon = policy.horizon(now)
    age, laid_out = 0, False
    for position, commit in lineage.walk(*head):
        if policy.is_unlimited and position in known:
            break  # and so is everything below it
        by_number = policy.keep is not None and age < policy.keep
        by_time = replaced is None or replaced >= horizon
        if not (policy.is_unlimited or by_number or by_time):
            break
        if policy.is_unlimited or by_time or not (laid_out or gone.holds(*position)):
            found.add(position)
            laid_out = True
        if not commit.is_maintenance:
            age, laid_out = age + 1, False
        replaced = times[position[0]][position[1]]
    return found


def _forks(lineage: Lineage) -> set[Position]:
    """Where live branches, and the branches they came from, began."""
    found = set[Position]()
    for ref in {r.incarnation: r for live in lineage.refs for r in live.ancestry()}.values():
        if ref.origin is not None:
            fork = lineage.at(ref.origin.incarnation, lineage.histories[ref.incarnation].fork())
            found |= {fork} if fork is not None else set()
    return found


def _merge_bases(lineage: Lineage, gone: Reclaimed) -> set[Position]:
    """Where a branch and `main`, or a branch and the one it came from, last met. Without merges that is where it began."""
    place_of = {commit.id: (name, seq) for name, h in lineage.histories.items() for seq, commit in h.commits.items()}
    commits = {c.id: c for h in lineage.histories.values() for c in (*h.carried, *h.commits.values())}
    live = {ref.incarnation: ref for ref in lineage.refs}

    def logical(id_: str) -> str:
        while (commit := commits.get(id_)) is not None and commit.is_maintenance and commit.parent is not None:
            id_ = commit.parent
        return id_

    merging: set[str] = set()
    for name, history in lineage.histories.items():
        for commit in (c for c in history.commits.values() if c.merged_parent is not None):
            merging |= {name, place_of.get(commit.merged_parent or "", (name, 0))[0]}
    main = next(ref for ref in lineage.refs if ref.branch == MAIN)
    found = set[Position]()
    for ref in lineage.refs:
        if ref == main or not any(r.incarnation in merging for r in ref.ancestry() if r.incarnation != main.incarnation):
            continue
        origin = live.get(ref.origin.incarnation) if ref.origin is not None else None
        for other in {main, origin or main}:
            tips = [logical(_tip(lineage, r)) for r in (ref, other)]
            bases = merge_bases(tips[0], tips[1], lambda c: tuple(map(logical, commits[c].parents)) if c in commits else ())
            for base in bases:
                found |= lineage.newest(place_of[base], gone) if base in place_of else set()
    return found


def _tip(lineage: Lineage, ref: Ref) -> str:
    """The newest commit of a branch."""
    return next((c.id for _, c in lineage.walk(ref.incarnation, lineage.histories[ref.incarnation].head)), "")


def pinned(lineage: Lineage, commits: Iterable[Position]) -> dict[str, dict[int, TableState]]:
    """The tables of commits and of every branch as it is now, by location and pin."""
    wanted: dict[str, set[int]] = {}
    for incarnation, seq in commits:
        wanted.setdefault(incarnation, set()).add(seq)
    found: dict[str, dict[int, TableState]] = {}
    for state in (s for name in _current(lineage) for s in lineage.histories[name].tables.values()):
        found.setdefault(state.location, {})[state.pin] = state
    for name, numbers in wanted.items():
        for _, tables in states_back_to(lineage.histories[name], numbers):
            for state in tables.values():
                found.setdefault(state.location, {})[state.pin] = state
    return found


def _current(lineage: Lineage) -> set[str]:
    return {ref.incarnation for ref in lineage.refs} | (lineage.lingering & lineage.histories.keys())


def states_back_to(history: History, numbers: Collection[int]) -> Iterator[tuple[int, Mapping[str, TableState]]]:
    """The tables after each of some commits of a manifest, youngest first: the newest, with one commit after another undone."""
    tables = dict(history.tables)
    oldest = min(numbers, default=history.head + 1)
    for seq in sorted((seq for seq in history.commits if seq >= oldest), reverse=True):
        if seq in numbers:
            yield seq, dict(tables)
        for change in history.commits[seq].changes:
            if change.before is None:
                tables.pop(change.table, None)
            else:
                tables[change.table] = change.before


def microseconds(moment: datetime) -> int:
    """A moment as commits have it."""
    return int(moment.timestamp() * 1_000_000)
