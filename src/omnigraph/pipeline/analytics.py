"""Measures of a graph that does not fit into memory: the questions of `g.analytics`, answered with DataFrames.

    ogs.analytics(g).pagerank(edges="Knows").frame

The answers are those of the algorithms in memory (`omnigraph.engine.analytics.kernels`), which state the rules; sums of floats
differ in their last digits, because they are added up in another order. What fits is better off in memory: a million edges take a
fraction of a second there and some tens of seconds here.

Nodes are numbered in the order of (type, id) first, so that joins are joins of numbers and the least node is the least number.
Every round is written down (`localCheckpoint`) before the next one begins: a plan that grows with every round would be planned
longer than it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it

from omnigraph.engine.analytics.algorithms import (
    Components,
    Degree,
    LabelPropagation,
    PageRank,
    Reach,
    Triangles,
    columns_of,
)
from omnigraph.engine.analytics.front import Analytics, Request
from omnigraph.engine.analytics.local import AnalyticsResult
from omnigraph.engine.analytics.scope import Direction, Scope
from omnigraph.engine.analytics.written import write_back
from omnigraph.engine.calls.guard import guarded
from omnigraph.engine.graph import Graph
from omnigraph.engine.parts import parts_of
from omnigraph.errors import NotFound
from omnigraph.model.frozen import frozen
from omnigraph.pipeline.session import ready
from omnigraph.pipeline.source import table
from omnigraph.pipeline.tasks import parallelism
from omnigraph.storage.commits.lineage import Commit

_PARTITION_BITS = 33
"""How many bits of Spark's increasing ids count the rows of a partition."""

_SHUFFLES = "spark.sql.shuffle.partitions"
_TASK_ROWS = 1_000_000


@dataclass
class AnalyticsFrame:
    """One row per node: `type`, `id`, and the value."""

    frame: DataFrame
    request: Request
    rounds: int | None = None
    settled: bool = True
    commit: Commit | None = None
    """The commit that wrote the values, if that was asked for and anything changed."""

    def to_arrow(self) -> pa.Table:
        """All rows, in the order of (type, id)."""
        return self.frame.orderBy("type", "id").toArrow().cast(columns_of(self.request.algorithm))

    def collected(self) -> AnalyticsResult:
        """The same as `g.analytics` gives."""
        found = AnalyticsResult(self.to_arrow(), self.request, self.rounds, self.settled)
        found.commit = self.commit
        return found


@guarded()
def analytics(graph: Graph, *, spark: SparkSession | None = None) -> Analytics[AnalyticsFrame]:
    """The algorithms of a graph, computed by Spark. Methods are those of `g.analytics`."""
    return Analytics(parts_of(graph).view, OnSpark(graph, ready(spark)))


class OnSpark:
    """Runs algorithms with DataFrames."""

    def __init__(self, graph: Graph, spark: SparkSession) -> None:
        self._graph, self._spark = graph, spark
        self._last: tuple[tuple[str, Scope], _Network] | None = None
        """The last network: the next request is often about the same part of the same commit."""

    def run(self, request: Request) -> AnalyticsFrame:
        """Compute, and write the values if requested."""
        with _shuffles(self._spark, request):
            found = _computed(self._network(request), request)
        if request.target is not None:
            found.commit = write_back(parts_of(self._graph).workspace, request.target, found.to_arrow(), request.algorithm)
        return found

    def _network(self, request: Request) -> _Network:
        key = (request.view.snapshot.layout, request.scope)
        if self._last is None or self._last[0] != key:
            self._last = (key, _network(self._graph, self._spark, request))
        return self._last[1]


@contextmanager
def _shuffles(spark: SparkSession, request: Request) -> Iterator[None]:
    """Joins in no more tasks than there is work for: every round has several, and Spark's 200 cost more than a small join."""
    said = spark.conf.getAll.get(_SHUFFLES)
    before = said or spark.conf.get(_SHUFFLES) or "200"
    rows = sum(request.view.nodes(n).count for n in request.scope.nodes) + sum(
        request.view.edges(n).count for n in request.scope.edges
    )
    wanted = min(int(before), max(2 * parallelism(spark), rows // _TASK_ROWS))
    spark.conf.set(_SHUFFLES, str(wanted))
    try:
        yield
    finally:
        if said is None:
            spark.conf.unset(_SHUFFLES)
        else:
            spark.conf.set(_SHUFFLES, said)


@frozen(slots=False)
class _Network:
    """Nodes with their numbers, and both ends of every edge as numbers."""

    nodes: DataFrame
    """type, id, number"""
    edges: DataFrame
    """s, t"""
    count: int

    def named(self, values: DataFrame, request: Request) -> DataFrame:
        """Values by number as values by type and id."""
        return self.nodes.join(values, "number", "inner").select("type", "id", F.col("value").alias(request.algorithm.name))

    @property
    def both_ways(self) -> DataFrame:
        """Every edge in both directions, without loops."""
        edges = self.edges.where("s <> t")
        return edges.unionAll(edges.select(F.col("t").alias("s"), F.col("s").alias("t")))


def _network(graph: Graph, spark: SparkSession, request: Request) -> _Network:
    commit, catalog = request.view.snapshot.layout, request.view.catalog
    parts = [
        table(graph, name, at=commit, columns=["id"], spark=spark).select(F.lit(name).alias("type"), "id")
        for name in request.scope.nodes
    ]
    nodes = _numbered(reduce(DataFrame.unionAll, parts), "type", "id")
    edges: list[DataFrame] = []
    for name in request.scope.edges:
        edge = catalog.edges[name]
        rows = table(graph, name, at=commit, columns=["src", "dst"], spark=spark)
        for column, end, type_ in (("src", "s", edge.source), ("dst", "t", edge.target)):
            numbers = nodes.where(F.col("type") == type_).select(F.col("id").alias(column), F.col("number").alias(end))
            rows = rows.join(numbers, column, "inner")
        edges.append(rows.select("s", "t"))
    if not edges:
        edges = [spark.createDataFrame([], "s long, t long")]
    count = sum(request.view.nodes(name).count for name in request.scope.nodes)
    return _Network(nodes, reduce(DataFrame.unionAll, edges).localCheckpoint(), count)


def _numbered(rows: DataFrame, *order: str) -> DataFrame:
    """Rows with their `number` in an order, without bringing them to one place: counted partition by partition."""
    ordered = rows.orderBy(*order).withColumn("_at", F.monotonically_increasing_id()).localCheckpoint()
    partition = F.shiftright("_at", _PARTITION_BITS)
    counts = ordered.groupBy(partition.alias("partition")).count().collect()
    before, starts = 0, list[Column]()
    for row in sorted(counts, key=lambda row: int(row["partition"])):
        starts += [F.lit(row["partition"]), F.lit(before)]
        before += row["count"]
    if not starts:
        return ordered.withColumn("number", F.lit(0).cast("long")).drop("_at")
    first = F.element_at(F.create_map(*starts), partition)
    within = F.col("_at").bitwiseAND((1 << _PARTITION_BITS) - 1)
    return ordered.withColumn("number", (first + within).cast("long")).drop("_at").localCheckpoint()


def _computed(network: _Network, request: Request) -> AnalyticsFrame:
    algorithm = request.algorithm
    match algorithm:
        case Degree(direction):
            return AnalyticsFrame(network.named(_degree(network, direction), request), request)
        case PageRank():
            return _pagerank(network, algorithm, request)
        case Components():
            return _components(network, request)
        case LabelPropagation(rounds):
            return _label_propagation(network, rounds, request)
        case Triangles():
            return AnalyticsFrame(network.named(_triangles(network), request), request)
        case Reach():
            return AnalyticsFrame(_reach(network, algorithm), request)


def _counted(network: _Network, numbers: DataFrame) -> DataFrame:
    """How often each node occurs; 0 for those that do not."""
    counts = numbers.groupBy("number").agg(F.count(F.lit(1)).alias("found"))
    return network.nodes.select("number").join(counts, "number", "left").select("number", _or_zero("found"))


def _or_zero(column: str) -> Column:
    return F.coalesce(F.col(column), F.lit(0)).cast("long").alias("value")


def _degree(network: _Network, direction: Direction) -> DataFrame:
    out, in_ = network.edges.select(F.col("s").alias("number")), network.edges.select(F.col("t").alias("number"))
    chosen = {Direction.OUT: out, Direction.IN: in_, Direction.BOTH: out.unionAll(in_)}
    return _counted(network, chosen[direction])


def _pagerank(network: _Network, algorithm: PageRank, request: Request) -> AnalyticsFrame:
    if not network.count:
        empty = network.nodes.select("number", F.lit(0.0).alias("value"))
        return AnalyticsFrame(network.named(empty, request), request, 1, settled=True)
    damping, count = algorithm.damping, network.count
    out = network.edges.groupBy(F.col("s").alias("number")).agg(F.count(F.lit(1)).alias("out"))
    nodes = network.nodes.select("number").join(out, "number", "left").localCheckpoint()
    ranks = nodes.select("number", "out", F.lit(1.0 / count).alias("rank"))
    for done in range(1, algorithm.rounds + 1):
        lost = ranks.where("out is null").agg(F.sum("rank")).first()
        anywhere = (1.0 - damping + damping * ((lost[0] if lost else None) or 0.0)) / count
        shares = ranks.where("out is not null").select(F.col("number").alias("s"), (F.col("rank") / F.col("out")).alias("share"))
        given = network.edges.join(shares, "s").groupBy(F.col("t").alias("number")).agg(F.sum("share").alias("given"))
        new = F.lit(anywhere) + F.lit(damping) * F.coalesce(F.col("given"), F.lit(0.0))
        after = ranks.join(given, "number", "left").select("number", "out", F.col("rank").alias("before"), new.alias("rank"))
        after = after.localCheckpoint()
        moved = after.agg(F.sum(F.abs(F.col("rank") - F.col("before")))).first()
        ranks = after.select("number", "out", "rank")
        if moved is not None and moved[0] <= algorithm.tolerance:
            return AnalyticsFrame(network.named(ranks.withColumnRenamed("rank", "value"), request), request, done, settled=True)
    return AnalyticsFrame(
        network.named(ranks.withColumnRenamed("rank", "value"), request), request, algorithm.rounds, settled=False
    )


def _components(network: _Network, request: Request) -> AnalyticsFrame:
    """Everybody takes the least label around, and then the label of their label, until nothing moves."""
    edges = network.both_ways.distinct().localCheckpoint()
    labels = network.nodes.select("number", F.col("number").alias("label"))
    rounds = 0
    while True:
        around = edges.join(labels.withColumnRenamed("number", "t"), "t").groupBy(F.col("s").alias("number"))
        least = around.agg(F.min("label").alias("around"))
        lowest = F.least(F.col("label"), F.coalesce(F.col("around"), F.col("label")))
        hung = labels.join(least, "number", "left").select("number", F.col("label").alias("before"), lowest.alias("label"))
        hung = hung.localCheckpoint()
        above = hung.select(F.col("number").alias("label"), F.col("label").alias("above"))
        after = hung.join(above, "label").select("number", "before", F.least("label", "above").alias("label")).localCheckpoint()
        labels = after.select("number", "label")
        if after.where("label <> before").isEmpty():
            break
        rounds += 1
    return AnalyticsFrame(network.named(_groups(labels), request), request, rounds, settled=True)


def _label_propagation(network: _Network, rounds: int, request: Request) -> AnalyticsFrame:
    edges = network.both_ways.localCheckpoint()
    labels = network.nodes.select("number", F.col("number").alias("label"))
    for done in range(rounds):
        votes = edges.join(labels.withColumnRenamed("number", "t"), "t").select(F.col("s").alias("number"), "label")
        counted = votes.unionAll(labels).groupBy("number", "label").agg(F.count(F.lit(1)).alias("votes"))
        best = counted.groupBy("number").agg(F.max(F.struct("votes", (-F.col("label")).alias("minus"))).alias("best"))
        new = best.select("number", (-F.col("best.minus")).alias("label")).localCheckpoint()
        same = new.join(labels.withColumnRenamed("label", "before"), "number").where("label <> before").isEmpty()
        labels = new
        if same:
            return AnalyticsFrame(network.named(_groups(labels), request), request, done, settled=True)
    return AnalyticsFrame(network.named(_groups(labels), request), request, rounds, settled=False)


def _groups(labels: DataFrame) -> DataFrame:
    """Groups as 0, 1, 2 …, by their least node."""
    least = labels.groupBy("label").agg(F.min("number").alias("least"))
    ranked = _numbered(least, "least").select("label", F.col("number").alias("value"))
    return labels.join(ranked, "label").select("number", "value")


def _triangles(network: _Network) -> DataFrame:
    """Each edge points from the end with fewer neighbours to the one with more: a→b, a→c, b→c."""
    around = network.both_ways.distinct().localCheckpoint()
    degrees = around.groupBy("s").agg(F.count(F.lit(1)).alias("degree"))
    rank = around.join(degrees, "s").join(degrees.select(F.col("s").alias("t"), F.col("degree").alias("other")), "t")
    ahead = "degree < other or (degree = other and s < t)"
    edges = rank.where(ahead).select("s", "t").localCheckpoint()
    first = edges.select(F.col("s").alias("a"), F.col("t").alias("b"))
    second = edges.select(F.col("s").alias("b"), F.col("t").alias("c"))
    third = edges.select(F.col("s").alias("a"), F.col("t").alias("c"))
    found = first.join(second, "b").join(third, ["a", "c"]).select(F.explode(F.array("a", "b", "c")).alias("number"))
    return _counted(network, found)


def _reach(network: _Network, algorithm: Reach) -> DataFrame:
    edges = _directed(network, algorithm.direction).distinct().localCheckpoint()
    starts = _starts(network, algorithm.sources)
    nobody = F.lit(None).cast("long")
    seen = starts.select("number", F.lit(0).cast("long").alias("hops"), nobody.alias("previous")).localCheckpoint()
    frontier = starts
    done = 0
    while algorithm.most is None or done < algorithm.most:
        done += 1
        steps = edges.join(frontier.withColumnRenamed("number", "s"), "s").groupBy(F.col("t").alias("number"))
        new = steps.agg(F.min("s").alias("previous")).join(seen.select("number"), "number", "left_anti").localCheckpoint()
        if new.isEmpty():
            break
        seen = seen.unionAll(new.select("number", F.lit(done).cast("long").alias("hops"), "previous")).localCheckpoint()
        frontier = new.select("number")
    named = network.nodes.join(seen, "number")
    if not algorithm.paths:
        return named.select("type", "id", "hops")
    before = network.nodes.select(
        F.col("number").alias("previous"), F.col("type").alias("previous_type"), F.col("id").alias("previous_id")
    )
    return named.join(before, "previous", "left").select("type", "id", "hops", "previous_type", "previous_id")


def _directed(network: _Network, direction: Direction) -> DataFrame:
    turned = network.edges.select(F.col("t").alias("s"), F.col("s").alias("t"))
    ways: dict[Direction, Callable[[], DataFrame]] = {
        Direction.OUT: lambda: network.edges,
        Direction.IN: lambda: turned,
        Direction.BOTH: lambda: network.edges.unionAll(turned),
    }
    return ways[direction]()


def _starts(network: _Network, sources: dict[str, list[str]]) -> DataFrame:
    wanted = [(name, id_) for name, ids in sources.items() for id_ in ids]
    given = network.nodes.sparkSession.createDataFrame(wanted, "type string, id string").distinct()
    found = given.join(network.nodes, ["type", "id"], "left").localCheckpoint()
    missing = found.where("number is null").limit(3).collect()
    if missing:
        raise NotFound(f"there is no {', '.join(f'{row.type} `{row.id}`' for row in missing)} to start from")
    return found.select("number")
