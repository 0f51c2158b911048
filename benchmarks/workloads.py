"""The questions of the query benchmark, each in both languages.

A workload has several sets of parameters, asked in turn, so that no system can answer from the previous answer. Where systems
may differ for good reasons the queries are written so that they do not: everything that is cut off is ordered by something
unique first, and `filter + limit`, which has no order, is checked row by row instead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks import people

Parameters = Mapping[str, Any]
Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Workload:
    """One question."""

    name: str
    gq: str
    cypher: str
    parameters: Callable[[people.Size], list[Parameters]] = field(default=lambda _: list[Parameters]([{}]))
    target: float = 2.0
    """How many times faster than the better peer it has to be."""
    rounds: int = 15
    per_round: int = 1
    """How often it is asked at a time: quick ones more often."""
    ordered: bool = False
    """Whether the order of rows is part of the answer."""
    holds: Callable[[Parameters, Row], bool] | None = None
    """What every row has to fulfil where any rows will do."""
    agreement: float = 1.0
    """Which share of the rows has to be the same: less than 1 where a peer's answer is approximate."""
    note: str = ""


def _query(parameters: str, body: str) -> str:
    return f"query q({parameters}) {{ {body} }}"


@cache
def _ordinary(size: people.Size, count: int) -> list[str]:
    """Persons who know about as many as most do: names, the same in every run."""
    knows = pq.read_table(people.parquet(size)["Knows"], columns=["src"])
    found = pc.value_counts(knows["src"])
    known = found.field("counts").to_numpy()
    names = pc.sort_indices(found.field("values")).to_numpy()
    usual = names[(known[names] >= 6) & (known[names] <= 12)]
    picked = usual[np.linspace(0, len(usual) - 1, count).astype(int)]
    return list(found.field("values").take(pa.array(picked)).to_pylist())


def _persons(size: people.Size) -> list[Parameters]:
    return [{"n": name} for name in _ordinary(size, 40)]


def _ages(size: people.Size) -> list[Parameters]:
    return [{"low": low, "high": low + 5} for low in range(20, 60, 5)]


def _cohorts(size: people.Size) -> list[Parameters]:
    return [{"cohort": c} for c in (7, 23, 42, 61, 99)]


def _vector(number: int) -> list[float]:
    random = np.random.default_rng(people.SEED + number)
    found = random.normal(size=people.DIMENSIONS).astype(np.float32)
    return [float(x) for x in found / np.linalg.norm(found)]


def _places_and_vectors(size: people.Size) -> list[Parameters]:
    return [{"city": people.city(10 + i), "v": _vector(i)} for i in range(8)]


def _words(size: people.Size) -> list[Parameters]:
    words = people.vocabulary()
    return [{"words": f"{words[40 + i]} {words[300 + 11 * i]}"} for i in range(8)]


def _words_and_vectors(size: people.Size) -> list[Parameters]:
    return [{**w, "v": _vector(i)} for i, w in enumerate(_words(size))]


def _in_range(parameters: Parameters, row: Row) -> bool:
    return bool(parameters["low"] <= row[1] < parameters["high"]) and row[3] is True


VECTOR = f"Vector({people.DIMENSIONS})"
FLOATS = f"FLOAT[{people.DIMENSIONS}]"

WORKLOADS = [
    Workload(
        "point lookup by key",
        _query("$n: String", "match { $p: Person { name: $n } } return { $p.name, $p.age, $p.city }"),
        "MATCH (p:Person {name: $n}) RETURN p.name, p.age, p.city",
        _persons,
        target=1.0,
        per_round=40,
    ),
    Workload(
        "filter, project, limit 100",
        _query(
            "$low: I32, $high: I32",
            "match { $p: Person $p.age >= $low $p.age < $high $p.active = true }"
            " return { $p.name, $p.age, $p.city, $p.active } limit 100",
        ),
        "MATCH (p:Person) WHERE p.age >= $low AND p.age < $high AND p.active = true"
        " RETURN p.name, p.age, p.city, p.active LIMIT 100",
        _ages,
        target=1.0,
        per_round=8,
        holds=_in_range,
    ),
    Workload(
        "count and average by city",
        _query("", "match { $p: Person } return { $p.city, count($p) as n, avg($p.age) as age }"),
        "MATCH (p:Person) RETURN p.city, count(*), avg(p.age)",
        per_round=4,
    ),
    Workload(
        "1 hop from one person",
        _query("$n: String", "match { $p: Person { name: $n } $p knows $f } return { $f.name, $f.age }"),
        "MATCH (p:Person {name: $n})-[:Knows]->(f:Person) RETURN f.name, f.age",
        _persons,
        target=1.0,
        per_round=40,
    ),
    Workload(
        "2 hops, distinct count",
        _query("$n: String", "match { $p: Person { name: $n } $p knows $f $f knows $g } return { count(distinct $g) as n }"),
        "MATCH (p:Person {name: $n})-[:Knows]->(:Person)-[:Knows]->(g:Person) RETURN count(DISTINCT g)",
        _persons,
        per_round=20,
    ),
    Workload(
        "3 hops, distinct count",
        _query(
            "$n: String",
            "match { $p: Person { name: $n } $p knows $f $f knows $g $g knows $h } return { count(distinct $h) as n }",
        ),
        "MATCH (p:Person {name: $n})-[:Knows]->(:Person)-[:Knows]->(:Person)-[:Knows]->(h:Person) RETURN count(DISTINCT h)",
        _persons,
        per_round=8,
    ),
    Workload(
        "reachability, 1 to 4 hops",
        _query("$n: String", "match { $p: Person { name: $n } $p knows{1,4} $q } return { count($q) as n }"),
        "MATCH (p:Person {name: $n})-[:Knows* SHORTEST 1..4]->(q:Person) WHERE q.name <> $n RETURN count(q)",
        _persons,
        per_round=4,
        note="the peers' `SHORTEST` visits every node once, as our bounded hop does",
    ),
    Workload(
        "triangles from 1,000 persons",
        _query(
            "$cohort: I32",
            "match { $a: Person { cohort: $cohort } $a knows $b $b knows $c $c knows $a } return { count($c) as n }",
        ),
        "MATCH (a:Person {cohort: $cohort})-[:Knows]->(b:Person)-[:Knows]->(c:Person)-[:Knows]->(a) RETURN count(*)",
        _cohorts,
        rounds=7,
    ),
    Workload(
        "average age by company",
        _query("", "match { $p worksAt $c } return { $c.name, count($p) as staff, avg($p.age) as age }"),
        "MATCH (p:Person)-[:WorksAt]->(c:Company) RETURN c.name, count(*), avg(p.age)",
        per_round=2,
    ),
    Workload(
        "persons without a job",
        _query("", "match { $p: Person not { $p worksAt $_ } } return { count($p) as n }"),
        "MATCH (p:Person) WHERE NOT EXISTS { MATCH (p)-[:WorksAt]->(:Company) } RETURN count(*)",
        per_round=4,
    ),
    Workload(
        "vector top 10 in a city",
        _query(
            f"$city: String, $v: {VECTOR}",
            "match { $p: Person { city: $city } } return { $p.name } order { nearest($p.vec, $v) } limit 10",
        ),
        "MATCH (p:Person {city: $city}) RETURN p.name"
        f" ORDER BY array_cosine_similarity(p.vec, CAST($v, '{FLOATS}')) DESC LIMIT 10",
        _places_and_vectors,
        per_round=4,
        ordered=True,
        note="the peers compare with every vector of the city; an index of Kùzu's with a filter takes longer",
    ),
    Workload(
        "BM25 top 10",
        _query("$words: String", "match { $p: Person } return { $p.name } order { bm25($p.bio, $words) desc } limit 10"),
        "CALL QUERY_FTS_INDEX('Person', 'bio', $words, top := 50) WITH node.name AS name, score"
        " RETURN name ORDER BY score DESC, name DESC LIMIT 10",
        _words,
        per_round=8,
        ordered=True,
        note="scores differ by a factor only; the peer is asked for 50 so that equal scores can be put in the same order",
    ),
    Workload(
        "BM25 and vectors fused, then 1 hop",
        _query(
            f"$words: String, $v: {VECTOR}",
            "match { $p: Person $p knows $f } return { $p.name, $f.name as friend }"
            " order { rrf(nearest($p.vec, $v), bm25($p.bio, $words)) } limit 10",
        ),
        "fused",
        _words_and_vectors,
        per_round=4,
        ordered=True,
        note="the peer is asked for both rankings, which are fused in Python, and then for the friends of the best; it compares"
        " with every vector, because its index misses most of the true ten for half of these questions",
    ),
    Workload(
        "count of all 2-hop paths",
        _query("", "match { $a: Person $a knows $b $b knows $c } return { count($c) as n }"),
        "MATCH (a:Person)-[:Knows]->(b:Person)-[:Knows]->(c:Person) RETURN count(*)",
        rounds=7,
    ),
    Workload(
        "2-hop walks by city",
        _query("", "match { $a: Person $a knows $b $b knows $c } return { $c.city, count($c) as n }"),
        "MATCH (a:Person)-[:Knows]->(b:Person)-[:Knows]->(c:Person) RETURN c.city, count(*)",
        rounds=7,
    ),
    Workload(
        "filter, 2 hops, top 10",
        _query(
            "$cohort: I32",
            "match { $a: Person { cohort: $cohort } $a.age > 40 $a knows $b $b knows $c }"
            " return { $c.name, count($a) as n } order { n desc, $c.name } limit 10",
        ),
        "MATCH (a:Person {cohort: $cohort})-[:Knows]->(b:Person)-[:Knows]->(c:Person) WHERE a.age > 40"
        " WITH c.name AS name, count(*) AS n RETURN name, n ORDER BY n DESC, name LIMIT 10",
        _cohorts,
        rounds=9,
        ordered=True,
    ),
    Workload(
        "1 M edges grouped by city",
        _query("", "match { $a $k:knows $b } return { $b.city, count($b) as n, avg($k.strength) as strength }"),
        "MATCH (a:Person)-[k:Knows]->(b:Person) RETURN b.city, count(*), avg(k.strength)",
        rounds=9,
    ),
]

BY_NAME = {w.name: w for w in WORKLOADS}
