"""A schema that promises more: what exists keeps the promise, or everything that does not is told and nothing is changed."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.engine.graphs import Data, make_graph

import omnigraph as og
from omnigraph.engine.schema import apply as schema_apply
from omnigraph.engine.write import commit as committing
from omnigraph.engine.write.violations import Violation
from omnigraph.storage.reclaiming.reclaim import reclaim

SCHEMA = """
node Person { name: String @key  age: I32?  mail: String?  city: String? }
edge Knows: Person -> Person { since: Date? }
"""
DATA: Data = {
    "Person": [
        {"name": "a", "age": 1, "mail": "a@x", "city": "Rome"},
        {"name": "b", "age": 2, "mail": "b@x", "city": "Rome"},
        {"name": "c", "age": 2, "mail": "c@x"},
        {"name": "d", "mail": "d@x"},
    ],
    "Knows": [{"src": "a", "dst": "b"}, {"src": "a", "dst": "c"}, {"src": "b", "dst": "c"}, {"src": "c", "dst": "c"}],
}


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    return make_graph(tmp_path, SCHEMA, DATA)


def changed(**words: str) -> str:
    """The schema with further words behind properties, in the body of Person (`body`), of Knows (`edge`) or behind it (`card`)."""
    text = SCHEMA.replace("Person -> Person", f"Person -> Person {words.pop('card', '')}")
    text = text.replace("since: Date?", f"since: Date? {words.pop('edge', '')}")
    text = text.replace("city: String? }", f"city: String? {words.pop('body', '')} }}")
    for name, word in words.items():
        text = text.replace(f"{name}: I32?", f"{name}: {word}").replace(f"{name}: String?", f"{name}: {word}")
    return text


KEPT = {
    "unique": changed(mail="String? @unique"),
    "unique, in a group": changed(body="@unique(age, mail)"),
    "unique where values are missing": changed(body="@unique(age, city)"),
    "range": changed(body="@range(age, 1..2)"),
    "check": changed(body='@check(mail, "@x$")'),
    "required": changed(mail="String"),
    "required and unique and checked": changed(mail='String @unique @check(mail, "^.@x$")'),
    "most edges": changed(card="@card(0..2)"),
    "fewest and most edges": changed(card="@card(1..2)"),
    "unique ends": changed(edge="@unique(src, dst)"),
}


@pytest.mark.parametrize("schema", KEPT.values(), ids=KEPT.keys())
def test_a_promise_that_is_kept_becomes_part_of_the_schema(graph: og.Graph, schema: str) -> None:
    before = graph._store.snapshot("main")
    done = graph.apply_schema(schema, actor="architect")
    assert done.commit is not None
    assert (done.commit.actor, done.commit.schema != before.schema) == ("architect", True)
    after = graph._store.snapshot("main")
    assert {t: s.pin for t, s in after.tables.items()} == {t: s.pin for t, s in before.tables.items()}, "no row was written"
    assert graph.plan_schema(schema).steps == ()


BROKEN = {
    "unique": (changed(age="I32? @unique"), [("unique", "Person", "age", "c", 2)]),
    "unique, in a group": (changed(body="@unique(city)"), [("unique", "Person", "city", "b", "Rome")]),
    "range": (changed(body="@range(age, ..1)"), [("range", "Person", "age", "b", 2), ("range", "Person", "age", "c", 2)]),
    "check": (changed(body='@check(mail, "^[ab]")'), [("check", "Person", "mail", n, f"{n}@x") for n in "cd"]),
    "required": (changed(city="String"), [("required", "Person", "city", n, None) for n in "cd"]),
    "most edges": (changed(card="@card(0..1)"), [("cardinality", "Knows", None, "a", 2)]),
    "fewest edges": (changed(card="@card(2..)"), [("cardinality", "Knows", None, n, 1) for n in "bc"]),
    "several": (
        changed(age="I32", city="String? @unique", card="@card(0..1)"),
        [
            ("required", "Person", "age", "d", None),
            ("unique", "Person", "city", "b", "Rome"),
            ("cardinality", "Knows", None, "a", 2),
        ],
    ),
}


@pytest.mark.parametrize(("schema", "expected"), BROKEN.values(), ids=BROKEN.keys())
def test_everything_that_breaks_a_promise_is_told(graph: og.Graph, schema: str, expected: list[Any]) -> None:
    before = graph.commits()[0].id
    with pytest.raises(og.ValidationError) as raised:
        graph.apply_schema(schema)
    violations = [v for v in raised.value.violations if isinstance(v, Violation)]
    found = [(v.rule, v.type, v.property, v.entity, v.value) for v in violations]
    assert sorted(found, key=str) == sorted(expected, key=str)
    assert graph.commits()[0].id == before
    assert graph.schema() == SCHEMA


def test_a_promise_holds_for_every_write_that_follows(graph: og.Graph) -> None:
    graph.apply_schema(changed(mail="String @unique", card="@card(0..2)", body="@range(age, 0..9)"))
    for statement in (
        'insert Person { name: "e", mail: "a@x" }',
        'insert Person { name: "e", mail: "e@x", age: 10 }',
        'insert Knows { from: "a", to: "d" }',
    ):
        with pytest.raises(og.ValidationError):
            graph.mutate(f"query m() {{ {statement} }}")
    with pytest.raises(og.TypeCheckError, match="mail"):
        graph.mutate('query m() { insert Person { name: "e" } }')
    graph.mutate('query m() { insert Person { name: "e", mail: "e@x", age: 9 } }')
    with pytest.raises(og.ValidationError):
        graph.load([{"type": "Person", "data": {"name": "f"}}])
    assert graph.verify(deep=True).ok


def test_other_branches_have_promised_nothing(graph: og.Graph) -> None:
    graph.branches.create("side")
    graph.apply_schema(changed(mail="String? @unique"))
    graph.mutate('query m() { insert Person { name: "e", mail: "a@x" } }', branch="side")
    with pytest.raises(og.ValidationError, match="both have mail"):
        graph.apply_schema(changed(mail="String? @unique"), branch="side")


# ── beside writers ───────────────────────────────────────────────────────────────────────────────────────────────────────────────


def in_between(monkeypatch: pytest.MonkeyPatch, act: Any) -> None:
    """Let somebody act once after a change of the schema was prepared and before it is published."""
    original = schema_apply._Change._publish_plan
    done: list[bool] = []

    def late(*given: Any) -> Any:
        plan = original(*given)
        if not done:
            done.append(True)
            act()
        return plan

    monkeypatch.setattr(schema_apply._Change, "_publish_plan", late)


def test_a_row_that_comes_meanwhile_is_looked_at_too(graph: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    other = og.open(graph._store.place.uri)
    in_between(monkeypatch, lambda: other.mutate('query m() { insert Person { name: "e", mail: "a@x" } }'))
    with pytest.raises(og.ValidationError, match="both have mail"):
        graph.apply_schema(changed(mail="String? @unique"))
    assert graph.schema() == SCHEMA


def test_a_row_that_comes_meanwhile_is_filled_too(graph: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    other = og.open(graph._store.place.uri)
    in_between(monkeypatch, lambda: other.mutate('query m() { insert Person { name: "e" } }'))
    graph.apply_schema(changed(city="String"), backfill={"Person.city": "Oslo"})
    assert cities(graph) == {"a": "Rome", "b": "Rome", "c": "Oslo", "d": "Oslo", "e": "Oslo"}


def test_of_two_changes_of_the_schema_the_second_is_void(graph: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also when they have no type in common: the later text would take back what the earlier one said."""
    other = og.open(graph._store.place.uri)
    in_between(monkeypatch, lambda: other.apply_schema(SCHEMA + "node Company { name: String @key }"))
    with pytest.raises(og.ReadSetChanged, match="schema changed"):
        graph.apply_schema(changed(card="@card(0..2)"))
    assert "Company" in graph.schema()


def test_a_write_prepared_before_a_promise_cannot_break_it(graph: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    other = og.open(graph._store.place.uri)
    original = committing.change_of
    new = changed(mail="String? @unique")
    monkeypatch.setattr(committing, "change_of", lambda delta, view: (other.apply_schema(new), original(delta, view))[1])
    with pytest.raises(og.ReadSetChanged, match="schema"):
        graph.mutate('query m() { insert Person { name: "e", mail: "a@x" } }')


# ── backfill ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def cities(graph: og.Graph, **where: Any) -> dict[str, str | None]:
    rows = graph.query("query q() { match { $p: Person } return { $p.name, $p.city } }", **where).rows
    return {row["p.name"]: row["p.city"] for row in rows}


def test_entities_without_a_value_get_one_and_the_others_keep_theirs(graph: og.Graph) -> None:
    before = graph.commits()[0].id
    done = graph.apply_schema(changed(city="String @index"), backfill={"Person.city": "Oslo"})
    assert repr(done).splitlines()[1] == """- require property 'Person.city' on node 'Person' (existing: "Oslo")"""
    assert cities(graph) == {"a": "Rome", "b": "Rome", "c": "Oslo", "d": "Oslo"}
    assert cities(graph, at=before) == {"a": "Rome", "b": "Rome", "c": None, "d": None}
    found = graph.diff(before, "main")
    assert [(c.op, c.type, c.id, c.properties) for c in found.changes] == [("update", "Person", n, ("city",)) for n in "cd"]
    graph.mutate('query m() { update Person set { city: "Bonn" } where city = "Oslo" }')
    graph.optimize()
    assert cities(graph) == {"a": "Rome", "b": "Rome", "c": "Bonn", "d": "Bonn"}
    assert graph.verify(deep=True).ok


VALUES: dict[str, tuple[str, Any, Any]] = {
    "text": ("String", "é", "é"),
    "bool": ("Bool", False, False),
    "integer": ("U64", 2**63, 2**63),
    "float": ("F32", 1, 1.0),
    "date": ("Date", "2024-05-01", date(2024, 5, 1)),
    "enum": ("enum(x, y)", "y", "y"),
    "list": ("[I32]", [1, 2], [1, 2]),
    "empty list": ("[String]", [], []),
    "vector": ("Vector(3)", [1, 0.5, 0], [1.0, 0.5, 0.0]),
}


@pytest.mark.parametrize("nullable", ["", "?"])
@pytest.mark.parametrize(("type_", "given", "stored"), VALUES.values(), ids=VALUES.keys())
def test_a_new_property_has_a_value_in_every_entity(graph: og.Graph, type_: str, given: Any, stored: Any, nullable: str) -> None:
    graph.mutate('query m() { delete Person where name = "b" }')
    graph.apply_schema(changed(body=f"new: {type_}{nullable}"), backfill={"Person.new": given})
    ask = "query q() { match { $p: Person } return { $p.name, $p.new, $p.age } order { $p.name } }"
    assert [tuple(r.values()) for r in graph.query(ask).rows] == [("a", stored, 1), ("c", stored, 2), ("d", stored, None)]
    graph.optimize()
    assert [row["p.new"] for row in graph.query(ask).rows] == [stored] * 3


def test_an_edge_gets_values_too(graph: og.Graph) -> None:
    graph.apply_schema(changed(edge="weight: F64"), backfill={"Knows.weight": 0.5})
    rows = graph.query("query q() { match { $p: Person  $p $k: knows $f } return { $p.name, $f.name, $k.weight } }").rows
    assert [row["k.weight"] for row in rows] == [0.5] * 4


def test_a_minimum_holds_for_nodes_that_have_such_an_edge(tmp_path: Path) -> None:
    """A node without one is not held to it, whoever asks: a load, a new schema, verify. Its last edge is not taken from it."""
    graph = make_graph(tmp_path, "node A { k: String @key }\nedge E: A -> A", {"A": [{"k": k} for k in "abc"]})
    two = [{"edge": "E", "from": "a", "to": "b"}, {"edge": "E", "from": "a", "to": "c"}]
    graph.load(two[:1])
    with pytest.raises(og.ValidationError, match=r"A `a` would have 1 E edge \(min 2\)"):
        graph.apply_schema("node A { k: String @key }\nedge E: A -> A @card(2..3)")
    graph.load(two[1:])
    graph.apply_schema("node A { k: String @key }\nedge E: A -> A @card(2..3)")
    graph.load([{"type": "A", "data": {"k": "d"}}])
    for refused, edges in (('E where to = "b"', 1), ("E where from = 'a'".replace("'", '"'), 0), ('A where k = "c"', 1)):
        told = f"A `a` would have {edges} E edge"
        with pytest.raises(og.ValidationError, match=told):
            graph.mutate(f"query d() {{ delete {refused} }}")
    with pytest.raises(og.ValidationError, match=r"A `b` would have 1 E edge \(min 2\)"):
        graph.load([{"edge": "E", "from": "b", "to": "c"}])
    graph.load([{"edge": "E", "from": "b", "to": "a"}, {"edge": "E", "from": "b", "to": "c"}], mode="overwrite")
    assert graph.verify(content=True).ok
    graph.mutate('query d() { delete A where k = "b" }')
    assert graph.verify(content=True).ok


def test_one_value_for_all_cannot_be_unique(graph: og.Graph) -> None:
    with pytest.raises(og.ValidationError) as raised:
        graph.apply_schema(changed(body="code: String @unique"), backfill={"Person.code": "x"})
    assert len(raised.value.violations) == 3


MISFITS = {
    "type": ("I32", "x", og.UsageError, "must be I32"),
    "width": ("I32", 2**31, og.UsageError, "out of the range"),
    "dimension": ("Vector(2)", [1], og.UsageError, "2 dimensions"),
    "blob": ("Blob", "base64:", og.UsageError, "cannot be filled in"),
    "enum": ("enum(x, y)", "z", og.ValidationError, "not one of"),
}


@pytest.mark.parametrize(("type_", "given", "error", "says"), MISFITS.values(), ids=MISFITS.keys())
def test_a_value_that_does_not_fit_is_refused(graph: og.Graph, type_: str, given: Any, error: Any, says: str) -> None:
    with pytest.raises(error, match=says):
        graph.apply_schema(changed(body=f"new: {type_}"), backfill={"Person.new": given})
    assert graph.schema() == SCHEMA


# ── hard drops ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def holding(graph: og.Graph, text: str) -> list[Path]:
    """The files of a graph that hold a text."""
    return [p for p in Path(graph._store.place.uri).rglob("*") if p.is_file() and text.encode() in p.read_bytes()]


@pytest.mark.parametrize("soft", [False, True])
def test_m11_a_hard_drop_and_a_cleanup_leave_nothing(tmp_path: Path, soft: bool) -> None:
    secret = "correct-horse-battery-staple"
    graph = make_graph(tmp_path, SCHEMA, {"Person": [{"name": n, "city": secret, "age": 1} for n in "ab"]})
    graph.optimize()
    before = graph.commits()[0].id
    assert holding(graph, secret)
    graph.apply_schema(SCHEMA.replace("city: String?", ""), allow_data_loss=not soft)
    assert graph.query("query q() { match { $p: Person } return { $p.name, $p.age } order { $p.name } }").rows == [
        {"p.name": "a", "p.age": 1},
        {"p.name": "b", "p.age": 1},
    ]
    assert cities(graph, at=before) == {"a": secret, "b": secret}, "the past is there until it is reclaimed"
    reclaim(graph._store, keep=1, older_than=timedelta(0), grace=timedelta(0), dry_run=False)
    reopened = og.open(graph._store.place.uri)
    with pytest.raises(og.HistoryReclaimed):
        cities(reopened, at=before)
    assert bool(holding(graph, secret)) == soft, "files that hold other columns too keep a column that was dropped softly"
    assert reopened.verify(deep=True).ok


def test_a_type_that_was_dropped_is_reclaimed_with_its_history(tmp_path: Path) -> None:
    secret = "correct-horse-battery-staple"
    graph = make_graph(tmp_path, SCHEMA, {"Person": [{"name": "a", "city": secret}]})
    graph.apply_schema("node Company { name: String @key }", allow_data_loss=True)
    assert holding(graph, secret)
    reclaim(graph._store, keep=1, older_than=timedelta(0), grace=timedelta(0), dry_run=False)
    assert not holding(graph, secret)
