"""History across a schema change: what is compared, what is merged, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.engine.history.graphs import SCHEMA, contents, names, people, put

import omnigraph as og

WIDER = SCHEMA.replace("age: I32?", "age: I32?\n    height: I32?").replace(
    "node Company", "node City { name: String @key }\nnode Company"
)
RENAMED = SCHEMA.replace("nickname: String?", 'alias: String? @rename_from("nickname")')


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    made = people(tmp_path)
    put(made, 'update Person set { nickname: "Al" } where name = "Alice"')
    made.branches.create("work")
    return made


def test_a_fast_forward_takes_the_schema_along(graph: og.Graph) -> None:
    graph.apply_schema(WIDER, branch="work")
    put(graph, 'insert City { name: "Rome" }', "work")
    put(graph, 'update Person set { height: 170 } where name = "Alice"', "work")
    assert graph.merge("work").outcome == "fast_forward"
    assert contents(graph) == contents(graph, "work")
    assert names(graph, "City") == ["Rome"]
    put(graph, 'insert City { name: "Oslo" }')


def test_two_schemas_and_changes_on_both_sides_are_refused(graph: og.Graph) -> None:
    graph.apply_schema(WIDER)
    put(graph, 'insert Person { name: "Eve" }', "work")
    before = contents(graph)
    with pytest.raises(og.SchemaBoundary, match="different schemas"):
        graph.merge("work")
    assert contents(graph) == before


def test_after_the_same_schema_on_both_sides_they_merge(graph: og.Graph) -> None:
    put(graph, 'insert Person { name: "Eve" }', "work")
    put(graph, 'update Person set { age: 1 } where name = "Alice"', "work")
    graph.apply_schema(WIDER)
    put(graph, 'update Person set { height: 170 } where name = "Alice"')
    put(graph, 'insert City { name: "Rome" }')
    graph.apply_schema(WIDER, branch="work")
    put(graph, 'insert City { name: "Oslo" }', "work")
    assert graph.view().snapshot.schema == graph.view("work").snapshot.schema
    assert graph.merge("work").outcome == "merged"
    alice = contents(graph)["Person", "Alice"]
    assert (alice["age"], alice["height"], alice["nickname"]) == (1, 170, "Al")
    assert names(graph, "City") == ["Oslo", "Rome"]
    assert names(graph, "Person") == ["Alice", "Bob", "Carol", "Eve"]


def test_a_renamed_property_is_no_change(graph: og.Graph) -> None:
    before = graph.view().snapshot.commit
    graph.apply_schema(RENAMED)
    assert len(graph.diff(before, "main")) == 0
    put(graph, 'update Person set { alias: "A" } where name = "Alice"')
    (change,) = graph.diff(before, "main")
    assert change.properties == ("alias",)
    assert change.before is not None
    assert change.before.properties["alias"] == "Al"


def test_a_new_property_is_no_change_until_it_has_a_value(graph: og.Graph) -> None:
    before = graph.view().snapshot.commit
    graph.apply_schema(WIDER)
    assert len(graph.diff(before, "main")) == 0
    assert len(graph.diff("main", before)) == 0
    put(graph, 'insert City { name: "Rome" }')
    put(graph, 'update Person set { height: 170 } where name = "Alice"')
    assert {(c.op, c.id) for c in graph.diff(before, "main")} == {("update", "Alice"), ("insert", "Rome")}


def test_the_feed_stops_at_a_schema_change_that_rewrote_rows(graph: og.Graph) -> None:
    cursor = graph.changes().next
    put(graph, 'insert Person { name: "Eve" }')
    applied = graph.apply_schema(WIDER).commit
    assert applied is not None
    put(graph, 'insert City { name: "Rome" }')
    with pytest.raises(og.SchemaBoundary) as caught:
        graph.changes(cursor)
    assert (caught.value.commit, caught.value.type_name) == (applied.id, "Person")
    page = graph.changes(f"after:{applied.id}")
    assert [c.id for c in page.changes] == ["Rome"]
    with pytest.raises(og.SchemaBoundary):
        graph.revert(applied.id)


def test_a_new_type_alone_is_no_boundary(graph: og.Graph) -> None:
    cursor = graph.changes().next
    graph.apply_schema(SCHEMA + "\nnode City { name: String @key }")
    put(graph, 'insert City { name: "Rome" }')
    page = graph.changes(cursor)
    assert [len(block.changes) for block in page] == [0, 1]


def test_a_property_dropped_and_made_again_is_another_one(graph: og.Graph) -> None:
    before = graph.view().snapshot.commit
    graph.apply_schema(SCHEMA.replace("    nickname: String?\n", ""), allow_data_loss=True)
    graph.apply_schema(SCHEMA)
    assert len(graph.diff(before, "main")) == 0, "the old property is not part of the schema, the new one has no values"
    put(graph, 'update Person set { nickname: "B" } where name = "Bob"')
    (change,) = graph.diff(before, "main")
    assert (change.id, change.properties) == ("Bob", ("nickname",))
    assert contents(graph)["Person", "Alice"]["nickname"] is None
