"""Whatever rewrites, moves or copies entities keeps every value of every property type."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from tests.engine.every_type import (
    LARGE,
    PACKED,
    SMALL,
    TYPES,
    data,
    everything,
    graph_of_every_type,
    one_by_one,
    schema_of,
)
from tests.engine.graphs import add, delete
from tests.engine.history.graphs import calm, contents

import omnigraph as og
from omnigraph.engine.history import merge
from omnigraph.engine.write.receipt import Receipt
from omnigraph.storage.rewriting.rewrites import FOLD_FRAGMENTS

FEW = range(6)
MANY = range(FOLD_FRAGMENTS + 3)

STAYING = ("id", "src", "dst", "k")
"""Columns that are no property of `PLAIN`."""

Contents = dict[tuple[str, str], dict[str, Any]]


def expected(numbers: range, folder: Path) -> Contents:
    """What a graph holds whose entities were written once, together."""
    return everything(graph_of_every_type(folder / "once", numbers))


def fragments(graph: og.Graph) -> list[int]:
    return [state.fragments for state in graph._store.snapshot().tables.values()]


def test_a_fold_keeps_every_value(tmp_path: Path) -> None:
    graph = graph_of_every_type(tmp_path, range(0))
    for _ in one_by_one(graph, MANY):
        pass
    assert max(fragments(graph)) < len(MANY), "small commits were folded"
    assert everything(graph) == expected(MANY, tmp_path)
    assert graph.verify().ok


def test_a_fold_by_another_process_keeps_every_value(tmp_path: Path) -> None:
    """Nothing of what is folded is still in memory."""
    graph = graph_of_every_type(tmp_path, range(0))
    for _ in one_by_one(graph, range(FOLD_FRAGMENTS + 1)):
        pass
    graph = og.open(graph._store.place.uri)
    calm(graph)
    for _ in one_by_one(graph, range(FOLD_FRAGMENTS + 1, len(MANY))):
        pass
    assert max(fragments(graph)) < len(MANY)
    assert everything(graph) == expected(MANY, tmp_path)


def test_a_fold_of_rows_with_deletions_keeps_every_value(tmp_path: Path) -> None:
    graph = graph_of_every_type(tmp_path, FEW)
    for n in one_by_one(graph, MANY[len(FEW) :]):
        if n == 20:
            graph.mutate('query m() { update Whole set { p2: 77 } where k >= "w00000" }')
            graph.mutate('query m() { update Plain set { p2: 77 } where k >= "p00000" }')
    wanted = expected(MANY, tmp_path)
    for (type_, id_), row in wanted.items():
        if type_ != "Link" and int(id_[1:]) <= 20:
            row["p2"] = 77
    assert everything(graph) == wanted


def test_groups_of_writers_keep_every_value(tmp_path: Path) -> None:
    graph = graph_of_every_type(tmp_path, range(0))
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: add(graph, data(range(n, n + 1))), MANY))
    assert everything(graph) == expected(MANY, tmp_path)


@pytest.mark.parametrize("deleted", [False, True])
def test_compaction_keeps_every_value(tmp_path: Path, deleted: bool) -> None:
    graph = graph_of_every_type(tmp_path, FEW)
    for _ in one_by_one(graph, range(6, 12)):
        pass
    wanted = expected(range(12), tmp_path)
    if deleted:
        delete(graph, "Link", ["l00001", "l00007"])
        delete(graph, "Whole", ["w00001", "w00007"])
        wanted = {
            k: v
            for k, v in wanted.items()
            if k not in {("Link", "l00001"), ("Link", "l00007"), ("Whole", "w00001"), ("Whole", "w00007")}
        }
    graph.optimize()
    assert max(fragments(graph)) == 1
    assert everything(graph) == wanted


# ── columns ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _then_fold(graph: og.Graph, write: Callable[[int], object]) -> None:
    for number in range(FOLD_FRAGMENTS + 2):
        write(number)


@pytest.mark.parametrize("type_", [*TYPES, "Blob"])
def test_a_column_that_comes_goes_and_comes_again_starts_empty(tmp_path: Path, type_: str) -> None:
    """Values of a property that was dropped stay away, whoever rewrites the entities, and however recently they were written."""
    base, with_p = "node A { k: String @key }", f"node A {{ k: String @key  p: {type_}? }}"
    value = LARGE if type_ == "Blob" else TYPES[type_][-1]
    graph = og.init(tmp_path / "g", base, durability="os")
    calm(graph)
    add(graph, {"A": [{"k": "first"}]})
    graph.apply_schema(with_p)
    add(graph, {"A": [{"k": "valued", "p": value}, {"k": "null"}]})
    assert _column(graph) == {"first": None, "valued": value, "null": None}
    graph.apply_schema(base)
    graph.apply_schema(with_p)
    assert set(_column(graph).values()) == {None}
    add(graph, {"A": [{"k": "again", "p": value}]})
    _then_fold(graph, lambda n: add(graph, {"A": [{"k": f"k{n}"}]}))
    wanted = {"first": None, "valued": None, "null": None, "again": value}
    assert {k: v for k, v in _column(graph).items() if k in wanted} == wanted
    graph.optimize()
    assert {k: v for k, v in _column(graph).items() if k in wanted} == wanted


def _column(graph: og.Graph) -> dict[str, Any]:
    with og.open(graph._store.place.uri, read_only=True) as other:
        return {row["k"]: row["p"] for row in contents(other).values()}


def test_renaming_keeps_every_value(tmp_path: Path) -> None:
    graph = graph_of_every_type(tmp_path, FEW)
    wanted = everything(graph)
    graph.apply_schema(schema_of(lambda name, type_: f'new_{name}: {type_} @rename_from("{name}")'))
    wanted = {key: {f"new_{n}" if n not in STAYING else n: v for n, v in row.items()} for key, row in wanted.items()}
    assert everything(graph) == wanted
    graph.optimize()
    assert everything(graph) == wanted


@pytest.mark.parametrize("hard", [False, True])
def test_dropping_some_keeps_the_others(tmp_path: Path, hard: bool) -> None:
    graph = graph_of_every_type(tmp_path, FEW)
    before = everything(graph)
    text = schema_of(lambda name, type_: f"{name}: {type_}" if name.startswith("req_") else "")
    graph.apply_schema(text, allow_data_loss=hard)
    wanted = {key: {n: v for n, v in row.items() if n in STAYING or n.startswith("req_")} for key, row in before.items()}
    assert everything(graph) == wanted
    graph.optimize()
    assert everything(graph) == wanted


@pytest.mark.parametrize("type_", TYPES)
def test_backfills_keep_what_is_there(tmp_path: Path, type_: str) -> None:
    optional, required = (f"node A {{ k: String @key  p: {type_}{mark}  b: Blob? }}" for mark in ("?", ""))
    value = TYPES[type_][0]
    graph = og.init(tmp_path / "g", optional, durability="os")
    calm(graph)
    blobs = cycle((LARGE, PACKED, SMALL))
    add(graph, {"A": [{"k": str(n), "p": v, "b": b} for n, (v, b) in enumerate(zip(TYPES[type_], blobs, strict=False))]})
    add(graph, {"A": [{"k": "none"}]})
    wanted = {key: dict(row) for key, row in everything(graph).items()}
    given = value if not hasattr(value, "isoformat") else value.isoformat().replace("+00:00", "Z")
    if isinstance(value, list) and value and hasattr(value[0], "isoformat"):
        given = [v.isoformat().replace("+00:00", "Z") for v in value]
    graph.apply_schema(required, backfill={"A.p": given})
    found = everything(graph)
    wanted["A", "none"]["p"] = found["A", "none"]["p"]
    assert found["A", "none"]["p"] is not None
    assert found == wanted


# ── history ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("diverged", [False, True])
def test_merges_keep_every_value(tmp_path: Path, diverged: bool) -> None:
    graph = graph_of_every_type(tmp_path, FEW)
    graph.branches.create("work")
    add(graph, data(range(6, 12)), "work")
    graph.mutate('query m() { update Whole set { p2: 77 } where k = "w00004" }', branch="work")
    if diverged:
        graph.mutate('query m() { update Whole set { p5: 78 } where k = "w00004" }')
        graph.mutate('query m() { update Plain set { p5: 78 } where k = "p00001" }')
    graph.merge("work")
    wanted = expected(range(12), tmp_path)
    wanted["Whole", "w00004"]["p2"] = 77
    if diverged:
        wanted["Whole", "w00004"]["p5"] = wanted["Plain", "p00001"]["p5"] = 78
    assert everything(graph) == wanted


def test_grafts_keep_every_value(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merge, "GRAFTED_ROWS", 2)
    graph = graph_of_every_type(tmp_path, FEW)
    graph.branches.create("work")
    add(graph, data(range(6, 12)), "work")
    graph.mutate('query m() { update Plain set { p5: 78 } where k = "p00001" }')
    graph.merge("work")
    wanted = expected(range(12), tmp_path)
    wanted["Plain", "p00001"]["p5"] = 78
    assert everything(graph) == wanted
    for _ in one_by_one(graph, range(12, 12 + FOLD_FRAGMENTS)):
        pass
    found = everything(graph)
    assert {key: found[key] for key in wanted} == wanted


def test_reverts_bring_every_value_back(tmp_path: Path) -> None:
    graph = graph_of_every_type(tmp_path, FEW)
    wanted = everything(graph)
    gone = graph.mutate('query m() { delete Whole where k = "w00004" }')
    changed = graph.mutate('query m() { update Plain set { p2: 77 } where k >= "p00000" }')
    add(graph, data(range(6, 8)))
    graph.revert(_commit(changed))
    graph.revert(_commit(gone))
    found = everything(graph)
    assert {key: found[key] for key in wanted} == wanted
    assert len(found) == len(wanted) + 6


def _commit(receipt: Receipt) -> str:
    assert receipt.commit is not None
    return receipt.commit.id


@pytest.mark.parametrize(
    ("type_", "given", "id_", "other", "spelt"),
    [
        ("Date", "2024-05-01", "19844", "19845", "2024-05-02"),
        ("DateTime", "2024-05-01T10:00:00Z", "1714557600000", "1714557601000", "2024-05-01T10:00:01.000Z"),
    ],
)
def test_an_end_that_is_not_there_is_told_its_id_or_its_date(
    tmp_path: Path, type_: str, given: str, id_: str, other: str, spelt: str
) -> None:
    graph = og.init(tmp_path / "g", schema=f"node D {{ k: {type_} @key }}\nedge E: D -> D")
    graph.load([{"type": "D", "data": {"k": given}}])
    with pytest.raises(og.ValidationError, match=rf"source `{given}` not found in D, whose ids are .* is `{id_}`\n"):
        graph.mutate(f'query q() {{ insert E {{ from: "{given}", to: "{id_}" }} }}')
    for end in (other, spelt):
        with pytest.raises(
            og.ValidationError, match=rf"source `{other}` not found in D, whose ids are .*: this one is {spelt}\n"
        ):
            graph.load([{"edge": "E", "from": end, "to": id_}])
    with pytest.raises(og.ValidationError, match="source `nothing` not found in D\n"):
        graph.load([{"edge": "E", "from": "nothing", "to": id_}])
    graph.load([{"edge": "E", "from": id_, "to": id_}])


def test_ids_of_composite_keys_are_in_the_order_of_the_first_names(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "g", schema="node N { z: String  m: Date  a: I32  @key(m, z, a) }")
    graph.load([{"type": "N", "data": {"z": "x", "m": "2024-05-01", "a": 7}}])
    ask = "query q() { match { $n: N } return { $n } }"
    assert graph.query(ask).rows == [{"n": '["7","19844","x"]'}]
    graph.apply_schema('node N { z: String  m: Date  zz: I32 @rename_from("a")  @key(m, z, zz) }')
    assert graph.query(ask).rows == [{"n": '["7","19844","x"]'}]
