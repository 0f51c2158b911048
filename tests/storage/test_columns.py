"""Columns come, go and change their names; rows and the indexes on other columns do not notice."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from tests.storage.searchable import (
    DOCS,
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
    state_of,
    table_of,
    upsert,
)

from omnigraph.errors import AlreadyExists, NotFound, UsageError
from omnigraph.storage.commits.lineage import OpClass
from omnigraph.storage.files.place import Durability
from omnigraph.storage.graph_store import GraphStore
from omnigraph.storage.lance_format.filters import equal
from omnigraph.storage.rewriting.columns import add_computed_columns, add_nullable_columns, drop_columns, rename_columns
from omnigraph.storage.rewriting.indexes import extend_indexes
from omnigraph.storage.rewriting.rewrites import compact
from omnigraph.storage.tables.changes import Append, Applied, Overwrite, TableState
from omnigraph.storage.tables.search import Metric, nearest
from omnigraph.storage.tables.table import Tables

MOOD = pa.field("mood", pa.string())
TAGS = pa.field("tags", pa.list_(pa.string()))


def indexed_graph(folder: Path) -> GraphStore:
    store = new_graph(folder)
    append(store, 1, 2, 3)
    maintain(store, lambda t, s: extend_indexes(t, s, SPECS))
    append(store, 4)
    upsert(store, 2, text="changed")
    return store


def still_found(store: GraphStore) -> None:
    """The indexes on untouched columns serve as before."""
    table = table_of(store)
    assert table.lookup(["k1", "k2", "k4"]).num_rows == 3
    assert found_text(table, "changed") == ["k2"]
    assert found_text(table, "run") == ["k1", "k3", "k4"]
    assert nearest(table, "vec", [2.2, 0, 0, 0], 2, Metric.L2)["id"].to_pylist() == ["k2", "k3"]


def ids_of(store: GraphStore) -> dict[str, int]:
    return {f.name(): f.id() for f in table_of(store).dataset.lance_schema.fields()}


def column(store: GraphStore, name: str) -> dict[str, object]:
    read = table_of(store).read(["id", name])
    return dict(sorted(zip(read["id"].to_pylist(), read[name].to_pylist(), strict=True)))


def test_added_columns_are_null_and_can_be_written(tmp_path: Path) -> None:
    store = indexed_graph(tmp_path)
    before = state_of(store)
    plan = prepared(store, lambda t, s: add_nullable_columns(t, s, [MOOD, TAGS]), op_class=OpClass.LOGICAL)
    (applied,) = (r.applied for r in plan.replacements)
    assert (applied.fragments_added, applied.fragments_removed, applied.added) == ((), (), 0)
    assert [f for f in applied.files if "/data/" in f] == []
    store.publish("main", plan)
    assert table_of(store).schema.names == [*SCHEMA.names, "mood", "tags"]
    assert set(column(store, "mood").values()) == {None}
    assert covered(state_of(store)) == covered(before)
    still_found(store)
    more = rows(9).append_column(MOOD, pa.array(["glad"])).append_column(TAGS, pa.array([["x", "y"]]))
    change(store, Append(table_of(store).write(more)))
    assert column(store, "mood")["k9"] == "glad"
    assert column(store, "tags") == {"k1": None, "k2": None, "k3": None, "k4": None, "k9": ["x", "y"]}
    assert table_of(store).count(equal("mood", "glad")) == 1


def test_ids_are_packed_the_quick_way_whatever_happens_to_other_columns(tmp_path: Path) -> None:
    store = indexed_graph(tmp_path)

    def packing() -> dict[str, object]:
        return {field.name: (field.metadata or {}).get(b"lance-encoding:compression") for field in table_of(store).dataset.schema}

    assert packing() == {"id": b"lz4", "n": None, "text": None, "vec": None}
    maintain(store, lambda t, s: add_nullable_columns(t, s, [MOOD]))
    maintain(store, lambda t, s: drop_columns(t, s, ["n"]))
    maintain(store, lambda t, s: compact(t, s))
    assert packing() == {"id": b"lz4", "text": None, "vec": None, "mood": None}
    still_found(store)


def test_a_dropped_column_takes_its_indexes_along_and_no_others(tmp_path: Path) -> None:
    store = indexed_graph(tmp_path)
    maintain(store, lambda t, s: drop_columns(t, s, ["n"]))
    assert table_of(store).schema.names == ["id", "text", "vec"]
    assert set(covered(state_of(store))) == {"by_id", "by_text", "by_vec"}
    still_found(store)
    change(store, Append(table_of(store).write(rows(7, text="later").drop_columns(["n"]))))
    assert found_text(table_of(store), "later") == ["k7"]


def test_a_renamed_column_keeps_its_values_its_identity_and_its_index(tmp_path: Path) -> None:
    store = indexed_graph(tmp_path)
    before, values = ids_of(store), column(store, "n")
    maintain(store, lambda t, s: rename_columns(t, s, {"n": "number", "text": "body"}))
    after = ids_of(store)
    assert (after["number"], after["body"]) == (before["n"], before["text"])
    assert column(store, "number") == values
    assert covered(state_of(store)) == {"by_id": 1, "by_n": 1, "by_text": 1, "by_vec": 1}
    assert [i.column for i in state_of(store).indexes] == ["id", "number", "body", "vec"]
    plan = table_of(store).dataset.scanner(columns=["id"], filter=equal("number", 3).sql).explain_plan()
    assert "by_n" in plan


def test_names_can_be_swapped(tmp_path: Path) -> None:
    store = new_graph(tmp_path)
    append(store, 1)
    maintain(store, lambda t, s: add_nullable_columns(t, s, [pa.field("m", pa.int64())]))
    maintain(store, lambda t, s: rename_columns(t, s, {"n": "m", "m": "n"}))
    assert (column(store, "n"), column(store, "m")) == ({"k1": None}, {"k1": 1})


def test_computed_columns(tmp_path: Path) -> None:
    store = indexed_graph(tmp_path)
    delete(store, 3)

    def compute(batch: pa.RecordBatch) -> pa.RecordBatch:
        doubled = pc.multiply(batch["n"], 2)
        return pa.record_batch([pa.array([[str(n)] for n in batch["n"].to_pylist()]), doubled], ["tags", "double"])

    fields = [pa.field("double", pa.int32()), TAGS]
    plan = prepared(store, lambda t, s: add_computed_columns(t, s, fields, compute, ["n"]), op_class=OpClass.LOGICAL)
    (applied,) = (r.applied for r in plan.replacements)
    assert len([f for f in applied.files if "/data/" in f]) == state_of(store).fragments
    store.publish("main", plan)
    assert column(store, "double") == {"k1": 2, "k2": 4, "k4": 8}
    assert column(store, "tags") == {"k1": ["1"], "k2": ["2"], "k4": ["4"]}
    assert table_of(store).schema.field("double").type == pa.int32()
    assert table_of(store).lookup(["k1", "k3"]).num_rows == 1
    assert found_text(table_of(store), "changed") == ["k2"]


@pytest.mark.parametrize("rewritten", [False, True], ids=["as it is", "rewritten"])
def test_a_name_that_comes_back_is_a_new_column(tmp_path: Path, rewritten: bool) -> None:
    """Neither what files still hold nor rows written before the drop may show up under the new column."""
    store = new_graph(tmp_path)
    append(store, 1)
    late = table_of(store).write(rows(8))
    used = ids_of(store)["vec"]
    maintain(store, lambda t, s: drop_columns(t, s, ["vec"]))
    if rewritten:
        change(store, Append(table_of(store).write(rows(2).drop_columns(["vec"]))))
        maintain(store, lambda t, s: compact(t, s))
    maintain(store, lambda t, s: add_nullable_columns(t, s, [SCHEMA.field("vec")]))
    change(store, Append(late))
    assert ids_of(store)["vec"] > used
    assert set(column(store, "vec").values()) == {None}


def test_ids_stay_unique_with_computed_columns(tmp_path: Path) -> None:
    store = new_graph(tmp_path)
    append(store, 1)
    late = table_of(store).write(rows(8))
    maintain(store, lambda t, s: drop_columns(t, s, ["vec", "text"]))
    change(store, Append(table_of(store).write(rows(2).drop_columns(["vec", "text"]))))
    maintain(store, lambda t, s: compact(t, s))

    def compute(batch: pa.RecordBatch) -> pa.RecordBatch:
        return pa.record_batch([pc.add(batch["n"], 1)], ["next"])

    maintain(store, lambda t, s: add_computed_columns(t, s, [pa.field("next", pa.int64())], compute, ["n"]))
    change(store, Append(late))
    assert column(store, "next") == {"k1": 2, "k2": 3, "k8": None}
    maintain(store, lambda t, s: compact(t, s))
    assert column(store, "next") == {"k1": 2, "k2": 3, "k8": None}


def test_an_overwrite_after_a_drop_keeps_columns_apart(tmp_path: Path) -> None:
    store = indexed_graph(tmp_path)
    maintain(store, lambda t, s: drop_columns(t, s, ["n"]))
    before = ids_of(store)
    change(store, Overwrite(table_of(store).write(rows(5, text="only").drop_columns(["n"]))))
    assert ids_of(store) == before
    assert column(store, "text") == {"k5": "only w5"}
    assert found_text(table_of(store), "only") == ["k5"]
    maintain(store, lambda t, s: compact(t, s, [s for s in SPECS if s.column != "n"]))
    assert column(store, "text") == {"k5": "only w5"}


def test_empty_tables_change_their_columns_too(tmp_path: Path) -> None:
    store = new_graph(tmp_path)
    maintain(store, lambda t, s: add_nullable_columns(t, s, [MOOD]))
    maintain(store, lambda t, s: drop_columns(t, s, ["n"]))
    maintain(store, lambda t, s: rename_columns(t, s, {"text": "body"}))
    maintain(store, lambda t, s: add_computed_columns(t, s, [pa.field("x", pa.int64())], lambda b: b, ["id"]))
    assert table_of(store).schema.names == ["id", "body", "vec", "mood", "x"]


def test_what_cannot_be_done(tmp_path: Path) -> None:
    store = new_graph(tmp_path)
    tables, state = store.tables, state_of(store)
    with pytest.raises(UsageError, match="no value"):
        add_nullable_columns(tables, state, [pa.field("x", pa.int64(), nullable=False)])
    with pytest.raises(AlreadyExists, match="`n` already"):
        add_nullable_columns(tables, state, [pa.field("n", pa.int64())])
    with pytest.raises(NotFound, match="no column `x`"):
        drop_columns(tables, state, ["x"])
    with pytest.raises(NotFound, match="no column `x`"):
        rename_columns(tables, state, {"x": "y"})
    with pytest.raises(AlreadyExists, match="`text` already"):
        rename_columns(tables, state, {"n": "text"})


def test_the_files_of_computed_columns_are_synced(tmp_path: Path) -> None:
    store = new_graph(tmp_path, durability=Durability.FULL)
    append(store, 1)

    def prepare(tables: Tables, state: TableState) -> Applied:
        return add_computed_columns(tables, state, [pa.field("m", pa.int64())], lambda b: b.rename_columns(["m"]), ["n"])

    root = Path(store.place.uri)
    before = {p for p in root.rglob("*") if p.is_file()}
    applied = prepare(store.tables, state_of(store))
    new = {str(p.relative_to(root)) for p in root.rglob("*") if p.is_file() and p not in before}
    assert set(applied.files) == {f for f in new if "_transactions" not in f}


def test_rows_written_for_the_old_columns_are_published_on_the_new_ones(tmp_path: Path) -> None:
    store = new_graph(tmp_path)
    append(store, 1)
    base = store.snapshot().commit
    written = table_of(store).write(rows(2))
    maintain(store, lambda t, s: rename_columns(t, s, {"n": "number"}))
    maintain(store, lambda t, s: add_nullable_columns(t, s, [MOOD]))
    maintain(store, lambda t, s: drop_columns(t, s, ["text"]))
    change(store, Append(written, ("k2",)), base=base)
    assert column(store, "number") == {"k1": 1, "k2": 2}
    assert column(store, "mood") == {"k1": None, "k2": None}


def test_a_plan_whose_table_moved_is_void_and_succeeds_when_prepared_again(tmp_path: Path) -> None:
    store = new_graph(tmp_path)
    maintain_too_late(store, lambda t, s: add_nullable_columns(t, s, [MOOD]), lambda: append(store, 1))
    assert column(store, "mood") == {"k1": None}


def test_branches_have_columns_of_their_own(tmp_path: Path) -> None:
    store = new_graph(tmp_path)
    append(store, 1)
    store.create_branch("b")
    maintain(store, lambda t, s: drop_columns(t, s, ["text"]), "b")
    maintain(store, lambda t, s: rename_columns(t, s, {"n": "number"}))
    assert table_of(store).schema.names == ["id", "number", "text", "vec"]
    assert table_of(store, "b").schema.names == ["id", "n", "vec"]
    assert store.tables.open(store.snapshot_at(store.commits()[-1].id).tables[DOCS]).schema.names == SCHEMA.names
