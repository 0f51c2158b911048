"""Writes that may be repeated: with the same idempotency key a write happens once on a branch.

Whoever sends a write and gets no answer cannot know whether it happened. A key of their own makes it safe to send it again: the
commit carries the key, and a write whose key a commit carries already is not made again but answered by that commit.

    look for the key in the commits of the branch  →  there: that commit
    prepare and publish                            →  somebody else published the key meanwhile: that commit

A key is kept together with a digest of what was asked (`asked`), and stands for that alone: the same key with another request is
refused (`KeyReused`). Of keys that were kept without a digest the content is not known: they are answered whatever is asked.
A key is one of a branch: a commit that a branch has from the one it was made from was not made on it, and does not count.

The publisher refuses a key that a commit since the base of the write has (`PublishPlan.idempotency_key`); commits up to the base
are looked through here. The base must have been taken before that, so that no commit is looked at by neither. What was seen is
remembered, so that each commit is looked at once by a process.

A key is remembered for a day; after that, a write with it is a new one.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from threading import Lock
from typing import Final, TypeVar

from omnigraph.errors import AlreadyExists, KeyReused
from omnigraph.model.frozen import frozen
from omnigraph.storage.commits.lineage import Commit
from omnigraph.storage.graph_store import GraphStore, Ref

R = TypeVar("R")

REMEMBERED: Final = timedelta(days=1)
_RUN: Final = 256
"""Commits that are read at a time."""

_BRANCHES: Final = 128
"""Branches of which it is remembered what was seen."""


@frozen
class Keyed:
    """A write that may be repeated."""

    branch: str
    key: str
    operation: str
    """The kind of its commit."""
    asked: str
    """A digest of what it was asked to do."""


@dataclass(slots=True)
class _Seen:
    """What was looked through of a branch."""

    newest: str = ""
    """The newest commit that was looked at."""
    carrying: OrderedDict[str, tuple[str, int]] = field(default_factory=OrderedDict)
    """By key, the commit and when it was made, oldest first. Of whole commits a busy day would be gigabytes."""


class Repeats:
    """The keys that commits carry, by branch. Safe from any thread."""

    def __init__(self, store: GraphStore) -> None:
        self._store = store
        self._lock = Lock()
        self._seen: OrderedDict[str, _Seen] = OrderedDict()
        """By incarnation of a branch; those that were asked for lately."""

    def earlier(self, keyed: Keyed) -> Commit | None:
        """The commit that a write was made by, if it was. Refuses a key that another one has."""
        key, found = keyed.key, self._carrying(keyed.branch, keyed.key)
        if found is None:
            return None
        if found.operation != keyed.operation:
            raise KeyReused(f"the idempotency key `{key}` is that of a {found.operation}, not of a {keyed.operation}")
        if found.asked not in (None, keyed.asked):
            raise KeyReused(f"the idempotency key `{key}` is that of another {found.operation}, commit {found.id}")
        return found

    def _carrying(self, branch: str, key: str) -> Commit | None:
        """The newest commit made on a branch, of the last day, that carries a key."""
        with self._lock:
            ref, state = self._store.newest(branch)
            line = self._store.history.line(ref, state.head.seq, _RUN)
            oldest = int((self._store.clock.now() - REMEMBERED).timestamp() * 1_000_000)
            seen = self._looked_through(ref, line, oldest)
            found = seen.carrying.get(key)
        if found is None or found[1] < oldest:
            return None
        owner, commit = self._store.history.find(ref, found[0])
        return commit if owner == ref else None

    def _looked_through(self, ref: Ref, line: Iterator[Commit], oldest: int) -> _Seen:
        """What there is of a branch, back to a moment: commits that were not seen yet are read, the newest first."""
        seen = self._seen.setdefault(ref.incarnation, _Seen())
        self._seen.move_to_end(ref.incarnation)
        while len(self._seen) > _BRANCHES:
            self._seen.popitem(last=False)
        fresh: list[Commit] = []
        for commit in line:
            if commit.id in (seen.newest, ref.fork_commit) or commit.created_at < oldest:
                break
            fresh.append(commit)
        for commit in reversed(fresh):
            if commit.idempotency_key is not None:
                seen.carrying[commit.idempotency_key] = (commit.id, commit.created_at)
                seen.carrying.move_to_end(commit.idempotency_key)
        if fresh:
            seen.newest = fresh[0].id
        while seen.carrying and next(iter(seen.carrying.values()))[1] < oldest:
            seen.carrying.popitem(last=False)
        return seen

    def once(self, keyed: Keyed | None, write: Callable[[], R], answer: Callable[[Commit], R]) -> R:
        """Write, unless it was written before: then the answer is that of the commit. What the write is based on is taken."""
        if keyed is None:
            return write()
        if (found := self.earlier(keyed)) is not None:
            return answer(found)
        try:
            return write()
        except AlreadyExists:
            if (found := self.earlier(keyed)) is None:
                raise
            return answer(found)
