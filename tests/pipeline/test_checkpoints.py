"""Streams into a graph, by their checkpoints: one that goes on is written once, a new one is never taken for an old one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from tests.pipeline.cluster import driver, eventually

import omnigraph as og
from omnigraph import spark as ogs

pytestmark = pytest.mark.slow

ROUNDS = 120
"""Seconds a stream may take here."""


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    (tmp_path / "in").mkdir()
    return og.init(tmp_path / "g", schema="node Person { name: String @key  age: I32? }", durability="os")


def put(folder: Path, number: int, *names: str) -> None:
    """A file that appears whole."""
    made = folder / f"{number}.json"
    made.write_text("".join(json.dumps({"name": name}) + "\n" for name in names))
    made.rename(folder / "in" / made.name)


def run(spark: SparkSession, folder: Path, sink: ogs.Sink, checkpoint: str = "check") -> str:
    """Everything there is to do now; the id of the query."""
    stream = spark.readStream.schema("name string").option("maxFilesPerTrigger", "1").json(str(folder / "in"))
    writer = stream.writeStream.foreachBatch(sink).option("checkpointLocation", str(folder / checkpoint))
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination(ROUNDS)
    return str(query.id)


def people(graph: og.Graph) -> list[str]:
    return [r["p.name"] for r in graph.query("query q() { match { $p: Person } return { $p.name } order { $p.name asc } }").rows]


def marks(graph: og.Graph) -> list[str]:
    return [c.idempotency_key for c in reversed(graph.commits()) if c.idempotency_key is not None]


def test_a_new_checkpoint_of_the_same_name_begins_anew(spark: SparkSession, graph: og.Graph, tmp_path: Path) -> None:
    put(tmp_path, 1, "a")
    put(tmp_path, 2, "b")
    first = run(spark, tmp_path, ogs.sink(graph, "Person", name="people"))
    assert (people(graph), marks(graph)) == (["a", "b"], [f"stream/people/{first}/0", f"stream/people/{first}/1"])
    put(tmp_path, 3, "c")
    assert run(spark, tmp_path, ogs.sink(graph, "Person", name="people")) == first
    assert marks(graph)[2:] == [f"stream/people/{first}/2"]
    for made in (tmp_path / "in").iterdir():
        made.unlink()
    put(tmp_path, 4, "d")
    second = run(spark, tmp_path, ogs.sink(graph, "Person", name="people"), "another")
    assert second != first
    assert (people(graph), marks(graph)[3:]) == (["a", "b", "c", "d"], [f"stream/people/{second}/0"])
    sink = ogs.sink(graph, "Person", name="people")
    assert (sink.last(first), sink.last(second), sink.last()) == (2, 0, -1)


KILLED = """
import json, os, signal, sys
import omnigraph as og
from omnigraph import spark as ogs
g = og.open({graph!r})
spark = ogs.session(master="local[1]", quick=True, config={{"spark.sql.shuffle.partitions": "1"}})
sink = ogs.sink(g, "Person", name="people", mode="append")
def write(frame, batch):
    sink(frame, batch)
    if batch == 1:
        os.kill(os.getpid(), signal.SIGKILL)  # committed, and the checkpoint does not know
stream = spark.readStream.schema("name string").option("maxFilesPerTrigger", "1").json({folder!r})
query = stream.writeStream.foreachBatch(write).option("checkpointLocation", {check!r}).trigger(availableNow=True).start()
query.awaitTermination()
"""


def test_a_driver_that_was_killed_is_gone_on_from_exactly_once(spark: SparkSession, graph: og.Graph, tmp_path: Path) -> None:
    for number, name in enumerate("abc"):
        put(tmp_path, number, name)
    code = KILLED.format(graph=graph._store.place.uri, folder=str(tmp_path / "in"), check=str(tmp_path / "check"))
    with driver(code, tmp_path) as child:
        eventually(child.is_over, 400)
        errors = child.errors()
    reopened = og.open(graph._store.place.uri)
    assert len(people(reopened)) == 2, errors  # of files that are equally old either comes first
    id_ = run(spark, tmp_path, ogs.sink(reopened, "Person", name="people", mode="append"))  # which refuses what is there
    assert people(reopened) == ["a", "b", "c"]
    assert marks(reopened) == [f"stream/people/{id_}/{batch}" for batch in range(3)]


def test_a_batch_of_no_stream_is_known_by_its_name_or_by_a_checkpoint_of_its_own(spark: SparkSession, graph: og.Graph) -> None:
    def frame(*names: str) -> DataFrame:
        return spark.createDataFrame([(name,) for name in names], "name string")

    plain, other = (ogs.sink(graph, "Person", name="people", checkpoint_id=given) for given in (None, "monday"))
    assert plain.write(frame("a"), 0) is not None
    assert plain.write(frame("b"), 0) is None
    assert other.write(frame("c"), 0) is not None
    assert other.write(frame("d"), 0) is None
    assert people(graph) == ["a", "c"]
    assert marks(graph) == ["stream/people/-/0", "stream/people/monday/0"]
    with pytest.raises(og.UsageError, match="cannot be called `a/b`"):
        ogs.sink(graph, "Person", name="people", checkpoint_id="a/b")
