"""Loads by Spark and interactive writers on one branch: all of them succeed, or fail by a conflict that says so; nothing is lost."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest
from pyspark.sql import SparkSession
from tests.engine.load.loading import EVERYTHING, counts, graph, written

import omnigraph as og
from omnigraph.engine.load.run.progress import Progress, Stage
from omnigraph.pipeline.load import load
from omnigraph.storage.commits.lineage import OpClass

pytestmark = pytest.mark.slow

INSERT = "query q($n: String) { insert Thing { name: $n } }"
CONNECT = "query q($n: String) { insert Near { from: $n, to: $n } }"


def keep_writing(path: str, who: int, over: Event) -> tuple[int, int]:
    """Inserts a node, then an edge at it, until it is over. Gives how many of each were committed."""
    nodes = edges = 0
    with og.open(path, durability="os") as g:
        while not over.is_set():
            g.mutate(INSERT, {"n": f"w{who}-{nodes}"})
            nodes += 1
            g.mutate(CONNECT, {"n": f"w{who}-{nodes - 1}"})
            edges += 1
            over.wait(0.05)
    return nodes, edges


def test_nothing_is_lost(spark: SparkSession, tmp_path: Path) -> None:
    g = graph(tmp_path, EVERYTHING)
    loads, size, over = 4, 200, Event()
    files = [
        written(
            tmp_path / f"{n}.jsonl",
            [{"type": "Thing", "data": {"name": f"t{n}-{i}", "i64": n * size + i}} for i in range(size)]
            + [{"edge": "Near", "from": f"t{n}-{i}", "to": f"t{max(0, n - 1)}-{i}"} for i in range(size)],
        )
        for n in range(loads)
    ]
    with ThreadPoolExecutor(2) as pool:
        writers = [pool.submit(keep_writing, g._store.place.uri, who, over) for who in range(2)]
        try:
            for n, path in enumerate(files):
                load(g, path, mode="append" if n % 2 else "merge", spark=spark)
        finally:
            over.set()
        done = [writer.result() for writer in writers]
    nodes, edges = sum(n for n, _ in done), sum(e for _, e in done)
    assert min(n for n, _ in done) > 0
    assert counts(g) == {"Thing": loads * size + nodes, "Near": loads * size + edges}
    logical = [c.operation for c in g.commits() if c.op_class is OpClass.LOGICAL]
    assert (logical.count("load"), logical.count("mutate")) == (loads, nodes + edges)
    assert g.verify(deep=True).ok


@pytest.mark.parametrize(
    ("meanwhile", "mode", "error"),
    [
        ('query q() { insert Thing { name: "t7" } }', "append", og.KeyConflict),
        ('query q() { insert Thing { name: "other", i64: 7 } }', "merge", og.ValidationError),
        ('query q() { delete Thing where name = "old" }', "merge", og.ValidationError),
    ],
)
def test_what_cannot_both_be_is_refused_by_name(
    spark: SparkSession, tmp_path: Path, meanwhile: str, mode: str, error: type[og.GraphError]
) -> None:
    """The key, the unique value, and the end of an edge that a load relies on, each taken away while it runs."""
    g = graph(tmp_path, EVERYTHING)
    g.load([{"type": "Thing", "data": {"name": "old"}}])
    records: list[object] = [{"type": "Thing", "data": {"name": f"t{n}", "i64": n}} for n in range(20)]
    path = written(tmp_path / "a.jsonl", [*records, {"edge": "Near", "from": "t1", "to": "old"}])
    there: list[dict[str, int]] = []

    def interrupt(progress: Progress) -> None:
        if progress.stage is Stage.PUBLISH and not there:
            g.mutate(meanwhile)
            there.append(counts(g))

    with pytest.raises(error):
        load(g, path, mode=mode, spark=spark, progress=interrupt)  # type: ignore[arg-type]
    assert there == [counts(g)]
    assert g.verify(deep=True).ok
