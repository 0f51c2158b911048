"""Texts and lists that are kept per group count as what they are against the memory of a query."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.engine import graphs

from omnigraph.errors import ResourceLimit

NODES = 400
SIZE = 2_000
MEMORY = 20_000_000
QUERIES = {
    "smallest text": "$a.k, $b.k, min($b.s) as m",
    "largest text": "$a.k, $b.k, max($a.s) as m, count($b) as c",
    "group by text": "$a.s, $b.k, count($b) as c",
    "group by list": "$a.l, $b.k, count($b) as c",
    "distinct texts": "$a.k, count(distinct $b.s) as c",
    "distinct lists": "$a.k, count(distinct $b.l) as c",
    "smallest distinct text": "$a.k, $b.k, min(distinct $b.s) as m",
}
SMALL = {
    "smallest of all": "min($b.s) as m, max($a.s) as n",
    "smallest text of few": "$a.n, min($b.s) as m, max($a.s) as n, count($b) as c",
}


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder: Path = tmp_path_factory.mktemp("groups")
    rows = [{"k": f"k{n}", "n": n % 7, "s": f"{n:04}" * (SIZE // 4), "l": [f"{n:04}" * 50] * 10} for n in range(NODES)]
    found = graphs.make_graph(folder, "node N { k: String @key  n: I32  s: String  l: [String] }", {"N": rows})
    found.query("query q() { match { $a: N } return { max($a.s) as m, count(distinct $a.l) as l, max($a.k) as k } }")
    return found


def _question(returned: str) -> str:
    return f"query q() {{ match {{ $a: N  $b: N  $a.n <= $b.n }} return {{ {returned} }} }}"


@pytest.mark.parametrize("name", QUERIES)
def test_what_is_kept_per_group_is_counted_before_it_is_too_much(graph: Any, name: str) -> None:
    pool = pa.default_memory_pool()
    there, most = pool.bytes_allocated(), pool.max_memory()
    with pytest.raises(ResourceLimit, match="the query may use 20 MB"):
        graph.query(_question(QUERIES[name]), memory_limit=MEMORY)
    assert pool.max_memory() <= max(most, there + 3 * MEMORY)


@pytest.mark.parametrize("name", SMALL)
def test_what_fits_is_answered_as_it_is_without_a_limit(graph: Any, name: str) -> None:
    question = _question(SMALL[name])
    limited = graph.query(question, memory_limit=MEMORY).rows
    assert sorted(map(str, limited)) == sorted(map(str, graph.query(question).rows))
