"""One entity at a time: by its key, its neighbors, and put as a row."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.engine import writing
from omnigraph.engine.write.mutate import stage

SCHEMA = """
node Person { name: String @key  age: I32?  weight: F32?  photo: Blob?  born: Date?  email: String? @unique }
node Order { tenant: String  number: I64  total: F64?  @key(tenant, number) }
node Day { on: Date @key  note: String? }
node Moment { at: DateTime @key }
node Flag { set: Bool @key }
node Note { text: String }
edge Knows: Person -> Person { since: Date? }
edge Bought: Person -> Order
"""


@pytest.fixture
def g(tmp_path: Path) -> og.Graph:
    graph = og.init(tmp_path / "g", SCHEMA, durability="os")
    graph.load(
        [
            {"type": "Person", "data": {"name": "Ada", "age": 36, "weight": 0.1, "photo": "base64:aGk=", "born": "1815-12-10"}},
            {"type": "Person", "data": {"name": "Bob"}},
            {"type": "Order", "data": {"tenant": "acme", "number": 7, "total": 1.5}},
            {"type": "Day", "data": {"on": "2024-05-01"}},
            {"type": "Moment", "data": {"at": "2024-05-01T10:00:00Z"}},
            {"type": "Flag", "data": {"set": True}},
            {"edge": "Knows", "from": "Ada", "to": "Bob", "data": {"since": "2024-01-01"}},
            {"edge": "Knows", "from": "Bob", "to": "Bob"},
            {"edge": "Bought", "from": "Ada", "to": '["7","acme"]'},
        ]
    )
    return graph


def test_a_node_has_the_values_of_rows_and_no_blobs(g: og.Graph) -> None:
    ada = g.get("Person", "Ada")
    assert isinstance(ada, og.Node)
    assert (ada.type, ada.id) == ("Person", "Ada")
    assert ada.properties == {"age": 36, "weight": 0.1, "born": dt.date(1815, 12, 10), "name": "Ada", "email": None}
    row = g.query('query q() { match { $p: Person { name: "Ada" } } return { $p.age, $p.weight, $p.born } }').rows[0]
    assert [ada["age"], ada["weight"], ada["born"]] == list(row.values())
    with pytest.raises(og.NotFound, match="no property `agee`"):
        ada["agee"]


def test_a_subgraph_has_the_same_values(g: og.Graph) -> None:
    (ada,) = g.subgraph('query q() { match { $p: Person { name: "Ada" } } return { $p.name } }').nodes
    assert ada.properties == g.get("Person", "Ada").properties  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("type_", "key"),
    [
        ("Order", ("acme", 7)),
        ("Order", ["acme", "7"]),
        ("Order", {"number": 7, "tenant": "acme"}),
        ("Person", "Ada"),
        ("Person", ("Ada",)),
        ("Person", {"name": "Ada"}),
        ("Day", dt.date(2024, 5, 1)),
        ("Day", "2024-05-01"),
        ("Moment", dt.datetime(2024, 5, 1, 10, tzinfo=dt.UTC)),
        ("Moment", "2024-05-01T12:00:00+02:00"),
        ("Flag", True),
    ],
    ids=str,
)
def test_a_key_is_a_value_a_tuple_or_a_mapping(g: og.Graph, type_: str, key: Any) -> None:
    found = g.get(type_, key)
    assert found is not None
    assert g.get(type_, id=found.id) == found
    assert g.get(type_, found) == found


def test_the_values_of_a_tuple_stand_in_the_order_of_the_schema(tmp_path: Path) -> None:
    schema = "node Pair { a: String  b: String  @key(b, a) }"
    graph = og.init(tmp_path / "pairs", schema, durability="os")
    graph.put("Pair", {"a": "1", "b": "2"})
    assert graph.get("Pair", ("2", "1")) is not None
    assert graph.get("Pair", ("1", "2")) is None


def test_what_is_not_there_is_none_and_what_cannot_be_is_an_error(g: og.Graph) -> None:
    assert g.get("Person", "Zoe") is None
    assert g.get("Order", ("acme", 8)) is None
    assert g.get("Knows", id="nope") is None
    ada = g.get("Person", "Ada")
    odd: Any = g.neighbors
    refused: list[tuple[Any, type[og.GraphError], str]] = [
        (lambda: g.get("Persn", "Ada"), og.NotFound, "no type `Persn`"),
        (lambda: g.get("Order", "acme"), og.UsageError, "is 2 values, not one str"),
        (lambda: g.get("Order", ("acme",)), og.UsageError, "is 2 values, not 1 value"),
        (lambda: g.get("Order", {"tenant": "acme"}), og.UsageError, "lacks `number`"),
        (lambda: g.get("Order", {"tenant": "acme", "nr": 7}), og.UsageError, "`nr` is not part of the key"),
        (lambda: g.get("Order", ("acme", "seven")), og.KeyValueError, "`number` of Order"),
        (lambda: g.get("Note", 7), og.UsageError, "has no key"),
        (lambda: g.get("Person"), og.UsageError, "a key or an id"),
        (lambda: g.get("Person", "Ada", id="Ada"), og.UsageError, "a key or an id"),
        (lambda: g.get("Day", ada), og.UsageError, "is one of Person"),
        (lambda: g.get("Person", odd), og.KeyValueError, "`name` of Person"),
    ]
    for call, error, words in refused:
        with pytest.raises(error, match=words):
            call()


def test_the_hint_of_a_key_is_about_what_is_wrong(g: og.Graph) -> None:
    for call, hint in (
        (lambda: g.get("Order", ("acme", "seven")), "Give a value that I64 can hold."),
        (lambda: g.get("Day", "2024-13-01"), "Give a value that Date can hold."),
        (lambda: g.put("Person", {"age": 7}), "Give every property of the key a value."),
    ):
        with pytest.raises(og.KeyValueError) as error:
            call()
        assert error.value.hint == hint


def test_an_edge_by_its_id(g: og.Graph) -> None:
    (to_bob,) = g.neighbors("Person", "Ada", edges="Knows")
    assert g.get("Knows", id=to_bob.edge.id) == to_bob.edge
    assert to_bob.edge["since"] == dt.date(2024, 1, 1)


def test_neighbors_come_with_the_edge_and_the_way(g: og.Graph) -> None:
    def said(found: list[og.Neighbor]) -> list[tuple[str, str, str]]:
        return [(n.edge.type, n.direction, n.node.id) for n in found]

    assert said(g.neighbors("Person", "Ada")) == [("Bought", "out", '["7","acme"]'), ("Knows", "out", "Bob")]
    both = said(g.neighbors("Person", "Bob"))
    assert sorted(both) == [("Knows", "in", "Ada"), ("Knows", "out", "Bob")]  # its edge to itself is there once
    assert said(g.neighbors("Person", "Bob", direction="in", edges=["knows"])) != []
    assert said(g.neighbors("Order", ("acme", 7))) == [("Bought", "in", "Ada")]
    assert said(g.neighbors("Person", "Ada", limit=1)) == [("Bought", "out", '["7","acme"]')]
    assert g.neighbors("Day", "2024-05-01") == []
    with pytest.raises(og.NotFound, match="no Person `Zoe`"):
        g.neighbors("Person", "Zoe")
    with pytest.raises(og.NotFound, match="no edge type `Likes`"):
        g.neighbors("Person", "Ada", edges="Likes")
    with pytest.raises(og.UsageError, match="Knows connects Person with Person, not Order"):
        g.neighbors("Order", ("acme", 7), edges="Knows")


def test_put_replaces_and_patch_changes_what_is_given(g: og.Graph) -> None:
    receipt = g.put("Person", {"name": "Ada", "age": 37}, patch=True, actor="hr", message="birthday")
    assert (receipt.affected_nodes, receipt.actor, receipt.query_name) == (1, "hr", "put_Person")
    assert receipt.commit is not None
    assert receipt.commit.message == "birthday"
    ada = g.get("Person", "Ada")
    assert ada is not None
    assert (ada["age"], ada["born"]) == (37, dt.date(1815, 12, 10))
    assert g.blob("node", "Person", "Ada", "photo").data == b"hi"
    assert g.put("Person", {"name": "Ada", "age": 37}, patch=True).commit is None  # as it is
    assert g.put("Person", {"name": "Eve", "age": 1}, patch=True).commit is not None  # not there yet
    g.put("Person", {"name": "Ada", "age": 38})
    ada = g.get("Person", "Ada")
    assert ada is not None
    assert (ada["age"], ada["born"]) == (38, None)
    with pytest.raises(og.NotFound):
        g.blob("node", "Person", "Ada", "photo")


def test_put_takes_what_a_load_of_records_takes(g: og.Graph) -> None:
    with pytest.raises(og.ParameterError, match="`number` must be I64, not a string"):
        g.put("Order", {"tenant": "b", "number": "8", "total": 2})
    g.put("Order", {"tenant": "b", "number": 8, "total": 2})
    assert g.get("Order", ("b", 8))["total"] == 2.0  # type: ignore[index]
    g.put("Day", {"on": dt.date(2024, 6, 1), "note": "x"})
    g.put("Person", {"name": "Eve", "photo": b"bytes"})
    assert g.blob("node", "Person", "Eve", "photo").data == b"bytes"
    assert g.put("Note", {"text": "a"}).commit is not None
    assert g.put("Note", {"text": "a"}).commit is not None
    assert g.stats().types[-1].rows == 2


def test_put_is_checked_as_a_mutation_is(g: og.Graph) -> None:
    before = g.commits()[0]
    g.put("Person", {"name": "Eve", "email": "e@x"}, branch="main")
    refused: list[tuple[Any, type[og.GraphError], str]] = [
        (lambda: g.put("Person", {"nam": "x"}), og.UsageError, "no property `nam`"),
        (lambda: g.put("Person", {"name": 7}), og.ParameterError, "Person: property `name` must be String"),
        (lambda: g.put("Person", {"name": None}), og.ParameterError, "cannot be null"),
        (lambda: g.put("Person", {"age": 7}), og.KeyValueError, "key property `name` has no value"),
        (lambda: g.put("Person", {"name": "Fay", "email": "e@x"}), og.ValidationError, "email"),
        (lambda: g.put("Note", {}), og.ValidationError, "text"),
        (lambda: g.put("Note", {"text": "x"}, patch=True), og.UsageError, "has no key"),
        (lambda: g.put("Knows", {}), og.UsageError, "is an edge type"),
        (lambda: g.put_edge("Person", "Ada", "Bob"), og.UsageError, "is a node type"),
        (lambda: g.put_edge("Knows", "Ada", "Zoe"), og.ValidationError, "`Zoe` not found"),
        (lambda: g.put("Person", {"name": "Gus"}, if_commit=before), og.PreconditionFailed, "main"),
    ]
    for call, error, words in refused:
        with pytest.raises(error, match=words):
            call()
    assert len(g.commits()) == 3


def test_an_edge_is_put_between_keys_of_any_form(g: og.Graph) -> None:
    g.put_edge("Bought", {"name": "Bob"}, ("acme", 7))
    bob, order = g.get("Person", "Bob"), g.get("Order", ("acme", 7))
    assert isinstance(bob, og.Node)
    assert isinstance(order, og.Node)
    g.put_edge("bought", bob, order)
    assert [n.node for n in g.neighbors("Person", bob, edges="Bought")] == [order, order]
    g.put_edge("Knows", "Ada", "Ada", {"since": "2024-02-03"})
    assert dt.date(2024, 2, 3) in [n.edge["since"] for n in g.neighbors("Person", "Ada", edges="Knows")]


def test_a_patch_is_void_if_somebody_else_changes_the_node(g: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    other, staged = og.open(g.uri), stage

    def late(*given: Any) -> Any:
        outcome = staged(*given)
        monkeypatch.setattr(writing, "stage", staged)
        other.put("Person", {"name": "Ada", "age": 1}, patch=True)
        return outcome

    monkeypatch.setattr(writing, "stage", late)
    with pytest.raises(og.ReadSetChanged, match="Person"):
        g.put("Person", {"name": "Ada", "weight": 2.0}, patch=True)
    assert g.get("Person", "Ada")["weight"] == pytest.approx(0.1)  # type: ignore[index]


def test_the_past_and_other_branches_are_read(g: og.Graph) -> None:
    before = g.commits()[0]
    g.branches.create("work")
    g.put("Person", {"name": "Ada", "age": 50}, branch="work", patch=True)
    assert g.get("Person", "Ada")["age"] == 36  # type: ignore[index]
    assert g.get("Person", "Ada", branch="work")["age"] == 50  # type: ignore[index]
    assert g.get("Person", "Ada", at=before)["age"] == 36  # type: ignore[index]
