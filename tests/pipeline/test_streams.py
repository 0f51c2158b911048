"""The change feed as frames and streams, and streams into a graph: every change and every batch exactly once."""

from __future__ import annotations

import json
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import omnigraph as og
from omnigraph import spark as ogs

pytestmark = pytest.mark.slow

SCHEMA = """
    node Person { name: String @key  age: I32? }
    edge Knows: Person -> Person { since: Date? }
"""
ROUNDS = 120
"""Seconds a stream may take here."""


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    made = og.init(tmp_path / "g", schema=SCHEMA, durability="os")
    made.mutate('query q() { insert Person { name: "Ada", age: 36 } insert Person { name: "Bob" } }', actor="me")
    made.mutate('query q() { insert Knows { from: "Ada", to: "Bob", since: date("2024-02-29") } }')
    made.optimize()
    made.mutate('query q() { update Person set { age: 37 } where name = "Ada" }')
    return made


def changes(frame: DataFrame) -> list[tuple[int, str, str, str, str | None, str | None]]:
    rows = frame.orderBy("number", "kind", "type", "id").collect()
    return [(r.number, r.op, r.type, r.id, r.before, r.after) for r in rows]


def expected(graph: og.Graph, since: str = "beginning") -> list[tuple[int, str, str, str, str | None, str | None]]:
    """What the feed itself says, page by page."""
    found: list[tuple[str, tuple[int, str, str, str, str | None, str | None]]] = []
    numbers = {c.id: c.number for c in graph.commits()}
    while True:
        page = graph.changes(since=since)
        for block in page:
            for change in block.changes:
                before, after = (
                    None if i is None else json.dumps(i.to_dict()["properties"], ensure_ascii=False)
                    for i in (change.before, change.after)
                )
                found.append((change.kind, (numbers[block.cause.commit], change.op, change.type, change.id, before, after)))
        since = page.next
        if page.caught_up:
            return [row for _, row in sorted(found, key=lambda f: (f[1][0], f[0], f[1][2], f[1][3]))]


def test_the_feed_as_a_frame_is_the_feed(spark: SparkSession, graph: og.Graph) -> None:
    found = ogs.changes(graph, spark=spark)
    assert changes(found.frame) == expected(graph)
    graph.mutate('query q() { delete Person where name = "Bob" }', actor="agent")
    later = ogs.changes(graph, since=found.cursor, spark=spark)
    assert [(r.op, r.kind, r.id, r.actor, r.src, r.dst) for r in later.frame.orderBy("kind").collect()] == [
        ("delete", "edge", graph.changes(since=found.cursor).changes[1].id, "agent", "Ada", "Bob"),
        ("delete", "node", "Bob", "agent", None, None),
    ]
    assert changes(found.frame) == expected(graph)[: len(changes(found.frame))]  # it ends where it ended
    people = ogs.changes(graph, types="Person", ops=["update"], spark=spark).frame
    assert [(r.id, r.changed, json.loads(r.after)["age"]) for r in people.collect()] == [("Ada", ["age"], 37)]
    with pytest.raises(og.CursorRejected):
        ogs.changes(graph, since=found.cursor, types="Person", spark=spark)
    with pytest.raises(PySparkException, match="no type `Persn`"):
        spark.read.format("omnigraph-changes").option("graph", graph._store.place.uri).option("types", "Persn").load().collect()


def test_the_feed_as_a_stream_goes_on_where_it_stopped(spark: SparkSession, graph: og.Graph, tmp_path: Path) -> None:
    seen: list[tuple[int, list[tuple[int, str, str]]]] = []

    def keep(frame: DataFrame, batch: int) -> None:
        seen.append((batch, [(r.number, r.op, r.id) for r in frame.orderBy("number", "kind", "id").collect()]))

    def run() -> None:
        reader = spark.readStream.format("omnigraph-changes").option("graph", graph._store.place.uri).option("maxCommits", "2")
        query = reader.load().writeStream.foreachBatch(keep).option("checkpointLocation", str(tmp_path / "check"))
        query.trigger(availableNow=True).start().awaitTermination(ROUNDS)

    run()
    graph.load([{"type": "Person", "data": {"name": f"p{n}"}} for n in range(3)])
    run()
    every = [(number, op, id_) for number, op, _, id_, _, _ in expected(graph)]
    assert [change for _, batch in seen for change in batch] == every
    assert len(seen) >= 3
    assert [number for number, _ in seen] == sorted({number for number, _ in seen})


def people(graph: og.Graph) -> list[str]:
    return [r["p.name"] for r in graph.query("query q() { match { $p: Person } return { $p.name } order { $p.name asc } }").rows]


def test_a_crash_after_the_commit_does_not_repeat_a_batch(spark: SparkSession, graph: og.Graph, tmp_path: Path) -> None:
    """The sink commits, then the batch fails before Spark notes it down; the restarted stream sends the same batch again."""
    inputs, check = tmp_path / "in", str(tmp_path / "check")
    inputs.mkdir()
    (inputs / "1.json").write_text('{"name": "c"}\n{"name": "d"}\n')
    sink = ogs.sink(graph, "Person", name="people", mode="append", actor="stream")

    def crashes(frame: DataFrame, batch: int) -> None:
        sink(frame, batch)
        raise RuntimeError("the power fails")

    def run(write: object) -> None:
        stream = spark.readStream.schema("name string").json(str(inputs))
        query = stream.writeStream.foreachBatch(write).option("checkpointLocation", check)  # type: ignore[arg-type]
        query.trigger(availableNow=True).start().awaitTermination(ROUNDS)

    with pytest.raises(PySparkException):
        run(crashes)
    assert people(graph) == ["Ada", "Bob", "c", "d"]
    (inputs / "2.json").write_text('{"name": "e"}\n')
    run(sink)  # in mode append a repeated batch would be refused
    assert people(graph) == ["Ada", "Bob", "c", "d", "e"]
    marked = [(int(c.idempotency_key.rpartition("/")[2]), c.actor, c.message) for c in graph.commits() if c.idempotency_key]
    assert marked == [
        (1, "stream", "stream people, batch 1"),
        (0, "stream", "stream people, batch 0"),
    ]


def test_several_types_are_one_commit_and_two_drivers_write_once(spark: SparkSession, graph: og.Graph) -> None:
    events = spark.createDataFrame([("x", "Ada"), ("y", "x")], "name string, friend string")

    def split(frame: DataFrame) -> dict[str, DataFrame]:
        return {"Person": frame.select("name"), "Knows": frame.selectExpr("name as src", "friend as dst")}

    sink = ogs.sink(graph, split, name="events")
    other = pickle.loads(pickle.dumps(ogs.sink(graph, "Person", name="events")))
    assert (sink.last(), other.last()) == (-1, -1)
    before = len(graph.commits())
    first = sink.write(events, 0)
    assert first is not None
    assert {c.table.partition(":")[0] for c in first.changes} == {"node", "edge"}
    assert sink.write(events, 0) is None
    assert other.write(events.select("name"), 0) is None
    with ThreadPoolExecutor(2) as pool:
        made = list(pool.map(lambda s: s.write(events.select("name"), 1), (other, pickle.loads(pickle.dumps(other)))))
    assert sorted(m is None for m in made) == [False, True]
    assert len(graph.commits()) == before + 2
    assert sink.last() == 1
    with pytest.raises(og.ValidationError):
        sink.write(spark.createDataFrame([("z", "nobody")], "name string, friend string"), 2)
    assert sink.last() == 1  # a batch that was refused was not done


def test_a_stream_has_a_name(graph: og.Graph) -> None:
    with pytest.raises(og.UsageError, match="cannot be called"):
        ogs.sink(graph, "Person", name="a/b")
