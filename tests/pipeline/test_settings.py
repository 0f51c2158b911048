"""Sessions: nothing of ours changes a user's settings, and under spark-submit those that were submitted hold."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyspark
import pytest
from pyspark.sql import SparkSession
from tests.pipeline.cluster import quick_java

import omnigraph as og
from omnigraph import spark as ogs
from omnigraph.embedding import MockEmbedder
from omnigraph.pipeline.java import find_java
from omnigraph.pipeline.session import _OF_WORKERS, _SETTINGS

pytestmark = pytest.mark.slow

SCHEMA = """
    node Person { name: String @key  age: I32?  seen: DateTime?  bio: String?  vec: Vector(4)? @embed("bio") }
    edge Knows: Person -> Person
"""
MOMENT = datetime(2024, 3, 31, 1, 30, tzinfo=UTC)
"""In the hour that Berlin skipped."""

FOREIGN = {
    "spark.sql.session.timeZone": "Europe/Berlin",
    "spark.sql.caseSensitive": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "7",
    "spark.sql.execution.arrow.maxBytesPerBatch": "1m",
    "spark.sql.execution.arrow.pyspark.enabled": "false",
    "spark.sql.ansi.enabled": "false",
    "spark.sql.python.filterPushdown.enabled": "false",
}
"""Settings of somebody else, all of them other than ours."""


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    g = og.init(tmp_path / "g", schema=SCHEMA, durability="os")
    g.load(
        [
            {"type": "Person", "data": {"name": n, "age": a, "seen": "2024-03-31T01:30:00Z", "bio": n}}
            for n, a in [("Ada", 1), ("Bob", 2)]
        ]
    )
    g.load([{"edge": "Knows", "from": "Ada", "to": "Bob"}])
    return g


@contextmanager
def foreign(spark: SparkSession) -> Iterator[SparkSession]:
    """A session of the same process, with other settings, that knows nothing of us."""
    other = spark.newSession()
    for name, value in FOREIGN.items():
        other.conf.set(name, value)
    yield other


def settings(spark: SparkSession) -> dict[str, str]:
    """Every setting that somebody has set."""
    return dict(spark.conf.getAll)


def people(spark: SparkSession, *rows: tuple[str, int]) -> object:
    return spark.createDataFrame(list(rows), "name string, age int")


def _stream(g: og.Graph, spark: SparkSession, folder: Path) -> None:
    reader = spark.readStream.format("omnigraph-changes").option("graph", g._store.place.uri).load()
    write = reader.where("kind = 'node'").selectExpr("concat('s', id, number) as name").writeStream
    sink = ogs.sink(g, "Person", name="copies", branch="copies")
    query = write.foreachBatch(sink).option("checkpointLocation", str(folder / "check")).trigger(availableNow=True).start()
    query.awaitTermination(120)


def _written(g: og.Graph, spark: SparkSession) -> None:
    frame = spark.createDataFrame([("Cyd", MOMENT)], "name string, seen timestamp")
    frame.write.format("omnigraph").option("graph", g._store.place.uri).option("type", "Person").mode("append").save()


DOORS: dict[str, Callable[[og.Graph, SparkSession, Path], object]] = {
    "register": lambda g, s, f: ogs.register(s),
    "table": lambda g, s, f: ogs.table(g, "Person", spark=s).collect(),
    "changes": lambda g, s, f: ogs.changes(g, spark=s).frame.collect(),
    "load of a frame": lambda g, s, f: ogs.load(g, {"Person": people(s, ("Eve", 1), ("Eva", 2))}, spark=s),
    "load of files": lambda g, s, f: ogs.load(g, f / "more.jsonl", spark=s),
    "load by joins": lambda g, s, f: ogs.load(g, f / "more.jsonl", spark=s, checks="joins"),
    "g.load of a frame": lambda g, s, f: g.load({"Person": people(s, ("Fay", 1))}),
    "write": lambda g, s, f: _written(g, s),
    "report": lambda g, s, f: ogs.report(og.ValidationError("x"), s).collect(),
    "analytics": lambda g, s, f: ogs.analytics(g, spark=s).degree().frame.collect(),
    "optimize": lambda g, s, f: ogs.optimize(g, spark=s),
    "embed": lambda g, s, f: ogs.embed(g, embedder=MockEmbedder(), spark=s),
    "export": lambda g, s, f: ogs.export(g, str(f / "out"), spark=s),
    "statistics": lambda g, s, f: ogs.statistics(g, spark=s),
    "run_tasks": lambda g, s, f: ogs.run_tasks(s, [1], str),
    "sink": lambda g, s, f: _stream(g, s, f),
}


def test_no_door_changes_a_setting_and_every_door_is_right_under_any(
    spark: SparkSession, graph: og.Graph, tmp_path: Path
) -> None:
    (tmp_path / "more.jsonl").write_text('{"type": "Person", "data": {"name": "Gil"}}\n')
    graph.branches.create("copies")
    with foreign(spark) as other:
        before = settings(other)
        assert FOREIGN.items() <= before.items()
        for name, door in DOORS.items():
            ours = settings(spark)
            door(graph, other, tmp_path)
            assert settings(other) == before, name
            assert settings(spark) == ours, name

        moments = {
            r["p.name"]: r["p.seen"] for r in graph.query("query q() { match { $p: Person } return { $p.name, $p.seen } }")
        }
    assert {name: moments[name] for name in ("Ada", "Cyd")} == {"Ada": MOMENT, "Cyd": MOMENT}
    assert set(moments) == {"Ada", "Bob", "Cyd", "Eve", "Eva", "Fay", "Gil"}
    assert "sAda" in {
        r["p.name"][:4] for r in graph.query("query q() { match { $p: Person } return { $p.name } }", branch="copies")
    }


def test_the_session_of_the_process_is_given_to_every_thread_and_knows_the_formats(spark: SparkSession, graph: og.Graph) -> None:
    found: list[SparkSession] = []
    thread = threading.Thread(target=lambda: found.append(ogs.session()))
    thread.start()
    thread.join()
    assert found[0].sparkContext is spark.sparkContext
    with foreign(spark) as other:  # as somebody's own session, before anything was registered
        assert ogs.table(graph, "Person", columns=["name"], spark=other).count() == 2
        assert other.read.format("omnigraph").option("graph", graph._store.place.uri).option("type", "Knows").load().count() == 1
    with pytest.raises(og.SparkUnavailable, match=r"is running in this process .*local.*there can be only one"):
        ogs.session(master="spark://nowhere:7077")
    with pytest.raises(og.SparkUnavailable, match=r"spark\.executor\.memory=4g is not possible"):
        ogs.session(config={"spark.executor.memory": "4g"})


def test_every_setting_of_ours_is_explained() -> None:
    """A setting of a session that is started here is a deviation: none is about answers but those that the guide names."""
    guide = (Path(__file__).parent.parent.parent / "docs" / "guide" / "pipeline.md").read_text()
    for name in (*_SETTINGS, *_OF_WORKERS):
        assert f"`{name}`" in guide or f"`{name.rpartition('.')[0]}.*`" in guide, name


# ── spark-submit ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

SUBMITTED = """
import json, sys
import omnigraph as og
from omnigraph import spark as ogs
g = og.open(sys.argv[1])
if sys.argv[2] == "load":
    g.load(sys.argv[3], engine="spark")
spark = ogs.session()
names = ["spark.master", "spark.app.name", "spark.ui.enabled", "spark.executor.memory", "spark.executorEnv.LANCE_CPU_THREADS"]
names += ["spark.sql.caseSensitive", "spark.sql.session.timeZone", "spark.sql.shuffle.partitions", "spark.driver.memory"]
told = {name: spark.conf.get(name, None) for name in names}
told["master"] = spark.sparkContext.master
told["rows"] = spark.read.format("omnigraph").option("graph", sys.argv[1]).option("type", "Person").load().count()
print(json.dumps(told))
"""


def submit(folder: Path, graph: og.Graph, what: str, *options: str) -> dict[str, Any]:
    home = Path(pyspark.__file__).parent
    (folder / "job.py").write_text(SUBMITTED)
    root = Path(__file__).parent.parent.parent
    environment = {
        **os.environ,
        "JAVA_HOME": find_java().home,
        "SPARK_HOME": str(home),
        "PYTHONPATH": str(root / "src"),
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "TMPDIR": str(folder),
        "SPARK_LAUNCHER_OPTS": "-XX:TieredStopAtLevel=1",
    }
    java = ["--driver-java-options", quick_java()]
    command = [str(home / "bin" / "spark-submit"), *java, *options, str(folder / "job.py"), graph._store.place.uri, what]
    ran = subprocess.run(
        [*command, str(folder / "more.jsonl")],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    found: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return found


def test_what_was_submitted_holds(graph: og.Graph, tmp_path: Path) -> None:
    (tmp_path / "more.jsonl").write_text('{"type": "Person", "data": {"name": "Gil"}}\n')
    conf = [
        "--conf",
        "spark.sql.shuffle.partitions=3",
        "--conf",
        "spark.sql.session.timeZone=Asia/Tokyo",
        "--driver-memory",
        "700m",
    ]
    told = submit(tmp_path, graph, "load", "--master", "local[1]", "--name", "nightly", *conf)
    assert (told["master"], told["spark.app.name"], told["spark.driver.memory"]) == ("local[1]", "nightly", "700m")
    assert (told["spark.sql.shuffle.partitions"], told["spark.sql.session.timeZone"]) == ("3", "Asia/Tokyo")
    assert (told["spark.sql.caseSensitive"], told["spark.ui.enabled"]) == (None, None)  # nobody set them
    assert told["spark.executorEnv.LANCE_CPU_THREADS"] == "1"
    assert told["rows"] == 3
