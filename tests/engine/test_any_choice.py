"""Whatever is chosen at every hop, and wherever a lookup is given up for adjacency: the rows are the same, in the same order."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import omnigraph as og
from omnigraph.engine.cost import ledger
from omnigraph.engine.cost.ledger import Account, Choice, EdgeFacts

NODES, EDGES = 60, 300
SCHEMA = """
node P { name: String @key  group: I32 }
node C { name: String @key }
edge Knows: P -> P { weight: I32 }
edge WorksAt: P -> C
"""
QUERIES = {
    "hop": "match { $a: P $a knows $b } return { $a.name, $b.name as b }",
    "back": "match { $b: P { group: 1 } $a knows $b } return { $a.name, $b.name as b }",
    "two hops": "match { $a: P { group: 2 } $a knows $b $b knows $c } return { $a.name, $b.name as b, $c.name as c }",
    "each once": "match { $a: P { group: 2 } $a knows $b $b knows $c } return { count(distinct $c) as n }",
    "walks": "match { $a: P { group: 0 } $a knows{1,3} $b } return { $a.name, $b.name as b }",
    "counted walks": "match { $a: P $a knows $b $b knows $c $c knows $d } return { $a.name, count($d) as n }",
    "edges": "match { $a: P { group: 3 } $a $k: knows $b $k.weight > 3 } return { $a.name, $b.name as b, $k.weight }",
    "two edges": "match { $a: P $a $k: knows $b $b $l: knows $c } return { $a.name, $k.weight, $l.weight as l, $c.name as c }",
    "triangles": "match { $a: P $a knows $b $b knows $c $c knows $a } return { $a.name, count($c) as n }",
    "none": "match { $a: P not { $a worksAt $_ } } return { $a.name }",
    "optional": "match { $a: P optional { $a worksAt $c } } return { $a.name, $c.name as c }",
    "limit": "match { $a: P $a knows $b } return { $a.name, $b.name as b } limit 7",
    "two types": "match { $a: P $a knows $b $b worksAt $c } return { $c.name, count($a) as n }",
}


@pytest.fixture(scope="module", params=[False, True], ids=["no indexes", "indexes"])
def path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("choices") / "graph"
    drawn = np.random.default_rng(8)
    names, firms = pa.array([f"p{n:02d}" for n in range(NODES)]), pa.array([f"c{n}" for n in range(5)])
    ends = [names.take(pa.array((drawn.random(EDGES) ** 2 * NODES).astype(int))) for _ in range(2)]
    weights = pa.array(drawn.integers(0, 9, EDGES), pa.int32())
    with og.init(place, schema=SCHEMA, durability="os", save_from=None) as g:
        g._reconciler.start = lambda branch, catalog: None  # type: ignore[method-assign]
        people = pa.table({"name": names, "group": pa.array(np.arange(NODES) % 5, pa.int32())})
        works = pa.table({"src": names.slice(0, 40), "dst": firms.take(pa.array(np.arange(40) % 5))})
        knows = pa.table({"src": ends[0], "dst": ends[1], "weight": weights})
        g.load({"P": people, "C": pa.table({"name": firms}), "Knows": knows, "WorksAt": works}, mode="append")
        if request.param:
            g.optimize()
    return place


@pytest.fixture
def small_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger, "SMALL", 0)
    monkeypatch.setattr(ledger, "LOOKUP_NODES", 8)
    monkeypatch.setattr(ledger, "INDEXED_NODES", 3)


@pytest.mark.parametrize("name", QUERIES)
@pytest.mark.usefixtures("small_portions")
def test_rows_do_not_depend_on_what_is_chosen(path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"query q() {{ {QUERIES[name]} }}"
    with og.open(path, save_from=None) as g:
        expected = g.query(text, traversal="csr").rows
    assert expected
    switched = 0
    for seed in range(6):
        drawn = random.Random(f"{name}/{seed}")
        likely = drawn.random()
        chosen: list[bool] = []

        def choose(
            facts: EdgeFacts, account: Account, ahead: float, drawn: random.Random = drawn, likely: float = likely,
            chosen: list[bool] = chosen,
        ) -> Choice:  # fmt: skip
            chosen.append(drawn.random() < likely)
            return Choice(chosen[-1], account.spent, ahead, 0.0)

        monkeypatch.setattr(ledger, "choose", choose)
        with og.open(path, memory=1, save_from=None) as g:  # nothing is kept between queries, so that every hop asks
            assert g.query(text).rows == expected, f"seed {seed}: {chosen}"
            assert g.query(text, memory_limit=1 << 26).rows == expected, f"seed {seed}, with limits: {chosen}"
        switched += any(a and not b for a, b in itertools.pairwise(chosen))
    assert switched, "no lookup was ever given up"


def test_two_edges_of_one_type_have_properties_of_their_own(tmp_path: Path) -> None:
    """Edges of a type are held while a query runs; values of the rows at hand are not."""
    edges = [("a", "b", 1), ("b", "c", 2), ("b", "a", 3), ("c", "a", 4), ("a", "c", 5)]
    with og.init(tmp_path / "graph", schema=SCHEMA, save_from=None) as g:
        people = pa.table({"name": ["a", "b", "c"], "group": pa.array([0, 1, 2], pa.int32())})
        knows = pa.table(
            {"src": [e[0] for e in edges], "dst": [e[1] for e in edges], "weight": pa.array([e[2] for e in edges], pa.int32())}
        )
        g.load({"P": people, "Knows": knows}, mode="append")
        text = "query q() { match { $a: P $a $k: knows $b $b $l: knows $c } return { $k.weight as k, $l.weight as l } }"
        expected = sorted((first[2], second[2]) for first in edges for second in edges if first[1] == second[0])
        for limit in (None, 1 << 26):
            assert sorted((row["k"], row["l"]) for row in g.query(text, memory_limit=limit).rows) == expected
