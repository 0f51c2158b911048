"""What is under way longer than reclaim waits, and commits that are used again."""

from __future__ import annotations

import time
from datetime import timedelta
from pathlib import Path

import pytest
from tests.storage.aging import AgingGraph
from tests.storage.graphs import PEOPLE, SCHEMA, content, insert, new_graph, overwrite, place, rows

from omnigraph.errors import HistoryReclaimed, StorageError
from omnigraph.storage.commits import leases
from omnigraph.storage.commits.leases import FOLDER, GRACE
from omnigraph.storage.commits.lineage import OpClass
from omnigraph.storage.commits.plan import PlannedChange, PublishPlan, Replacement
from omnigraph.storage.files.effects import Call, Effects
from omnigraph.storage.graph_store import MAIN, GraphStore, NewTable
from omnigraph.storage.reclaiming.verify import verify
from omnigraph.storage.tables.changes import Append, Applied, WrittenRows


@pytest.fixture
def graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AgingGraph:
    aging = AgingGraph(tmp_path)
    monkeypatch.setattr(time, "time", lambda: aging.clock.now().timestamp())
    return aging


def written(store: GraphStore) -> WrittenRows:
    """Rows in files nobody refers to yet."""
    return store.tables.open(store.snapshot().tables[PEOPLE]).store(rows(late=1))


def publish(store: GraphStore, rows: WrittenRows) -> None:
    change = PlannedChange(PEOPLE, Append(rows, ("late",)))
    store.publish(MAIN, PublishPlan(OpClass.LOGICAL, "load", store.snapshot().commit, (change,)))


def test_with_a_lease_a_write_may_take_hours_and_reclaim_waits_for_it(graph: AgingGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leases, "RENEWED", timedelta(milliseconds=1))
    other = graph.reopened()
    with graph.store.in_flight() as lease:
        lost = written(graph.store)
        graph.catch_up()
        for _ in range(5):
            graph.pass_time(GRACE / 2)
            renewed = lease.lease.until
            while lease.lease.until < renewed + GRACE.total_seconds() / 2:
                time.sleep(0.001)
            overwrite(other, z=1)
            graph.reclaim(keep=1)
        assert set(lost.unsynced) <= graph.files()
        publish(graph.store, lost)
    assert content(graph.store) == {"z": 1, "late": 1}
    assert verify(graph.reopened()).ok
    assert not [f for f in graph.files() if f.startswith(FOLDER)]


def test_a_lease_of_a_fixed_length_ends_with_it_or_when_it_is_given_back(graph: AgingGraph) -> None:
    day = timedelta(days=1)
    lease, kept = graph.store.lease_for(day), graph.store.lease_for(3 * day)
    lost = written(graph.store)
    graph.pass_time(day / 2)
    graph.reclaim()
    assert set(lost.unsynced) <= graph.files()
    graph.pass_time(day)
    graph.reclaim()
    assert lease.path not in graph.files()
    assert {kept.path, *lost.unsynced} <= graph.files()
    for _ in range(2):
        graph.store.give_back(kept)
    graph.reclaim()
    assert not {kept.path, *lost.unsynced} & graph.files()


def test_the_lease_of_a_process_that_died_ends_and_is_swept(graph: AgingGraph) -> None:
    with graph.store.in_flight():
        lost = written(graph.store)
        left = [f for f in graph.files() if f.startswith(FOLDER)]
        saved = (graph.root / left[0]).read_bytes()
    (graph.root / left[0]).write_bytes(saved)  # what a process that died does not remove
    graph.pass_time(GRACE / 2)
    graph.reclaim()
    assert left[0] in graph.files()
    graph.pass_time()
    graph.reclaim()
    assert not {left[0], *lost.unsynced} & graph.files()


def test_a_write_whose_lease_could_not_be_renewed_goes_through_if_its_files_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "RENEWED", timedelta(milliseconds=1))

    class Refusing(Effects):
        def before(self, call: Call) -> None:
            if call is Call.PUT:
                raise StorageError("the store went away")

    new_graph(tmp_path)
    store = GraphStore.open(place(tmp_path, effects=Refusing()))
    with store.in_flight() as lease:
        while lease.failure is None:
            time.sleep(0.001)
        publish(store, written(store))
    assert content(store) == {"late": 1}


def test_a_commit_that_is_held_stays_until_it_is_used_again(graph: AgingGraph) -> None:
    old = insert(graph.store, a=1)
    overwrite(graph.store, b=2)
    graph.pass_time()
    overwrite(graph.store, c=3)
    graph.pass_time()
    with graph.store.in_flight(old.id):
        graph.reclaim(keep=1)
        target = graph.store.snapshot_at(old.id).tables[PEOPLE]
        now = graph.store.snapshot()
        revert = Replacement(PEOPLE, now.tables[PEOPLE].pin, Applied(target, 1, 1, (), (), ()))
        graph.store.publish(MAIN, PublishPlan(OpClass.LOGICAL, "revert", now.commit, replacements=(revert,)))
    graph.pass_time()
    graph.reclaim(keep=1)
    assert content(graph.reopened()) == {"a": 1}
    assert verify(graph.reopened(), deep=True).ok


def test_a_commit_that_was_reclaimed_cannot_be_held(graph: AgingGraph) -> None:
    old = insert(graph.store, a=1)
    overwrite(graph.store, b=2)
    graph.pass_time()
    graph.reclaim(keep=1)
    with pytest.raises(HistoryReclaimed), graph.store.in_flight(old.id):
        raise AssertionError
    assert not [f for f in graph.files() if f.startswith(FOLDER)]


def test_a_table_that_a_dead_process_left_is_made_anew_so_that_reclaim_does_not_take_it(graph: AgingGraph) -> None:
    table = NewTable("node:9-9", "nodes/9-9", SCHEMA)
    graph.store.create_tables([table])
    graph.pass_time()
    created = graph.store.create_tables([table])
    graph.reclaim()
    plan = PublishPlan(OpClass.LOGICAL, "schema", graph.store.snapshot().commit, creates=created)
    graph.store.publish(MAIN, plan)
    insert(graph.store, table="node:9-9", a=1)
    assert content(graph.reopened(), table="node:9-9") == {"a": 1}
    assert verify(graph.reopened()).ok
