"""The manifest's compare-and-swap: which commits are strict, and which only look it (design/storage.md, section 2)."""

from __future__ import annotations

from pathlib import Path

import lance
import pytest
from lance import LanceDataset
from lance import LanceOperation as Op
from lance.commit import CommitConflictError
from tests.storage.guards.datasets import SCHEMA, deleted, every_field, files_for, ids, rows


def manifest(folder: Path) -> LanceDataset:
    """A dataset with one older fragment and a tail."""
    dataset = lance.write_dataset(rows(0), str(folder / "manifest"))
    return LanceDataset.commit(dataset, Op.Append(files_for(dataset, rows(1))), read_version=1)


def replace_tail(base: LanceDataset, *numbers: int) -> LanceDataset:
    operation = Op.Update(
        removed_fragment_ids=[1],
        updated_fragments=[],
        new_fragments=files_for(base, rows(*numbers)),
        fields_modified=every_field(base),
    )
    return LanceDataset.commit(base, operation, read_version=base.version, max_retries=0)


def two_readers(folder: Path) -> tuple[LanceDataset, LanceDataset]:
    uri = manifest(folder).uri
    return lance.dataset(uri), lance.dataset(uri)


def test_of_two_that_replace_the_same_tail_one_loses(tmp_path: Path) -> None:
    """If both could win, an acknowledged commit would be lost: everything rests on this."""
    first, second = two_readers(tmp_path)
    replace_tail(first, 2)
    with pytest.raises(CommitConflictError):
        replace_tail(second, 3)
    assert ids(lance.dataset(first.uri)) == ["k0", "k2"]


def test_the_loser_loses_again_when_more_has_happened(tmp_path: Path) -> None:
    """If a conflict were seen with the newest version only, a slow publisher could slip in."""
    first, second = two_readers(tmp_path)
    after = replace_tail(first, 2)
    LanceDataset.commit(after, Op.Append(files_for(after, rows(7))), read_version=after.version)
    with pytest.raises(CommitConflictError):
        replace_tail(second, 3)


def test_an_append_is_rebased_in_silence(tmp_path: Path) -> None:
    """Why a publish is never an append: `max_retries=0` does not make it strict. If it does one day, publishing gets simpler."""
    first, second = two_readers(tmp_path)
    for dataset, number in ((first, 2), (second, 3)):
        operation = Op.Append(files_for(dataset, rows(number)))
        LanceDataset.commit(dataset, operation, read_version=dataset.version, max_retries=0)
    assert ids(lance.dataset(first.uri)) == ["k0", "k1", "k2", "k3"]


def test_an_overwrite_is_strict_with_no_retries(tmp_path: Path) -> None:
    """The other strict form. If it were not, creating a manifest in one commit could have two winners."""
    first, second = two_readers(tmp_path)
    LanceDataset.commit(first, Op.Overwrite(SCHEMA, files_for(first, rows(2))), read_version=first.version, max_retries=0)
    with pytest.raises(CommitConflictError):
        LanceDataset.commit(second, Op.Overwrite(SCHEMA, files_for(second, rows(3))), read_version=second.version, max_retries=0)


def test_a_dataset_is_created_once(tmp_path: Path) -> None:
    """If creating twice succeeded, two could believe that a folder is theirs."""
    uri = manifest(tmp_path).uri
    with pytest.raises(OSError, match="already exists"):
        lance.write_dataset(rows(2), uri, mode="create")


def test_deletions_in_one_fragment_do_not_conflict_by_themselves(tmp_path: Path) -> None:
    """Why the tail is removed and not marked: two deletions of different rows are merged, not refused."""
    first, second = two_readers(tmp_path)
    after = LanceDataset.commit(first, Op.Append(files_for(first, rows(5, 6))), read_version=first.version)
    one, two = lance.dataset(after.uri), lance.dataset(after.uri)
    one.delete("id = 'k5'")
    two.delete("id = 'k6'")
    assert ids(lance.dataset(second.uri)) == ["k0", "k1"]


def test_the_same_transaction_committed_twice_applies_twice(tmp_path: Path) -> None:
    """Why an unclear outcome is settled by looking for the commit's id: trying again would add the rows again."""
    first, second = two_readers(tmp_path)
    operation = Op.Append(files_for(first, rows(2)))
    for dataset in (first, second):
        LanceDataset.commit(dataset, operation, read_version=dataset.version)
    assert ids(lance.dataset(first.uri)) == ["k0", "k1", "k2", "k2"]


def test_inserts_of_one_new_key_staged_apart_both_land(tmp_path: Path) -> None:
    """Why key uniqueness is ours: Lance's fence for inserted keys is gone once a merge_insert is staged."""
    first, second = two_readers(tmp_path)
    for dataset in (first, second):
        staged, _ = dataset.merge_insert("id").when_not_matched_insert_all().execute_uncommitted(rows(5))
        LanceDataset.commit(dataset, staged.operation, read_version=dataset.version)
    assert ids(lance.dataset(first.uri)).count("k5") == 2


def test_a_newer_version_is_seen_by_a_handle_that_is_open(tmp_path: Path) -> None:
    """If `latest_version` were cached, a reader would miss commits of other processes."""
    first, second = two_readers(tmp_path)
    replace_tail(first, 2)
    assert second.latest_version == second.version + 1
    assert ids(second) == ["k0", "k1"]
    assert ids(second.checkout_version(second.latest_version)) == ["k0", "k2"]


def test_fragment_numbers_grow(tmp_path: Path) -> None:
    """The tail is the fragment with the greatest number: that must be the one written last."""
    dataset = manifest(tmp_path)
    for number in range(3):
        tail = max(f.fragment_id for f in dataset.get_fragments())
        operation = Op.Update([tail], [], files_for(dataset, rows(number)) + files_for(dataset, rows(90 + number)))
        dataset = LanceDataset.commit(dataset, operation, read_version=dataset.version, max_retries=0)
        newest = max(dataset.get_fragments(), key=lambda f: f.fragment_id)
        assert newest.to_table()["id"].to_pylist() == [f"k{90 + number}"]


def test_a_deletion_mark_leaves_the_handle_as_it_was(tmp_path: Path) -> None:
    """Marks are files until something commits them. If marking moved the handle, a reader of it would lose rows."""
    dataset = manifest(tmp_path)
    assert deleted(lance.write_dataset(rows(1, 2), str(tmp_path / "other")), 0, "id = 'k1'").num_deletions == 1
    fragment = dataset.get_fragment(1)
    assert fragment is not None
    assert fragment.delete("id = 'k1'") is None
    assert ids(dataset) == ids(lance.dataset(dataset.uri)) == ["k0", "k1"]
