"""A session that somebody else made, with Spark's own settings: it is told of the formats, and runs tasks again that die."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.pipeline.java import find_java
from omnigraph.pipeline.session import _quick_options

pytestmark = pytest.mark.slow

CODE = """
import json
from pyspark.sql import SparkSession
from omnigraph import spark as ogs
from tests.pipeline.test_foreign import kills_itself_once
java = {java!r}
spark = SparkSession.builder.master("local[2,3]").config("spark.ui.enabled", "false").config("spark.driver.extraJavaOptions", java).getOrCreate()
ogs.register(spark)
frame = spark.read.format("omnigraph").option("graph", {graph!r}).option("type", "Thing").load()
counts = [frame.count(), frame.where("i = 2").count()]
print(json.dumps([counts, ogs.run_tasks(spark, [{mark!r}], kills_itself_once)]))
"""


def kills_itself_once(mark: str) -> str:
    if not os.path.exists(mark):
        Path(mark).write_text("was here")
        os.kill(os.getpid(), signal.SIGKILL)
    return "second time"


def test_a_session_of_somebody_else(tmp_path: Path) -> None:
    """`local[2,3]` lets Spark repeat a task, as every cluster does."""
    g = og.init(tmp_path / "g", schema="node Thing { name: String @key  i: I32? }", durability="os")
    g.load([{"type": "Thing", "data": {"name": f"n{n}", "i": n}} for n in range(10)])
    code = CODE.format(graph=str(tmp_path / "g"), mark=str(tmp_path / "mark"), java=_quick_options(find_java()))
    root = Path(__file__).parent.parent.parent
    environment = {
        **os.environ,
        "JAVA_HOME": find_java().home,
        "PYTHONPATH": f"{root / 'src'}:{root}",
        "PYSPARK_PYTHON": sys.executable,
    }
    ran = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr[-2000:]
    assert json.loads(ran.stdout) == [[10, 1], ["second time"]]
