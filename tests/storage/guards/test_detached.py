"""Detached versions: what the whole storage layer rests on (design/storage.md, section 1)."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import lance
import pytest
from lance import LanceDataset
from lance import LanceOperation as Op
from tests.storage.guards.datasets import (
    SCHEMA,
    TOP_BIT,
    append,
    create,
    deleted,
    files_for,
    ids,
    index_all,
    pin,
    rows,
)


def test_a_detached_commit_does_not_move_the_head(tmp_path: Path) -> None:
    """If it did, an unpublished change would be visible, and others would build on it."""
    table = create(tmp_path)
    change = append(table, 1)
    change = index_all(change, [0])
    change = pin(change, Op.Delete([deleted(append(change, 2), 0, "id = 'nobody'")], [], "true"))
    head = lance.dataset(table.uri)
    assert (head.version, head.latest_version, head.count_rows()) == (1, 1, 0)
    assert [v["version"] for v in head.versions()] == [1]


def test_a_pin_has_the_top_bit_set_and_opens_by_its_number(tmp_path: Path) -> None:
    """If pins could not be told from versions, or not be opened alone, a manifest could not name them."""
    table = create(tmp_path)
    change = append(table, 1)
    assert TOP_BIT <= change.version < 2 * TOP_BIT
    assert ids(lance.dataset(table.uri, version=change.version)) == ["k1"]
    assert (Path(table.uri) / "_versions" / f"d{change.version}.manifest").is_file()


def test_pins_never_repeat(tmp_path: Path) -> None:
    """If two commits on one base could get one number, caches by pin would be wrong."""
    table = create(tmp_path)
    assert len({append(table, 1).version for _ in range(20)}) == 20


def test_siblings_do_not_conflict_and_do_not_see_each_other(tmp_path: Path) -> None:
    """If they conflicted, branches and losers of races would fail; if they saw each other, they would mix."""
    base = append(create(tmp_path), 1, 2)
    first = pin(base, Op.Delete([deleted(base, 0, "id = 'k1'")], [], "true"))
    second = pin(base, Op.Delete([deleted(base, 0, "id = 'k2'")], [], "true"))
    third = append(base, 3)
    assert [ids(d) for d in (base, first, second, third)] == [["k1", "k2"], ["k2"], ["k1"], ["k1", "k2", "k3"]]


def test_siblings_reuse_fragment_numbers(tmp_path: Path) -> None:
    """A reminder rather than a need: numbers of fragments and rows mean nothing across pins; ids do."""
    base = append(create(tmp_path), 1)
    numbers = [[f.fragment_id for f in append(base, n).get_fragments()] for n in (2, 3)]
    assert numbers == [[0, 1], [0, 1]]


def test_fragment_numbers_are_not_reused_along_a_chain(tmp_path: Path) -> None:
    """If they were, an index segment could take a new fragment for one it covered long ago."""
    base = append(create(tmp_path), 1)
    emptied = pin(base, Op.Delete([], [0], "true"))
    assert [f.fragment_id for f in append(emptied, 2).get_fragments()] == [1]


def test_every_operation_works_detached(tmp_path: Path) -> None:
    """If one of them stopped to, the change that uses it could not be made without moving the head."""
    table = create(tmp_path)
    base = append(table, 1, 2)
    merged = base.merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute_uncommitted(rows(2, 3))
    fragments = [f.metadata for f in base.get_fragments()]
    operations: dict[str, tuple[Op.BaseOperation, list[str]]] = {
        "append": (Op.Append(files_for(base, rows(3))), ["k1", "k2", "k3"]),
        "overwrite": (Op.Overwrite(base.lance_schema, files_for(base, rows(9))), ["k9"]),
        "overwrite with nothing": (Op.Overwrite(base.lance_schema, []), []),
        "delete": (Op.Delete([deleted(base, 0, "id = 'k1'")], [], "true"), ["k2"]),
        "update": (Op.Update([], [deleted(base, 0, "id = 'k1'")], files_for(base, rows(1))), ["k1", "k2"]),
        "rewrite": (Op.Rewrite([Op.RewriteGroup(fragments, files_for(base, rows(1, 2)))], []), ["k1", "k2"]),
        "merge": (Op.Merge(fragments, base.lance_schema), ["k1", "k2"]),
        "project": (Op.Project(base.lance_schema), ["k1", "k2"]),
        "merge_insert": (merged[0].operation, ["k1", "k2", "k3"]),
    }
    found = {name: ids(pin(base, operation)) for name, (operation, _) in operations.items()}
    assert found == {name: expected for name, (_, expected) in operations.items()}
    assert lance.dataset(table.uri).latest_version == 1


def test_a_detached_commit_cannot_create_a_table(tmp_path: Path) -> None:
    """If it could, tables would not need an empty first version of their own."""
    table = create(tmp_path / "a")
    elsewhere = str(tmp_path / "b" / "table")
    with pytest.raises(OSError, match=r"(?i)detached"):
        LanceDataset.commit(elsewhere, Op.Overwrite(SCHEMA, files_for(table, rows(1))), detached=True)


def test_a_copied_folder_reads_itself(tmp_path: Path) -> None:
    """If versions held absolute paths, a moved graph would be lost and a copy would read the original."""
    base = index_all(append(create(tmp_path / "here"), 1), [0])
    shutil.copytree(tmp_path / "here", tmp_path / "there")
    shutil.rmtree(tmp_path / "here")
    assert ids(lance.dataset(str(tmp_path / "there" / "table"), version=base.version)) == ["k1"]


def test_native_cleanup_deletes_the_files_of_pins(tmp_path: Path) -> None:
    """Why it is forbidden on tables. If it spares them one day, reclaim may become simpler; until then it destroys graphs."""
    table = create(tmp_path)
    change = append(table, 1)
    lance.dataset(table.uri).cleanup_old_versions(older_than=timedelta(0), delete_unverified=True)
    with pytest.raises((OSError, ValueError)):
        lance.dataset(table.uri, version=change.version).to_table()


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda d: d.delete("id = 'k1'"), id="delete"),
        pytest.param(lambda d: d.update({"n": "7"}), id="update"),
        pytest.param(lambda d: d.merge_insert("id").when_not_matched_insert_all().execute(rows(5)), id="merge_insert"),
        pytest.param(lambda d: d.create_scalar_index("id", "BTREE"), id="create_scalar_index"),
        pytest.param(lambda d: d.create_index("vec", "IVF_FLAT", num_partitions=1), id="create_index"),
        pytest.param(lambda d: d.optimize.compact_files(), id="compact_files"),
        pytest.param(lambda d: d.optimize.optimize_indices(), id="optimize_indices"),
        pytest.param(lambda d: d.add_columns({"m": "n + 1"}), id="add_columns"),
        pytest.param(lambda d: d.drop_columns(["n"]), id="drop_columns"),
        pytest.param(lambda d: d.alter_columns({"path": "n", "name": "m"}), id="alter_columns"),
        pytest.param(lambda d: d.insert(rows(5)), id="insert"),
        pytest.param(lambda d: lance.write_dataset(rows(5), d, mode="append"), id="write_dataset"),
        pytest.param(lambda d: d.update_config({"a": "b"}), id="update_config"),
        pytest.param(lambda d: LanceDataset.commit(d, Op.Append([]), read_version=d.version), id="commit"),
    ],
)
def test_inline_calls_on_a_pin_fail(tmp_path: Path, call: Callable[[LanceDataset], object]) -> None:
    """Why they are forbidden: none of them gives a new pin. If one begins to, look whether it moves the head."""
    table = create(tmp_path)
    change = index_all(append(append(table, 1, 2), 3), [0])
    change = pin(change, Op.Delete([deleted(change, 0, "id = 'k2'")], [], "true"))
    with pytest.raises((OSError, RuntimeError)):
        call(lance.dataset(table.uri, version=change.version))
    assert lance.dataset(table.uri).latest_version == 1
    assert ids(lance.dataset(table.uri, version=change.version)) == ["k1", "k3"]


def test_restoring_a_pin_moves_the_head(tmp_path: Path) -> None:
    """Promotion rests on it, and nothing else may do it: from then on the head shows the pinned rows."""
    table = create(tmp_path)
    change = append(table, 1)
    lance.dataset(table.uri, version=change.version).restore()  # type: ignore[no-untyped-call]
    assert (lance.dataset(table.uri).latest_version, ids(lance.dataset(table.uri))) == (2, ["k1"])
