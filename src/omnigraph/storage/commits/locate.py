"""Finding the manifest that holds a commit, and manifests whose branch has lost its name.

A commit is a row of one manifest, and its id does not say which. So manifests are asked, each once, however many branches descend
from it. What is cheap comes first: those that are open, then those that are known to hold it (`commit_index`), then those that
changed since that was noted, side by side. A branch that nobody has published to yet holds no commit, and its folder says so
without being opened.

A branch is deleted by sealing it first, so a manifest with commits that is not sealed and that no ref names has lost its ref.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final

from lance.dataset import Session

from omnigraph.errors import DamagedRecord, GraphError, NotFound, StorageError
from omnigraph.hints import Action, Hint
from omnigraph.storage.commits.commit_index import CommitIndex
from omnigraph.storage.commits.lineage import Commit, DamagedCommit
from omnigraph.storage.commits.manifest import Manifest
from omnigraph.storage.commits.refs import Ref
from omnigraph.storage.files.place import Place
from omnigraph.storage.files.records import readable

SIDE_BY_SIDE: Final = 8
"""Manifests opened at a time."""


_Looked = tuple[Ref, Commit | None, bool]
"""Who was asked, what it holds, and whether it is gone."""


@dataclass
class Found:
    """Where a commit is, and which branches turned out to be gone on the way."""

    owner: Ref | None = None
    commit: Commit | None = None
    gone: list[Ref] = field(default_factory=list)
    unread: list[StorageError] = field(default_factory=list)
    """Why some manifests could not be read: the commit may be in one of them."""


def find(
    refs: Iterable[Ref], commit: str, manifest: Callable[[str], Manifest], index: CommitIndex, *, carried: bool = False
) -> Found:
    """Look for a commit in the manifests of branches and of those they came from."""
    owners = {current.incarnation: current for ref in refs for current in ref.ancestry()}
    live = {ref.incarnation for ref in refs}
    found = Found()

    def look(owner: Ref) -> _Looked:
        home = manifest(owner.incarnation)
        try:
            return owner, home.find(commit, carried=carried), home.last_known().head.sealed
        except NotFound:  # deleted so long ago that it was reclaimed
            return owner, None, True
        except StorageError as error:
            found.unread.append(error)
            return owner, None, False

    opened = [owner for owner in owners.values() if manifest(owner.incarnation).is_open]
    for owner in opened:
        if _note(found, look(owner), live):
            return found
    known = {owner.incarnation for owner in opened}
    others = [o for o in owners.values() if o.incarnation not in known]
    noted = index.current(o.incarnation for o in others)
    holding = [o for o in others if (n := noted.get(o.incarnation)) is not None and n.may_hold(commit, carried=carried)]
    for owner in holding:
        if _note(found, look(owner), live):
            return found
    found.gone += [o for o in others if o.incarnation in live and (n := noted.get(o.incarnation)) is not None and n.sealed]
    unknown = [o for o in others if o.incarnation not in noted]
    touched = [o for o in unknown if o.origin is None or not manifest(o.incarnation).is_untouched()]
    _ask(touched, look, live, found)
    there = {o.incarnation for o in touched}
    read = [m for o in touched if (m := manifest(o.incarnation)).is_open]
    index.note(read, [o.incarnation for o in unknown if o.incarnation not in there])
    return found


def _ask(owners: Sequence[Ref], look: Callable[[Ref], _Looked], live: Set[str], found: Found) -> None:
    """Ask manifests, some at a time, until one of them holds the commit."""
    if not owners:
        return
    with ThreadPoolExecutor(SIDE_BY_SIDE, thread_name_prefix="omnigraph-find") as pool:
        for start in range(0, len(owners), 4 * SIDE_BY_SIDE):
            for looked in pool.map(look, owners[start : start + 4 * SIDE_BY_SIDE]):
                if _note(found, looked, live):
                    return


def outdated(gone: Iterable[Ref], read: Callable[[str], Ref]) -> list[Ref]:
    """Those of some branches that were deleted, or deleted and made again."""
    now, _ = readable((ref.branch for ref in gone), read)
    return [ref for ref in gone if ref not in now]


def _note(found: Found, looked: _Looked, live: Set[str]) -> bool:
    owner, commit, gone = looked
    if gone and owner.incarnation in live:
        found.gone.append(owner)
    if commit is not None:
        found.owner, found.commit = owner, commit
    return commit is not None


def lost(place: Place, session: Session, known: Set[str] = frozenset()) -> Iterator[tuple[str, str]]:
    """Manifests that somebody has committed to, that nobody has deleted and that have no name, each with the branch it was.

    Where nobody has committed, nothing is lost: its maker took the name back, or died before it could give one (`init`).
    """
    there = {o.path.split("/")[1] for o in place.objects("__manifest")}
    for incarnation in sorted(there - known):
        try:
            state = Manifest(place, incarnation, session).load()
        except GraphError:  # half of one: somebody died while creating or removing it
            continue
        if state.recent and state.head.seq > 0 and not state.head.sealed:
            yield incarnation, "" if isinstance(state.recent[-1], DamagedCommit) else state.recent[-1].branch


def require_unused(place: Place, session: Session) -> None:
    """Refuse a place without branches that holds a graph all the same: a new one would take its place, and cleanup its files."""
    for incarnation, branch in lost(place, session):
        raise DamagedRecord(
            f"{place.uri} holds a graph whose branches have lost their names: __manifest/{incarnation} is a branch `{branch}`",
            hint="Restore the folder __refs from a copy.",
        )


def no_graph(place: Place, session: Session) -> NotFound:
    """What to say of a place without branches, once it is known that it holds no graph all the same."""
    require_unused(place, session)
    return NotFound(f"{place.uri} holds no graph", hint=Hint("Create one with ", Action("init"), ", or check the path."))
