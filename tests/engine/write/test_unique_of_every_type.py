"""What is promised to be unique is looked up, whatever its type: by inserts, updates and loads, for nodes and edges."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.engine.every_type import SCALARS

import omnigraph as og
from omnigraph.engine.cost import ledger

KEYED = [name for name in SCALARS if name != "Bool"]


def given(value: Any) -> Any:
    """A value as a record spells it."""
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    return value.isoformat() if isinstance(value, date) else value


def asked(type_: str) -> str:
    """The type of a parameter."""
    return "String" if type_.startswith("enum") else type_


def node(k: str, **values: Any) -> dict[str, Any]:
    return {"type": "A", "data": {"k": k, **{name: given(v) for name, v in values.items()}}}


@pytest.mark.parametrize("type_", SCALARS)
def test_a_second_holder_is_found(tmp_path: Path, type_: str) -> None:
    first, *others = SCALARS[type_]
    schema = f"node A {{ k: String @key  u: {type_}? @unique }}\nedge E: A -> A {{ u: {type_}? @unique }}"
    insert = f"query m($k: String, $u: {asked(type_)}?) {{ insert A {{ k: $k, u: $u }} }}"
    with og.init(tmp_path / "g", schema, durability="os") as g:
        g.mutate(insert, params={"k": "a", "u": given(first)})
        g.mutate(insert, params={"k": "b", "u": None})
        distinct = [v for v in others if v != first]
        for number, value in enumerate(distinct):
            g.load([node(f"o{number}", u=value)])
        with pytest.raises(og.ValidationError, match="unique"):
            g.mutate(insert, params={"k": "c", "u": given(first)})
        with pytest.raises(og.ValidationError, match="unique"):
            g.load([node("c", u=first)])
        g.load([node("a", u=first), node("c")])
        edges = [{"edge": "E", "from": a, "to": b, "data": {"u": given(first)}} for a, b in (("a", "b"), ("b", "a"))]
        g.load(edges[:1])
        with pytest.raises(og.ValidationError, match="unique"):
            g.load(edges[1:])


@pytest.mark.parametrize("type_", KEYED)
def test_a_second_holder_of_a_combination_is_found(tmp_path: Path, type_: str) -> None:
    first, second = SCALARS[type_][0], SCALARS[type_][2]
    with og.init(tmp_path / "g", f"node A {{ k: String @key  u: {type_}?  v: {type_}?  @unique(u, v) }}", durability="os") as g:
        g.load([node("a", u=first, v=first)])
        g.load([node("b", u=first, v=second), node("c", u=first)])
        with pytest.raises(og.ValidationError, match="unique"):
            g.load([node("d", u=first, v=second)])


@pytest.mark.parametrize("type_", SCALARS)
def test_an_index_is_asked_for_values_of_every_type(tmp_path: Path, type_: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger, "FILTERED_ROWS", 1)
    values = [v for n, v in enumerate(SCALARS[type_]) if v not in SCALARS[type_][:n]]
    with og.init(tmp_path / "g", f"node A {{ k: String @key  u: {type_}? @index }}", durability="os") as g:
        g.load([*(node(f"k{n}", u=v) for n, v in enumerate(values)), *(node(f"n{n}") for n in range(200))])
        g.optimize()
    for number, value in enumerate(values):
        with og.open(tmp_path / "g", read_only=True) as g:  # nothing is in memory yet
            text = f"query q($u: {asked(type_)}) {{ match {{ $a: A {{ u: $u }} }} return {{ $a.k }} }}"
            assert g.query(text, params={"u": given(value)}).rows == [{"a.k": f"k{number}"}]
