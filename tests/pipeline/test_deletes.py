"""Deletions and parts of entities by Spark: what a load by this process does with them, a load by Spark does too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from tests.engine.load.loading import exported, graph, said, written

from omnigraph.engine.load.read.parallel import chunks as chunks
from omnigraph.pipeline.checks import ChecksName
from omnigraph.pipeline.load import on

pytestmark = pytest.mark.slow

SCHEMA = """
node Person { name: String @key  age: I32?  role: String }
edge Knows: Person -> Person { weight: F64? }
edge Met: Person -> Person @key(src, dst) { n: I32? }
"""
PEOPLE: list[dict[str, Any]] = [
    *({"type": "Person", "data": {"name": f"p{n}", "role": "r", "age": n}} for n in range(40)),
    *({"edge": "Knows", "from": f"p{n}", "to": f"p{n + 1}", "data": {"id": f"k{n}"}} for n in range(39)),
    *({"edge": "Met", "from": f"p{n}", "to": f"p{n + 2}"} for n in range(38)),
]
STEPS: list[dict[str, Any]] = [
    *({"op": "delete", "type": "Person", "data": {"name": f"p{n}"}} for n in (3, 7, 99)),
    *({"op": "upsert", "type": "Person", "data": {"name": f"p{n}", "role": f"v{v}"}} for v in range(3) for n in (5, 7, 41)),
    {"op": "delete", "type": "Person", "data": {"name": "p41"}},
    {"op": "delete", "edge": "Knows", "from": "p20", "to": "p21"},
    {"op": "delete", "edge": "Met", "data": {"id": '["p30","p32"]'}},
]


@pytest.mark.parametrize("checks", ["driver", "tasks", "joins"])
def test_steps_come_to_the_same(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, checks: ChecksName) -> None:
    monkeypatch.setattr(chunks, "LEAST_CUT", 200)
    here, there = graph(tmp_path, SCHEMA), graph(tmp_path, SCHEMA)
    for g in (here, there):
        g.load(PEOPLE)
    path = written(tmp_path / "steps.jsonl", STEPS)
    one, other = here.load(path), there.load(path, engine=on(spark, checks))
    assert (one.deleted, one.cascaded, one.missing) == (other.deleted, other.cascaded, other.missing)
    assert one.deleted == {"Person": 1, "Knows": 1, "Met": 1}
    assert one.missing == {"Person": 1}
    assert exported(here) == exported(there)
    bad = written(tmp_path / "bad.jsonl", [*STEPS, {"op": "delete", "type": "Person", "data": {}}, {"op": "x", "edge": "Met"}])
    assert said(there, bad, on(spark, checks)) == said(here, bad, "local") != []


def test_frames_of_keys_and_of_operations(spark: SparkSession, tmp_path: Path) -> None:
    here, there = graph(tmp_path, SCHEMA), graph(tmp_path, SCHEMA)
    frames = [
        pa.table({"_op": ["delete", None, "upsert"], "name": ["p1", "p2", "new"], "role": [None, "x", "y"]}),
        pa.table({"name": ["p4", "nobody"]}),
    ]
    for g in (here, there):
        g.load(PEOPLE)
    assert here.load({"Person": frames[0]}).cascaded == there.load({"Person": spark.createDataFrame(frames[0])}).cascaded
    gone, also = here.delete({"Person": frames[1]}), there.delete({"Person": spark.createDataFrame(frames[1])})
    assert (gone.deleted, gone.cascaded, gone.missing) == (also.deleted, also.cascaded, also.missing)
    part = pa.table({"src": ["p8"], "dst": ["p10"], "n": pa.array([5], pa.int32())})
    here.load({"Met": part}, mode="patch")
    spark.createDataFrame(part).write.format("omnigraph").option("graph", there.uri).option("type", "Met").option(
        "mode", "patch"
    ).mode("append").save()
    assert exported(here) == exported(there)
