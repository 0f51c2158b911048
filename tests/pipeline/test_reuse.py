"""A frame is the same rows however often it is used: filtered, joined with itself, cached, in unions. Compared with plain Python."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import omnigraph as og
from omnigraph import spark as ogs

pytestmark = pytest.mark.slow

Row = tuple[str, int | None, str | None]
Rows = list[Row]

CONDITIONS: list[tuple[str, Callable[[Row], bool]]] = [
    ("age = 2", lambda r: r[1] == 2),
    ("age > 1", lambda r: r[1] is not None and r[1] > 1),
    ("age is null", lambda r: r[1] is None),
    ("age is not null", lambda r: r[1] is not None),
    ("not (age = 2)", lambda r: r[1] is not None and r[1] != 2),
    ("age in (1, 3)", lambda r: r[1] in (1, 3)),
    ("name > 'p3'", lambda r: r[0] > "p3"),
    ("id = 'p4'", lambda r: r[0] == "p4"),
    ("city = 'Rome' and age < 3", lambda r: r[2] == "Rome" and r[1] is not None and r[1] < 3),
    ("city = 'Oslo' or age = 0", lambda r: r[2] == "Oslo" or r[1] == 0),
    ("city like 'R%'", lambda r: r[2] is not None and r[2].startswith("R")),
    ("true", lambda r: True),
]


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    """Twelve people in several fragments, with an index to tempt whoever would use one."""
    g = og.init(tmp_path / "g", schema="node P { name: String @key  age: I32? @index  city: String? @index }", durability="os")
    for part in range(3):
        rows = [
            {"name": f"p{n}", "age": n % 4 or None, "city": (None, "Rome", "Oslo")[n % 3]} for n in range(4 * part, 4 * part + 4)
        ]
        g.load({"P": rows})
    return g


def found(frame: DataFrame) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row) for row in frame.collect())


def test_any_use_of_a_frame_gives_what_python_gives(spark: SparkSession, graph: og.Graph) -> None:
    drawn = random.Random(7)
    every: Rows = [(f"p{n}", n % 4 or None, (None, "Rome", "Oslo")[n % 3]) for n in range(12)]
    frame = ogs.table(graph, "P", spark=spark).select("name", "age", "city", "id")
    cached = ogs.table(graph, "P", spark=spark).select("name", "age", "city", "id").where("age > 1").cache()
    known = [r for r in every if r[1] is not None and r[1] > 1]
    assert found(cached.select("name", "age", "city")) == Counter(known)
    for _ in range(14):
        base, rows = drawn.choice([(frame, every), (frame, every), (cached, known)])
        (first, one), (second, two) = drawn.choice(CONDITIONS), drawn.choice(CONDITIONS)
        left, right = base.where(first), frame.where(second)
        kept, others = [r for r in rows if one(r)], [r for r in every if two(r)]
        match drawn.randrange(4):
            case 0:
                assert found(left.select("name", "age", "city")) == Counter(kept), first
            case 1:
                assert found(left.union(right).select("name", "age", "city")) == Counter(kept + others), (first, second)
            case 2:
                joined = left.alias("a").join(right.alias("b"), "age").selectExpr("a.name", "b.name")
                pairs = [(a[0], b[0]) for a in kept for b in others if a[1] is not None and a[1] == b[1]]
                assert found(joined) == Counter(pairs), (first, second)
            case _:
                assert (left.count(), right.count(), base.count()) == (len(kept), len(others), len(rows)), (first, second)
    cached.unpersist()
    graph.load({"P": [{"name": "new", "age": 1}]})
    assert frame.count() == 12  # at the commit it was made at


def test_there_is_no_option_to_hand_filters_over(spark: SparkSession, graph: og.Graph) -> None:
    from pyspark.errors import PySparkException

    with pytest.raises(PySparkException, match="there is no option `pushdown`"):
        spark.read.format("omnigraph").option("graph", graph._store.place.uri).option("type", "P").option(
            "pushdown", "true"
        ).load()
