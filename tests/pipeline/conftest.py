"""One Spark session for all tests of the pipeline in this process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from omnigraph import spark as ogs


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    # A page of the documentation may have started one in this process, and there can be only one.
    if SparkSession.getActiveSession() is not None:
        made = ogs.session()
    else:
        made = ogs.session(
            master="local[2]", quick=True, config={"spark.sql.shuffle.partitions": "2"}
        )  # of 200, 198 would be empty
    yield made
    made.stop()
