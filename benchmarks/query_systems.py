"""The systems of the query benchmark: how each is filled, opened and asked.

Each runs in a process of its own (the peers cannot be loaded into one) and waits for its turn. A line of JSON on its standard
input asks for a workload; the answer is a line with the milliseconds of each call and the last rows.

    python -m benchmarks.query_systems Kùzu <folder> '<size>'          serves until its input ends
    python -m benchmarks.query_systems Kùzu <folder> '<size>' <name>   cold: opens, answers one workload once
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks import people
from benchmarks.workloads import BY_NAME, FLOATS, Parameters, Row, Workload

OURS = "OmniGraph"
PEERS = ("Kùzu", "Ladybug")
SYSTEMS = (OURS, *PEERS)

_FILL = "fill"

Ask = Callable[[Workload, Parameters], list[Row]]


class NotYet(Exception):
    """A workload that a system cannot answer, and why."""


# ── ours ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def fill_ours(folder: Path, size: people.Size) -> None:
    """A graph with all data and its indexes."""
    import omnigraph as og

    graph = og.init(folder / "graph", schema=people.SCHEMA, durability="os")
    graph.load(people.tables(size), mode="append")
    graph.optimize()
    graph.close()


def open_ours(folder: Path) -> Ask:
    """The graph, to be asked."""
    import omnigraph as og

    graph = og.open(folder / "graph")

    def ask(workload: Workload, parameters: Parameters) -> list[Row]:
        return graph.query(workload.gq, parameters).rows  # type: ignore[return-value]

    return ask


# ── peers ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

_TABLES = f"""
CREATE NODE TABLE Person(name STRING, age INT32, city STRING, cohort INT32, active BOOLEAN, score DOUBLE, joined DATE, bio STRING,
    vec {FLOATS}, PRIMARY KEY (name));
CREATE NODE TABLE Company(name STRING, founded DATE, PRIMARY KEY (name));
CREATE REL TABLE Knows(FROM Person TO Person, since DATE, strength INT32);
CREATE REL TABLE WorksAt(FROM Person TO Company, salary INT32);
"""


def _module(name: str) -> Any:
    if name == "Kùzu":
        import kuzu

        return kuzu
    import ladybug

    return ladybug


def fill_peer(name: str, folder: Path, size: people.Size) -> None:
    """A database with all data, and the indexes that the peer has built in."""
    module = _module(name)
    connection = module.Connection(module.Database(str(folder / "peer.db")))
    for statement in _TABLES.split(";"):
        if statement.strip():
            connection.execute(statement)
    for type_, path in people.parquet(size).items():
        connection.execute(f'COPY {type_} FROM "{path}"')
    if name == "Kùzu":
        connection.execute("CALL CREATE_FTS_INDEX('Person', 'bio', ['bio'])")
        connection.execute("CALL CREATE_VECTOR_INDEX('Person', 'vec', 'vec', metric := 'cosine')")
    connection.close()


def open_peer(name: str, folder: Path) -> Ask:
    """The database, to be asked."""
    module = _module(name)
    connection = module.Connection(module.Database(str(folder / "peer.db")))

    def run(text: str, parameters: Parameters) -> list[Any]:
        result = connection.execute(text, dict(parameters))
        rows: list[Any] = result.get_all()
        result.close()
        return rows

    def ask(workload: Workload, parameters: Parameters) -> list[Row]:
        if name == "Ladybug" and ("QUERY_FTS" in workload.cypher or workload.cypher == "fused"):
            raise NotYet("full text and vector indexes are extensions, which have to be downloaded")
        return _fused(run, parameters) if workload.cypher == "fused" else run(workload.cypher, parameters)

    return ask


def _fused(run: Callable[[str, Parameters], list[Any]], parameters: Parameters) -> list[Row]:
    """Two rankings fused by reciprocal rank, and the friends of the best: ten rows."""
    by_text = run(BY_NAME["BM25 top 10"].cypher, {"words": parameters["words"]})
    by_vector = run(
        f"MATCH (p:Person) RETURN p.name ORDER BY array_cosine_similarity(p.vec, CAST($v, '{FLOATS}')) DESC LIMIT 10",
        {"v": parameters["v"]},
    )
    score: dict[str, float] = {}
    for ranking in (by_vector, by_text):
        for rank, (name,) in enumerate(ranking):
            score[name] = score.get(name, 0.0) + 1.0 / (61 + rank)
    best = sorted(score, key=lambda n: -score[n])[:10]
    friends = run("MATCH (p:Person)-[:Knows]->(f:Person) WHERE p.name IN $best RETURN p.name, f.name", {"best": best})
    place = {name: number for number, name in enumerate(best)}
    return sorted(friends, key=lambda row: (place[row[0]], row[1]))[:10]


# ── processes ────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def fill(system: str, size: people.Size) -> Path:
    """The folder of a system with all data in it. It is filled first if need be, in a process of its own: Kùzu and Ladybug do not
    stand each other's libraries in one."""
    people.parquet(size)
    folder = size.folder / system.lower().replace("ù", "u")
    return people.once(folder, lambda into: subprocess.run(_command(system, into, size, _FILL), check=True))


def open_(system: str, folder: Path) -> Ask:
    """A filled system, to be asked."""
    return open_ours(folder) if system == OURS else open_peer(system, folder)


def _command(system: str, folder: Path, size: people.Size, *more: str) -> list[str]:
    return [sys.executable, "-m", "benchmarks.query_systems", system, str(folder), json.dumps(asdict(size)), *more]


@contextmanager
def serving(system: str, folder: Path, size: people.Size) -> Iterator[Callable[..., dict[str, Any]]]:
    """A running system: gives what it answers to a request."""
    command = _command(system, folder, size)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:

        def request(**what: object) -> dict[str, Any]:
            assert child.stdin is not None
            assert child.stdout is not None
            child.stdin.write(json.dumps(what) + "\n")
            child.stdin.flush()
            answer: dict[str, Any] = json.loads(child.stdout.readline())
            return answer

        yield request
        assert child.stdin is not None
        child.stdin.close()


def cold(system: str, folder: Path, size: people.Size, workload: str) -> dict[str, Any]:
    """One workload asked once in a fresh process."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}  # or modules are compiled every time
    found = subprocess.run(_command(system, folder, size, workload), capture_output=True, text=True, env=environment)
    if found.returncode:
        return {"error": found.stderr.strip().splitlines()[-1]}
    answer: dict[str, Any] = json.loads(found.stdout.splitlines()[-1])
    return answer


def _plain(rows: list[Any]) -> list[list[Any]]:
    return [list(row.values()) if isinstance(row, dict) else list(row) for row in rows]


def _serve(ask: Ask, size: people.Size) -> None:
    for line in sys.stdin:
        wanted = json.loads(line)
        workload = BY_NAME[wanted["workload"]]
        sets = workload.parameters(size)
        try:
            taken = []
            for n in range(wanted["first"], wanted["first"] + wanted["count"]):
                parameters = sets[n % len(sets)]
                started = time.perf_counter()
                rows = ask(workload, parameters)
                taken.append((time.perf_counter() - started) * 1000)
            answer = {"ms": taken, **({"rows": _plain(rows)} if wanted["rows"] else {})}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}".splitlines()[0]}
        print(json.dumps(answer, default=str), flush=True)


def main() -> None:
    """A child process."""
    system, folder, size = sys.argv[1], Path(sys.argv[2]), people.Size(**json.loads(sys.argv[3]))
    if sys.argv[4:] == [_FILL]:
        fill_ours(folder, size) if system == OURS else fill_peer(system, folder, size)
        return
    if len(sys.argv) == 4:
        _serve(open_(system, folder), size)
        return
    if system == OURS:
        import omnigraph as og

        _ = og.open  # loads what it needs: a program does that once, whatever it then opens
    else:
        _module(system)
    workload = BY_NAME[sys.argv[4]]
    parameters = workload.parameters(size)[0]
    started = time.perf_counter()
    rows = open_(system, folder)(workload, parameters)
    taken = (time.perf_counter() - started) * 1000
    print(json.dumps({"ms": taken, "rows": len(rows)}), flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()
