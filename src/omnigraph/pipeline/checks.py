"""Who asks the rules about sets of rows, by the size of what is loaded: the driver, tasks, or joins of Spark.

* **driver**: the columns that rules look at are read into memory. The fastest, as long as they fit.
* **tasks**: values are sorted into buckets, a task has one bucket in memory, and every task reads all values to find its own.
  What comes back are suspects (`engine.load.questions`).
* **joins**: Spark brings equal values together by its shuffle and spills to disk what does not fit: whatever the size, and some
  ten times the effort.

All three say the same: tasks and joins answer the same questions, and the rules themselves are asked by the same evaluator.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final, Literal

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from omnigraph.engine.load.check.questions import MOST_SUSPECTS, Bucket, Form, Question, Values, joined, suspects_in
from omnigraph.engine.load.read.parallel.chunks import Placed, Work
from omnigraph.engine.load.run.chunked import Checked, Checks, by_suspects, in_memory
from omnigraph.engine.load.run.conclude import Reading
from omnigraph.engine.load.run.request import Request
from omnigraph.engine.snapshot.view import View
from omnigraph.pipeline.tasks import parallelism, run_tasks

ChecksName = Literal["auto", "driver", "tasks", "joins"]

DRIVER_BYTES: Final = 4 << 30
"""Values up to this size are checked by the driver."""

BUCKET_BYTES: Final = 128 << 20
"""Values of one bucket; as Arrow needs twice as much to compare them, a worker stays below half a gigabyte."""

MOST_BUCKETS: Final = 64
"""With more, reading all values for each takes longer than a shuffle."""

_VALUE_BYTES: Final = 24
"""About what an id takes in memory."""


def checks_by(spark: SparkSession, name: ChecksName) -> Checks:
    """The checks of a name, or of whatever fits."""
    return partial(_checks, spark, name)


def _checks(
    spark: SparkSession, name: ChecksName, work: Work, view: View, request: Request, parts: Sequence[Placed], reading: Reading, /
) -> Checked:
    size = values_size(work, parts)
    if name == "auto":
        name = "driver" if size <= DRIVER_BYTES else "tasks" if size <= MOST_BUCKETS * BUCKET_BYTES else "joins"
    if name == "driver":
        return in_memory(work, view, request, parts, reading)
    buckets = max(parallelism(spark), -(-size // BUCKET_BYTES))
    ask = partial(ask_tasks, spark, buckets) if name == "tasks" else partial(ask_joins, spark)
    return by_suspects(ask)(work, view, request, parts, reading)


def values_size(work: Work, parts: Sequence[Placed]) -> int:
    """About how much memory the values take that rules look at: new ones, and committed ones of the types they may refer to."""
    new = sum(t.lines.count * len(work.types.kept[name]) for p in parts for name, t in p.chunk.types.items())
    there = {name for p in parts for name in p.chunk.types}
    ends = {
        node for edge in work.types.catalog.edges.values() if f"edge {edge.name}" in there for node in (edge.source, edge.target)
    }
    return _VALUE_BYTES * (new + sum(work.tables[name].state.rows for name in there | ends))


# ── tasks ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def ask_tasks(spark: SparkSession, buckets: int, questions: Sequence[Question]) -> list[pa.Array]:
    """Suspects, a task for each bucket of each question."""
    found = run_tasks(spark, [Bucket(q, n, buckets) for q in questions for n in range(buckets)], suspects_in)
    return [joined(found[at * buckets : (at + 1) * buckets]) for at in range(len(questions))]


# ── joins ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def ask_joins(spark: SparkSession, questions: Sequence[Question]) -> list[pa.Array]:
    """Suspects, by joins and groups of Spark."""
    found = []
    for question in questions:
        rows = _suspects(spark, question).limit(MOST_SUSPECTS).collect()
        found.append(pa.array([row[0] for row in rows], pa.string()))
    return found


def _suspects(spark: SparkSession, asked: Question) -> DataFrame:
    new, old = _frame(spark, asked.new), _frame(spark, asked.old)
    match asked.form:
        case Form.REPEATED:
            return new.groupBy("value").count().where("count > 1").select("value")
        case Form.EXISTING:
            return new.select("value").distinct().join(old.select("value"), "value", "left_semi")
        case Form.MISSING:
            return new.select("value").distinct().join(old.select("value"), "value", "left_anti")
        case Form.SHARED:
            return _counted(new, old, 0, 1)
        case Form.COUNTED:
            return _counted(new, old, asked.low, asked.high)
        case Form.MOVED:
            now = new.withColumnRenamed("entity", "now")
            return old.join(now, "value").where("entity <> now").select("entity").distinct()
        case Form.GONE:
            gone = old.select("value").distinct().join(new.select("value"), "value", "left_anti")
            return gone.join(_frame(spark, asked.referring).select("value"), "value", "left_semi")


def _counted(new: DataFrame, old: DataFrame, low: int, high: int | None) -> DataFrame:
    own = new.groupBy("value").agg(sf.count("entity").alias("own"), sf.count_distinct("entity").alias("distinct"))
    every = new.union(old).distinct().groupBy("value").agg(sf.count("entity").alias("every"))
    wrong = sf.col("every") < low
    if high is not None:
        wrong = wrong | (sf.col("every") + sf.col("own") - sf.col("distinct") > high)
    return own.join(every, "value").where(wrong).select("value")


def _frame(spark: SparkSession, sources: Sequence[Values]) -> DataFrame:
    """Values and entities as a data frame, read where there is room."""
    parts = [part for source in sources for part in source.parts()]
    tasks = spark.range(0, max(1, len(parts)), 1, max(1, len(parts)))
    return tasks.mapInArrow(_Reading(parts), "value string, entity string")


class _Reading:
    """Reads values, on an executor."""

    def __init__(self, parts: list[Values]) -> None:
        self._parts = parts

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                if number < len(self._parts):
                    yield from self._parts[number].pairs()
