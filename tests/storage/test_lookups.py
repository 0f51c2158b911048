"""Lookups without opening the newest version: the rows that are there at a pin, whichever versions are open and whoever wrote them."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pytest

from omnigraph.storage.files.place import Durability, Place
from omnigraph.storage.rewriting.columns import add_nullable_columns
from omnigraph.storage.rewriting.indexes import IndexKind, IndexSpec, extend_indexes
from omnigraph.storage.rewriting.rewrites import compact
from omnigraph.storage.tables.changes import Append, Delete, TableState, Upsert
from omnigraph.storage.tables.lookups import rows_where_seen, rows_with
from omnigraph.storage.tables.small_changes import apply_small
from omnigraph.storage.tables.table import Tables

SCHEMA = pa.schema([pa.field("id", pa.string(), nullable=False), pa.field("src", pa.string()), pa.field("n", pa.int64())])
INDEXES = [IndexSpec("by_id", "id", IndexKind.BTREE), IndexSpec("by_src", "src", IndexKind.BTREE)]
Image = tuple[str | None, int]
Model = dict[str, Image]


def rows(model: Model) -> pa.Table:
    sources, numbers = [image[0] for image in model.values()], [image[1] for image in model.values()]
    return pa.table({"id": list(model), "src": sources, "n": numbers}, schema=SCHEMA)


def image(rng: random.Random) -> Image:
    return rng.choice(["a", "b", "c", "d", None]), rng.randrange(1_000)


def begin(tables: Tables, model: Model) -> TableState:
    state = tables.create("edge:5-7", "edges/5-7", SCHEMA)
    state = tables.apply(state, Append(tables.open(state).store(rows(model)))).state
    return extend_indexes(tables, state, INDEXES).state


def as_asked(tables: Tables, state: TableState, column: str, values: list[str]) -> Model:
    addresses, found = rows_with(tables, state, column, values)
    assert len(set(addresses.tolist())) == found.num_rows
    assert found.schema.equals(SCHEMA)
    places = zip(found["id"].to_pylist(), addresses.tolist(), strict=True)
    opened = tables.versions.read(state.location, state.pin).entries
    assert all(address >> 32 in opened for _, address in places)
    images = zip(found["src"].to_pylist(), found["n"].to_pylist(), strict=True)
    return dict(zip(found["id"].to_pylist(), images, strict=True))


def expected(model: Model, column: str, values: list[str]) -> Model:
    return {id_: image for id_, image in model.items() if (id_ if column == "id" else image[0]) in values}


@pytest.mark.parametrize("seed", range(12))
def test_a_lookup_finds_what_a_pin_holds_in_every_history(tmp_path: Path, seed: int) -> None:
    """Two processes take turns; either looks at any pin there ever was, also back and forth, with what it happens to have open."""
    rng = random.Random(seed)
    ours, theirs = (Tables(Place.at(str(tmp_path / "graph"), durability=Durability.OS)) for _ in range(2))
    model: Model = {f"old{n}": image(rng) for n in range(60)}
    state = begin(ours, model)
    history: list[tuple[TableState, Model]] = [(state, dict(model))]
    for step in range(40):
        tables = rng.choice([ours, ours, theirs])
        if rng.random() < 0.15:  # a revert: what was deleted is there again
            state, model = history[rng.randrange(len(history))]
            model = dict(model)
        kind = rng.choice(["append", "append", "upsert", "delete", "index", "fold"])
        some = rng.sample(sorted(model), min(len(model), rng.randrange(1, 4)))
        match kind:
            case "append":
                new = {f"new{step}.{n}": image(rng) for n in range(rng.choice([1, 1, 3, 300]))}
                state = apply_small(tables, state, Append(tables.writer(state).store(rows(new)))).state
                model |= new
            case "upsert":
                new = {id_: image(rng) for id_ in some}
                state = apply_small(tables, state, Upsert(tables.writer(state).store(rows(new)), tuple(new))).state
                model |= new
            case "delete":
                state = apply_small(tables, state, Delete(tuple(some))).state
                model = {id_: image for id_, image in model.items() if id_ not in some}
            case "index":
                state = extend_indexes(tables, state, INDEXES).state
            case "fold":
                state = compact(tables, state, INDEXES, target_rows=rng.choice([10, 1_000])).state
        history.append((state, dict(model)))
        for looker in (ours, theirs, Tables(ours.place)):
            pin, then = history[-1] if rng.random() < 0.7 else history[rng.randrange(len(history))]
            values = rng.sample(["a", "b", "c", "d", "nobody"], rng.randrange(1, 3))
            assert as_asked(looker, pin, "src", values) == expected(then, "src", values)
            ids = [*rng.sample(sorted(then), min(3, len(then))), "nobody", f"new{step}.0"]
            assert as_asked(looker, pin, "id", ids) == expected(then, "id", ids)


def test_the_newest_version_is_not_opened_for_it(tmp_path: Path) -> None:
    tables = Tables(Place.at(str(tmp_path / "graph"), durability=Durability.OS))
    state = begin(tables, {f"old{n}": ("a", n) for n in range(50)})
    tables.open(state)
    for n in range(20):
        state = apply_small(tables, state, Append(tables.writer(state).store(rows({f"new{n}": ("b", n)})))).state
    state = apply_small(tables, state, Delete(("old7", "new7"))).state
    before = tables.opened + tables.moved
    seen, stood = rows_where_seen(tables, state, "src", ["b"])
    assert {row["id"] for row in seen} == {f"new{n}" for n in range(20)} - {"new7"}
    assert {place.id for place in stood} == {row["id"] for row in seen}
    seen, stood = rows_where_seen(tables, state, "id", ["old7"])
    assert (seen, stood) == ([], ())
    assert tables.opened + tables.moved == before


def test_a_column_that_came_later_is_not_looked_for_in_older_rows(tmp_path: Path) -> None:
    tables = Tables(Place.at(str(tmp_path / "graph"), durability=Durability.OS))
    state = begin(tables, {"old": ("a", 1)})
    state = apply_small(tables, state, Append(tables.writer(state).store(rows({"new": ("a", 2)})))).state
    later = add_nullable_columns(tables, state, [pa.field("more", pa.string())]).state
    _, found = rows_with(tables, later, "src", ["a"])
    assert sorted(found["id"].to_pylist()) == ["new", "old"]
    assert found["more"].to_pylist() == [None, None]
    assert rows_with(tables, later, "more", ["a"])[1].num_rows == 0
