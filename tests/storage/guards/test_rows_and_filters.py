"""Rows, keys, filters, columns, errors: the rest of what we rely on or work around (design/storage.md, section 3)."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import lance
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from lance import LanceOperation as Op
from lance.commit import CommitConflictError
from lance.fragment import FragmentMetadata
from lance.optimize import Compaction, CompactionTask
from lance.schema import LanceSchema
from tests.storage.guards.datasets import SCHEMA, apart, append, create, deleted, files_for, ids, index_all, pin, rows

# ── keys ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_key_twice_in_a_merge_source(tmp_path: Path) -> None:
    """Why sources are de-duplicated first: an existing key twice is an error, a new one twice is inserted twice."""
    base = append(create(tmp_path), 1)
    merge = base.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
    twice_new, _ = merge.execute_uncommitted(rows(2, 2))
    assert ids(pin(base, twice_new.operation)) == ["k1", "k2", "k2"]
    merge = base.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
    with pytest.raises((OSError, ValueError, RuntimeError), match=r"(?i)ambiguous|duplicate|multiple"):
        merge.execute_uncommitted(rows(1, 1))


def test_row_addresses_say_which_fragment(tmp_path: Path) -> None:
    """Deletes find the fragment of a row by the upper half of its address."""
    base = append(append(create(tmp_path), 1), 2, 3)
    found = base.scanner(columns=["id"], filter=pc.field("id") == "k3", with_row_address=True).to_table()
    assert [a >> 32 for a in found["_rowaddr"].to_pylist()] == [1]


def test_deleting_all_rows_of_a_fragment_gives_none(tmp_path: Path) -> None:
    """How a delete knows that the fragment itself goes."""
    base = append(create(tmp_path), 1, 2)
    fragment = base.get_fragment(0)
    assert fragment is not None
    assert fragment.delete("id IN ('k1', 'k2')") is None
    assert deleted(base, 0, "id = 'k1'").num_deletions == 1


def test_quotes_in_ids_are_doubled(tmp_path: Path) -> None:
    """The predicate of a fragment is text. If quoting changed, an id could delete more than itself."""
    base = create(tmp_path)
    awkward = ["o'brien", "') OR true --", 'say "hi"', "back\\slash", "ünï", "a`b"]
    data = pa.table({"id": awkward}).append_column("n", pa.array(range(len(awkward)), pa.int64()))
    data = data.append_column("text", pa.array(awkward)).append_column("vec", pa.nulls(len(awkward), SCHEMA.field("vec").type))
    base = pin(base, Op.Append(files_for(base, data.cast(SCHEMA))))
    for name in awkward:
        quoted = name.replace("'", "''")
        after = pin(base, Op.Delete([deleted(base, 0, f"id IN ('{quoted}')")], [], "true"))
        assert ids(after) == sorted(n for n in awkward if n != name)


# ── filters ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_unquoted_names_in_filters_match_in_any_case(tmp_path: Path) -> None:
    """Why filters are expressions: in text, a name in the wrong case silently reads another column."""
    dataset = lance.write_dataset(pa.table({"userName": ["a", "b"], "username": ["x", "y"]}), str(tmp_path / "t"))
    assert dataset.to_table(filter="USERNAME = 'a'").num_rows == 1
    assert dataset.to_table(filter="`userName` = 'a'").num_rows == 1
    assert dataset.to_table(filter=pc.field("userName") == "a").num_rows == 1
    with pytest.raises(ValueError, match="No field named"):
        dataset.to_table(filter="`USERNAME` = 'a'")


def test_double_quotes_are_string_literals(tmp_path: Path) -> None:
    """Why no filter text is ever written: a quoted name compares two constants."""
    dataset = lance.write_dataset(pa.table({"id": ["a", "b"]}), str(tmp_path / "t"))
    assert dataset.to_table(filter="\"id\" = 'id'").num_rows == 2
    assert dataset.to_table(filter="\"id\" = 'a'").num_rows == 0


def test_an_expression_uses_the_index(tmp_path: Path) -> None:
    """If only filter text did, lookups by expression would scan."""
    base = index_all(append(create(tmp_path), 1, 2), [0])
    for where in (pc.field("id") == "k1", pc.field("id").isin(["k1", "k2"])):
        assert "ScalarIndexQuery" in base.scanner(columns=["id"], filter=where).explain_plan()


# ── handles ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_one_handle_changed_from_two_threads_is_refused(tmp_path: Path) -> None:
    """Why a change makes a new handle and leaves the old one alone."""
    dataset = lance.write_dataset(rows(*range(200)), str(tmp_path / "t"))
    errors: list[str] = []

    def change() -> None:
        for _ in range(30):
            try:
                dataset.update_config({"a": "b"})
            except RuntimeError as error:
                errors.append(str(error))

    threads = [threading.Thread(target=change) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(errors) <= {"Already borrowed", "Already mutably borrowed"}
    assert errors


def test_one_handle_is_read_from_many_threads(tmp_path: Path) -> None:
    """If reading were refused as well, handles could not be cached by pin."""
    base = index_all(append(create(tmp_path), *range(50)), [0])
    wrong: list[object] = []

    def read() -> None:
        for _ in range(20):
            try:
                assert base.to_table(filter="id = 'k7'").num_rows == 1
                assert base.scanner(columns=["id"]).to_table().num_rows == 50
                append(base, 99)
            except BaseException as error:
                wrong.append(error)

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


# ── errors ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_which_exceptions_there_are(tmp_path: Path) -> None:
    """`lance_errors` maps these and no others. A new type would come through as it is."""
    base = append(create(tmp_path), 1)
    assert issubclass(CommitConflictError, Exception)
    with pytest.raises(ValueError, match="not found"):
        lance.dataset(str(tmp_path / "nowhere"))
    with pytest.raises(ValueError, match="not found"):
        lance.dataset(base.uri, version=77)
    for file in (Path(base.uri) / "data").iterdir():
        file.unlink()
    with pytest.raises((OSError, ValueError), match=r"(?i)not found"):
        lance.dataset(base.uri, version=base.version).to_table()


# ── columns ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_schema_comes_apart_into_one_message_per_field(tmp_path: Path) -> None:
    """How columns are renamed and dropped with their field ids kept. If the form changes, `columns._apart` must follow."""
    schema = pa.schema([pa.field("a", pa.int64()), pa.field("b", pa.list_(pa.string()))], metadata={"k": "v"})
    make, metadata, messages = apart(LanceSchema.from_pyarrow(schema))
    assert json.loads(metadata) == {"k": [118]}
    assert [m[: 2 + m[1]] for m in messages] == [b"\x12\x01a", b"\x12\x01b", b"\x12\x04item"]
    assert make(metadata, *messages).to_pyarrow() == schema
    renamed = make(metadata, messages[0] + b"\x12\x03new" + b"\x18\x07", *messages[1:])
    assert [(f.name(), f.id()) for f in renamed.fields()] == [("new", 7), ("b", 1)]


def test_an_arrow_schema_numbers_fields_anew(tmp_path: Path) -> None:
    """Why schemas never go through Arrow after a column was dropped: later fields would read other fields' data."""
    base = append(create(tmp_path), 1)
    make, metadata, messages = apart(base.lance_schema)
    dropped = pin(base, Op.Project(make(metadata, messages[0], *messages[2:])))
    assert [(f.name(), f.id()) for f in dropped.lance_schema.fields()] == [("id", 0), ("text", 2), ("vec", 3)]
    assert [f.id() for f in LanceSchema.from_pyarrow(dropped.schema).fields()] == [0, 1, 2]


def test_a_field_id_that_is_used_again_brings_old_values_back(tmp_path: Path) -> None:
    """Why the greatest id ever used is kept with the table. Lance refuses it for files that exist, and forgets with them."""
    base = append(create(tmp_path), 1)
    late = files_for(base, rows(8))
    make, metadata, messages = apart(base.lance_schema)
    dropped = pin(base, Op.Project(make(metadata, *messages[:3])))
    again = make(metadata, *messages)
    with pytest.raises(OSError, match="already used"):
        pin(dropped, Op.Merge([f.metadata for f in dropped.get_fragments()], again))
    emptied = pin(dropped, Op.Delete([], [0], "true"))
    added = pin(emptied, Op.Merge([], again))
    assert pin(added, Op.Append(late)).to_table()["vec"].to_pylist() == [[8.0, 0.0, 0.0, 0.0]]


def test_rows_written_without_a_nullable_column_read_as_null(tmp_path: Path) -> None:
    """How rows staged before a column was added are published after it."""
    base = append(create(tmp_path), 1)
    staged = files_for(base, rows(2))
    schema = LanceSchema.from_pyarrow(SCHEMA.append(pa.field("mood", pa.string())))
    wider = pin(base, Op.Merge([f.metadata for f in base.get_fragments()], schema))
    assert pin(wider, Op.Append(staged)).to_table(columns=["id", "mood"]).to_pylist() == [
        {"id": "k1", "mood": None},
        {"id": "k2", "mood": None},
    ]


# ── rewriting ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_compaction_task_can_be_made_by_hand(tmp_path: Path) -> None:
    """How fragments are rewritten in groups of our choice. If the JSON changes, `rewrites.rewrite` must follow."""
    base = append(append(append(create(tmp_path), 1, 2), 3), 4)
    base = pin(base, Op.Delete([deleted(base, 0, "id = 'k2'")], [], "true"))
    plan = json.loads(Compaction.plan(base, {"target_rows_per_fragment": 1, "materialize_deletions": False}).json())  # type: ignore[attr-defined]
    assert plan["tasks"] == []
    chosen = [f.metadata.to_json() for f in base.get_fragments() if f.fragment_id != 1]
    options = {**plan["options"], "target_rows_per_fragment": 1_000}
    task = CompactionTask.from_json(json.dumps({"task": {"fragments": chosen}, "read_version": base.version, "options": options}))  # type: ignore[attr-defined]
    result = json.loads(task.execute(base).json())
    (new,) = (FragmentMetadata.from_json(json.dumps(f)) for f in result["new_fragments"])
    assert (new.num_rows, new.num_deletions) == (2, 0)
    old = [FragmentMetadata.from_json(json.dumps(f)) for f in result["original_fragments"]]
    assert ids(pin(base, Op.Rewrite([Op.RewriteGroup(old, [new])], []))) == ["k1", "k3", "k4"]


def test_reading_the_transaction_of_a_pin_is_not_built_upon(tmp_path: Path) -> None:
    """`read_transaction` fails on some versions; what a commit did is in our manifest. This keeps the memory of it."""
    base = append(append(create(tmp_path), 1), 2)
    old = [f.metadata for f in base.get_fragments()]
    after = pin(base, Op.Rewrite([Op.RewriteGroup(old, files_for(base, rows(1, 2)))], []))
    try:
        transaction = after.read_transaction(after.version)
    except (TypeError, OSError, ValueError):
        return
    assert transaction is not None
