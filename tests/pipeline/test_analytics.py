"""Measures by Spark are measures in memory: the same rows, on random graphs with loops, parallel edges and isolated nodes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.engine.analytics.networks import graph_of, random_network

import omnigraph as og
from omnigraph import spark as ogs
from omnigraph.engine.analytics import Analytics
from omnigraph.pipeline.analytics import AnalyticsFrame

pytestmark = pytest.mark.slow

MEASURES: dict[str, Callable[[Any], Any]] = {
    "degree": lambda a: a.degree(direction="in"),
    "pagerank": lambda a: a.pagerank(rounds=3, tolerance=0),
    "components": lambda a: a.components(),
    "label_propagation": lambda a: a.label_propagation(rounds=3),
    "triangles": lambda a: a.triangles(),
    "shortest_paths": lambda a: a.shortest_paths({"Person": ["p1"], "City": ["p3"]}, direction="both"),
    "k_hop": lambda a: a.k_hop(["p1"], 1, nodes="Person"),
}


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> og.Graph:
    nodes, edges = random_network(11, people=30, cities=8, edges=140)
    for needed in (("Person", "p1"), ("City", "p3")):
        if needed not in nodes:
            nodes.append(needed)
    return graph_of(tmp_path_factory.mktemp("analytics"), nodes, edges)


@pytest.fixture(scope="module")
def on_spark(spark: SparkSession, graph: og.Graph) -> Analytics[AnalyticsFrame]:
    return ogs.analytics(graph, spark=spark)


@pytest.mark.parametrize("name", MEASURES)
def test_spark_and_memory_agree(on_spark: Analytics[AnalyticsFrame], graph: og.Graph, name: str) -> None:
    here = MEASURES[name](graph.analytics)
    there = MEASURES[name](on_spark).collected()
    assert there.columns == here.columns
    assert there.graph_commit_id == here.graph_commit_id
    if name == "pagerank":
        assert [r["rank"] for r in there.rows] == pytest.approx([r["rank"] for r in here.rows], rel=1e-12)
        assert [(r["type"], r["id"]) for r in there.rows] == [(r["type"], r["id"]) for r in here.rows]
    else:
        assert there.to_arrow().equals(here.to_arrow())


def test_values_are_written_back_and_refusals_are_the_same(spark: SparkSession, graph: og.Graph, tmp_path: Path) -> None:
    graph.branches.create("analysis")
    measured = ogs.analytics(graph, spark=spark)
    done = measured.degree(edges="Knows", write_to="group", onto="analysis", actor="me")
    assert done.commit is not None
    assert (done.commit.branch, done.commit.actor) == ("analysis", "me")
    written = graph.query("query q() { match { $p: Person } return { sum($p.group) as s } }", branch="analysis").rows
    assert written == [{"s": sum(r["degree"] for r in graph.analytics.degree(edges="Knows").rows)}]
    with pytest.raises(og.NotFound, match="Person `nobody`"):
        measured.k_hop(["nobody"], 1, nodes="Person")
    with pytest.raises(og.UsageError, match="is I32"):
        measured.pagerank(edges="Knows", write_to="group")
