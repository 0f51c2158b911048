"""What the engine keeps between queries: bounded, extended from what changed, never needed."""

from __future__ import annotations

import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from tests.engine.friends import FRIENDS, SCHEMA, counted_reads, knows, people
from tests.engine.graphs import Data, add, delete, make_graph, upsert

import omnigraph as og
from omnigraph.engine.arrays.numbering import NOBODY, Numbering
from omnigraph.engine.snapshot import memory as kept
from omnigraph.engine.snapshot.memory import Memory


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


def test_memory_forgets_pins_that_nobody_uses_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    monkeypatch.setattr(kept, "IDLE_SECONDS", 30.0)
    memory = Memory(1 << 20)
    for pin in range(100):
        now += 1
        memory.put(("nodes/1", pin, "column", "age"), pin, 10)
        memory.put(("nodes/1", pin, "rows where", "name", f"p{pin}"), pin, 10)
        assert memory.get(("nodes/1", 3, "column", "age")) == (3 if pin >= 3 else None)  # the head of another branch
    pins = [str(key[1]) for key, _ in memory.entries() if key[2] == "column"]
    assert sorted(map(int, pins)) == [3, *range(69, 100)]
    assert len(memory.entries()) == len(pins) + 31
    assert memory.use().used == 10 * len(memory.entries())
    now += 1_000
    memory.put(("nodes/1", 100, "column", "age"), 100, 10)
    pins = [str(key[1]) for key, _ in memory.entries() if key[2] == "column"]
    assert sorted(map(int, pins)) == [3, *range(94, 101)]  # few stay anyhow
    memory.forget()
    assert memory.entries() == []


@pytest.mark.parametrize("budget", [0, 2_000, 1 << 30])
def test_answers_do_not_depend_on_the_budget(budget: int, tmp_path: Path) -> None:
    graph = make_graph(tmp_path, SCHEMA, {"Person": people(*"abcdef"), "Knows": knows("ab", "bc", "ca", "de")})
    expected = graph.query(FRIENDS).rows
    again = og.open(graph._store.place.uri, memory=budget)
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


@pytest.mark.parametrize("by", ["this process", "another one"])
def test_a_commit_is_followed_by_reading_what_it_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: str) -> None:
    names = [chr(c) for c in range(0x4E00, 0x4E00 + 500)]
    data: Data = {"Person": people(*names), "Knows": [{"src": a, "dst": b} for a, b in pairwise(names)]}
    graph = make_graph(tmp_path, SCHEMA, data)
    graph.query(FRIENDS)
    read = counted_reads(monkeypatch)
    writer = graph if by == "this process" else og.open(graph.uri)
    add(writer, {"Person": people("x", "y"), "Knows": knows("xy")})
    upsert(writer, "Person", people("x"))
    delete(writer, "Knows", ["exy"])
    add(writer, {"Knows": knows("yx")})
    rows = graph.query(FRIENDS).rows
    assert rows[-1] == {"p.name": names[-2], "f.name": names[-1], "f.age": 1}
    assert {"p.name": "y", "f.name": "x", "f.age": 1} in rows
    assert len(rows) == 500
    if writer is graph:
        assert not read, "it has what it wrote"
    else:
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
        fresh = og.open(graph._store.place.uri).query(FRIENDS, branch=branch).rows
        assert known == fresh


def test_a_property_that_two_branches_call_the_same_is_not_the_same(tmp_path: Path) -> None:
    """Both are the next one that is added to the type, and no entity that both branches have has a value."""
    graph = make_graph(tmp_path, SCHEMA, {"Person": people(*"abc")})
    graph.branches.create("side")
    for branch, type_ in (("main", "I32?"), ("side", "String?")):
        graph.apply_schema(SCHEMA.replace("age: I32?", f"age: I32?  x: {type_}"), branch=branch)
    asked = "query q() { match { $p: Person } return { $p.x } order { $p.name } }"
    assert [row["p.x"] for row in graph.query(asked).rows] == [None] * 3
    graph.mutate('query q() { insert Person { name: "d", x: "text" } }', branch="side")
    assert [row["p.x"] for row in graph.query(asked, branch="side").rows] == [None, None, None, "text"]
    graph.mutate('query q() { insert Person { name: "d", x: 4 } }')
    assert [row["p.x"] for row in graph.query(asked).rows] == [None, None, None, 4]
