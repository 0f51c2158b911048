"""On a real cluster: an executor that is killed costs time, a driver that is killed costs nothing but time."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.pipeline.cluster import Cluster, cluster, driver, eventually

import omnigraph as og
from omnigraph.storage.lineage import OpClass

pytestmark = pytest.mark.slow

SCHEMA = """
node Person { name: String @key  age: I32  bio: String? }
edge Knows: Person -> Person { weight: F64? }
"""
PEOPLE, EDGES = 10_000, 30_000

DRIVER = """
import omnigraph as og
from omnigraph import spark as ogs
from omnigraph.engine.load import portions
from omnigraph.pipeline.load import on
portions.LEAST_CUT = {cut}
spark = ogs.session(master={master!r}, quick=True, config={{
    "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1", "spark.executor.memory": "512m",
    "spark.executor.cores": "1", "spark.task.maxFailures": "6", {config}
}})
g = og.open({graph!r}, durability="os")
result = g.load({data!r}, mode="append", engine=on(spark), actor="etl")
print(result.rows, result.commit.id)
print(ogs.run_tasks(spark, [0, 1], lambda _: __import__("omnigraph").__file__)[0])
"""


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("cluster")) as made:
        yield made


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("data") / "all.jsonl"
    with path.open("w") as file:
        for n in range(PEOPLE):
            file.write(json.dumps({"type": "Person", "data": {"name": f"p{n}", "age": n % 90, "bio": "some text " * 5}}) + "\n")
        for n in range(EDGES):
            file.write(
                json.dumps(
                    {"edge": "Knows", "from": f"p{n * 7 % PEOPLE}", "to": f"p{n * 11 % PEOPLE}", "data": {"weight": n / 3}}
                )
                + "\n"
            )
    return str(path)


def empty_graph(folder: Path) -> og.Graph:
    return og.init(folder / "graph", schema=SCHEMA, durability="os")


def has_written(folder: Path) -> bool:
    """Whether a load has put the first rows into data files."""
    return any(True for _ in (folder / "graph").glob("nodes/*/data/*.lance"))


def logical(g: og.Graph) -> list[str]:
    return [c.operation for c in g.commits() if c.op_class is OpClass.LOGICAL]


def stored(g: og.Graph) -> dict[str, int]:
    return {t.name: t.rows for t in g.stats().types}


def test_a_killed_executor_and_second_attempts_leave_one_complete_commit(running: Cluster, data: str, tmp_path: Path) -> None:
    g = empty_graph(tmp_path)
    speculation = (
        '"spark.speculation": "true", "spark.speculation.interval": "50ms", "spark.speculation.multiplier": "1.01", '
        '"spark.speculation.quantile": "0.1", "spark.speculation.minTaskRuntime": "10ms",'
    )
    code = DRIVER.format(cut=200_000, master=running.master, config=speculation, graph=str(tmp_path / "graph"), data=data)
    with driver(code, tmp_path) as loading:
        eventually(lambda: has_written(tmp_path) or loading.poll() is not None)
        os.kill(running.executors()[0], signal.SIGKILL)
        said, errors = loading.communicate(timeout=600)
    assert loading.returncode == 0, errors[-3000:]
    rows, commit, package = said.split()
    assert int(rows) == PEOPLE + EDGES
    assert ".zip" in package, "the executors run the package that was shipped to them"
    assert stored(g) == {"Person": PEOPLE, "Knows": EDGES}
    assert commit in [c.id for c in g.commits()]
    assert logical(g) == ["load", "init"]
    assert g.verify(deep=True).problems == ()
    assert g.query("query q() { match { $p: Person } return { count($p) as n, max($p.age) as m } }").rows == [
        {"n": PEOPLE, "m": 89}
    ]


def test_a_killed_driver_leaves_nothing_and_the_load_runs_again(running: Cluster, data: str, tmp_path: Path) -> None:
    g = empty_graph(tmp_path)
    before = g.commits()
    code = DRIVER.format(cut=200_000, master=running.master, config="", graph=str(tmp_path / "graph"), data=data)
    with driver(code, tmp_path) as loading:
        eventually(lambda: has_written(tmp_path) or loading.poll() is not None)
        loading.kill()
        loading.wait()
    assert g.commits() == before
    assert stored(g) == {"Person": 0, "Knows": 0}
    assert g.verify(deep=True).problems == ()
    eventually(lambda: not running.executors())
    written = 0
    with driver(code, tmp_path) as again:
        while again.poll() is None:  # meanwhile somebody else writes to the same branch
            g.mutate("query q($n: String) { insert Person { name: $n, age: 1 } }", {"n": f"other{written}"})
            written += 1
            time.sleep(0.5)
        _, errors = again.communicate()
    assert again.returncode == 0, errors[-3000:]
    assert written > 3
    assert stored(g) == {"Person": PEOPLE + written, "Knows": EDGES}
    assert sorted(logical(g)) == sorted(["load", "init", *["mutate"] * written])
