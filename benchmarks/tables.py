"""Types of a graph as Spark tables beside Spark's own Parquet, and measures of a graph in memory and by Spark.

2 M rows of seven columns are written and read through the format `omnigraph` and as Parquet, in turns, in one session that has
done both with 500 k rows before the clock starts. Writing through the format checks every row and makes a commit; writing Parquet
does neither. Reading adds up columns, so that rows reach Spark and nothing more.

The measures are of 1 M edges between 100 k nodes, in memory and by Spark.
"""

from __future__ import annotations

import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

import omnigraph as og
from benchmarks.measuring import Measurement
from omnigraph import spark as ogs

ROWS = 2_000_000
NODES, EDGES = 100_000, 1_000_000
REPEATS = 7

SCHEMA = """
node Reading { name: String @key  sensor: I32?  at: DateTime?  value: F64?  ok: Bool?  unit: String?  day: Date? }
"""
NETWORK = "node Person { name: String @key }  edge Knows: Person -> Person"

_COLUMNS = (
    "concat('reading', cast(id as string)) as name",
    "cast(id % 1000 as int) as sensor",
    "timestamp_millis(id * 1000) as at",
    "id / 7.0D as value",
    "id % 3 = 0 as ok",
    "'celsius' as unit",
    "date_add(date'2020-01-01', cast(id % 1000 as int)) as day",
)


def measure() -> list[Measurement]:
    """Time both ways of writing and reading, and the measures."""
    folder = Path(tempfile.mkdtemp(dir="."))
    spark = ogs.session(master="local[2]", config={"spark.driver.memory": "4g"})
    try:
        return [*_tables(spark, folder.resolve()), *_measures(spark, folder.resolve())]
    finally:
        spark.stop()
        shutil.rmtree(folder)


def _tables(spark: SparkSession, folder: Path) -> list[Measurement]:
    def rows(count: int) -> DataFrame:
        return spark.range(0, count, 1, 2).selectExpr(*_COLUMNS)

    def graph_at(number: str) -> str:
        uri = str(folder / f"graph{number}")
        og.init(uri, schema=SCHEMA, durability="os").close()
        return uri

    def write(frame: DataFrame, uri: str) -> None:
        frame.write.format("omnigraph").option("graph", uri).option("type", "Reading").mode("append").save()

    def total(frame: DataFrame) -> None:
        frame.selectExpr("count(name)", "sum(value)", "max(at)", "max(day)", "count_if(ok)", "max(unit)", "sum(sensor)").collect()

    def parquet(name: str) -> DataFrame:
        return spark.read.parquet(f"{folder}/{name}")

    def graph(uri: str) -> DataFrame:
        return spark.read.format("omnigraph").option("graph", uri).option("type", "Reading").option("partitions", "2").load()

    small = rows(500_000)
    write(small, graph_at("-warm"))
    small.write.parquet(f"{folder}/warm")
    total(graph(f"{folder}/graph-warm"))
    total(parquet("warm"))
    writes, reads = dict[str, list[float]](), dict[str, list[float]]()
    for turn in range(REPEATS):
        everything, uri = rows(ROWS), graph_at(str(turn))
        _time(writes, "graph", lambda: write(everything, uri))  # noqa: B023 - called at once
        _time(writes, "parquet", lambda: everything.write.parquet(f"{folder}/parquet{turn}"))  # noqa: B023
        _time(reads, "graph", lambda: total(graph(uri)))  # noqa: B023
        _time(reads, "parquet", lambda: total(parquet(f"parquet{turn}")))  # noqa: B023
    written, bare_write = (statistics.median(writes[name]) for name in ("graph", "parquet"))
    read, bare_read = (statistics.median(reads[name]) for name in ("graph", "parquet"))
    what = "2 M rows of seven columns"
    return [
        Measurement(f"{what} written by the format, checked", written, "Spark to Parquet", bare_write, bare_write / 0.9),
        Measurement(f"{what} read by the format", read, "Spark from Parquet", bare_read, bare_read / 0.6),
    ]


def _measures(spark: SparkSession, folder: Path) -> list[Measurement]:
    rng = np.random.default_rng(7)
    names = pa.array([f"p{n}" for n in range(NODES)])
    ends = [names.take(pa.array(rng.integers(0, NODES, EDGES))) for _ in range(2)]
    graph = og.init(folder / "network", schema=NETWORK, durability="os")
    graph.load({"Person": pa.table({"name": names}), "Knows": pa.table({"from": ends[0], "to": ends[1]})}, mode="append")
    measured: list[Measurement] = []
    graph.analytics.degree()  # numbers every node and reads every edge
    there = ogs.analytics(graph, spark=spark)
    there.degree().frame.count()
    asked: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
        "PageRank, 3 rounds": (
            lambda: graph.analytics.pagerank(rounds=3, tolerance=0),
            lambda: there.pagerank(rounds=3, tolerance=0).frame.count(),
        ),
        "triangles": (lambda: graph.analytics.triangles(), lambda: there.triangles().frame.count()),
    }
    for name, (here, by_spark) in asked.items():
        found = dict[str, list[float]]()
        for _ in range(REPEATS):
            _time(found, "here", here)
        _time(found, "spark", by_spark)
        here_ms, spark_ms = statistics.median(found["here"]), found["spark"][0]
        measured.append(Measurement(f"{name}, of 1 M edges in memory", here_ms, "the same by Spark", spark_ms))
    for name, run in (
        ("components", lambda: graph.analytics.components()),
        ("label propagation, 10 rounds", lambda: graph.analytics.label_propagation()),
    ):
        found = dict[str, list[float]]()
        for _ in range(REPEATS):
            _time(found, "here", run)
        here_ms = statistics.median(found["here"])
        measured.append(Measurement(f"{name}, of 1 M edges in memory", here_ms, "PageRank in memory", measured[0].value))
    return measured


def _time(found: dict[str, list[float]], name: str, run: Callable[[], object]) -> None:
    started = time.perf_counter()
    run()
    found.setdefault(name, []).append((time.perf_counter() - started) * 1000)


if __name__ == "__main__":
    for one in measure():
        print(one)
