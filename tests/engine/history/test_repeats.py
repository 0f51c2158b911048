"""A write with an idempotency key happens once, whoever repeats it and when."""

from __future__ import annotations

import threading
from datetime import timedelta
from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.engine.history import repeats
from omnigraph.engine.parts import parts_of

SCHEMA = "node Person { name: String @key  age: I32? } node Note { text: String } edge Knows: Person -> Person"
NOTE = "query note($t: String) { insert Note { text: $t } }"
COUNT = "query n() { match { $n: Note } return { count($n) as n } }"


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    return og.init(tmp_path / "g", SCHEMA, durability="os")


def notes(graph: og.Graph, branch: str | None = None) -> int:
    return int(graph.query(COUNT, branch=branch).rows[0]["n"])


def test_a_mutation_is_done_once(graph: og.Graph) -> None:
    first = graph.mutate(NOTE, {"t": "a"}, idempotency_key="k1")
    again = graph.mutate(NOTE, {"t": "a"}, idempotency_key="k1")
    assert (again, notes(graph)) == (first, 1)
    assert first.commit is not None
    assert first.commit.idempotency_key == "k1"
    graph.mutate(NOTE, {"t": "a"}, idempotency_key="k2")
    graph.mutate(NOTE, {"t": "a"})
    assert notes(graph) == 3
    assert graph.mutate(NOTE, {"t": "a"}, idempotency_key="k1") == first


def test_the_condition_of_a_write_that_happened_is_not_asked_again(graph: og.Graph) -> None:
    head = graph.commits(limit=1)[0]
    first = graph.mutate(NOTE, {"t": "a"}, if_commit=head, idempotency_key="k1")
    assert graph.mutate(NOTE, {"t": "a"}, if_commit=head, idempotency_key="k1") == first
    with pytest.raises(og.PreconditionFailed):
        graph.mutate(NOTE, {"t": "a"}, if_commit=head, idempotency_key="k2")


def test_a_load_is_done_once(graph: og.Graph) -> None:
    records = [{"type": "Note", "data": {"text": "a"}}, {"type": "Person", "data": {"name": "Ada"}}]
    first = graph.load(records, branch="etl", from_="main", idempotency_key="k1")
    again = graph.load(records, branch="etl", from_="main", idempotency_key="k1")
    assert (again.commit, again.nodes_loaded, notes(graph, "etl")) == (first.commit, first.nodes_loaded, 1)
    assert (first.branch_created, again.branch_created) == (True, False)
    with pytest.raises(og.KeyReused, match="of a load"):
        graph.mutate(NOTE, {"t": "a"}, branch="etl", idempotency_key="k1")


@pytest.mark.parametrize("parted", [False, True])
def test_a_merge_is_told_again(graph: og.Graph, parted: bool) -> None:
    graph.branches.create("work")
    graph.mutate(NOTE, {"t": "theirs"}, branch="work")
    if parted:
        graph.mutate(NOTE, {"t": "ours"})
    first = graph.merge("work", idempotency_key="k1")
    assert first.outcome == ("merged" if parted else "fast_forward")
    assert graph.merge("work", idempotency_key="k1") == first
    assert graph.merge("work").outcome == "already_up_to_date"


def test_branches_have_keys_of_their_own(graph: og.Graph) -> None:
    graph.branches.create("work")
    graph.mutate(NOTE, {"t": "a"}, branch="work", idempotency_key="k1")
    graph.mutate(NOTE, {"t": "a"}, idempotency_key="k1")
    assert (notes(graph), notes(graph, "work")) == (1, 1)
    graph.branches.delete("work")
    graph.branches.create("work", graph.commits()[-1])
    graph.mutate(NOTE, {"t": "a"}, branch="work", idempotency_key="k1")
    assert notes(graph, "work") == 1


def test_many_at_once_through_two_processes_worth_of_graphs(graph: og.Graph, tmp_path: Path) -> None:
    other = og.open(tmp_path / "g", durability="os")
    commits: list[str] = []

    def write(to: og.Graph) -> None:
        receipt = to.mutate(NOTE, {"t": "a"}, idempotency_key="k1")
        assert receipt.commit is not None
        commits.append(receipt.commit.id)

    threads = [threading.Thread(target=write, args=(to,)) for to in (graph, other) * 4]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(commits), len(set(commits)), notes(graph)) == (8, 1, 1)


def test_keys_are_remembered_for_a_day(graph: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    first = graph.mutate(NOTE, {"t": "a"}, idempotency_key="k1")
    monkeypatch.setattr(repeats, "REMEMBERED", timedelta(0))
    fresh = og.open(graph.uri, durability="os")
    assert fresh.mutate(NOTE, {"t": "a"}, idempotency_key="k1") != first


def test_each_commit_is_looked_at_once(graph: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(5):
        graph.mutate(NOTE, {"t": "a"}, idempotency_key=f"k{number}")
    looked: list[str] = []
    store = parts_of(graph).store
    line = store.line

    def watched(branch: str, run: int | None = None) -> object:
        for commit in line(branch, run):
            looked.append(commit.id)
            yield commit

    monkeypatch.setitem(vars(store), "line", watched)
    graph.mutate(NOTE, {"t": "a"}, idempotency_key="k9")
    graph.mutate(NOTE, {"t": "a"}, idempotency_key="k9")
    assert len(looked) <= 4


def test_a_deletion_that_is_repeated_is_told_as_one(tmp_path: Path) -> None:
    g = og.init(tmp_path / "g", "node C { n: I64 @key }\nedge P: C -> C", durability="os")
    g.load([*({"type": "C", "data": {"n": n}} for n in range(5)), {"edge": "P", "from": 1, "to": 2}])
    first, again = (g.delete({"C": [1, 99]}, idempotency_key="d") for _ in range(2))
    assert first.commit == again.commit
    assert (dict(first.deleted), dict(first.cascaded)) == ({"C": 1}, {"P": 1})
    assert (dict(again.deleted), dict(again.nodes_loaded), dict(again.edges_loaded)) == ({"C": 1, "P": 1}, {}, {})
    records = [{"type": "C", "data": {"n": 7}}, {"op": "delete", "type": "C", "data": {"n": 3}}]
    mixed = [g.load(records, idempotency_key="m") for _ in range(2)]
    assert [(dict(m.nodes_loaded), dict(m.deleted)) for m in mixed] == [({"C": 1}, {"C": 1})] * 2
