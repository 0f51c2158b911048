"""Several processes at one review, and processes that die in the middle: nothing is lost, and a review is merged once."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from tests import children
from tests.storage.crashing import Counting, Moment, Striking

import omnigraph as og
from omnigraph.storage.files.effects import Call, Effects
from omnigraph.storage.files.place import Durability, Place
from omnigraph.storage.graph_store import GraphStore

SCHEMA = "node Person { name: String @key }"


def make(folder: Path) -> Path:
    """A review that is approved, of a branch that has diverged from main."""
    with og.init(folder, SCHEMA, durability="os") as g:
        g.put("Person", {"name": "Ada"})
        g.branches.create("work")
        g.put("Person", {"name": "Bob"}, branch="work")
        g.put("Person", {"name": "Cid"})
        g.reviews.approve(g.reviews.create("work", title="Bob", actor="agent"), actor="eve")
    return folder


def comment(place: str, name: str, times: int) -> None:
    """For a process of its own."""
    with og.open(place, durability="os") as g:
        for number in range(times):
            g.reviews.comment(1, f"{name}{number}", actor=name)
            g.reviews.create("work", title=f"{name}{number}", actor=name)


def merge(place: str, name: str) -> None:
    """The same: merges, and leaves what came of it in a file."""
    with og.open(place, durability="os") as g:
        try:
            g.reviews.merge(1, actor=name)
            told = "merged"
        except og.ReviewOver as over:
            told = f"told {over.commit}"
        (Path(place).parent / f"{name}.txt").write_text(told)


def people(graph: og.Graph) -> list[str]:
    return sorted(r["p.name"] for r in graph.query("query q() { match { $p: Person } return { $p.name } }").rows)


@pytest.mark.slow
def test_processes_that_talk_and_open_reviews_at_once_lose_nothing(tmp_path: Path) -> None:
    place, times, names = str(make(tmp_path / "g")), 8, ("a", "b", "c")
    running = [children.started(comment, place, name, times) for name in names]
    for process in running:
        process.join(120)
        assert process.exitcode == 0
    with og.open(place) as g:
        said = [(c.actor, c.text) for c in g.reviews.get(1).comments]
        assert sorted(said) == sorted((name, f"{name}{number}") for name in names for number in range(times))
        for name in names:
            assert [text for actor, text in said if actor == name] == [f"{name}{number}" for number in range(times)]
        others = [r for r in g.reviews.list() if r.id != 1]
        assert [r.id for r in others] == list(range(len(names) * times + 1, 1, -1))
        assert {r.title for r in others} == {text for _, text in said}
        assert g.verify().problems == ()


@pytest.mark.slow
def test_of_processes_that_merge_at_once_one_does_and_the_others_are_told(tmp_path: Path) -> None:
    for number in range(2):
        place = str(make(tmp_path / str(number) / "g"))
        names = ("a", "b", "c")
        running = [children.started(merge, place, name) for name in names]
        for process in running:
            process.join(120)
            assert process.exitcode == 0
        told = {name: (tmp_path / str(number) / f"{name}.txt").read_text() for name in names}
        with og.open(place) as g:
            done = g.reviews.get(1).merge
            assert done is not None
            assert sorted(told.values()) == ["merged", *[f"told {done.commit}"] * 2]
            assert told[str(done.actor)] == "merged"
            assert [c.operation for c in g.commits(limit=2)] == ["merge", "mutate"]
            assert people(g) == ["Ada", "Bob", "Cid"]


# ── killed ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────

OPERATIONS: dict[str, Callable[[og.Graph], og.Review]] = {
    "create": lambda g: g.reviews.create("work", title="again", actor="ada"),
    "comment": lambda g: g.reviews.comment(1, "hm", actor="ada"),
    "approve": lambda g: g.reviews.approve(1, actor="ada"),
    "close": lambda g: g.reviews.close(1, actor="ada"),
    "merge": lambda g: g.reviews.merge(1, actor="ada"),
}


def opened(place: str, effects: Effects) -> og.Graph:
    """The graph at a place, whose durable calls are watched."""
    store = GraphStore.open(Place.at(place, durability=Durability.FULL, effects=effects))
    return og.Graph(store, reopen=og.open)


def perform(name: str, place: str, number: int) -> None:
    """For a process of its own, which dies after the n-th durable call."""
    effects = Striking(number, Moment.AFTER, lambda: os.kill(os.getpid(), signal.SIGKILL))
    OPERATIONS[name](opened(place, effects))


def seen(graph: og.Graph) -> tuple[object, ...]:
    """All there is to see of reviews, and of what they merge into, apart from ids and times."""
    reviews = [
        (r.id, r.state, [(e.kind, e.actor) for e in r.events], r.merge and (r.merge.actor, r.merge.approved_by))
        for r in graph.reviews.list()
    ]
    return reviews, people(graph)


@pytest.mark.slow
@pytest.mark.parametrize("name", OPERATIONS)
def test_a_process_killed_at_any_durable_call_leaves_the_review_as_it_was_or_as_it_was_to_be(tmp_path: Path, name: str) -> None:
    template = make(tmp_path / "template")
    with og.open(template, read_only=True) as g:
        old = seen(g)
    counting = Counting()
    shutil.copytree(template, tmp_path / "done")
    with opened(str(tmp_path / "done"), counting) as g:
        OPERATIONS[name](g)
        new = seen(g)
    assert new != old
    states = []
    for number in [n for n, call in enumerate(counting.calls, 1) if call is not Call.SYNC]:
        place = tmp_path / f"{number}"
        shutil.copytree(template, place)
        child = children.started(perform, name, str(place), number)
        child.join(60)
        assert child.exitcode == -signal.SIGKILL
        with og.open(place) as g:
            states.append(seen(g))
            assert states[-1] in (old, new), f"{name} killed after call {number}"
            assert g.verify(deep=True).problems == ()
            merged = states[-1] == new and name == "merge"
            try:
                OPERATIONS[name](g)
            except og.ReviewOver:
                assert states[-1] == new
            if name == "merge":
                assert seen(g) == new
                assert [c.operation for c in g.commits(limit=2)] == ["merge", "mutate"], "merged once"
                assert merged or states[-1] == old
            else:
                g.reviews.comment(1, "and on", actor="eve")
            g.cleanup(keep=1, dry_run=False)
            assert g.reviews.get(1).id == 1
        shutil.rmtree(place)
    assert states[-1] == new
    assert states == sorted(states, key=lambda state: state == new), "once it is done it stays done"
