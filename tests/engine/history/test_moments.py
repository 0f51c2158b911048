"""The state of a graph at a time: by the lineage, not by the clocks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.storage.files.place import Durability, Place
from omnigraph.storage.graph_store import GraphStore

SCHEMA = "node Person { name: String @key  age: I32? }"
AGE = 'query q() { match { $p: Person { name: "Ada" } } return { $p.age } }'
NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)


class Set:
    """A clock that is set."""

    def __init__(self) -> None:
        self.time = NOON

    def now(self) -> datetime:
        return self.time


@pytest.fixture
def clock() -> Set:
    return Set()


@pytest.fixture
def g(tmp_path: Path, clock: Set) -> og.Graph:
    og.init(tmp_path / "g", SCHEMA, durability="os").close()
    place = Place.at(str(tmp_path / "g"), durability=Durability.OS)
    return og.Graph(GraphStore.open(place, clock=clock), reopen=og.open, save_from=None)


def age(g: og.Graph, **at: object) -> int | None:
    rows = g.query(AGE, **at).rows  # type: ignore[arg-type]
    return rows[0]["p.age"] if rows else None


def put(g: og.Graph, clock: Set, minutes: float, age: int, branch: str = "main") -> None:
    clock.time = NOON + timedelta(minutes=minutes)
    g.put("Person", {"name": "Ada", "age": age}, branch=branch)


def after(minutes: float) -> datetime:
    return NOON + timedelta(minutes=minutes)


def test_a_time_gives_the_newest_commit_that_is_not_later(g: og.Graph, clock: Set) -> None:
    for minutes in (1, 2, 3):
        put(g, clock, minutes, minutes)
    assert [age(g, at=after(m)) for m in (1, 1.5, 2, 2.999, 3, 99)] == [1, 1, 2, 2, 3, 3]
    spelt = ["2024-05-01T12:02:00Z", "2024-05-01T14:02:30+02:00", "2024-05-01 12:02:59", "main@2024-05-01T12:02:00Z"]
    assert [age(g, at=text) for text in spelt] == [2, 2, 2, 2]
    assert age(g, at=datetime(2024, 5, 1, 12, 2)) == 2
    assert age(g, at=datetime(2024, 5, 1, 14, 2, tzinfo=timezone(timedelta(hours=2)))) == 2
    assert age(g, at=after(2) + timedelta(microseconds=1)) == 2
    assert age(g, at="2024-05-02") == 3


def test_clocks_may_run_backwards(g: og.Graph, clock: Set) -> None:
    for number, minutes in enumerate((1, 5, 3, 10)):
        put(g, clock, minutes, number)
    assert [age(g, at=after(m)) for m in (1, 2, 3, 4, 5, 6, 10)] == [0, 0, 2, 2, 2, 2, 3]


def test_a_branch_at_a_time(g: og.Graph, clock: Set) -> None:
    put(g, clock, 1, 1)
    g.branches.create("agent/7")
    put(g, clock, 2, 2)
    put(g, clock, 3, 30, "agent/7")
    assert age(g, at=after(3)) == 2
    assert age(g, branch="agent/7", at=after(3)) == age(g, at="agent/7@2024-05-01T12:03:00Z") == 30
    assert age(g, branch="agent/7", at=after(2)) == 1  # before its first commit it is what it was made of
    assert g.query(AGE, branch="agent/7", at=after(3)).snapshot == "agent/7@2024-05-01T12:03:00.000000Z"
    with pytest.raises(og.NotFound, match="no branch `nope`"):
        age(g, branch="nope", at=after(3))
    with pytest.raises(og.UsageError, match="not both"):
        age(g, branch="agent/7", at=g.commits()[0])
    with pytest.raises(og.UsageError, match="not both"):
        age(g, branch="agent/7", at="main@2024-05-01")


def test_wherever_a_state_is_named(g: og.Graph, clock: Set) -> None:
    for minutes in (1, 2):
        put(g, clock, minutes, minutes)
    then = after(1)
    assert g.diff(then, "main").stats.updates == 1
    assert g.commit(then).id == g.commits()[1].id
    assert g.get("Person", "Ada", at=then)["age"] == 1  # type: ignore[index]
    assert g.session(at=then).graph_commit_id == g.commits()[1].id
    g.branches.create("then", from_=then)
    assert age(g, branch="then") == 1
    assert g.tags.create("one", then).commit == g.commits()[1].id
    assert age(g, at="one") == 1


def test_names_come_first(g: og.Graph, clock: Set) -> None:
    for minutes in (1, 2):
        put(g, clock, minutes, minutes)
    g.tags.create("2024-06-01", g.commits()[1])
    assert age(g, at="2024-06-01") == 1
    assert age(g, at="2024-06-02") == 2


def test_a_time_before_the_graph_and_one_that_is_none(g: og.Graph, clock: Set) -> None:
    put(g, clock, 1, 1)
    with pytest.raises(og.NotFound, match=r"no graph at 2001-01-01: it began at 20"):
        age(g, at="2001-01-01")
    with pytest.raises(og.NotFound, match="13 is not a month"):
        age(g, at="2001-13-01")
    with pytest.raises(og.NotFound, match="no branch, tag or commit `soon`"):
        age(g, at="soon")


def test_maintenance_is_nobodys_time(g: og.Graph, clock: Set) -> None:
    put(g, clock, 1, 1)
    clock.time = after(2)
    g.optimize()
    assert g.query(AGE, at=after(3)).graph_commit_id == g.commits()[0].id
