"""The views an open graph has lately given: one per layout of a commit, so that what was read for one query serves the next."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Final

from omnigraph.catalog.catalog import Catalog
from omnigraph.engine.snapshot.view import View, Workspace
from omnigraph.errors import HistoryReclaimed, UsageError
from omnigraph.storage.commits.manifest import SchemaDocument
from omnigraph.storage.commits.name_rules import reads_like_id
from omnigraph.storage.graph_store import MAIN, Snapshot

_KEPT: Final = 16

_FRESH: Final = 60.0
"""Seconds after which a commit of the past is looked up again: it may be laid out anew, and the old layout reclaimed."""


class Views:
    """Views by branch, commit or tag. Safe from any thread."""

    def __init__(self, workspace: Workspace, catalog_of: Callable[[SchemaDocument], Catalog]) -> None:
        self._workspace = workspace
        self._store = workspace.store
        self._catalog_of = catalog_of
        self._views: OrderedDict[str, View] = OrderedDict()
        """By layout; and those of the past by the commit that was asked for, and since when."""
        self._past: OrderedDict[str, tuple[View, float]] = OrderedDict()
        self._catalogs: dict[str, Catalog] = {}
        self._lock = Lock()

    def view(self, branch: str | None = None, at: str | None = None) -> View:
        """The newest state of a branch, or the graph as a commit (or a tag) left it, or as a branch was at a time."""
        if at is not None:
            if branch is not None:
                at = self._at_time(branch, at)
            with self._lock:
                known = self._past.get(at)
            if known is not None and time.monotonic() - known[1] < _FRESH:
                return known[0]
            snapshot = self._snapshot_at(at)
        else:
            snapshot = self._store.snapshot(MAIN if branch is None else branch)
        return self.of(snapshot, at)

    def of(self, snapshot: Snapshot, at: str | None = None) -> View:
        """A view of a snapshot; `at`: the commit, or whatever else it was asked for by."""
        found = self._views.get(snapshot.layout)
        if found is not None and at is None:
            return found
        made = found or View(self._workspace, snapshot, self.catalog(snapshot))
        with self._lock:
            found = self._views.setdefault(snapshot.layout, made)
            if at is not None and reads_like_id(at):
                self._past[at] = (found, time.monotonic())
            while len(self._views) > _KEPT:
                self._views.popitem(last=False)
            while len(self._past) > _KEPT:
                self._past.popitem(last=False)
        return found

    def _at_time(self, branch: str, at: str) -> str:
        from omnigraph.storage.commits.moments import reads_like_time  # most reads are of now

        if not reads_like_time(at) or "@" in at:
            raise UsageError("give a branch or a commit, not both", hint="A branch goes with a time.")
        self._store.ref(branch)  # a branch that is not there is said to be missing
        return f"{branch}@{at}"

    def _snapshot_at(self, at: str) -> Snapshot:
        try:
            return self._store.snapshot_at(at)
        except HistoryReclaimed:
            if not reads_like_id(at):
                raise
            noted = self._store.commit(at)  # raises the same, unless a merge has noted it down
            raise HistoryReclaimed(
                f"commit {at} was made on branch `{noted.branch}`, which was deleted: the graph as it was then is not kept",
                hint="Read the commit that merged it. To keep such a state readable, keep its branch or give it a tag.",
            ) from None

    def catalog(self, snapshot: Snapshot) -> Catalog:
        """The schema of a snapshot."""
        catalog = self._catalogs.get(snapshot.schema)
        if catalog is None:
            catalog = self._catalogs[snapshot.schema] = self._catalog_of(self._store.schema(snapshot))
        return catalog

    def afresh(self) -> View:
        """The newest state, and whatever is read next is looked up again: cleanup may take layouts that were in use."""
        self.forget()
        return self.view()  # a graph that is gone says so

    def forget(self) -> None:
        """Let go of every view."""
        with self._lock:
            self._views.clear()
            self._past.clear()
