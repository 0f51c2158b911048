"""A load by Spark: chunks read side by side, one commit made by the driver.

    driver                                       executors
    cut the inputs ───────────────────────────▶  parse, check rows, write data files     (`engine.load.read.parallel.chunks`)
    put chunks together ◀───────────────────   descriptions of files, violations, lines
    set rules, next to what is committed
    one plan, one commit

What a task does and what the driver concludes is the code of the local runner; only who does it differs. So the graph, the
violations and the commit are the same, and a test compares them.

Nothing is visible before the commit. A lease is held from the first to the last moment, however many hours lie between, so that
reclaim leaves the files alone; when a load fails or its driver dies, they are garbage, and reclaim takes them after a while.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final, Literal, TypedDict, TypeVar, Unpack, get_args

import pyarrow as pa
from pyspark import TaskContext
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from omnigraph.catalog.catalog import EntityType
from omnigraph.engine.calls import arguments
from omnigraph.engine.calls.guard import CHECKS, guarded
from omnigraph.engine.graph import Graph
from omnigraph.engine.load.read.columnar.headers import column_violations
from omnigraph.engine.load.read.inputs.naming import Format
from omnigraph.engine.load.read.inputs.sources import Source
from omnigraph.engine.load.read.parallel.chunks import Chunk, Cut, Work, cuts_of, read_batches, read_chunk
from omnigraph.engine.load.read.rows.modes import ModeName
from omnigraph.engine.load.run.chunked import run_chunked
from omnigraph.engine.load.run.progress import ProgressReporter, Report, Stage
from omnigraph.engine.load.run.request import Request
from omnigraph.engine.load.run.result import LoadResult
from omnigraph.engine.load.run.runners import Runner
from omnigraph.engine.snapshot.view import View, Workspace
from omnigraph.engine.write.violations import Violation
from omnigraph.errors import NotFound, StorageError
from omnigraph.pipeline.batches import gathered
from omnigraph.pipeline.checks import ChecksName, checks_by
from omnigraph.pipeline.session import is_local, session
from omnigraph.pipeline.tasks import failure, parallelism, run_tasks
from omnigraph.storage.commits.leases import Held
from omnigraph.storage.files.place import Place

P = TypeVar("P")
R = TypeVar("R")

_MUCH: Final = 8 << 30
"""Bytes of inputs from which joins may be needed. Below, the Java side only hands out tasks, and to compile it well is a loss."""


class Options(TypedDict, total=False):
    """Options of `g.load`."""

    mode: ModeName
    branch: str
    from_: str | None
    actor: str | None
    message: str | None
    progress: bool | Report | None
    types: dict[str, str] | None
    quarantine: str | Path | None
    lossy: Literal["round"] | None
    max_bad: float | None
    allow_empty: bool
    skip_unknown: bool
    embed: bool


_CHECKS: Final = arguments.one_of(*get_args(ChecksName))
_OPTIONS: Final = {name: CHECKS[name] for name in Options.__annotations__} | {
    "types": arguments.texts,
    "progress": arguments.anything,
}


@guarded(source=arguments.source, checks=_CHECKS, **_OPTIONS)
def load(
    graph: Graph,
    source: Source,
    *,
    spark: SparkSession | None = None,
    checks: ChecksName = "auto",
    **options: Unpack[Options],
) -> LoadResult:
    """Load files or frames by Spark, as one commit: `load(g, {"Person": people, "Knows": knows}, mode="merge", branch="etl")`.

    What `g.load` does, with its options; on a session of your own if you give one. `checks` says who asks the rules about sets of
    rows: the driver, tasks, or joins of Spark; by default it follows from the number of rows.
    """
    return graph.load(source, engine=partial(run, spark=spark, checks=checks), **options)


@guarded(checks=_CHECKS)
def on(spark: SparkSession, checks: ChecksName = "auto") -> Runner:
    """A runner of loads on a session: `g.load(…, engine=on(spark))`."""
    return partial(run, spark=spark, checks=checks)


def started_on(master: str | None, config: Mapping[str, str]) -> Runner:
    """A runner on a session that is started when it is needed, on a master and with settings of its own."""

    def started(workspace: Workspace, view: View, request: Request) -> LoadResult:
        return run(workspace, view, request, session(master=master, config=config, quick=not _is_large(request)))

    return started


def run(
    workspace: Workspace,
    view: View,
    request: Request,
    spark: SparkSession | None = None,
    checks: ChecksName = "auto",
) -> LoadResult:
    """Load everything as one commit on top of a view, or raise all that is wrong with it."""
    spark = spark or _session_of(request)

    def mark(work: Callable[[P], R], payloads: Sequence[P], /) -> list[R]:
        return run_tasks(spark, payloads, work)

    return run_chunked(workspace, view, request, partial(_read, spark), checks_by(spark, checks), mark)


def _session_of(request: Request) -> SparkSession:
    for input_ in request.inputs:
        if input_.format is Format.DISTRIBUTED:
            frame: DataFrame = input_.content
            return frame.sparkSession
    return session(quick=not _is_large(request))


def _is_large(request: Request) -> bool:
    sizes = [input_.size for input_ in request.inputs]
    return None in sizes or sum(size for size in sizes if size is not None) > _MUCH


# ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _read(
    spark: SparkSession, work: Work, request: Request, reporter: ProgressReporter, lease: Held
) -> tuple[Sequence[Cut], Sequence[Chunk]]:
    """Files by tasks, frames of a cluster where they are, everything else here."""
    if not is_local(spark):
        _require_sight(spark, work, lease)
    cuts = cuts_of(request.inputs, parallelism(spark))
    shared = [cut for cut in cuts if cut.input.is_file]
    total = sum(cut.bytes for cut in shared)

    def watch(done: int, rows: int) -> None:
        reporter.report(Stage.READ, rows, total * done // max(1, len(shared)), 0)

    read = iter(run_tasks(spark, shared, partial(read_chunk, work), amount=_rows, watch=watch))
    found: list[tuple[Cut, Chunk]] = []
    for cut in cuts:
        if cut.input.format is Format.DISTRIBUTED:
            assert cut.input.type is not None
            found += [(cut, chunk) for chunk in _frame_chunks(cut.input.content, work, cut.input.type)]
        else:
            found.append((cut, next(read) if cut.input.is_file else read_chunk(work, cut)))
    return [cut for cut, _ in found], [chunk for _, chunk in found]


def _rows(chunk: Chunk) -> int:
    return chunk.rows


def _require_sight(spark: SparkSession, work: Work, lease: Held) -> None:
    """Refuse, before any work, executors that cannot see the graph: one of them looks for the lease of this very load."""
    place = next(iter(work.tables.values())).place
    seen = run_tasks(spark, [lease.path] * parallelism(spark), partial(_sees, place.uri, tuple(place.options.items())))
    if not all(seen):
        raise StorageError(
            f"executors cannot see {place.uri}", hint="Put the graph on a path or an object store that every executor reaches."
        )


def _sees(uri: str, options: tuple[tuple[str, str], ...], path: str) -> bool:
    try:
        return bool(Place.at(uri, dict(options)).get(path))
    except NotFound:
        return False


def _frame_chunks(frame: DataFrame, work: Work, type_: EntityType) -> list[Chunk]:
    """Rows of a data frame, read where they are, in the order of its partitions."""
    if len(set(frame.columns)) < len(frame.columns):  # Spark cannot even name such columns
        return [Chunk(violations=column_violations(type_, frame.columns, None))]
    try:
        rows = frame.mapInArrow(_FrameTask(work, type_), "partition int, chunk binary").collect()
    except PySparkException as error:
        raise failure(error, "a task") from error
    by_partition: dict[int, Chunk] = {row[0]: pickle.loads(row[1]) for row in rows}
    chunks = [by_partition[number] for number in sorted(by_partition)]
    reported = set[Violation]()
    for chunk in chunks:  # what is wrong with a column is reported by every partition
        chunk.violations = [v for v in chunk.violations if v.line is not None or v not in reported]
        reported |= {v for v in chunk.violations if v.line is None}
    return chunks


class _FrameTask:
    """Reads a partition of a data frame, on an executor."""

    def __init__(self, work: Work, type_: EntityType) -> None:
        self._work, self._type = work, type_

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        chunk = read_batches(self._work, self._type, gathered(batches))
        context = TaskContext.get()
        number = 0 if context is None else context.partitionId()
        yield pa.RecordBatch.from_arrays(
            [pa.array([number], pa.int32()), pa.array([pickle.dumps(chunk)], pa.binary())], ["partition", "chunk"]
        )
