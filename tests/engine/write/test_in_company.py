"""Mutations that one thread brings for several callers: each gets what it would have got by itself."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

import omnigraph as og
from omnigraph.engine.in_company import Mutation, is_quick, mutate_each
from omnigraph.storage.commits.publisher import Publisher

SCHEMA = """
node Person { name: String @key  age: I32?  email: String? @unique }
edge Knows: Person -> Person @key(src, dst) { since: I32? }
"""
ADD = "query add($n: String, $a: I32) { insert Person { name: $n, age: $a } }"
MAIL = "query mail($n: String, $e: String) { insert Person { name: $n, email: $e } }"
SET = "query set($n: String, $a: I32) { update Person set { age: $a } where name = $n }"
OLDER = "query older($a: I32) { update Person set { age: $a } where age < $a }"
DROP = "query drop($n: String) { delete Person where name = $n }"
KNOW = "query know($a: String, $b: String) { insert Knows { from: $a, to: $b } }"
READ = "query q() { match { $p: Person } return { $p.name } }"
ALL = "query q() { match { $p: Person } return { $p.name as n, $p.age as a, $p.email as e } order { n } }"
EDGES = "query q() { match { $p: Person  $p knows $q } return { $p.name as a, $q.name as b } order { a, b } }"


def asked(source: Any, params: Any = None, branch: Any = "main", actor: Any = None, message: Any = None) -> Mutation:
    return Mutation(source, params, None, branch, actor, message)


def told(came: og.Receipt | Exception) -> object:
    """What a caller learns."""
    if isinstance(came, Exception):
        assert isinstance(came, og.GraphError), came
        return type(came), came.message, came.hint
    return came.query_name, came.branch, came.affected_nodes, came.affected_edges, came.actor, came.commit is None


def one_by_one(g: og.Graph, mutations: Sequence[Mutation]) -> list[object]:
    found: list[object] = []
    for one in mutations:
        try:
            found.append(told(g.mutate(one.source, one.params, branch=one.branch, actor=one.actor, message=one.message)))
        except og.GraphError as error:
            found.append(told(error))
    return found


def content(g: og.Graph) -> list[Any]:
    return [g.query(text, branch=branch).rows for branch in ("main", "work") for text in (ALL, EDGES)]


@pytest.fixture
def twins(tmp_path: Path) -> tuple[og.Graph, og.Graph]:
    found = []
    for name in ("together", "alone"):
        g = og.init(tmp_path / name, SCHEMA, durability="os")
        for n in "ab":
            g.mutate(ADD, {"n": n, "a": 1})
        g.branches.create("work")
        found.append(g)
    return found[0], found[1]


WRONG: list[Mutation] = [
    asked("query q( {"),
    asked(READ),
    asked(ADD),
    asked(ADD, {"n": 3, "a": 1}),
    asked(ADD, {"n": "x", "a": 2**40}),
    asked(ADD, {"n": "x", "a": 1, "b": 1}),
    asked(ADD, {"n": "x", "a": 1}, "nowhere"),
    asked(ADD, {"n": "x", "a": 1}, ""),
    asked(ADD, {"n": "x", "a": 1}, 7),
    asked(ADD, [("n", "x")]),
    asked(12),
    asked(ADD, {"n": "x", "a": 1}, actor=5),
    asked(KNOW, {"a": "a", "b": "nobody"}),
    asked(MAIL, {"n": "m1", "e": "same"}),
    asked(MAIL, {"n": "m2", "e": "same"}),
]


def test_whatever_is_wrong_with_one_is_told_to_it_alone(twins: tuple[og.Graph, og.Graph]) -> None:
    together, alone = twins
    good = [asked(ADD, {"n": f"g{n}", "a": n}, actor=f"actor-{n}", message=f"m{n}") for n in range(len(WRONG))]
    mutations = [one for pair in zip(WRONG, good, strict=True) for one in pair]
    assert [told(came) for came in mutate_each(together, mutations)] == one_by_one(alone, mutations)
    assert content(together) == content(alone)
    assert sorted((c.actor or "", c.message or "") for c in together.commits()) == sorted(
        (c.actor or "", c.message or "") for c in alone.commits()
    )


@pytest.mark.parametrize("seed", range(12))
def test_histories_are_those_of_one_after_the_other(twins: tuple[og.Graph, og.Graph], seed: int) -> None:
    """As far as an order matters: mutations of one call touch different rows, or are said to be made in any order."""
    together, alone = twins
    chance = random.Random(seed)
    for turn in range(6):
        names = [f"p{n}" for n in range(24)]
        chance.shuffle(names)
        mutations = [_random(chance, turn, names) for _ in range(chance.randint(1, 10))]
        assert [told(came) for came in mutate_each(together, mutations)] == one_by_one(alone, mutations)
        assert content(together) == content(alone)
    assert len(together.commits(limit=1_000)) == len(alone.commits(limit=1_000))
    assert together.verify(content=True).ok


def _random(chance: random.Random, turn: int, names: list[str]) -> Mutation:
    name, branch = names.pop(), chance.choice(["main", "main", "work"])
    match chance.randrange(4):
        case 0:
            return asked(SET, {"n": name, "a": turn}, branch)
        case 1:
            return asked(DROP, {"n": name}, branch)
        case _:
            return asked(ADD, {"n": name, "a": chance.randrange(3)}, branch)


def test_one_key_in_one_call_is_decided_as_among_threads(twins: tuple[og.Graph, og.Graph]) -> None:
    g, _ = twins
    came = mutate_each(g, [asked(ADD, {"n": "x", "a": n}) for n in range(8)])
    assert all(isinstance(one, og.Receipt) and one.commit is not None for one in came)
    assert len({one.commit.id for one in came if isinstance(one, og.Receipt) and one.commit}) == 8
    (row,) = [row for row in g.query(ALL).rows if row["n"] == "x"]
    assert row["a"] in range(8)


def test_what_is_not_quick_is_done_too(twins: tuple[og.Graph, og.Graph]) -> None:
    g, _ = twins
    assert is_quick(g, ADD, None, "main")
    assert not is_quick(g, OLDER, None, "main")
    came = mutate_each(g, [asked(OLDER, {"a": 5}), asked(ADD, {"n": "c", "a": 9}), asked(OLDER, {"a": 7}, "work")])
    assert [one.affected_nodes for one in came if isinstance(one, og.Receipt)] == [2, 1, 2]


def test_a_schema_that_another_process_changed_is_looked_at_again(tmp_path: Path) -> None:
    g = og.init(tmp_path / "g", SCHEMA, durability="os")
    g.mutate(ADD, {"n": "a", "a": 1})
    og.open(tmp_path / "g").apply_schema(SCHEMA.replace("age: I32?", "age: I32?  town: String?"))
    (came,) = mutate_each(g, [asked('query q($n: String) { insert Person { name: $n, town: "x" } }', {"n": "b"})])
    assert isinstance(came, og.Receipt)
    g.branches.create("gone")
    mutate_each(g, [asked(ADD, {"n": "c", "a": 1}, "gone")])
    og.open(tmp_path / "g").branches.delete("gone")
    (missing,) = mutate_each(g, [asked(ADD, {"n": "c", "a": 1}, "gone")])
    assert isinstance(missing, og.NotFound)


def test_calls_of_several_threads_share_their_groups(twins: tuple[og.Graph, og.Graph]) -> None:
    g, _ = twins
    failures: list[object] = []

    def write(who: int) -> None:
        for turn in range(10):
            mutations = [asked(ADD, {"n": f"{who}-{turn}-{n}", "a": n}) for n in range(5)]
            failures.extend(one for one in mutate_each(g, mutations) if not isinstance(one, og.Receipt) or one.commit is None)

    threads = [Thread(target=write, args=(who,)) for who in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert {row["n"] for row in g.query(ALL).rows} == {
        "a",
        "b",
        *(f"{w}-{t}-{n}" for w in range(6) for t in range(10) for n in range(5)),
    }
    assert len(g.commits(limit=1_000)) == 3 + 300
    assert g.verify(content=True).ok


def test_a_graph_that_is_read_only_says_so(tmp_path: Path) -> None:
    og.init(tmp_path / "g", SCHEMA).close()
    g = og.open(tmp_path / "g", read_only=True)
    (came,) = mutate_each(g, [asked(ADD, {"n": "x", "a": 1})])
    with pytest.raises(og.GraphError) as alone:
        g.mutate(ADD, {"n": "x", "a": 1})
    assert told(came) == told(alone.value)
    assert mutate_each(g, []) == []


@pytest.mark.parametrize("again", [False, True], ids=["gone", "made again"])
def test_a_branch_that_is_deleted_meanwhile_concerns_nobody_else(
    again: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between a look at the branches and the publication a branch is deleted, and perhaps made again by the same name."""
    g = og.init(tmp_path / "g", SCHEMA, durability="os")
    g.branches.create("b")
    mutate_each(g, [asked(ADD, {"n": f"warm {branch}", "a": 1}, branch) for branch in ("main", "b")])
    publish_each, done = Publisher.publish_each, list[str]()

    def deleted_first(publisher: Publisher, prepares: Any) -> Any:
        if not done:
            done.append(publisher.branch)
            g.branches.delete("b")
            if again:
                g.branches.create("b")
        return publish_each(publisher, prepares)

    monkeypatch.setattr(Publisher, "publish_each", deleted_first)
    came = mutate_each(g, [asked(ADD, {"n": branch, "a": 2}, branch) for branch in ("main", "b", "main2", "b")])
    assert isinstance(came[0], og.Receipt)
    assert [isinstance(one, og.Receipt) for one in came[1:]] == [again, False, again]
    assert all(isinstance(one, og.NotFound) for one in came if isinstance(one, Exception))
    names = [row["p.name"] for row in g.query(READ).rows]
    assert sorted(names) == ["main", "warm main"]
    if again:  # twice the same: one commit, and one that changes nothing
        assert sorted(row["p.name"] for row in g.query(READ, branch="b").rows) == ["b", "warm main"]


def test_an_error_of_one_branch_is_not_that_of_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    g = og.init(tmp_path / "g", SCHEMA, durability="os")
    g.branches.create("b")
    publish_each = Publisher.publish_each

    def failing(publisher: Publisher, prepares: Any) -> Any:
        if publisher.branch == "b":
            raise og.StorageError("the disk is gone")
        return publish_each(publisher, prepares)

    monkeypatch.setattr(Publisher, "publish_each", failing)
    came = mutate_each(g, [asked(ADD, {"n": f"p{n}", "a": n}, "b" if n % 2 else "main") for n in range(4)])
    assert [type(one) for one in came] == [og.Receipt, og.StorageError] * 2
