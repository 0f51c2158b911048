"""The matrix of conversions through Spark: data frames by `g.load`, and `format("omnigraph")`, against the same expectations.

A session in another zone than UTC: what a value means does not depend on it.
"""

from __future__ import annotations

import pickle
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema
from tests.engine.load.conversion_cases import CASES, REFUSED
from tests.engine.load.conversion_loads import check, graph, in_columns, learnt
from tests.engine.load.loading import refused

import omnigraph as og
from omnigraph import spark as ogs

HELD = [case for case in CASES if case.arrow is not None and case.name != "nanoseconds"]
"""What a data frame can hold."""


@pytest.fixture
def elsewhere(spark: SparkSession) -> Iterator[SparkSession]:
    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    yield spark
    spark.conf.set("spark.sql.session.timeZone", zone or "UTC")


def frame_of(spark: SparkSession, table: pa.Table) -> DataFrame:
    return spark.createDataFrame(table, from_arrow_schema(table.schema, prefer_timestamp_ntz=True)).repartition(2)


def write(frame: DataFrame, g: og.Graph, lossy: str | None) -> None:
    options = {"graph": g._store.place.uri, "type": "Wide"} | ({} if lossy is None else {"lossy": lossy})
    frame.write.format("omnigraph").options(**options).mode("append").save()


@pytest.mark.parametrize("lossy", [None, "round"], ids=["exact", "round"])
def test_data_frames(elsewhere: SparkSession, tmp_path: Path, lossy: Any) -> None:
    g = graph(tmp_path)
    columns = in_columns(g, HELD, rounds=lossy is not None, spark=True)
    result = g.load({"Wide": frame_of(elsewhere, columns.table)}, quarantine=tmp_path / "bad", lossy=lossy)
    check(learnt(g, "Wide", result), columns.tried)


@pytest.mark.parametrize("lossy", [None, "round"], ids=["exact", "round"])
def test_the_format(elsewhere: SparkSession, tmp_path: Path, lossy: Any) -> None:
    g = graph(tmp_path)
    columns = in_columns(g, HELD, rounds=lossy is not None, spark=True)
    good = pa.array([t.expected != REFUSED for t in columns.tried])
    bad = columns.table.filter(pa.compute.invert(good))
    with pytest.raises(PySparkException) as error:
        write(frame_of(elsewhere, bad), g, lossy)
    counted = re.search(r"(\d+) violations", str(error.value))
    assert counted is not None, str(error.value)[:3000]
    assert int(counted[1]) == bad.num_rows  # each row tries one value
    write(frame_of(elsewhere, columns.table.filter(good)), g, lossy)
    check(learnt(g, "Wide"), [t for t in columns.tried if t.expected != REFUSED])


@pytest.mark.parametrize("lossy", [None, "round"], ids=["exact", "round"])
def test_sinks(elsewhere: SparkSession, tmp_path: Path, lossy: Any) -> None:
    g = graph(tmp_path)
    columns = in_columns(g, HELD, rounds=lossy is not None, spark=True)
    good = pa.array([t.expected != REFUSED for t in columns.tried])
    bad, sink = columns.table.filter(pa.compute.invert(good)), ogs.sink(g, "Wide", name="conversions", lossy=lossy)
    with pytest.raises(og.ValidationError) as error:
        sink.write(frame_of(elsewhere, bad), 0)
    assert {v.line for v in error.value.violations} == set(range(1, bad.num_rows + 1))
    assert pickle.loads(pickle.dumps(sink)).write(frame_of(elsewhere, columns.table.filter(good)), 0) is not None
    check(learnt(g, "Wide"), [t for t in columns.tried if t.expected != REFUSED])


def test_columns_that_never_fit(elsewhere: SparkSession, tmp_path: Path) -> None:
    g = graph(tmp_path)
    never = in_columns(g, HELD, spark=True).never
    frame, names = frame_of(elsewhere, never), sorted(never.column_names[1:])
    found = refused(g, {"Wide": frame})
    assert sorted(v.property or "" for v in found) == names
    assert {(v.rule, v.line) for v in found} == {("type", None)}
    with pytest.raises(PySparkException) as error:
        write(frame, g, None)
    assert sorted(set(re.findall(r"Wide\.(c\d+_\w+) is .* and cannot hold", str(error.value)))) == names
