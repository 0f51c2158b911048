"""The session and the one primitive: results in order, errors as they were."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from omnigraph import spark as ogs
from omnigraph.engine.write.violations import Violation, refuse
from omnigraph.errors import SparkUnavailable, TaskFailed, ValidationError
from omnigraph.pipeline.tasks import failure

pytestmark = pytest.mark.slow


def test_results_come_in_the_order_of_payloads(spark: SparkSession) -> None:
    told: list[tuple[int, int]] = []
    payloads = [(n, "x" * n) for n in range(7)]
    found = ogs.run_tasks(spark, payloads, lambda p: (p[0], len(p[1])), amount=lambda r: r[0], watch=lambda *a: told.append(a))
    assert found == [(n, n) for n in range(7)]
    assert all(0 <= done <= 7 and amount <= 21 for done, amount in told)
    assert ogs.run_tasks(spark, [], len) == []


def test_the_session_is_tuned_and_found_again(spark: SparkSession) -> None:
    assert ogs.session() is spark
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"
    assert ogs.run_tasks(spark, [0], lambda _: (sys.executable, os.environ["LANCE_CPU_THREADS"])) == [(sys.executable, "1")]


def test_errors_of_ours_come_back_as_they_were(spark: SparkSession) -> None:
    def work(number: int) -> None:
        if number:
            refuse([Violation("range", "Person", "too old", "age", "Ada", 200, "a.jsonl", 7)])

    with pytest.raises(ValidationError) as raised:
        ogs.run_tasks(spark, [0, 1], work)
    assert raised.value.violations[0].to_dict()["line"] == 7


def test_errors_of_others_are_told_by_their_last_line(spark: SparkSession) -> None:
    def work(number: int) -> float:
        return 1 / number

    with pytest.raises(TaskFailed, match="ZeroDivisionError: division by zero"):
        ogs.run_tasks(spark, [1, 0], work)


def test_spark_that_cannot_start_says_why(tmp_path: Path) -> None:
    code = (
        "from omnigraph import spark as ogs; ogs.session(master='local[1]', config={'spark.driver.extraJavaOptions': '-Xss1k'})"
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    ran = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode != 0
    assert "SparkUnavailable" in ran.stderr
    assert "could not start on local[1] with Java" in ran.stderr
    assert "Could not create the Java Virtual Machine" in ran.stderr


def test_what_is_shipped_to_executors_is_compiled(tmp_path: Path) -> None:
    code = "import omnigraph.spark, omnigraph.engine.load.read.parallel.chunks as m; print(m.__file__)"
    environment = {**os.environ, "PYTHONPATH": str(ogs.package_zip())}
    ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert ran.stdout.strip() == f"{ogs.package_zip()}/omnigraph/engine/load/read/parallel/chunks.pyc", ran.stderr


def test_an_unreachable_server_is_told_apart() -> None:
    with pytest.raises(SparkUnavailable, match=re.escape("sc://127.0.0.1:1")):
        ogs.session(master="sc://127.0.0.1:1")


@pytest.mark.parametrize(
    ("said", "retryable"),
    [
        ('Traceback (most recent call last):\n  File "x"\nValueError: always', False),
        ('Traceback (most recent call last):\n  File "x"\nomnigraph.errors.StorageError: cannot reach the store', True),
        ("Job aborted due to stage failure: ExecutorLostFailure (executor 1 exited)", True),
    ],
)
def test_only_what_may_pass_says_so(said: str, retryable: bool) -> None:
    """What a task raised each time is raised again; an error of ours that reaches Spark is one that may pass."""
    told = failure(PySparkException(said), "a task")
    assert told.retryable is retryable
    assert told.to_dict()["retryable"] is retryable
