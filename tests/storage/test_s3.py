"""The same graph on an object store: same code, same answers, counted requests."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.storage.crashing import scratch_folder
from tests.storage.graphs import DOCUMENT, PEOPLE, SCHEMA, TABLES, content, delete, insert, overwrite, rows, upsert
from tests.storage.s3 import Server, server

from omnigraph.errors import AlreadyExists, StorageError, UsageError
from omnigraph.storage.commits.lineage import OpClass
from omnigraph.storage.commits.plan import PlannedChange, PublishPlan
from omnigraph.storage.files.effects import Call
from omnigraph.storage.files.place import Durability, Place
from omnigraph.storage.graph_store import MAIN, GraphStore, NewTable
from omnigraph.storage.tables.changes import Append
from omnigraph.storage.tables.needed_files import files_of, manifest_files

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="module")
def s3() -> Iterator[Server]:
    with server() as running:
        yield running


@pytest.fixture
def scratch() -> Iterator[Path]:
    with scratch_folder() as folder:
        yield folder


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


def _deep(s3: Server, folder: Path, depth: int) -> str:
    """A graph with a history of some depth on the server: made on the disk, and moved there with every version of its manifest."""
    where = Place.at(str(folder / f"deep{depth}"), durability=Durability.OS)
    store = GraphStore.init(where, DOCUMENT, TABLES)
    for number in range(depth - 1):
        if number < depth - 50:  # what a commit changed does not matter to those after it
            store.publish(MAIN, PublishPlan(OpClass.LOGICAL, "nothing", store.snapshot().commit))
        else:
            _append(store, number)
    (ref,) = store.refs()
    manifest = store.manifest(ref)
    needed = {path for state in store.snapshot().tables.values() for path in files_of(store.tables.open(state))}
    needed |= manifest_files(where, manifest.location, manifest.load().version, store.tables.session)
    needed |= {o.path for folder in ("__refs", f"{manifest.location}/_versions") for o in where.objects(folder)}
    target = s3.place(f"deep{depth}")
    for path in sorted(needed):
        if (file := Path(where.child(path))).exists():
            target.put(path, file.read_bytes())
    return f"deep{depth}"


@pytest.mark.slow
def test_the_cost_of_an_insert_does_not_grow_with_history(s3: Server, scratch: Path) -> None:
    warm: dict[int, int] = {}
    cold: dict[int, int] = {}
    for depth in (10, 1_000):
        graph = _deep(s3, scratch, depth)
        store = GraphStore.open(s3.place(graph))
        assert len(store.commits()) == depth
        _append(store, depth)
        # The least of three: about one commit in thirty also folds small fragments, and pays for the others.
        warm[depth] = min(s3.count(lambda n=n, s=store: _append(s, n)) for n in range(depth + 1, depth + 4))  # type: ignore[misc]
        cold[depth] = min(
            s3.count(lambda n=n, g=graph: _append(GraphStore.open(s3.place(g)), n))  # type: ignore[misc]
            for n in range(depth + 4, depth + 7)
        )
    assert max(warm.values()) <= 12, warm
    assert max(cold.values()) <= 20, cold
    assert abs(warm[10] - warm[1_000]) <= 1, warm
    assert abs(cold[10] - cold[1_000]) <= 1, cold


def _append(store: GraphStore, number: int) -> None:
    """One row with a fresh id: what the layer itself costs, without the engine's look at the key."""
    snapshot = store.snapshot()
    written = store.tables.open(snapshot.tables[PEOPLE]).write(rows(**{f"k{number}": number}))
    store.publish(MAIN, PublishPlan(OpClass.LOGICAL, "insert", snapshot.commit, (PlannedChange(PEOPLE, Append(written)),)))


def test_a_branch_costs_the_same_for_few_and_many_tables(s3: Server, tmp_path: Path) -> None:
    costs = []
    for count in (5, 200):
        tables = [NewTable(f"node:{i}-{i}", f"nodes/{i}-{i}", SCHEMA) for i in range(count)]
        GraphStore.init(Place.at(str(tmp_path / f"wide{count}"), durability=Durability.OS), DOCUMENT, tables)
        target = s3.place(f"wide{count}")
        for path in (
            p for name in ("__manifest", "__refs") for p in (tmp_path / f"wide{count}" / name).rglob("*") if p.is_file()
        ):
            target.put(str(path.relative_to(tmp_path / f"wide{count}")), path.read_bytes())
        store = GraphStore.open(s3.place(f"wide{count}"))
        store.snapshot()
        costs.append(s3.count(lambda s=store: s.create_branch("b")))  # type: ignore[misc]
    assert costs[0] == costs[1] <= 15


def test_a_branch_costs_the_same_beside_few_and_many_others(s3: Server) -> None:
    store = GraphStore.init(s3.place("many"), DOCUMENT, TABLES)
    costs = [s3.count(lambda n=n: store.create_branch(f"agent/{n}")) for n in range(8)]  # type: ignore[misc]
    assert len(set(costs[1:])) == 1, costs
    with pytest.raises(UsageError):
        store.create_branch("agent")
    with pytest.raises(AlreadyExists):
        store.create_branch("agent/7")


def test_a_name_that_was_removed_can_be_given_again_by_one_and_a_slow_deleter_does_not_remove_it(s3: Server) -> None:
    store = GraphStore.init(s3.place("names"), DOCUMENT, TABLES)
    store.create_branch("work")
    slow = s3.place("names")
    path, said = "__refs/work", slow.get("__refs/work")
    store.delete_branch("work")
    assert store.branches() == ["main"]
    other = GraphStore.open(s3.place("names"))
    insert(store, a=1)
    store.create_branch("work")
    with pytest.raises(AlreadyExists):
        other.create_branch("work")
    slow.remove(path, said)
    assert other.branches() == ["main", "work"]
    assert content(other, "work") == {"a": 1}
    with pytest.raises(AlreadyExists):
        slow.put_new(path, b"another")
    store.delete_branch("work")
    assert s3.count(lambda: store.create_branch("work")) <= 15  # as for a name that was never used


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
from omnigraph.storage.commits.lineage import OpClass
from omnigraph.storage.files.place import Durability, Place
from omnigraph.storage.commits.plan import PlannedChange, PublishPlan
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
    from omnigraph.storage.files.effects import Effects

    calls: list[Call] = []

    class Recording(Effects):
        def after(self, call: Call) -> None:
            calls.append(call)

    insert(GraphStore.init(s3.place("calls", Recording()), DOCUMENT, TABLES), a=1)
    assert Call.SYNC not in calls
