"""The history of one entity: what the change feed says of it, for the price of the commits that touched it."""

from __future__ import annotations

import random
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.storage.reclaiming.reclaim import reclaim

SCHEMA = """
node Person { name: String @key  age: I32? }
node Order { tenant: String  number: I64  @key(tenant, number) }
edge Knows: Person -> Person @key(src, dst) { n: I32? }
"""


@pytest.fixture
def g(tmp_path: Path) -> og.Graph:
    return og.init(tmp_path / "g", SCHEMA, durability="os", save_from=None)


def people(*numbers: int, age: int = 0) -> list[dict[str, Any]]:
    return [{"type": "Person", "data": {"name": f"p{n}", "age": age}} for n in numbers]


def ages(history: og.EntityHistory) -> list[tuple[str, Any, Any]]:
    def age(image: og.Image | None) -> Any:
        return None if image is None else image.properties["age"]

    return [(r.op, age(r.before), age(r.after)) for r in history]


def test_every_commit_that_changed_it_with_values(g: og.Graph) -> None:
    g.load(people(*range(5)))
    g.put("Person", {"name": "p1", "age": 1}, actor="ada", message="older")
    g.put("Person", {"name": "p2", "age": 9})
    g.load(people(1, 3, age=2))
    g.mutate('query q() { delete Person where name = "p1" }')
    g.optimize()
    g.load(people(1, age=3))
    found = g.history("Person", "p1")
    assert ages(found) == [("insert", None, 3), ("delete", 2, None), ("update", 1, 2), ("update", 0, 1), ("insert", None, 0)]
    assert found.is_complete
    assert [(r.commit.actor, r.commit.message) for r in found][3] == ("ada", "older")
    assert found[3].properties == ("age",)
    assert [r.commit.id for r in found] == [c.id for c in g.commits() if c.id in {r.commit.id for r in found}]
    newest = g.history("Person", "p1", limit=2)
    assert ages(newest) == ages(found)[:2]
    assert not newest.is_complete
    assert len(g.history("Person", "nobody")) == 0
    with pytest.raises(og.NotFound, match="no type `Persn`"):
        g.history("Persn", "p1")


def test_edges_and_keys_of_several_properties(g: og.Graph) -> None:
    g.load([*people(1, 2), {"type": "Order", "data": {"tenant": "a", "number": 7}}])
    for n in (1, 2):
        g.put_edge("Knows", "p1", "p2", {"n": n})
    g.mutate('query q() { delete Person where name = "p2" }')
    assert [r.op for r in g.history("Knows", ("p1", "p2"))] == ["delete", "update", "insert"]
    assert g.history("Knows", {"from": "p1", "to": "p2"})[0].before.endpoints == ("p1", "p2")  # type: ignore[union-attr]
    assert [r.op for r in g.history("Order", ("a", 7))] == ["insert"]
    assert g.history("Order", id='["7","a"]').to_dict() == g.history("Order", ("a", 7)).to_dict()


def test_merges_reverts_and_schemas(g: og.Graph) -> None:
    g.load(people(1, 2))
    g.branches.create("work")
    g.put("Person", {"name": "p1", "age": 1}, branch="work")
    g.put("Person", {"name": "p2", "age": 5})
    g.merge("work")
    g.revert(g.commits()[0])
    g.apply_schema(SCHEMA.replace("age: I32?", "age: I32?  city: String?"))
    g.apply_schema(g.schema().replace("city: String?", "city: String"), backfill={"Person.city": "Oslo"})
    g.apply_schema(g.schema().replace("age: I32?", 'years: I32? @rename_from("age")'))
    found = g.history("Person", "p1")
    assert [r.op for r in found] == ["update", "update", "update", "insert"]
    assert [r.properties for r in found][:3] == [("city",), ("age",), ("age",)]
    assert [r.commit.operation for r in found] == ["apply_schema", "revert", "merge", "load"] or [
        r.commit.operation for r in found
    ][1:] == ["revert", "merge", "load"]
    assert [r.op for r in g.history("Person", "p1", branch="work")] == ["update", "insert"]


def test_it_agrees_with_the_change_feed(g: og.Graph) -> None:
    chance = random.Random(7)
    for _ in range(60):
        who, age = chance.randrange(6), chance.randrange(4)
        match chance.randrange(6):
            case 0:
                g.load(people(*chance.sample(range(6), 3), age=age))
            case 1:
                g.mutate(f'query q() {{ delete Person where name = "p{who}" }}')
            case 2:
                g.mutate(f"query q() {{ update Person set {{ age: {age} }} where age > 1 }}")
            case 3 if chance.random() < 0.3:
                g.optimize()
            case 4:
                g.load(people(*range(6), age=age), mode="overwrite")
            case _:
                g.put("Person", {"name": f"p{who}", "age": age})
    said: dict[str, list[tuple[str, str, str]]] = {}
    page = g.changes(since="beginning", limit=8_000, max_commits=512)
    for block in page.blocks:
        for change in block.changes:
            images = [None if i is None else dict(i.properties) for i in (change.before, change.after)]
            said.setdefault(change.id, []).append((block.cause.commit, change.op, repr(images)))
    assert page.caught_up
    assert len(said) == 6
    for id_, expected in said.items():
        found = [
            (r.commit.id, r.op, repr([None if i is None else dict(i.properties) for i in (r.before, r.after)]))
            for r in g.history("Person", id_)
        ]
        assert found == expected[::-1], id_


def test_it_costs_what_touched_it(g: og.Graph) -> None:
    """Not what was committed: neither to other entities nor in bulk."""
    g.load(people(*range(200)))
    for n in range(3):
        g.put("Person", {"name": "p7", "age": n + 1})
    before = _lookups(g)
    assert len(g.history("Person", "p7")) == 4
    alone = _lookups(g) - before
    for n in range(80):
        g.put("Person", {"name": f"p{n + 20}", "age": n})
    for n in range(20):
        g.load(people(*range(1_000 + 300 * n, 1_300 + 300 * n)))
    g.optimize()
    before = _lookups(g)
    assert len(g.history("Person", "p7")) == 4
    assert _lookups(g) - before <= alone + 4  # it is looked for again where writers have folded what they found
    assert alone <= 6


def _lookups(g: og.Graph) -> int:
    return g._past.entities.lookups


def test_what_is_reclaimed_is_said(g: og.Graph) -> None:
    g.load(people(1))
    for n in range(4):
        g.put("Person", {"name": "p1", "age": n + 1})
    reclaim(g._store, keep=1, older_than=timedelta(0), dry_run=False, grace=timedelta(0))
    found = og.open(g.uri).history("Person", "p1")
    assert not found.is_complete
    assert len(found) < 5


def origins(history: og.EntityHistory) -> list[list[tuple[str | None, str | None]]]:
    return [[(c.actor, c.message) for c in r.origins] for r in history]


@pytest.mark.parametrize("outcome", ["fast_forward", "merged"])
@pytest.mark.parametrize("deleted", [False, True], ids=["kept", "deleted"])
def test_a_merge_says_who_changed_the_entity_and_why(g: og.Graph, outcome: str, deleted: bool) -> None:
    g.load(people(1, 2))
    g.branches.create("work")
    g.put("Person", {"name": "p1", "age": 1}, branch="work", actor="agent", message="one")
    g.put("Person", {"name": "p2", "age": 1}, branch="work", actor="agent", message="somebody else")
    g.load(people(*range(1, 4_000), age=2), branch="work", actor="loader", message="many")
    if outcome == "merged":
        g.put("Person", {"name": "other"})
    assert g.merge("work", actor="boss", message="looks good").outcome == outcome
    if deleted:
        g.branches.delete("work")
    for graph in (g, og.open(g.uri)):
        found = graph.history("Person", "p1")
        assert [(r.commit.actor, r.commit.message) for r in found] == [("boss", "looks good"), (None, None)]
        assert origins(found) == [[("loader", "many"), ("agent", "one")], []]
        assert [c.branch for c in found[0].origins] == ["work", "work"]
    said = found.to_dict()["revisions"]
    assert ["origins" in revision for revision in said] == [True, False]
    assert "loader" in repr(found)
    assert repr(found).splitlines()[3].endswith("looks good")


def test_a_second_merge_names_what_it_brought_itself(g: og.Graph) -> None:
    g.load(people(1, 2))
    g.branches.create("work")
    for n in (1, 2):
        g.put("Person", {"name": "p1", "age": n}, branch="work", message=f"{n}")
        g.put("Person", {"name": "p2", "age": n}, message="beside")
        g.merge("main", into="work", message="catch up")
        g.optimize()
        g.merge("work")
    assert origins(g.history("Person", "p1")) == [[(None, "2")], [(None, "1")], []]
    assert origins(g.history("Person", "p2"))[:2] == [[], []]
    assert [r.commit.operation for r in g.history("Person", "p2")] == ["mutate", "mutate", "load"]
    assert origins(g.history("Person", "p2", branch="work")) == [[(None, "beside")], [(None, "beside")], []]


def test_an_origin_has_changed_the_entity(g: og.Graph) -> None:
    """A commit that wrote it again as it was is none, whatever else it changed."""
    g.load(people(1, 2))
    g.branches.create("work")
    g.put("Person", {"name": "p1", "age": 1}, branch="work", message="changed")
    with g.transaction(branch="work", message="written again") as t:
        t.put("Person", {"name": "p1", "age": 1})
        t.put("Person", {"name": "p2", "age": 7})
    g.put("Person", {"name": "p3"})
    g.merge("work")
    assert origins(g.history("Person", "p1"))[0] == [(None, "changed")]


def test_origins_of_a_long_branch_are_read_in_runs(g: og.Graph) -> None:
    g.load(people(1, 2))
    g.branches.create("work")
    for n in range(300):
        g.put("Person", {"name": "p1", "age": n}, branch="work")
    g.put("Person", {"name": "p2", "age": 77}, branch="work", message="the one")
    g.put("Person", {"name": "p3"})
    g.merge("work")
    g.branches.delete("work")
    fresh = og.open(g.uri)
    manifest = fresh._store.manifest(fresh._store.ref("main"))
    assert origins(fresh.history("Person", "p2"))[0] == [(None, "the one")]
    assert manifest.scans < 60, "a scan for each of 300 commits would be twice as many as there are"
    assert len(fresh.history("Person", "p1")[0].origins) == 50


def test_a_moved_edge_says_where_to(tmp_path: Path) -> None:
    g = og.init(tmp_path / "g", "node P { k: String @key }\nedge E: P -> P { w: I32? }", durability="os")
    g.load([{"type": "P", "data": {"k": k}} for k in "xyz"])
    for source in "xy":
        g.load([{"edge": "E", "from": source, "to": "z", "data": {"id": "e1", "w": 3}}])
    assert [line.split("  ")[-1] for line in repr(g.history("E", id="e1")).splitlines()[3:]] == [
        "from x → y",
        "from x, to z, w 3",
    ]
