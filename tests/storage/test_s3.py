"""The same graph on an object store: same code, same answers, counted requests."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.storage.graphs import DOCUMENT, PEOPLE, SCHEMA, TABLES, content, delete, insert, overwrite, upsert
from tests.storage.s3 import Server, server

from omnigraph.errors import AlreadyExists, StorageError
from omnigraph.storage.effects import Call
from omnigraph.storage.graph_store import MAIN, GraphStore, NewTable
from omnigraph.storage.place import Place

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="module")
def s3() -> Iterator[Server]:
    with server() as running:
        yield running


def test_a_graph_on_s3_is_a_graph(s3: Server) -> None:
    store = GraphStore.init(s3.place("whole"), DOCUMENT, TABLES)
    first = insert(store, a=1, b=2)
    upsert(store, b=20)
    store.create_branch("agent/7", at=first.id)
    delete(store, "a", branch="agent/7")
    store.create_tag("v1", first.id)
    overwrite(store, z=9)
    again = GraphStore.open(s3.place("whole"))
    assert content(again) == {"z": 9}
    assert content(again, "agent/7") == {"b": 2}
    assert content(again, at="v1") == {"a": 1, "b": 2}
    assert again.branches() == ["agent/7", "main"]
    again.delete_branch("agent/7")
    again.delete_tag("v1")
    assert again.branches() == ["main"]
    with pytest.raises(AlreadyExists):
        GraphStore.init(s3.place("whole"), DOCUMENT, TABLES)


@pytest.mark.slow
def test_the_cost_of_an_insert_does_not_grow_with_history(s3: Server) -> None:
    store = GraphStore.init(s3.place("deep"), DOCUMENT, TABLES)
    warm: dict[int, int] = {}
    cold: dict[int, int] = {}
    number = 0
    for depth in (10, 60, 130):
        while number < depth:
            _append(store, number := number + 1)
        # The least of three: about one commit in thirty also folds small fragments, and pays for the others.
        warm[depth] = min(s3.count(lambda n=n: _append(store, n)) for n in range(number + 1, number + 4))  # type: ignore[misc]
        number += 3
        cold[depth] = min(
            s3.count(lambda n=n: _append(GraphStore.open(s3.place("deep")), n))  # type: ignore[misc]
            for n in range(number + 1, number + 4)
        )
        number += 3
        store.snapshot()
    assert max(warm.values()) <= 12, warm
    assert max(cold.values()) <= 20, cold
    assert max(warm.values()) - min(warm.values()) <= 1, warm
    assert max(cold.values()) - min(cold.values()) <= 1, cold


def _append(store: GraphStore, number: int) -> None:
    """One row with a fresh id: what the layer itself costs, without the engine's look at the key."""
    from tests.storage.graphs import rows

    from omnigraph.storage.changes import Append
    from omnigraph.storage.lineage import OpClass
    from omnigraph.storage.plan import PlannedChange, PublishPlan

    snapshot = store.snapshot()
    written = store.tables.open(snapshot.tables[PEOPLE]).write(rows(**{f"k{number}": number}))
    store.publish(MAIN, PublishPlan(OpClass.LOGICAL, "insert", snapshot.commit, (PlannedChange(PEOPLE, Append(written)),)))


def test_a_branch_costs_the_same_for_few_and_many_tables(s3: Server) -> None:
    costs = []
    for count in (2, 40):
        tables = [NewTable(f"node:{i}-{i}", f"nodes/{i}-{i}", SCHEMA) for i in range(count)]
        store = GraphStore.init(s3.place(f"wide{count}"), DOCUMENT, tables)
        store.snapshot()
        costs.append(s3.count(lambda s=store: s.create_branch("b")))  # type: ignore[misc]
    assert costs[0] == costs[1] <= 8


def test_a_warm_read_is_one_request(s3: Server) -> None:
    store = GraphStore.init(s3.place("warm"), DOCUMENT, TABLES)
    store.snapshot()
    assert s3.count(store.snapshot) == 1


def test_a_store_that_ignores_conditions_is_refused(s3: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    original = Place.put_new

    def careless(self: Place, path: str, data: bytes) -> None:
        try:
            original(self, path, data)
        except AlreadyExists:
            return  # what a store without If-None-Match does

    monkeypatch.setattr(Place, "put_new", careless)
    with pytest.raises(StorageError, match="ignores conditional puts"):
        GraphStore.init(s3.place("careless"), DOCUMENT, TABLES)


WRITER = """
import sys
from omnigraph.storage.graph_store import GraphStore
from omnigraph.storage.place import Place
from tests.storage.graphs import MAIN, PEOPLE, insert
from tests.storage.s3 import BUCKET, Server

store = GraphStore.open(Server(sys.argv[1]).place("shared"))
for i in range(int(sys.argv[3])):
    insert(store, MAIN, PEOPLE, **{f"{sys.argv[2]}{i}": i})
"""


@pytest.mark.slow
def test_two_processes_share_a_branch(s3: Server) -> None:
    GraphStore.init(s3.place("shared"), DOCUMENT, TABLES)
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, s3.endpoint, name, "8"], cwd=ROOT, env={"PYTHONPATH": "src:."})
        for name in ("a", "b")
    ]
    assert [w.wait(timeout=120) for w in writers] == [0, 0]
    store = GraphStore.open(s3.place("shared"))
    assert len(content(store)) == 16
    chain = store.commits()
    assert len(chain) == 17
    assert all(child.parent == parent.id for child, parent in itertools.pairwise(chain))


def test_nothing_is_synced_on_an_object_store(s3: Server) -> None:
    from omnigraph.storage.effects import Effects

    calls: list[Call] = []

    class Recording(Effects):
        def after(self, call: Call) -> None:
            calls.append(call)

    insert(GraphStore.init(s3.place("calls", Recording()), DOCUMENT, TABLES), a=1)
    assert Call.SYNC not in calls
