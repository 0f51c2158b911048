"""The files of a pinned version: with these and no others it can be read, searched and written on."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

import lance
import pyarrow as pa
import pytest
from lance.dataset import Session
from lance.query import MatchQuery

from omnigraph.storage.files.place import Durability, Place
from omnigraph.storage.lance_format.file_names import attached_version, version_file
from omnigraph.storage.rewriting.columns import add_computed_columns, add_nullable_columns
from omnigraph.storage.rewriting.indexes import IndexKind, IndexSpec, extend_indexes
from omnigraph.storage.rewriting.rewrites import compact
from omnigraph.storage.tables.changes import Append, Delete, Overwrite, TableState, Upsert
from omnigraph.storage.tables.needed_files import files_of, folder_of, manifest_files, needs_of
from omnigraph.storage.tables.table import Table, Tables

SCHEMA = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("n", pa.int64()),
        pa.field("text", pa.string()),
        pa.field("vec", pa.list_(pa.float32(), 4)),
    ]
)
INDEXES = (
    IndexSpec("by_id", "id", IndexKind.BTREE),
    IndexSpec("by_text", "text", IndexKind.FULL_TEXT),
    IndexSpec("by_vec", "vec", IndexKind.IVF_FLAT, {"metric": "l2", "num_partitions": 1}),
)
LOCATION = "nodes/5-7"
Model = dict[str, int]


@dataclass(frozen=True)
class Known:
    """A version, and what is in it."""

    state: TableState
    rows: Model


def rows(model: Model, schema: pa.Schema = SCHEMA) -> pa.Table:
    entries = [{"id": k, "n": n, "text": f"word{n % 5} and more", "vec": [float(n), 1.0, 0.0, 0.0]} for k, n in model.items()]
    return pa.Table.from_pylist(entries, schema=schema)


def new_rows(rng: random.Random) -> Model:
    return {f"k{rng.randrange(60)}": rng.randrange(10_000) for _ in range(rng.randrange(1, 9))}


def step(tables: Tables, known: Known, rng: random.Random) -> Known:
    """One more version on top of one there is."""
    table, state = tables.open(known.state), known.state
    change = new_rows(rng)
    match rng.choice(["append", "upsert", "upsert", "delete", "overwrite", "index", "index", "compact", "column"]):
        case "append":
            change = {k: n for k, n in change.items() if k not in known.rows}
            written = table.write(rows(change, table.schema))
            return Known(tables.apply(state, Append(written)).state, {**known.rows, **change})
        case "upsert":
            written = table.write(rows(change, table.schema))
            return Known(tables.apply(state, Upsert(written, tuple(change))).state, {**known.rows, **change})
        case "delete":
            gone = tuple(rng.sample(sorted(known.rows), min(3, len(known.rows))))
            left = {k: n for k, n in known.rows.items() if k not in gone}
            return Known(tables.apply(state, Delete(gone)).state, left)
        case "overwrite":
            written = table.write(rows(change, table.schema))
            return Known(tables.apply(state, Overwrite(written)).state, change)
        case "index":
            return Known(extend_indexes(tables, state, INDEXES).state, known.rows)
        case "compact":
            return Known(compact(tables, state, INDEXES if state.indexes else ()).state, known.rows)
        case _:
            return Known(with_column(tables, state, table), known.rows)


def with_column(tables: Tables, state: TableState, table: Table) -> TableState:
    field = pa.field(f"extra{len(table.schema)}", pa.int64())
    if len(table.schema) % 2:
        return add_nullable_columns(tables, state, [field]).state
    twice = add_computed_columns(tables, state, [field], lambda batch: pa.record_batch([batch["n"]], names=[field.name]), ["n"])
    return twice.state


def check(table: Table, model: Model) -> None:
    """Scan and key lookup say what the model says."""
    found = table.read(["id", "n"])
    assert dict(zip(found["id"].to_pylist(), found["n"].to_pylist(), strict=True)) == model
    some = sorted(model)[:3]
    assert sorted(table.lookup([*some, "nobody"], ["id"])["id"].to_pylist()) == some


def answers(table: Table) -> tuple[list[str], list[float]]:
    """What Lance's own searches find."""
    words = table.dataset.scanner(
        columns=["id", "_score"], full_text_query=MatchQuery("word3", "text"), prefilter=True
    ).to_table()
    near = {"column": "vec", "q": [0.0, 1.0, 0.0, 0.0], "k": 5, "metric": "l2"}
    distances = table.dataset.scanner(columns=["_distance"], nearest=near, prefilter=True).to_table()
    return sorted(words["id"].to_pylist()), distances["_distance"].to_pylist()


def place_at(folder: Path) -> Place:
    return Place.at(str(folder / "graph"), durability=Durability.OS)


def grow(place: Place, rng: random.Random, steps: int) -> list[Known]:
    """A tree of versions."""
    tables = Tables(place)
    known = [Known(tables.create("node:5-7", LOCATION, SCHEMA), {})]
    for _ in range(steps):
        known.append(step(tables, rng.choice(known[-4:]), rng))
    return known


@pytest.mark.parametrize("seed", range(12))
def test_a_version_needs_the_files_listed_and_no_others(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    place = place_at(tmp_path)
    known = grow(place, rng, 30)
    kept = rng.sample(known, 4)
    tables = Tables(place)
    before = [answers(tables.open(one.state)) for one in kept]
    needed = {path for one in kept for path in files_of(tables.open(one.state))}
    stored = {o.path for o in place.objects("nodes")}
    assert needed <= stored
    for path in stored - needed:
        Path(place.child(path)).unlink()
    tables = Tables(place)
    assert [answers(tables.open(one.state)) for one in kept] == before
    for one in kept:
        table = tables.open(one.state)
        check(table, one.rows)
        fresh = {f"after-{seed}": 3}
        after = tables.apply(one.state, Append(table.write(rows(fresh, table.schema)))).state
        after = extend_indexes(tables, after, INDEXES).state
        after = tables.apply(after, Delete(tuple(sorted(one.rows)[:2]))).state
        left = {**{k: n for k, n in one.rows.items() if k not in sorted(one.rows)[:2]}, **fresh}
        check(tables.open(after), left)
        packed = tables.open(compact(tables, after, INDEXES).state)
        check(packed, left)
        assert sorted(answers(packed)[0]) == sorted(k for k, n in left.items() if n % 5 == 3)


@pytest.mark.parametrize("seed", range(4))
def test_every_file_listed_is_needed(tmp_path: Path, seed: int) -> None:
    """Not one too many: a listing that is simply everything would also pass the test above."""
    place = place_at(tmp_path)
    known = grow(place, random.Random(seed), 30)
    last = Tables(place).open(known[-1].state)
    data = {f"{LOCATION}/data/{file.path}" for f in last.dataset.get_fragments() for file in f.metadata.files}
    listed = files_of(last)
    assert {f for f in listed if "/data/" in f} == data
    assert len({f for f in listed if "/_versions/" in f}) == 1
    assert {f.split("/")[3] for f in listed if "/_indices/" in f} == {i["uuid"] for i in last.dataset.list_indices()}
    assert len([f for f in listed if "/_deletions/" in f]) == sum(
        f.metadata.num_deletions > 0 for f in last.dataset.get_fragments()
    )


def test_sizes_recorded_in_a_version_are_those_on_disk(tmp_path: Path) -> None:
    place = place_at(tmp_path)
    tables = Tables(place)
    state = tables.create("node:5-7", LOCATION, SCHEMA)
    state = tables.apply(state, Append(tables.open(state).write(rows({f"k{n}": n for n in range(300)})))).state
    needs = needs_of(tables.open(extend_indexes(tables, state, INDEXES).state))
    stored = {o.path: o.size for o in place.objects("nodes")}
    assert all(size == stored[path] for path, size in needs.files.items() if size is not None)
    indexes = {folder: size for folder, size in needs.folders.items() if size is not None}
    assert len(indexes) == 3
    for folder, size in indexes.items():
        assert sum(s for path, s in stored.items() if folder_of(path) == folder) == size


def test_large_blobs_belong_to_their_data_file(tmp_path: Path) -> None:
    place = place_at(tmp_path)
    tables = Tables(place)
    blob = pa.field("file", pa.large_binary(), metadata={b"lance-encoding:blob": b"true"})
    schema = pa.schema([pa.field("id", pa.string(), nullable=False), blob])
    state = tables.create("node:5-7", LOCATION, schema)
    data = pa.table({"id": ["a", "b"], "file": [b"a" * 70_000, b"b" * 70_000]}, schema=schema)
    first = tables.apply(state, Append(tables.open(state).write(data.slice(0, 1)))).state
    second = tables.apply(first, Append(tables.open(first).write(data.slice(1, 1)))).state
    listed = files_of(tables.open(second))
    assert sum(f.endswith(".blob") for f in listed) == 2
    for path in {o.path for o in place.objects("nodes")} - files_of(tables.open(first)):
        Path(place.child(path)).unlink()
    (found,) = Tables(place).open(first).dataset.take_blobs("file", indices=[0])
    assert found is not None
    assert found.readall() == b"a" * 70_000


def test_names_of_versions_and_folders() -> None:
    assert version_file(1) == "_versions/18446744073709551614.manifest"
    assert version_file(2**63 + 5) == f"_versions/d{2**63 + 5}.manifest"
    assert attached_version("18446744073709551614.manifest") == 1
    assert attached_version("d9223372036854775813.manifest") is None
    assert attached_version("latest_version_hint.json") is None
    assert folder_of("nodes/5-7/_indices/9d/part_0/x.lance") == "nodes/5-7/_indices/9d/"
    assert folder_of("nodes/5-7/data/01.lance") is None


def test_a_dataset_with_its_listed_files_only_keeps_its_young_versions(tmp_path: Path) -> None:
    """What pruning a branch manifest rests on: `tracked_files` of the versions from a number on."""
    place = place_at(tmp_path)
    for n in range(6):
        table = pa.table({"n": [n]})
        lance.write_dataset(table, place.child("__manifest/01"), mode="append" if n % 3 else "overwrite")
    needed = manifest_files(place, "__manifest/01", 5, Session())
    for path in {o.path for o in place.objects("__manifest")} - needed:
        Path(place.child(path)).unlink()
    assert lance.dataset(place.child("__manifest/01")).to_table()["n"].to_pylist() == [3, 4, 5]
    assert lance.dataset(place.child("__manifest/01"), version=5).to_table()["n"].to_pylist() == [3, 4]
    assert lance.write_dataset(pa.table({"n": [6]}), place.child("__manifest/01"), mode="append").count_rows() == 4
