"""Changing what is there: edges like nodes, conditions of any form, values from the row, and rows that a pattern finds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.engine.graphs import make_graph
from tests.engine.history.graphs import calm, contents

import omnigraph as og
from omnigraph.storage.tables.table import Table

SCHEMA = """
node Person { name: String @key  age: I32?  nick: String?  tags: [String]? }
edge Knows: Person -> Person @key(src, dst) { weight: I32?  note: String? }
edge Saw: Person -> Person { day: I32? }
"""


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    people = [{"name": name, "age": age} for name, age in (("a", 1), ("b", 2), ("c", 3), ("d", None))]
    knows = [(s, t, w) for s, t, w in (("a", "b", 1), ("a", "c", 2), ("b", "c", 3), ("c", "d", None))]
    data: dict[str, list[dict[str, Any]]] = {
        "Person": people,
        "Knows": [{"id": f'["{s}","{t}"]', "src": s, "dst": t, "weight": w} for s, t, w in knows],
        "Saw": [{"id": f"s{n}", "src": "a", "dst": "b", "day": n} for n in range(3)],
    }
    made = make_graph(tmp_path, SCHEMA, data)
    calm(made)
    return made


def run(graph: og.Graph, text: str, **params: object) -> tuple[int, int]:
    declared = ", ".join(f"${name}: {'[String]' if isinstance(v, list) else 'I32?'}" for name, v in params.items())
    receipt = graph.mutate(f"query q({declared}) {{ {text} }}", params)
    return receipt.affected_nodes, receipt.affected_edges


def values(graph: og.Graph, type_: str, name: str) -> dict[str, object]:
    return {id_: row[name] for (kind, id_), row in sorted(contents(graph).items()) if kind == type_}


def weights(graph: og.Graph) -> dict[str, object]:
    return {id_[2] + id_[6]: weight for id_, weight in values(graph, "Knows", "weight").items()}


WEIGHTS: dict[str, object] = {"ab": 1, "ac": 2, "bc": 3, "cd": None}

UPDATES: dict[str, tuple[str, set[str]]] = {
    "by its ends": ('from = "a" and to = "b"', {"ab"}),
    "by its ends, the other way round": ('"b" = to and from = "a"', {"ab"}),
    "by one end": ('from = "a"', {"ab", "ac"}),
    "by the other": ('to = "c"', {"ac", "bc"}),
    "by an end and a property": ('from = "a" and weight > 1', {"ac"}),
    "by id": ("""id = "[\\"a\\",\\"b\\"]" """, {"ab"}),
    "by id and more": ("""id = "[\\"a\\",\\"b\\"]" and weight > 1""", set()),
    "by a property": ("weight >= 2", {"ac", "bc"}),
    "by what is missing": ("weight is null", {"cd"}),
    "by what is not": ("weight is not null and from = to or note is not null", set()),
    "one of": ("weight in [1, 3, 9]", {"ab", "bc"}),
    "one of some nodes": ("to in $some", {"ab", "cd"}),
    "or": ('weight = 3 or (from = "a" and to = "b")', {"ab", "bc"}),
    "nobody": ('from = "a" and to = "d"', set()),
    "contradiction": ('from = "a" and from = "b"', set()),
    "a missing value": ("weight = $none", set()),
    "a missing value, with more": ('from = "a" and weight = $none', set()),
    "an end by its beginning": ('from starts_with "a" and to contains "b"', {"ab"}),
}


@pytest.mark.parametrize("case", UPDATES)
def test_edges_are_updated_and_deleted_where(graph: og.Graph, case: str) -> None:
    where, expected = UPDATES[case]
    params = {name: value for name, value in (("some", ["b", "d"]), ("none", None)) if f"${name}" in where}
    changed = run(graph, f'update Knows set {{ weight: 7, note: "x" }} where {where}', **params)
    assert changed == (0, len(expected))
    assert weights(graph) == {ends: 7 if ends in expected else weight for ends, weight in WEIGHTS.items()}
    if "weight" not in where and "note" not in where:
        assert run(graph, f"delete Knows where {where}", **params) == (0, len(expected))
        assert set(weights(graph)) == WEIGHTS.keys() - expected
    assert graph.verify(content=True).ok


NODES: dict[str, tuple[str, set[str]]] = {
    "and": ('name = "a" and age = 1', {"a"}),
    "and not": ('name = "a" and age = 2', set()),
    "or": ('name = "a" or age = 3', {"a", "c"}),
    "in": ('name in ["a", "d", "z"]', {"a", "d"}),
    "null": ("age is null", {"d"}),
    "id": ('id = "b"', {"b"}),
    "two properties": ("name = nick or age < 2", {"a"}),
}


@pytest.mark.parametrize("case", NODES)
def test_nodes_are_updated_and_deleted_where(graph: og.Graph, case: str) -> None:
    where, expected = NODES[case]
    assert run(graph, f'update Person set {{ nick: "x" }} where {where}') == (len(expected), 0)
    assert {name for name, nick in values(graph, "Person", "nick").items() if nick} == expected
    graph.mutate("query q() { update Person set { nick: null } where nick is not null }")
    assert run(graph, f"delete Person where {where}")[0] == len(expected)
    assert set(values(graph, "Person", "nick")) == set("abcd") - expected


def test_nothing_is_committed_where_nothing_changes(graph: og.Graph) -> None:
    before = graph.commits()[0].id
    assert run(graph, 'update Knows set { weight: 1 } where from = "a" and to = "b"') == (0, 1)
    assert graph.commits()[0].id == before


def test_a_property_is_emptied(graph: og.Graph) -> None:
    assert run(graph, "update Knows set { weight: null } where weight > 1") == (0, 2)
    assert weights(graph) == {"ab": 1, "ac": None, "bc": None, "cd": None}
    with pytest.raises(og.TypeCheckError, match="T3"):
        run(graph, "update Person set { name: null } where age = 1")


def test_values_follow_from_the_row(graph: og.Graph) -> None:
    assert run(graph, "update Person set { nick: name, age: age } where age > 1") == (2, 0)
    assert values(graph, "Person", "nick") == {"a": None, "b": "b", "c": "c", "d": None}
    assert run(graph, "update Person set { age: age * 2 + 1 } where age + 1 > 2 and length(name) = 1") == (2, 0)
    assert values(graph, "Person", "age") == {"a": 1, "b": 5, "c": 7, "d": None}
    assert run(graph, 'update Person set { nick: concat(upper(name), "!"), age: coalesce(age, 0) - 1 } where name = "d"') == (
        1,
        0,
    )
    assert (values(graph, "Person", "nick")["d"], values(graph, "Person", "age")["d"]) == ("D!", -1)
    assert run(graph, "update Knows set { note: to } where weight is null") == (0, 1)
    assert values(graph, "Knows", "note")['["c","d"]'] == "d"


def test_later_statements_see_earlier_ones(graph: og.Graph) -> None:
    text = """
        insert Knows { from: "d", to: "a", weight: 5 }
        update Knows set { note: "seen" } where from = "d" and to = "a"
        update Knows set { weight: 6 } where note = "seen"
    """
    assert run(graph, text) == (0, 3)
    assert weights(graph)["da"] == 6
    assert values(graph, "Knows", "note")['["d","a"]'] == "seen"


def test_what_an_update_cannot_change(graph: og.Graph) -> None:
    for text, code in (
        ('update Knows set { from: "b" } where to = "c"', "T16"),
        ("update Knows set { id: 1 } where weight = 1", "T11"),
        ("update Knows set { weight: 1 } where nothing = 1", "T11"),
        ("delete Knows where weight = null", "T11"),
        ("delete Knows where weight = 1 and other is null", "T11"),
        ("delete Knows where weight = 1 and from = $x", "T14"),
        ('delete Knows where weight = 1 and from = 3 or note = "x"', "T7"),
        ("match { $p: Person } delete $q", "T10"),
        ("match { $p: Person  $p $k:knows $q } update $k set { to: $p }", "T16"),
        ("match { $p: Person } update $p set { age: $p.name }", "T3"),
        ("match { $p: Person } update $p set { age: count($p) }", "T3"),
        ("match { $p: Person } update $p set { age: $n }", "T14"),
    ):
        with pytest.raises(og.TypeCheckError) as found:
            run(graph, text)
        assert code in str(found.value), text
    with pytest.raises(og.UsageError, match="cannot update @key property"):
        run(graph, 'match { $p: Person } update $p set { name: "x" }')
    with pytest.raises(og.GraphError, match="D2"):
        run(graph, 'match { $p: Person } delete $p  insert Person { name: "x" }')


# ── patterns ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_what_a_pattern_finds_is_updated(graph: og.Graph) -> None:
    text = "match { $p: Person  $p $k:knows $f  $f.age > 2 } update $k set { weight: $f.age, note: $p.name }"
    assert run(graph, text) == (0, 2)
    assert weights(graph) == {"ab": 1, "ac": 3, "bc": 3, "cd": None}
    text = "match { $p: Person  $p $k:knows $f  $f.age > 2 } update $k set { weight: $k.weight + $f.age * 2 }"
    assert run(graph, text) == (0, 2)
    assert weights(graph) == {"ab": 1, "ac": 9, "bc": 9, "cd": None}
    assert values(graph, "Knows", "note") == {'["a","b"]': None, '["a","c"]': "a", '["b","c"]': "b", '["c","d"]': None}


def test_nodes_that_a_pattern_finds_are_deleted_with_their_edges(graph: og.Graph) -> None:
    assert run(graph, "match { $p: Person  not { $p knows $_ } } delete $p") == (1, 1)
    assert set(values(graph, "Person", "age")) == set("abc")
    assert set(weights(graph)) == {"ab", "ac", "bc"}


def test_edges_that_a_pattern_finds_are_deleted(graph: og.Graph) -> None:
    assert run(graph, 'match { $p: Person { name: "a" }  $p $s:saw $f  $s.day > 0 } delete $s') == (0, 2)
    assert set(values(graph, "Saw", "day")) == {"s0"}


def test_something_is_inserted_for_each_row(graph: og.Graph) -> None:
    text = "match { $a: Person  $a knows $b  $b knows $c } insert Knows { from: $c, to: $a, weight: $b.age }"
    assert run(graph, text) == (0, 3)
    assert weights(graph) == {**WEIGHTS, "ca": 2, "da": 3, "db": 3}
    assert run(graph, "match { $a: Person  $a $s:saw $b } insert Saw { from: $b, to: $a, day: $s.day }") == (0, 3)
    assert len(values(graph, "Saw", "day")) == 6


def test_one_entity_gets_one_value(graph: og.Graph) -> None:
    with pytest.raises(og.UsageError, match="two rows of the pattern give Person `a` different values for `age`"):
        run(graph, 'match { $p: Person { name: "a" }  $p $k:knows $f } update $p set { age: $k.weight }')
    assert run(graph, 'match { $p: Person { name: "a" }  $p $k:knows $f } update $p set { age: 9 }') == (1, 0)
    assert run(graph, 'match { $p: Person { name: "a" }  $p $s:saw $f } insert Knows { from: $f, to: $p, weight: 4 }') == (0, 1)


def test_a_pattern_sees_what_earlier_statements_did(graph: og.Graph) -> None:
    text = """
        insert Person { name: "e", age: 8 }
        insert Knows { from: "d", to: "e", weight: 1 }
        match { $p: Person { name: "d" }  $p $k:knows $f } update $k set { weight: $f.age }
        match { $p: Person  $f: Person { name: "e" }  $p knows $f } update $p set { age: $f.age }
    """
    assert run(graph, text) == (2, 2)
    assert weights(graph)["de"] == 8
    assert values(graph, "Person", "age")["d"] == 8
    deleted = 'delete Person where name = "b"  match { $p: Person  not { $q: Person  $q knows $p } } delete $p'
    assert run(graph, deleted)[0] == 2
    assert set(values(graph, "Person", "age")) == {"c", "d", "e"}


def test_what_an_optional_did_not_find_is_left_out(graph: og.Graph) -> None:
    assert run(graph, "match { $p: Person  optional { $p $s:saw $f } } update $s set { day: 9 }") == (0, 3)


def together(graph: og.Graph, text: str, other: og.Graph, theirs: str) -> None:
    """One mutation, and before it is committed another one."""
    with graph.transaction() as transaction:
        transaction.mutate(f"query q() {{ {text} }}")
        other.mutate(f"query q() {{ {theirs} }}")


def test_a_matched_type_that_somebody_else_changes_is_a_conflict(graph: og.Graph) -> None:
    other = og.open(graph._store.place.uri)
    for text, theirs in (
        ("match { $p: Person  $p $k:knows $f } update $k set { weight: 5 }", 'update Person set { age: 9 } where name = "a"'),
        (
            'update Knows set { weight: 6 } where from = "a" and to = "b"',
            'update Knows set { weight: 8 } where from = "a" and to = "b"',
        ),
        ('delete Knows where from = "a" and weight < 100', 'insert Knows { from: "a", to: "d", weight: 1 }'),
    ):
        with pytest.raises(og.ReadSetChanged):
            together(graph, text, other, theirs)
    mine = 'update Knows set { weight: 6 } where from = "c" and to = "d"'  # another edge of another node
    together(graph, mine, other, 'update Knows set { weight: 8 } where from = "a" and to = "b"')
    assert (weights(graph)["cd"], weights(graph)["ab"]) == (6, 8)


# ── cost ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def scans(graph: og.Graph, text: str) -> list[str]:
    """The filters of the scans of edges that a mutation makes."""
    found: list[str] = []
    made = Table.scanner

    def watched(table: Table, *args: Any, **asked: Any) -> Any:
        if "edges" in table.location:
            found.append(str(asked.get("filter")))
        return made(table, *args, **asked)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Table, "scanner", watched)
        assert run(graph, text) == (0, 1)
    return found


@pytest.mark.parametrize("key", ["", "@key(src, dst)"])
def test_one_edge_of_many_is_found_by_one_look(tmp_path: Path, key: str) -> None:
    """As many looks as there are edges of a node, however many edges there are; and none of them is for everything."""
    looks = []
    for size in (500, 5_000):
        schema = f"node Person {{ name: String @key }}\nedge Knows: Person -> Person {key} {{ weight: I32? }}"
        graph = make_graph(tmp_path / f"{size}", schema, {"Person": [{"name": f"p{n}"} for n in range(size)]})
        graph.load({"Knows": [{"from": f"p{n}", "to": f"p{(n + 1) % size}"} for n in range(size)]})
        graph.optimize()
        calm(graph)
        run(graph, 'insert Knows { from: "p1", to: "p9", weight: 1 }')
        mine = 'where from = "p7" and to = "p8"'
        looks.append([scans(graph, f"{what} {mine}") for what in ("update Knows set { weight: 3 }", "delete Knows")])
    assert [[len(one) for one in both] for both in looks] == [[1, 1], [1, 1]], looks
    assert all("p7" in scan for both in looks for one in both for scan in one)
