"""The index reconciler: what is declared, what gets built, when, and beside whom."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from tests.engine.graphs import add, delete, make_graph, upsert

import omnigraph as og
from omnigraph.catalog.catalog import Catalog
from omnigraph.catalog.opening import offline_catalog
from omnigraph.engine.schema import indexes as index_specs
from omnigraph.engine.schema.indexes import declared_indexes
from omnigraph.engine.snapshot.view import table_key
from omnigraph.engine.upkeep import reconcile
from omnigraph.engine.upkeep.reconcile import Reconciler, needed, optimize
from omnigraph.errors import UsageError
from omnigraph.language import Source
from omnigraph.storage.commits.lineage import OpClass
from omnigraph.storage.rewriting.rewrites import compact
from omnigraph.storage.tables.changes import TableState

SCHEMA = """
node Doc {
    slug: String @key
    title: String? @index
    email: String? @unique
    status: enum(open, closed)? @index
    done: Bool? @index
    year: I32? @index
    day: Date? @index
    tags: [String]?
    vec: Vector(4)? @index
    plain: String?
    first: String?
    last: String?
    @index(first, last)
}
node Event { number: I64 @key }
edge Cites: Doc -> Doc { weight: I64? @index }
"""


def catalog(schema: str = SCHEMA) -> Catalog:
    return offline_catalog(Source(schema))


def declared(name: str, rows: int | None = None) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    type_ = catalog().nodes.get(name) or catalog().edges[name]
    for spec in declared_indexes(type_, rows):
        found.setdefault(spec.column, []).append(spec.kind.value)
    return found


def test_what_the_schema_declares() -> None:
    assert declared("Doc") == {
        "id": ["BTREE"],
        "title": ["BTREE", "INVERTED"],
        "email": ["BTREE"],
        "status": ["BTREE"],
        "done": ["BTREE"],
        "year": ["BTREE"],
        "day": ["BTREE"],
        "vec": ["IVF_FLAT"],
    }
    assert declared("Event") == {"id": ["BTREE"], "number": ["BTREE"]}
    assert declared("Cites") == {"id": ["BTREE"], "src": ["BTREE"], "dst": ["BTREE"], "weight": ["BTREE"]}


def test_few_vectors_need_no_index() -> None:
    assert "vec" not in declared("Doc", index_specs.LEAST_VECTORS - 1)
    assert "vec" in declared("Doc", index_specs.LEAST_VECTORS)


def docs(first: int, count: int) -> list[dict[str, Any]]:
    return [
        {"slug": f"d{n:05}", "title": f"wolf {n}", "email": f"{n}@x", "year": n % 7, "status": "open", "vec": [n, 1.0, 0.0, 0.0]}
        for n in range(first, first + count)
    ]


def state(graph: og.Graph, name: str = "Doc", branch: str = "main") -> TableState:
    view = graph._view(branch)
    return view.snapshot.tables[table_key(view.catalog.nodes.get(name) or view.catalog.edges[name])]


def uncovered(graph: og.Graph, name: str = "Doc") -> set[str]:
    found = state(graph, name)
    type_ = graph._view().catalog.nodes.get(name) or graph._view().catalog.edges[name]
    covered = {i.name: i.covered for i in found.indexes}
    return {s.name for s in declared_indexes(type_, found.rows) if covered.get(s.name, 0) < found.fragments}


def run(graph: og.Graph, branch: str = "main", **options: Any) -> reconcile.Optimized:
    return optimize(graph._store, branch, graph._view(branch).catalog, **options)


def test_optimize_covers_everything_and_then_has_nothing_to_do(tmp_path: Path) -> None:
    graph = make_graph(tmp_path, SCHEMA, {"Doc": docs(0, 50), "Cites": [{"src": "d00001", "dst": "d00002", "weight": 1}]})
    assert uncovered(graph)
    seen: list[str] = []
    report = run(graph, progress=lambda outcome: seen.append(outcome.type))
    assert seen == ["Doc", "Event", "Cites"]
    assert uncovered(graph) == uncovered(graph, "Cites") == set()
    assert {t.type for t in report.tables if t.commit} >= {"Doc", "Cites"}
    assert report.to_dict()["branch"] == "main"
    head = graph._view().snapshot.commit
    assert run(graph).commits == ()
    assert graph._view().snapshot.commit == head


def test_each_table_is_a_maintenance_commit(tmp_path: Path) -> None:
    graph = make_graph(tmp_path, SCHEMA, {"Doc": docs(0, 5)})
    before = len(graph.commits(maintenance=True))
    report = run(graph)
    new = graph.commits(maintenance=True)[:-before]
    assert {c.id for c in new} == set(report.commits)
    assert {(c.op_class, len(c.changes)) for c in new} == {(OpClass.MAINTENANCE, 1)}


def test_only_new_rows_are_indexed(tmp_path: Path) -> None:
    graph = make_graph(tmp_path, SCHEMA, {"Doc": docs(0, 50)})
    run(graph)
    add(graph, {"Doc": docs(50, 5)})
    assert uncovered(graph)
    report = run(graph, pack=False)
    (doc,) = (t for t in report.tables if t.type == "Doc")
    assert (doc.fragments_before, doc.fragments_after) == (2, 2)
    assert uncovered(graph) == set()
    assert (
        sum(len(i.segments) for i in graph._store.tables.open(state(graph)).dataset.describe_indices() if i.name == "id_key") == 2
    )


def test_small_fragments_and_deleted_rows_are_packed(tmp_path: Path) -> None:
    graph = make_graph(tmp_path, SCHEMA, {"Doc": docs(0, 20)})
    for n in range(5):
        add(graph, {"Doc": docs(20 + n, 1)})
    upsert(graph, "Doc", [{**docs(3, 1)[0], "title": "changed"}])
    delete(graph, "Doc", ["d00007"])
    question = "query q() { match { $d: Doc } return { $d.slug, $d.title } order { $d.slug } }"
    before = graph.query(question).rows
    run(graph)
    assert state(graph).fragments == 1
    assert uncovered(graph) == set()
    assert graph.query(question).rows == before
    assert og.open(tmp_path / "graph").query(question).rows == before


def test_branches_are_reconciled_on_their_own(tmp_path: Path) -> None:
    graph = make_graph(tmp_path, SCHEMA, {"Doc": docs(0, 10)})
    graph.branches.create("side")
    run(graph, "side")
    assert uncovered(graph)
    assert len(state(graph, branch="side").indexes) > 3


def test_a_writer_that_is_faster_makes_it_prepare_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = make_graph(tmp_path, SCHEMA, {"Doc": docs(0, 10)})
    whole, calls = compact, list[int]()

    def interrupted(tables: Any, before: TableState, specs: Any, run: Any) -> Any:
        applied = whole(tables, before, specs, run=run)
        if before.table == state(graph).table and len(calls) < 2:
            calls.append(1)
            add(graph, {"Doc": docs(100 + len(calls), 1)})
        return applied

    monkeypatch.setattr(reconcile, "compact", interrupted)
    report = run(graph)
    (doc,) = (t for t in report.tables if t.type == "Doc")
    assert (len(calls), doc.rows, doc.busy) == (2, 12, False)
    assert uncovered(graph) == set()


def test_it_gives_up_on_a_table_that_never_rests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = make_graph(tmp_path, SCHEMA, {"Doc": docs(0, 10)})
    whole, calls = compact, list[int]()

    def interrupted(tables: Any, before: TableState, specs: Any, run: Any) -> Any:
        applied = whole(tables, before, specs, run=run)
        if before.table == state(graph).table:
            calls.append(1)
            add(graph, {"Doc": docs(100 + len(calls), 1)})
        return applied

    monkeypatch.setattr(reconcile, "compact", interrupted)
    (doc,) = (t for t in run(graph).tables if t.type == "Doc")
    assert (len(calls), doc.busy, doc.commit) == (reconcile.ATTEMPTS, True, None)


def test_it_runs_beside_live_writers_and_readers(tmp_path: Path) -> None:
    graph = make_graph(tmp_path, SCHEMA, {"Doc": docs(0, 200)})
    errors: list[Exception] = []
    done = threading.Event()

    def write() -> None:
        try:
            for n in range(12):
                add(graph, {"Doc": docs(1000 + n, 1)})
        except Exception as error:
            errors.append(error)

    def read() -> None:
        try:
            while not done.is_set():
                rows = graph.query('query q() { match { $d: Doc search($d.title, "wolf") } return { count($d) as n } }').rows
                assert rows[0]["n"] >= 200
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=write), threading.Thread(target=read)]
    for thread in threads:
        thread.start()
    for _ in range(3):
        run(graph)
    threads[0].join()
    done.set()
    threads[1].join()
    run(graph)
    assert errors == []
    assert state(graph).rows == 212
    assert uncovered(graph) == set()


def test_a_reader_may_not_optimize(tmp_path: Path) -> None:
    make_graph(tmp_path, SCHEMA, {"Doc": docs(0, 5)})
    graph = og.open(tmp_path / "graph", read_only=True)
    with pytest.raises(UsageError, match="read-only"):
        run(graph)


# ── by itself ────────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def low_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reconcile, "BEHIND_ROWS", 20)


def late(graph: og.Graph) -> tuple[str, ...]:
    view = graph._view()
    return needed(graph._store, view.snapshot, view.catalog)


@pytest.mark.usefixtures("low_bound")
def test_an_index_is_behind_by_rows_and_by_share(tmp_path: Path) -> None:
    graph = make_graph(tmp_path, SCHEMA, {"Doc": docs(0, 20)})
    assert late(graph) == ()  # not more than the bound
    add(graph, {"Doc": docs(20, 480)})
    assert late(graph) == ("Doc",)
    reconciler = Reconciler(graph._store, graph._workspace.saved.failures)
    report = reconciler.run("main", graph._view().catalog)
    assert [t.type for t in report.tables] == ["Doc"]
    assert late(graph) == ()
    add(graph, {"Doc": docs(500, 45)})
    assert late(graph) == ()  # more than 20 rows, less than a tenth
    add(graph, {"Doc": docs(545, 30)})
    assert late(graph) == ("Doc",)
    assert reconciler.run("main", graph._view().catalog).tables
    assert not reconciler.run("main", graph._view().catalog).tables


@pytest.mark.usefixtures("low_bound")
def test_it_runs_in_the_background_once_at_a_time(tmp_path: Path) -> None:
    graph = make_graph(tmp_path, SCHEMA, {"Doc": docs(0, 100)})
    reconciler = Reconciler(graph._store, graph._workspace.saved.failures)
    assert reconciler.start("main", graph._view().catalog) is not None
    reconciler.wait(30)
    assert (graph.stats().failures, late(graph)) == ((), ())
    assert reconciler.start("main", graph._view().catalog) is None


@pytest.mark.usefixtures("low_bound")
def test_what_cannot_be_indexed_is_not_tried_over_and_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_specs, "LEAST_VECTORS", 1)
    graph = make_graph(
        tmp_path, "node Doc { slug: String @key vec: Vector(4)? @index }", {"Doc": [{"slug": str(n)} for n in range(50)]}
    )
    reconciler = Reconciler(graph._store, graph._workspace.saved.failures)
    assert reconciler.run("main", graph._view().catalog).commits != ()
    first = reconciler.run("main", graph._view().catalog)
    again = reconciler.run("main", graph._view().catalog)
    assert (first.commits, again.tables) == ((), ())


def test_rows_deleted_before_a_compaction_is_published_stay_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = make_graph(tmp_path, SCHEMA, {"Doc": docs(0, 10)})
    add(graph, {"Doc": docs(10, 10)})
    whole, calls = compact, list[int]()
    gone = [str(docs(3, 1)[0]["slug"]), str(docs(12, 1)[0]["slug"])]

    def interrupted(tables: Any, before: TableState, specs: Any, run: Any) -> Any:
        applied = whole(tables, before, specs, run=run)
        if before.table == state(graph).table and not calls:
            calls.append(1)
            delete(graph, "Doc", gone)
        return applied

    monkeypatch.setattr(reconcile, "compact", interrupted)
    run(graph)
    left = graph._store.tables.open(state(graph)).read(["id"])["id"].to_pylist()
    assert calls
    assert len(left) == 18
    assert not set(gone) & set(left)
