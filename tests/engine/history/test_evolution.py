"""A feed goes on over changes of the schema: whoever folds it has what the graph has, from whatever cursor they begin."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from tests.engine.history.graphs import calm, put
from tests.engine.load.loading import exported

import omnigraph as og
from omnigraph.catalog.catalog import Catalog
from omnigraph.engine.history import blocks, cursors
from omnigraph.engine.history.changes import opaque_type_id
from omnigraph.engine.history.deltas import types_of
from omnigraph.engine.history.evolution import incomparable
from omnigraph.model.types import PropertyType, Scalar

SCHEMA = """
node Person {
    name: String @key
    age: I32?
    nickname: String?
    mood: enum(good, bad)?
    born: Date?
    tags: [String]?
}
node Company { name: String @key  size: I64? }
edge Knows: Person -> Person { since: Date? }
edge WorksAt: Person -> Company
"""

DATA = [
    {"type": "Person", "data": {"name": "Ada", "age": 36, "nickname": "A", "mood": "good", "born": "1815-12-10", "tags": ["x"]}},
    {"type": "Person", "data": {"name": "Bob"}},
    {"type": "Company", "data": {"name": "Acme", "size": 5}},
    {"edge": "Knows", "from": "Ada", "to": "Bob", "data": {"id": "k", "since": "2024-05-01"}},
    {"edge": "WorksAt", "from": "Bob", "to": "Acme", "data": {"id": "w"}},
]


# ── somebody who keeps a copy ────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass
class Copy:
    """Everything, by type, as a reader knows it who sees nothing but a baseline and the feed."""

    names: dict[str, str] = field(default_factory=dict)
    entities: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)

    @classmethod
    def at(cls, g: og.Graph, commit: str) -> Copy:
        """What an export of a commit holds."""
        catalog = g._view(at=commit).catalog
        ids = {t.name: opaque_type_id(catalog.ir.domain, t) for t in _types(catalog)}
        copy = cls({id_: name for name, id_ in ids.items()}, {id_: {} for id_ in ids.values()})
        for record in exported(g, at=commit):
            data = record["data"] | ({"from": record["from"], "to": record["to"]} if "edge" in record else {})
            copy.entities[ids[record.get("edge") or record["type"]]][data.pop("id")] = data
        return copy

    def fold(self, block: dict[str, Any]) -> None:
        """What a block says, first of the schema, then of entities."""
        for change in block.get("schema", {"types": []})["types"]:
            id_ = change["type"]["id"]
            if change["op"] == "delete":
                del self.names[id_]
                assert {c["id"] for c in block["changes"] if c["type"]["id"] == id_} <= self.entities.pop(id_).keys()
                continue
            self.names[id_] = change["type"]["name"]
            there = self.entities.setdefault(id_, {})
            if change["op"] == "update":
                new = dict.fromkeys(change["added"])
                for key, data in there.items():
                    kept = {change["renamed"].get(n, n): v for n, v in data.items() if n not in change["dropped"]}
                    there[key] = kept | new
        for change in block["changes"]:
            there = self.entities.get(change["type"]["id"], {})
            if change["op"] == "delete":
                there.pop(change["id"], None)
            else:
                assert change["type"]["name"] == self.names[change["type"]["id"]]
                assert (change["id"] in there) is (change["op"] == "update")
                image = change["after"]
                there[change["id"]] = image["properties"] | image.get("endpoints", {})

    def by_name(self) -> dict[str, dict[str, dict[str, Any]]]:
        return {name: self.entities[id_] for id_, name in self.names.items()}


def _types(catalog: Catalog) -> list[Any]:
    return list(types_of(catalog).values())


def follow(g: og.Graph, since: str, limit: int = 1000, **options: Any) -> tuple[list[dict[str, Any]], str]:
    """All blocks since a cursor, as a program gets them, and where to go on."""
    blocks: list[dict[str, Any]] = []
    while True:
        page = g.changes(since=since, limit=limit, **options)
        for block in json.loads(json.dumps(page.to_dict()["blocks"])):
            if blocks and blocks[-1]["cause"] == block["cause"]:
                assert "schema" not in block
                blocks[-1]["changes"] += block["changes"]
            else:
                blocks.append(block)
        since = page.next
        if page.caught_up:
            return blocks, since


def assert_folds(g: og.Graph, limit: int = 1000) -> None:
    """From every commit of the branch on, what it held and the feed come to what the branch holds."""
    commits = g.commits()
    now = Copy.at(g, commits[0].id).by_name()
    for commit in commits:
        copy = Copy.at(g, commit.id)
        blocks, _ = follow(g, f"after:{commit.id}", limit)
        for block in blocks:
            copy.fold(block)
        assert copy.by_name() == now, commit.operation


# ── changes of the schema ────────────────────────────────────────────────────────────────────────────────────────────────────

Step = Callable[[str], tuple[str, dict[str, Any]]]


def changed(old: str, new: str, **options: Any) -> Step:
    def step(schema: str) -> tuple[str, dict[str, Any]]:
        assert old in schema
        return schema.replace(old, new), options

    return step


def without(*lines: str) -> Step:
    def step(schema: str) -> tuple[str, dict[str, Any]]:
        return "\n".join(line for line in schema.splitlines() if not any(part in line for part in lines)), {}

    return step


STEPS: dict[str, Step] = {
    "an optional property": changed("age: I32?", "age: I32?\n    height: F64?"),
    "an optional property of an edge": changed("{ since: Date? }", "{ since: Date?  at: DateTime? }"),
    "a required property": changed("age: I32?", "age: I32?\n    level: I32", backfill={"Person.level": 7}),
    "a property that becomes required": changed("age: I32?", "age: I32", backfill={"Person.age": 1}),
    "a type": changed("node Company", "node City { name: String @key  founded: Date? }\nnode Company"),
    "an edge type": changed("edge WorksAt", "edge Likes: Person -> Company { how: F64? }\nedge WorksAt"),
    "a wider enum": changed("enum(good, bad)", "enum(good, bad, ugly)"),
    "a promise": changed("age: I32?", "age: I32?  @range(age, 0..200)"),
    "an index": changed("nickname: String?", "nickname: String? @index"),
    "a renamed property": changed("nickname: String?", 'alias: String? @rename_from("nickname")'),
    "a renamed type": changed("node Company {", 'node Firm @rename_from("Company") {'),
    "a dropped property": without("nickname"),
    "a property that is destroyed": lambda s: (without("nickname")(s)[0], {"allow_data_loss": True}),
    "a dropped edge type": without("WorksAt"),
    "dropped types": without("Company"),
    "one dropped, one added": changed("nickname: String?", "title: String?"),
}


def apply(g: og.Graph, step: Step) -> None:
    schema, options = step(g.schema())
    if "node Firm" in schema:
        schema = schema.replace("Person -> Company", "Person -> Firm")
    assert g.apply_schema(schema, **options).commit is not None


def made(folder: Path) -> og.Graph:
    g = og.init(folder / "g", schema=SCHEMA, durability="os")
    calm(g)
    return g


def names(g: og.Graph) -> set[str]:
    return {t.name for t in g.stats().types}


def write(g: og.Graph, number: int) -> None:
    """Something of every kind, under whatever the schema is now."""
    put(g, f'insert Person {{ name: "p{number}", {"level: 3, " if "level" in g.schema() else ""}age: {number} }}')
    put(g, f'update Person set {{ age: {number + 1} }} where name = "Ada"')
    put(g, f'insert Knows {{ from: "p{number}", to: "Ada" }}')
    if "City" in names(g):
        put(g, f'insert City {{ name: "c{number}", founded: date("2024-01-0{1 + number % 9}") }}')


@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS.keys())
def test_a_copy_is_the_graph_whatever_became_of_the_schema(tmp_path: Path, step: Step) -> None:
    g = made(tmp_path)
    g.load(DATA)
    write(g, 1)
    before = follow(g, "now")[1]
    apply(g, step)
    at = follow(g, "now")[1]
    write(g, 2)
    g.optimize()
    put(g, 'delete Person where name = "p1"')
    assert_folds(g)
    blocks, end = follow(g, before, limit=1)
    assert "schema" in blocks[0]
    assert follow(g, at) == (blocks[1:], end)
    assert follow(g, end) == ([], end)
    # the same by commit, and the sum of it by diff
    for block in blocks:
        commit = block["cause"]["graph_commit_id"]
        assert json.loads(json.dumps(g.commit_changes(commit).to_dict())) == block


def test_without_a_change_of_the_schema_nothing_is_said_of_it(tmp_path: Path) -> None:
    g = made(tmp_path)
    g.load(DATA)
    write(g, 1)
    assert all("schema" not in block for block in follow(g, "beginning")[0])


@pytest.mark.parametrize("seed", range(12))
def test_a_copy_is_the_graph_after_any_history(tmp_path: Path, seed: int) -> None:
    """Schemas changed one after the other, on branches too, with writes in between."""
    drawn = random.Random(seed)
    g = made(tmp_path)
    g.load(DATA)
    for number in range(8):
        step = drawn.choice(list(STEPS.values()))
        try:
            schema, options = step(g.schema())
        except AssertionError:  # what it changes is not there any more
            continue
        if "Firm" in g.schema() or "node Firm" in schema:
            schema = schema.replace("Person -> Company", "Person -> Firm")
        try:
            if drawn.random() < 0.3:
                g.branches.create(f"b{number}")
                g.apply_schema(schema, branch=f"b{number}", **options)
                g.merge(f"b{number}")
            else:
                g.apply_schema(schema, **options)
        except (og.UnsupportedChange, og.SchemaError, og.ParseError):  # what is there does not allow it
            continue
        if drawn.random() < 0.7:
            write(g, number)
        if drawn.random() < 0.2:
            g.optimize()
    assert_folds(g, limit=drawn.choice([1, 3, 1000]))


# ── filters ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_type_is_followed_under_its_new_name(tmp_path: Path) -> None:
    g = made(tmp_path)
    g.load(DATA)
    cursor = g.changes(types="Company").next
    whole = g.changes(types="Company", since="beginning", limit=1)
    apply(g, STEPS["a renamed type"])
    put(g, 'insert Firm { name: "Initech" }')
    page = g.changes(since=cursor, types="Company")
    assert [(c.type, c.id) for c in page.changes] == [("Firm", "Initech")]
    put(g, 'insert Firm { name: "Umbrella" }')
    g.apply_schema(g.schema() + "\nnode Company { name: String @key }")
    put(g, 'insert Company { name: "New" }')
    later = g.changes(since=page.next, types="Company")
    assert [(c.type, c.id) for c in later.changes] == [("Firm", "Umbrella"), ("Company", "New")]
    found, since = [(c.type, c.id) for c in whole.changes], whole.next
    while True:
        some = g.changes(since=since, types="Company", limit=1)
        found, since = found + [(c.type, c.id) for c in some.changes], some.next
        if some.caught_up:
            break
    assert found == [("Company", "Acme"), ("Firm", "Initech"), ("Firm", "Umbrella"), ("Company", "New")]
    assert [(c.type, c.id) for c in g.changes(since="beginning", types="Firm").changes] == found[:3]
    with pytest.raises(og.UsageError, match="no type `Compny`"):
        g.changes(types="Compny")
    with pytest.raises(og.CursorRejected):
        g.changes(since=cursor, types="Firm")


def test_a_dropped_type_ends_with_its_entities(tmp_path: Path) -> None:
    g = made(tmp_path)
    g.load(DATA)
    cursor = g.changes(types=["Company"]).next
    before = g.commits()[0].id
    apply(g, STEPS["dropped types"])
    page = g.changes(since=cursor, types=["Company"])
    assert [(c.op, c.type, c.id) for c in page.changes] == [("delete", "Company", "Acme")]
    assert [(t.op, t.name) for t in page.blocks[0].schema.types] == [("delete", "Company")]  # type: ignore[union-attr]
    assert [(c.op, c.id) for c in g.commit_changes(g.commits()[0].id, types="Company").changes] == [("delete", "Acme")]
    assert [(c.op, c.id) for c in g.diff(before, "main", types="Company")] == [("delete", "Acme")]


def test_more_types_than_a_cursor_holds_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    g = made(tmp_path)
    length = len(g.changes(types=["Person"]).next)
    monkeypatch.setattr(cursors, "MAX_CHANGE_TOKEN_BYTES", length)
    assert g.changes(types=["Person"]).caught_up
    with pytest.raises(og.ResourceLimit, match="too few to follow 4 types"):
        g.changes(types=["Person", "Company", "Knows", "WorksAt"])


def test_values_of_another_type_are_a_boundary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No plan of today gives a property another type; a graph of a later version may have one that did."""
    g = made(tmp_path)
    g.load(DATA)
    apply(g, STEPS["an optional property"])
    catalog = g._view().catalog
    person = catalog.nodes["Person"]
    age = replace(person.properties["age"], type=PropertyType(Scalar.STRING, nullable=True))
    other = replace(person, properties={**person.properties, "age": age})
    assert incomparable(person, other) == "age"
    assert incomparable(person, person) is None
    monkeypatch.setattr(blocks, "incomparable", lambda old, new: "age" if old.name == "Person" else None)
    with pytest.raises(og.SchemaBoundary, match="another type") as caught:
        g.changes(since=f"after:{g.commits()[1].id}")
    assert caught.value.commit == g.commits()[0].id
    assert "baseline" in (caught.value.hint or "")
