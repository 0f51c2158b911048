"""What a commit costs, alone and in company, and whether that grows with history or data.

Baselines are peers, or the same thing at a smaller size. The arms of a comparison take turns, a few calls each, so that whatever
else the machine does meanwhile hits all of them. Nothing is deleted before the end, and the graphs are made away from the working
directory: ext4 is slow at making new files near where many were just deleted, as tests do.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from itertools import count
from pathlib import Path

import pyarrow as pa

from benchmarks.measuring import Measurement, scratch_folder
from benchmarks.peers import PEERS, peer
from omnigraph.storage.commits.lineage import OpClass
from omnigraph.storage.commits.manifest import SchemaDocument
from omnigraph.storage.commits.plan import PlannedChange, PublishPlan, Replacement
from omnigraph.storage.files.place import Durability, Place
from omnigraph.storage.graph_store import MAIN, GraphStore, NewTable
from omnigraph.storage.rewriting.indexes import extend_indexes, key_indexes
from omnigraph.storage.tables.changes import Append

COLUMNS = pa.schema([pa.field("id", pa.string(), nullable=False), pa.field("n", pa.int64())])
TABLE = "node:1-2"
PROCESSES, EACH = 8, 50
THREADS = 16

"""A folder on a disk: `/tmp` may be in memory."""

Arm = Callable[[], object]


def graph(folder: Path, name: str, durability: Durability = Durability.OS) -> GraphStore:
    """A graph with one empty table."""
    place = Place.at(str(folder / name), durability=durability)
    return GraphStore.init(place, SchemaDocument("s", "", "{}"), [NewTable(TABLE, "nodes/1-2", COLUMNS)])


def append(store: GraphStore, *ids: str) -> None:
    """Rows with fresh ids, as one commit."""
    snapshot = store.snapshot()
    rows = pa.table({"id": list(ids), "n": list(range(len(ids)))}, schema=COLUMNS)
    written = store.tables.open(snapshot.tables[TABLE]).write(rows)
    store.publish(MAIN, PublishPlan(OpClass.LOGICAL, "append", snapshot.commit, (PlannedChange(TABLE, Append(written)),)))


def taken(action: Arm) -> float:
    """Milliseconds of one call."""
    started = time.perf_counter()
    action()
    return (time.perf_counter() - started) * 1000


def in_turns(arms: Mapping[str, Arm], rounds: int, warm_up: int = 5) -> dict[str, float]:
    """The median of each of several calls, which take turns."""
    found: dict[str, list[float]] = {name: [] for name in arms}
    for number in range(warm_up + rounds):
        for name, arm in arms.items():
            milliseconds = taken(arm)
            if number >= warm_up:
                found[name].append(milliseconds)
    return {name: statistics.median(times) for name, times in found.items()}


def measure() -> list[Measurement]:
    """Time commits, branches, lookups and writers in company."""
    folder = scratch_folder()
    return [m for suite in (_group, _commits, _depth, _branch, _lookup, _processes) for m in suite(folder)]


def _commits(folder: Path) -> list[Measurement]:
    """One row, one commit, beside other databases."""
    rounds, at_a_time = 12, 5
    numbers = count()
    stores = {d: graph(folder, f"commits-{d.value}", d) for d in Durability}
    with ExitStack() as stack:
        arms: dict[str, Callable[[int], list[float]]] = {
            name: stack.enter_context(peer(name, folder / f"peer-{name}")) for name in PEERS
        }
        for durability, store in stores.items():
            arms[durability.value] = lambda n, s=store: [taken(lambda: append(s, f"k{next(numbers)}")) for _ in range(n)]  # type: ignore[misc]
        times: dict[str, list[float]] = {name: [] for name in arms}
        for number in range(rounds + 1):
            for name, arm in arms.items():
                times[name] += arm(at_a_time) if number else arm(at_a_time)[:0]
    median = {name: statistics.median(found) for name, found in times.items()}
    synced, unsynced = median["full"], median["os"]
    return [
        *(Measurement("one-row commit, synced", synced, f"{name} insert", median[name], 15.0) for name in PEERS),
        Measurement("one-row commit, durability os", unsynced, "the same, synced", synced, 5.0),
    ]


def _group(folder: Path) -> list[Measurement]:
    """Writes of many threads, each a commit of its own."""
    store = graph(folder, "group", Durability.FULL)
    numbers = count()

    def write(commits: int) -> None:
        for _ in range(commits):
            append(store, f"k{next(numbers)}")

    def together() -> None:
        workers = [threading.Thread(target=write, args=(8,)) for _ in range(THREADS)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()

    found = in_turns({"alone": lambda: write(16), "together": together}, rounds=10, warm_up=1)
    alone, grouped = found["alone"] / 16, found["together"] / (THREADS * 8)
    return [Measurement(f"a commit among {THREADS} threads, synced", grouped, "a commit alone, synced", alone, alone / 5)]


def _depth(folder: Path) -> list[Measurement]:
    """The same publish after a short and a long history."""
    stores = {depth: graph(folder, f"depth-{depth}") for depth in (20, 2_000)}

    def publish(store: GraphStore) -> None:
        store.publish(MAIN, PublishPlan(OpClass.LOGICAL, "nothing", store.snapshot().commit))

    for depth, store in stores.items():
        for _ in range(depth - 5):
            publish(store)
    # Twice as many as a tail holds: each of them packs its tail about as often.
    found = in_turns({str(depth): lambda s=store: publish(s) for depth, store in stores.items()}, rounds=128)  # type: ignore[misc]
    shallow, deep = found["20"], found["2000"]
    return [Measurement("publish at depth 2,000", deep, "publish at depth 20", shallow, shallow * 1.3)]


def _branch(folder: Path) -> list[Measurement]:
    """A branch of a small graph and of a large one."""
    numbers = count()
    stores = {rows: graph(folder, f"branch-{rows}") for rows in (1_000, 1_000_000)}
    for rows, store in stores.items():
        append(store, *(f"k{i}" for i in range(rows)))
    arms = {str(rows): lambda s=store: s.create_branch(f"b{next(numbers)}") for rows, store in stores.items()}
    found = in_turns(arms, rounds=30)
    small, large = found["1000"], found["1000000"]
    return [Measurement("create a branch at 1 M rows", large, "create a branch at 1 k rows", small, small * 1.3)]


def _lookup(folder: Path) -> list[Measurement]:
    """A row by its id, after one bulk load and after many small writes on top of it."""
    numbers = count()
    stores = {commits: graph(folder, f"lookup-{commits}") for commits in (0, 500)}
    for commits, store in stores.items():
        append(store, *(f"k{i}" for i in range(100_000)))
        snapshot = store.snapshot()
        state = snapshot.tables[TABLE]
        indexed = Replacement(TABLE, state.pin, extend_indexes(store.tables, state, key_indexes(COLUMNS)))
        store.publish(MAIN, PublishPlan(OpClass.MAINTENANCE, "index", snapshot.commit, replacements=(indexed,)))
        for i in range(commits):
            append(store, f"late{i}")

    def look_up(store: GraphStore) -> None:
        found = store.tables.open(store.snapshot().tables[TABLE]).lookup([f"k{next(numbers) * 7919 % 100_000}"])
        assert found.num_rows == 1

    found = in_turns({str(commits): lambda s=store: look_up(s) for commits, store in stores.items()}, rounds=300)  # type: ignore[misc]
    return [
        Measurement(
            "look up an id after 500 one-row commits", found["500"], "look up an id after none", found["0"], found["0"] * 2
        )
    ]


def _processes(folder: Path) -> list[Measurement]:
    """Writers of several processes on one branch: how long the unlucky wait."""
    graph(folder, "processes", Durability.FULL)
    command = [sys.executable, "-m", "benchmarks.storage", str(folder / "processes")]
    children = [
        subprocess.Popen([*command, f"p{n}-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for n in range(PROCESSES)
    ]
    for child in children:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
    answers = []
    for child in children:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    for child in children:
        answers.append(child.communicate()[0])
        assert child.returncode == 0
    commits = GraphStore.open(Place.at(str(folder / "processes"))).commits()
    assert len(commits) == PROCESSES * EACH + 1
    times = sorted(t for answer in answers for t in json.loads(answer))
    half, most = times[len(times) // 2], times[len(times) * 99 // 100]
    name = f"a commit among {PROCESSES} processes"
    return [Measurement(f"{name}, slowest of 100", most, f"{name}, median", half, half * 10)]


def _write_among_others(folder: str, prefix: str) -> None:
    store = GraphStore.open(Place.at(folder))
    print("ready", flush=True)
    sys.stdin.readline()
    print(json.dumps([taken(lambda n=n: append(store, f"{prefix}{n}")) for n in range(EACH)]))  # type: ignore[misc]


if __name__ == "__main__":
    _write_among_others(*sys.argv[1:])
