"""A change of a schema that changes values: wider numbers, properties that may be missing, values that are computed, enum values
that have other names; on one branch, and on several at once."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.engine.every_type import TYPES
from tests.engine.graphs import make_graph
from tests.engine.history.graphs import contents

import omnigraph as og

PEOPLE = """
    node Person { name: String @key  first: String  last: String?  age: I32 @index  score: F32?  state: enum(open, done)  @range(age, 0..150) }
    edge Knows: Person -> Person { weight: F32 }
"""
AFTER = """
    node Person {
        name: String @key  full: String  last: String  age: I64? @index  score: F64?  size: I32
        state: enum(open, finished, stuck)? @rename_value("done", to="finished")  @range(age, 0..150)
    }
    edge Knows: Person -> Person { weight: F64?  ends: String? }
"""
COMPUTE = {
    "Person.full": 'concat(first, " ", coalesce(last, "?"))',
    "Person.last": "lower(first)",
    "Person.size": "length(first) + age",
    "Knows.ends": 'concat(from, "-", to)',
}
ALL = "query q() { match { $p: Person } return { $p.name, $p.full, $p.last, $p.age, $p.score, $p.size, $p.state } order { $p.name } }"


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    people: list[dict[str, Any]] = [
        {"name": "a", "first": "Ada", "last": "Byron", "age": 36, "score": 0.5, "state": "open"},
        {"name": "b", "first": "Bob", "last": None, "age": 7, "score": None, "state": "done"},
    ]
    return make_graph(tmp_path, PEOPLE, {"Person": people, "Knows": [{"src": "a", "dst": "b", "weight": 0.25}]})


def was(change: og.Change) -> Mapping[str, Any]:
    assert change.before is not None
    return change.before.properties


def now(change: og.Change) -> Mapping[str, Any]:
    assert change.after is not None
    return change.after.properties


def test_values_follow_the_schema(graph: og.Graph) -> None:
    before = graph.commits()[0].id
    graph.apply_schema(AFTER, compute=COMPUTE, actor="ada")
    expected = [("a", "Ada Byron", "Byron", 36, 0.5, 39, "open"), ("b", "Bob ?", "bob", 7, None, 10, "finished")]
    for state in (graph, og.open(graph.uri)):
        assert [tuple(row.values()) for row in state.query(ALL).rows] == expected
        edges = state.query("query q() { match { $p: Person  $p $e:knows $f } return { $e.weight, $e.ends } }").rows
        assert edges == [{"e.weight": 0.25, "e.ends": "a-b"}]
    assert graph.query('query q() { match { $p: Person { state: "done" } } return { $p.first } }', at=before).rows == [
        {"p.first": "Bob"}
    ]
    assert graph.commits()[0].actor == "ada"
    assert graph.verify(deep=True, content=True).ok


def test_what_is_allowed_now_can_be_written_and_what_is_not_cannot(graph: og.Graph) -> None:
    graph.apply_schema(AFTER, compute=COMPUTE)
    graph.mutate('query m() { insert Person { name: "c", full: "C", last: "c", size: 1, score: 0.1 } }')
    graph.mutate('query m() { update Person set { age: null, state: "stuck" } where name = "a" }')
    assert [row["p.age"] for row in graph.query(ALL).rows] == [None, 7, None]
    assert graph.query('query q() { match { $p: Person { name: "c" } } return { $p.score } }').rows == [{"p.score": 0.1}]
    with pytest.raises(og.ValidationError):
        graph.mutate('query m() { update Person set { age: 151 } where name = "b" }')
    with pytest.raises(og.GraphError):
        graph.mutate('query m() { update Person set { state: "done" } where name = "b" }')
    graph.optimize()
    assert [row["p.state"] for row in graph.query(ALL).rows] == ["stuck", "finished", None]
    assert graph.verify(deep=True, content=True).ok


def test_a_diff_shows_values_and_not_their_types(graph: og.Graph) -> None:
    before = graph.commits()[0].id
    graph.apply_schema(PEOPLE.replace("I32", "I64").replace("F32", "F64"))
    assert not graph.diff(before, "main").changes
    graph.mutate('query m() { update Person set { score: 1000000000000000000000000000000000000000.5 } where name = "a" }')
    for first, second, values in ((before, "main", (0.5, 1e39)), ("main", before, (1e39, 0.5))):
        (change,) = graph.diff(first, second).changes
        assert (was(change)["score"], now(change)["score"]) == values
    (update,) = [revision for revision in graph.history("Person", "a") if revision.op == "update"]
    assert now(update.change)["score"] == 1e39


def test_a_feed_goes_on(graph: og.Graph) -> None:
    cursor = graph.baseline().cursor
    graph.apply_schema(AFTER, compute=COMPUTE)
    graph.mutate('query m() { update Person set { age: 3 } where name = "a" }')
    first, second = graph.changes(cursor).blocks
    assert [(c.id, c.op) for c in first.changes] == [("a", "update"), ("b", "update"), (first.changes[2].id, "update")]
    assert (was(first.changes[1])["state"], now(first.changes[1])["state"]) == ("done", "finished")
    assert [(c.id, was(c)["age"], now(c)["age"]) for c in second.changes] == [("a", 36, 3)]


@pytest.mark.parametrize("type_", [*TYPES, "Blob"])
def test_every_type_may_become_optional(tmp_path: Path, type_: str) -> None:
    values: list[Any] = [b"x", b""] if type_ == "Blob" else TYPES[type_][:2]
    data = [{"k": f"k{number}", "x": value} for number, value in enumerate(values)]
    graph = make_graph(tmp_path, f"node N {{ k: String @key  x: {type_} }}", {"N": data})
    graph.apply_schema(f"node N {{ k: String @key  x: {type_}? }}")
    graph.mutate('query m() { insert N { k: "without" } }')
    before = contents(graph)
    assert [row["x"] for row in before.values()] == [*values, None]
    graph.optimize()
    assert contents(og.open(graph.uri)) == before
    assert graph.verify(deep=True, content=True).ok


@pytest.mark.parametrize(("narrow", "wide"), [("I32", "I64"), ("U32", "U64"), ("U32", "I64"), ("F32", "F64")])
@pytest.mark.parametrize("spelling", ["{}", "{}?", "[{}]"])
def test_wider_types_hold_the_same_values(tmp_path: Path, narrow: str, wide: str, spelling: str) -> None:
    values = TYPES[spelling.format(narrow).removesuffix("?")]
    data = [{"k": f"{number:02}", "x": value} for number, value in enumerate(values)]
    index = "" if spelling == "[{}]" else " @index"
    graph = make_graph(tmp_path, f"node N {{ k: String @key  x: {spelling.format(narrow)}{index} }}", {"N": data})
    graph.optimize()
    shown = "query q() { match { $n: N } return { $n.x } order { $n.k } }"
    before = graph.query(shown).to_arrow().column(0).to_pylist()
    graph.apply_schema(f"node N {{ k: String @key  x: {spelling.format(wide)}{index} }}")
    for _ in range(2):
        assert og.open(graph.uri).query(shown).to_arrow().column(0).to_pylist() == before
        graph.optimize()
    if index:
        value = before[2]
        found = graph.query(f"query q($v: {wide}) {{ match {{ $n: N {{ x: $v }} }} return {{ $n.k }} }}", {"v": value}).rows
        assert {"n.k": "02"} in found


def test_a_key_may_become_wider_and_ids_stay(tmp_path: Path) -> None:
    graph = make_graph(
        tmp_path, "node N { k: I32 @key }\nedge E: N -> N", {"N": [{"k": 5}, {"k": -1}], "E": [{"src": "5", "dst": "-1"}]}
    )
    graph.apply_schema("node N { k: I64 @key }\nedge E: N -> N")
    graph.load([{"type": "N", "data": {"k": 5}}, {"type": "N", "data": {"k": 2**40}}])
    assert sorted(row["n.id"] for row in graph.query("query q() { match { $n: N } return { $n.id } }").rows) == [
        "-1",
        str(2**40),
        "5",
    ]
    assert graph.query("query q() { match { $n: N { k: 5 }  $n e $m } return { $m.k } }").rows == [{"m.k": -1}]


def test_branches_get_it_in_one_call_and_merge(graph: og.Graph) -> None:
    for name in ("agent/1", "agent/2"):
        graph.branches.create(name)
    graph.mutate('query m() { insert Person { name: "c", first: "Cy", age: 3, state: "done" } }', branch="agent/1")
    done = graph.apply_schema(AFTER, also=["agent/1", " agent/2 ", "main"], compute=COMPUTE)
    assert list(done.also) == ["agent/1", "agent/2"]
    assert all(one.applied for one in (done, *done.also.values()))
    assert [row["p.full"] for row in graph.query(ALL, branch="agent/1").rows] == ["Ada Byron", "Bob ?", "Cy ?"]
    graph.mutate('query m() { update Person set { age: 8 } where name = "b" }')
    graph.merge("agent/1", into="main")
    assert [(row["p.name"], row["p.age"]) for row in graph.query(ALL).rows] == [("a", 36), ("b", 8), ("c", 3)]
    again = graph.apply_schema(AFTER, also=["agent/1", "agent/2"])
    assert not any(one.applied for one in (again, *again.also.values()))


def test_no_branch_changes_if_one_of_them_cannot(graph: og.Graph) -> None:
    graph.branches.create("agent/1")
    graph.mutate('query m() { insert Person { name: "c", first: "", age: 3, state: "done" } }', branch="agent/1")
    before = {name: graph.commits(name)[0].id for name in ("main", "agent/1")}
    stricter = PEOPLE.replace("last: String?", "last: String").replace("@range(age", '@check(last, "^.+$")  @range(age')
    with pytest.raises(og.ValidationError) as caught:
        graph.apply_schema(stricter, also=["agent/1"], compute={"Person.last": "first"})
    assert [v.entity for v in caught.value.violations] == ["c"]
    assert {name: graph.commits(name)[0].id for name in before} == before


@pytest.mark.parametrize(
    ("schema", "given", "error"),
    [
        ("full: String", {"compute": {"Person.full": "concat(fist)"}}, og.TypeCheckError),
        ("full: String", {"compute": {"Person.full": "age + 1"}}, og.TypeCheckError),
        ("full: String", {"compute": {"Person.full": "concat(first"}}, og.ParseError),
        ("full: String", {"compute": {"Person.full": ""}}, og.ParseError),
        ("full: String", {"compute": {"Person.full": "first last"}}, og.ParseError),
        ("full: String", {"compute": {"Person.ful": "first"}}, og.UsageError),
        ("full: String", {"compute": {"Person.full": "first"}, "backfill": {"Person.full": "x"}}, og.UsageError),
        ("full: String", {"compute": {"Person.full": 7}}, og.UsageError),
        ("full: String", {"compute": ["Person.full"]}, og.UsageError),
        ("full: String", {"compute": {"Person.full": "last"}}, og.ValidationError),
        ("tiny: I32", {"compute": {"Person.tiny": "age * 1000000000"}}, og.GraphError),
        ("vote: enum(y, n)", {"compute": {"Person.vote": "first"}}, og.ValidationError),
        ("full: String?", {"also": ["nowhere"]}, og.NotFound),
        ("full: String?", {"also": [7]}, og.UsageError),
    ],
)
def test_what_cannot_be_done_changes_nothing(graph: og.Graph, schema: str, given: dict[str, Any], error: type[Exception]) -> None:
    before = graph.commits()[0].id
    with pytest.raises(error):
        graph.apply_schema(PEOPLE.replace("first:", f"{schema}  first:"), **given)
    assert graph.commits()[0].id == before
    assert graph.verify().ok
