"""A stored graph: commits, branches, tags, time travel, and what happens when two writers meet."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.storage.graphs import (
    DOCUMENT,
    PEOPLE,
    TABLES,
    THINGS,
    content,
    delete,
    insert,
    new_graph,
    overwrite,
    place,
    rows,
    upsert,
)

from omnigraph.errors import (
    AlreadyExists,
    HistoryReclaimed,
    KeyConflict,
    NotFound,
    PreconditionFailed,
    ReadSetChanged,
    UsageError,
)
from omnigraph.storage.commits.lineage import OpClass, merge_base
from omnigraph.storage.commits.plan import PlannedChange, PublishPlan
from omnigraph.storage.graph_store import MAIN, GraphStore
from omnigraph.storage.tables.changes import NO_ROWS, Append, Delete, Overwrite


def test_a_new_graph_has_one_commit_and_empty_tables(tmp_path: Path) -> None:
    store = new_graph(tmp_path)
    (first,) = store.commits()
    assert (first.operation, first.parent, first.seq) == ("init", None, 0)
    assert content(store) == {}
    assert store.schema(store.snapshot()) == DOCUMENT


def test_a_place_holds_one_graph(tmp_path: Path) -> None:
    new_graph(tmp_path)
    with pytest.raises(AlreadyExists):
        new_graph(tmp_path)


def test_opening_nothing_is_an_error_and_creates_nothing(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="holds no graph"):
        GraphStore.open(place(tmp_path))
    assert list((tmp_path / "graph").iterdir()) == [] if (tmp_path / "graph").exists() else True


def test_every_kind_of_change(tmp_path: Path) -> None:
    store = new_graph(tmp_path)
    insert(store, a=1, b=2)
    upsert(store, b=20, c=3)
    delete(store, "a", "nobody")
    assert content(store) == {"b": 20, "c": 3}
    overwrite(store, z=9)
    assert content(store) == {"z": 9}
    snapshot = store.snapshot()
    plan = PublishPlan(OpClass.LOGICAL, "empty", snapshot.commit, (PlannedChange(PEOPLE, Overwrite(NO_ROWS)),))
    store.publish("main", plan)
    assert content(store) == {}
    reopened = GraphStore.open(place(tmp_path))
    assert [c.operation for c in reopened.commits()] == ["empty", "overwrite", "delete", "upsert", "insert", "init"]


def test_one_commit_over_several_tables(tmp_path: Path) -> None:
    store = new_graph(tmp_path)
    snapshot = store.snapshot()
    changes = tuple(
        PlannedChange(t, Append(store.tables.open(snapshot.tables[t]).write(rows(a=1)), ("a",))) for t in (PEOPLE, THINGS)
    )
    commit = store.publish("main", PublishPlan(OpClass.LOGICAL, "both", snapshot.commit, changes, actor="ada", message="why"))
    assert (content(store, table=PEOPLE), content(store, table=THINGS)) == ({"a": 1}, {"a": 1})
    assert (commit.actor, commit.message) == ("ada", "why")
    assert [c.added for c in commit.changes] == [1, 1]


def test_time_travel_reaches_every_commit(tmp_path: Path) -> None:
    store = new_graph(tmp_path)
    commits = [insert(store, MAIN, PEOPLE, **{f"k{i}": i}) for i in range(150)]
    reopened = GraphStore.open(place(tmp_path))
    for at in (0, 1, 62, 63, 64, 65, 100, 127, 128, 149):
        assert len(content(reopened, at=commits[at].id)) == at + 1
    assert [c.id for c in reopened.commits(limit=70)] == [c.id for c in reversed(commits)][:70]
    assert len(reopened.commits()) == 151
    with pytest.raises(HistoryReclaimed):
        reopened.commit("01ARZ3NDEKTSV4RRFFQ69G5FAV")


def test_a_snapshot_does_not_move(tmp_path: Path) -> None:
    store = new_graph(tmp_path)
    insert(store, a=1)
    snapshot = store.snapshot()
    delete(store, "a")
    assert store.tables.open(snapshot.tables[PEOPLE]).count() == 1
    assert content(store) == {}


def test_branches_are_independent_and_share_the_past(tmp_path: Path) -> None:
    store = new_graph(tmp_path)
    first = insert(store, a=1)
    store.create_branch("agent/7")
    insert(store, "agent/7", b=2)
    insert(store, c=3)
    store.create_branch("deep", at="agent/7")
    insert(store, "deep", d=4)
    assert content(store) == {"a": 1, "c": 3}
    assert content(store, "agent/7") == {"a": 1, "b": 2}
    assert content(store, "deep") == {"a": 1, "b": 2, "d": 4}
    assert [c.operation for c in store.commits("deep")] == ["insert", "insert", "insert", "init"]
    assert merge_base(store.snapshot("deep").commit, store.snapshot("main").commit, lambda c: store.commit(c).parents) == first.id
    assert store.branches() == ["agent/7", "deep", "main"]


def test_a_branch_from_an_old_commit(tmp_path: Path) -> None:
    store = new_graph(tmp_path)
    commits = [insert(store, MAIN, PEOPLE, **{f"k{i}": i}) for i in range(70)]
    store.create_branch("old", at=commits[2].id)
    assert len(content(store, "old")) == 3


def test_a_deleted_branch_refuses_late_writers_and_its_name_is_free_again(tmp_path: Path) -> None:
    store = new_graph(tmp_path)
    store.create_branch("work")
    late = GraphStore.open(place(tmp_path))
    insert(late, "work", a=1)
    store.delete_branch("work")
    with pytest.raises(NotFound):
        insert(late, "work", b=2)
    with pytest.raises(NotFound, match="no branch"):
        store.snapshot("work")
    store.create_branch("work")
    assert content(late, "work") == {}


@pytest.mark.parametrize("name", ["", " x", "feature//x", "a..b", "x.lock", "/x", "x/", "a\\b", "ä"])
def test_names_that_cannot_be_branches(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError):
        new_graph(tmp_path).create_branch(name)


def test_a_branch_cannot_be_a_path_inside_another(tmp_path: Path) -> None:
    store = new_graph(tmp_path)
    store.create_branch("a/b")
    for name in ("a", "a/b/c"):
        with pytest.raises(UsageError):
            store.create_branch(name)
    for taken in ("a/b", "main"):
        with pytest.raises(AlreadyExists):
            store.create_branch(taken)
    with pytest.raises(UsageError):
        store.delete_branch("main")


def test_tags_name_commits(tmp_path: Path) -> None:
    store = new_graph(tmp_path)
    first = insert(store, a=1)
    insert(store, b=2)
    store.create_tag("v1", first.id)
    assert content(store, at="v1") == {"a": 1}
    assert [t.name for t in store.tags()] == ["v1"]
    with pytest.raises(AlreadyExists):
        store.create_tag("v1", first.id)
    store.delete_tag("v1")
    with pytest.raises(NotFound):
        store.delete_tag("v1")


def test_an_insert_prepared_on_an_old_head_is_published_on_the_new_one(tmp_path: Path) -> None:
    store, other = new_graph(tmp_path), GraphStore.open(place(tmp_path))
    snapshot = store.snapshot()
    written = store.tables.open(snapshot.tables[PEOPLE]).write(rows(a=1))
    insert(other, b=2)
    plan = PublishPlan(OpClass.LOGICAL, "insert", snapshot.commit, (PlannedChange(PEOPLE, Append(written, ("a",))),))
    seen: list[int] = []
    store.publish("main", plan, revalidate=lambda state, between: seen.append(len(between)))
    assert content(store) == {"a": 1, "b": 2}
    assert seen == [1]


def test_two_inserts_of_one_new_key_have_one_winner(tmp_path: Path) -> None:
    store, other = new_graph(tmp_path), GraphStore.open(place(tmp_path))
    snapshot = store.snapshot()
    written = store.tables.open(snapshot.tables[PEOPLE]).write(rows(a=1))
    insert(other, a=2)
    plan = PublishPlan(OpClass.LOGICAL, "insert", snapshot.commit, (PlannedChange(PEOPLE, Append(written, ("a",))),))
    with pytest.raises(KeyConflict, match="'a'"):
        store.publish("main", plan)
    assert content(store) == {"a": 2}


def test_a_strict_write_whose_read_set_changed_is_void(tmp_path: Path) -> None:
    store, other = new_graph(tmp_path), GraphStore.open(place(tmp_path))
    insert(store, a=1)
    snapshot = store.snapshot()
    insert(other, b=2)
    plan = PublishPlan(
        OpClass.LOGICAL, "delete", snapshot.commit, (PlannedChange(PEOPLE, Delete(("a",))),), read_set=frozenset({PEOPLE})
    )
    with pytest.raises(ReadSetChanged, match=f"table {PEOPLE} changed .* expected pin {snapshot.tables[PEOPLE].pin}, found"):
        store.publish("main", plan)
    assert content(store) == {"a": 1, "b": 2}
    elsewhere = PublishPlan(
        OpClass.LOGICAL, "delete", snapshot.commit, (PlannedChange(PEOPLE, Delete(("a",))),), read_set=frozenset({THINGS})
    )
    store.publish("main", elsewhere)
    assert content(store) == {"b": 2}


def test_an_expected_head_is_a_precondition(tmp_path: Path) -> None:
    store = new_graph(tmp_path)
    base = store.snapshot().commit
    insert(store, a=1)
    with pytest.raises(PreconditionFailed):
        store.publish("main", PublishPlan(OpClass.LOGICAL, "x", base, expected_head=base))


def test_a_read_only_store_refuses_writes(tmp_path: Path) -> None:
    new_graph(tmp_path)
    store = GraphStore.open(place(tmp_path), read_only=True)
    assert content(store) == {}
    for write in (lambda: insert(store, a=1), lambda: store.create_branch("x"), lambda: store.create_tag("t", "x")):
        with pytest.raises(UsageError, match="read-only"):
            write()


def test_a_graph_folder_can_be_moved_and_copied(tmp_path: Path) -> None:
    import shutil

    store = new_graph(tmp_path)
    insert(store, a=1)
    store.create_branch("b")
    insert(store, "b", c=2)
    shutil.copytree(tmp_path / "graph", tmp_path / "elsewhere" / "graph")
    shutil.rmtree(tmp_path / "graph")
    copy = GraphStore.open(place(tmp_path / "elsewhere"))
    assert content(copy, "b") == {"a": 1, "c": 2}
    insert(copy, d=4)
    assert content(copy) == {"a": 1, "d": 4}


def test_a_commit_of_another_is_seen_however_long_nothing_happened(tmp_path: Path) -> None:
    """The probe trusts the clock of the folder only where it is long past; whoever wrote meanwhile moved it."""
    new_graph(tmp_path)
    reader, writer = GraphStore.open(place(tmp_path)), GraphStore.open(place(tmp_path))
    versions = Path(str(reader.manifest(reader.ref("main")).folder)) / "_versions"
    for number in range(3):
        os.utime(versions, (1_000_000 + number, 1_000_000 + number))
        before = [content(reader) for _ in range(2)]
        insert(writer, MAIN, PEOPLE, **{f"p{number}": number})
        assert content(reader) == {**before[0], f"p{number}": number}


def test_cost_of_a_warm_read_is_one_probe(tmp_path: Path) -> None:
    store = new_graph(tmp_path)
    insert(store, a=1)
    manifest = store._manifest(store.ref("main").incarnation)
    store.snapshot()
    probes, scans = manifest.probes, manifest.scans
    store.snapshot()
    assert (manifest.probes - probes, manifest.scans - scans) == (1, 0)


def test_a_write_opens_each_touched_table_at_most_once(tmp_path: Path) -> None:
    store = new_graph(tmp_path)
    insert(store, a=1)
    reopened = GraphStore.open(place(tmp_path))
    insert(reopened, b=2)
    assert reopened.tables.opened == 1
    insert(reopened, c=3)
    assert reopened.tables.opened == 1


def test_tables_come_and_go_with_a_schema(tmp_path: Path) -> None:
    from omnigraph.storage.commits.manifest import SchemaDocument
    from omnigraph.storage.graph_store import NewTable

    store = new_graph(tmp_path)
    before = store.snapshot()
    created = store.create_tables([NewTable("edge:9-10", "edges/9-10", TABLES[0].schema)])
    document = SchemaDocument("schema-2", "edge", "{}")
    plan = PublishPlan(OpClass.LOGICAL, "schema apply", before.commit, creates=created, drops=(THINGS,), schema=document)
    store.publish("main", plan)
    after = GraphStore.open(place(tmp_path)).snapshot()
    assert set(after.tables) == {PEOPLE, "edge:9-10"}
    assert store.schema(after) == document
    assert set(store.snapshot_at(before.commit).tables) == {PEOPLE, THINGS}
