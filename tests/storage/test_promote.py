"""Promote: anybody who reads Lance sees the branch, and nothing of the graph changes."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import lance
import pyarrow as pa
import pytest
from lance import LanceDataset
from lance.query import MatchQuery
from tests.storage.graphs import PEOPLE, TABLES, content, delete, insert, new_graph, overwrite, place, upsert

from omnigraph.errors import UsageError
from omnigraph.storage.commits.lineage import OpClass
from omnigraph.storage.commits.plan import PublishPlan, Replacement
from omnigraph.storage.graph_store import MAIN, GraphStore
from omnigraph.storage.reclaiming.promote import promote
from omnigraph.storage.reclaiming.verify import verify
from omnigraph.storage.rewriting.columns import add_nullable_columns, drop_columns
from omnigraph.storage.rewriting.indexes import IndexKind, IndexSpec, extend_indexes
from omnigraph.storage.tables.changes import Applied

INDEXES = (IndexSpec("by_id", "id", IndexKind.BTREE), IndexSpec("by_text", "text", IndexKind.FULL_TEXT))


def replace_people(store: GraphStore, applied: Applied, branch: str = MAIN) -> None:
    snapshot = store.snapshot(branch)
    replacement = Replacement(PEOPLE, snapshot.tables[PEOPLE].pin, applied)
    store.publish(branch, PublishPlan(OpClass.MAINTENANCE, "x", snapshot.commit, replacements=(replacement,)))


@pytest.fixture
def store(tmp_path: Path) -> GraphStore:
    """People with indexes, deleted rows, a column dropped and one added."""
    store = new_graph(tmp_path)
    insert(store, MAIN, PEOPLE, **{f"k{n}": n for n in range(20)})
    replace_people(store, extend_indexes(store.tables, store.snapshot().tables[PEOPLE], INDEXES))
    delete(store, "k1", "k2")
    upsert(store, k3=33, new=1)
    replace_people(store, extend_indexes(store.tables, store.snapshot().tables[PEOPLE], INDEXES))
    return store


def head(store: GraphStore) -> LanceDataset:
    """What somebody sees who knows nothing of graphs."""
    return lance.dataset(store.place.child("nodes/1-3"))


def held(dataset: LanceDataset) -> dict[str, int]:
    found = dataset.to_table(columns=["id", "n"])
    return dict(zip(found["id"].to_pylist(), found["n"].to_pylist(), strict=True))


def found_by_text(dataset: LanceDataset) -> list[str]:
    query = MatchQuery("k5", "text")
    found = dataset.scanner(columns=["id", "_score"], full_text_query=query, prefilter=True).to_table()
    return [str(name) for name in found["id"].to_pylist()]


def test_a_plain_reader_sees_the_promoted_branch_with_its_indexes(store: GraphStore) -> None:
    assert held(head(store)) == {}
    promoted = {p.table: p for p in promote(store)}
    assert promoted[PEOPLE].moved
    assert promoted[PEOPLE].version == head(store).version
    assert held(head(store)) == content(store)
    assert sorted(i.name for i in head(store).describe_indices()) == ["by_id", "by_text"]
    assert found_by_text(head(store)) == ["k5"]
    assert "ScalarIndexQuery" in head(store).scanner(filter="id = 'k5'").explain_plan()


def test_no_file_of_rows_or_indexes_is_written(store: GraphStore) -> None:
    def files() -> set[str]:
        return {o.path for o in store.place.objects("nodes") if "/_versions/" not in o.path and "/_transactions/" not in o.path}

    before = files()
    promote(store)
    assert files() == before


def test_no_pin_and_no_answer_changes(store: GraphStore) -> None:
    snapshot, rows_before = store.snapshot(), content(store)
    promote(store)
    reopened = GraphStore.open(place(Path(store.place.uri).parent))
    assert reopened.snapshot() == snapshot
    assert content(reopened) == rows_before
    assert found_by_text(reopened.tables.open(snapshot.tables[PEOPLE]).dataset) == ["k5"]
    assert verify(reopened, deep=True).ok


def test_promoting_again_does_nothing(store: GraphStore) -> None:
    promote(store)
    version = head(store).version
    assert not any(p.moved for p in promote(store))
    assert head(store).version == version


def test_writing_goes_on_from_the_pin_and_is_seen_after_the_next_promotion(store: GraphStore) -> None:
    promote(store)
    before = held(head(store))
    upsert(store, k4=44, later=2)
    delete(store, "k5")
    assert held(head(store)) == before, "the head moves when it is told to"
    assert content(store)["k4"] == 44
    promote(store)
    assert held(head(store)) == content(store)
    overwrite(store, only=1)
    promote(store)
    assert held(head(store)) == {"only": 1}


def test_columns_that_came_and_went_are_promoted_as_they_are(store: GraphStore) -> None:
    """Fields are known by their ids: a version made anew from the same files would read the wrong column."""
    state = store.snapshot().tables[PEOPLE]
    replace_people(store, drop_columns(store.tables, state, ["n"]))
    state = store.snapshot().tables[PEOPLE]
    replace_people(store, add_nullable_columns(store.tables, state, [pa.field("m", pa.int64())]))
    table = store.tables.open(store.snapshot().tables[PEOPLE])
    expected = sorted(table.read(["id", "text", "m"]).to_pylist(), key=lambda r: r["id"])
    promote(store)
    found = head(store).to_table(columns=["id", "text", "m"]).to_pylist()
    assert sorted(found, key=lambda r: r["id"]) == expected
    assert {row["m"] for row in found} == {None}


def test_any_branch_can_be_promoted_and_the_last_one_shows(store: GraphStore) -> None:
    store.create_branch("work")
    delete(store, "k7", branch="work")
    promote(store, "work")
    assert held(head(store)) == content(store, "work")
    promote(store)
    assert held(head(store)) == content(store)


def test_an_empty_table_needs_no_promotion_until_another_branch_has_moved_its_head(tmp_path: Path) -> None:
    store = new_graph(tmp_path)
    assert not any(p.moved for p in promote(store))
    store.create_branch("work")
    insert(store, "work", a=1)
    promote(store, "work")
    promote(store)
    assert held(head(store)) == {}
    insert(store, b=2)
    assert content(store) == {"b": 2}


def test_an_outsiders_cleanup_cannot_hurt_the_promoted_branch(store: GraphStore) -> None:
    promote(store)
    expected = content(store)
    for new_table in TABLES:
        outsider = lance.dataset(store.place.child(new_table.location))
        outsider.cleanup_old_versions(older_than=timedelta(0), delete_unverified=True)
    reopened = GraphStore.open(place(Path(store.place.uri).parent))
    assert content(reopened) == expected
    assert verify(reopened).ok
    assert found_by_text(reopened.tables.open(reopened.snapshot().tables[PEOPLE]).dataset) == ["k5"]
    upsert(reopened, k6=66)
    assert content(reopened) == {**expected, "k6": 66}


def test_an_outsiders_cleanup_does_hurt_without_promotion(store: GraphStore) -> None:
    """Why nobody here may call it on tables, and why promoting is worth something. Red when Lance learns better."""
    outsider = lance.dataset(store.place.child(TABLES[0].location))
    outsider.cleanup_old_versions(older_than=timedelta(0), delete_unverified=True)
    assert not verify(store).ok


def test_a_read_only_graph_is_not_promoted(tmp_path: Path) -> None:
    new_graph(tmp_path)
    with pytest.raises(UsageError, match="read-only"):
        promote(GraphStore.open(place(tmp_path), read_only=True))


def test_an_overwrite_would_not_do(store: GraphStore) -> None:
    """Why promotion restores: Lance refuses to overwrite with fragments that have deleted rows. Red when it learns to."""
    pinned = store.tables.open(store.snapshot().tables[PEOPLE]).dataset
    fragments = [f.metadata for f in pinned.get_fragments()]
    operation = lance.LanceOperation.Overwrite(pinned.lance_schema, fragments)
    with pytest.raises(OSError, match="deletion file"):
        LanceDataset.commit(head(store), operation, read_version=head(store).version)
