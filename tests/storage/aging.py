"""Graphs that grow old: a clock that tests can move, and files as old as that clock says."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.storage.graphs import DOCUMENT, TABLES, place

from omnigraph.storage.commits.leases import GRACE
from omnigraph.storage.graph_store import GraphStore
from omnigraph.storage.reclaiming.reclaim import ReclaimReport, reclaim

LONG = 2 * GRACE
"""Longer than anything that was under way."""


class MovedClock:
    """The clock of this machine, moved on."""

    def __init__(self) -> None:
        self.moved = timedelta(0)

    def now(self) -> datetime:
        return datetime.now(UTC) + self.moved

    def pass_time(self, span: timedelta = LONG) -> None:
        self.moved += span


class AgingGraph:
    """A stored graph whose files are as old as its clock says: `catch_up` after writing dates what is new."""

    def __init__(self, folder: Path) -> None:
        self.clock = MovedClock()
        self.root = folder / "graph"
        self.store = GraphStore.init(place(folder), DOCUMENT, TABLES, clock=self.clock)
        self._dated: set[Path] = set()
        self.catch_up()

    def files(self) -> set[str]:
        """Every file there is, below the root."""
        return {str(p.relative_to(self.root)) for p in self.root.rglob("*") if p.is_file()}

    def catch_up(self) -> None:
        """Date the files written since the last time."""
        moment = self.clock.now().timestamp()
        for path in self.root.rglob("*"):
            if path.is_file() and path not in self._dated:
                os.utime(path, (moment, moment))
                self._dated.add(path)

    def pass_time(self, span: timedelta = LONG) -> None:
        """Let time pass after what has been done."""
        self.catch_up()
        self.clock.pass_time(span)

    def reclaim(self, *, keep: int | None = None, older_than: timedelta | None = None, dry_run: bool = False) -> ReclaimReport:
        """Reclaim for good, unless told otherwise."""
        self.catch_up()
        return reclaim(self.store, keep=keep, older_than=older_than, dry_run=dry_run)

    def reopened(self) -> GraphStore:
        """The same graph as another process sees it."""
        return GraphStore.open(place(self.root.parent), clock=self.clock)
