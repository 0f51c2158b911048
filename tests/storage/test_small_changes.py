"""Small changes, alone and in groups: one file, and a version for each writer that is as good as one of Lance's own."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import lance
import pyarrow as pa
import pytest
from tests.storage import graphs
from tests.storage.graphs import new_graph

from omnigraph.storage.files.checksums import checksum_of
from omnigraph.storage.files.dataset_folders import DATA, DELETIONS
from omnigraph.storage.files.place import Durability, Place
from omnigraph.storage.lance_format import made_versions
from omnigraph.storage.lance_format.deletions import read_deletions
from omnigraph.storage.lance_format.file_names import deletion_file, version_file
from omnigraph.storage.lance_format.made_versions import Unfamiliar, Version
from omnigraph.storage.lance_format.protobuf import fields
from omnigraph.storage.rewriting.indexes import IndexKind, IndexSpec, extend_indexes
from omnigraph.storage.rewriting.rewrites import compact
from omnigraph.storage.tables.changes import NO_ROWS, Append, Change, Delete, Overwrite, RowPlace, TableState, Upsert
from omnigraph.storage.tables.differences import fragments_apart, read_parts, unlike
from omnigraph.storage.tables.needed_files import files_of
from omnigraph.storage.tables.recent_rows import KEPT_ROWS
from omnigraph.storage.tables.rows import fragments
from omnigraph.storage.tables.small_changes import Together, addresses_of, apply_each, apply_small, write_together
from omnigraph.storage.tables.table import Table, Tables

SCHEMA = pa.schema([pa.field("id", pa.string(), nullable=False), pa.field("n", pa.int64())])
BY_ID = IndexSpec("by_id", "id", IndexKind.BTREE)
Model = dict[str, int]


def rows(model: Model) -> pa.Table:
    return pa.table({"id": list(model), "n": list(model.values())}, schema=SCHEMA)


def content(table: Table) -> Model:
    found = table.read()
    return dict(zip(found["id"].to_pylist(), found["n"].to_pylist(), strict=True))


@pytest.fixture
def tables(tmp_path: Path) -> Tables:
    return Tables(Place.at(str(tmp_path / "graph"), durability=Durability.OS))


def begin(tables: Tables, model: Model) -> TableState:
    """A table with an index over half of its rows, and a deleted one."""
    state = tables.create("node:5-7", "nodes/5-7", SCHEMA)
    state = tables.apply(state, Append(tables.open(state).write(rows({"gone": 0, **model})))).state
    state = extend_indexes(tables, state, [BY_ID]).state
    return tables.apply(state, Delete(("gone",))).state


def group(rng: random.Random, sizes: list[int]) -> list[Model]:
    fresh = iter(range(10_000))
    return [{f"new{next(fresh)}": rng.randrange(1_000) for _ in range(size)} for size in sizes]


def appended(tables: Tables, state: TableState, models: list[Model]) -> tuple[Together, list[TableState]]:
    table = tables.open(state)
    together = write_together(tables, state, [table.write(rows(model)) for model in models])
    return together, [applied.state for applied in apply_each(tables, state, together, [()] * len(models))]


@pytest.mark.parametrize("seed", range(10))
def test_each_version_holds_what_appending_one_after_the_other_gives(tables: Tables, seed: int) -> None:
    rng = random.Random(seed)
    old = {f"old{n}": n for n in range(5)}
    base = begin(tables, old)
    models = group(rng, [rng.choice([1, 1, 2, 7, KEPT_ROWS + 1]) for _ in range(rng.randrange(2, 9))])
    _, states = appended(tables, base, models)
    model, before = dict(old), base
    for added, state in zip(models, states, strict=True):
        model |= added
        table = Tables(tables.place).open(state)  # as another process would
        assert content(table) == model
        assert state.rows == table.count() == len(model)
        assert state.fragments == len(table.fragment_ids())
        assert state.indexes == table.indexes()
        assert sorted(table.lookup([*added, "gone"], ["id"])["id"].to_pylist()) == sorted(added)
        difference = unlike(tables.open(before), table)
        assert read_parts(table, difference.came)["id"].to_pylist() == list(added)
        assert difference.gone == ()
        before = state


@pytest.mark.parametrize("seed", range(4))
def test_a_version_in_the_middle_can_be_written_on(tables: Tables, seed: int) -> None:
    rng = random.Random(seed)
    base = begin(tables, {"old": 1})
    models = group(rng, [1, 3, 1, 2])
    _, states = appended(tables, base, models)
    at = rng.randrange(3)
    state, model = states[at], {"old": 1} | {k: n for added in models[: at + 1] for k, n in added.items()}
    hidden = next(iter(models[-1]))
    state = tables.apply(state, Append(tables.open(state).write(rows({hidden: -1})))).state  # new here, whatever came elsewhere
    model[hidden] = -1
    for change in (Upsert(tables.open(state).write(rows({hidden: -2, "old": 2})), (hidden, "old")), Delete((min(models[0]),))):
        state = tables.apply(state, change).state
    model |= {hidden: -2, "old": 2}
    del model[min(models[0])]
    assert content(Tables(tables.place).open(state)) == model
    for further in (extend_indexes(tables, state, [BY_ID]), compact(tables, state, [BY_ID])):
        again = Tables(tables.place).open(further.state)
        assert content(again) == model
        assert again.lookup([hidden], ["n"])["n"].to_pylist() == [-2]
    assert content(tables.open(states[-1])).keys() == {"old", *(k for added in models for k in added)}


def test_a_group_of_small_writes_shares_one_data_file(tables: Tables) -> None:
    base = begin(tables, {"old": 1})
    known = {o.path for o in tables.place.objects(f"nodes/5-7/{DATA}")}
    together, states = appended(tables, base, group(random.Random(0), [1] * 16))
    assert {o.path for o in tables.place.objects(f"nodes/5-7/{DATA}")} - known == set(together.shared.unsynced)
    assert [state.fragments for state in states] == [base.fragments + 1] * 16


def test_a_version_needs_its_marks_and_no_file_of_those_after_it(tables: Tables) -> None:
    base = begin(tables, {"old": 1})
    _, states = appended(tables, base, group(random.Random(0), [2, 1, 1]))
    needs = [files_of(tables.open(state)) for state in states]
    marks = [{path for path in files if f"/{DELETIONS}/" in path} for files in needs]
    old = marks[-1]
    assert [len(found - old) for found in marks] == [1, 1, 0]
    assert marks[0] & marks[1] == old


def test_marks_are_read_as_lance_reads_them(tables: Tables) -> None:
    """The layout of a bitmap and of a version is not documented as an interface: this Lance reads what is written here."""
    base = begin(tables, {"old": 1})
    _, states = appended(tables, base, group(random.Random(0), [2, 3, 200]))
    for state, marked in zip(states, (203, 200), strict=False):
        dataset = lance.dataset(tables.place.child(state.location), version=state.pin)
        (fragment,) = (f for f in dataset.get_fragments() if f.metadata.physical_rows == 205)
        assert fragment.metadata.num_deletions == marked
        assert fragment.count_rows() == 205 - marked
        file = f"{state.location}/{deletion_file(fragment.metadata)}"
        assert read_deletions(tables.place, file, marked).tolist() == list(range(205 - marked, 205))
        dataset.validate()  # type: ignore[no-untyped-call]


@pytest.mark.parametrize(("name", "value"), [("_UNDERSTOOD", frozenset[int]()), ("_FORMAT", (0, 3, b"LANC"))])
def test_versions_that_are_not_understood_are_made_by_lance(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: object
) -> None:
    """Every commit of every thread is there, each with its own state, without a version of ours."""
    store = new_graph(tmp_path)
    monkeypatch.setattr(made_versions, name, value)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: graphs.insert(store, **{f"k{n}": n}), range(12)))
    assert graphs.content(store) == {f"k{n}": n for n in range(12)}
    sizes = [len(graphs.content(store, at=commit.id)) for commit in reversed(store.commits())]
    assert sizes == list(range(13))


def test_versions_are_taken_apart_as_long_as_they_are_understood(tables: Tables) -> None:
    state = begin(tables, {"a": 1})
    version = tables.place.get(f"{state.location}/{version_file(state.pin)}")
    foreign = version[:-8] + b"\1\0\2\0" + version[-4:]
    with pytest.raises(Unfamiliar, match="another format"):
        Version.read(state.pin, foreign)


# ── changes of every kind ────────────────────────────────────────────────────────────────────────────────────────────────────


def drawn(rng: random.Random, model: Model, count: int) -> list[Change | Model]:
    """Changes that touch different rows: models to add, and upserts and deletes by ids."""
    free = sorted(model)
    rng.shuffle(free)
    found: list[Change | Model] = []
    for number in range(count):
        kind = rng.choice(["append", "append", "upsert", "delete", "nothing"])
        some = [free.pop() for _ in range(min(rng.randrange(1, 4), len(free)))]
        if kind == "append":
            found.append({f"new{number}.{n}": rng.randrange(100) for n in range(rng.choice([1, 2, 5]))})
        elif kind == "nothing":
            found.append(Delete((f"nobody{number}",)))
        elif kind == "delete":
            found.append(Delete(tuple(some)))
        else:
            found.append(Upsert(NO_ROWS, (*some, f"put{number}")))
    return found


def prepared(tables: Tables, state: TableState, change: Change | Model, number: int) -> tuple[Change, Model, tuple[str, ...]]:
    """A change, what it adds, and what it takes away."""
    table = tables.open(state)
    if isinstance(change, dict):
        return Append(table.write(rows(change))), change, ()
    if isinstance(change, Delete):
        return change, {}, tuple(change.ids)
    assert isinstance(change, Upsert)
    images = dict.fromkeys(change.ids, -number)
    return Upsert(table.write(rows(images)), change.ids), images, tuple(change.ids)


@pytest.mark.parametrize("seed", range(24))
def test_a_group_of_every_kind_of_change_gives_what_lance_gives_one_after_the_other(tables: Tables, seed: int) -> None:
    rng = random.Random(seed)
    model = {f"old{n}": n for n in range(rng.choice([3, 12, 40]))}
    base = begin(tables, model)
    for number in range(rng.randrange(4)):  # some small fragments, which deletes may empty
        base = tables.apply(base, Append(tables.open(base).write(rows({f"late{number}": number})))).state
        model[f"late{number}"] = number
    if rng.random() < 0.5:
        base = extend_indexes(tables, base, [BY_ID]).state
    changes = [prepared(tables, base, change, n) for n, change in enumerate(drawn(rng, model, rng.randrange(1, 9)))]
    together = write_together(tables, base, [NO_ROWS if isinstance(c, Delete | Overwrite) else c.written for c, _, _ in changes])
    gone = addresses_of(tables, base, [c for c, _, _ in changes])
    found = apply_each(tables, base, together, gone)
    before, by_lance = base, base
    for (change, came, went), applied in zip(changes, found, strict=True):
        removed = len(model.keys() & set(went))
        model = {id_: n for id_, n in model.items() if id_ not in went} | came
        table = Tables(tables.place).open(applied.state)  # as another process would
        assert content(table) == model
        assert (applied.added, applied.removed) == (len(came), removed)
        assert applied.state.rows == table.count() == len(model)
        assert applied.state.fragments == len(table.fragment_ids())
        assert applied.state.indexes == table.indexes()
        assert sorted(table.lookup([*came, *went, "gone"], ["id"])["id"].to_pylist()) == sorted(came)
        difference = unlike(tables.open(before), table)
        assert sorted(read_parts(table, difference.came)["id"].to_pylist()) == sorted(came)
        assert sum(part.rows for part in difference.gone) == removed
        expected = fragments_apart(tables.open(before), table)
        assert (applied.fragments_added, applied.fragments_removed) == expected
        table.dataset.validate()  # type: ignore[no-untyped-call]
        written = tables.apply(by_lance, change)
        by_lance = written.state
        assert content(tables.open(by_lance)) == model
        assert (written.added, written.removed) == (applied.added, applied.removed)
        for file in applied.stored:
            stored = tables.place.get(f"{base.location}/{file.path}")
            assert (file.size, file.digest) == checksum_of(stored)
        before = applied.state
    last = found[-1].state
    again = tables.apply(last, Upsert(tables.open(last).write(rows({"put on top": 1})), ("put on top", *sorted(model)[:1])))
    assert len(content(tables.open(again.state))) == len(model) + 1 - min(len(model), 1), "Lance writes on it"
    assert content(tables.open(compact(tables, last, [BY_ID]).state)) == model


def test_a_fragment_is_described_as_lance_describes_it(tables: Tables) -> None:
    base = begin(tables, {"a": 1})
    written = tables.open(base).store(rows({"b": 2, "c": 3}))
    theirs = tables.versions.read(base.location, tables.apply(base, Append(written)).state.pin)
    (applied,) = apply_each(tables, base, Together((written,), NO_ROWS), [()])
    ours = Version.read(applied.state.pin, tables.place.get(f"{base.location}/{version_file(applied.state.pin)}"))
    assert {n: sorted(fields(p.body)) for n, p in ours.entries.items()} == {
        n: sorted(fields(p.body)) for n, p in theirs.entries.items()
    }
    assert (ours.features, ours.last_fragment, ours.indexed) == (theirs.features, theirs.last_fragment, theirs.indexed)
    assert ours.columns == theirs.columns


def test_places_hold_wherever_the_row_still_stands(tables: Tables) -> None:
    """Of a row that was folded, marked or never there nothing is concluded: it is looked for."""
    base = begin(tables, {f"old{n}": n for n in range(40)})
    (fragment,) = fragments(tables.open(base))
    places = tuple(RowPlace(f"old{n}", fragment.number, fragment.files, n + 1) for n in range(3))
    opened = tables.opened
    (known,) = addresses_of(tables, base, [Delete(("old0", "old1", "old2"), places)])
    assert known == [1, 2, 3]
    assert tables.opened == opened, "nothing is opened for it"
    marked = apply_small(tables, base, Delete(("old1",), places)).state
    (after,) = addresses_of(tables, marked, [Delete(("old0", "old1", "old2"), places)])
    assert after == [1, 3]
    folded = compact(tables, marked, [BY_ID], target_rows=10).state
    (moved,) = addresses_of(tables, folded, [Delete(("old0", "old1"), places)])
    assert len(moved) == 1
    wrong = replace(places[0], files=("another.lance",))
    assert addresses_of(tables, base, [Delete(("old0",), (wrong,))]) == [[1]]
