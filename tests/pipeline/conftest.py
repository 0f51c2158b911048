"""One Spark session for all tests of the pipeline in this process."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from omnigraph import spark as ogs

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    # A page of the documentation may have started one in this process, and there can be only one.
    if SparkSession.getActiveSession() is not None:
        made = ogs.session()
    else:
        config = {
            "spark.sql.shuffle.partitions": "2",  # of 200, 198 would be empty
            "spark.python.daemon.module": "tests.pipeline.daemon",
        }
        with pytest.MonkeyPatch.context() as here:  # where Spark looks for that module
            here.setenv("PYTHONPATH", f"{ROOT / 'src'}:{ROOT}:{os.environ.get('PYTHONPATH', '')}")
            made = ogs.session(master="local[2]", quick=True, config=config)
    yield made
    made.stop()
