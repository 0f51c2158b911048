"""Two states compared: what is told, in which order, and at what cost."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.graphs import add, delete, upsert
from tests.engine.history.graphs import contents, people, put

import omnigraph as og
from omnigraph.engine.history.equality import same
from omnigraph.engine.upkeep.reconcile import optimize


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    made = people(tmp_path)
    made.branches.create("work")
    return made


def told(diff: object) -> list[tuple[str, str, str]]:
    return [(c.op, c.type, c.id) for c in diff]  # type: ignore[attr-defined]


def test_states_are_compared_as_they_are_and_a_branch_with_where_it_began(graph: og.Graph) -> None:
    put(graph, 'insert Person { name: "Eve" }', "work")
    put(graph, 'insert Person { name: "Zoe" }')
    assert told(graph.diff("main", "work")) == [("insert", "Person", "Eve"), ("delete", "Person", "Zoe")]
    began = graph.branches.get("work").fork_commit
    assert began is not None
    assert told(graph.diff(began, "work")) == [("insert", "Person", "Eve")]
    preview = graph.merge("work", dry_run=True).changes
    assert told(preview) == [("insert", "Person", "Eve")]


def test_inserts_updates_and_deletes(graph: og.Graph) -> None:
    put(graph, 'insert Person { name: "Eve", age: 9 }', "work")
    put(graph, 'update Person set { age: 31, nickname: "Al" } where name = "Alice"', "work")
    put(graph, 'delete Person where name = "Bob"', "work")
    found = graph.diff("main", "work")
    assert told(found) == [
        ("update", "Person", "Alice"),
        ("delete", "Person", "Bob"),
        ("insert", "Person", "Eve"),
        ("delete", "Knows", "k1"),
    ]
    alice, bob, eve, knows = found
    assert alice.properties == ("age", "nickname")
    assert alice.before is not None
    assert alice.after is not None
    assert (alice.before.properties["age"], alice.after.properties["age"]) == (30, 31)
    assert (bob.after, eve.before) == (None, None)
    assert (knows.endpoints, eve.endpoints) == (("Alice", "Bob"), None)
    assert found.stats.to_dict() == {"inserts": 1, "updates": 1, "deletes": 2, "types_affected": ["Knows", "Person"]}
    assert len(found) == 4
    assert (
        repr(found)
        == """main → work   4 changes: 1 insert, 1 update, 2 deletes
  update  Person Alice
          age: 30 → 31
          nickname: <null> → Al
  delete  Person Bob
          - age: 40
          - name: Bob
  insert  Person Eve
          + age: 9
          + name: Eve
  delete  Knows k1  Alice -> Bob"""
    )


def test_the_other_way_round(graph: og.Graph) -> None:
    put(graph, 'insert Person { name: "Eve" }', "work")
    put(graph, 'insert Person { name: "Mia" }')
    assert told(graph.diff("main", "work")) == [("insert", "Person", "Eve"), ("delete", "Person", "Mia")]
    assert told(graph.diff("work", "main")) == [("delete", "Person", "Eve"), ("insert", "Person", "Mia")]


def test_branches_tags_and_commits(graph: og.Graph) -> None:
    first = graph._view().snapshot.commit
    graph.tags.create("v1", first)
    second = put(graph, 'insert Person { name: "Eve" }')
    assert second is not None
    expected = [("insert", "Person", "Eve")]
    for before in ("v1", first, "work"):
        for after in ("main", second):
            assert told(graph.diff(before, after)) == expected
    assert len(graph.diff("v1", "work")) == 0
    assert repr(graph.diff("v1", "work")) == "v1 → work   no changes"
    for name in ("nope", "no/such"):
        with pytest.raises(og.NotFound, match="no branch, tag or commit"):
            graph.diff("main", name)
    with pytest.raises(og.HistoryReclaimed):
        graph.diff("main", "01ARZ3NDEKTSV4RRFFQ69G5FAV")


def test_a_moved_edge(graph: og.Graph) -> None:
    upsert(graph, "Knows", [{"id": "k1", "src": "Alice", "dst": "Carol"}], "work")
    (change,) = found = graph.diff("main", "work")
    assert (change.op, change.properties, change.endpoints) == ("update", ("to",), ("Alice", "Carol"))
    assert "Alice -> Bob => Alice -> Carol" in repr(found)


def test_equal_values_written_again_are_no_change(graph: og.Graph) -> None:
    """B13."""
    upsert(graph, "Person", [{"name": "Alice", "age": 30}], "work")
    put(graph, 'delete Person where name = "Carol"', "work")
    put(graph, 'insert Person { name: "Carol", age: 50 }', "work")
    assert len(graph.diff("main", "work")) == 0
    optimize(graph._store, "work", graph._view().catalog)
    assert len(graph.diff("main", "work")) == 0


def test_filters(graph: og.Graph) -> None:
    put(graph, 'insert Person { name: "Eve" }', "work")
    put(graph, 'insert Company { name: "Hooli" }', "work")
    put(graph, 'insert Knows { from: "Alice", to: "Eve" }', "work")
    put(graph, 'delete Person where name = "Carol"', "work")
    assert {c.type for c in graph.diff("main", "work", types=["Company", "Knows"])} == {"Company", "Knows"}
    assert {c.type for c in graph.diff("main", "work", kinds="node")} == {"Company", "Person"}
    assert told(graph.diff("main", "work", ops="delete")) == [("delete", "Person", "Carol")]
    assert told(graph.diff("main", "work", kinds=["node"], types="Person", ops=["insert"])) == [("insert", "Person", "Eve")]
    for wrong in ({"kinds": "vertex"}, {"ops": "upsert"}, {"types": "Persn"}):
        with pytest.raises(og.UsageError, match="no "):
            graph.diff("main", "work", **wrong)


def test_every_kind_of_value(graph: og.Graph) -> None:
    row = {"name": "Alice", "age": 30, "born": date(1990, 1, 2), "tags": ["a"], "place": [0.5, 1.5], "photo": b"\x00\xff"}
    upsert(graph, "Person", [row], "work")
    (change,) = graph.diff("main", "work")
    assert change.after is not None
    assert change.after.properties["born"] == date(1990, 1, 2)
    assert change.after.properties["photo"] == b"\x00\xff"
    wire = change.to_dict()["after"]["properties"]
    assert wire == {
        "age": 30,
        "born": "1990-01-02",
        "email": None,
        "name": "Alice",
        "nickname": None,
        "photo": "base64:AP8=",
        "place": [0.5, 1.5],
        "seen": None,
        "tags": ["a"],
    }
    assert list(wire) == sorted(wire)


def test_as_data(graph: og.Graph) -> None:
    upsert(graph, "Knows", [{"id": "k1", "src": "Alice", "dst": "Carol"}], "work")
    data = graph.diff("main", "work").to_dict()
    assert data["stats"] == {"inserts": 0, "updates": 1, "deletes": 0, "types_affected": ["Knows"]}
    assert (data["from_graph_manifest_version"], data["to_graph_manifest_version"]) == (2, 3)
    (change,) = data["changes"]
    assert change["endpoints"] == {"src": "Alice", "dst": "Carol"}
    assert (change["kind"], change["type_name"], change["id"], change["op"]) == ("edge", "Knows", "k1", "update")
    assert change["published_dataset_version"] > 0


def test_a_list_of_changes_is_a_sequence(graph: og.Graph) -> None:
    add(graph, {"Person": [{"name": f"p{n:04d}"} for n in range(3_000)], "Company": [{"name": "x"}]}, "work")
    changes = graph.diff("main", "work").changes
    assert len(changes) == 3_001
    assert changes[0] == next(iter(changes))
    assert changes[-1] == list(changes)[-1]
    assert changes[1_020:1_030] == list(changes)[1_020:1_030]
    assert changes[::-1] == list(changes)[::-1]
    with pytest.raises(IndexError):
        changes[3_001]
    people = ["insert Person p0000", "insert Person p0001", "insert Person p0002"]
    either = (people, ["insert Company x", *people[:2]])  # types come in the order of their opaque ids
    assert repr(changes) in [f"3,001 changes: {', '.join(first)}, …" for first in either]


def test_a_dropped_edge_and_its_nodes(graph: og.Graph) -> None:
    delete(graph, "Knows", ["k1"], "work")
    assert told(graph.diff("main", "work")) == [("delete", "Knows", "k1")]
    assert len(contents(graph)) == len(contents(graph, "work")) + 1


# ── equality ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────

VALUES = {
    pa.string(): st.none() | st.text(max_size=2),
    pa.int32(): st.none() | st.integers(0, 3),
    pa.float32(): st.none() | st.sampled_from([0.0, 1.5, float("nan")]),
    pa.large_binary(): st.none() | st.binary(max_size=2),
    pa.list_(pa.string()): st.none() | st.lists(st.sampled_from(["a", "b"]), max_size=2),
    pa.list_(pa.int32()): st.none() | st.lists(st.none() | st.integers(0, 1), max_size=2),
    pa.list_(pa.float32(), 2): st.none() | st.lists(st.sampled_from([0.0, 1.0]), min_size=2, max_size=2),
    pa.timestamp("ms", tz="UTC"): st.none() | st.integers(0, 2),
}


@pytest.mark.parametrize("type_", VALUES, ids=str)
@given(data=st.data())
def test_columns_are_equal_where_their_values_are(type_: pa.DataType, data: st.DataObject) -> None:
    pairs = data.draw(st.lists(st.tuples(VALUES[type_], VALUES[type_]), max_size=6))
    left, right = (pa.array([pair[side] for pair in pairs], type_) for side in (0, 1))
    assert same(left, right).tolist() == [repr(a) == repr(b) for a, b in pairs]


def test_what_came_and_went_is_printed_with_its_values(tmp_path: Path) -> None:
    properties = " ".join(f"p{n:02}: I32?" for n in range(20))
    graph = og.init(tmp_path / "values.omni", schema=f"node Person {{ name: String @key  age: I32?  {properties} }}")
    empty = graph.commits()[0].id
    graph.put("Person", {"name": "Ada", "age": 36})
    graph.put("Person", {"name": "Bob", **{f"p{n:02}": n for n in range(20)}})
    there, back = repr(graph.diff(empty, "main")), repr(graph.diff("main", empty))
    assert there.splitlines()[1:4] == ["  insert  Person Ada", "          + age: 36", "          + name: Ada"]
    assert "          + p10: 10\n          … and 9 properties more" in there
    assert back.splitlines()[1:4] == ["  delete  Person Ada", "          - age: 36", "          - name: Ada"]
    assert "+ age: 36; + name: Ada" in graph.diff(empty, "main")._repr_html_()
