"""What history costs, in rows, fragments, tables opened and requests: it follows the change, not the graph and not its past."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from tests.engine.graphs import add, upsert
from tests.engine.history.graphs import calm, contents, people, put
from tests.storage.s3 import server

import omnigraph as og
from omnigraph.engine.upkeep.reconcile import optimize

SIZES = (200, 20_000)


def made(folder: Path, size: int) -> og.Graph:
    graph = people(folder, {"Person": [{"name": f"p{n:06d}", "age": n} for n in range(size)]})
    edges = [{"id": f"e{n:06d}", "src": f"p{n:06d}", "dst": f"p{(n + 1) % size:06d}"} for n in range(size)]
    add(graph, {"Knows": edges})
    optimize(graph._store, "main", graph._view().catalog)
    return graph


def work(graph: og.Graph, branch: str, tag: str, age: int) -> None:
    """Ten rows: four changed, four added, an edge added, an edge removed."""
    for number in range(4):
        put(graph, f'update Person set {{ age: {age} }} where name = "p{number * 40 + len(tag):06d}"', branch)
        put(graph, f'insert Person {{ name: "{tag}{number}" }}', branch)
    put(graph, f'insert Knows {{ from: "p000001", to: "{tag}1" }}', branch)
    put(graph, f'delete Knows where from = "p{100 + len(tag):06d}"', branch)


def spent(graph: og.Graph, action: Callable[[], object]) -> tuple[int, int, int]:
    """Rows and parts read, and tables opened."""
    reads = graph._past.deltas.reads
    before = (reads.rows, reads.parts, graph._store.tables.opened)
    action()
    after = (reads.rows, reads.parts, graph._store.tables.opened)
    return after[0] - before[0], after[1] - before[1], after[2] - before[2]


def costs(graph: og.Graph) -> dict[str, tuple[int, int, int]]:
    graph.branches.create("work")
    work(graph, "work", "w", -1)
    work(graph, "main", "mm", -2)
    fresh = og.open(graph._store.place.uri)
    calm(fresh)
    found = {"diff": spent(fresh, lambda: fresh.diff("main", "work"))}
    found["merge"] = spent(graph, lambda: graph.merge("work"))
    commit = graph.commits(limit=1)[0].id
    fresh = og.open(graph._store.place.uri)
    found["block"] = spent(fresh, lambda: fresh.commit_changes(commit))
    found["revert"] = spent(graph, lambda: graph.revert(commit))
    graph.branches.create("ahead")
    put(graph, 'insert Person { name: "Zoe" }', "ahead")
    fresh = og.open(graph._store.place.uri)
    found["fast-forward"] = spent(fresh, lambda: fresh.merge("ahead"))
    return found


def test_costs_do_not_follow_the_graph(tmp_path: Path) -> None:
    small, large = (costs(made(tmp_path / str(size), size)) for size in SIZES)
    assert small == large
    rows = {name: cost[0] for name, cost in large.items()}
    assert rows["diff"] <= 40
    assert rows["merge"] <= 30
    assert rows["block"] <= 15
    assert rows["fast-forward"] == 0
    assert large["fast-forward"][2] <= 2, "two versions are looked into, no row is"


def test_a_compacted_table_is_not_read_again(tmp_path: Path) -> None:
    """Compaction rewrites every fragment; the lineage says that nothing changed."""
    graph = made(tmp_path, 20_000)
    first = graph._view().snapshot.commit
    graph.branches.create("work")
    work(graph, "work", "w", -1)
    upsert(graph, "Person", [{"name": f"p{n:06d}", "age": -5} for n in range(3_000, 6_000)])
    before = graph._view().snapshot.commit
    fragments = graph._view().nodes("Person").stored.fragments
    optimize(graph._store, "main", graph._view().catalog)
    work(graph, "main", "mm", -2)
    fresh = og.open(graph._store.place.uri)
    assert not {p.files for p in fragments} & {p.files for p in fresh._view().nodes("Person").stored.fragments}, (
        "all was rewritten"
    )
    assert spent(fresh, lambda: fresh.diff(before, "main"))[0] <= 40
    assert len(fresh.diff(before, "main")) == 10
    forwards = spent(fresh, lambda: fresh.diff("work", "main"))[0]
    assert forwards <= 2 * 3_000 + 60, "through where the two parted"
    assert len(fresh.diff("main", "work")) == len(fresh.diff("work", "main")) == 3_000 + 20
    calm(fresh)
    assert fresh.merge("work").outcome == "merged"
    assert len(fresh.diff(first, "main")) == 3_000 + 20


def test_a_page_costs_the_same_whatever_came_before(tmp_path: Path) -> None:
    graph = people(tmp_path)
    found = []
    for depth in (10, 150):
        while graph.commits(limit=1)[0].seq < depth:
            upsert(graph, "Person", [{"name": "Alice", "age": graph.commits(limit=1)[0].seq}])
        cursor = graph.changes().next
        for number in range(3):
            put(graph, f'insert Person {{ name: "{depth}-{number}" }}')
        fresh = og.open(graph._store.place.uri)
        manifest = fresh._store.manifest(fresh._store.ref("main"))
        scans = manifest.scans
        cost = spent(fresh, lambda fresh=fresh, cursor=cursor: fresh.changes(cursor))  # type: ignore[misc]
        found.append((cost, manifest.scans - scans))
        polled = spent(fresh, lambda fresh=fresh: fresh.changes("now"))  # type: ignore[misc]
        assert polled == (0, 0, 0), "nothing new costs nothing"
    assert found[0] == found[1]
    assert found[1][0][0] == 3


def test_requests_do_not_follow_the_graph() -> None:
    """On an object store: a merge of ten new rows, and a fast-forward."""
    counts = []
    with server() as running:
        for size in (100, 10_000):
            graph = og.init(f"s3://graphs/g{size}", "node N { name: String @key  a: I32? }", storage_options=running.options)
            calm(graph)
            add(graph, {"N": [{"name": f"n{n:05d}", "a": n} for n in range(size)]})
            optimize(graph._store, "main", graph._view().catalog)
            graph.branches.create("work")
            put(graph, " ".join(f'insert N {{ name: "w{n}" }}' for n in range(10)), "work")
            put(graph, " ".join(f'insert N {{ name: "m{n}" }}' for n in range(10)))
            merge = running.count(lambda graph=graph: graph.merge("work"))  # type: ignore[misc]
            graph.branches.create("ahead")
            put(graph, 'insert N { name: "z" }', "ahead")
            forward = running.count(lambda graph=graph: graph.merge("ahead"))  # type: ignore[misc]
            counts.append((merge, forward))
            assert len(contents(graph)) == size + 21
    (small, small_forward), (large, large_forward) = counts
    assert large <= 1.2 * small
    assert large_forward == small_forward <= 15, "four of them open what the writes on both branches did not"
    assert large <= 27, "two of them open what the writes on both branches did not: each of those asks three times less"


@pytest.mark.slow
def test_requests_of_scattered_updates_do_not_follow_the_graph() -> None:
    """Ten rows all over the table, changed on either side: the rows of the base are not fetched one by one."""
    counts = []
    with server() as running:
        for size in (1_000, 1_000_000):
            graph = og.init(
                f"s3://graphs/s{size}", "node N { name: String @key  a: I32?  b: I32? }", storage_options=running.options
            )
            calm(graph)
            graph.load({"N": pa.table({"name": [f"n{n:06d}" for n in range(size)], "a": pa.array(range(size), pa.int32())})})
            optimize(graph._store, "main", graph._view().catalog)
            graph.branches.create("work")
            step = size // 25
            put(graph, " ".join(f'update N set {{ a: -1 }} where name = "n{n * step:06d}"' for n in range(10)), "work")
            put(graph, " ".join(f'update N set {{ b: -1 }} where name = "n{(n + 12) * step:06d}"' for n in range(10)))
            counts.append(running.count(lambda graph=graph: graph.merge("work")))  # type: ignore[misc]
    assert counts[1] <= 1.2 * counts[0]
    assert counts[1] <= 45, "it opens the versions on both sides, which their writers did not have to"


@pytest.mark.parametrize("commits", [1, 40])
def test_a_fast_forward_costs_the_same_however_long_the_branch(tmp_path: Path, commits: int) -> None:
    graph = people(tmp_path)
    graph.branches.create("work")
    for number in range(commits):
        put(graph, f'insert Company {{ name: "c{number}" }}', "work")
    fresh = og.open(graph._store.place.uri)
    assert spent(fresh, lambda: fresh.merge("work")) == (0, 0, 1)
