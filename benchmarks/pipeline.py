"""How fast Spark makes a graph of files, beside Spark's own work on the same files, and beside Kùzu's COPY.

1 M nodes and 5 M edges, as one file of JSON lines and as Parquet. Every measurement is a process of its own, which does the same
with 78 k rows before the clock starts, so that nobody waits for classes and modules. Spark's own jobs check nothing: one parses
the lines with a declared schema and writes a Parquet file per type, one copies Parquet to Parquet. Memory is sampled while a load
from JSON lines runs: of the largest Python worker, and of all processes together.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import numpy as np

from benchmarks.measuring import Measurement

SCHEMA = """
node Person {
    name: String @key
    age: I32?
    bio: String?
    born: Date?
    email: String? @unique
    @range(age, 0..150)
    @check(email, "@")
}
edge Knows: Person -> Person @card(0..1000) { since: Date? weight: F64? }
"""
NODES, EDGES = 1_000_000, 5_000_000
MANY_NODES, MANY_EDGES = 4_000_000, 20_000_000
SMALL_NODES, SMALL_EDGES = 20_000, 58_000
"""About 10 MB of lines."""
REPEATS = 3
"""Turns of loads that take seconds; the middle one counts."""

_STRUCT = "struct<name:string,age:int,email:string,bio:string,born:date,since:date,weight:double>"
_PART = 100_000


def measure() -> list[Measurement]:
    """Time loads by Spark and their peers."""
    folder = Path(tempfile.mkdtemp(dir="."))
    try:
        write(folder / "small.jsonl", SMALL_NODES, SMALL_EDGES)
        write(folder / "all.jsonl", NODES, EDGES)
        found = {what: _run(what, folder) for what in ("spark-lines", "lines", "spark-copy", "local")}
        turns = [[_run(what, folder) for what in ("parquet", "kuzu")] for _ in range(REPEATS)]
        for what, runs in zip(("parquet", "kuzu"), zip(*turns, strict=True), strict=True):
            found[what] = sorted(runs, key=lambda run: run["ms"])[REPEATS // 2]
        (folder / "all.jsonl").unlink()
        found["small"] = _run("small", folder)
        write(folder / "many.jsonl", MANY_NODES, MANY_EDGES)
        found["many"] = _run("many", folder)
    finally:
        shutil.rmtree(folder)
    what = "1 M nodes and 5 M edges"
    lines, copy, kuzu = found["spark-lines"]["ms"], found["spark-copy"]["ms"], found["kuzu"]["ms"]
    only = "Spark: the same lines to Parquet, no checks"
    return [
        Measurement(f"Spark: load of {what} from JSON lines", found["lines"]["ms"], only, lines, lines),
        Measurement(f"Spark: load of {what} from Parquet", found["parquet"]["ms"], "Spark: Parquet to Parquet", copy, 1.5 * copy),
        Measurement(
            f"Spark: load of {what} from Parquet", found["parquet"]["ms"], "Kùzu: COPY of the same files", kuzu, kuzu / 2
        ),
        Measurement(
            "Spark: the same, until its indexes are made, too",
            found["parquet"]["indexed"],
            "Kùzu: COPY of the same files",
            kuzu,
            kuzu,
        ),
        Measurement(f"Spark: load of {what}, largest Python worker", found["lines"]["worker"], "the bound", 512, 512, "MB"),
        Measurement(f"the local runner: load of {what} from JSON lines", found["local"]["ms"], only, lines),
        Measurement("10 MB of JSON lines, who runs it chosen by size", found["small"]["ms"], "the bound", 2000, 2000),
        Measurement(
            "Spark: load of 4 M nodes and 20 M edges", found["many"]["ms"], "four times the quarter", 4 * found["lines"]["ms"]
        ),
        Measurement("Spark: the same, all processes together", found["many"]["mb"], "the bound", 24 * 1024, 24 * 1024, "MB"),
    ]


def write(path: Path, nodes: int, edges: int) -> None:
    """A file of people and whom they know."""
    rng = np.random.default_rng(7)
    with path.open("w") as file:
        for start in range(0, nodes, _PART):
            file.writelines(
                f'{{"type": "Person", "data": {{"name": "person{n}", "age": {n % 90}, "email": "p{n}@example.org", '
                f'"bio": "some text about the person {n}", "born": "19{n % 100:02}-01-{1 + n % 28:02}"}}}}\n'
                for n in range(start, min(start + _PART, nodes))
            )
        for start in range(0, edges, _PART):
            ends = rng.integers(0, nodes, (min(_PART, edges - start), 2)).tolist()
            file.writelines(
                f'{{"edge": "Knows", "from": "person{a}", "to": "person{b}", '
                f'"data": {{"since": "2020-01-{1 + n % 28:02}", "weight": {n / 7!r}}}}}\n'
                for n, (a, b) in enumerate(ends, start)
            )


def _run(what: str, folder: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.pipeline", what, str(folder)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(ran.stdout.splitlines()[-1])
    return found


class _Watched:
    """The memory of this process and those below it, sampled."""

    def __init__(self) -> None:
        self.worker = self.all = 0.0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> _Watched:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(0.5):
            sizes = _memory_below(os.getpid())
            self.all = max(self.all, sum(size for _, size in sizes))
            self.worker = max([self.worker, *(size for command, size in sizes if "pyspark.daemon" in command)])


def _memory_below(root: int) -> list[tuple[str, float]]:
    """Command and proportional memory, in MB, of a process and all below it."""
    parents, found = dict[int, int](), list[tuple[str, float]]()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
    for number in parents:
        above: int | None = number
        while above is not None and above != root:
            above = parents.get(above)
        if above is None:
            continue
        try:
            rollup = (Path("/proc") / str(number) / "smaps_rollup").read_text()
            command = (Path("/proc") / str(number) / "cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue
        size = next((int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:")), 0)
        found.append((command, size / 1024))
    return found


def _measured(run: Callable[[], object], memory: bool = False, after: Callable[[], object] | None = None) -> None:
    watched = _Watched()
    with watched if memory else nullcontext():
        started = time.perf_counter()
        run()
        taken = (time.perf_counter() - started) * 1000
    if after is not None:
        after()
    indexed = (time.perf_counter() - started) * 1000
    print(json.dumps({"ms": taken, "indexed": indexed, "worker": watched.worker, "mb": watched.all}))


def _spark_only(what: str, folder: Path) -> None:
    from omnigraph import spark as ogs

    spark = ogs.session(master="local[2]")

    def lines(size: str) -> None:
        schema = f"type string, edge string, `from` string, `to` string, data {_STRUCT}"
        every = spark.read.schema(schema).json(str(folder / f"{size}.jsonl"))
        people = every.where("type = 'Person'").selectExpr("data.name", "data.age", "data.email", "data.bio", "data.born")
        people.write.parquet(str(folder / f"parquet-{size}" / "Person"))
        knows = every.where("edge = 'Knows'").selectExpr("`from`", "`to`", "data.since", "data.weight")
        knows.write.parquet(str(folder / f"parquet-{size}" / "Knows"))

    def copy(size: str) -> None:
        for name in ("Person", "Knows"):
            spark.read.parquet(str(folder / f"parquet-{size}" / name)).write.parquet(str(folder / f"copy-{size}" / name))

    run = lines if what == "spark-lines" else copy
    run("small")
    _measured(lambda: run("all"))


def _kuzu(folder: Path) -> None:
    import kuzu

    def run(size: str) -> None:
        connection = kuzu.Connection(kuzu.Database(str(folder / f"kuzu-{size}")))
        connection.execute("CREATE NODE TABLE Person(name STRING PRIMARY KEY, age INT32, email STRING, bio STRING, born DATE)")
        connection.execute("CREATE REL TABLE Knows(FROM Person TO Person, since DATE, weight DOUBLE)")
        connection.execute(f'COPY Person FROM "{folder}/parquet-{size}/Person/*.parquet"')
        connection.execute(f'COPY Knows FROM "{folder}/parquet-{size}/Knows/*.parquet"')

    run("small")
    _measured(lambda: run("all"))
    for size in ("small", "all"):
        (folder / f"kuzu-{size}").unlink()


def _load(what: str, folder: Path) -> None:
    import omnigraph as og

    if what in ("local", "small"):
        path, engine = (folder / "all.jsonl", "local") if what == "local" else (folder / "small.jsonl", "auto")
        graph = og.init(folder / f"graph-{what}", schema=SCHEMA)
        _measured(lambda: graph.load(path, mode="append", engine=engine))  # type: ignore[arg-type]
        return

    def load(size: str, graph: og.Graph) -> None:
        parquet = {name: str(folder / f"parquet-{size}" / name) for name in ("Person", "Knows")}
        graph.load(parquet if what == "parquet" else folder / f"{size}.jsonl", mode="append", engine="spark")

    with og.init(folder / f"graph-{what}-small", schema=SCHEMA) as graph:  # and its indexes are made before the clock starts
        load("small", graph)
    size = "many" if what == "many" else "all"
    graph = og.init(folder / f"graph-{what}-{size}", schema=SCHEMA)
    _measured(lambda: load(size, graph), memory=what != "parquet", after=graph.close)
    for made in ("small", size):
        shutil.rmtree(folder / f"graph-{what}-{made}")


if __name__ == "__main__":
    chosen, place = sys.argv[1], Path(sys.argv[2])
    if chosen.startswith("spark-"):
        _spark_only(chosen, place)
    elif chosen == "kuzu":
        _kuzu(place)
    else:
        _load(chosen, place)
