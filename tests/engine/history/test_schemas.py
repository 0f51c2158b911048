"""History across a schema change: what is compared, what is merged, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.engine.history.graphs import SCHEMA, contents, names, people, put, told

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


@pytest.mark.parametrize(("changed", "other"), [("main", "work"), ("work", "main")])
def test_two_schemas_and_changes_on_both_sides_are_refused(graph: og.Graph, changed: str, other: str) -> None:
    """The error says which of them has another schema, and what it says to do helps."""
    graph.apply_schema(WIDER, branch=changed)
    put(graph, 'insert Person { name: "Eve" }', other)
    before = contents(graph)
    with pytest.raises(og.SchemaBoundary, match=f"different schemas.* the schema of `{changed}` has changed") as caught:
        graph.merge("work")
    assert contents(graph) == before
    assert f"Apply to `{other}` what was applied to `{changed}`" in str(caught.value.hint)
    graph.apply_schema(WIDER, branch=other)
    assert graph.merge("work").outcome == "merged"
    assert "Eve" in names(graph, "Person")


def test_after_the_same_schema_on_both_sides_they_merge(graph: og.Graph) -> None:
    put(graph, 'insert Person { name: "Eve" }', "work")
    put(graph, 'update Person set { age: 1 } where name = "Alice"', "work")
    graph.apply_schema(WIDER)
    put(graph, 'update Person set { height: 170 } where name = "Alice"')
    put(graph, 'insert City { name: "Rome" }')
    graph.apply_schema(WIDER, branch="work")
    put(graph, 'insert City { name: "Oslo" }', "work")
    assert graph._view().snapshot.schema == graph._view("work").snapshot.schema
    assert graph.merge("work").outcome == "merged"
    alice = contents(graph)["Person", "Alice"]
    assert (alice["age"], alice["height"], alice["nickname"]) == (1, 170, "Al")
    assert names(graph, "City") == ["Oslo", "Rome"]
    assert names(graph, "Person") == ["Alice", "Bob", "Carol", "Eve"]


def test_a_renamed_property_is_no_change(graph: og.Graph) -> None:
    before = graph._view().snapshot.commit
    graph.apply_schema(RENAMED)
    assert len(graph.diff(before, "main")) == 0
    put(graph, 'update Person set { alias: "A" } where name = "Alice"')
    (change,) = graph.diff(before, "main")
    assert change.properties == ("alias",)
    assert change.before is not None
    assert change.before.properties["alias"] == "Al"


def test_a_new_property_is_no_change_until_it_has_a_value(graph: og.Graph) -> None:
    before = graph._view().snapshot.commit
    graph.apply_schema(WIDER)
    assert len(graph.diff(before, "main")) == 0
    assert len(graph.diff("main", before)) == 0
    put(graph, 'insert City { name: "Rome" }')
    put(graph, 'update Person set { height: 170 } where name = "Alice"')
    assert {(c.op, c.id) for c in graph.diff(before, "main")} == {("update", "Alice"), ("insert", "Rome")}


def test_a_new_type_alone_is_no_boundary(graph: og.Graph) -> None:
    cursor = graph.changes().next
    graph.apply_schema(SCHEMA + "\nnode City { name: String @key }")
    put(graph, 'insert City { name: "Rome" }')
    page = graph.changes(cursor)
    assert [len(block.changes) for block in page] == [0, 1]


def test_a_promise_alone_changes_nobody_and_a_backfill_those_it_fills(graph: og.Graph) -> None:
    cursor = graph.changes().next
    graph.apply_schema(SCHEMA.replace("age: I32?", "age: I32?  @range(age, 0..200)"))
    put(graph, 'insert Person { name: "Eve" }')
    page = graph.changes(cursor)
    assert [[c.id for c in block.changes] for block in page] == [[], ["Eve"]]
    assert [None if block.schema is None else block.schema.types for block in page] == [(), None]
    filled = SCHEMA.replace("age: I32?", "age: I32  @range(age, 0..200)")
    graph.apply_schema(filled, backfill={"Person.age": 0})
    (change,) = graph.changes(page.next).changes
    assert (change.op, change.id, change.properties) == ("update", "Eve", ("age",))
    assert (change.before and change.before.properties["age"], change.after and change.after.properties["age"]) == (None, 0)


def test_a_property_dropped_and_made_again_is_another_one(graph: og.Graph) -> None:
    before = graph._view().snapshot.commit
    graph.apply_schema(SCHEMA.replace("    nickname: String?\n", ""), allow_data_loss=True)
    graph.apply_schema(SCHEMA)
    assert len(graph.diff(before, "main")) == 0, "the old property is not part of the schema, the new one has no values"
    put(graph, 'update Person set { nickname: "B" } where name = "Bob"')
    (change,) = graph.diff(before, "main")
    assert (change.id, change.properties) == ("Bob", ("nickname",))
    assert contents(graph)["Person", "Alice"]["nickname"] is None


# ── reverting ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_commit_is_reverted_under_a_later_schema(graph: og.Graph) -> None:
    """Renamed, dropped and added since: what the commit changed comes back as far as there is a place for it."""
    done = put(graph, 'update Person set { nickname: "X", age: 99 } where name = "Alice"')
    assert done is not None
    later = RENAMED.replace("age: I32?", "height: I32?")
    graph.apply_schema(later)
    put(graph, 'update Person set { height: 170 } where name = "Alice"')
    assert graph.revert(done).outcome == "reverted"
    alice = contents(graph)["Person", "Alice"]
    assert (alice["alias"], alice["height"], "age" in alice) == ("Al", 170, False)


def test_a_deleted_entity_comes_back_without_what_is_new(graph: og.Graph) -> None:
    done = put(graph, 'delete Person where name = "Carol"')
    assert done is not None
    graph.apply_schema(WIDER)
    assert graph.revert(done).outcome == "reverted"
    assert contents(graph)["Person", "Carol"]["height"] is None


def test_what_has_become_a_rule_since_is_checked(graph: og.Graph) -> None:
    done = put(graph, 'delete Person where name = "Carol"')
    assert done is not None
    graph.apply_schema(SCHEMA.replace("age: I32?", "age: I32?\n    height: I32"), backfill={"Person.height": 170})
    before = contents(graph)
    with pytest.raises(og.MergeConflict) as caught:
        graph.revert(done)
    (conflict,) = told(caught.value)
    assert (conflict.kind, conflict.entity, conflict.properties) == ("value_constraint_violation", "Carol", ("height",))
    assert contents(graph) == before
    assert graph.revert(done, resolve={conflict.key: {"height": 160}}).outcome == "reverted"
    assert contents(graph)["Person", "Carol"]["height"] == 160


def test_a_change_of_a_type_that_is_gone_leaves_nothing_to_revert(graph: og.Graph) -> None:
    done = put(graph, 'insert Company { name: "Initech" }')
    assert done is not None
    without = "\n".join(line for line in SCHEMA.splitlines() if "Company" not in line)
    graph.apply_schema(without)
    assert graph.revert(done).outcome == "nothing_to_revert"


@pytest.mark.parametrize(
    "schema",
    [
        WIDER,
        RENAMED,
        SCHEMA + "\nnode City { name: String @key }",
        SCHEMA.replace("node Company", 'node Firm @rename_from("Company")').replace("-> Company", "-> Firm"),
        SCHEMA.replace("node Company", 'node Company @description("who pays")'),
    ],
    ids=["wider", "property renamed", "type added", "type renamed", "described"],
)
def test_a_change_of_the_schema_is_not_reverted(graph: og.Graph, schema: str) -> None:
    """Whether it touched rows or not: one that only renames a type touches none."""
    applied = graph.apply_schema(schema).commit
    assert applied is not None
    with pytest.raises(og.SchemaBoundary, match="changed the schema") as caught:
        graph.revert(applied.id)
    assert caught.value.hint is not None
    assert "apply_schema" in caught.value.hint


# ── columns that came to be by different ways ────────────────────────────────────────────────────────────────────────────────────


def test_large_inserts_merge_between_branches_whose_columns_were_filled_differently(graph: og.Graph) -> None:
    """One schema, but only one branch had anything to fill: the files of the other cannot be taken over as they are."""
    filled = SCHEMA.replace("age: I32?", "age: I32")
    put(graph, 'insert Person { name: "Zed" }')
    graph.apply_schema(filled, backfill={"Person.age": 0})
    graph.apply_schema(filled, backfill={"Person.age": 0}, branch="work")
    rows = [{"name": f"p{n}", "age": n} for n in range(3_000)]
    graph.load({"Person": rows}, branch="work")
    assert graph.merge("work").outcome == "merged"
    found = contents(graph)
    assert found["Person", "Zed"]["age"] == 0
    assert [found["Person", f"p{n}"]["age"] for n in range(3_000)] == list(range(3_000))
