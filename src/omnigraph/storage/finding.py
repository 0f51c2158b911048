"""Which manifest holds a commit, when nobody knows.

A commit is a row of one manifest, and its id does not say which. So manifests are asked, each once, however many branches descend
from it. What is cheap comes first: those that are open, then those that somebody has published to, side by side. A branch that
nobody has published to yet holds no commit, and its folder says so without being opened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final

from omnigraph.errors import NotFound, StorageError
from omnigraph.storage.lineage import Commit
from omnigraph.storage.manifest import Manifest
from omnigraph.storage.refs import Ref

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
