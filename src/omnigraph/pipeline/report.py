"""What is wrong with an input, as a data frame: to be counted, joined and written like any other."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from omnigraph.engine.calls import arguments
from omnigraph.engine.calls.guard import guarded
from omnigraph.engine.write.violations import Violation
from omnigraph.errors import KeyConflict, ValidationError
from omnigraph.pipeline.session import ready

COLUMNS = "rule string, type string, property string, entity string, value string, file string, line bigint, message string"


@guarded(error=arguments.having("an error with violations", "violations"))
def report(error: ValidationError | KeyConflict, spark: SparkSession | None = None) -> DataFrame:
    """Every violation of a load that was refused, one row each; `str(error)` is the short form, with counts by rule."""
    rows = [
        (v.rule, v.type, v.property, v.entity, None if v.value is None else str(v.value), v.file, v.line, v.message)
        for v in error.violations
        if isinstance(v, Violation)
    ]
    return ready(spark).createDataFrame(rows, COLUMNS)
