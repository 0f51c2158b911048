"""The one primitive of the pipeline: a list of payloads, one task each.

    run_tasks(spark, payloads, work)  →  [work(payload) for payload in payloads], in their order

Spark starts a task per payload, wherever there is room, starts it again if its executor dies, and may start it twice if it is
slow; what counts is one result per payload. So `work` must be a function that may run several times: it writes files of names
that nobody else uses and that nothing refers to, and says in its result what it wrote. What a lost attempt wrote is garbage.

Payloads and results are values of our own that are pickled; results should be small, since all of them come to the driver.
`work` is a function of a module of this package, so that only its name travels. (A function defined in a script travels too.)

Only DataFrame calls are used, which also work through Spark Connect. `spark.range(0, n, 1, n)` gives each task exactly one row;
`repartition(n)` would not.
"""

from __future__ import annotations

import gc
import os
import pickle
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from threading import Event, Thread
from typing import Any, TypeVar

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from omnigraph import errors
from omnigraph.engine.calls import arguments
from omnigraph.engine.calls.guard import guarded
from omnigraph.errors import GraphError, TaskFailed
from omnigraph.pipeline.session import is_connect

P = TypeVar("P")
R = TypeVar("R")

_RESULT = "task bigint, result binary"
_EVERY = 0.25

Watch = Callable[[int, int], None]
"""Told, from time to time, how many tasks are done and how much they came to."""


@guarded(payloads=arguments.anything, work=arguments.function, amount=arguments.function, watch=arguments.function)
def run_tasks(
    spark: SparkSession,
    payloads: Sequence[P],
    work: Callable[[P], R],
    *,
    amount: Callable[[R], int] | None = None,
    watch: Watch | None = None,
) -> list[R]:
    """What a function gives for each payload, in their order, done by as many tasks side by side as there is room for.

    `watch` is called with the progress: tasks done, and the sum of `amount` of what they gave. An error that `work` raises on
    purpose (a `GraphError`) is raised here as it was; anything else, and lost executors, as `TaskFailed`.
    """
    if not payloads:
        return []
    with _Watched(spark, watch) as watched:
        task = _Task([_dumped(p) for p in payloads], work, amount, watched.done, watched.amounts)
        tasks = spark.range(0, len(payloads), 1, len(payloads))
        try:
            rows = tasks.mapInArrow(task, _RESULT).collect()
        except PySparkException as error:
            raise failure(error, f"a task of {len(payloads)}") from error
    found: dict[int, Any] = {row[0]: pickle.loads(row[1]) for row in rows}
    results = [found[number] for number in range(len(payloads))]
    for result in results:
        if isinstance(result, _Refused):
            raise result.error
    return results


def failure(error: PySparkException, what: str) -> TaskFailed:
    """What to raise when Spark gives up on a task. It may pass if no code failed, but a machine or a store."""
    reason, python = _reason(error)
    return TaskFailed(f"{what} failed for good: {reason}", retryable=not python or _is_passing(reason))


def _dumped(value: object) -> bytes:
    data: bytes = cloudpickle.dumps(value)  # type: ignore[no-untyped-call]
    return data


def parallelism(spark: SparkSession) -> int:
    """How many tasks run side by side."""
    if is_connect(spark):
        return int(spark.conf.get("spark.default.parallelism", "8") or 8)
    return int(spark.sparkContext.defaultParallelism)


class _Refused:
    """An error that repeating would not help."""

    def __init__(self, error: GraphError) -> None:
        self.error = error

    def __reduce__(self) -> tuple[Any, ...]:
        return _refused, (type(self.error), self.error.args, self.error.__dict__)


def _refused(kind: type[GraphError], args: tuple[Any, ...], state: dict[str, Any]) -> _Refused:
    error = kind.__new__(kind)
    error.args = args
    error.__dict__.update(state)
    return _Refused(error)


class _Task:
    """What runs on an executor."""

    def __init__(
        self, payloads: list[bytes], work: Callable[[Any], Any], amount: Callable[[Any], int] | None, done: Any, amounts: Any
    ) -> None:
        self._payloads, self._work, self._amount, self._done, self._amounts = payloads, work, amount, done, amounts

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        _spare_modules()
        os.environ.setdefault("LANCE_CPU_THREADS", "1")
        os.environ.setdefault("LANCE_IO_THREADS", "2")  # with one, a commit waits for itself
        for batch in batches:
            for number in batch.column(0).to_pylist():
                result = self._run(pickle.loads(self._payloads[number]))
                yield pa.RecordBatch.from_arrays(
                    [pa.array([number], pa.int64()), pa.array([_dumped(result)], pa.binary())], ["task", "result"]
                )

    def _run(self, payload: Any) -> Any:
        try:
            result = self._work(payload)
        except GraphError as error:
            if error.retryable:
                raise  # Spark tries again
            return _Refused(error)
        if self._done is not None:
            self._done.add(1)
            self._amounts.add(0 if self._amount is None else self._amount(result))
        return result


@cache
def _spare_modules() -> None:
    """Let the collector pass over what is there for good: Spark calls it after every task."""
    gc.freeze()


class _Watched:
    """Tells how far tasks are, while they run. Through Spark Connect nobody can tell."""

    def __init__(self, spark: SparkSession, watch: Watch | None) -> None:
        wanted = watch is not None and not is_connect(spark)
        self._watch = watch
        self.done = spark.sparkContext.accumulator(0) if wanted else None
        self.amounts = spark.sparkContext.accumulator(0) if wanted else None
        self._over = Event()
        self._thread = Thread(target=self._tell, name="omnigraph-watch", daemon=True) if wanted else None

    def __enter__(self) -> _Watched:
        if self._thread is not None:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self._thread is not None:
            self._thread.join()

    def _tell(self) -> None:
        assert self._watch is not None
        assert self.done is not None
        assert self.amounts is not None
        while not self._over.wait(_EVERY):
            self._watch(self.done.value, self.amounts.value)


def _is_passing(reason: str) -> bool:
    """Whether what a task raised is an error of ours that says so: nothing else of it comes back from an executor."""
    kind = getattr(errors, reason.partition(":")[0].rpartition(".")[2], None)
    return isinstance(kind, type) and issubclass(kind, GraphError) and kind is not TaskFailed


def _reason(error: PySparkException) -> tuple[str, bool]:
    """The line that says what happened, and whether it is the last one of a Python error that Spark's message carries."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    python = [at for at, line in enumerate(lines) if line.startswith("Traceback (most recent call last)")]
    if python:
        for line in lines[python[-1] + 1 :]:
            if line and not line.startswith(("File ", "at ")) and ": " in line and " " not in line.split(": ", 1)[0]:
                return line, True
    return (lines[0] if lines else type(error).__name__), False
