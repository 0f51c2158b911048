"""A cleanup that removes nothing says why."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from tests.storage.aging import AgingGraph
from tests.storage.graphs import PEOPLE, rows

from omnigraph.storage.commits.leases import GRACE


def tidy(folder: Path) -> AgingGraph:
    """A graph without anything that nobody needs."""
    graph = AgingGraph(folder)
    graph.pass_time()
    graph.reclaim(keep=1)
    return graph


def garbage(graph: AgingGraph) -> None:
    graph.store.tables.open(graph.store.snapshot().tables[PEOPLE]).store(rows(lost=1))


def test_whatever_is_needed_stays(tmp_path: Path) -> None:
    graph = tidy(tmp_path)
    report = graph.reclaim(keep=1)
    assert (report.files_removed, report.files_too_young) == (0, 0)
    assert "every file belongs to the one commit that is kept" in (report.reason or "")


def test_what_is_young_stays(tmp_path: Path) -> None:
    graph = tidy(tmp_path)
    garbage(graph)
    report = graph.reclaim(keep=1)
    assert report.files_too_young == 1
    assert report.reason == ("1 file that no commit needs is younger than 1:00:00, and may belong to a write that is in progress")
    graph.pass_time()
    assert graph.reclaim(keep=1).reason is None


def test_what_is_younger_than_a_lease_stays(tmp_path: Path) -> None:
    graph = tidy(tmp_path)
    lease = graph.store.lease_for(timedelta(days=2))
    garbage(graph)
    graph.pass_time(timedelta(days=1))
    report = graph.reclaim()
    assert report.spared_seconds > GRACE.total_seconds()
    assert "holds a lease" in (report.reason or "")
    graph.store.give_back(lease)
    assert graph.reclaim().reason is None
