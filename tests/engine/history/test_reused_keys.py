"""An idempotency key stands for one request: another one with the same key is refused, and never answered by the first."""

from __future__ import annotations

import contextlib
import csv
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import omnigraph as og
from omnigraph.engine import writing
from omnigraph.engine.history import asked_loads
from omnigraph.engine.history import repeats as repeats_module
from omnigraph.engine.history.asked import digest_of
from omnigraph.engine.parts import parts_of
from omnigraph.engine.write.commit import Intent
from omnigraph.storage.commits.lineage import Commit
from omnigraph.storage.commits.refs import Ref

SCHEMA = "node Person { name: String @key  age: I32? } node Note { text: String } edge Knows: Person -> Person"
NOTE = "query note($t: String) { insert Note { text: $t } }"
OTHER = "query note($t: String) { insert Person { name: $t } }"
ADA: dict[str, Any] = {"type": "Person", "data": {"name": "Ada", "age": 36}}
BOB: dict[str, Any] = {"type": "Person", "data": {"name": "Bob", "age": 36}}

Write = Callable[[og.Graph], Any]


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    g = og.init(tmp_path / "g", SCHEMA, durability="os")
    for name in ("m1", "m2"):
        g.branches.create(name)
        g.mutate(NOTE, {"t": name}, branch=name)
    for name, row in (("a", ADA), ("b", BOB)):
        (tmp_path / f"{name}.jsonl").write_bytes(msgspec.json.encode(row))
        (tmp_path / name).mkdir()
        with open(tmp_path / name / "Person.csv", "w", newline="") as file:
            csv.writer(file).writerows([row["data"].keys(), row["data"].values()])
    return g


def beside(g: og.Graph, name: str) -> str:
    return str(Path(g.uri).parent / name)


def rows(*names: str, mode: Any = "merge", **how: Any) -> Write:
    return lambda g: g.load({"Person": [{"name": n} for n in names]}, mode=mode, idempotency_key="k", **how)


def frame(*names: str) -> Write:
    return lambda g: g.load({"Person": pa.table({"name": names, "age": [1] * len(names)})}, idempotency_key="k")


def file(name: str) -> Write:
    return lambda g: g.load(beside(g, name), idempotency_key="k")


def note(text: str, query: str = NOTE, actor: str | None = None) -> Write:
    return lambda g: g.mutate(query, {"t": text}, actor=actor, idempotency_key="k")


def put(name: str, age: int, patch: bool = False) -> Write:
    return lambda g: g.put("Person", {"name": name, "age": age}, patch=patch, idempotency_key="k")


def knows(from_: str, to: str) -> Write:
    def write(g: og.Graph) -> og.Receipt:
        if g.get("Person", "Cy") is None:
            g.load({"Person": [{"name": "Ada"}, {"name": "Bob"}, {"name": "Cy"}]})
        return g.put_edge("Knows", from_, to, idempotency_key="k")

    return write


def delete(given: Any) -> Write:
    return lambda g: g.delete({"Person": given}, idempotency_key="k")


def merge(source: str, **how: Any) -> Write:
    return lambda g: g.merge(source, idempotency_key="k", **how)


PAIRS: dict[str, tuple[Write, Write]] = {
    "parameters": (note("x"), note("y")),
    "query": (note("x"), note("x", OTHER)),
    "actor": (note("x", actor="a"), note("x", actor="b")),
    "kind": (note("x"), rows("Ada")),
    "rows": (rows("Ada"), rows("Bob")),
    "fewer rows": (rows("Ada", "Bob"), rows("Ada")),
    "mode": (rows("Ada"), rows("Ada", mode="overwrite")),
    "loader": (rows("Ada", actor="a"), rows("Ada", actor="b")),
    "frames": (frame("Ada"), frame("Bob")),
    "files": (file("a.jsonl"), file("b.jsonl")),
    "cells": (file("a"), file("b")),
    "records": (lambda g: g.load([ADA], idempotency_key="k"), lambda g: g.load([BOB], idempotency_key="k")),
    "puts": (put("Ada", 1), put("Ada", 2)),
    "patches": (put("Ada", 1), put("Ada", 1, patch=True)),
    "a put and a mutation": (put("Ada", 1), note("x")),
    "edges": (knows("Ada", "Bob"), knows("Ada", "Cy")),
    "deletions": (delete(["Ada"]), delete(["Bob"])),
    "deletions by frame": (delete(pa.table({"name": ["Ada"]})), delete(pa.table({"name": ["Bob"]}))),
    "sources": (merge("m1"), merge("m2")),
    "resolutions": (merge("m1"), merge("m1", resolve="theirs")),
}


@pytest.mark.parametrize("pair", PAIRS)
def test_a_key_stands_for_one_request(graph: og.Graph, pair: str) -> None:
    first, second = PAIRS[pair]
    done = first(graph)
    assert first(graph).commit == done.commit
    with pytest.raises(og.KeyReused, match="`k`") as refused:
        second(graph)
    assert (refused.value.retryable, graph.commits(limit=1)[0]) == (False, done.commit)
    assert "key of its own" in refused.value.hint
    assert first(og.open(graph.uri, durability="os")).commit == done.commit


def test_how_it_is_asked_does_not_count(graph: og.Graph) -> None:
    done = graph.mutate(NOTE, {"t": "x"}, idempotency_key="k", message="once")
    assert graph.mutate(NOTE, {"t": "x"}, idempotency_key="  k ", message="twice").commit == done.commit
    loaded = graph.load(beside(graph, "a.jsonl"), idempotency_key="l")
    Path(beside(graph, "a.jsonl")).rename(beside(graph, "c.jsonl"))
    assert graph.load(beside(graph, "c.jsonl"), idempotency_key="l").commit == loaded.commit


def test_a_branch_does_not_inherit_what_was_done_on_another(graph: og.Graph) -> None:
    first = note("x")(graph)
    graph.branches.create("after")
    second = graph.mutate(NOTE, {"t": "x"}, branch="after", idempotency_key="k")
    assert second.commit is not None
    assert (second.commit.id != first.commit.id, second.commit.branch) == (True, "after")
    assert graph.mutate(NOTE, {"t": "y"}, branch="m1", idempotency_key="k").commit != first.commit
    assert note("x")(graph).commit == first.commit


def test_of_many_at_once_with_one_key_the_others_are_refused(graph: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    """The key is published by somebody else after it was looked for."""
    repeats = parts_of(graph).past.repeats
    looked = repeats._carrying
    other = og.open(graph.uri, durability="os")

    def overtaken(branch: str, key: str) -> Commit | None:
        found = looked(branch, key)
        monkeypatch.setattr(repeats, "_carrying", looked)
        note("y")(other)
        return found

    monkeypatch.setattr(repeats, "_carrying", overtaken)
    with pytest.raises(og.KeyReused):
        note("x")(graph)


def test_keys_of_before_are_answered_whatever_is_asked(graph: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "Intent", lambda *given, asked, **more: Intent(*given, **more))
    first = note("x")(graph)
    monkeypatch.undo()
    assert note("y")(graph).commit == first.commit


def test_large_content_is_known_by_its_ends(graph: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asked_loads, "WHOLE_ROWS", 2)
    monkeypatch.setattr(asked_loads, "WHOLE_BYTES", 8)
    monkeypatch.setattr(asked_loads, "_ENDS", 8)
    for first, second in (
        (rows("Ada", "Bob", "Cy"), rows("Ada", "Bob", "Di")),
        (rows("Ada", "Bob", "Cy"), rows("Ada", "Bob", "Bob", "Cy")),
        (frame("Ada", "Bob", "Cy"), frame("Eve", "Bob", "Cy")),
    ):
        g = og.init(f"{graph.uri}-{id(first)}", SCHEMA, durability="os")
        done = first(g)
        assert first(g).commit == done.commit
        with pytest.raises(og.KeyReused):
            second(g)
    long = Path(beside(graph, "a.jsonl"))
    loaded = file("a.jsonl")(graph)
    assert file("a.jsonl")(graph).commit == loaded.commit
    long.write_bytes(long.read_bytes() + b"\n\n")
    with pytest.raises(og.KeyReused):
        file("a.jsonl")(graph)


def test_a_stream_is_known_by_its_types(graph: og.Graph) -> None:
    done = graph.load({"Person": iter([{"name": "Ada"}])}, idempotency_key="k")
    assert graph.load({"Person": iter([{"name": "Ada"}])}, idempotency_key="k").commit == done.commit
    with pytest.raises(og.KeyReused):
        graph.load({"Note": iter([{"text": "Ada"}])}, idempotency_key="k")


@pytest.mark.parametrize("key", ["", "  ", "schlüssel", "a\nb", "k" * 201])
def test_one_rule_for_keys(graph: og.Graph, key: str) -> None:
    writes: list[Callable[[], object]] = [
        lambda: graph.mutate(NOTE, {"t": "x"}, idempotency_key=key),
        lambda: graph.load([ADA], idempotency_key=key),
        lambda: graph.merge("m1", idempotency_key=key),
        lambda: graph.put("Note", {"text": "x"}, idempotency_key=key),
        lambda: graph.delete({"Person": ["Ada"]}, idempotency_key=key),
    ]
    for write in writes:
        with pytest.raises(og.UsageError, match="1 to 200 printable ASCII"):
            write()


def test_digests_tell_values_apart() -> None:
    class Own:
        pass

    circle: list[object] = []
    circle.append(circle)
    values: list[object] = [None, 0, False, 0.0, "", "0", b"", [], {}, [[]], [0, 0], ["0", "0"], ["00"], {"a": 0}, {"a": [0]}]
    values += [Own(), circle, float("nan")]
    assert len({digest_of("mutate", "main", None, value) for value in values}) == len(values)
    moments = [np.datetime64(f"2026-01-01T00:00:00.00000000{n}") for n in range(3)]
    foreign: list[object] = [*moments, np.float64(0.5), 10**5000, pd.Timestamp("2026-01-01"), pd.Timestamp("2026-01-02")]
    foreign += [np.int64(1), np.int64(2), np.array([1.0]), np.array([2.0]), np.float64(1.5), pd.Timestamp(1), pd.Timestamp(2)]
    assert len({digest_of("mutate", "main", None, [value]) for value in foreign}) == len(foreign)
    same = [(np.float64(0.5), 0.5), ({"a": 1, "b": 2}, {"b": 2, "a": 1}), (Own(), Own()), ((1, 2), [1, 2])]
    assert all(digest_of("mutate", "main", None, a) == digest_of("mutate", "main", None, b) for a, b in same)


def test_each_commit_is_looked_at_once_and_no_more_than_its_key_is_kept(graph: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many keyed writes a day has, the next one looks at what came since, and little is remembered of each."""
    repeats = parts_of(graph).past.repeats
    looked: list[str] = []
    history = parts_of(graph).workspace.store.history
    line = history.line

    def counted(ref: Ref, seq: int, run: int | None = None) -> Any:
        for commit in line(ref, seq, run):
            looked.append(commit.id)
            yield commit

    monkeypatch.setattr(history, "line", counted)
    made = [graph.mutate(NOTE, {"t": str(n)}, idempotency_key=f"k{n}").commit for n in range(20)]
    assert len(looked) <= 2 * 20 + 3
    (seen,) = repeats._seen.values()
    assert list(seen.carrying) == [f"k{n}" for n in range(19)]  # that of the last is looked for by the next
    again = graph.mutate(NOTE, {"t": "3"}, idempotency_key="k3").commit
    assert again is not None
    assert made[3] is not None
    assert again.id == made[3].id
    monkeypatch.setattr(repeats_module, "REMEMBERED", timedelta(0))
    assert graph.mutate(NOTE, {"t": "3"}, idempotency_key="k3").commit != made[3]
    assert seen.carrying == {}


def test_of_many_branches_those_are_remembered_that_were_written_to_last(
    graph: og.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repeats_module, "_BRANCHES", 1)
    first = [graph.mutate(NOTE, {"t": b}, branch=b, idempotency_key="k").commit for b in ("m1", "m2")]
    assert [graph.mutate(NOTE, {"t": b}, branch=b, idempotency_key="k").commit for b in ("m1", "m2")] == first
    assert len(parts_of(graph).past.repeats._seen) == 1


def test_a_key_of_a_branch_that_is_made_again_meanwhile_is_not_one_of_the_new_branch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From a tag of the old one: its manifest has commits that the new branch does not have."""
    made = og.init(tmp_path / "again", SCHEMA, durability="os")
    made.branches.create("b")
    made.mutate(NOTE, {"t": "x"}, branch="b", idempotency_key="k")
    made.tags.create("old", "b")
    made.mutate(NOTE, {"t": "y"}, branch="b", idempotency_key="k2")
    g, other = (og.open(made.uri, durability="os") for _ in range(2))
    history = parts_of(g).workspace.store.history
    line, done = history.line, list[bool]()

    def overtaken(ref: Ref, seq: int, run: int | None = None) -> Any:
        if ref.branch == "b" and not done:
            done.append(True)
            other.branches.delete("b")
            other.branches.create("b", from_="old")
        return line(ref, seq, run)

    monkeypatch.setattr(history, "line", overtaken)
    with contextlib.suppress(og.GraphError):
        g.mutate(NOTE, {"t": "x"}, branch="b", idempotency_key="k")
    assert done
    made_now = g.mutate(NOTE, {"t": "z"}, branch="b", idempotency_key="k2").commit
    assert made_now is not None
    texts = [
        row["n.text"] for row in og.open(made.uri).query("query q() { match { $n: Note } return { $n.text } }", branch="b").rows
    ]
    assert sorted(texts)[-1] == "z"
    assert "y" not in texts
