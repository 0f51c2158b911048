"""One row, one durable transaction, in other databases: what a commit of ours is measured beside.

Each peer runs in a process of its own (two of them cannot be loaded into one) and waits for its turn, so that a run can go round
the databases again and again and whatever else the machine does hits all of them. A line on its standard input names a kind of
change and how many of them; the answer is a line with the milliseconds of each. What is updated, deleted or joined by an edge
was there before and is another row each time.

All three write ahead and sync the log before a commit returns, as ours does with `durability="full"`.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Literal, Protocol, get_args

Kind = Literal["insert", "edge", "update", "delete"]
KINDS: tuple[Kind, ...] = get_args(Kind)
PEOPLE = 1_000
"""Rows that are there before."""

Change = Callable[[Kind, int], object]


class Peer(Protocol):
    """Gives the milliseconds of some more changes of a kind."""

    def __call__(self, how_many: int, kind: Kind = "insert") -> list[float]: ...


def duckdb(folder: Path) -> Change:
    """Two tables in DuckDB: one with a primary key, one that refers to it."""
    import duckdb

    connection = duckdb.connect(str(folder / "peer.db"))
    connection.execute("create table t(id varchar primary key, n bigint)")
    connection.execute("create table e(src varchar, dst varchar)")
    connection.execute(f"insert into t select 'p' || i, i from range({PEOPLE}) r(i)")
    texts: dict[Kind, str] = {
        "insert": "insert into t values ('k' || ?, 1)",
        "edge": "insert into e select 'p' || (x % 1000), 'p0' from (select ? as x)",
        "update": "update t set n = -1 where id = 'p' || ?",
        "delete": "delete from t where id = 'p' || ?",
    }
    return lambda kind, number: connection.execute(texts[kind], [number])


def kuzu(folder: Path) -> Change:
    """A node table with a primary key and a relationship in Kùzu."""
    import kuzu

    return _cypher(kuzu.Connection(kuzu.Database(str(folder / "peer.db"))).execute)


def ladybug(folder: Path) -> Change:
    """A node table with a primary key and a relationship in Ladybug."""
    import ladybug

    return _cypher(ladybug.Connection(ladybug.Database(str(folder / "peer.db"))).execute)


def _cypher(execute: Callable[..., object]) -> Change:
    execute("CREATE NODE TABLE T(id STRING, n INT64, PRIMARY KEY (id))")
    execute("CREATE REL TABLE E(FROM T TO T)")
    execute(f"UNWIND range(0, {PEOPLE - 1}) AS i CREATE (:T {{id: 'p' + CAST(i AS STRING), n: i}})")
    texts: dict[Kind, str] = {
        "insert": "CREATE (:T {id: $id, n: 1})",
        "edge": "MATCH (a:T {id: $id}), (b:T {id: 'p0'}) CREATE (a)-[:E]->(b)",
        "update": "MATCH (a:T {id: $id}) SET a.n = -1",
        "delete": "MATCH (a:T {id: $id}) DELETE a",
    }
    return lambda kind, number: execute(texts[kind], {"id": f"k{number}" if kind == "insert" else f"p{number}"})


PEERS: dict[str, Callable[[Path], Change]] = {"DuckDB": duckdb, "Kùzu": kuzu, "Ladybug": ladybug}


@contextmanager
def peer(name: str, folder: Path) -> Iterator[Peer]:
    """A running peer: gives the milliseconds of some more changes of one row."""
    folder.mkdir()
    command = [sys.executable, "-m", "benchmarks.peers", name, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:

        def change(how_many: int, kind: Kind = "insert") -> list[float]:
            assert child.stdin is not None
            assert child.stdout is not None
            child.stdin.write(f"{kind} {how_many}\n")
            child.stdin.flush()
            taken: list[float] = json.loads(child.stdout.readline())
            return taken

        yield change


def _serve(name: str, folder: Path) -> None:
    change = PEERS[name](folder)
    numbers = {"insert": count(), "edge": count(1), "update": count(1), "delete": count(PEOPLE - 1, -1)}
    for line in sys.stdin:
        kind, how_many = line.split()
        taken = []
        for _ in range(int(how_many)):
            number = next(numbers[kind])
            started = time.perf_counter()
            change(kind, number)  # type: ignore[arg-type]
            taken.append((time.perf_counter() - started) * 1000)
        print(json.dumps(taken), flush=True)


if __name__ == "__main__":
    _serve(sys.argv[1], Path(sys.argv[2]))
