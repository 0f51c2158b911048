"""Columns of a result: every one has a name of its own, whichever way the result is taken."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.engine import graphs

import omnigraph
from omnigraph.errors import TypeCheckError

SCHEMA = "node P { k: String @key  n: I32?  m: I32? }\nedge E: P -> P"


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory):  # type: ignore[no-untyped-def]
    rows = {"P": [{"id": "a", "k": "a", "n": 1, "m": 5}, {"id": "b", "k": "b", "n": 2, "m": 4}]}
    return graphs.make_graph(tmp_path_factory.mktemp("columns"), SCHEMA, rows)


@pytest.mark.parametrize(
    ("returned", "named"),
    [
        ("max($p.n), min($p.n)", "`min($p.n) as min_n`"),
        ("$p.n as x, $p.m as x", "`$p.m as p_m`"),
        ("max( $p.n )   as   x, min($p.n)as x", "`min($p.n) as min_n`"),
        ("$p, $p.n as p", "`$p.n as p_n`"),
        ("$p, count($p)", "`count($p) as count_p`"),
        ("$p.n as p_n, $p.m, $p.m", "`$p.m as p_m`"),
        ("$p.m, $p.n as p_m, $p.m", "`$p.m as p_m_2`"),
        ("1, 2", "`2 as value`"),
    ],
)
@pytest.mark.parametrize("how", ["query", "stream", "explain"])
def test_two_columns_of_one_name_are_refused_with_a_name_to_take(graph, how: str, returned: str, named: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(TypeCheckError, match="two columns of the result are called") as caught:
        getattr(graph, how)(f"query q() {{ match {{ $p: P }} return {{ {returned} }} }}")
    (problem,) = caught.value.diagnostics
    told = problem.to_dict()
    assert told["code"] == "T27"
    assert named in str(told["help"])
    fixed = f"{returned[: returned.rindex(',')]}, {named.strip('`')}"
    assert len(set(graph.query(f"query q() {{ match {{ $p: P }} return {{ {fixed} }} }}").columns)) == returned.count(",") + 1


def test_every_way_to_take_a_result_has_every_column(graph, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    text = "query q() { match { $p: P } return { max($p.n), min($p.n) as least, count($p) as p, max($p.m) as m } }"
    result = graph.query(text)
    values = {"p.n": 2, "least": 1, "p": 2, "m": 5}
    assert result.rows == [values]
    assert result.to_dict()["rows"] == [values]
    assert result.to_arrow().to_pylist() == [values]
    assert result.to_pandas().to_dict("records") == [values]
    assert [row for batch in graph.stream(text) for row in batch.to_pylist()] == [values]


@pytest.mark.parametrize(
    ("returned", "rows"),
    [
        ("{ $p.n as a, a as b } order { b desc }", [(2, 2), (1, 1)]),
        ("{ $p.n as a, a as b, b as c } order { c }", [(1, 1, 1), (2, 2, 2)]),
        ("{ a as b, $p.n as a } order { b desc }", [(2, 2), (1, 1)]),
        ("{ $p.m as p, $p.n as n } order { p }", [(4, 2), (5, 1)]),
    ],
)
def test_an_alias_stands_for_what_it_names_wherever_it_is_used(graph, returned: str, rows: list[tuple[int, ...]]) -> None:  # type: ignore[no-untyped-def]
    for word in ("return", "return distinct"):
        found = graph.query(f"query q() {{ match {{ $p: P }} {word} {returned} }}").rows
        assert [tuple(row.values()) for row in found] == rows, word


def test_integers_of_a_pandas_frame_are_not_rounded_where_some_are_missing(tmp_path: Path) -> None:
    schema = "node P { k: String @key  i: I32?  u: U32?  l: I64?  w: U64?  f: F64? }"
    graph = omnigraph.init(tmp_path / "g", schema=schema)
    largest: dict[str, object] = {"i": 2**31 - 1, "u": 2**32 - 1, "l": 2**63 - 1, "w": 2**64 - 1, "f": 0.5}
    graph.load({"P": [{"k": "a", **largest}, {"k": "b"}]})
    text = "query q() { match { $p: P } return { $p.i as i, $p.u as u, $p.l as l, $p.w as w, $p.f as f } order { $p.k } %s }"
    frame = graph.query(text % "").to_pandas()
    assert [str(kind) for kind in frame.dtypes] == ["Int32", "UInt32", "Int64", "UInt64", "float64"]
    assert [frame[name][0] for name in frame] == list(largest.values())
    assert frame.isna().to_numpy().tolist() == [[False] * 5, [True] * 5]
    assert [str(kind) for kind in graph.query(text % "limit 1").to_pandas().dtypes] == [
        "int32",
        "uint32",
        "int64",
        "uint64",
        "float64",
    ]
