"""The format `omnigraph`: every type there and back, one commit per frame, filters that mean the same, writes as one commit."""

from __future__ import annotations

import io
import pickle
import time
from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it
from pyspark.sql.datasource import WriterCommitMessage

import omnigraph as og
from omnigraph import spark as ogs
from omnigraph.pipeline.source import OmniGraphSource, grouped
from omnigraph.pipeline.types import spark_schema
from omnigraph.storage.tables.rows import Fragment

pytestmark = pytest.mark.slow

SCHEMA = """
    node Thing {
        name: String @key
        b: Bool?  i: I32?  l: I64?  u: U32?  v: U64?  f: F32?  d: F64?  day: Date?  at: DateTime?
        color: enum(red, blue)?  vec: Vector(3)?  blob: Blob?
        tags: [String]?  bits: [Bool]?  us: [U32]?  vs: [U64]?  fs: [F32]?  days: [Date]?  ats: [DateTime]?
    }
    edge Near: Thing -> Thing { w: F64? }
"""
LOW: dict[str, Any] = {
    "name": "low", "b": False, "i": -(2**31), "l": -(2**63), "u": 0, "v": 0, "f": -1.5, "d": -1e300, "day": "0001-01-01",
    "at": "0001-01-01T00:00:00.000Z", "color": "blue", "vec": [0, -1, 0.5], "blob": "base64:", "tags": [], "bits": [True, False],
    "us": [0, 2**32 - 1], "vs": [2**64 - 1, 0], "fs": [0.25], "days": ["1969-12-31"], "ats": ["1969-12-31T23:59:59.999Z"],
}  # fmt: skip
HIGH: dict[str, Any] = {
    "name": "high é\n", "b": True, "i": 2**31 - 1, "l": 2**63 - 1, "u": 2**32 - 1, "v": 2**64 - 1, "f": 0.1, "d": 5e-324,
    "day": "9999-12-31", "at": "9999-12-31T23:59:59.999Z", "color": "red", "vec": [1, 2, 3], "blob": "base64:AAEC/w==",
    "tags": ["", "x"], "bits": [], "us": [], "vs": [], "fs": [], "days": [], "ats": [],
}  # fmt: skip


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[og.Graph]:
    with og.init(tmp_path_factory.mktemp("source") / "g", schema=SCHEMA, durability="os") as made:
        middle = [{"name": f"n{n}", "i": n, "l": n, "d": n / 4, "f": n / 2, "u": n, "v": n, "b": n % 2 == 0} for n in range(4)]
        dated = [{"name": f"d{n}", "day": f"2024-01-0{n}", "at": f"2024-01-0{n}T00:00:00.00{n}Z", "i": -n} for n in range(1, 4)]
        made.load([{"type": "Thing", "data": row} for row in (LOW, HIGH, {"name": "empty"})])
        made.load([{"type": "Thing", "data": row} for row in middle])
        made.load(
            [{"type": "Thing", "data": row} for row in dated]
            + [{"edge": "Near", "from": "low", "to": f"d{n}", "data": {"w": n / 2}} for n in range(1, 4)]
        )
        yield made


def read(spark: SparkSession, graph: og.Graph, type_: str, **options: object) -> DataFrame:
    reader = spark.read.format("omnigraph").option("graph", graph._store.place.uri).option("type", type_)
    for name, value in options.items():
        reader = reader.option(name, str(value))
    return reader.load()


def write(frame: DataFrame, graph: og.Graph, type_: str, save_mode: str = "append", **options: str) -> None:
    writer = frame.write.format("omnigraph").option("graph", graph._store.place.uri).option("type", type_).mode(save_mode)
    for name, value in options.items():
        writer = writer.option(name, value)
    writer.save()


def exported(graph: og.Graph) -> bytes:
    sink = io.BytesIO()
    graph.export(sink)
    return sink.getvalue()


def names(frame: DataFrame) -> list[str]:
    return sorted(row.name for row in frame.select("name").collect())


# ── there and back ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_every_type_comes_back_as_it_was(spark: SparkSession, graph: og.Graph, tmp_path: Path) -> None:
    with og.init(tmp_path / "copy", schema=SCHEMA, durability="os") as copy:
        write(read(spark, graph, "Thing"), copy, "Thing")
        write(read(spark, graph, "Near"), copy, "Near", actor="me", message="edges")
        assert exported(copy) == exported(graph)
        edges, things, _ = copy.commits()
        assert (edges.actor, edges.message, len(edges.changes), len(things.changes)) == ("me", "edges", 1, 1)


def test_columns_have_the_types_of_their_properties(spark: SparkSession, graph: og.Graph) -> None:
    frame = read(spark, graph, "Thing")
    types = {field.name: field.dataType.simpleString() for field in frame.schema}
    assert types == types | {
        "u": "bigint", "v": "decimal(20,0)", "at": "timestamp", "day": "date", "vec": "array<float>", "blob": "binary",
        "color": "string", "vs": "array<decimal(20,0)>", "us": "array<bigint>", "f": "float",
    }  # fmt: skip
    row = frame.where("name = 'low'").select("v", "vs", "blob", "vec").first()
    assert row is not None
    assert (row.v, row.vs, row.blob, row.vec) == (Decimal(0), [Decimal(2**64 - 1), Decimal(0)], b"", [0.0, -1.0, 0.5])
    assert not frame.schema["name"].nullable
    assert frame.schema["i"].nullable


def test_a_frame_stays_at_the_commit_it_was_made_at(spark: SparkSession, tmp_path: Path) -> None:
    with og.init(tmp_path / "g", schema=SCHEMA, durability="os") as graph:
        graph.load([{"type": "Thing", "data": {"name": "a"}}])
        graph.tags.create("v1", graph.commits()[0].id)
        graph.branches.create("side")
        frame = read(spark, graph, "Thing")
        graph.load([{"type": "Thing", "data": {"name": "b"}}])
        graph.load([{"type": "Thing", "data": {"name": "c"}}], branch="side")
        assert names(frame) == ["a"]
        assert names(read(spark, graph, "Thing")) == ["a", "b"]
        assert names(read(spark, graph, "Thing", branch="side")) == ["a", "c"]
        assert names(read(spark, graph, "Thing", at="v1")) == ["a"]
        assert names(read(spark, graph, "Thing", at=graph.commits()[0].id)) == ["a", "b"]


def test_some_columns_in_several_tasks(spark: SparkSession, graph: og.Graph) -> None:
    frame = read(spark, graph, "Near", columns="dst, src", partitions=2)
    assert frame.columns == ["dst", "src"]
    assert sorted(tuple(r) for r in frame.collect()) == [(f"d{n}", "low") for n in range(1, 4)]
    things = read(spark, graph, "Thing", columns="name", partitions=3)
    assert things.select(F.spark_partition_id()).distinct().count() == 3
    assert things.count() == 10


@pytest.mark.parametrize(("sizes", "least", "groups"), [([], None, []), ([5], 4, [(0,)]), ([1, 1, 1, 1], 2, [(0, 1), (2, 3)]),
                                                        ([0, 9, 1, 1, 1], 2, [(1,), (2, 3, 4)]), ([3] * 6, None, [tuple(range(6))])])  # fmt: skip
def test_fragments_are_grouped_by_their_rows(sizes: list[int], least: int | None, groups: list[tuple[int, ...]]) -> None:
    fragments = [Fragment(number, (), None, rows, rows) for number, rows in enumerate(sizes)]
    assert grouped(fragments, least) == groups


# ── what is refused ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"type_": "Thin"}, "did you mean `Thing`"),
        ({"type_": "Thing", "columns": "nam"}, "did you mean `name`"),
        ({"type_": "Thing", "colums": "name"}, "no option `colums`"),
        ({"type_": "Thing", "at": "nope"}, "nope"),
        ({"type_": "Thing", "partitions": "many"}, "`partitions` cannot be `many`"),
    ],
)
def test_what_cannot_be_read_is_said_at_once(spark: SparkSession, graph: og.Graph, options: dict[str, str], said: str) -> None:
    with pytest.raises((AnalysisException, PySparkException), match=said):
        read(spark, graph, **options).collect()


def test_columns_that_do_not_fit_are_refused_before_any_task(spark: SparkSession, graph: og.Graph) -> None:
    before = graph.commits()
    frame = spark.range(1).selectExpr("'x' as name", "true as f", "'1' as i", "1 as nam", "array('1') as vec", "1 as id")
    with pytest.raises(PySparkException) as error:
        write(frame.withColumn("boom", F.raise_error(F.lit("a task ran"))), graph, "Thing")
    text = str(error.value)
    for said in ("f is F32? and cannot hold boolean: cast it to float", "i is I32? and cannot hold string", "no property `nam`", "ids are strings",
                 "vec is Vector(3)? and cannot hold array<string>", "no property `boom`", "6 columns do not fit"):  # fmt: skip
        assert said in text
    assert "a task ran" not in text
    with pytest.raises(PySparkException, match="column `name` is missing"):
        write(spark.range(1).selectExpr("1 as i"), graph, "Thing")
    with pytest.raises(PySparkException, match="names an end of Near"):
        write(spark.range(1).selectExpr("'low' as src"), graph, "Near")
    assert graph.commits() == before


def test_values_that_would_lose_something_are_violations(spark: SparkSession, graph: og.Graph) -> None:
    before = graph.commits()
    frame = spark.range(1).selectExpr(
        "'x' as name", "double('NaN') as d", "timestamp'2024-01-01T00:00:00.000001Z' as at", "bigint(-1) as u",
        "cast('18446744073709551616' as decimal(20,0)) as v",
    )  # fmt: skip
    with pytest.raises(PySparkException) as error:
        write(frame, graph, "Thing")
    text = str(error.value)
    for said in (
        "`d` is nan, which is not a finite number of F64",
        "is finer than milliseconds",
        "out of the range of U32",
        "out of the range of U64",
    ):
        assert said in text
    assert graph.commits() == before


# ── modes ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_modes(spark: SparkSession, tmp_path: Path) -> None:
    def rows(graph: og.Graph) -> list[tuple[str, int]]:
        found = graph.query("query q() { match { $t: Thing } return { $t.name, $t.i } order { $t.name asc } }").rows
        return [(r["t.name"], r["t.i"]) for r in found]

    with og.init(tmp_path / "g", schema=SCHEMA, durability="os") as graph:
        frame = spark.range(3).selectExpr("concat('n', id) as name", "int(id) as i").drop("id")
        write(frame, graph, "Thing")
        with pytest.raises(PySparkException, match="KeyConflict"):
            write(frame, graph, "Thing")
        later = spark.range(2, 4).selectExpr("concat('n', id) as name", "int(id) * 10 as i").drop("id")
        write(later, graph, "Thing", mode="merge")
        assert rows(graph) == [("n0", 0), ("n1", 1), ("n2", 20), ("n3", 30)]
        write(later, graph, "Thing", "overwrite")
        assert rows(graph) == [("n2", 20), ("n3", 30)]
        with pytest.raises(PySparkException, match="target `n9` not found in Thing"):
            write(spark.range(1).selectExpr("'n2' as src", "'n9' as dst"), graph, "Near")
        assert [c.operation for c in graph.commits()] == ["load", "load", "load", "init"]
        assert graph.verify(deep=True).ok


# ── the protocol, without Spark ──────────────────────────────────────────────────────────────────────────────────────────────


def test_a_write_and_somebody_elses_write_both_count(tmp_path: Path) -> None:
    with og.init(tmp_path / "g", schema=SCHEMA, durability="os") as graph:
        source = OmniGraphSource({"graph": str(tmp_path / "g"), "type": "Thing"})
        type_ = graph._view().catalog.nodes["Thing"]
        writer = source.writer(spark_schema(type_, ["name", "i"]), overwrite=False)
        parts: list[WriterCommitMessage | None] = [
            writer.write(iter([pa.record_batch({"name": [f"t{n}"], "i": pa.array([n], pa.int32())})])) for n in range(3)
        ]
        again = writer.write(iter([pa.record_batch({"name": ["t0"], "i": pa.array([0], pa.int32())})]))
        assert again is not parts[0]  # a second attempt of a task: its files are never referred to
        graph.mutate('query q() { insert Thing { name: "other" } }')
        writer.commit(parts)
        assert graph.stats().types[0].rows == 4
        writer.abort(parts)  # Spark does so when it lost the answer of a commit
        assert graph.verify(deep=True).ok
        assert graph.stats().types[0].rows == 4
        graph.mutate('query q() { insert Thing { name: "t9" } }')
        late = source.writer(spark_schema(type_, ["name"]), overwrite=False)
        part = late.write(iter([pa.record_batch({"name": ["t10"]})]))
        graph.mutate('query q() { insert Thing { name: "t10" } }')
        with pytest.raises(og.KeyConflict):
            late.commit([part])


def test_reclaim_waits_for_a_write_that_takes_hours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lease is there from the plan to the end, good or bad, and whoever holds the writer has it."""
    leases = tmp_path / "g" / "__inflight"
    started, hours = time.time(), timedelta(hours=5).total_seconds()
    with og.init(tmp_path / "g", schema=SCHEMA, durability="os") as graph:
        source = OmniGraphSource({"graph": str(tmp_path / "g"), "type": "Thing"})
        schema = spark_schema(graph._view().catalog.nodes["Thing"], ["name"])
        writers = [source.writer(schema, overwrite=False) for _ in range(3)]
        parts = [writer.write(iter([pa.record_batch({"name": ["same"]})])) for writer in writers]
        assert len(list(leases.iterdir())) == 3
        monkeypatch.setattr(time, "time", lambda: started + hours)
        travelled = pickle.loads(pickle.dumps(writers[0]))
        travelled.commit([parts[0]])
        assert graph.stats().types[0].rows == 1
        with pytest.raises(og.KeyConflict):
            writers[1].commit([parts[1]])
        writers[2].abort([parts[2]])
        assert not list(leases.iterdir())
        monkeypatch.setattr(time, "time", lambda: started + 5 * hours)
        late = source.writer(schema, overwrite=False)
        part = late.write(iter([pa.record_batch({"name": ["late"]})]))
        monkeypatch.setattr(time, "time", lambda: started + 10 * hours)
        late.commit([part])  # its lease is over, but nobody cleaned up meanwhile: its files are there
        assert graph.stats().types[0].rows == 2


def test_a_second_session_of_the_same_process_is_told_too(spark: SparkSession, graph: og.Graph) -> None:
    """Sessions share a process, not what they know; the one that was active before stays it."""
    active = SparkSession.active()._jsparkSession
    second = spark.newSession()
    for _ in range(2):
        ogs.register(second)
    assert SparkSession.active()._jsparkSession.equals(active)
    assert read(second, graph, "Thing").count() == read(spark, graph, "Thing").count() == 10
    assert ogs.changes(graph, spark=second).frame.where("op = 'insert'").count() == 13


@pytest.mark.parametrize(
    ("option", "said"),
    [({"actor": " "}, "the name of an actor"), ({"actor": "a\x1b"}, "control"), ({"message": "\x00"}, "control")],
)
def test_who_writes_and_why_are_checked_as_everywhere(graph: og.Graph, option: dict[str, str], said: str) -> None:
    source = OmniGraphSource({"graph": graph.uri, "type": "Near", **option})
    columns = spark_schema(graph._view().catalog.edges["Near"], ["src", "dst", "w"])
    with pytest.raises(og.UsageError, match=said):
        source.writer(columns, overwrite=False)
