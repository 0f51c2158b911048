"""Whoever changes a graph is recorded with the change, whatever it is."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.storage.aging import MovedClock

import omnigraph as og
from omnigraph.embedding import MockEmbedder
from omnigraph.engine.analytics import Analytics
from omnigraph.engine.branches import Branches
from omnigraph.engine.calls.guard import GUARDED
from omnigraph.engine.graph import Graph
from omnigraph.engine.tags import Tags
from omnigraph.storage.commits.reclaimed_commits import ledger
from omnigraph.storage.commits.refs import Ref

SCHEMA = 'node Person { name: String @key  rank: F64?  note: String? @index  near: Vector(2)? @embed(note, model="m") } edge Knows: Person -> Person'
ADD = "query add($n: String) { insert Person { name: $n } }"
ADA = [{"type": "Person", "data": {"name": "Ada", "note": "x"}}]


@pytest.fixture
def g(tmp_path: Path) -> Graph:
    graph = og.init(tmp_path / "g", SCHEMA, durability="os", actor="maker", embedder=MockEmbedder("m"))
    graph.load(ADA)
    graph.branches.create("work")
    graph.mutate(ADD, {"n": "Bob"}, branch="work")
    graph.tags.create("v1", "main")
    return graph


def newest(graph: Graph, branch: str = "main") -> str | None:
    return graph.commits(branch, limit=1)[0].actor


def cleaned(graph: Graph) -> str | None:
    for number in range(3):
        graph.mutate(ADD, {"n": str(number)})
    clock = MovedClock()
    clock.pass_time()
    vars(graph._store)["_clock"] = clock
    assert graph.cleanup(keep=1, older_than="0s", dry_run=False, actor="ada").commits_reclaimed
    return ledger(graph._store.place).record.by


def deleted_branch(graph: Graph) -> str | None:
    ref = graph.branches.get("work")
    told = graph.branches.delete("work", actor="ada")
    assert told is not None
    assert told.actor == graph._store.manifest(ref).load().recent[-1].actor
    return told.actor


def deleted_tag(graph: Graph) -> str | None:
    told = graph.tags.delete("v1", actor="ada")
    assert [told] == graph.tags.deleted()
    assert told is not None
    assert told.tag.name == "v1"
    return told.deleted_by


def created(made: og.Graph, branch: str) -> str | None:
    found = og.open(made.uri).branches.get(branch)
    assert found.created_at is not None
    return found.created_by


def in_a_transaction(graph: Graph) -> str | None:
    with graph.transaction(actor="ada") as transaction:
        transaction.put("Person", {"name": "Cy"})
    return newest(graph)


def file_of(graph: Graph) -> Path:
    path = Path(graph.uri).parent / "lib.gq"
    path.write_text(ADD)
    return path


CHANGES: dict[Any, Callable[[Graph], str | None]] = {
    Graph.mutate: lambda g: (g.mutate(ADD, {"n": "Cy"}, actor="ada"), newest(g))[1],
    Graph.load: lambda g: (g.load(ADA, branch="new", from_="main", actor="ada"), created(g, "new"), newest(g, "new"))[1],
    Graph.merge: lambda g: (g.merge("work", actor="ada"), newest(g))[1],
    Graph.revert: lambda g: (g.revert(g.commits(limit=1)[0], actor="ada"), newest(g))[1],
    Graph.apply_schema: lambda g: (g.apply_schema(SCHEMA.replace("rank: F64?", "rank: F64?  x: I32?"), actor="ada"), newest(g))[
        1
    ],
    Graph.optimize: lambda g: (g.optimize(actor="ada"), g._store.commits(limit=1)[0].actor)[1],
    Graph.embed: lambda g: (g.embed(actor="ada"), newest(g))[1],
    Graph.cleanup: cleaned,
    Graph.delete: lambda g: (g.delete({"Person": ["Ada"]}, actor="ada"), newest(g))[1],
    Graph.put: lambda g: (g.put("Person", {"name": "Cy"}, actor="ada"), newest(g))[1],
    Graph.put_edge: lambda g: (g.put_edge("Knows", "Ada", "Ada", actor="ada"), newest(g))[1],
    Graph.transaction: in_a_transaction,
    Graph.queries: lambda g: (g.queries(file_of(g), actor="ada").add(n="Cy"), newest(g))[1],
    Branches.create: lambda g: (g.branches.create("new", actor="ada"), created(g, "new"))[1],
    Branches.delete: deleted_branch,
    Tags.create: lambda g: (g.tags.create("v2", "main", actor="ada"), og.open(g.uri).tags.list()[1].created_by)[1],
    Tags.delete: deleted_tag,
    Analytics.pagerank: lambda g: (g.analytics.pagerank(write_to="rank", actor="ada"), newest(g))[1],
}


@pytest.mark.parametrize("call", CHANGES, ids=lambda f: f.__qualname__)
def test_a_change_carries_its_actor(g: Graph, call: Any) -> None:
    assert CHANGES[call](g) == "ada"


@pytest.mark.parametrize("call", [*CHANGES, og.init], ids=lambda f: f.__qualname__)
def test_an_actor_is_trimmed_and_one_without_a_name_is_refused(call: Any) -> None:
    check = getattr(call, GUARDED)["actor"]
    assert (check("actor", None), check("actor", " ada ")) == (None, "ada")
    for blank in ("", " ", "\u00a0 "):
        with pytest.raises(og.UsageError, match="`actor` is the name of an actor"):
            check("actor", blank)


def test_what_is_refused_for_its_actor_changes_nothing(g: Graph) -> None:
    before = g.commits()
    with pytest.raises(og.UsageError, match="name of an actor"):
        g.mutate(ADD, {"n": "Cy"}, actor="")
    assert g.commits() == before
    assert g.mutate(ADD, {"n": "Cy"}, actor=" ada ").actor == newest(g) == "ada"


def test_every_call_that_takes_an_actor_is_tried() -> None:
    takes = {
        member
        for cls in (Graph, Branches, Tags)
        for name, member in inspect.getmembers(cls, inspect.isfunction)
        if not name.startswith("_") and "actor" in inspect.signature(member).parameters
    }
    assert takes == {call for call in CHANGES if call is not Analytics.pagerank}


def test_init_names_its_actor_in_the_first_commit_and_on_the_branch(g: Graph) -> None:
    assert g.commits()[-1].actor == "maker"
    assert created(g, "main") == "maker"


def test_both_the_branch_and_the_commit_of_a_load_carry_the_actor(g: Graph) -> None:
    g.load([{"type": "Person", "data": {"name": "Zoe"}}], branch="new", from_="main", actor="ada")
    assert (created(g, "new"), newest(g, "new")) == ("ada", "ada")


def test_a_mutation_that_changes_nothing_names_nobody(g: Graph) -> None:
    receipt = g.mutate('query q() { delete Person where name = "nobody" }', actor="ada")
    assert (receipt.commit, receipt.actor) == (None, None)


def test_records_of_before_name_nobody(g: Graph, tmp_path: Path) -> None:
    path = tmp_path / "g" / "__refs" / "old"
    incarnation = g.branches.create("old").incarnation
    path.write_text(f'{{"branch":"old","incarnation":"{incarnation}","origin":null,"fork_commit":null}}')
    again = og.open(tmp_path / "g")
    assert again.branches.get("old") == Ref("old", incarnation)


def test_a_tag_whose_deletion_did_not_happen_is_not_listed_as_deleted(g: Graph) -> None:
    from omnigraph.storage.commits.deleted_tags import DeletedTag, put_deleted

    put_deleted(g._store.place, DeletedTag(g.tags.list()[0], "ada", 5))
    assert g.tags.deleted() == []
    g.tags.delete("v1", actor="bob")
    assert [d.deleted_by for d in g.tags.deleted()] == ["bob"]
    g.tags.create("v1", "work")
    assert [d.deleted_by for d in g.tags.deleted()] == ["bob"], "another tag of that name"
