"""Writers that would break a constraint together: one of them is told, whoever is first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.engine.graphs import make_graph

import omnigraph as og
from omnigraph.engine.write import commit as committing

SCHEMA = """
node Person { name: String @key  mail: String? @unique }
edge Knows: Person -> Person
edge Leads: Person -> Person @card(0..1)
"""


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    return make_graph(tmp_path, SCHEMA, {"Person": [{"name": n} for n in "abcdef"], "Knows": [{"src": "f", "dst": "e"}]})


def in_between(monkeypatch: pytest.MonkeyPatch, graph: og.Graph, theirs: str) -> None:
    """Let somebody else commit after our write was validated and before it is published."""
    other = og.open(graph._store.place.uri)
    original = committing.change_of
    done: list[bool] = []

    def late(delta: Any, view: Any) -> Any:
        if not done:
            done.append(True)
            other.mutate(f"query m() {{ {theirs} }}")
        return original(delta, view)

    monkeypatch.setattr(committing, "change_of", late)


CASES = [
    ('insert Knows { from: "a", to: "b" }', 'delete Person where name = "b"', og.ValidationError, "not found"),
    ('delete Person where name = "b"', 'insert Knows { from: "a", to: "b" }', og.ReadSetChanged, "added while"),
    ('insert Leads { from: "a", to: "b" }', 'insert Leads { from: "a", to: "c" }', og.ValidationError, "(max 1)"),
    ('insert Person { name: "x", mail: "m" }', 'insert Person { name: "y", mail: "m" }', og.ValidationError, "must be unique"),
    ('delete Person where name = "e"', 'delete Knows where from = "f"', og.ReadSetChanged, "were removed while"),
    ('update Person set { mail: "m" } where name > "e"', 'insert Person { name: "y" }', og.ReadSetChanged, "changed while"),
    (
        'update Person set { mail: "m" } where name = "a"',
        'insert Person { name: "a", mail: "n" }',
        og.ReadSetChanged,
        "changed while",
    ),
    ('update Person set { mail: "m" } where name = "a"', 'delete Person where name = "a"', og.ReadSetChanged, "changed while"),
    ('delete Person where name = "a"', 'update Person set { mail: "m" } where name = "a"', og.ReadSetChanged, "changed while"),
    ('delete Person where name = "a"', 'delete Person where name = "a"', og.ReadSetChanged, "changed while"),
    ('delete Knows where from = "f"', 'insert Knows { from: "f", to: "a" }', og.ReadSetChanged, "changed while"),
    ('delete Knows where from = "f"', 'delete Person where name = "e"', og.ReadSetChanged, "changed while"),
    ('insert Person { name: "x", mail: "m" }', 'update Person set { mail: "m" } where name = "a"', og.ValidationError, "unique"),
    ('update Person set { mail: "m" } where name = "a"', 'insert Person { name: "y", mail: "m" }', og.ValidationError, "unique"),
    ('insert Leads { from: "a", to: "b" }', 'delete Person where name = "a"', og.ValidationError, "not found"),
]


@pytest.mark.parametrize(("ours", "theirs", "error", "says"), CASES)
def test_the_second_of_two_is_told(
    graph: og.Graph, monkeypatch: pytest.MonkeyPatch, ours: str, theirs: str, error: Any, says: str
) -> None:
    in_between(monkeypatch, graph, theirs)
    with pytest.raises(error) as raised:
        graph.mutate(f"query m() {{ {ours} }}")
    assert says in str(raised.value)
    assert graph.commits(limit=1)[0].operation == "mutate"
    assert len(graph.commits()) == 3, "init, the people, and what they did"


HARMLESS = [
    ('insert Knows { from: "a", to: "b" }', 'delete Person where name = "c"'),
    ('insert Knows { from: "a", to: "b" }', 'insert Knows { from: "a", to: "b" }'),
    ('insert Leads { from: "a", to: "b" }', 'insert Leads { from: "b", to: "c" }'),
    ('insert Person { name: "x", mail: "m" }', 'insert Person { name: "y", mail: "n" }'),
    ('delete Person where name = "b"', 'insert Knows { from: "a", to: "c" }'),
    ('insert Person { name: "x" }', 'insert Person { name: "x" }'),
    ('update Person set { mail: "m" } where name = "a"', 'insert Person { name: "y" }'),
    ('update Person set { mail: "m" } where name = "a"', 'update Person set { mail: "n" } where name = "b"'),
    ('delete Person where name = "a"', 'insert Person { name: "y" }'),
    ('delete Person where name = "a"', 'delete Person where name = "b"'),
    ('delete Person where name = "a"', 'update Person set { mail: "n" } where name = "b"'),
    ('delete Knows where from = "f"', 'insert Knows { from: "a", to: "b" }'),
    ('insert Leads { from: "a", to: "b" }', 'delete Person where name = "c"'),
]


@pytest.mark.parametrize(("ours", "theirs"), HARMLESS)
def test_what_does_not_collide_goes_through(graph: og.Graph, monkeypatch: pytest.MonkeyPatch, ours: str, theirs: str) -> None:
    in_between(monkeypatch, graph, theirs)
    assert graph.mutate(f"query m() {{ {ours} }}").commit is not None
    assert len(graph.commits()) == 4


def test_maintenance_in_between_voids_nothing(graph: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    other = og.open(graph._store.place.uri)
    original = committing.change_of
    monkeypatch.setattr(committing, "change_of", lambda delta, view: (other.optimize(), original(delta, view))[1])
    assert graph.mutate('query m() { update Person set { mail: "m" } where name = "a" }').affected_nodes == 1
    assert graph.mutate('query m() { delete Person where name = "b" }').affected_nodes == 1
