"""One process inserts without pause. Whatever another one wants to do to the same type gets done, and soon.

Each operation is tried as its callers do: merges, reverts and schema changes repeat themselves; an update or delete that was
overtaken says so (`ReadSetChanged`) and is repeated here.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from threading import Thread, get_ident

import pytest
from tests import children
from tests.storage.crashing import scratch_folder
from tests.storage.s3 import server

import omnigraph as og
from omnigraph.errors import ReadSetChanged
from omnigraph.storage.commits import reservations
from omnigraph.storage.commits.manifest import Reservation

SCHEMA = """
node Person { name: String @key  age: I32? }
edge Knows: Person -> Person
"""
TRIES = 6
"""Times an overtaken write is repeated at most: it has to lose twice, and then has a turn."""

FULL = "query q() { match { $p: Person } return { count($p) as n } }"
UPDATE = "query q($age: I32) { update Person set { age: $age } where age = 1 }"
DELETE = "query q() { delete Person where age = 1 }"


@pytest.fixture
def graph() -> Iterator[og.Graph]:
    with scratch_folder() as folder:
        g = og.init(str(folder / "g"), SCHEMA)
        g.load([{"type": "Person", "data": {"name": f"p{n}", "age": n % 3}} for n in range(300)])
        yield g


def _insert(test: Connection, path: str, options: dict[str, str]) -> None:
    g, made = og.open(path, storage_options=options), 0
    longest = 0.0
    test.send("ready")
    while not test.poll():
        begun = time.monotonic()
        try:
            g.mutate("query q($n: String) { insert Person { name: $n } }", {"n": f"i{made}"})
        except ReadSetChanged:  # another schema
            continue
        longest = max(longest, time.monotonic() - begun)
        made += 1
        if made == 5:
            test.send("under way")
    test.send((made, longest))


@contextmanager
def inserting(graph: og.Graph) -> Iterator[list[tuple[int, float]]]:
    """Another process that inserts all the time; in the end what it did: how many, and how long the slowest took."""
    done: list[tuple[int, float]] = []
    ours, theirs = children.CONTEXT.Pipe()
    child = children.started(_insert, theirs, graph._store.place.uri, dict(graph._store.place.options))
    theirs.close()
    try:
        assert [ours.recv(), ours.recv()] == ["ready", "under way"]
        yield done
        ours.send("enough")
        done.append(ours.recv())
    finally:
        child.kill()
        child.join()


def repeated(write: Callable[[], object]) -> int:
    """Do it until it is done; how often it took."""
    for number in range(1, TRIES + 1):
        try:
            write()
        except ReadSetChanged:
            continue
        return number
    raise AssertionError(f"overtaken {TRIES} times")


def merge(g: og.Graph) -> None:
    g.merge("work")


def revert(g: og.Graph) -> None:
    g.revert(g.commits(limit=200)[-2].id)


def schema(g: og.Graph) -> None:
    g.apply_schema(SCHEMA.replace("age: I32?", "age: I32?  city: String?"))


OPERATIONS: dict[str, Callable[[og.Graph], object]] = {
    "update": lambda g: g.mutate(UPDATE, {"age": 7}),
    "delete": lambda g: g.mutate(DELETE),
    "merge": merge,
    "revert": revert,
    "schema": schema,
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_who_is_overtaken_again_and_again_gets_a_turn(graph: og.Graph, name: str) -> None:
    graph.branches.create("work")
    graph.mutate("query q() { update Person set { age: 9 } where age = 2 }", branch="work")
    with inserting(graph) as done:
        begun = time.monotonic()
        for _ in range(3 if name in ("update", "delete") else 1):
            repeated(lambda: OPERATIONS[name](graph))
        seconds = time.monotonic() - begun
    assert seconds < 20
    ((made, longest),) = done
    assert made > 5, "who inserts is served, too"
    assert longest < reservations.LONGEST
    assert graph.query(FULL).rows[0]["n"] >= made


def _reserve(test: Connection, path: str) -> None:
    store = og.open(path)._store
    held = store.publisher("main").reservations
    held.lost(time.monotonic() - 100)
    held.lost(time.monotonic())
    test.send("reserved")
    time.sleep(60)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_a_process_that_dies_with_a_turn_holds_nobody_up(graph: og.Graph, how: signal.Signals) -> None:
    ours, theirs = children.CONTEXT.Pipe()
    child = children.started(_reserve, theirs, graph._store.place.uri)
    theirs.close()
    try:
        assert ours.recv() == "reserved"
        assert child.pid is not None
        os.kill(child.pid, how)
        waited = []
        for n in range(3):
            begun = time.monotonic()
            graph.mutate(f'query q() {{ insert Person {{ name: "late{n}" }} }}')
            waited.append(time.monotonic() - begun)
    finally:
        child.kill()
        child.join()
    assert reservations.STILL <= waited[0] < reservations.STILL + 2
    assert max(waited[1:]) < reservations.STILL


def test_a_turn_ends_with_the_write_it_was_for(graph: og.Graph) -> None:
    held = graph._store.publisher("main").reservations
    for _ in range(reservations.LOSSES):
        held.lost(time.monotonic())
    manifest = graph._store.manifest(graph._store.ref("main"))
    assert isinstance(manifest.load().head.reserved, Reservation)
    commits = len(graph.commits())
    graph.mutate(DELETE)
    assert manifest.load().head.reserved is None
    assert len(graph.commits()) == commits + 1, "a reservation is no commit"


def test_a_turn_nobody_uses_is_given_back(graph: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reservations, "SHORTEST", 0.1)
    held = graph._store.publisher("main").reservations
    for _ in range(reservations.LOSSES):
        held.lost(time.monotonic())
    manifest = graph._store.manifest(graph._store.ref("main"))
    until = time.monotonic() + 10
    while manifest.load().head.reserved is not None:
        assert time.monotonic() < until
        time.sleep(0.01)


def test_a_thread_with_the_number_of_one_that_ended_does_not_have_its_turn() -> None:
    """Threads that follow one another often have one number."""
    numbers, told = list[int](), list[int]()

    def note() -> None:
        numbers.append(get_ident())
        told.append(reservations._this_thread())
        assert reservations._this_thread() == told[-1]

    for _ in range(50):
        thread = Thread(target=note)
        thread.start()
        thread.join()
    assert len(set(numbers)) < 50, "otherwise this tells nothing"
    assert len(set(told)) == 50


@pytest.mark.slow
def test_processes_reserve_a_branch_on_an_object_store_as_well() -> None:
    with server() as s3:
        g = og.init(s3.place().uri, SCHEMA, storage_options=s3.options)
        g.load([{"type": "Person", "data": {"name": f"p{n}", "age": n % 3}} for n in range(30)])
        with inserting(g) as done:
            begun = time.monotonic()
            for age in (1, 1):
                repeated(lambda age=age: g.mutate(UPDATE, {"age": age}))  # type: ignore[misc]
            seconds = time.monotonic() - begun
        assert seconds < 60
        assert g.query(FULL).rows == [{"n": 30 + done[0][0]}], "what was acknowledged is there"
        assert g.verify(deep=True).problems == ()
