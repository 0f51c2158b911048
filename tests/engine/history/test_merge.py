"""Merging: the numbered cases, what is written, what is read, lineage, resolutions, and somebody else committing meanwhile."""

from __future__ import annotations

import threading
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from tests.engine.graphs import add, delete, make_graph, upsert
from tests.engine.history.graphs import PEOPLE, calm, contents, kinds, names, people, put, told

import omnigraph as og
from omnigraph.engine.history import merge as merge_module
from omnigraph.engine.history.merge import Merger
from omnigraph.engine.upkeep.reconcile import optimize
from omnigraph.storage.commits.lineage import Commit, OpClass
from omnigraph.storage.commits.plan import PublishPlan
from omnigraph.storage.reclaiming.reclaim import reclaim
from omnigraph.storage.tables.rows import fragments


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    made = people(tmp_path)
    made.branches.create("work")
    return made


def conflicts(graph: og.Graph, source: str = "work", **options: object) -> list[tuple[str, str, str | None]]:
    """The conflicts of a merge into main, which changes nothing."""
    before, head = contents(graph), graph._view().snapshot.commit
    with pytest.raises(og.MergeConflict) as caught:
        graph.merge(source, **options)  # type: ignore[arg-type]
    assert (contents(graph), graph._view().snapshot.commit) == (before, head)
    return kinds(told(caught.value))


# ── the numbered cases ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_b1_b2_a_branch_is_merged_once(graph: og.Graph) -> None:
    before = graph._view().snapshot.commit
    source = put(graph, 'insert Person { name: "Eve" }', "work")
    merged = graph.merge("work", actor="ada", message="Eve joins")
    assert merged.outcome == "fast_forward"
    assert merged.commit is not None
    assert merged.commit.parents == (before, source)
    assert (merged.commit.actor, merged.commit.message, merged.commit.operation) == ("ada", "Eve joins", "merge")
    assert "Eve" in names(graph, "Person")
    again = graph.merge("work")
    assert (again.outcome, again.commit) == ("already_up_to_date", None)
    assert graph._view().snapshot.commit == merged.commit.id


def test_b3_b4_one_property_on_both_sides(graph: og.Graph) -> None:
    put(graph, 'update Person set { age: 31 } where name = "Alice"', "work")
    put(graph, 'update Person set { age: 32 } where name = "Alice"')
    assert conflicts(graph) == [("divergent_update", "Person", "Alice")]
    put(graph, 'update Person set { age: 31 } where name = "Alice"')
    assert graph.merge("work").outcome == "merged"
    assert contents(graph)["Person", "Alice"]["age"] == 31


def test_b5_two_properties_of_one_entity(graph: og.Graph) -> None:
    put(graph, 'update Person set { age: 31 } where name = "Alice"', "work")
    put(graph, 'update Person set { nickname: "Al" } where name = "Alice"')
    assert conflicts(graph, strict=True) == [("divergent_update", "Person", "Alice")]
    assert graph.merge("work").outcome == "merged"
    alice = contents(graph)["Person", "Alice"]
    assert (alice["age"], alice["nickname"]) == (31, "Al")


def test_b6_an_edge_to_a_node_that_goes(graph: og.Graph) -> None:
    put(graph, 'delete Person where name = "Bob"', "work")
    put(graph, 'insert Knows { from: "Alice", to: "Bob" }')
    ((kind, type_, _),) = conflicts(graph)
    assert (kind, type_) == ("orphan_edge", "Knows")


def test_b7_b8_the_same_node_on_both_sides(graph: og.Graph) -> None:
    put(graph, 'insert Person { name: "Eve", age: 9 }', "work")
    put(graph, 'insert Person { name: "Eve", age: 9 }')
    graph.branches.create("other", from_="work")
    assert graph.merge("work").outcome == "merged"
    assert names(graph, "Person").count("Eve") == 1
    put(graph, 'update Person set { age: 10 } where name = "Eve"', "other")
    assert graph.merge("other").outcome == "merged"


def test_b8_the_same_node_differently(graph: og.Graph) -> None:
    put(graph, 'insert Person { name: "Eve", age: 9 }', "work")
    put(graph, 'insert Person { name: "Eve", age: 10 }')
    assert conflicts(graph) == [("divergent_insert", "Person", "Eve")]


def test_b9_a_unique_value_on_each_side(graph: og.Graph) -> None:
    put(graph, 'update Person set { email: "a@x" } where name = "Bob"', "work")
    put(graph, 'update Person set { email: "a@x" } where name = "Alice"')
    assert conflicts(graph) == [("unique_violation", "Person", "Bob")]


def test_b10_one_edge_too_many(graph: og.Graph) -> None:
    put(graph, 'insert WorksAt { from: "Alice", to: "Acme" }', "work")
    put(graph, 'insert WorksAt { from: "Alice", to: "Umbrella" }')
    assert conflicts(graph) == [("cardinality_violation", "WorksAt", "Alice")]


def test_b11_null_is_not_empty_text(graph: og.Graph) -> None:
    put(graph, 'update Person set { nickname: "" } where name = "Alice"', "work")
    assert [c.properties for c in graph.diff("main", "work")] == [("nickname",)]
    put(graph, 'update Person set { nickname: "x" } where name = "Alice"')
    put(graph, 'insert Person { name: "Zoe", nickname: "" }', "work")
    put(graph, 'insert Person { name: "Zoe" }')
    assert conflicts(graph) == [("divergent_update", "Person", "Alice"), ("divergent_insert", "Person", "Zoe")]


def test_b12_the_past_stays_readable(graph: og.Graph) -> None:
    before = graph._view().snapshot.commit
    put(graph, 'delete Person where name = "Bob"', "work")
    graph.merge("work")
    asked = "query q() { match { $p: Person } return { $p.name } }"
    assert len(graph.query(asked, at=before)) == 3
    assert len(graph.query(asked)) == 2


@pytest.mark.parametrize("name", ["feature//x", "a..b", "x.lock", "main", "/a", "a/", "a b", "", "a\\b", "work/1"])
def test_b16_names_that_no_branch_can_have(graph: og.Graph, name: str) -> None:
    with pytest.raises((og.UsageError, og.AlreadyExists)):
        graph.branches.create(name)


# ── outcomes ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_all_conflicts_are_told_together_and_in_order(graph: og.Graph) -> None:
    for branch, age in (("work", 1), ("main", 2)):
        for name in ("Carol", "Alice"):
            put(graph, f'update Person set {{ age: {age} }} where name = "{name}"', branch)
        put(graph, f'insert Company {{ name: "C{age}" }}', branch)
        upsert(graph, "Knows", [{"id": "k1", "src": "Alice", "dst": "Bob", "weight": float(age)}], branch)
    with pytest.raises(og.MergeConflict) as caught:
        graph.merge("work")
    found = told(caught.value)
    assert kinds(found) == [
        ("divergent_update", "Person", "Alice"),
        ("divergent_update", "Person", "Carol"),
        ("divergent_update", "Knows", "k1"),
    ]
    assert str(caught.value) == (
        "merge conflicts: node type 'Person', entity id 'Alice' (divergent_update); node type 'Person', entity id 'Carol' "
        "(divergent_update); edge type 'Knows', entity id 'k1' (divergent_update) (divergent_update 3)"
    )
    assert found[2].to_dict() == {
        "entity_kind": "edge",
        "type_name": "Knows",
        "entity_id": "k1",
        "kind": "divergent_update",
        "message": "Knows `k1` was changed on both sides: base {weight: <null>}, ours {weight: 2.0}, theirs {weight: 1.0}",
        "key": "divergent_update:edge:Knows:k1",
        "properties": ["weight"],
        "base": {"weight": None},
        "ours": {"weight": 2.0},
        "theirs": {"weight": 1.0},
    }
    assert "divergent_update:edge:Knows:k1" in repr(graph.merge("work", dry_run=True))


def test_values_are_compared_by_type(graph: og.Graph) -> None:
    row = {
        "name": "Alice",
        "age": 30,
        "born": date(1990, 1, 2),
        "seen": datetime(2024, 1, 1, tzinfo=UTC),
        "tags": ["a", "b"],
        "place": [0.1, 0.2],
        "photo": b"\x00\x01",
    }
    upsert(graph, "Person", [row], "work")
    upsert(graph, "Person", [row])
    assert graph.merge("work").outcome == "merged"
    for name, other in {"tags": ["b", "a"], "place": [0.1, 0.3], "photo": b"\x00\x02", "born": None}.items():
        upsert(graph, "Person", [{**row, name: other}])
        (change,) = graph.diff("work", "main")
        assert change.properties == (name,), name
        upsert(graph, "Person", [row])
    assert len(graph.diff("work", "main")) == 0


def test_a_net_zero_branch_leaves_only_a_commit(graph: og.Graph) -> None:
    put(graph, 'insert Person { name: "Tmp" }', "work")
    put(graph, 'delete Person where name = "Tmp"', "work")
    put(graph, 'insert Person { name: "Eve" }')
    before, tables = contents(graph), graph._view().snapshot.tables
    merged = graph.merge("work")
    assert merged.outcome == "merged"
    assert merged.commit is not None
    assert merged.commit.changes == ()
    assert (contents(graph), graph._view().snapshot.tables) == (before, tables)
    assert graph.merge("work").outcome == "already_up_to_date"


def test_a_branch_can_be_merged_again_and_again(graph: og.Graph) -> None:
    for number in range(4):
        put(graph, f'insert Person {{ name: "w{number}" }}', "work")
        put(graph, f'insert Person {{ name: "m{number}" }}')
        assert graph.merge("work").outcome == "merged"
        assert graph.merge("main", into="work").outcome == "fast_forward"
        assert contents(graph) == contents(graph, "work")


def test_criss_cross(graph: og.Graph) -> None:
    """Each side merges the other's earlier state; then both are merged. The nearest common commit is one that was merged."""
    put(graph, 'insert Person { name: "W" }', "work")
    put(graph, 'insert Person { name: "M" }')
    graph.branches.create("main-then")
    graph.branches.create("work-then", from_="work")
    graph.merge("work-then", into="main")
    graph.merge("main-then", into="work")
    put(graph, 'update Person set { age: 1 } where name = "W"', "work")
    put(graph, 'update Person set { age: 2 } where name = "M"')
    assert graph.merge("work").outcome == "merged"
    found = contents(graph)
    assert (found["Person", "W"]["age"], found["Person", "M"]["age"]) == (1, 2)


def test_history_survives_the_deletion_of_a_merged_branch(graph: og.Graph) -> None:
    commits = [put(graph, f'insert Person {{ name: "w{n}" }}', "work") for n in range(3)]
    put(graph, 'insert Person { name: "m" }')
    graph.merge("work")
    graph.branches.create("later", from_="work")
    graph.branches.delete("work")
    again = og.open(graph._store.place.uri)
    for commit in commits:
        assert commit is not None
        assert again._store.commit(commit).id == commit
    put(graph, 'insert Person { name: "z" }', "later")
    assert graph.merge("later").outcome == "merged"
    assert graph.merge("later").base == graph._view("later").snapshot.commit


def test_a_base_that_only_merges_know(graph: og.Graph) -> None:
    """A branch was merged into two others and deleted: where those two parted is a commit that no branch holds."""
    graph.branches.create("other")
    source = put(graph, 'update Person set { age: 1 } where name = "Alice"', "work")
    graph.merge("work")
    graph.merge("work", into="other")
    graph.branches.delete("work")
    put(graph, 'update Person set { age: 2 } where name = "Alice"', "other")
    put(graph, 'insert Person { name: "x" }')
    fresh = og.open(graph._store.place.uri)
    merged = fresh.merge("other")
    assert (merged.outcome, merged.base) == ("merged", source)
    assert contents(fresh)["Person", "Alice"]["age"] == 2


def test_a_branch_cannot_be_merged_into_itself(graph: og.Graph) -> None:
    with pytest.raises(og.UsageError, match="itself"):
        graph.merge("main")
    with pytest.raises(og.NotFound, match="nope"):
        graph.merge("nope")
    with pytest.raises(og.NotFound, match="nope"):
        graph.merge("work", into="nope")


def test_a_read_only_graph_can_be_previewed(graph: og.Graph) -> None:
    put(graph, 'insert Person { name: "Eve" }', "work")
    reader = og.open(graph._store.place.uri, read_only=True)
    assert reader.merge("work", dry_run=True).outcome == "fast_forward"
    with pytest.raises(og.UsageError, match="read-only"):
        reader.merge("work")


def test_maintenance_is_nothing_of_ones_own(graph: og.Graph) -> None:
    """Compaction on either side changes neither the outcome nor what conflicts."""
    put(graph, 'insert Person { name: "Eve" }', "work")
    optimize(graph._store, "main", graph._view().catalog)
    assert graph._view().snapshot.commit != graph.commits(limit=2)[1].id
    assert graph.merge("work", dry_run=True).outcome == "fast_forward"
    assert graph.merge("work").outcome == "fast_forward"
    optimize(graph._store, "work", graph._view().catalog)
    assert graph.merge("work").outcome == "already_up_to_date"
    assert "Eve" in names(graph, "Person")


def test_criss_cross_keeps_a_later_decision(graph: og.Graph) -> None:
    """Both sides had work's value; then main took it back. That is a change of main's, although it looks like the first base."""
    put(graph, 'update Person set { age: 1 } where name = "Alice"', "work")
    put(graph, 'insert Person { name: "M" }')
    graph.branches.create("main-then")
    graph.branches.create("work-then", from_="work")
    graph.merge("work-then", into="main")
    graph.merge("main-then", into="work")
    put(graph, 'update Person set { age: 30 } where name = "Alice"')
    put(graph, 'insert Person { name: "W" }', "work")
    graph.branches.create("copy")
    assert graph.merge("work").outcome == "merged"
    assert contents(graph)["Person", "Alice"]["age"] == 30
    assert graph.merge("copy", into="work").outcome == "merged"
    assert contents(graph, "work") == contents(graph)


# ── resolutions ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def diverged(graph: og.Graph) -> str:
    put(graph, 'update Person set { age: 31, nickname: "w" } where name = "Alice"', "work")
    put(graph, 'update Person set { age: 32, email: "m@x" } where name = "Alice"')
    (conflict,) = graph.merge("work", dry_run=True).conflicts
    assert (conflict.base, conflict.ours, conflict.theirs) == ({"age": 30}, {"age": 32}, {"age": 31})
    return conflict.key


def test_values_resolve_a_conflict_and_the_rest_is_merged(graph: og.Graph) -> None:
    key = diverged(graph)
    assert graph.merge("work", resolve={key: {"age": 40, "born": "1990-02-03"}}).outcome == "merged"
    alice = contents(graph)["Person", "Alice"]
    assert (alice["age"], alice["nickname"], alice["email"], alice["born"]) == (40, "w", "m@x", date(1990, 2, 3))


@pytest.mark.parametrize(
    ("resolution", "error", "text"),
    [
        ("mine", og.UsageError, "not a side"),
        ({"divergent_update:node:Person:Alice": "mine"}, og.UsageError, "not a side"),
        ({"divergent_update:node:Person:Alice": 7}, og.UsageError, "neither a side nor values"),
        ({"divergent_update:node:Person:Alice": {}}, og.UsageError, "no value for `age`"),
        ({"divergent_update:node:Person:Alice": {"age": "x"}}, og.ParameterError, "age"),
        ({"divergent_update:node:Person:Alice": {"age": 1, "name": "B"}}, og.UsageError, "identity"),
        ({"divergent_update:node:Person:Alice": {"age": 1, "size": 2}}, og.UsageError, "not a property"),
        (
            {"divergent_update:node:Person:Alice": "ours", "divergent_update:node:Person:Bob": "ours"},
            og.UsageError,
            "no conflict",
        ),
        (["ours"], og.UsageError, "a side or a mapping"),
    ],
)
def test_resolutions_that_make_no_sense(graph: og.Graph, resolution: object, error: type[Exception], text: str) -> None:
    diverged(graph)
    before = contents(graph)
    with pytest.raises(error, match=text):
        graph.merge("work", resolve=resolution)  # type: ignore[arg-type]
    assert contents(graph) == before


def test_unresolved_conflicts_are_still_told(graph: og.Graph) -> None:
    key = diverged(graph)
    put(graph, 'insert Person { name: "Eve", age: 1 }', "work")
    put(graph, 'insert Person { name: "Eve", age: 2 }')
    assert conflicts(graph, resolve={key: "ours"}) == [("divergent_insert", "Person", "Eve")]


def test_a_value_that_breaks_a_rule_is_a_conflict_too(tmp_path: Path) -> None:
    graph = make_graph(
        tmp_path, "node N { name: String @key  size: I32?  @range(size, 0..10) }", {"N": [{"name": "a", "size": 1}]}
    )
    calm(graph)
    graph.branches.create("work")
    put(graph, 'update N set { size: 2 } where name = "a"', "work")
    put(graph, 'update N set { size: 3 } where name = "a"')
    key = graph.merge("work", dry_run=True).conflicts[0].key
    with pytest.raises(og.MergeConflict) as caught:
        graph.merge("work", resolve={key: {"size": 11}})
    (conflict,) = told(caught.value)
    assert (conflict.kind, conflict.entity, conflict.properties) == ("value_constraint_violation", "a", ("size",))
    assert conflict.ours == {"size": 3}
    second = conflict.key
    assert graph.merge("work", resolve={key: {"size": 11}, second: {"size": 10}}).outcome == "merged"
    assert contents(graph)["N", "a"]["size"] == 10


def unique_clash(graph: og.Graph) -> str:
    put(graph, 'insert Person { name: "Eve", email: "a@x" }', "work")
    put(graph, 'insert Knows { from: "Eve", to: "Bob" }', "work")
    put(graph, 'update Person set { email: "a@x" } where name = "Alice"')
    (conflict,) = graph.merge("work", dry_run=True).conflicts
    assert (conflict.kind, conflict.entity) == ("unique_violation", "Eve")
    assert (conflict.base, conflict.ours, conflict.theirs) == (None, None, {"email": "a@x"})
    return conflict.key


def test_a_unique_value_goes_to_theirs(graph: og.Graph) -> None:
    unique_clash(graph)
    assert graph.merge("work", resolve="theirs").outcome == "merged"
    found = contents(graph)
    assert (found["Person", "Eve"]["email"], found["Person", "Alice"]["email"]) == ("a@x", None)


def test_a_unique_value_stays_and_what_hung_on_the_other_goes_too(graph: og.Graph) -> None:
    """Without Eve her edge has no source: a conflict that the resolution brought up, settled the same way."""
    key = unique_clash(graph)
    assert [c[0] for c in conflicts(graph, resolve={key: "ours"})] == ["orphan_edge"]
    assert graph.merge("work", resolve="ours").outcome == "merged"
    assert names(graph, "Person") == ["Alice", "Bob", "Carol"]
    assert names(graph, "Knows") == ["k1"]


def test_a_unique_value_is_replaced(graph: og.Graph) -> None:
    key = unique_clash(graph)
    assert graph.merge("work", resolve={key: {"email": "e@x"}}).outcome == "merged"
    found = contents(graph)
    assert (found["Person", "Eve"]["email"], found["Person", "Alice"]["email"]) == ("e@x", "a@x")


@pytest.mark.parametrize(("side", "company"), [("ours", "Umbrella"), ("theirs", "Acme")])
def test_one_edge_too_many_is_settled_by_side(graph: og.Graph, side: str, company: str) -> None:
    put(graph, 'insert WorksAt { from: "Alice", to: "Acme" }', "work")
    put(graph, 'insert WorksAt { from: "Alice", to: "Umbrella" }')
    key = graph.merge("work", dry_run=True).conflicts[0].key
    with pytest.raises(og.UsageError, match="cannot be resolved by values"):
        graph.merge("work", resolve={key: {"to": "Acme"}})
    assert graph.merge("work", resolve={key: side}).outcome == "merged"  # type: ignore[dict-item]
    (edge,) = [row for (name, _), row in contents(graph).items() if name == "WorksAt"]
    assert (edge["src"], edge["dst"]) == ("Alice", company)


def test_an_orphan_is_given_another_end(graph: og.Graph) -> None:
    put(graph, 'delete Person where name = "Carol"', "work")
    put(graph, 'insert Knows { from: "Alice", to: "Carol" }')
    (conflict,) = graph.merge("work", dry_run=True).conflicts
    assert graph.merge("work", resolve={conflict.key: {"to": "Bob"}}).outcome == "merged"
    found = contents(graph)
    assert found["Knows", str(conflict.entity)]["dst"] == "Bob"
    assert ("Person", "Carol") not in found


def test_an_edge_between_two_removed_nodes_is_one_conflict(graph: og.Graph) -> None:
    for name in ("Bob", "Carol"):
        put(graph, f'delete Person where name = "{name}"', "work")
    put(graph, 'insert Knows { from: "Bob", to: "Carol" }')
    assert [c[0] for c in conflicts(graph)] == ["orphan_edge"]
    assert graph.merge("work", resolve="ours").outcome == "merged"
    assert names(graph, "Person") == ["Alice", "Bob", "Carol"]


# ── what is written and read ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_fast_forward_reads_and_writes_no_row(graph: og.Graph) -> None:
    put(graph, 'insert Person { name: "Eve" }', "work")
    put(graph, 'delete Person where name = "Bob"', "work")
    reads = graph._past.deltas.reads.rows
    merged = graph.merge("work")
    assert graph._past.deltas.reads.rows == reads
    assert merged.commit is not None
    assert {k: s.pin for k, s in graph._view().snapshot.tables.items()} == {
        k: s.pin for k, s in graph._view("work").snapshot.tables.items()
    }
    assert all(change.before is not None and change.after is not None for change in merged.commit.changes)
    added = {change.table: (change.fragments_added, change.fragments_removed) for change in merged.commit.changes}
    assert len(added) == 2


def test_a_table_only_they_changed_is_taken_over(graph: og.Graph) -> None:
    put(graph, 'insert Company { name: "Initech" }', "work")
    put(graph, 'insert Person { name: "Eve" }')
    assert graph.merge("work").outcome == "merged"
    key = next(k for k, t in graph._view().snapshot.tables.items() if t.rows == 3 and "node" in k)
    assert graph._view().snapshot.tables[key].pin == graph._view("work").snapshot.tables[key].pin
    assert len(names(graph, "Company")) == 3


def test_many_new_rows_are_grafted(graph: og.Graph) -> None:
    add(graph, {"Person": [{"name": f"p{n:05d}", "age": n} for n in range(3_000)]}, "work")
    put(graph, 'insert Person { name: "Eve" }')
    merged = graph.merge("work")
    assert merged.outcome == "merged"
    assert len(names(graph, "Person")) == 3_004
    ours, theirs = (
        {p.files for p in fragments(view.nodes("Person").stored.table)} for view in (graph._view(), graph._view("work"))
    )
    assert len(ours & theirs) == 2, "the rows stand in the files the branch wrote"
    assert merged.commit is not None
    on_work = graph.commits("work", limit=1)[0].id
    assert graph.commit_changes(merged.commit.id, limit=8_192).changes == graph.commit_changes(on_work, limit=8_192).changes
    graph.branches.delete("work")
    reclaim(graph._store, keep=1, older_than=None, grace=timedelta(0), dry_run=False)
    assert contents(graph)["Person", "p02999"]["age"] == 2_999


# ── somebody else ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def interrupted(graph: og.Graph, monkeypatch: pytest.MonkeyPatch, *writes: str) -> list[PublishPlan]:
    """Let somebody commit to main right before each of the next merges is published."""
    plans: list[PublishPlan] = []
    waiting = list(writes)
    publish = graph._store.publish

    def late(branch: str, plan: PublishPlan, revalidate: object = None) -> Commit:
        if plan.operation == "merge":
            plans.append(plan)
            if waiting:
                put(graph, waiting.pop(0))
        return publish(branch, plan, revalidate)  # type: ignore[arg-type]

    monkeypatch.setattr(graph._store, "publish", late)
    return plans


def test_a_fast_forward_that_comes_too_late_becomes_a_merge(graph: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    put(graph, 'insert Person { name: "Eve" }', "work")
    plans = interrupted(graph, monkeypatch, 'insert Person { name: "Late" }')
    assert graph.merge("work").outcome == "merged"
    assert len(plans) == 2
    assert names(graph, "Person") == ["Alice", "Bob", "Carol", "Eve", "Late"]


def test_a_conflict_that_arises_meanwhile_is_seen(graph: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    put(graph, 'update Person set { age: 1 } where name = "Alice"', "work")
    put(graph, 'update Person set { age: 1 } where name = "Bob"')
    interrupted(graph, monkeypatch, 'update Person set { age: 2 } where name = "Alice"')
    with pytest.raises(og.MergeConflict):
        graph.merge("work")
    assert contents(graph)["Person", "Alice"]["age"] == 2


def test_an_edge_that_comes_meanwhile_is_not_orphaned(graph: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    put(graph, 'delete Person where name = "Carol"', "work")
    put(graph, 'insert Company { name: "Initech" }')
    interrupted(graph, monkeypatch, 'insert Knows { from: "Alice", to: "Carol" }')
    with pytest.raises(og.MergeConflict) as caught:
        graph.merge("work")
    assert [c.kind for c in told(caught.value)] == ["orphan_edge"]


def test_a_commit_elsewhere_does_not_void_a_merge(graph: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    put(graph, 'insert Company { name: "Initech" }', "work")
    put(graph, 'insert Company { name: "Hooli" }')
    plans = interrupted(graph, monkeypatch, 'update Person set { age: 2 } where name = "Alice"')
    assert graph.merge("work").outcome == "merged"
    assert len(plans) == 1
    assert len(names(graph, "Company")) == 4
    assert contents(graph)["Person", "Alice"]["age"] == 2


def test_a_merge_that_always_loses_gives_up(graph: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merge_module, "MAX_MERGE_ATTEMPTS", 3)
    put(graph, 'insert Person { name: "Eve" }', "work")
    plans = interrupted(graph, monkeypatch, *(f'insert Person {{ name: "l{n}" }}' for n in range(9)))
    with pytest.raises(og.ConflictError):
        graph.merge("work")
    assert len(plans) == 3
    assert "Eve" not in names(graph, "Person")


def test_merges_and_writers_side_by_side_lose_nothing(graph: og.Graph) -> None:
    failures: list[BaseException] = []

    def write(branch: str, start: int) -> None:
        try:
            for number in range(start, start + 8):
                put(graph, f'insert Person {{ name: "{branch}{number}" }}', branch)
                if branch != "main":
                    graph.merge(branch)
        except BaseException as error:
            failures.append(error)

    graph.branches.create("more")
    threads = [threading.Thread(target=write, args=(b, 0)) for b in ("main", "work", "more")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(names(graph, "Person")) == 3 + 24
    chain = graph.commits()
    assert [c.seq for c in chain] == list(range(len(chain) - 1, -1, -1))


def test_the_merger_never_publishes_maintenance(graph: og.Graph) -> None:
    put(graph, 'insert Person { name: "Eve" }', "work")
    merged = graph.merge("work")
    assert merged.commit is not None
    assert merged.commit.op_class is OpClass.LOGICAL
    assert Merger.__doc__


def test_the_outcome_is_data(graph: og.Graph) -> None:
    put(graph, 'insert Person { name: "Eve" }', "work")
    preview = graph.merge("work", dry_run=True, actor="ada").to_dict()
    assert (preview["outcome"], preview["dry_run"], preview["merge_conflicts"]) == ("fast_forward", True, [])
    assert [c["id"] for c in preview["changes"]] == ["Eve"]
    done = graph.merge("work", actor="ada").to_dict()
    assert done["source"] == "work"
    assert (done["target"], done["outcome"], done["actor_id"]) == ("main", "fast_forward", "ada")
    assert "graph_commit_id" in done


def test_people_is_what_the_tests_say(graph: og.Graph) -> None:
    assert len(contents(graph)) == sum(len(rows) for rows in PEOPLE.values())
    delete(graph, "Knows", ["k1"], "work")
    assert len(contents(graph, "work")) == 5
