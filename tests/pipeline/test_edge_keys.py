"""Edges with keys loaded by Spark: the same files twice are the same graph."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from tests.engine.load.loading import exported, graph, refused
from tests.engine.load.test_edge_keys import FORMS, ROWS, check_twice

from omnigraph.pipeline.load import on


@pytest.mark.parametrize(("form", "mode"), [("jsonl", "merge"), ("parquet", "append"), ("csv", "overwrite")])
def test_files_twice(spark: SparkSession, tmp_path: Path, form: str, mode: str) -> None:
    check_twice(tmp_path, FORMS[form](tmp_path, ROWS), mode, engine=on(spark))


def test_frames_twice(spark: SparkSession, tmp_path: Path) -> None:
    frames = {name: spark.createDataFrame(table) for name, table in FORMS["frames"](tmp_path, ROWS).items()}
    check_twice(tmp_path, frames, "merge", engine=on(spark))


@pytest.mark.parametrize("way", ["load", "format"])
def test_ends_that_are_keys_of_integers(spark: SparkSession, tmp_path: Path, way: str) -> None:
    schema = "node Person { id_no: I64 @key } edge Knows: Person -> Person @key(src, dst) { weight: F64? }"
    g = graph(tmp_path, schema)
    g.load([{"type": "Person", "data": {"id_no": n}} for n in range(10)])
    frame = spark.range(9).selectExpr("id as src", "cast(id + 1 as decimal(20, 0)) as dst", "cast(id as double) as weight")
    floats = frame.selectExpr("cast(src as double) as src", "dst", "weight")  # as pandas makes them beside missing values
    wrong = frame.selectExpr("src > 0 as src", "dst")
    if way == "load":
        g.load({"Knows": frame}, engine=on(spark))
        (found,) = refused(g, {"Knows": wrong}, engine=on(spark))
        assert found.message == "column `src` holds values of bool, and the key of Person is `id_no: I64`"
        halves = frame.selectExpr("src + 0.5D as src", "dst")
        assert {v.rule for v in refused(g, {"Knows": halves}, engine=on(spark))} == {"record"}
        assert g.load({"Knows": floats}, mode="merge", engine=on(spark)).edges_loaded == {"Knows": 9}
        assert g.delete({"Knows": frame.select("src", "dst").where("src < 2")}, engine=on(spark)).deleted == {"Knows": 2}
    else:
        write = frame.write.format("omnigraph").option("graph", str(g.uri)).option("type", "Knows")
        write.mode("append").save()
        with pytest.raises(PySparkException, match="column `src` is boolean, and the key of Person is `id_no: I64`"):
            wrong.write.format("omnigraph").option("graph", str(g.uri)).option("type", "Knows").mode("append").save()
        with pytest.raises(PySparkException, match="exists already"):  # the same edges
            floats.write.format("omnigraph").option("graph", str(g.uri)).option("type", "Knows").mode("append").save()
    found_edges = [(r["from"], r["to"]) for r in exported(g) if "edge" in r]
    assert found_edges == [(str(n), str(n + 1)) for n in range(2 if way == "load" else 0, 9)]
