"""A graph gets another schema: data follows, history stays, other branches keep theirs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.engine.graphs import Data, make_graph

import omnigraph as og
from omnigraph.engine.schema import apply as schema_apply

PERSON = "node Person { name: String @key  age: I32?  status: enum(open, done)? }"
KNOWS = "edge Knows: Person -> Person"
SCHEMA = f"{PERSON}\n{KNOWS}\n"
DATA: Data = {
    "Person": [{"name": "a", "age": 1, "status": "open"}, {"name": "b", "age": 2}],
    "Knows": [{"src": "a", "dst": "b"}],
}


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    return make_graph(tmp_path, SCHEMA, DATA)


def rows(graph: og.Graph, what: str, type_: str = "Person", **where: Any) -> list[tuple[Any, ...]]:
    text = f"query q() {{ match {{ $p: {type_} }} return {{ {what} }} order {{ $p.name }} }}"
    return [tuple(row.values()) for row in graph.query(text, **where).rows]


def test_m1_a_new_property_is_null(graph: og.Graph) -> None:
    before = graph.commits()[0].id
    done = graph.apply_schema(SCHEMA.replace("age:", "nick: String?  age:"))
    assert repr(done).splitlines()[1:] == ["- add property 'Person.nick' (String?) on node 'Person'"]
    assert rows(graph, "$p.name, $p.nick, $p.age") == [("a", None, 1), ("b", None, 2)]
    graph.mutate('query m() { insert Person { name: "c", nick: "n", age: 3 } }')
    graph.mutate('query m() { update Person set { nick: "m" } where name = "a" }')
    assert rows(graph, "$p.name, $p.nick, $p.age") == [("a", "m", 1), ("b", None, 2), ("c", "n", 3)]
    assert rows(graph, "$p.name, $p.age", at=before) == [("a", 1), ("b", 2)]
    assert graph.verify().ok


def test_m2_a_required_property_is_refused(graph: og.Graph) -> None:
    before = graph.commits()[0].id
    with pytest.raises(og.UnsupportedChange, match="OG-MF-103"):
        graph.apply_schema(SCHEMA.replace("age:", "mail: String  age:"))
    assert graph.commits()[0].id == before
    assert not graph.plan_schema(SCHEMA.replace("age:", "mail: String  age:")).supported


def test_m3_a_renamed_type_keeps_its_data(graph: og.Graph) -> None:
    renamed = SCHEMA.replace("node Person {", 'node Human @rename_from("Person") {').replace("Person -> Person", "Human -> Human")
    graph.apply_schema(renamed)
    assert rows(graph, "$p.name, $p.age", "Human") == [("a", 1), ("b", 2)]
    text = "query q() { match { $p: Human  $p knows $f } return { $p.name, $f.name } }"
    assert graph.query(text).rows == [{"p.name": "a", "f.name": "b"}]
    with pytest.raises(og.TypeCheckError, match="Person"):
        rows(graph, "$p.name")


def test_m5_an_enum_grows(graph: og.Graph) -> None:
    graph.apply_schema(SCHEMA.replace("enum(open, done)", "enum(done, open, blocked)"))
    graph.mutate('query m() { insert Person { name: "c", status: "blocked" } }')
    assert rows(graph, "$p.status") == [("open",), (None,), ("blocked",)]


def test_m7_a_renamed_property_keeps_its_values(graph: og.Graph) -> None:
    new = SCHEMA.replace("status: enum(open, done)?", 'state: enum(open, done, stuck)? @rename_from("status")')
    graph.apply_schema(new)
    assert rows(graph, "$p.name, $p.state") == [("a", "open"), ("b", None)]


def test_m8_an_index_is_a_matter_of_the_schema(graph: og.Graph) -> None:
    before = graph._view().nodes("Person").stored.pin
    graph.apply_schema(SCHEMA.replace("age: I32?", "age: I32? @index"))
    assert graph._view().nodes("Person").stored.pin == before
    graph.optimize()
    assert "age" in {i.column for i in graph._view().nodes("Person").stored.state.indexes}


def test_m10_a_dropped_property_stays_in_the_past(graph: og.Graph) -> None:
    before = graph.commits()[0].id
    graph.apply_schema(SCHEMA.replace("age: I32?", ""))
    with pytest.raises(og.TypeCheckError, match="age"):
        rows(graph, "$p.age")
    assert rows(graph, "$p.name, $p.age", at=before) == [("a", 1), ("b", 2)]
    graph.apply_schema(SCHEMA)
    assert rows(graph, "$p.age") == [(None,), (None,)], "a property of the same name is another property"


def test_m12_m18_types_come_and_go(graph: og.Graph) -> None:
    before = graph.commits()[0].id
    graph.apply_schema("node Company { name: String @key }")
    with pytest.raises(og.TypeCheckError):
        rows(graph, "$p.name")
    graph.mutate('query m() { insert Company { name: "Acme" } }')
    assert rows(graph, "$p.name", "Company") == [("Acme",)]
    graph.apply_schema(SCHEMA)
    assert rows(graph, "$p.name") == [], "a type of the same name is another type"
    assert rows(graph, "$p.name", at=before) == [("a",), ("b",)]
    assert graph.verify().ok


def test_m13_no_difference_is_no_commit(graph: og.Graph) -> None:
    done = graph.apply_schema(f"// a remark\n{KNOWS}\n{PERSON}")
    assert (done.applied, done.plan.steps) == (False, ())


def test_m17_other_branches_keep_their_schema(graph: og.Graph) -> None:
    graph.branches.create("side")
    graph.apply_schema(SCHEMA.replace("age:", "nick: String?  age:"))
    assert rows(graph, "$p.nick") == [(None,), (None,)]
    with pytest.raises(og.TypeCheckError):
        rows(graph, "$p.nick", branch="side")
    graph.mutate('query m() { insert Person { name: "c", age: 9 } }', branch="side")
    assert rows(graph, "$p.name, $p.age", branch="side") == [("a", 1), ("b", 2), ("c", 9)]
    graph.apply_schema(SCHEMA.replace("age:", "size: F64?  age:"), branch="side")
    assert rows(graph, "$p.size", branch="side") == [(None,), (None,), (None,)]


def test_a_writer_in_between_is_not_lost(graph: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    other = og.open(graph._store.place.uri)
    original = schema_apply._Change._publish_plan
    done: list[bool] = []

    def late(*given: Any) -> Any:
        plan = original(*given)
        if not done:
            done.append(True)
            other.mutate('query m() { insert Person { name: "c" } }')
        return plan

    monkeypatch.setattr(schema_apply._Change, "_publish_plan", late)
    graph.apply_schema(SCHEMA.replace("age:", "nick: String?  age:"))
    assert rows(graph, "$p.name, $p.nick") == [("a", None), ("b", None), ("c", None)]


def test_a_write_that_was_prepared_for_the_old_schema_is_void(graph: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    from omnigraph.engine.write import commit as committing

    other = og.open(graph._store.place.uri)
    original = committing.change_of
    new = SCHEMA.replace("age:", "nick: String?  age:")
    monkeypatch.setattr(committing, "change_of", lambda delta, view: (other.apply_schema(new), original(delta, view))[1])
    with pytest.raises(og.ReadSetChanged, match="schema"):
        graph.mutate('query m() { insert Person { name: "c" } }')


def test_the_schema_is_kept_with_the_graph(graph: og.Graph) -> None:
    assert graph.schema() == SCHEMA
    before = graph.commits()[0].id
    new = SCHEMA.replace("age:", "nick: String?  age:")
    graph.apply_schema(new)
    assert (graph.schema(), graph.schema(at=before)) == (new, SCHEMA)


def test_a_text_that_was_dropped_is_not_found_again(tmp_path: Path) -> None:
    schema = "node Doc { name: String @key  text: String? }"
    graph = make_graph(tmp_path, schema, {"Doc": [{"name": "a", "text": "wolf and lamp"}]})
    find = 'query q() { match { $d: Doc  search($d.text, "wolf") } return { $d.name } }'
    assert len(graph.query(find)) == 1
    graph.apply_schema("node Doc { name: String @key }")
    graph.apply_schema(schema)
    assert len(graph.query(find)) == 0
