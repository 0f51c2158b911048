"""Indexes grow by segments, publish like any other plan, and never change which rows are found."""

from __future__ import annotations

import threading
from pathlib import Path

import pyarrow as pa
import pytest
from tests.storage.crashing import Counting
from tests.storage.searchable import (
    BY_GRAM,
    BY_ID,
    BY_N,
    BY_PQ,
    BY_TEXT,
    BY_VEC,
    SCHEMA,
    SPECS,
    append,
    change,
    covered,
    delete,
    found_text,
    maintain,
    maintain_too_late,
    new_graph,
    prepared,
    rows,
    segments_of,
    state_of,
    table_of,
    upsert,
    write_around,
)

from omnigraph.errors import UsageError
from omnigraph.storage.files.effects import Call, Effects
from omnigraph.storage.files.place import Durability
from omnigraph.storage.graph_store import GraphStore
from omnigraph.storage.lance_format.filters import Comparison, compare, equal
from omnigraph.storage.rewriting.indexes import ABSORB_ROWS, IndexKind, IndexSpec, extend_index, extend_indexes
from omnigraph.storage.tables.changes import NO_ROWS, Append, Overwrite, TableState
from omnigraph.storage.tables.search import Metric, Phrase, Words, full_text, nearest


@pytest.mark.parametrize("spec", [BY_ID, BY_N, BY_GRAM, BY_TEXT, BY_VEC], ids=lambda s: s.kind.value)
def test_each_kind_is_built_for_what_is_not_covered(tmp_path: Path, spec: IndexSpec) -> None:
    store = new_graph(tmp_path)
    append(store, *range(0, 40))
    before = state_of(store)
    applied = extend_index(store.tables, before, spec)
    assert (applied.added, applied.removed, applied.fragments_added, applied.fragments_removed) == (0, 0, (), ())
    assert applied.state.pin != before.pin
    assert [(i.name, i.column, i.covered) for i in applied.state.indexes] == [(spec.name, spec.column, 1)]
    again = extend_index(store.tables, applied.state, spec)
    assert (again.state, again.files) == (applied.state, ())


def test_nothing_visible_moves_until_it_is_published(tmp_path: Path) -> None:
    store = new_graph(tmp_path)
    append(store, 1, 2)
    before = state_of(store)
    plan = prepared(store, lambda t, s: extend_indexes(t, s, SPECS))
    assert state_of(store) == before
    assert state_of(store).indexes == ()
    store.publish("main", plan)
    assert covered(state_of(GraphStore.open(store.place))) == {"by_id": 1, "by_n": 1, "by_text": 1, "by_vec": 1}
    assert store.commits(limit=1)[0].op_class.value == "maintenance"


def test_a_later_segment_covers_only_what_is_new(tmp_path: Path) -> None:
    store = new_graph(tmp_path)
    append(store, *range(0, 50))
    maintain(store, lambda t, s: extend_index(t, s, BY_ID))
    append(store, 100)
    append(store, 101)
    assert covered(state_of(store)) == {"by_id": 1}
    maintain(store, lambda t, s: extend_index(t, s, BY_ID))
    assert segments_of(table_of(store), "by_id") == [[0], [1, 2]]
    assert covered(state_of(store)) == {"by_id": 3}


def test_small_segments_are_taken_over_by_larger_ones(tmp_path: Path) -> None:
    store = new_graph(tmp_path)
    append(store, *range(1000, 1100))
    tables, state = store.tables, extend_index(store.tables, state_of(store), BY_ID).state
    for n in range(64):
        state = tables.apply(state, Append(tables.open(state).write(rows(n)))).state
        state = extend_index(tables, state, BY_ID).state
        assert len(segments_of(tables.open(state), "by_id")) <= 8
    assert covered(state) == {"by_id": 65}
    assert tables.open(state).lookup(["k1", "k63", "k1050", "nobody"]).num_rows == 3


def test_large_segments_are_left_alone(tmp_path: Path) -> None:
    store = new_graph(tmp_path)
    append(store, *range(40))
    maintain(store, lambda t, s: extend_index(t, s, BY_ID))
    append(store, *range(100, 200))
    maintain(store, lambda t, s: extend_indexes(t, s, [BY_ID], absorb_rows=20))
    assert segments_of(table_of(store), "by_id") == [[0], [1]]
    assert ABSORB_ROWS > 20


def test_several_indexes_take_one_version(tmp_path: Path) -> None:
    pins: list[Call] = []

    class Watch(Effects):
        def before(self, call: Call) -> None:
            pins.append(call)

    store = new_graph(tmp_path, effects=Watch())
    append(store, *range(10))
    pins.clear()
    extend_indexes(store.tables, state_of(store), SPECS)
    assert pins.count(Call.PIN) == 1
    assert pins.count(Call.WRITE_INDEX) == len(SPECS)


def test_every_file_of_a_segment_is_synced_before_it_can_be_published(tmp_path: Path) -> None:
    counting = Counting()
    store = new_graph(tmp_path, durability=Durability.FULL, effects=counting)
    append(store, *range(10))
    applied = extend_indexes(store.tables, state_of(store), SPECS)
    assert counting.calls[-1] is Call.SYNC
    root = Path(store.place.uri)
    assert all((root / file).is_file() for file in applied.files)
    written = {p for p in root.glob("nodes/1-3/_indices/*/*") if p.is_file()}
    assert written == {root / f for f in applied.files if "_indices" in f}
    assert f"nodes/1-3/_versions/d{applied.state.pin}.manifest" in applied.files


def test_too_few_rows_to_train_is_reported_and_not_an_error(tmp_path: Path) -> None:
    store = new_graph(tmp_path)
    append(store, *range(10))
    before = state_of(store)
    applied = extend_indexes(store.tables, before, [BY_PQ])
    assert applied.state.pin == before.pin
    assert [(i.name, i.kind, i.covered) for i in applied.state.indexes] == [("by_pq", "IVF_PQ", 0)]
    both = extend_indexes(store.tables, before, [BY_PQ, BY_ID])
    assert covered(both.state) == {"by_id": 1, "by_pq": 0}
    assert nearest(store.tables.open(both.state), "vec", [3.2, 0, 0, 0], 2, Metric.L2)["id"].to_pylist() == ["k3", "k4"]
    append(store, *range(1000, 1300))
    trained = extend_indexes(store.tables, state_of(store), [BY_PQ])
    assert covered(trained.state) == {"by_pq": 2}


def test_vectors_that_are_all_missing_train_nothing(tmp_path: Path) -> None:
    store = new_graph(tmp_path)
    empty = rows(1, 2).set_column(3, SCHEMA.field("vec"), pa.nulls(2, SCHEMA.field("vec").type))
    change(store, Append(table_of(store).write(empty)))
    spec = IndexSpec("by_vec", "vec", IndexKind.IVF_FLAT, {"metric": "l2", "num_partitions": 4})
    assert covered(extend_index(store.tables, state_of(store), spec).state) == {"by_vec": 0}
    append(store, 3, 4)
    assert covered(extend_index(store.tables, state_of(store), spec).state) == {"by_vec": 2}


def test_a_vector_index_says_how_near_is_measured() -> None:
    with pytest.raises(UsageError, match="must state `metric`"):
        IndexSpec("v", "vec", IndexKind.IVF_FLAT)
    with pytest.raises(UsageError, match="must state `num_sub_vectors`"):
        IndexSpec("v", "vec", IndexKind.IVF_PQ, {"metric": "l2"})


# ── what is found does not depend on what is indexed ────────────────────────────────────────────────────────────────────────────


def coverages(store: GraphStore) -> dict[str, TableState]:
    """The same rows, with nothing, something and everything indexed."""
    append(store, 1, 2, text="The runner was running")
    nothing = state_of(store)
    declared = extend_indexes(store.tables, nothing, [BY_TEXT, BY_VEC]).state
    written = store.tables.open(nothing).write(rows(3, 4, text="a run over the café"))
    more = {"nothing": nothing, "some": declared}
    states = {name: store.tables.apply(state, Append(written)).state for name, state in more.items()}
    states["everything"] = extend_indexes(store.tables, states["some"], [BY_TEXT, BY_VEC]).state
    return states


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (Words("run"), ["k1", "k2", "k3", "k4"]),
        (Words("CAFE"), ["k3", "k4"]),
        (Words("the"), []),
        (Words("w1 w3"), ["k1", "k3"]),
        (Words("w3 run", every=True), ["k3"]),
        (Words("runer", typos=1), ["k1", "k2"]),
        (Words("caffe", typos=1), ["k3", "k4"]),
        (Words("w9", typos=1), ["k1", "k2", "k3", "k4"]),
        (Phrase("run w1"), ["k1"]),
        (Phrase("w1 run"), []),
    ],
    ids=str,
)
def test_full_text_finds_the_same_whatever_is_indexed(tmp_path: Path, query: Words | Phrase, expected: list[str]) -> None:
    store = new_graph(tmp_path)
    found = {
        name: sorted(full_text(store.tables.open(state), "text", query)["id"].to_pylist())
        for name, state in coverages(store).items()
    }
    assert found == dict.fromkeys(found, expected)


def test_full_text_filters_first_and_then_takes_the_best(tmp_path: Path) -> None:
    store = new_graph(tmp_path)
    for state in coverages(store).values():
        table = store.tables.open(state)
        hit = full_text(table, "text", Words("run"), 1, equal("n", 4), ["id", "n"])
        assert hit.select(["id", "n"]).to_pylist() == [{"id": "k4", "n": 4}]
        assert full_text(table, "text", Words("runs", typos=1), 3).num_rows == 3
        assert full_text(table, "text", Words("run"), None, equal("n", 99)).num_rows == 0


def test_nearest_finds_the_same_whatever_is_indexed(tmp_path: Path) -> None:
    store = new_graph(tmp_path)
    for state in coverages(store).values():
        table = store.tables.open(state)
        assert nearest(table, "vec", [2.9, 0, 0, 0], 3, Metric.L2)["id"].to_pylist() == ["k3", "k2", "k4"]
        assert nearest(table, "vec", [2.9, 0, 0, 0], 2, Metric.L2, compare("n", Comparison.GREATER, 3))["id"].to_pylist() == [
            "k4"
        ]
        assert nearest(table, "vec", [2.9, 0, 0, 0], 1, Metric.COSINE, exact=True)["_distance"].to_pylist() == pytest.approx(
            [0], abs=1e-6
        )


def test_a_text_index_is_declared_on_an_empty_table_and_survives_everything(tmp_path: Path) -> None:
    store = new_graph(tmp_path)
    maintain(store, lambda t, s: extend_indexes(t, s, SPECS))
    assert covered(state_of(store)) == {"by_text": 0}
    append(store, 1)
    assert found_text(table_of(store), "run") == ["k1"]
    change(store, Overwrite(table_of(store).write(rows(2))))
    assert found_text(table_of(store), "run") == ["k2"]
    change(store, Overwrite(NO_ROWS))
    append(store, 3)
    assert found_text(table_of(store), "run") == ["k3"]
    assert covered(state_of(store)) == {"by_text": 0}


def test_a_changed_row_leaves_its_neighbours_indexed(tmp_path: Path) -> None:
    """An upsert that took the whole fragment out of every index would make one change cost a scan."""
    store = new_graph(tmp_path)
    append(store, *range(50))
    maintain(store, lambda t, s: extend_indexes(t, s, SPECS))
    upsert(store, 7, text="changed")
    assert covered(state_of(store)) == {"by_id": 1, "by_n": 1, "by_text": 1, "by_vec": 1}
    assert state_of(store).fragments == 2
    assert found_text(table_of(store), "changed") == ["k7"]
    assert table_of(store).lookup(["k7"]).num_rows == 1


# ── together with other writers ─────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("kind", ["append", "upsert", "delete"])
def test_indexing_in_between_does_not_fail_a_write(tmp_path: Path, kind: str) -> None:
    store = new_graph(tmp_path)
    append(store, 1, 2, 3)
    write_around(store, kind, lambda t, s: extend_indexes(t, s, SPECS))
    table = table_of(store)
    assert found_text(table, "fresh") == {"append": ["k9"], "upsert": ["k2", "k9"], "delete": []}[kind]
    assert table.lookup(["k1", "k2", "k9"]).num_rows == {"append": 3, "upsert": 3, "delete": 1}[kind]
    assert covered(state_of(store))["by_id"] == 1


def test_a_plan_whose_table_moved_is_void_and_succeeds_when_prepared_again(tmp_path: Path) -> None:
    store = new_graph(tmp_path)
    append(store, 1)
    maintain_too_late(store, lambda t, s: extend_indexes(t, s, SPECS), lambda: append(store, 2))
    assert set(covered(state_of(store)).values()) == {2}


def test_branches_index_on_their_own(tmp_path: Path) -> None:
    store = new_graph(tmp_path)
    append(store, 1)
    store.create_branch("b")
    maintain(store, lambda t, s: extend_index(t, s, BY_ID), "b")
    append(store, 2, branch="b")
    delete(store, 1)
    assert covered(state_of(store, "b")) == {"by_id": 1}
    assert state_of(store).indexes == ()
    assert table_of(store, "b").lookup(["k1", "k2"]).num_rows == 2
    assert table_of(store).lookup(["k1", "k2"]).num_rows == 0


def test_readers_of_the_same_pin_are_not_disturbed(tmp_path: Path) -> None:
    store = new_graph(tmp_path)
    append(store, *range(20))
    table, state = table_of(store), state_of(store)
    done = threading.Event()
    wrong: list[BaseException] = []

    def read() -> None:
        while not done.is_set():
            try:
                assert table.lookup(["k3"]).num_rows == 1
            except BaseException as error:
                wrong.append(error)
                return

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for _ in range(5):
        extend_indexes(store.tables, state, SPECS)
    done.set()
    for reader in readers:
        reader.join()
    assert wrong == []
