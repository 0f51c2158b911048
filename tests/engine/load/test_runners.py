"""Stages are functions of values: they give the same in another process, and however the work is cut."""

from __future__ import annotations

import pickle
from multiprocessing import get_context
from pathlib import Path
from unittest.mock import patch

import pyarrow as pa
import pytest
from tests.engine.load.loading import EVERYTHING, PEOPLE_LINES, counts, graph, refused, written

import omnigraph as og
from omnigraph.catalog.opening import offline_catalog
from omnigraph.engine.load.read.inputs.sources import inputs_of
from omnigraph.engine.load.read.json_lines import lines, rows
from omnigraph.engine.load.read.parallel.tasks import tasks_of
from omnigraph.engine.load.read.parallel.writers import Writer
from omnigraph.engine.load.read.rows.modes import Mode
from omnigraph.engine.load.read.rows.types import Parsed, Types
from omnigraph.engine.load.run import runner
from omnigraph.engine.load.run.request import Request
from omnigraph.engine.load.run.runner import in_order
from omnigraph.language import Source
from omnigraph.storage.commits import leases
from omnigraph.storage.lance_format.small_files import SmallFiles
from omnigraph.storage.tables import table
from omnigraph.storage.tables.recent_rows import KEPT_BYTES, KEPT_ROWS

TYPES = Types(offline_catalog(Source(EVERYTHING, "s.pg")))


def _do(task: bytes) -> bytes:
    return pickle.dumps(pickle.loads(task)())


def shown(parsed: list[Parsed]) -> list[object]:
    return [([(r.type.name, r.batch.to_pydict(), r.lines.tolist()) for r in p.rows], p.violations, p.doubtful) for p in parsed]


def test_tasks_can_be_sent_to_other_processes(tmp_path: Path) -> None:
    records = [{"type": "Thing", "data": {"name": f"t{n}", "i32": n}} for n in range(300)]
    written(tmp_path / "a.jsonl", [*records, "nonsense", {"edge": "Near", "from": "t1", "to": "t2"}])
    (tmp_path / "Plain.csv").write_text("note\nx\n")
    inputs = inputs_of([tmp_path / "a.jsonl", tmp_path / "Plain.csv"], TYPES.catalog).inputs
    here = [task for i in inputs for task in tasks_of(i, TYPES)]
    with get_context("spawn").Pool(1) as pool:
        there = [pickle.loads(p) for p in pool.map(_do, [pickle.dumps(task) for task in here])]
    assert shown(there) == shown([task() for task in here])


def test_results_keep_the_order_of_tasks() -> None:
    tasks = [lambda n=n: Parsed(lines=n) for n in range(50)]
    assert [p.lines for p in in_order(tasks, 4)] == list(range(50))


@pytest.mark.parametrize("size", [64, 1000])
def test_small_blocks_and_many_workers_give_the_same_graph(tmp_path: Path, size: int) -> None:
    path = written(tmp_path / "a.jsonl", [{"type": "Plain", "data": {"id": f"p{n % 90:02}", "note": str(n)}} for n in range(100)])
    g = graph(tmp_path, EVERYTHING)
    cut = lambda stream, name: lines.line_blocks(stream, name, size=size)  # noqa: E731
    with patch.object(rows, "line_blocks", cut):
        view = g._view()
        runner.run(g._workspace, view, Request(inputs_of(path, view.catalog).inputs, "main", Mode.MERGE, workers=4))
    found = g.query("query q() { match { $p: Plain } return { $p.note as note } }").rows
    assert sorted(int(str(row["note"])) for row in found) == list(range(10, 100))


def test_reading_stops_when_almost_everything_is_wrong(tmp_path: Path) -> None:
    with patch.object(runner, "MAX_VIOLATIONS", 10):
        found = refused(graph(tmp_path), ({"type": "Person"} for _ in range(100_000)))
    assert len(found) == 10


def test_a_large_load_holds_a_lease_and_gives_it_back(tmp_path: Path) -> None:
    g = graph(tmp_path)
    held: list[int] = []
    g.load(PEOPLE_LINES.open("rb"), progress=lambda _: held.append(len(leases.leases(g._store.place))))
    assert set(held) == {1}
    assert leases.leases(g._store.place) == {}
    g.load(PEOPLE_LINES, progress=lambda _: held.append(len(leases.leases(g._store.place))))
    assert held[-1] == 0


@pytest.mark.parametrize("people", [4, 1_000])
def test_a_writer_that_fails_is_heard_of_and_nothing_is_published(people: int, tmp_path: Path) -> None:
    """A few rows are in a file that is made here, many in one of Lance."""
    g = graph(tmp_path)
    lines = [{"type": "Person", "data": {"name": f"p{n}"}} for n in range(people)]
    with (
        patch.object(
            *((SmallFiles, "written") if people < 5 else (table, "write_fragments")), side_effect=OSError("disk is full")
        ),
        pytest.raises(og.StorageError, match="disk is full"),
    ):
        g.load(lines)
    assert len(g.commits()) == 1
    g.load(lines)
    assert counts(g)["Person"] == people


def test_a_graph_opened_to_read_refuses(tmp_path: Path) -> None:
    graph(tmp_path)
    g = og.open(tmp_path / "graph-0", read_only=True)
    with pytest.raises(og.UsageError, match="read-only"):
        g.load(PEOPLE_LINES)


def test_few_rows_need_no_stream_of_lance_and_are_not_read_back(tmp_path: Path) -> None:
    g = graph(tmp_path)
    g.load(PEOPLE_LINES)  # how files of these columns look is learnt

    def people(first: int, count: int) -> list[dict[str, object]]:
        return [{"type": "Person", "data": {"name": f"p{first + n}"}} for n in range(count)]

    nothing = AssertionError("it was asked for")
    for name in ("append", "merge"):
        with patch.object(table, "write_fragments", side_effect=nothing), patch.object(table.Table, "apply", side_effect=nothing):
            g.load(people(0 if name == "append" else 5, 10), mode=name)
    with patch.object(table, "write_fragments", side_effect=OSError("asked")), pytest.raises(og.StorageError, match="asked"):
        g.load(people(100, KEPT_ROWS + 1))
    assert counts(g)["Person"] == 4 + 15
    for first, count in ((1_000, KEPT_ROWS - 1), (2_000, KEPT_ROWS), (3_000, KEPT_ROWS + 1)):
        loaded = g.load(people(first, count))
        assert g.load(people(first, count)).commit == loaded.commit  # every one of them is there
    assert counts(g)["Person"] == 4 + 15 + 3 * KEPT_ROWS
    g.verify()


class _Store:
    """A table that reads what it is given, and says what that was and how much of it was in memory."""

    def __init__(self) -> None:
        self.kind: type | None = None
        self.rows, self.most = 0, 0

    def store(self, rows: pa.Table | pa.RecordBatchReader) -> int:
        self.kind = type(rows)
        for batch in rows if isinstance(rows, pa.RecordBatchReader) else rows.to_batches():
            self.rows += batch.num_rows
            self.most = max(self.most, pa.total_allocated_bytes())
        return self.rows


@pytest.mark.parametrize(
    ("batches", "rows", "size", "kind"),
    [
        (0, 0, 0, pa.Table),
        (3, 10, 10, pa.Table),
        (2, KEPT_ROWS // 2, 1, pa.Table),
        (3, KEPT_ROWS // 2, 1, pa.RecordBatchReader),
        (1, 1, 1_000_000, pa.RecordBatchReader),
        (60, 2, 500_000, pa.RecordBatchReader),
    ],
)
def test_only_a_little_waits_in_memory(batches: int, rows: int, size: int, kind: type) -> None:
    schema, store = pa.schema([("t", pa.string())]), _Store()
    before = pa.total_allocated_bytes()
    writer = Writer(store, schema)  # type: ignore[arg-type]
    for _ in range(batches):
        writer.put(pa.record_batch([pa.array(["x" * size] * rows)], schema=schema))
    writer.close()
    assert store.rows == batches * rows
    assert store.kind is kind
    assert store.most - before < 8 * (rows * size + KEPT_BYTES)
