"""Upkeep in the background, of a graph that is written to: nothing of it is imported before there is something to do."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from omnigraph.catalog.catalog import Catalog
    from omnigraph.engine.snapshot.failures import Failures
    from omnigraph.engine.upkeep.reconcile import Reconciler
    from omnigraph.storage.graph_store import GraphStore


class Background:
    """Lets indexes catch up after writes."""

    def __init__(self, store: GraphStore, failures: Failures) -> None:
        self._store = store
        self._failures = failures
        self._made: Reconciler | None = None
        self._lock = Lock()

    @property
    def reconciler(self) -> Reconciler:
        """Who does the work."""
        with self._lock:
            if self._made is None:
                from omnigraph.engine.upkeep.reconcile import Reconciler

                self._made = Reconciler(self._store, self._failures)
            return self._made

    def start(self, branch: str, catalog: Catalog) -> None:
        """Something was committed to a branch."""
        self.reconciler.start(branch, catalog)

    def wait(self) -> None:
        """Until nothing is going on any more."""
        if self._made is not None:
            self._made.wait()
