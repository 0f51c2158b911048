"""What a reader does after a commit is proportional to that commit: adjacency, columns and ids are extended, not made anew."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lance import LanceDataset
from lance.dataset import LanceScanner

import omnigraph as og
from omnigraph.catalog.logical import HopDirection
from omnigraph.engine.snapshot import adjacency
from omnigraph.engine.snapshot import edges as edges_module
from omnigraph.engine.snapshot.pieces import Copied, compared, lost_rows, new_rows
from omnigraph.storage.tables.rows import Fragment

SCHEMA = """
node Person { name: String @key  age: I32? }
edge Knows: Person -> Person
"""
INSERT = "query q($n: String) { insert Person { name: $n, age: 1 } }"
KNOWS = "query q($n: String, $m: String) { insert Knows { from: $n, to: $m } }"
UPDATE = "query q($n: String, $v: I32) { update Person set { age: $v } where name = $n }"
DELETE = "query q($n: String) { delete Person where name = $n }"
FORGET = "query q($n: String) { delete Knows where from = $n }"
HOP = "query q($n: String) { match { $p: Person { name: $n } $p knows $q } return { $q.name as n } order { $q.name } }"
BACK = "query q($n: String) { match { $p: Person { name: $n } $q knows $p } return { $q.name as n } order { $q.name } }"
AGES = "query q() { match { $p: Person } return { count($p) as n, sum($p.age) as s } }"


def graph(folder: Path, people: int, **options: Any) -> og.Graph:
    made = og.init(folder, SCHEMA)
    names = [f"p{n:06d}" for n in range(people)]
    made.load(
        {
            "Person": pa.table({"name": names, "age": pa.array([0] * people, pa.int32())}),
            "Knows": pa.table({"from": names, "to": [*names[1:], names[0]]}),
        }
    )
    made.optimize()
    made._reconciler.start = lambda *_: None  # type: ignore[method-assign]
    return made


# ── pieces and adjacency by themselves ──────────────────────────────────────────────────────────────────────────────────────────


@given(st.integers(0, 1_000_000))
def test_a_pin_is_put_together_from_another_and_what_is_new(seed: int) -> None:
    rng = random.Random(seed)
    marks: dict[str, list[int]] = {}

    def fragment(number: int, written: int, gone: set[int]) -> Fragment:
        name = f"{number}-{sorted(gone)}" if gone else None
        if name is not None:
            marks[name] = sorted(gone)
        return Fragment(number, (f"f{number}",), name, written, written - len(gone))

    def rows(fragments: list[Fragment]) -> list[tuple[int, int]]:
        return [(f.number, o) for f in fragments for o in range(f.written) if f.deletions is None or o not in marks[f.deletions]]

    before, after = [], []
    for number in range(rng.randint(1, 6)):
        written = rng.randint(1, 8)
        gone = set(rng.sample(range(written), rng.randint(0, written - 1)))
        more = {o for o in range(written) if rng.random() < 0.2}
        there, here = rng.random() < 0.8, rng.random() < 0.8
        before += [fragment(number, written, gone)] if there else []
        after += [fragment(number, written, more if rng.random() < 0.2 else gone | more)] if here else []
    deleted = lambda f: np.array(marks[f.deletions] if f.deletions else [], np.int64)  # noqa: E731
    old, new = rows(before), rows(after)
    pieces = compared(after, before, deleted, deleted)
    built: list[tuple[int, int]] = []
    copied: set[int] = set()
    for piece in pieces:
        if isinstance(piece, Copied):
            places = range(piece.start, piece.start + piece.rows)
            chosen = list(places) if piece.kept is None else [places[k] for k in piece.kept.tolist()]
            copied.update(chosen)
            built += [old[place] for place in chosen]
        else:
            built += rows(list(piece))
    assert built == new
    assert lost_rows(pieces, len(old)).tolist() == [place for place in range(len(old)) if place not in copied]
    assert len(new_rows(pieces)) == len(new) - len(copied)


@given(st.integers(0, 1_000_000))
def test_adjacency_that_is_changed_is_the_one_that_is_built(seed: int) -> None:
    rng = np.random.default_rng(seed)
    nodes, count = int(rng.integers(1, 12)), int(rng.integers(0, 40))
    pairs = np.unique(adjacency.pairs_of(rng.integers(0, nodes, count).astype(np.int32), rng.integers(0, nodes, count)))
    later = np.unique(adjacency.pairs_of(rng.integers(0, nodes + 3, 12).astype(np.int32), rng.integers(0, nodes + 3, 12)))
    gone = pairs[rng.random(len(pairs)) < 0.3]
    come = np.setdiff1d(later, pairs)
    rng.shuffle(come)
    near, far = adjacency.ends_of(pairs)
    known = adjacency.build(near, far, int(near.max()) + 1 if len(near) else 0)
    found = known.changed(come, gone)
    wanted = np.union1d(np.setdiff1d(pairs, gone), come)
    near, far = adjacency.ends_of(wanted)
    built = adjacency.build(near, far, found.nodes)
    assert found.starts.tolist() == built.starts.tolist()
    assert found.neighbours.tolist() == built.neighbours.tolist()
    assert found.neighbours.dtype == np.int32


# ── answers ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("seed", range(4))
def test_answers_beside_writers_are_those_of_one_who_begins_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(edges_module, "_EXTENDED", 1)
    monkeypatch.setattr(edges_module, "_SMALL_SHARE", 0)
    rng = random.Random(seed)
    made, other = graph(tmp_path / "g", 30), og.open(tmp_path / "g")
    other._reconciler.start = lambda *_: None  # type: ignore[method-assign]
    names = [f"p{n:06d}" for n in range(30)]
    extended = 0
    for step in range(60):
        who, name, end = rng.choice((made, other)), rng.choice(names), rng.choice(names)
        match rng.choice(["insert", "edge", "edge", "edge", "forget", "update", "delete", "load", "optimize"]):
            case "insert":
                names.append(f"new {step}")
                who.mutate(INSERT, {"n": names[-1]})
            case "edge":
                who.mutate(KNOWS, {"n": name, "m": end})
            case "forget":
                who.mutate(FORGET, {"n": name})
            case "update":
                who.mutate(UPDATE, {"n": name, "v": step})
            case "delete" if len(names) > 10:
                names.remove(name)
                who.mutate(DELETE, {"n": name})
            case "load":
                who.load({"Knows": pa.table({"from": [name, end], "to": [end, name]})}, mode="append")
            case "optimize" if rng.random() < 0.3:
                who.optimize()
        fresh = og.open(tmp_path / "g", save_from=None)
        for text in (HOP, BACK):
            for asked in (name, rng.choice(names)):
                wanted = fresh.query(text, {"n": asked}).rows
                assert made.query(text, {"n": asked}).rows == wanted, (step, asked)
                assert other.query(text, {"n": asked}, traversal="csr").rows == wanted, (step, asked)
        assert made.query(AGES).rows == other.query(AGES).rows == fresh.query(AGES).rows
        extended += made._view().edges("Knows").extended
        both = made._view().edges("Knows")
        for way in HopDirection:
            ends = both.ends()
            known = both.adjacency(way)
            pairs = edges_module._directed(ends, way)
            near, far = adjacency.ends_of(np.unique(pairs))
            assert known.neighbours.tolist() == far.tolist()
            assert np.repeat(np.arange(known.nodes), known.degree).tolist() == near.tolist()
        fresh.close()
    assert extended


# ── what it costs ───────────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass
class Work:
    rows: int = 0
    versions: int = 0
    built: int = 0


@contextmanager
def counted(made: og.Graph, monkeypatch: pytest.MonkeyPatch) -> Iterator[Work]:
    work, to_table, checkout = Work(), LanceScanner.to_table, LanceDataset.checkout_version

    def scanned(self: LanceScanner) -> pa.Table:
        found = to_table(self)
        work.rows += found.num_rows
        return found

    def moved(self: LanceDataset, version: int) -> LanceDataset:
        work.versions += 1
        return checkout(self, version)

    with monkeypatch.context() as patched:
        patched.setattr(LanceScanner, "to_table", scanned)
        patched.setattr(LanceDataset, "checkout_version", moved)
        yield work
        work.built = made._view().edges("Knows").built


CHANGES: dict[str, tuple[str, dict[str, object]]] = {
    "insert": (INSERT, {"n": "new"}),
    "edge": (KNOWS, {"n": "p000100", "m": "p000007"}),
    "update": (UPDATE, {"n": "p000101", "v": 7}),
    "delete of an edge": (FORGET, {"n": "p000300"}),
    "delete with edges": (DELETE, {"n": "p000200"}),
}


@pytest.mark.parametrize("by", ["this process", "another one"])
def test_a_read_after_a_commit_reads_what_that_wrote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: str) -> None:
    made = graph(tmp_path / "g", 10_000)
    writer = made if by == "this process" else og.open(tmp_path / "g")
    writer._reconciler.start = lambda *_: None  # type: ignore[method-assign]
    for number in range(40):
        made.query(HOP, {"n": f"p{number:06d}"})
        made.query(BACK, {"n": f"p{number:06d}"})
    for name, (text, params) in CHANGES.items():
        writer.mutate(text, params)
        with counted(made, monkeypatch) as work:
            made.query(HOP, {"n": "p000100"})
            made.query(BACK, {"n": "p000007"})
        assert work.rows <= (0 if by == "this process" else 4), name
        assert work.versions <= (0 if by == "this process" else 1), name
        assert work.built == 0, f"{name}: adjacency is extended"


def test_a_node_is_deleted_with_its_edges_without_a_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = graph(tmp_path / "g", 10_000)
    for number in (50, 60, 70):
        made.mutate(DELETE, {"n": f"p{number:06d}"})
    made.mutate(KNOWS, {"n": "p000100", "m": "p000007"})
    searches: list[object] = []

    def searched(really: Callable[[LanceScanner], Any]) -> Callable[[LanceScanner], Any]:
        def search(scanner: LanceScanner) -> Any:
            searches.append(scanner)
            return really(scanner)

        return search

    for way in ("to_table", "to_batches"):
        monkeypatch.setattr(LanceScanner, way, searched(getattr(LanceScanner, way)))
    receipt = made.mutate(DELETE, {"n": "p000100"})
    assert (receipt.affected_nodes, receipt.affected_edges) == (1, 3)
    assert not searches
    monkeypatch.undo()
    fresh = og.open(tmp_path / "g", save_from=None)
    assert fresh.query("query q() { match { $a: Person $a knows $b } return { count($b) as n } }").rows == [{"n": 10_001 - 9}]
    assert fresh.verify(deep=True, content=True).ok
