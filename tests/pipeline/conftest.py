"""One Spark session for all tests of the pipeline in this process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.pipeline.cluster import archive_of_classes

from omnigraph import spark as ogs

HERE = Path(__file__).parent
ROOT = HERE.parent.parent


@pytest.fixture(scope="session", autouse=True)
def archive(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Before the first Java of this process starts."""
    archive_of_classes(tmp_path_factory.mktemp("archive"))


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    # A page of the documentation may have started one in this process, and there can be only one.
    if SparkSession.getActiveSession() is not None:
        made = ogs.session()
    else:
        with pytest.MonkeyPatch.context() as here:  # where its workers look for modules
            here.setenv("PYTHONPATH", f"{HERE / 'preloaded'}:{ROOT / 'src'}", prepend=":")
            config = {"spark.sql.shuffle.partitions": "2"}  # of 200, 198 would be empty
            made = ogs.session(master="local[2]", quick=True, config=config)
    yield made
    made.stop()
