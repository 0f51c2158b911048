"""One row, one durable transaction, in other databases: what a commit of ours is measured beside.

Each peer runs in a process of its own (two of them cannot be loaded into one) and waits for its turn, so that a run can go round
the databases again and again and whatever else the machine does hits all of them. A line with a number on its standard input asks
for that many inserts; the answer is a line with the milliseconds of each.

All three write ahead and sync the log before a commit returns, as ours does with `durability="full"`.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

Insert = Callable[[str, int], object]


def duckdb(folder: Path) -> Insert:
    """A table with a primary key in DuckDB."""
    import duckdb

    connection = duckdb.connect(str(folder / "peer.db"))
    connection.execute("create table t(id varchar primary key, n bigint)")
    return lambda key, n: connection.execute("insert into t values (?, ?)", [key, n])


def kuzu(folder: Path) -> Insert:
    """A node table with a primary key in Kùzu."""
    import kuzu

    return _cypher(kuzu.Connection(kuzu.Database(str(folder / "peer.db"))).execute)


def ladybug(folder: Path) -> Insert:
    """A node table with a primary key in Ladybug."""
    import ladybug

    return _cypher(ladybug.Connection(ladybug.Database(str(folder / "peer.db"))).execute)


def _cypher(execute: Callable[..., object]) -> Insert:
    execute("CREATE NODE TABLE T(id STRING, n INT64, PRIMARY KEY (id))")
    return lambda key, n: execute("CREATE (:T {id: $id, n: $n})", {"id": key, "n": n})


PEERS: dict[str, Callable[[Path], Insert]] = {"DuckDB": duckdb, "Kùzu": kuzu, "Ladybug": ladybug}


@contextmanager
def peer(name: str, folder: Path) -> Iterator[Callable[[int], list[float]]]:
    """A running peer: gives the milliseconds of some more one-row inserts."""
    folder.mkdir()
    command = [sys.executable, "-m", "benchmarks.peers", name, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:

        def insert(count: int) -> list[float]:
            assert child.stdin is not None
            assert child.stdout is not None
            child.stdin.write(f"{count}\n")
            child.stdin.flush()
            taken: list[float] = json.loads(child.stdout.readline())
            return taken

        yield insert


def _serve(name: str, folder: Path) -> None:
    insert, number = PEERS[name](folder), 0
    for line in sys.stdin:
        taken = []
        for _ in range(int(line)):
            started = time.perf_counter()
            insert(f"k{number}", number)
            taken.append((time.perf_counter() - started) * 1000)
            number += 1
        print(json.dumps(taken), flush=True)


if __name__ == "__main__":
    _serve(sys.argv[1], Path(sys.argv[2]))
