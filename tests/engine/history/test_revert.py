"""A commit undone by a new one."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from tests.engine.graphs import upsert
from tests.engine.history.graphs import contents, kinds, names, people, put, told

import omnigraph as og
from omnigraph.engine.upkeep.reconcile import optimize
from omnigraph.storage.reclaiming.reclaim import reclaim


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    return people(tmp_path)


WRITES = [
    'insert Person { name: "Eve", age: 9 }',
    'update Person set { age: 31 } where name = "Alice"',
    'delete Person where name = "Bob"',
    'insert Knows { from: "Alice", to: "Carol" }',
    'delete Knows where from = "Alice"',
]


@pytest.mark.parametrize("write", WRITES)
def test_what_was_done_is_undone(graph: og.Graph, write: str) -> None:
    before = contents(graph)
    commit = put(graph, write)
    assert commit is not None
    assert contents(graph) != before
    reverted = graph.revert(commit, actor="ada", message="no")
    assert (reverted.outcome, reverted.source) == ("reverted", commit)
    assert reverted.commit is not None
    assert (reverted.commit.parent, reverted.commit.merged_parent) == (commit, None)
    assert (reverted.commit.actor, reverted.commit.message, reverted.commit.operation) == ("ada", "no", "revert")
    assert contents(graph) == before
    assert graph.revert(reverted.commit.id).outcome == "reverted"
    assert contents(graph) == contents(graph, at=commit)


@pytest.mark.parametrize("write", WRITES)
def test_what_happened_since_to_others_stays(graph: og.Graph, write: str) -> None:
    before = contents(graph)
    commit = put(graph, write)
    put(graph, 'insert Person { name: "Zoe" }')
    put(graph, 'insert Company { name: "Hooli" }')
    upsert(graph, "Person", [{"name": "Carol", "age": 51}])
    assert commit is not None
    graph.revert(commit)
    found = contents(graph)
    assert found.pop(("Person", "Zoe"))
    assert found.pop(("Company", "Hooli"))
    assert found["Person", "Carol"]["age"] == 51
    found["Person", "Carol"]["age"] = 50
    assert found == before


def test_reverting_the_last_commit_reuses_its_pins(graph: og.Graph) -> None:
    """Nothing is written: the tables are what they were."""
    tables = graph._view().snapshot.tables
    commit = put(graph, 'delete Person where name = "Bob"')
    assert commit is not None
    graph.revert(commit)
    assert {k: s.pin for k, s in graph._view().snapshot.tables.items()} == {k: s.pin for k, s in tables.items()}
    reclaim(graph._store, keep=1, older_than=None, grace=timedelta(0), dry_run=False)
    assert names(og.open(graph._store.place.uri), "Person") == ["Alice", "Bob", "Carol"]


def test_later_changes_to_the_same_entity_conflict(graph: og.Graph) -> None:
    commit = put(graph, 'update Person set { age: 31 } where name = "Alice"')
    put(graph, 'update Person set { age: 32, nickname: "Al" } where name = "Alice"')
    before = contents(graph)
    assert commit is not None
    preview = graph.revert(commit, dry_run=True)
    assert kinds(preview.conflicts) == [("divergent_update", "Person", "Alice")]
    assert (preview.conflicts[0].base, preview.conflicts[0].ours, preview.conflicts[0].theirs) == (
        {"age": 31},
        {"age": 32},
        {"age": 30},
    )
    with pytest.raises(og.MergeConflict, match="revert conflicts"):
        graph.revert(commit)
    assert contents(graph) == before
    assert graph.revert(commit, resolve="theirs").outcome == "reverted"
    alice = contents(graph)["Person", "Alice"]
    assert (alice["age"], alice["nickname"]) == (30, "Al")


def test_a_later_change_of_another_property_does_not(graph: og.Graph) -> None:
    commit = put(graph, 'update Person set { age: 31 } where name = "Alice"')
    put(graph, 'update Person set { nickname: "Al" } where name = "Alice"')
    assert commit is not None
    with pytest.raises(og.MergeConflict):
        graph.revert(commit, strict=True)
    graph.revert(commit)
    alice = contents(graph)["Person", "Alice"]
    assert (alice["age"], alice["nickname"]) == (30, "Al")


def test_an_insert_that_edges_hang_on(graph: og.Graph) -> None:
    commit = put(graph, 'insert Person { name: "Eve" }')
    put(graph, 'insert Knows { from: "Eve", to: "Bob" }')
    assert commit is not None
    with pytest.raises(og.MergeConflict) as caught:
        graph.revert(commit)
    assert [c.kind for c in told(caught.value)] == ["orphan_edge"]
    assert repr(graph.revert(commit, dry_run=True)).startswith("Revert of ")
    graph.revert(commit, resolve="theirs")
    assert names(graph, "Person") == ["Alice", "Bob", "Carol"]
    assert names(graph, "Knows") == ["k1"]


def test_what_was_undone_already_is_nothing_to_do(graph: og.Graph) -> None:
    commit = put(graph, 'insert Person { name: "Eve" }')
    put(graph, 'delete Person where name = "Eve"')
    head = graph._view().snapshot.commit
    assert commit is not None
    preview = graph.revert(commit, dry_run=True)
    assert (preview.outcome, list(preview.changes or ())) == ("nothing_to_revert", [])
    again = graph.revert(commit)
    assert (again.outcome, again.commit) == ("nothing_to_revert", None)
    assert graph._view().snapshot.commit == head


def test_maintenance_and_the_first_commit(graph: og.Graph) -> None:
    optimize(graph._store, "main", graph._view().catalog)
    upkeep = graph.commits(limit=1, maintenance=True)[0].id
    assert graph.revert(upkeep).outcome == graph.revert(upkeep, dry_run=True).outcome == "nothing_to_revert"
    with pytest.raises(og.ParentlessCommit):
        graph.revert(graph.commits()[-1].id)
    with pytest.raises(og.NotFound):
        graph.revert("nope")


def test_a_merge_is_undone_against_its_first_parent(graph: og.Graph) -> None:
    graph.branches.create("work")
    put(graph, 'insert Person { name: "Eve" }', "work")
    put(graph, 'insert Person { name: "Mia" }')
    before = contents(graph)
    merged = graph.merge("work").commit
    assert merged is not None
    graph.revert(merged.id)
    assert contents(graph) == before
    assert graph.merge("work").outcome == "already_up_to_date", "as in Git, what was merged stays merged"


def test_a_commit_of_one_branch_on_another(graph: og.Graph) -> None:
    commit = put(graph, 'update Person set { age: 31 } where name = "Alice"')
    graph.branches.create("work")
    assert commit is not None
    graph.revert(commit, branch="work")
    assert contents(graph, "work")["Person", "Alice"]["age"] == 30
    assert contents(graph)["Person", "Alice"]["age"] == 31


def test_after_a_compaction(graph: og.Graph) -> None:
    before = contents(graph)
    commit = put(graph, 'delete Person where name = "Bob"')
    optimize(graph._store, "main", graph._view().catalog)
    assert commit is not None
    graph.revert(commit)
    assert contents(graph) == before


def test_a_reclaimed_commit(graph: og.Graph) -> None:
    commit = put(graph, 'insert Person { name: "Eve" }')
    for number in range(4):
        put(graph, f'insert Person {{ name: "p{number}" }}')
    reclaim(graph._store, keep=1, older_than=None, grace=timedelta(0), dry_run=False)
    assert commit is not None
    with pytest.raises(og.HistoryReclaimed):
        og.open(graph._store.place.uri).revert(commit)
    assert og.open(graph._store.place.uri)._store.place.objects("__inflight") == []
