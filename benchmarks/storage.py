"""What a commit costs, alone and in company, and whether that grows with history or data.

Baselines are peers, or the same thing at a smaller size, measured in the same run.
"""

from __future__ import annotations

import shutil
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from benchmarks.measuring import Measurement
from omnigraph.storage.changes import Append
from omnigraph.storage.graph_store import MAIN, GraphStore, NewTable
from omnigraph.storage.lineage import OpClass
from omnigraph.storage.manifest import SchemaDocument
from omnigraph.storage.place import Durability, Place
from omnigraph.storage.plan import PlannedChange, PublishPlan

COLUMNS = pa.schema([pa.field("id", pa.string(), nullable=False), pa.field("n", pa.int64())])
TABLE = "node:1-2"


@contextmanager
def graph(durability: Durability) -> Iterator[GraphStore]:
    """A graph in a folder of its own, on the disk of the working directory."""
    folder = Path(tempfile.mkdtemp(dir="."))
    try:
        place = Place.at(str(folder / "graph"), durability=durability)
        yield GraphStore.init(place, SchemaDocument("s", "", "{}"), [NewTable(TABLE, "nodes/1-2", COLUMNS)])
    finally:
        shutil.rmtree(folder)


def append(store: GraphStore, *ids: str) -> None:
    """Rows with fresh ids, as one commit."""
    snapshot = store.snapshot()
    rows = pa.table({"id": list(ids), "n": list(range(len(ids)))}, schema=COLUMNS)
    written = store.tables.open(snapshot.tables[TABLE]).write(rows)
    store.publish(MAIN, PublishPlan(OpClass.LOGICAL, "append", snapshot.commit, (PlannedChange(TABLE, Append(written)),)))


def times(action: Callable[[int], object], count: int) -> list[float]:
    """Milliseconds of each of several calls."""
    found = []
    for number in range(count):
        started = time.perf_counter()
        action(number)
        found.append((time.perf_counter() - started) * 1000)
    return found


def measure() -> list[Measurement]:
    """Time commits, branches and groups."""
    found: list[Measurement] = []
    with graph(Durability.FULL) as store:
        synced = statistics.median(times(lambda i: append(store, f"s{i}"), 40)[5:])
    with graph(Durability.OS) as store:
        unsynced = statistics.median(times(lambda i: append(store, f"u{i}"), 40)[5:])
        found.append(Measurement("one-row commit, durability os", unsynced, "the same, synced", synced, 5.0))
    found.append(Measurement("one-row commit, synced", synced, *duckdb_commit(), 15.0))
    found += [_depth(), _branch(), _group(synced)]
    return found


def duckdb_commit() -> tuple[str, float]:
    """One row, one transaction, in DuckDB on the same disk."""
    import duckdb

    folder = Path(tempfile.mkdtemp(dir="."))
    try:
        connection = duckdb.connect(str(folder / "peer.db"))
        connection.execute("create table t(id varchar primary key, n bigint)")
        taken = times(lambda i: connection.execute("insert into t values (?, ?)", [f"k{i}", i]), 40)
        connection.close()
        return "DuckDB insert", statistics.median(taken[5:])
    finally:
        shutil.rmtree(folder)


def _depth() -> Measurement:
    with graph(Durability.OS) as store:

        def publish(number: int) -> None:
            store.publish(MAIN, PublishPlan(OpClass.LOGICAL, "nothing", store.snapshot().commit))

        taken = times(publish, 2040)
    shallow, deep = statistics.median(taken[20:60]), statistics.median(taken[2000:2040])
    return Measurement("publish at depth 2,000", deep, "publish at depth 20", shallow, shallow * 1.3)


def _branch() -> Measurement:
    taken = {}
    for rows in (1_000, 1_000_000):
        with graph(Durability.OS) as store:
            append(store, *(f"k{i}" for i in range(rows)))
            taken[rows] = statistics.median(times(lambda i, s=store: s.create_branch(f"b{i}"), 15))  # type: ignore[misc]
    small, large = taken[1_000], taken[1_000_000]
    return Measurement("create a branch at 1 M rows", large, "create a branch at 1 k rows", small, small * 1.3)


def _group(alone: float) -> Measurement:
    threads, each = 16, 20
    with graph(Durability.FULL) as store:

        def write(name: int) -> None:
            for number in range(each):
                append(store, f"{name}-{number}")

        workers = [threading.Thread(target=write, args=(n,)) for n in range(threads)]
        started = time.perf_counter()
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        per_commit = (time.perf_counter() - started) * 1000 / (threads * each)
    return Measurement("a commit among 16 threads, synced", per_commit, "a commit alone, synced", alone, alone / 5)
