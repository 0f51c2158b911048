"""Finding the manifest that holds a commit, and manifests whose branch has lost its name.

A commit is a row of one manifest, and its id does not say which. So manifests are asked, each once, however many branches descend
from it. What is cheap comes first: those that are open, then those that somebody has published to, side by side. A branch that
nobody has published to yet holds no commit, and its folder says so without being opened.

A branch is deleted by sealing it first, so a manifest with commits that is not sealed and that no ref names has lost its ref.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final

from lance.dataset import Session

from omnigraph.errors import DamagedRecord, GraphError, NotFound, StorageError
from omnigraph.hints import Action, Hint
from omnigraph.storage.commits.lineage import Commit, DamagedCommit
from omnigraph.storage.commits.manifest import Manifest
from omnigraph.storage.commits.refs import Ref
from omnigraph.storage.files.place import Place

SIDE_BY_SIDE: Final = 8
"""Manifests opened at a time."""


@dataclass
class Found:
    """Where a commit is, and which branches turned out to be gone on the way."""

    owner: Ref | None = None
    commit: Commit | None = None
    gone: list[Ref] = field(default_factory=list)
    unread: list[StorageError] = field(default_factory=list)
    """Why some manifests could not be read: the commit may be in one of them."""


def find(refs: Iterable[Ref], commit: str, manifest: Callable[[str], Manifest], *, carried: bool = False) -> Found:
    """Look for a commit in the manifests of branches and of those they came from."""
    owners = {current.incarnation: current for ref in refs for current in ref.ancestry()}
    live = {ref.incarnation for ref in refs}
    found = Found()

    def look(owner: Ref) -> tuple[Ref, Commit | None, bool]:
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
    touched = [o for o in others if o.origin is None or not manifest(o.incarnation).is_untouched()]
    with ThreadPoolExecutor(SIDE_BY_SIDE, thread_name_prefix="omnigraph-find") as pool:
        for start in range(0, len(touched), 4 * SIDE_BY_SIDE):
            for looked in pool.map(look, touched[start : start + 4 * SIDE_BY_SIDE]):
                if _note(found, looked, live):
                    return found
    return found


def _note(found: Found, looked: tuple[Ref, Commit | None, bool], live: set[str]) -> bool:
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
