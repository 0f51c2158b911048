"""Index segments: what keeps them right, and the ways in which they go wrong (design/storage.md, section 3)."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from lance import LanceDataset
from lance import LanceOperation as Op
from lance.dataset import Index
from lance.fragment import FragmentMetadata
from lance.optimize import Compaction
from lance.query import MatchQuery, PhraseQuery
from tests.storage.guards.datasets import (
    SCHEMA,
    append,
    coverage,
    create,
    deleted,
    every_field,
    files_for,
    ids,
    index,
    index_all,
    near,
    pin,
    rows,
    segment,
    texts,
)

from omnigraph.storage.lance_format.row_masks import row_mask


def upserted(
    base: LanceDataset,
    marks: list[FragmentMetadata],
    *numbers: int,
    modified: list[int] | None = None,
    mode: str = "rewrite_rows",
) -> LanceDataset:
    """New images of rows whose old ones are marked."""
    return pin(
        base,
        Op.Update(
            removed_fragment_ids=[],
            updated_fragments=marks,
            new_fragments=files_for(base, rows(*numbers, text="new")),
            fields_modified=modified or [],
            update_mode=mode,
        ),
    )


# ── segments ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_second_segment_needs_replace_and_replaces_nothing(tmp_path: Path) -> None:
    """If `replace=True` began to replace, incremental indexing would lose what was indexed before."""
    base = index(append(append(create(tmp_path), 1), 2), "id", "BTREE", [0])
    with pytest.raises((OSError, ValueError, RuntimeError), match="already exists"):
        base.create_index_uncommitted("id", "BTREE", name="id", fragment_ids=[1])
    assert coverage(index(base, "id", "BTREE", [1]), "id") == [[0], [1]]


def test_a_segment_says_for_which_fragments_it_is(tmp_path: Path) -> None:
    """If fragments could be left out, a segment might silently cover all of them."""
    base = append(create(tmp_path), 1)
    with pytest.raises(ValueError, match="fragment_ids"):
        base.create_index_uncommitted("id", "BTREE", name="id")


def test_several_indexes_go_into_one_commit(tmp_path: Path) -> None:
    """If they did not, each index would cost a version of its own."""
    base = index_all(append(create(tmp_path), 1), [0])
    assert [coverage(base, name) for name in ("id", "text", "vec")] == [[[0]], [[0]], [[0]]]


def test_a_segment_is_removed_by_its_uuid(tmp_path: Path) -> None:
    """If more were compared, segments could not be taken over, and their number would only grow."""
    base = index(index(append(append(create(tmp_path), 1), 2), "id", "BTREE", [0]), "id", "BTREE", [1])
    found = {s.uuid: sorted(s.fragment_ids) for i in base.describe_indices() for s in i.segments}
    gone = next(uuid for uuid, fragments in found.items() if fragments == [0])
    after = pin(base, Op.CreateIndex([], [Index(gone, "id", [], 0, set(), 0)]))  # type: ignore[arg-type]
    assert coverage(after, "id") == [[1]]
    assert ids(after) == ["k1", "k2"]


def test_a_text_segment_must_be_merged_to_be_readable(tmp_path: Path) -> None:
    """If this is no longer needed, one step of building full-text indexes can go."""
    base = append(create(tmp_path), 1)
    raw = base.create_index_uncommitted("text", "INVERTED", name="text", fragment_ids=[0])
    with pytest.raises((OSError, ValueError, RuntimeError)):
        texts(pin(base, Op.CreateIndex([raw], [])), "hello")
    merged = base.merge_existing_index_segments([base.create_index_uncommitted("text", "INVERTED", name="t", fragment_ids=[0])])
    assert texts(pin(base, Op.CreateIndex([merged], [])), "hello") == ["k1"]


def test_a_segment_names_its_files(tmp_path: Path) -> None:
    """If it did not, we would not know what to sync before an index is published."""
    base = append(create(tmp_path), *range(20))
    for column, kind, options in (
        ("id", "BTREE", {}),
        ("n", "BITMAP", {}),
        ("text", "NGRAM", {}),
        ("text", "INVERTED", {"with_position": True}),
        ("vec", "IVF_FLAT", {"num_partitions": 1, "metric": "l2"}),
    ):
        built = segment(base, column, kind, [0], **options)
        folder = Path(base.uri) / "_indices" / built.uuid
        assert {f.path for f in built.files or ()} == {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}, kind


def test_an_empty_segment_declares_an_index(tmp_path: Path) -> None:
    """If it could not be built, a text column of an empty table would be searched without stems until the first indexing."""
    base = append(index(create(tmp_path), "text", "INVERTED", [], with_position=True), 1, text="Running")
    assert texts(base, "run") == ["k1"]


def test_without_an_index_text_is_not_analysed(tmp_path: Path) -> None:
    """Why indexes are declared. If Lance analyses all text the same one day, they need not be."""
    base = append(create(tmp_path), 1, text="Running")
    assert (texts(base, "run"), texts(base, "running"), texts(base, "Running")) == ([], [], ["k1"])


@contextmanager
def read_meanwhile(dataset: LanceDataset) -> Iterator[list[str]]:
    """Reads in a thread as long as the block runs; what went wrong for the reader."""
    done, errors = threading.Event(), list[str]()

    def read() -> None:
        while not done.is_set():
            try:
                dataset.count_rows()
            except RuntimeError as error:
                errors.append(str(error))

    reader = threading.Thread(target=read)
    reader.start()
    try:
        yield errors
    finally:
        done.set()
        reader.join()


def test_building_an_index_disturbs_readers_of_the_same_handle(tmp_path: Path) -> None:
    """Why maintenance works on a handle of its own. If this goes, `derived.own` can go."""
    base = append(create(tmp_path), *range(200))
    with read_meanwhile(base) as errors:
        for _ in range(20):
            try:
                segment(base, "id", "BTREE", [0])
            except RuntimeError as error:
                errors.append(str(error))
    assert set(errors) <= {"Already borrowed", "Already mutably borrowed"}
    assert errors


def test_a_checked_out_copy_is_a_handle_of_its_own(tmp_path: Path) -> None:
    """If a copy shared its borrow with the original, building on it would disturb readers all the same."""
    base = append(create(tmp_path), *range(50))
    copy = base.checkout_version(base.version)
    assert copy.version == base.version
    with read_meanwhile(base) as errors:
        for _ in range(10):
            segment(copy, "id", "BTREE", [0])
    assert errors == []


# ── changes under an index ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_changed_rows_are_found_and_their_fragment_stays_indexed(tmp_path: Path) -> None:
    """The form of our upserts. If new rows counted as indexed they would vanish; if old ones did not, all would slow down."""
    base = index_all(append(create(tmp_path), 1, 2, 3), [0])
    after = upserted(base, [deleted(base, 0, "id = 'k2'")], 2)
    assert coverage(after, "vec") == [[0]]
    assert (ids(after), texts(after, "new"), texts(after, "hello")) == (["k1", "k2", "k3"], ["k2"], ["k1", "k3"])
    assert near(after, 2.1, 3) == ["k2", "k3", "k1"]
    assert after.count_rows(filter="id = 'k2'") == 1


def test_with_stable_row_ids_changed_rows_vanish_from_search(tmp_path: Path) -> None:
    """Still broken, and one reason for tables without stable row ids: the new fragment is taken for indexed."""
    base = index_all(append(create(tmp_path, stable_row_ids=True), 1, 2, 3), [0])
    after = upserted(base, [deleted(base, 0, "id = 'k2'")], 2)
    assert coverage(after, "vec") == [[0, 1]]
    assert texts(after, "new") == []
    assert "k2" not in near(after, 2.1, 3)


def test_naming_modified_fields_takes_the_touched_fragment_out_of_its_indexes(tmp_path: Path) -> None:
    """Why our upserts name none: one changed row would make its whole fragment be read through."""
    base = index_all(append(append(create(tmp_path), 1, 2, 3), 7), [0, 1])
    after = upserted(base, [deleted(base, 0, "id = 'k2'")], 2, modified=every_field(base))
    assert [coverage(after, name) for name in ("id", "text", "vec")] == [[[1]], [[1]], [[1]]]


def test_rows_of_a_fragment_taken_out_of_an_index_starve_the_search(tmp_path: Path) -> None:
    """The other reason. Still broken: its rows stay in the index, unseen and uncounted, and fill the best k."""
    base = append(append(append(create(tmp_path), 9), 1, 2, 3), 5, 6)
    base = index(base, "vec", "IVF_FLAT", [0, 1, 2], num_partitions=1, metric="l2")
    base = upserted(base, [deleted(base, 1, "id = 'k1'")], 50, modified=every_field(base))
    base = pin(base, Op.Delete([], [1], "true"))
    base = pin(base, Op.Delete([deleted(base, 2, "id = 'k6'")], [], "true"))
    assert near(base, 1.0, 2, use_index=False) == ["k5", "k9"]
    assert near(base, 1.0, 2) != ["k5", "k9"]


def test_rows_of_a_removed_fragment_do_not_starve_the_search(tmp_path: Path) -> None:
    """If they did, deleting whole fragments under a vector index would lose answers."""
    base = append(append(append(create(tmp_path), 9), 1, 2, 3), 5, 6)
    base = index(base, "vec", "IVF_FLAT", [0, 1, 2], num_partitions=1, metric="l2")
    base = pin(base, Op.Delete([], [1], "true"))
    base = pin(base, Op.Delete([deleted(base, 2, "id = 'k6'")], [], "true"))
    assert near(base, 1.0, 2) == ["k5", "k9"]


def test_a_rewrite_takes_fragments_out_of_every_index(tmp_path: Path) -> None:
    """Why compaction builds segments. If Lance carries coverage over one day, that is not needed."""
    base = index_all(append(append(create(tmp_path), 1), 2), [0, 1])
    old = [f.metadata for f in base.get_fragments()]
    after = pin(base, Op.Rewrite([Op.RewriteGroup(old, files_for(base, base.to_table()))], []))
    present = {f.fragment_id for f in after.get_fragments()}
    assert all(present.isdisjoint(fragments) for name in ("id", "text", "vec") for fragments in coverage(after, name))
    assert (ids(after), texts(after, "hello"), near(after, 1.9, 2)) == (["k1", "k2"], ["k1", "k2"], ["k2", "k1"])


def test_a_rewrite_may_take_any_fragments_together(tmp_path: Path) -> None:
    """If fragments had to be neighbours or alike, folding could not choose them by size."""
    base = append(append(append(create(tmp_path), 1), 2), 3)
    base = index(base, "id", "BTREE", [0, 1])
    chosen = [f.metadata for f in base.get_fragments() if f.fragment_id != 1]
    new = files_for(base, rows(1, 3))
    after = pin(base, Op.Rewrite([Op.RewriteGroup(chosen, new)], []))
    assert {f.fragment_id: f.count_rows() for f in after.get_fragments()} == {1: 1, 3: 2}
    assert after.count_rows(filter="id IN ('k1', 'k2', 'k3')") == 3


def test_lances_own_plan_keeps_segments_apart(tmp_path: Path) -> None:
    """Why compaction chooses its own groups. If the plan mixes segments one day, it could be used as it is."""
    base = append(append(append(create(tmp_path), 1), 2), 3)
    for number in range(3):
        base = index(base, "id", "BTREE", [number])
    assert Compaction.plan(base, {"target_rows_per_fragment": 1_000}).num_tasks() == 0


def test_compacting_some_fragments_moves_no_head(tmp_path: Path) -> None:
    """A task reserves nothing and commits nothing. If it did, preparing a compaction would be visible."""
    base = append(append(create(tmp_path), 1), 2)
    before = sorted(p.name for p in (Path(base.uri) / "_versions").iterdir())
    (task,) = Compaction.plan(base, {"target_rows_per_fragment": 1_000}).tasks
    task.execute(base)
    assert sorted(p.name for p in (Path(base.uri) / "_versions").iterdir()) == before


def test_lances_overwrite_forgets_the_indexes(tmp_path: Path) -> None:
    """Why our overwrite is an exchange of fragments: a text column must not lose the way it is analysed."""
    base = index_all(append(create(tmp_path), 1), [0])
    assert pin(base, Op.Overwrite(base.lance_schema, files_for(base, rows(2)))).describe_indices() == []
    exchanged = pin(base, Op.Update(removed_fragment_ids=[0], updated_fragments=[], new_fragments=files_for(base, rows(2))))
    assert texts(exchanged, "HELLO") == ["k2"]


# ── searching ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_neighbours_without_a_metric_are_measured_with_l2(tmp_path: Path) -> None:
    """Why the metric is always stated: rows that are not indexed would be measured differently from those that are."""
    base = append(create(tmp_path), 1, 2)
    asked = {"column": "vec", "q": [2.0, 0.0, 0.0, 0.0], "k": 2}
    unstated = base.to_table(columns=["id", "_distance"], nearest=asked)["_distance"].to_pylist()
    stated = base.to_table(columns=["id", "_distance"], nearest={**asked, "metric": "cosine"})["_distance"].to_pylist()
    assert (unstated, stated) == ([0.0, 1.0], [pytest.approx(0, abs=1e-6), pytest.approx(0, abs=1e-6)])


def test_a_filter_afterwards_starves_the_result(tmp_path: Path) -> None:
    """Why `prefilter` is always on. If it becomes the default, nothing changes for us."""
    base = index_all(append(create(tmp_path), *range(20)), [0])
    asked = {"column": "vec", "q": [0.0] * 4, "k": 3, "metric": "l2"}
    assert base.to_table(columns=["id", "_distance"], nearest=asked, filter="n > 10").num_rows == 0
    assert base.to_table(columns=["id", "_distance"], nearest=asked, filter="n > 10", prefilter=True).num_rows == 3


def test_typos_are_found_in_indexed_rows_only(tmp_path: Path) -> None:
    """Why rows that are not indexed are searched in memory. If Lance reads through them with typos, that can go."""
    base = append(index(append(create(tmp_path), 1), "text", "INVERTED", [0]), 2)
    assert texts(base, "helo", fuzziness=1) == ["k1"]
    assert texts(index(base, "text", "INVERTED", [1]), "helo", fuzziness=1) == ["k1", "k2"]


def test_typos_left_to_lance_are_none(tmp_path: Path) -> None:
    """Why the number of typos is always stated."""
    base = index(append(create(tmp_path), 1), "text", "INVERTED", [0])
    assert texts(base, "helo", fuzziness=None) == []


def test_scores_depend_on_what_is_indexed(tmp_path: Path) -> None:
    """Why scores are not answers: the same text is worth less where the index knows few rows."""
    base = append(create(tmp_path), *range(30), text="amber")
    base = append(index(base, "text", "INVERTED", [0]), *range(100, 160), text="amber")
    table = base.to_table(columns=["id", "text", "_score"], full_text_query=MatchQuery("amber", "text"), prefilter=True)
    assert len(set(table["_score"].to_pylist())) == 2
    whole = index(base, "text", "INVERTED", [1])
    table = whole.to_table(columns=["id", "_score"], full_text_query=MatchQuery("amber", "text"), prefilter=True)
    assert len(set(table["_score"].to_pylist())) == 1


def test_phrases_need_positions(tmp_path: Path) -> None:
    """Why full-text indexes are built with positions."""
    query = PhraseQuery("hello w1", "text")
    base = append(create(tmp_path), 1)
    without, having = (index(base, "text", "INVERTED", [0], with_position=p) for p in (False, True))
    assert having.to_table(columns=["id", "_score"], full_text_query=query).num_rows == 1
    with pytest.raises(ValueError, match="position"):
        without.to_table(columns=["id", "_score"], full_text_query=query)


def test_too_few_vectors_are_an_error_or_an_empty_segment(tmp_path: Path) -> None:
    """Two answers to one question. If a third comes, `indexes._build` must know it."""
    options = {"num_partitions": 1, "num_sub_vectors": 2, "metric": "l2"}
    base = append(create(tmp_path), 1, 2)
    assert sorted(segment(base, "vec", "IVF_PQ", [0], **options).fragment_ids) == []
    more = append(base, 3)
    with pytest.raises(RuntimeError, match="Not enough rows to train PQ"):
        segment(more, "vec", "IVF_PQ", [0], **options)
    empty = rows(1).set_column(3, SCHEMA.field("vec"), pa.nulls(1, SCHEMA.field("vec").type))
    none = create(tmp_path / "none")
    none = append(pin(none, Op.Append(files_for(none, empty))), 2)
    with pytest.raises(RuntimeError, match="cannot train"):
        segment(none, "vec", "IVF_FLAT", [0], num_partitions=1, metric="l2")


def test_cosine_of_a_lossy_index_is_wrong_without_refining(tmp_path: Path) -> None:
    """Why `refine_factor` is always stated."""
    source = random.Random(1)
    vectors = [[source.uniform(-1, 1) for _ in range(4)] for _ in range(600)]
    data = rows(*range(600)).set_column(3, SCHEMA.field("vec"), pa.array(vectors, SCHEMA.field("vec").type))
    base = create(tmp_path)
    base = pin(base, Op.Append(files_for(base, data)))
    base = index(base, "vec", "IVF_PQ", [0], num_partitions=1, num_sub_vectors=2, metric="cosine")
    asked = {"column": "vec", "q": [0.3, -0.2, 0.5, 0.1], "k": 10, "metric": "cosine"}
    exact, rough, refined = (
        base.to_table(columns=["id", "_distance"], nearest={**asked, **extra})["_distance"].to_pylist()
        for extra in ({"use_index": False}, {}, {"refine_factor": 10})
    )
    assert sum(rough) > 1.5 * sum(exact)
    assert refined == pytest.approx(exact, abs=1e-5)


def test_a_search_keeps_to_a_mask_of_rows(tmp_path: Path) -> None:
    """How candidates are handed to a vector index: indexed rows and others, whole fragments, none at all."""
    source = random.Random(3)
    base = append(create(tmp_path), *range(600))
    base = index(base, "vec", "IVF_FLAT", [0], num_partitions=12, metric="l2")
    base = append(base, *range(600, 800))
    found = base.scanner(columns=["n"], with_row_address=True).to_table()
    addresses = dict(zip(found["n"].to_pylist(), found["_rowaddr"].to_pylist(), strict=True))
    for chosen in (range(0), range(3), range(600), range(550, 700), range(700, 703), source.sample(range(800), 90)):
        mask = row_mask(np.array([addresses[n] for n in chosen], np.int64))
        for at in (5, 590, 790):
            for probes in (1, 12):
                asked = {"column": "vec", "q": [float(at), 0, 0, 0], "k": 4, "metric": "l2", "minimum_nprobes": probes}
                scan = base.scanner(columns=["n", "_distance"], nearest=asked, row_addr_allowlist=mask)
                got = scan.to_table()["n"].to_pylist()
                assert set(got) <= set(chosen)
                assert len(got) == min(4, len(chosen))  # one partition is not enough: it goes on by itself
                if probes == 12:
                    assert sorted(abs(n - at) for n in got) == sorted(abs(n - at) for n in chosen)[:4]
