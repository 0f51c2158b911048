"""Order: values at the edges of every type, nulls and variables that did not match come as Python would sort them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.engine.every_type import SCALARS
from tests.engine.graphs import make_graph

import omnigraph as og

TYPES = list(SCALARS)
UNMATCHED = "-"
"""A node that points nowhere."""


def pointed_at(type_: str) -> list[Any]:
    """What each node points at: every value, nulls among them, and nothing."""
    values = SCALARS[type_]
    middle = len(values) // 2
    return [UNMATCHED, None, *values[:middle], None, UNMATCHED, *values[middle:], values[0], UNMATCHED, None, values[-1]]


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[og.Graph]:
    """Nodes `a…` that point at nodes `x…`, which have the values."""
    values = "\n".join(f"node X{n} {{ k: String @key  p: {type_}? }}\nedge To{n}: A{n} -> X{n}" for n, type_ in enumerate(TYPES))
    schema = "\n".join(f"node A{n} {{ k: String @key }}" for n in range(len(TYPES))) + "\n" + values
    rows: dict[str, list[dict[str, Any]]] = {}
    for n, type_ in enumerate(TYPES):
        pointed = pointed_at(type_)
        rows[f"A{n}"] = [{"k": f"a{at:02}"} for at in range(len(pointed))]
        there = [(at, value) for at, value in enumerate(pointed) if value is not UNMATCHED]
        rows[f"X{n}"] = [{"k": f"x{at:02}", "p": value} for at, value in there]
        rows[f"To{n}"] = [{"from": f"a{at:02}", "to": f"x{at:02}"} for at, _ in there]
    with make_graph(tmp_path_factory.mktemp("ordering"), schema, {}) as made:
        made.load(rows)
        yield made


def in_order(pointed: list[Any], *, descending: bool, last_first: bool) -> list[str]:
    """Nodes by what they point at, null and nothing as one smallest value; where that is equal, by their keys."""
    rows = sorted(range(len(pointed)), reverse=last_first)
    empty = [at for at in rows if pointed[at] is None or pointed[at] is UNMATCHED]
    full = sorted((at for at in rows if at not in empty), key=pointed.__getitem__, reverse=descending)
    return [f"a{at:02}" for at in (full + empty if descending else empty + full)]


@pytest.mark.parametrize("last_first", [False, True], ids=["ties_by_id", "ties_by_a_key"])
@pytest.mark.parametrize("descending", [False, True], ids=["asc", "desc"])
@pytest.mark.parametrize("type_", TYPES)
def test_order_is_what_python_sorts_whatever_the_limit(graph: og.Graph, type_: str, descending: bool, last_first: bool) -> None:
    n, pointed = TYPES.index(type_), pointed_at(type_)
    keys = f"{'$x.p desc' if descending else '$x.p'}{', $a.k desc' if last_first else ''}"
    asked = f"match {{ $a: A{n} optional {{ $a to{n} $x }} }} return {{ $a.k }} order {{ {keys} }}"
    expected = in_order(pointed, descending=descending, last_first=last_first)
    assert [row["a.k"] for row in graph.query(f"query q() {{ {asked} }}")] == expected
    for limit in range(len(pointed) + 2):
        for offset in {0, 1, limit}:
            found = graph.query(f"query q() {{ {asked} limit {limit} offset {offset} }}")
            assert [row["a.k"] for row in found] == expected[offset : offset + limit], (limit, offset)


@pytest.mark.parametrize("descending", [False, True], ids=["asc", "desc"])
@pytest.mark.parametrize("type_", ["String", "I32", "I64", "U32", "U64", "F32", "F64"])
def test_groups_are_ordered_by_what_they_have_least(graph: og.Graph, type_: str, descending: bool) -> None:
    n, pointed = TYPES.index(type_), pointed_at(type_)
    asked = f"match {{ $a: A{n} optional {{ $a to{n} $x }} }} return {{ $a.k as k, min($x.p) as m }}"
    ordered = f"{asked} order {{ {'m desc' if descending else 'm'}, k desc }}"
    expected = in_order(pointed, descending=descending, last_first=True)
    for limit in range(1, len(pointed) + 1):
        assert [row["k"] for row in graph.query(f"query q() {{ {ordered} limit {limit} }}")] == expected[:limit], limit
