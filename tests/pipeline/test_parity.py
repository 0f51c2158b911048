"""Dirty inputs of every form, in every mode: a load by Spark says and does what a load by this process says and does."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from pyspark.sql import SparkSession
from tests.engine.load.dirty import FORMS, Rows, broken, check_agreement, rows

from omnigraph.engine.load.read.parallel import chunks as chunks
from omnigraph.pipeline.load import on

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("mode", ["merge", "append", "overwrite", "update", "patch"])
@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=3, phases=[Phase.explicit, Phase.generate], suppress_health_check=list(HealthCheck))
@given(before=rows, loaded=rows, broken=broken)
def test_spark_and_threads_agree(
    spark: SparkSession,
    tmp_path_factory: pytest.TempPathFactory,
    form: str,
    mode: str,
    before: Rows,
    loaded: Rows,
    broken: list[str],
) -> None:
    folder = tmp_path_factory.mktemp("parity")
    source = FORMS[form](folder, loaded, broken)
    frames = {name: spark.createDataFrame(table) for name, table in source.items()} if form == "frames" else source
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(chunks, "LEAST_CUT", 200)
        check_agreement(folder, before, source, frames, on(spark), mode)
