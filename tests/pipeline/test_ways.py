"""Every way Spark has to read and to write: it works, or is refused with nothing written and nothing left in the catalog."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, DataFrameWriter, SparkSession

import omnigraph as og

pytestmark = pytest.mark.slow

ROUNDS = 120
"""Seconds a stream may take here."""


@dataclass(frozen=True)
class Place:
    """Where a way leads."""

    spark: SparkSession
    graph: og.Graph
    folder: Path

    @property
    def uri(self) -> str:
        return self.graph._store.place.uri

    @property
    def rows(self) -> DataFrame:
        return self.spark.sql(f"select 'n{len(self.graph.commits())}' as name, 7 as age")

    def writer(self, mode: str, **options: str) -> DataFrameWriter:
        return self.rows.write.format("omnigraph").options(graph=self.uri, type="P", **options).mode(mode)

    def sql(self, text: str) -> DataFrame:
        return self.spark.sql(text.replace("$options", f"OPTIONS (graph '{self.uri}', type 'P')"))

    def streamed(self, format_: str) -> None:
        (self.folder / "in").mkdir(exist_ok=True)
        (self.folder / "in" / "1.json").write_text('{"name": "s"}\n')  # without rows Spark asks nobody to write
        stream = self.spark.readStream.schema("name string").json(str(self.folder / "in"))
        writer = stream.writeStream.format(format_).option("graph", self.uri).option("type", "P").trigger(availableNow=True)
        writer.option("checkpointLocation", str(self.folder / format_)).start().awaitTermination(ROUNDS)

    def read_as_stream(self) -> None:
        stream = self.spark.readStream.format("omnigraph").options(graph=self.uri, type="P").load()
        writer = stream.writeStream.format("noop").trigger(availableNow=True)
        writer.option("checkpointLocation", str(self.folder / "noop")).start().awaitTermination(ROUNDS)


Way = Callable[[Place], object]

WORK: dict[str, Way] = {
    "append": lambda p: p.writer("append").save(),
    "merge": lambda p: p.writer("append").option("mode", "merge").save(),
    "overwrite": lambda p: p.writer("overwrite").save(),
    "save(path)": lambda p: p.rows.write.format("omnigraph").option("type", "P").mode("append").save(p.uri),
}
"""Ways to write that make one commit."""

READ: dict[str, Way] = {
    "load": lambda p: p.spark.read.format("omnigraph").options(graph=p.uri, type="P").load().count(),
    "load(path)": lambda p: p.spark.read.format("omnigraph").option("type", "P").load(p.uri).count(),
    "a schema": lambda p: (
        p.spark.read.format("omnigraph").schema("id string, age int").options(graph=p.uri, type="P").load().count()
    ),
    "a temporary view": lambda p: (p.sql("CREATE TEMPORARY VIEW v USING omnigraph $options"), p.spark.table("v").count())[1],
}
"""Ways to read, which give the number of rows."""

REFUSED: dict[str, tuple[Way, str]] = {
    "no mode": (lambda p: p.writer("errorifexists").save(), 'use either the "Append" or "Overwrite" mode'),
    "ignore": (lambda p: p.writer("ignore").save(), 'use either the "Append" or "Overwrite" mode'),
    "partitions": (lambda p: p.writer("append").partitionBy("age").save(), "partitioning"),
    "buckets": (lambda p: p.writer("append").bucketBy(2, "age").save(), "bucketBy"),
    "two places": (lambda p: p.writer("append").save("/somewhere"), "Leave one of them out"),
    "create table": (lambda p: p.sql("CREATE TABLE t USING omnigraph $options"), "CREATE TEMPORARY VIEW"),
    "createTable": (
        lambda p: p.spark.catalog.createTable("t", source="omnigraph", graph=p.uri, type="P"),
        "CREATE TEMPORARY VIEW",
    ),
    "as select": (
        lambda p: p.sql("CREATE TABLE t USING omnigraph $options AS SELECT 'x' AS name, 1 AS age"),
        "CREATE TEMPORARY VIEW",
    ),
    "a stream": (lambda p: p.streamed("omnigraph"), "ogs.sink"),
    "a stream of a type": (lambda p: p.read_as_stream(), "omnigraph-changes"),
    "the feed": (lambda p: p.rows.write.format("omnigraph-changes").option("graph", p.uri).mode("append").save(), "is read, and"),
    "a stream into the feed": (lambda p: p.streamed("omnigraph-changes"), "no option `type`|is read, and"),
    "another schema": (
        lambda p: p.spark.read.format("omnigraph").schema("id string, age string").options(graph=p.uri, type="P").load().count(),
        "Leave the schema out",
    ),
}
"""Ways that are refused, and what is said."""

VIEW = "CREATE TEMPORARY VIEW"
OF_A_TABLE: dict[str, Way] = {
    "select": lambda p: p.spark.table("named").count(),
    "insert into": lambda p: p.spark.sql("INSERT INTO named VALUES ('x', 1)"),
    "insert overwrite": lambda p: p.spark.sql("INSERT OVERWRITE named VALUES ('x', 1)"),
    "insertInto": lambda p: p.rows.write.insertInto("named"),
    "writeTo": lambda p: p.rows.writeTo("named").append(),
}
"""Ways to use a table of the catalog that Spark made without asking."""


@pytest.fixture
def place(spark: SparkSession, tmp_path: Path) -> Place:
    g = og.init(tmp_path / "g", schema="node P { name: String @key  age: I32? }", durability="os")
    g.load({"P": [{"name": "Ada", "age": 1}]})
    return Place(spark, g, tmp_path)


def state(place: Place) -> tuple[int, int, set[str]]:
    """Commits, rows, and names in Spark's catalog."""
    found = og.open(place.uri)
    return len(found.commits()), found.stats().types[0].rows, {t.name for t in place.spark.catalog.listTables()}


def refused(place: Place, way: Way, said: str, name: str) -> None:
    before = state(place)
    with pytest.raises(PySparkException, match=said):
        way(place)
    assert state(place) == before, name


def test_every_way_to_write_works_or_is_refused(place: Place) -> None:
    for name, way in WORK.items():
        commits, _, tables = state(place)
        way(place)
        assert state(place)[::2] == (commits + 1, tables), name
    assert state(place)[1] == 2  # what overwrite left, and one more
    for name, (way, said) in REFUSED.items():
        refused(place, way, said, name)


def test_every_way_to_read_works(place: Place) -> None:
    for name, way in READ.items():
        assert way(place) == 1, name
    place.spark.catalog.dropTempView("v")


def test_a_table_that_spark_makes_without_asking_is_refused_when_it_is_used(place: Place) -> None:
    made: list[tuple[str, Way, int]] = [
        ("columns", lambda p: p.sql("CREATE TABLE named (name STRING, age INT) USING omnigraph $options"), 0),
        ("saveAsTable", lambda p: p.writer("append").saveAsTable("named"), 1),
    ]
    for name, way, commits in made:
        before = state(place)
        try:
            way(place)
            assert state(place) == (before[0] + commits, before[1] + commits, {"named"}), name  # rows are written as by save
            for one, use in OF_A_TABLE.items() if name == "columns" else [("select", OF_A_TABLE["select"])]:
                refused(place, use, VIEW, one)
            given = place.spark.read.options(graph=place.uri, type="P").table("named")
            assert given.count() == before[1] + commits, name  # options that come with each use are handed on
            told = place.spark.sql(f"SELECT name FROM named WITH (`graph` = '{place.uri}', `type` = 'P')")
            assert told.count() == before[1] + commits, name
        finally:
            place.spark.sql("DROP TABLE IF EXISTS named")
        assert state(place) == (before[0] + commits, before[1] + commits, set()), name
