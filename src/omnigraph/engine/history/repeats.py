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

from collections.abc import Callable
from datetime import timedelta
from threading import Lock
from typing import Final, TypeVar

from omnigraph.errors import AlreadyExists, KeyReused
from omnigraph.model.frozen import frozen
from omnigraph.storage.commits.lineage import Commit
from omnigraph.storage.graph_store import GraphStore

R = TypeVar("R")

REMEMBERED: Final = timedelta(days=1)
_RUN: Final = 256
"""Commits that are read at a time."""


@frozen
class Keyed:
    """A write that may be repeated."""

    branch: str
    key: str
    operation: str
    """The kind of its commit."""
    asked: str
    """A digest of what it was asked to do."""


class Repeats:
    """The keys that commits carry, by branch. Safe from any thread."""

    def __init__(self, store: GraphStore) -> None:
        self._store = store
        self._lock = Lock()
        self._seen: dict[str, tuple[str, dict[str, Commit]]] = {}
        """By incarnation of a branch: the newest commit that was looked at, and commits by key."""

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
            ref = self._store.ref(branch)
            incarnation = ref.incarnation
            newest, known = self._seen.get(incarnation, ("", {}))
            oldest = int((self._store.clock.now() - REMEMBERED).timestamp() * 1_000_000)
            fresh: list[Commit] = []
            for commit in self._store.line(branch, _RUN):
                if commit.id in (newest, ref.fork_commit) or commit.created_at < oldest:
                    break
                fresh.append(commit)
            kept = {k: c for k, c in known.items() if c.created_at >= oldest}
            kept |= {c.idempotency_key: c for c in reversed(fresh) if c.idempotency_key is not None}
            self._seen[incarnation] = (fresh[0].id if fresh else newest, kept)
            return kept.get(key)

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
