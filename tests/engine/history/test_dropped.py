"""A dropped property is a change of the schema, and no difference between entities, however their rows are stored."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.engine.history.graphs import put

import omnigraph as og

WITH = "node P { k: String @key  a: I32?  p: I32? }\nedge E: P -> P { p: I32? }"
WITHOUT = "node P { k: String @key  a: I32? }\nedge E: P -> P"

Told = list[tuple[str, str, tuple[str, ...]]]


def told(graph: og.Graph, before: str, after: str) -> Told:
    return [(change.op, change.id, change.properties) for change in graph.diff(before, after).changes]


def nothing(_: og.Graph, __: str) -> None:
    pass


def touched(graph: og.Graph, branch: str) -> None:
    put(graph, 'update P set { a: 2 } where k = "x"', branch)
    put(graph, 'update P set { a: 1 } where k = "x"', branch)


def optimized(graph: og.Graph, branch: str) -> None:
    graph.optimize(branch=branch)


LAYOUTS: dict[str, Callable[[og.Graph, str], None]] = {"as it was": nothing, "rows touched": touched, "optimized": optimized}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize("branch", ["main", "work"])
def test_a_dropped_property_is_no_difference_of_entities(tmp_path: Path, layout: str, hard: bool, branch: str) -> None:
    graph = og.init(tmp_path / "g", schema=WITH)
    for key in "xyz":
        graph.load([{"type": "P", "data": {"k": key, "a": 1, "p": 5}}])
    graph.load([{"edge": "E", "from": "x", "to": "y", "data": {"id": "e", "p": 5}}])
    other, other_changes = "main", Told()
    if branch != "main":
        graph.branches.create(branch)
        put(graph, 'insert P { k: "other", a: 1, p: 6 }')
        other_changes = [("insert", "other", ())]
    else:
        other = graph.commits(limit=1)[0].id
    start = graph.commits(branch, limit=1)[0].id
    graph.apply_schema(WITHOUT, branch=branch, allow_data_loss=hard)
    LAYOUTS[layout](graph, branch)
    assert told(graph, branch, other) == other_changes
    assert told(graph, other, branch) == [("delete", id_, ()) for _, id_, _ in other_changes]
    put(graph, 'update P set { a: 7 } where k = "x"', branch)
    put(graph, 'delete P where k = "z"', branch)
    assert told(graph, branch, other) == [*other_changes, ("update", "x", ("a",)), ("insert", "z", ())]
    update = next(c for c in graph.diff(branch, other).changes if c.op == "update")
    inserted = next(c for c in graph.diff(branch, other).changes if c.id == "z")
    assert update.before is not None and update.after is not None and inserted.after is not None  # noqa: PT018
    assert update.before.properties["p"] == update.after.properties["p"] == 5
    assert inserted.after.properties["p"] == 5
    fed = graph.changes(f"after:{start}", branch=branch).blocks
    assert [t.dropped for block in fed if block.schema is not None for t in block.schema.types] == [("p",), ("p",)]
    assert {p for block in fed for change in block.changes for p in change.properties} <= {"a"}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_values_of_an_added_property_are_differences(tmp_path: Path, layout: str) -> None:
    graph = og.init(tmp_path / "g", schema=WITHOUT)
    for key in "xyz":
        graph.load([{"type": "P", "data": {"k": key, "a": 1}}])
    before = graph.commits(limit=1)[0].id
    graph.apply_schema(WITH)
    LAYOUTS[layout](graph, "main")
    assert told(graph, before, "main") == []
    put(graph, 'update P set { p: 5 } where k = "y"')
    LAYOUTS[layout](graph, "main")
    assert told(graph, before, "main") == [("update", "y", ("p",))]
    assert told(graph, "main", before) == []


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_dropped_property_is_no_difference_where_both_schemas_changed(tmp_path: Path, layout: str) -> None:
    graph = og.init(tmp_path / "g", schema=WITH)
    for key in "xyz":
        graph.load([{"type": "P", "data": {"k": key, "a": 1, "p": 5}}])
    graph.branches.create("work")
    graph.apply_schema(WITH.replace("a: I32?", "a: I32?  c: I32?"))
    graph.apply_schema(WITHOUT, branch="work")
    LAYOUTS[layout](graph, "work")
    assert told(graph, "work", "main") == told(graph, "main", "work") == []
    put(graph, 'update P set { c: 4 } where k = "y"')
    assert told(graph, "work", "main") == [("update", "y", ("c",))]
