"""Edges with keys loaded by Spark: the same files twice are the same graph."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.engine.load.test_edge_keys import FORMS, ROWS, check_twice

from omnigraph.pipeline.load import on


@pytest.mark.parametrize(("form", "mode"), [("jsonl", "merge"), ("parquet", "append"), ("csv", "overwrite")])
def test_files_twice(spark: SparkSession, tmp_path: Path, form: str, mode: str) -> None:
    check_twice(tmp_path, FORMS[form](tmp_path, ROWS), mode, engine=on(spark))


def test_frames_twice(spark: SparkSession, tmp_path: Path) -> None:
    frames = {name: spark.createDataFrame(table) for name, table in FORMS["frames"](tmp_path, ROWS).items()}
    check_twice(tmp_path, frames, "merge", engine=on(spark))
