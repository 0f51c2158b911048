"""Handles that were opened long ago, and others who have written since.

A write is prepared from the newest state of its branch, whoever made it: a handle holds no state that could be stale. What others
commit *after* a write was prepared is another matter: see `test_write_skew`.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.engine.graphs import make_graph
from tests.engine.history.graphs import calm

import omnigraph as og
from omnigraph.storage.commits.manifest import SchemaDocument
from omnigraph.storage.graph_store import Snapshot

SCHEMA = """
node Person { name: String @key  age: I32? }
edge Knows: Person -> Person
edge Leads: Person -> Person @card(0..1)
"""


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    made = make_graph(tmp_path, SCHEMA, {"Person": [{"name": n, "age": i} for i, n in enumerate("abcd")]})
    calm(made)
    made.query("query q() { match { $p: Person } return { $p.name } }")
    return made


def other(graph: og.Graph) -> og.Graph:
    return og.open(graph._store.place.uri, durability="os")


def test_a_long_lived_handle_prepares_a_strict_mutation_from_the_newest_state(graph: og.Graph) -> None:
    other(graph).mutate('query m() { insert Person { name: "e", age: 9 } }')
    done = graph.mutate("query m() { update Person set { age: 10 } where age > 2 }")
    assert done.affected_nodes == 2, "d, and e, which this handle has never seen"
    assert done.commit is not None
    assert done.commit.parent == other(graph).commits(limit=2)[1].id


def test_maintenance_by_others_is_not_noticed(graph: og.Graph) -> None:
    other(graph).optimize()
    assert graph.mutate('query m() { delete Person where name = "a" }').affected_nodes == 1
    other(graph).optimize()
    assert graph.mutate("query m() { update Person set { age: 7 } where age > 1 }").affected_nodes == 2


def test_cardinality_is_counted_on_what_will_be_the_base(graph: og.Graph) -> None:
    other(graph).mutate('query m() { insert Leads { from: "a", to: "b" } }')
    with pytest.raises(og.ValidationError, match=r"max 1"):
        graph.mutate('query m() { insert Leads { from: "a", to: "c" } }')
    assert graph.mutate('query m() { insert Leads { from: "b", to: "c" } }').affected_edges == 1


def test_a_precondition_is_compared_with_the_newest_state(graph: og.Graph) -> None:
    before = graph.commits(limit=1)[0].id
    other(graph).mutate('query m() { insert Person { name: "e" } }')
    with pytest.raises(og.PreconditionFailed):
        graph.mutate('query m() { insert Person { name: "f" } }', if_commit=before)


def test_deleting_a_node_without_edges_touches_no_edge_table(graph: og.Graph) -> None:
    graph.mutate('query m() { insert Knows { from: "a", to: "b" } }')
    before = graph._store.snapshot("main").tables
    commit = graph.mutate('query m() { delete Person where name = "d" }').commit
    after = graph._store.snapshot("main").tables
    assert commit is not None
    assert [c.table for c in commit.changes] == [key for key in after if key.startswith("node:")]
    assert {k: s.pin for k, s in after.items() if k.startswith("edge:")} == {
        k: s.pin for k, s in before.items() if k.startswith("edge:")
    }


def test_a_write_reads_its_schema_once_and_opens_each_table_at_most_once(
    graph: og.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh = other(graph)
    schemas: list[object] = []
    asked = fresh._store.schema

    def counted(snapshot: Snapshot) -> SchemaDocument:
        schemas.append(snapshot)
        return asked(snapshot)

    monkeypatch.setattr(fresh._store, "schema", counted)
    for number in range(3):
        opened = fresh._store.tables.opened
        fresh.mutate("query m($n: String) { insert Person { name: $n } }", params={"n": f"new-{number}"})
        assert fresh._store.tables.opened - opened <= 1
    assert len(schemas) == 1
