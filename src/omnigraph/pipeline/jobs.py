"""Upkeep of large graphs by Spark: the engine's own jobs, whose work is done by tasks.

    ogs.optimize(g)                    compaction and index segments, published as maintenance
    ogs.embed(g, embedder=…)           vectors of `@embed` properties
    ogs.export(g, "s3://…")            a folder of JSON lines or Parquet
    ogs.statistics(g)                  numbers of every property

Each of them is cut into payloads by the engine (`omnigraph.storage.tables.work`); here they only get another runner.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal, TypeVar

from pyspark.sql import SparkSession

from omnigraph.embedding import Embedder, Pace
from omnigraph.engine.calls import arguments
from omnigraph.engine.calls.guard import guarded
from omnigraph.engine.export import parts as exporting
from omnigraph.engine.export import statistics as counting
from omnigraph.engine.graph import Graph
from omnigraph.engine.parts import parts_of
from omnigraph.engine.upkeep import embedding
from omnigraph.engine.upkeep.reconcile import Optimized, TypeOutcome
from omnigraph.engine.upkeep.reconcile import optimize as optimized
from omnigraph.pipeline.session import ready
from omnigraph.pipeline.tasks import parallelism, run_tasks
from omnigraph.storage.graph_store import MAIN
from omnigraph.storage.tables.work import Run

P = TypeVar("P")
R = TypeVar("R")


@guarded()
def run_on(spark: SparkSession) -> Run:
    """Work done by tasks of a session."""

    def run(work: Callable[[P], R], payloads: Sequence[P], /) -> list[R]:
        return run_tasks(spark, payloads, work)

    return run


@guarded()
def optimize(
    graph: Graph,
    branch: str = MAIN,
    *,
    types: Sequence[str] | None = None,
    progress: Callable[[TypeOutcome], None] | None = None,
    actor: str | None = None,
    spark: SparkSession | None = None,
) -> Optimized:
    """What `g.optimize` does, with groups of fragments rewritten and index segments built by tasks."""
    run = run_on(ready(spark))
    catalog = parts_of(graph).view(branch).catalog
    return optimized(parts_of(graph).store, branch, catalog, progress, types=types, actor=actor, run=run)


@guarded()
def embed(
    graph: Graph,
    branch: str = MAIN,
    *,
    types: Sequence[str] | None = None,
    embedder: Embedder | None = None,
    pace: Pace | None = None,
    again: bool = False,
    timeout: float | None = None,
    actor: str | None = None,
    spark: SparkSession | None = None,
) -> embedding.Embedded:
    """What `g.embed` does, with the provider asked by tasks. The pace is that of all of them together.

    The provider travels to the tasks, its key does not: each executor reads it from its own environment.
    """
    spark = ready(spark)
    return embedding.embed(
        parts_of(graph).workspace,
        parts_of(graph).past,
        parts_of(graph).view(branch),
        branch,
        embedding.require_embedder(graph.embedder if embedder is None else embedder),
        types=types,
        pace=pace,
        again=again,
        actor=actor,
        timeout=timeout,
        run=run_on(spark),
        workers=parallelism(spark),
    )


@guarded(target=arguments.path, format=arguments.one_of("jsonl", "parquet"))
def export(
    graph: Graph,
    target: str,
    *,
    format: Literal["jsonl", "parquet"] = "parquet",
    types: Iterable[str] | None = None,
    branch: str | None = None,
    at: str | None = None,
    storage_options: Mapping[str, str] | None = None,
    spark: SparkSession | None = None,
) -> exporting.ExportedParts:
    """A graph, or some of its types, as a folder of files that `g.load` reads back."""
    view, place = parts_of(graph).view(branch, at), parts_of(graph).store.place
    options = dict(place.options) if storage_options is None else dict(storage_options)
    run = run_on(ready(spark))
    return exporting.export_parts(view, place, target, format_=format, types=types, options=options, run=run)


@guarded()
def statistics(
    graph: Graph,
    *,
    types: Iterable[str] | None = None,
    branch: str | None = None,
    at: str | None = None,
    spark: SparkSession | None = None,
) -> list[counting.TypeStatistics]:
    """How many values every property has, how many are missing, how many differ, and between what they lie."""
    run = run_on(ready(spark))
    return counting.statistics(parts_of(graph).view(branch, at), parts_of(graph).store.place, types=types, run=run)
