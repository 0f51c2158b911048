"""Mutations, by the numbers of the specification."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.engine.graphs import Data, make_graph

import omnigraph as og
from omnigraph.catalog.columns import columns_of
from omnigraph.catalog.opening import offline_catalog
from omnigraph.engine.write.changeset import Delta
from omnigraph.language import Source

SCHEMA = """
node Person { name: String @key  age: I32?  nick: String? @unique  mood: enum(happy, sad)?  weight: F32?  seen: DateTime?
              tags: [String]?  taste: Vector(2)?  photo: Blob?  @range(age, 0..200) }
node Company { name: String @key  code: String?  @check(code, "^[A-Z]+$") }
node Issue { number: I32  tenant: String  title: String?  @key(number, tenant) }
node Note { text: String }
edge Knows: Person -> Person { since: Date? }
edge WorksAt: Person -> Company @card(0..1)
edge Guards: Person -> Company @card(2..)
"""
PEOPLE: Data = {
    "Person": [{"name": n, "age": a} for n, a in (("Alice", 30), ("Bob", 25), ("Charlie", 35), ("Diana", 28))],
    "Company": [{"name": "Acme"}, {"name": "Globex"}],
    "Knows": [{"src": s, "dst": d} for s, d in (("Alice", "Bob"), ("Alice", "Charlie"), ("Bob", "Diana"))],
    "WorksAt": [{"src": "Alice", "dst": "Acme"}, {"src": "Bob", "dst": "Globex"}],
}


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    return make_graph(tmp_path, SCHEMA, PEOPLE)


def counts(graph: og.Graph) -> dict[str, int]:
    return {t.name: t.rows for t in graph.stats().types if t.rows}


def person(graph: og.Graph, name: str) -> dict[str, Any] | None:
    text = "query q($n: String) { match { $p: Person { name: $n } } return { $p.name, $p.age, $p.nick, $p.tags, $p.seen } }"
    found = graph.query(text, {"n": name}).one()
    return None if found is None else {key.removeprefix("p."): value for key, value in found.items()}


def run(graph: og.Graph, statements: str, params: dict[str, object] | None = None, declared: str = "") -> tuple[int, int]:
    receipt = graph.mutate(f"query m({declared}) {{ {statements} }}", params)
    return receipt.affected_nodes, receipt.affected_edges


def refused(graph: og.Graph, error: type[og.GraphError], says: str, statements: str, *rest: Any) -> og.GraphError:
    """A mutation that is refused and changes nothing."""
    before = graph.commits()[0].id
    with pytest.raises(error) as raised:
        run(graph, statements, *rest)
    assert says in str(raised.value)
    assert graph.commits()[0].id == before
    return raised.value


def test_u1_a_keyed_insert_replaces(graph: og.Graph) -> None:
    assert run(graph, 'insert Person { name: "Alice", age: 31 }') == (1, 0)
    assert counts(graph)["Person"] == 4
    assert person(graph, "Alice") == {"name": "Alice", "age": 31, "nick": None, "tags": None, "seen": None}


def test_u2_what_is_not_mentioned_becomes_null(graph: og.Graph) -> None:
    run(graph, 'insert Person { name: "Alice" }')
    found = person(graph, "Alice")
    assert found is not None
    assert found["age"] is None


def test_u3_several_inserts_are_one_commit(graph: og.Graph) -> None:
    before = len(graph.commits())
    assert run(graph, 'insert Person { name: "x" } insert Person { name: "y" } insert Knows { from: "x", to: "y" }') == (2, 1)
    assert len(graph.commits()) == before + 1


def test_u3_an_edge_may_come_before_its_node(graph: og.Graph) -> None:
    assert run(graph, 'insert Knows { from: "x", to: "Bob" } insert Person { name: "x" }') == (1, 1)


def test_u4_an_edge_needs_both_ends(graph: og.Graph) -> None:
    error = refused(graph, og.ValidationError, "not found in Person", 'insert Knows { from: "Alice", to: "Nobody" }')
    assert isinstance(error, og.ValidationError)
    (violation,) = error.violations
    assert (violation.rule, violation.type, violation.property, violation.value) == ("endpoint", "Knows", "to", "Nobody")


def test_u5_update(graph: og.Graph) -> None:
    assert run(graph, 'update Person set { age: 31 } where name = "Alice"') == (1, 0)
    assert person(graph, "Alice") == {"name": "Alice", "age": 31, "nick": None, "tags": None, "seen": None}


def test_u6_the_key_stays(graph: og.Graph) -> None:
    refused(graph, og.UsageError, "cannot update @key property 'name'", 'update Person set { name: "x" } where name = "Alice"')


def test_u7_no_match_is_no_commit(graph: og.Graph) -> None:
    before = graph.commits()[0].id
    receipt = graph.mutate("query m() { update Person set { age: 1 } where age > 100 }")
    assert (receipt.affected_nodes, receipt.commit) == (0, None)
    assert graph.commits()[0].id == before


def test_u8_deleting_a_node_deletes_its_edges(graph: og.Graph) -> None:
    assert run(graph, 'delete Person where name = "Alice"') == (1, 3)
    assert counts(graph) == {"Person": 3, "Company": 2, "Knows": 1, "WorksAt": 1}


def test_u9_overlapping_deletes_count_once(graph: og.Graph) -> None:
    assert run(graph, 'delete Person where name = "Alice" delete Person where age > 29') == (2, 3)


def test_u10_a_missing_value_is_still_found_by_another_statement(graph: og.Graph) -> None:
    run(graph, 'insert Person { name: "Alice" }')
    assert run(graph, 'delete Person where age > 30 delete Person where name = "Alice"') == (2, 3)


def test_u11_inserts_and_deletes_do_not_mix(graph: og.Graph) -> None:
    refused(graph, og.MixedMutationError, "D2", 'insert Person { name: "x" } delete Person where name = "Bob"')


def test_u12_an_update_sees_what_was_inserted(graph: og.Graph) -> None:
    assert run(graph, 'insert Person { name: "x", age: 1 } update Person set { nick: "n" } where age = 1') == (2, 0)
    found = person(graph, "x")
    assert found is not None
    assert (found["age"], found["nick"]) == (1, "n")


def test_u12_an_update_does_not_see_what_was_replaced(graph: og.Graph) -> None:
    statements = 'insert Person { name: "Alice", age: 77 } update Person set { nick: "n" } where age = 30'
    assert run(graph, statements) == (1, 0)


def test_u13_two_rows_with_one_unique_value(graph: og.Graph) -> None:
    error = refused(graph, og.ValidationError, "must be unique", 'update Person set { nick: "n" } where age > 29')
    assert "Alice" in str(error)
    assert "Charlie" in str(error)


def test_u13_against_what_is_committed(graph: og.Graph) -> None:
    run(graph, 'update Person set { nick: "n" } where name = "Alice"')
    error = refused(graph, og.ValidationError, "must be unique", 'update Person set { nick: "n" } where name = "Bob"')
    assert "`Bob` and `Alice` both have nick = 'n'" in str(error)


def test_u14_values_may_be_swapped(graph: og.Graph) -> None:
    run(graph, 'update Person set { nick: "a" } where name = "Alice" update Person set { nick: "b" } where name = "Bob"')
    run(graph, 'update Person set { nick: "b" } where name = "Alice" update Person set { nick: "a" } where name = "Bob"')
    assert [person(graph, n)["nick"] for n in ("Alice", "Bob")] == ["b", "a"]  # type: ignore[index]


def test_u15_too_many_edges(graph: og.Graph) -> None:
    refused(graph, og.ValidationError, "would have 2 WorksAt edges (max 1)", 'insert WorksAt { from: "Alice", to: "Globex" }')


def test_u16_too_few_edges(graph: og.Graph) -> None:
    refused(graph, og.ValidationError, "(min 2)", 'insert Guards { from: "Alice", to: "Acme" }')
    run(graph, 'insert Guards { from: "Alice", to: "Acme" } insert Guards { from: "Alice", to: "Globex" }')
    refused(graph, og.ValidationError, "(min 2)", 'delete Guards where to = "Acme"')
    refused(graph, og.ValidationError, "(min 2)", 'delete Company where name = "Acme"')
    assert run(graph, 'delete Person where name = "Alice"') == (1, 5)


def test_u17_enums(graph: og.Graph) -> None:
    error = refused(
        graph, og.ValidationError, "not one of happy, sad", 'insert Person { name: "x", mood: $m }', {"m": "grim"}, "$m: String"
    )
    assert isinstance(error, og.ValidationError)
    refused(graph, og.TypeCheckError, "T3", 'insert Person { name: "x", mood: "grim" }')


def test_u18_u19_static_rules(graph: og.Graph) -> None:
    refused(graph, og.TypeCheckError, "T12", 'insert WorksAt { from: "Alice" }')
    refused(graph, og.TypeCheckError, "T16", 'update Knows set { from: "Bob" } where from = "Alice"')


def test_u20_deleting_edges(graph: og.Graph) -> None:
    assert run(graph, 'delete Knows where from = "Alice"') == (0, 2)
    assert counts(graph)["Person"] == 4
    assert run(graph, 'delete Knows where from >= "B"') == (0, 1)


@pytest.mark.parametrize(
    ("declared", "property_", "value", "error", "says"),
    [
        ("I64", "age", 2147483648, og.ParameterError, "exceeds Int32 range"),
        ("I64", "age", 201, og.ValidationError, "outside 0..200"),
        ("F64", "weight", 1e39, og.ParameterError, "not a finite number"),
        ("F64", "age", 1.0, og.ParameterError, "cannot convert"),
        ("String", "photo", "file:///etc/passwd", og.BlobRefused, "no policy allows"),
        ("String", "photo", "base64:?", og.ParameterError, "not base64"),
    ],
)
def test_u21_values_must_fit(graph: og.Graph, declared: str, property_: str, value: object, error: Any, says: str) -> None:
    refused(graph, error, says, f'insert Person {{ name: "x", {property_}: $v }}', {"v": value}, f"$v: {declared}")


def test_u21_integers_are_welcome_as_floats(graph: og.Graph) -> None:
    run(graph, 'insert Person { name: "x", weight: 3, taste: [1, 2] }')
    found = graph.query('query q() { match { $p: Person { name: "x" } } return { $p.weight, $p.taste } }').one()
    assert found == {"p.weight": 3.0, "p.taste": [1.0, 2.0]}


def test_u22_a_key_of_two_parts(graph: og.Graph) -> None:
    run(graph, 'insert Issue { number: 7, tenant: "acme", title: "a" }')
    assert graph.query("query q() { match { $i: Issue } return { $i } }").rows == [{"i": '["7","acme"]'}]
    assert run(graph, 'insert Issue { number: 7, tenant: "acme" }') == (1, 0)
    assert counts(graph)["Issue"] == 1
    for assigned in ("number: 8", 'tenant: "x"'):
        refused(graph, og.UsageError, "@key", f'update Issue set {{ {assigned} }} where title = "a"')


def test_u23_now_is_one_moment(graph: og.Graph) -> None:
    run(graph, 'insert Person { name: "x", seen: now() } insert Person { name: "y", seen: now() }')
    moments = [person(graph, n)["seen"] for n in ("x", "y")]  # type: ignore[index]
    assert moments[0] == moments[1]
    assert abs(moments[0] - dt.datetime.now(dt.UTC)) < dt.timedelta(minutes=1)


def test_every_version_of_a_row_must_be_valid(graph: og.Graph) -> None:
    bad = 'insert Person { name: "x", age: 999 } update Person set { age: 9 } where name = "x"'
    refused(graph, og.ValidationError, "outside 0..200", bad)
    refused(graph, og.ValidationError, "does not match", 'insert Company { name: "x", code: "low" }')


def test_a_keyless_node_is_always_new(graph: og.Graph) -> None:
    run(graph, 'insert Note { text: "a" } insert Note { text: "a" }')
    assert counts(graph)["Note"] == 2


def test_blobs_are_kept_through_an_update(graph: og.Graph) -> None:
    run(graph, 'insert Person { name: "x", photo: $b }', {"b": "base64:aGVsbG8="}, "$b: String")
    run(graph, 'update Person set { age: 3 } where name = "x"')
    table = graph._view().nodes("Person").stored.table
    assert table.dataset.scanner(filter="id = 'x'", blob_handling="all_binary").to_table()["photo"].to_pylist() == [b"hello"]
    run(graph, 'update Person set { photo: $b } where name = "x"', {"b": None}, "$b: String?")
    table = graph._view().nodes("Person").stored.table
    assert table.dataset.scanner(filter="id = 'x'", blob_handling="all_binary").to_table()["photo"].to_pylist() == [None]


def test_all_violations_are_reported(graph: og.Graph) -> None:
    statements = " ".join(f'insert Knows {{ from: "n{i}", to: "Bob" }}' for i in range(30))
    error = refused(graph, og.ValidationError, "30 violations (endpoint 30)", statements)
    assert isinstance(error, og.ValidationError)
    assert len(error.violations) == 30
    listed = error.to_dict()["violations"]
    assert isinstance(listed, list)
    assert [v["value"] for v in listed] == [f"n{i}" for i in range(30)]
    assert "… and 10 more" in str(error)


def test_a_precondition(graph: og.Graph) -> None:
    head = graph.commits()[0].id
    graph.mutate('query m() { insert Person { name: "x" } }', if_commit=head)
    with pytest.raises(og.PreconditionFailed, match=head):
        graph.mutate('query m() { insert Person { name: "y" } }', if_commit=head)


def test_a_commit_says_who_and_why(graph: og.Graph) -> None:
    receipt = graph.mutate('query m() { insert Person { name: "x" } }', actor="ada", message="because")
    commit = graph.commits(limit=1)[0]
    assert receipt.commit == commit
    assert (commit.actor, commit.message, commit.operation) == ("ada", "because", "mutate")


def test_a_mutation_has_a_limit_that_load_has_not(graph: og.Graph) -> None:
    text = "query m() { " + 'insert Note { text: "a" } ' * 8_193 + "}"
    with pytest.raises(og.ResourceLimit, match="8,192 rows of Note"):
        graph.mutate(text)
    graph.load({"Note": [{"text": "a"}] * 8_193})
    with pytest.raises(og.ResourceLimit, match="insert or update at most 8,192 rows of Note"):
        graph.mutate('query m() { update Note set { text: "b" } where text = "a" }')
    assert graph.mutate('query m() { delete Note where text = "a" }').affected_nodes == 8_193, "deletes have no such limit"


def test_a_column_is_put_together_once_however_many_rows_are_wrong() -> None:
    """Rules ask for values row by row; a column in many pieces must not be copied for each of them."""
    type_ = offline_catalog(Source("node N { name: String @key  age: I32? }")).nodes["N"]
    piece = pa.table({"id": ["a"], "age": pa.array([1], pa.int32()), "name": ["a"]}, schema=columns_of(type_))
    delta = Delta(type_, pa.concat_tables([piece] * 3))
    assert delta.column("age") is delta.column("age")
    assert delta.ids is delta.column("id")
