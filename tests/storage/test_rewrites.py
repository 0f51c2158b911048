"""Folding and compaction: fewer fragments, complete indexes, the same answers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.storage.crashing import Counting
from tests.storage.graphs import DOCUMENT, place
from tests.storage.searchable import (
    BY_ID,
    BY_TEXT,
    BY_VEC,
    DOCS,
    SPECS,
    append,
    change,
    covered,
    delete,
    found_text,
    maintain,
    maintain_too_late,
    new_graph,
    numbers_in,
    rows,
    segments_of,
    state_of,
    table_of,
    upsert,
    write_around,
)

from omnigraph.errors import KeyConflict, NotFound
from omnigraph.storage.commits.lineage import OpClass
from omnigraph.storage.commits.plan import PublishPlan, Replacement
from omnigraph.storage.files.effects import Call
from omnigraph.storage.files.place import Durability
from omnigraph.storage.graph_store import GraphStore, NewTable
from omnigraph.storage.rewriting import rewrites
from omnigraph.storage.rewriting.derived import own, then
from omnigraph.storage.rewriting.indexes import extend_indexes, key_indexes
from omnigraph.storage.rewriting.rewrites import (
    FOLD_FRAGMENTS,
    FOLD_INDEX_ROWS,
    FOLD_ROWS,
    FragmentSize,
    choose_compaction,
    choose_fold,
    commit_rewrites,
    compact,
    fold_small_fragments,
    rewrite,
)
from omnigraph.storage.tables.changes import Append, Applied
from omnigraph.storage.tables.search import Metric, nearest


def sizes(*counts: int) -> list[FragmentSize]:
    return [FragmentSize(number, count) for number, count in enumerate(counts)]


# ── what is chosen ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_low_pile_is_left_alone() -> None:
    assert choose_fold([]) == ()
    assert choose_fold(sizes(*[1] * FOLD_FRAGMENTS)) == ()
    assert choose_fold(sizes(*[2**n for n in range(13)])) == ()


def test_a_high_pile_is_folded_and_what_outweighs_it_is_not() -> None:
    ones = [1] * (FOLD_FRAGMENTS + 1)
    assert choose_fold(sizes(*ones)) == tuple(range(len(ones)))
    assert choose_fold(sizes(*ones, 33)) == tuple(range(len(ones) + 1))
    assert choose_fold(sizes(*ones, 500)) == tuple(range(len(ones)))
    assert choose_fold(sizes(FOLD_ROWS, *ones)) == tuple(range(1, len(ones) + 1))


def test_a_fold_never_writes_more_than_its_limit() -> None:
    chosen = choose_fold(sizes(*[1_000] * (FOLD_FRAGMENTS + 1)))
    assert len(chosen) == FOLD_ROWS // 1_000


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(1, 200), min_size=1, max_size=600))
def test_fragments_stay_few_and_rows_are_rarely_written_again(commits: list[int]) -> None:
    """However commits come: few fragments, and each row written again at most once per power of two."""
    present: dict[int, int] = {}
    written = 0
    for number, count in enumerate(commits):
        present[number] = count
        chosen = choose_fold([FragmentSize(n, c) for n, c in present.items()])
        if chosen:
            total = sum(present.pop(n) for n in chosen)
            assert total <= FOLD_ROWS
            present[-number - 1] = total
            written += total
        small = [c for c in present.values() if c * 2 <= FOLD_ROWS]
        assert len(small) <= FOLD_FRAGMENTS + 14
    assert written <= 15 * sum(commits)


def test_compaction_packs_small_fragments_up_to_the_target() -> None:
    assert choose_compaction(sizes(10, 10, 10), 100) == ((0, 1, 2),)
    assert choose_compaction(sizes(40, 40, 40, 40), 100) == ((0, 1, 2),)
    assert choose_compaction(sizes(60, 10, 90, 10), 100) == ((1, 3),)
    assert choose_compaction(sizes(10), 100) == ()
    assert choose_compaction(sizes(200, 50), 100) == ()


def test_compaction_rewrites_worn_fragments() -> None:
    assert choose_compaction([FragmentSize(0, 900, 99)], 1_000) == ()
    assert choose_compaction([FragmentSize(0, 900, 100)], 1_000) == ((0,),)
    assert choose_compaction([FragmentSize(0, 4, 1)], 1_000) == ((0,),)


@given(st.lists(st.tuples(st.integers(0, 300), st.integers(0, 300)), max_size=40), st.integers(1, 300))
def test_compaction_comes_to_an_end(counts: list[tuple[int, int]], target: int) -> None:
    present = {n: FragmentSize(n, rows, deleted) for n, (rows, deleted) in enumerate(counts)}
    for turn in range(3):
        groups = choose_compaction(list(present.values()), target)
        for at, group in enumerate(groups):
            total = sum(present.pop(n).rows for n in group)
            if total:
                present[1_000 * (turn + 1) + at] = FragmentSize(1_000 * (turn + 1) + at, total)
    assert choose_compaction(list(present.values()), target) == ()


# ── what becomes of it ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def many(store: GraphStore, count: int) -> None:
    """Rows 0, 1, 2, … as fragments of their own, in one commit."""
    base = store.snapshot()
    state = base.tables[DOCS]
    for n in range(count):
        state = store.tables.apply(state, Append(store.tables.open(state).write(rows(n)))).state
    replacement = Replacement(DOCS, base.tables[DOCS].pin, Applied(state, count, 0, (), (), ()))
    store.publish("main", PublishPlan(OpClass.LOGICAL, "load", base.commit, replacements=(replacement,)))


@pytest.mark.parametrize("least", [FOLD_INDEX_ROWS, 40])
def test_folding_changes_no_answer_and_extends_scalar_indexes_when_it_pays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, least: int
) -> None:
    monkeypatch.setattr(rewrites, "FOLD_INDEX_ROWS", least)
    store = new_graph(tmp_path)
    append(store, *range(1000, 1100))
    maintain(store, lambda t, s: extend_indexes(t, s, SPECS))
    many(store, 40)
    assert state_of(store).fragments == 41
    before = {name: found(store) for name, found in ANSWERS.items()}
    maintain(store, lambda t, s: fold_small_fragments(t, s))
    assert state_of(store).fragments == 2
    scalar = 1 if least == FOLD_INDEX_ROWS else 2
    assert covered(state_of(store)) == {"by_id": scalar, "by_n": scalar, "by_text": 1, "by_vec": 1}
    assert {name: found(store) for name, found in ANSWERS.items()} == before
    assert state_of(store).rows == 140


ANSWERS: dict[str, Callable[[GraphStore], object]] = {
    "scan": lambda store: numbers_in(table_of(store)),
    "lookup": lambda store: sorted(table_of(store).lookup(["k3", "k39", "k1050", "k777"])["id"].to_pylist()),
    "text": lambda store: found_text(table_of(store), "run"),
    "nearest": lambda store: nearest(table_of(store), "vec", [12.2, 0, 0, 0], 5, Metric.L2)["id"].to_pylist(),
}


def test_there_is_nothing_to_fold_most_of_the_time(tmp_path: Path) -> None:
    store = new_graph(tmp_path)
    many(store, 20)
    state = state_of(store)
    opened = store.tables.opened
    applied = fold_small_fragments(store.tables, state)
    assert (applied.state, applied.files) == (state, ())
    assert store.tables.opened == opened


def test_a_fold_leaves_a_bulk_load_to_maintenance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rewrites, "FOLD_INDEX_ROWS", 1)
    store = new_graph(tmp_path)
    append(store, *range(100_000, 100_000 + FOLD_ROWS + 1))
    many(store, 40)
    folded = fold_small_fragments(store.tables, state_of(store)).state
    assert (folded.fragments, covered(folded)) == (2, {"id_key": 1})
    (by_id,) = key_indexes(table_of(store).schema)
    assert covered(extend_indexes(store.tables, folded, [by_id]).state) == {"id_key": 2}
    assert (packed := compact(store.tables, folded, [by_id]).state).fragments == covered(packed)["id_key"] == 1


def test_writers_that_fold_keep_fragments_and_segments_few(tmp_path: Path) -> None:
    store = new_graph(tmp_path)
    state = extend_indexes(store.tables, state_of(store), [BY_ID, BY_TEXT]).state
    highest = 0
    for n in range(150):
        state = store.tables.apply(state, Append(store.tables.open(state).write(rows(n)))).state
        state = fold_small_fragments(store.tables, state).state
        highest = max(highest, state.fragments)
    table = store.tables.open(state)
    assert highest <= FOLD_FRAGMENTS + 5
    assert len(segments_of(table, "by_id")) <= 5
    assert numbers_in(table) == list(range(150))
    assert table.lookup([f"k{n}" for n in range(150)]).num_rows == 150


def test_compaction_packs_everything_and_completes_the_indexes(tmp_path: Path) -> None:
    store = new_graph(tmp_path)
    for n in range(6):
        append(store, *range(10 * n, 10 * n + 10))
        if n % 2:
            maintain(store, lambda t, s: extend_indexes(t, s, SPECS, absorb_rows=0))
    upsert(store, 5, 15, text="changed")
    delete(store, *range(20, 30))
    before = {name: found(store) for name, found in ANSWERS.items()}
    assert len(segments_of(table_of(store), "by_id")) == 3
    maintain(store, lambda t, s: compact(t, s, SPECS))
    state = state_of(store)
    assert (state.fragments, state.rows) == (1, 50)
    assert set(covered(state).values()) == {1}
    assert [len(segments_of(table_of(store), s.name)) for s in SPECS] == [1, 1, 1, 1]
    assert {name: found(store) for name, found in ANSWERS.items()} == before
    again = compact(store.tables, state, SPECS)
    assert again.state == state


def test_compaction_of_nothing(tmp_path: Path) -> None:
    store = new_graph(tmp_path)
    assert compact(store.tables, state_of(store)).state == state_of(store)


def test_fragments_come_and_go_in_the_commit(tmp_path: Path) -> None:
    store = new_graph(tmp_path)
    append(store, 1)
    append(store, 2)
    (changed,) = maintain(store, lambda t, s: compact(t, s)).changes
    assert (changed.fragments_removed, changed.fragments_added) == ((0, 1), (2,))
    assert (changed.added, changed.removed) == (0, 0)


def test_deleted_rows_leave_the_files(tmp_path: Path) -> None:
    store = new_graph(tmp_path)
    append(store, *range(10))
    delete(store, *range(9))
    maintain(store, lambda t, s: compact(t, s, SPECS))
    (fragment,) = table_of(store).dataset.get_fragments()
    assert (fragment.physical_rows, fragment.num_deletions) == (1, 0)


def test_every_new_file_is_named_and_only_the_last_version(tmp_path: Path) -> None:
    counting = Counting()
    store = new_graph(tmp_path, durability=Durability.FULL, effects=counting)
    append(store, 1)
    append(store, 2)
    root = Path(store.place.uri)
    before = {p for p in root.rglob("*") if p.is_file()}
    counting.calls.clear()
    applied = compact(store.tables, state_of(store), SPECS)
    new = {str(p.relative_to(root)) for p in root.rglob("*") if p.is_file() and p not in before}
    assert counting.calls.count(Call.PIN) == 2
    assert counting.calls[-1] is Call.SYNC
    needed = {f for f in new if "_transactions" not in f and "_versions" not in f}
    assert set(applied.files) == needed | {f"nodes/1-3/_versions/d{applied.state.pin}.manifest"}


def test_blobs_are_carried_along(tmp_path: Path) -> None:
    schema = pa.schema(
        [
            pa.field("id", pa.string(), nullable=False),
            pa.field("picture", pa.large_binary(), metadata={b"lance-encoding:blob": b"true"}),
        ]
    )
    store = GraphStore.init(place(tmp_path), DOCUMENT, [NewTable(DOCS, "nodes/1-3", schema)])
    pictures = {"a": b"x" * 6_000_000, "b": None, "c": b""}
    for name, picture in pictures.items():
        change(store, Append(table_of(store).write(pa.table({"id": [name], "picture": [picture]}, schema=schema))))
    applied = compact(store.tables, state_of(store), [BY_ID])
    table = store.tables.open(applied.state)
    read = table.dataset.scanner(columns=["id", "picture"], blob_handling="all_binary").to_table()
    assert dict(zip(read["id"].to_pylist(), read["picture"].to_pylist(), strict=True)) == pictures
    assert any(f.endswith(".blob") for f in applied.files)


def test_groups_can_be_rewritten_by_others_and_committed_by_one(tmp_path: Path) -> None:
    store = new_graph(tmp_path)
    for n in range(4):
        append(store, n)
    elsewhere = own(GraphStore.open(store.place).tables.open(state_of(store)))
    groups = [rewrite(elsewhere, (0, 1), 100), rewrite(elsewhere, (2, 3), 100)]
    applied = commit_rewrites(own(table_of(store)), state_of(store), groups, SPECS)
    assert applied.state.fragments == 2
    assert numbers_in(store.tables.open(applied.state)) == [0, 1, 2, 3]
    with pytest.raises(NotFound, match="no fragment 9"):
        rewrite(elsewhere, (9,), 100)


# ── together with other writers ─────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("kind", ["append", "upsert", "delete"])
def test_compaction_in_between_does_not_fail_a_write(tmp_path: Path, kind: str) -> None:
    store = new_graph(tmp_path)
    for n in (1, 2, 3):
        append(store, n)
    write_around(store, kind, lambda t, s: compact(t, s, SPECS))
    assert numbers_in(table_of(store)) == {"append": [1, 2, 3, 9], "upsert": [1, 2, 3, 9], "delete": [1, 3]}[kind]
    assert found_text(table_of(store), "fresh") == {"append": ["k9"], "upsert": ["k2", "k9"], "delete": []}[kind]
    assert len(found_text(table_of(store), "run")) == {"append": 3, "upsert": 2, "delete": 2}[kind]


def test_a_key_that_was_folded_in_between_is_still_found(tmp_path: Path) -> None:
    """A commit that folds on its way names the folded fragment: late writers look for their keys there."""
    store = new_graph(tmp_path)
    for n in range(FOLD_FRAGMENTS):
        append(store, n)
    base = store.snapshot().commit
    late = Append(table_of(store).write(rows(500)), ("k500",))
    append(store, 500)
    append(store, 501)
    assert state_of(store).fragments == 2
    with pytest.raises(KeyConflict, match="k500"):
        change(store, late, base=base)


def test_two_outcomes_as_one(tmp_path: Path) -> None:
    state = state_of(new_graph(tmp_path))
    folded = Applied(state, 0, 0, (8,), (0, 1, 2), ("a",))
    changed = Applied(state, 2, 1, (5, 8, 9), (5, 8), ("b",))
    assert then(folded, changed) == Applied(state, 2, 1, (5, 8, 9), (0, 1, 2, 5), ("a", "b"))
    assert then(folded, Applied(state, 0, 4, (), (8,), ())) == Applied(state, 0, 4, (), (0, 1, 2), ("a",))


def test_a_plan_whose_table_moved_is_void_and_succeeds_when_prepared_again(tmp_path: Path) -> None:
    store = new_graph(tmp_path)
    for n in (1, 2):
        append(store, n)
    maintain_too_late(store, lambda t, s: compact(t, s, SPECS), lambda: delete(store, 1))
    assert numbers_in(table_of(store)) == [2]
    assert state_of(store).fragments == 1


def test_old_commits_read_what_they_read(tmp_path: Path) -> None:
    store = new_graph(tmp_path)
    commits = [append(store, n) for n in range(4)]
    maintain(store, lambda t, s: compact(t, s, [BY_ID, BY_VEC]))
    delete(store, 0)
    for n, commit in enumerate(commits):
        past = store.tables.open(store.snapshot_at(commit.id).tables[DOCS])
        assert numbers_in(past) == list(range(n + 1))
