"""What the engine keeps between queries: bounded, extended from what changed, saved beside the graph, never needed."""

from __future__ import annotations

import os
import shutil
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from tests.engine.graphs import Data, add, delete, make_graph, upsert

import omnigraph as og
from omnigraph.catalog.logical import HopDirection
from omnigraph.engine import saved
from omnigraph.engine.memory import Memory
from omnigraph.engine.numbering import NOBODY, Numbering
from omnigraph.storage import rows as stored_rows

SCHEMA = """
node Person { name: String @key  age: I32? }
edge Knows: Person -> Person
"""
FRIENDS = "query friends() { match { $p: Person  $p knows $f } return { $p.name, $f.name, $f.age } order { $p.name, $f.name } }"


def people(*names: str) -> list[dict[str, object]]:
    return [{"name": name, "age": len(name)} for name in names]


def knows(*pairs: str) -> list[dict[str, object]]:
    return [{"id": f"e{pair}", "src": pair[0], "dst": pair[1]} for pair in pairs]


def test_memory_forgets_what_was_not_used_for_the_longest_time() -> None:
    memory = Memory(100)
    for name in "abc":
        memory.put((name,), name, 30)
    assert memory.get(("a",)) == "a"
    memory.put(("d",), "d", 30)
    assert [key for key, _ in memory.entries()] == [("c",), ("a",), ("d",)]
    memory.put(("huge",), "huge", 101)
    assert memory.get(("huge",)) is None
    assert (memory.use().used, memory.use().evicted, memory.use().hits, memory.use().misses) == (90, 1, 1, 1)


@pytest.mark.parametrize("budget", [0, 2_000, 1 << 30])
def test_answers_do_not_depend_on_the_budget(budget: int, tmp_path: Path) -> None:
    graph = make_graph(tmp_path, SCHEMA, {"Person": people(*"abcdef"), "Knows": knows("ab", "bc", "ca", "de")})
    expected = graph.query(FRIENDS).rows
    again = og.open(graph.store.place.uri, memory=budget)
    assert [again.query(FRIENDS).rows for _ in range(3)] == [expected] * 3
    assert again.stats().memory.used <= budget


@settings(max_examples=60, deadline=None)
@given(some.lists(some.lists(some.text(max_size=6), max_size=300), max_size=6))
def test_a_number_is_given_once(batches: list[list[str]]) -> None:
    numbering = Numbering()
    seen: dict[str, int] = {}
    for batch in batches:
        for id_, number in zip(batch, numbering.intern(pa.array(batch, pa.string())).tolist(), strict=True):
            assert seen.setdefault(id_, number) == number
    assert sorted(seen.values()) == list(range(len(seen)))
    assert all(numbering.number(id_) == number for id_, number in seen.items())
    assert numbering.number("never seen") == NOBODY
    everyone = np.arange(len(seen))
    assert numbering.ids(everyone).to_pylist() == sorted(seen, key=lambda i: seen[i])


def counted_reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows each read of whole pieces was for."""
    read: list[int] = []

    def counting(table: Any, chosen: Any, columns: Any) -> pa.Table:
        read.append(sum(piece.rows for piece in chosen))
        return stored_rows.read_pieces(table, chosen, columns)

    for module in ("nodes", "edges", "stored"):
        monkeypatch.setattr(f"omnigraph.engine.{module}.read_pieces", counting)
    return read


def test_a_commit_is_followed_by_reading_what_it_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [chr(c) for c in range(0x4E00, 0x4E00 + 500)]
    data: Data = {"Person": people(*names), "Knows": [{"src": a, "dst": b} for a, b in pairwise(names)]}
    graph = make_graph(tmp_path, SCHEMA, data)
    graph.query(FRIENDS)
    read = counted_reads(monkeypatch)
    add(graph, {"Person": people("x", "y"), "Knows": knows("xy")})
    upsert(graph, "Person", people("x"))
    delete(graph, "Knows", ["exy"])
    add(graph, {"Knows": knows("yx")})
    rows = graph.query(FRIENDS).rows
    assert rows[-1] == {"p.name": names[-2], "f.name": names[-1], "f.age": 1}
    assert {"p.name": "y", "f.name": "x", "f.age": 1} in rows
    assert len(rows) == 500
    assert 0 < sum(read) <= 12, "three columns of the few rows that came"


HISTORY = some.lists(
    some.tuples(
        some.sampled_from(["add", "upsert", "unlink", "link", "branch", "optimize"]), some.integers(0, 11), some.integers(0, 11)
    ),
    max_size=10,
)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(HISTORY)
def test_extended_adjacency_is_what_a_fresh_process_builds(tmp_path_factory: pytest.TempPathFactory, history: Any) -> None:
    graph = make_graph(
        tmp_path_factory.mktemp("history"), SCHEMA, {"Person": people(*"abcdefghijkl"), "Knows": knows("ab", "bc")}
    )
    edges = {"eab", "ebc"}
    branch = "main"
    for step, (what, first, second) in enumerate(history):
        a, b = chr(97 + first), chr(97 + second)
        if what == "add":
            add(graph, {"Person": people(f"new{step}")}, branch)
        elif what == "upsert":
            upsert(graph, "Person", [{"name": a, "age": step}], branch)
        elif what == "link" and f"e{a}{b}" not in edges:
            add(graph, {"Knows": knows(a + b)}, branch)
            edges.add(f"e{a}{b}")
        elif what == "unlink" and edges:
            gone = sorted(edges)[first % len(edges)]
            delete(graph, "Knows", [gone], branch)
            edges.discard(gone)
        elif what == "branch" and branch == "main":
            graph.branches.create("side")
            branch = "side"
        elif what == "optimize":
            graph.optimize(branch)
        known = graph.query(FRIENDS, branch=branch).rows
        fresh = og.open(graph.store.place.uri).query(FRIENDS, branch=branch).rows
        assert known == fresh


@pytest.fixture
def small_is_saved(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("saved", "nodes", "edges", "stored", "search.text_column"):
        monkeypatch.setattr(f"omnigraph.engine.{module}.LEAST_ROWS", 1)


@pytest.mark.usefixtures("small_is_saved")
def test_a_fresh_process_maps_what_was_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = make_graph(tmp_path, SCHEMA, {"Person": people(*"abcdef"), "Knows": knows("ab", "bc", "ca", "de")})
    expected = graph.query(FRIENDS, traversal="csr").rows
    graph.close()
    again = og.open(graph.store.place.uri)
    read = counted_reads(monkeypatch)
    edges = again.view().edges("Knows")
    assert edges.adjacency(HopDirection.OUT).neighbours.tolist() == [1, 2, 0, 4]
    assert edges.adjacency(HopDirection.IN).neighbours.tolist() == [2, 0, 1, 3]
    assert read == [], "no row was read"
    assert again.query(FRIENDS, traversal="csr").rows == expected


@pytest.mark.usefixtures("small_is_saved")
def test_saved_state_of_an_older_commit_is_extended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = make_graph(tmp_path, SCHEMA, {"Person": people(*"abcdef"), "Knows": knows("ab", "bc", "ca", "de")})
    graph.query(FRIENDS, traversal="csr")
    graph.close()
    add(graph, {"Person": people("g"), "Knows": knows("ga", "ag")})
    delete(graph, "Knows", ["eab"])
    read = counted_reads(monkeypatch)
    again = og.open(graph.store.place.uri)
    ends = again.view().edges("Knows").ends()
    assert sum(read) == 3, "one new node and two new edges"
    assert len(ends.sources) == 5
    assert again.query(FRIENDS, traversal="csr").rows == og.open(graph.store.place.uri).query(FRIENDS, traversal="btree").rows


@pytest.mark.usefixtures("small_is_saved")
def test_vectors_are_saved_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    schema = "node Doc { name: String @key  place: Vector(2)? }"
    docs: list[dict[str, object]] = [{"name": "a", "place": [0.0, 1.0]}, {"name": "b"}, {"name": "c", "place": [3.0, 4.0]}]
    graph = make_graph(tmp_path, schema, {"Doc": docs})
    near = "query q($v: Vector(2)) { match { $d: Doc } return { $d.name } order { nearest($d.place, $v) } limit 9 }"

    def names(asked: og.Graph) -> list[str]:
        return [row["d.name"] for row in asked.query(near, {"v": [3.0, 3.0]}).rows]

    assert names(graph) == ["c", "a"]
    graph.close()
    read = counted_reads(monkeypatch)
    assert names(og.open(graph.store.place.uri)) == ["c", "a"]
    assert read == [], "no row was read"
    add(graph, {"Doc": [{"name": "d", "place": [3.0, 3.0]}]})
    delete(graph, "Doc", ["a"])
    assert names(og.open(graph.store.place.uri)) == ["d", "c"]
    assert sum(read) == 2, "the id and the vector of the new one"


@pytest.mark.usefixtures("small_is_saved")
def test_what_a_killed_process_left_unfinished_goes(tmp_path: Path) -> None:
    graph = make_graph(tmp_path, SCHEMA, {"Person": people(*"ab"), "Knows": knows("ab")})
    home = Path(graph.store.place.uri) / "__cache" / graph.view().nodes("Person").stored.location.replace("/", "-")
    old, young = home / "unfinished-old", home / "unfinished-young"
    old.mkdir(parents=True)
    young.mkdir()
    os.utime(old, (0, 0))
    graph.query(FRIENDS, traversal="csr")
    graph.close()
    assert not old.exists()
    assert young.exists(), "somebody may be writing it"


@pytest.mark.usefixtures("small_is_saved")
def test_terms_of_texts_are_saved_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    schema = "node Doc { name: String @key  text: String? }"
    docs = [
        {"name": "a", "text": "the wolf and the lamp"},
        {"name": "b", "text": "one wolf among many other animals"},
        {"name": "c"},
        {"name": "d", "text": "plum"},
    ]
    graph = make_graph(tmp_path, schema, {"Doc": docs})
    best = (
        "query q($q: String) { match { $d: Doc } return { $d.name, bm25($d.text, $q) as s } order { bm25($d.text, $q) } limit 9 }"
    )
    expected = graph.query(best, {"q": "wolf lamp"}).rows
    assert [row["d.name"] for row in expected] == ["a", "b"]
    graph.close()
    read = counted_reads(monkeypatch)
    monkeypatch.setattr("omnigraph.engine.search.postings.analysed", lambda texts: pytest.fail("analysed again"))
    assert og.open(graph.store.place.uri).query(best, {"q": "wolf lamp"}).rows == expected
    monkeypatch.undo()
    add(graph, {"Doc": [{"name": "e", "text": "lamp"}]})
    delete(graph, "Doc", ["b"])
    fresh = og.open(graph.store.place.uri).query(best, {"q": "wolf lamp"}).rows
    assert fresh == graph.query(best, {"q": "wolf lamp"}).rows
    assert {row["d.name"] for row in fresh} == {"a", "e"}
    assert sum(read) == 0


@pytest.mark.usefixtures("small_is_saved")
@pytest.mark.parametrize("damage", ["remove", "truncate", "scramble", "half"])
def test_saved_state_is_never_needed(damage: str, tmp_path: Path) -> None:
    graph = make_graph(tmp_path, SCHEMA, {"Person": people(*"abcdef"), "Knows": knows("ab", "bc", "ca", "de")})
    expected = graph.query(FRIENDS, traversal="csr").rows
    graph.close()
    cache = Path(graph.store.place.uri) / "__cache"
    files = [f for f in cache.rglob("*") if f.is_file()]
    assert files
    if damage == "remove":
        shutil.rmtree(cache)
    for file in files if damage in ("truncate", "scramble") else files[::2] if damage == "half" else []:
        if damage == "half":
            file.unlink()
        else:
            file.write_bytes(file.read_bytes()[:40] if damage == "truncate" else b"\x00nonsense")
    assert og.open(graph.store.place.uri).query(FRIENDS, traversal="csr").rows == expected


@pytest.mark.usefixtures("small_is_saved")
def test_what_cannot_be_saved_is_told_and_fails_nothing(tmp_path: Path) -> None:
    graph = make_graph(tmp_path, SCHEMA, {"Person": people(*"abc"), "Knows": knows("ab")})
    (Path(graph.store.place.uri) / "__cache").write_text("in the way")
    assert len(graph.query(FRIENDS, traversal="csr").rows) == 1
    graph.close()
    assert graph.workspace.saved.failures


def test_a_read_only_graph_is_not_written_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    graph = make_graph(tmp_path, SCHEMA, {"Person": people(*"abc"), "Knows": knows("ab")})
    for module in ("saved", "nodes", "edges", "search.text_column"):
        monkeypatch.setattr(f"omnigraph.engine.{module}.LEAST_ROWS", 1)
    reader = og.open(graph.store.place.uri, read_only=True)
    reader.query(FRIENDS, traversal="csr")
    reader.close()
    assert not (Path(graph.store.place.uri) / "__cache").exists()
    assert list((tmp_path / "cache" / "omnigraph").iterdir())
    assert saved.VERSION == 1
