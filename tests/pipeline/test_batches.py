"""Rows that come in small batches: the same rows, in fewer of them."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from omnigraph.pipeline.batches import gathered


@given(st.lists(st.integers(0, 40_000), max_size=12))
def test_the_same_rows_in_the_same_order(sizes: list[int]) -> None:
    batches = [pa.record_batch({"n": pa.array(range(at, at + size), pa.int64())}) for at, size in enumerate(sizes)]
    found = list(gathered(batches))
    schema = pa.schema([("n", pa.int64())])
    assert pa.Table.from_batches(found, schema).equals(pa.Table.from_batches(batches, schema))
    assert all(batch.num_rows >= 1 << 16 for batch in found[:-1])


def test_large_values_are_passed_on() -> None:
    batches = [pa.record_batch({"text": pa.array(["x" * 70_000_000])})] * 3
    assert [batch.num_rows for batch in gathered(batches)] == [1, 1, 1]


def test_spark_hands_over_what_the_sessions_say(spark: SparkSession) -> None:
    """No more rows at a time than set, however many bytes they have."""

    def sizes(batches):  # type: ignore[no-untyped-def]
        for batch in batches:
            yield pa.record_batch({"rows": [batch.num_rows]})

    wide = spark.range(0, 10_000, 1, 1).selectExpr("repeat('x', 20000) as text")
    found = [row[0] for row in wide.mapInArrow(sizes, "rows bigint").collect()]
    assert sum(found) == 10_000
    assert len(found) == 3
