"""Inserts of one group that are prepared as one table: it comes to what each comes to by itself, and leaves nothing behind."""

from __future__ import annotations

import gc
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from tests.engine.write.test_led_mutations import together

import omnigraph as og
from omnigraph.engine import writing
from omnigraph.engine.write.alike import MOST, planned_together

SCHEMA = """
node Person { name: String @key  age: I32?  email: String? @unique  score: F64? @unique  @range(age, 0..100) }
node Note { text: String  tag: String? @unique }
edge Knows: Person -> Person @card(0..3)
edge Likes: Person -> Note { weight: F32 }
edge Writes: Person -> Person @card(2..)
"""
TEXTS = {
    "person": "query q($n: String, $a: I32, $e: String?, $s: F64?) { insert Person { name: $n, age: $a, email: $e, score: $s } }",
    "note": "query q($n: String, $t: String?) { insert Note { text: $n, tag: $t } }",
    "knows": "query q($a: String, $b: String) { insert Knows { from: $a, to: $b } }",
    "set": "query q($n: String, $a: I32) { update Person set { age: $a } where name = $n }",
    "drop": "query q($n: String) { delete Person where name = $n }",
}
NAMES = [f"p{n}" for n in range(12)]


def a_change(chance: random.Random) -> tuple[str, dict[str, Any]]:
    kind = chance.choices(list(TEXTS), (8, 4, 6, 1, 1))[0]
    name = chance.choice([*NAMES, f"new{chance.randrange(10**9)}"])
    match kind:
        case "person":
            email = chance.choice([None, None, "a@x", "b@x", f"{chance.randrange(10**9)}@x"])
            score = chance.choice([None, None, 0.0, -0.0, chance.random()])
            return kind, {"n": name, "a": chance.choice([1, 50, 100, 101]), "e": email, "s": score}
        case "note":
            return kind, {"n": "x", "t": chance.choice([None, "t", f"{chance.randrange(10**9)}"])}
        case "knows":
            return kind, {"a": chance.choice([*NAMES, "nobody"]), "b": chance.choice(NAMES)}
        case "set":
            return kind, {"n": name, "a": chance.choice([2, 101])}
    return kind, {"n": name}


def contents(g: og.Graph) -> dict[str, list[tuple[Any, ...]]]:
    people = g.query("query q() { match { $p: Person } return { $p.name as n, $p.age as a, $p.email as e, $p.score as s } }")
    notes = g.query("query q() { match { $p: Note } return { $p.text as n, $p.tag as t } }")
    knows = g.query("query q() { match { $a: Person  $a knows $b } return { $a.name as a, $b.name as b } }")
    found = {"people": people, "notes": notes, "knows": knows}
    return {name: sorted(tuple(map(repr, row.values())) for row in result.rows) for name, result in found.items()}


@pytest.mark.parametrize("seed", range(12))
def test_a_group_comes_to_what_its_writers_come_to_one_after_the_other(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was published is published again in its order on a copy, and ends the same; what was refused is refused there too,
    unless what others did before or after it decides that."""
    chance = random.Random(seed)
    g, copy = (og.init(tmp_path / name, SCHEMA, durability="os") for name in ("g", "copy"))
    for one in (g, copy):
        one.load([{"type": "Person", "data": {"name": n}} for n in NAMES[:6]])
    for _ in range(4):
        changes = [a_change(chance) for _ in range(16)]
        calls: list[Callable[[], object]] = [lambda c=c: g.mutate(TEXTS[c[0]], c[1]) for c in changes]  # type: ignore[misc]
        outcomes = together(g, calls, monkeypatch, first=lambda: g.mutate(TEXTS["note"], {"n": "first", "t": None}))
        copy.mutate(TEXTS["note"], {"n": "first", "t": None})
        by_commit = {o.commit.id: c for o, c in zip(outcomes, changes, strict=True) if isinstance(o, og.Receipt) and o.commit}
        order = [c.id for c in reversed(g.commits(limit=len(by_commit)))]
        assert set(order) == set(by_commit)
        for commit in order:
            kind, values = by_commit[commit]
            assert copy.mutate(TEXTS[kind], values).commit is not None, (kind, values)
        assert contents(g) == contents(copy)
        for outcome, (kind, values) in zip(outcomes, changes, strict=True):
            if isinstance(outcome, og.GraphError) and kind == "person" and values["a"] == 101:
                with pytest.raises(type(outcome)):
                    copy.mutate(TEXTS[kind], values)
    assert g.verify(content=True).ok


def test_inserts_of_one_text_are_prepared_together(g: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also more than are prepared at a time; those that are special are left to themselves, and spoil nothing."""
    g.mutate(TEXTS["person"], {"n": "there", "a": 1, "e": "taken", "s": None})
    sizes, planned = list[int](), planned_together

    def counted(*given: Any) -> Any:
        found = planned(*given)
        sizes.append(sum(plan is not None for plan in found))
        return found

    monkeypatch.setattr(writing, "planned_together", counted)
    values = [{"n": f"n{n}", "a": n, "e": f"{n}@x", "s": None} for n in range(MOST + 4)]
    calls: list[Callable[[], object]] = [lambda v=v: g.mutate(TEXTS["person"], v) for v in values]  # type: ignore[misc]
    calls.append(lambda: g.mutate(TEXTS["person"], {"n": "there", "a": 2, "e": "taken", "s": None}))
    found = together(g, calls, monkeypatch, first=lambda: g.mutate(TEXTS["note"], {"n": "first", "t": None}))
    assert all(isinstance(one, og.Receipt) and one.affected_nodes == 1 and one.commit is not None for one in found), found
    assert sum(sizes) == MOST + 4
    rows = {row["n"]: row["a"] for row in g.query("query q() { match { $p: Person } return { $p.name as n, $p.age as a } }").rows}
    assert rows == {"there": 2, **{v["n"]: v["a"] for v in values}}
    assert len({one.commit.id for one in found if isinstance(one, og.Receipt) and one.commit is not None}) == len(calls)


@pytest.mark.parametrize("kind", ["person", "note", "knows", "set"])
def test_a_commit_leaves_nothing_to_the_collector_of_garbage(g: og.Graph, kind: str) -> None:
    """Objects that refer to one another stay until somebody looks for them, which took a fifth of the time of a group."""
    g.load([{"type": "Person", "data": {"name": f"p{n}"}} for n in range(200)])
    values: dict[str, Callable[[int], dict[str, Any]]] = {
        "person": lambda n: {"n": f"new{n}", "a": 1, "e": None, "s": None},
        "note": lambda n: {"n": f"{n}", "t": None},
        "knows": lambda n: {"a": f"p{n % 200}", "b": "p1"},
        "set": lambda n: {"n": f"p{n % 200}", "a": n % 100 + 1},
    }

    numbers = count()

    def write(_: int) -> None:
        for _ in range(16):
            g.mutate(TEXTS[kind], values[kind](next(numbers)))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(8)))
        gc.collect()
        gc.disable()
        try:
            list(pool.map(write, range(8)))
            left = gc.collect()
        finally:
            gc.enable()
    assert left < 4 * 128, f"{left / 128:.1f} objects a commit"


@pytest.fixture
def g(tmp_path: Path) -> og.Graph:
    return og.init(tmp_path / "g", SCHEMA, durability="os")
