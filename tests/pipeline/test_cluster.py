"""On a real cluster: a driver that is killed costs nothing but time, an executor that is killed costs time, everything else works.

One story, told by two drivers. The first is killed in the middle of a load. The second runs the load again, loses an executor on
the way, runs slow tasks twice, and shares the branch with somebody who writes all the time; then it reads and writes tables,
follows the change feed, fills the graph from a stream that crashes once, and packs and measures what came of it.
"""

from __future__ import annotations

import json
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.pipeline.cluster import Cluster, cluster, driver, eventually, quick_java

import omnigraph as og
from omnigraph.storage.commits.lineage import OpClass

pytestmark = pytest.mark.slow

SCHEMA = """
node Person { name: String @key  age: I32  bio: String? @index  rank: I64? }
edge Knows: Person -> Person { weight: F64? }
"""
PEOPLE, EDGES = 10_000, 30_000

START = """
import json, os
from pathlib import Path
import omnigraph as og
from omnigraph import spark as ogs
from omnigraph.engine.load.read.parallel import chunks as chunks
chunks.LEAST_CUT = 200_000
spark = ogs.session(master={master!r}, quick=True, config={{
    "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1", "spark.executor.memory": "512m",
    "spark.executor.cores": "1", "spark.task.maxFailures": "6", "spark.sql.shuffle.partitions": "2",
    "spark.executor.extraJavaOptions": {java!r}, {config}
}})
g = og.open({graph!r}, durability="os")
def say(**facts):
    print(json.dumps(facts), flush=True)
result = ogs.load(g, {data!r}, mode="append", actor="etl", spark=spark)
say(loaded=result.rows, commit=result.commit.id)
"""

SPECULATION = (
    '"spark.speculation": "true", "spark.speculation.interval": "50ms", "spark.speculation.multiplier": "1.01", '
    '"spark.speculation.quantile": "0.1", "spark.speculation.minTaskRuntime": "10ms",'
)

AFTER = """
say(package=ogs.run_tasks(spark, [0, 1], lambda _: __import__("omnigraph").__file__)[0])

people = spark.read.format("omnigraph").option("graph", {graph!r}).option("type", "Person").option("partitions", 2).load()
loaded = people.where("name like 'p%'")
say(read=list(loaded.selectExpr("count(*)", "sum(age)").first()))

feed = ogs.changes(g, since="now", spark=spark)
rows = spark.range(2000).selectExpr("concat('w', id) as name", "cast(id % 50 as int) as age")
def write(frame, type_, **options):
    frame.write.format("omnigraph").option("graph", {graph!r}).option("type", type_).options(**options).mode("append").save()
write(rows, "Person", message="written")
write(rows.selectExpr("name", "age + 1 as age").limit(500), "Person", mode="merge")
write(spark.createDataFrame([("w1", "p1"), ("p2", "w2")], "src string, dst string"), "Knows")
try:
    write(spark.createDataFrame([("w1", "nobody")], "src string, dst string"), "Knows")
except Exception as error:
    say(refused="nobody" in str(error))
changes = ogs.changes(g, since=feed.cursor, spark=spark)
say(changes=sorted([r.type, r.op, r["count"]] for r in changes.frame.groupBy("type", "op").count().collect()))

inputs, check = Path({folder!r}) / "in", str(Path({folder!r}) / "check")
inputs.mkdir()
sink = ogs.sink(g, "Person", name="events", mode="append")
def crashes(frame, batch):
    sink(frame, batch)
    raise RuntimeError("the power fails")
def run(write):
    stream = spark.readStream.schema("name string, age int").json(str(inputs))
    stream.writeStream.foreachBatch(write).option("checkpointLocation", check).trigger(availableNow=True).start().awaitTermination()
(inputs / "1.json").write_text('{{"name": "s1", "age": 1}}\\n{{"name": "s2", "age": 2}}\\n')
try:
    run(crashes)
except Exception as error:
    say(crashed="the power fails" in str(error))
(inputs / "2.json").write_text('{{"name": "s3", "age": 3}}\\n')
run(sink)
say(batches=[c.idempotency_key for c in g.commits() if c.idempotency_key])

ogs.optimize(g, spark=spark)
done = ogs.analytics(g, spark=spark).degree(edges="Knows", direction="out", write_to="rank")
say(measured=done.commit.operation)
"""


@dataclass(frozen=True)
class Story:
    """What happened."""

    graph: og.Graph
    after_the_kill: tuple[list[Any], dict[str, int], tuple[Any, ...]]
    """Commits besides the first, entities, and what a deep look found wrong, after the first driver was killed."""
    written: int
    """People that somebody else wrote while the second driver loaded."""
    said: dict[str, Any]


def made_up(path: Path) -> Path:
    """Lines to load."""
    with path.open("w") as file:
        for n in range(PEOPLE):
            file.write(json.dumps({"type": "Person", "data": {"name": f"p{n}", "age": n % 90, "bio": "some text " * 5}}) + "\n")
        for n in range(EDGES):
            ends = {"from": f"p{n * 7 % PEOPLE}", "to": f"p{n * 11 % PEOPLE}"}
            file.write(json.dumps({"edge": "Knows", **ends, "data": {"weight": n / 3}}) + "\n")
    return path


def has_written(folder: Path) -> bool:
    """Whether a load has put the first rows into data files."""
    return any(True for _ in folder.glob("nodes/*/data/*.lance"))


def large_files(folder: Path) -> set[Path]:
    """Data files of people that a load has written: those of single people, folded or not, are much smaller."""
    return {file for file in folder.glob("nodes/*/data/*.lance") if file.stat().st_size > 10_000}


def stored(g: og.Graph) -> dict[str, int]:
    return {t.name: t.rows for t in g.stats().types}


def told(running: Cluster, folder: Path) -> Story:
    path = folder / "graph"
    g = og.init(path, schema=SCHEMA, durability="os")
    given = {"master": running.master, "graph": str(path), "data": str(made_up(folder / "all.jsonl")), "folder": str(folder)}
    given["java"] = quick_java()
    with driver(START.format(config="", **given), folder) as first:
        eventually(lambda: has_written(path) or first.is_over())
        first.kill()
    after = list(g.commits(maintenance=True)[:-1]), stored(g), g.verify(deep=True).problems
    eventually(lambda: not running.executors())
    there = large_files(path)
    written = 0
    with driver((START + AFTER).format(config=SPECULATION, **given), folder) as second:
        killed = False
        while "loaded" not in second.said() and not second.is_over():
            g.mutate("query q($n: String) { insert Person { name: $n, age: 1 } }", {"n": f"other{written}"})
            written += 1
            if not killed and large_files(path) - there:
                os.kill(running.executors()[0], signal.SIGKILL)
                killed = True
            time.sleep(0.3)
        assert killed, second.errors()
        second.wait()
    return Story(g, after, written, second.said())


def a_killed_driver_leaves_nothing(story: Story) -> None:
    assert story.after_the_kill == ([], {"Person": 0, "Knows": 0}, ())


def the_load_runs_again_though_an_executor_dies_and_others_write(story: Story) -> None:
    """One complete commit, and every commit of the others."""
    assert story.said["loaded"] == PEOPLE + EDGES
    assert ".zip" in story.said["package"], "the executors run the package that was shipped to them"
    assert story.said["read"] == [PEOPLE, sum(n % 90 for n in range(PEOPLE))]
    assert story.written > 3
    commits = [c for c in story.graph.commits() if c.op_class is OpClass.LOGICAL]
    assert len([c for c in commits if c.operation == "mutate"]) == story.written
    assert [c.id for c in commits if c.operation == "load" and c.actor == "etl"] == [story.said["commit"]]
    asked = story.graph.query("query q() { match { $p: Person } return { count($p) as n, max($p.age) as m } }").rows
    assert asked == [{"n": PEOPLE + story.written + 2000 + 3, "m": 89}]
    assert stored(story.graph)["Knows"] == EDGES + 2
    assert story.graph.verify(deep=True).problems == ()


def tables_are_written_and_the_feed_tells(story: Story) -> None:
    assert story.said["refused"]
    assert story.said["changes"] == [["Knows", "insert", 2], ["Person", "insert", 2000], ["Person", "update", 500]]
    assert [c.message for c in story.graph.commits() if c.message == "written"] == ["written"]


def a_stream_that_crashed_after_its_commit_goes_on_without_repeating_it(story: Story) -> None:
    assert story.said["crashed"]
    stream, name, id_, batch = story.said["batches"][0].split("/")
    assert (stream, name, batch) == ("stream", "events", "1")
    assert story.said["batches"][1:] == [f"stream/events/{id_}/0"]


def upkeep_and_measures(story: Story) -> None:
    operations = {c.operation for c in story.graph.commits(maintenance=True)}
    assert "optimize" in operations
    assert story.said["measured"] in operations
    ranks = story.graph.query("query q() { match { $p: Person } return { sum($p.rank) as s } }").rows
    assert ranks == [{"s": EDGES + 2}]


def test_one_story_by_two_drivers(tmp_path: Path, subtests: pytest.Subtests) -> None:
    """One test, because its parts share a cluster: tests may be handed to several processes."""
    with cluster(tmp_path / "cluster") as running:
        story = told(running, tmp_path)
    for check in (
        a_killed_driver_leaves_nothing,
        the_load_runs_again_though_an_executor_dies_and_others_write,
        tables_are_written_and_the_feed_tells,
        a_stream_that_crashed_after_its_commit_goes_on_without_repeating_it,
        upkeep_and_measures,
    ):
        with subtests.test(check.__name__):
            check(story)
