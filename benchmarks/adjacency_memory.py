"""Limits of traversal: adjacency for 10 M edges within bounds of time and memory, and three hops on a graph that has none yet.

Each is measured in a process of its own. Peak memory is what the kernel says of the whole process, interpreter and libraries
included; the same process with nothing built is told beside it.
"""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import people
from benchmarks.measuring import Measurement
from benchmarks.query_systems import OURS, fill

LARGE = people.Size(persons=1_000_000, knows=10_000_000, companies=1, jobs=1)
COLD_RUNS = 3


@dataclass(frozen=True, slots=True)
class Limit:
    """One number, in a unit, and the most it may be."""

    name: str
    value: float
    unit: str
    bound: float
    note: str = ""

    @property
    def kept(self) -> bool:
        return self.value <= self.bound

    def measurement(self) -> Measurement:
        """A time, as the recorded runs have it."""
        assert self.unit == "s"
        return Measurement(self.name, self.value * 1000, "the bound", self.bound * 1000, self.bound * 1000)


def measure(size: people.Size) -> list[Limit]:
    """Both limits."""
    large = _child("build", people.once(LARGE.folder / "omnigraph", _fill_large) / "graph")
    graph = fill(OURS, size) / "graph"
    name = _somebody(size)
    found = sorted(_child("hops", graph, name)["seconds"] for _ in range(COLD_RUNS))
    return [
        Limit("adjacency of 10 M edges, both ways, built and saved", large["seconds"], "s", 60.0, f"of {large['edges']:,} edges"),
        Limit("peak memory of that process", large["peak_gb"], "GB", 2.0, f"{large['before_gb']:.2f} GB before it starts"),
        Limit("3 hops from one person, cold, no adjacency on disk", found[COLD_RUNS // 2], "s", 0.3, "from opening to rows"),
    ]


def _fill_large(folder: Path) -> None:
    """1 M persons and 10 M edges, nothing else: written in a process of its own, for it takes memory."""
    subprocess.run([sys.executable, "-m", "benchmarks.adjacency_memory", "fill", str(folder / "graph")], check=True)


def _somebody(size: people.Size) -> str:
    from benchmarks.workloads import BY_NAME

    name: str = BY_NAME["3 hops, distinct count"].parameters(size)[0]["n"]
    return name


def _child(what: str, *arguments: object) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.adjacency_memory", what, *map(str, arguments)]
    found: dict[str, Any] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return found


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def fill_large(graph: str) -> None:
    """Persons with a name only and edges with nothing but ends, ten loads of a million edges."""
    import numpy as np
    import pyarrow as pa

    import omnigraph as og

    g = og.init(graph, schema="node Person { name: String @key }  edge Knows: Person -> Person", durability="os")
    random = np.random.default_rng(people.SEED)
    names = pa.array([people.name(i) for i in range(LARGE.persons)])
    g.load({"Person": pa.table({"name": names})}, mode="append")
    for _ in range(10):
        ends = random.integers(0, LARGE.persons, (2, LARGE.knows // 10))
        g.load({"Knows": pa.table({"src": names.take(pa.array(ends[0])), "dst": names.take(pa.array(ends[1]))})}, mode="append")
    g.optimize()


def _build(graph: str) -> dict[str, object]:
    import omnigraph as og
    from omnigraph.catalog.logical import HopDirection

    shutil.rmtree(Path(graph) / "__cache", ignore_errors=True)
    g = og.open(graph)
    before = _peak()
    started = time.perf_counter()
    edges = g._view().edges("Knows")
    for way in (HopDirection.OUT, HopDirection.IN):
        assert edges.adjacency(way).nodes
    g._workspace.saved.wait()
    seconds = time.perf_counter() - started
    return {"seconds": seconds, "peak_gb": _peak(), "before_gb": before, "edges": edges.count}


def _hops(graph: str, name: str) -> dict[str, object]:
    """Three hops in a process that has opened nothing yet, and finds nothing on disk but the tables and their indexes."""
    import omnigraph as og
    from benchmarks.workloads import BY_NAME

    _ = og.open  # loads what it needs
    shutil.rmtree(Path(graph) / "__cache", ignore_errors=True)
    started = time.perf_counter()
    rows = og.open(graph).query(BY_NAME["3 hops, distinct count"].gq, {"n": name}).rows
    return {"seconds": time.perf_counter() - started, "rows": rows}


def main() -> None:
    """A child process."""
    what, *arguments = sys.argv[1:]
    if what == "fill":
        fill_large(*arguments)
        return
    print(json.dumps(_build(*arguments) if what == "build" else _hops(*arguments)))


if __name__ == "__main__":
    main()
