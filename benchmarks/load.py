"""How fast a file becomes a graph, with every check, and how much memory that takes.

One file of 1 M nodes and 2 M edges in JSON lines. Each measurement is a process of its own, so that peak memory is its own.
The baseline does the least there is to do: Arrow parses the same lines, sorted by type beforehand and with a declared schema, and
writes one Parquet file per type; nothing is checked, nothing can be refused. Loads by Spark follow (`benchmarks.pipeline`).
"""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

from benchmarks import pipeline
from benchmarks.measuring import Measurement

NODES, EDGES = 1_000_000, 2_000_000
ROWS = NODES + EDGES
LEAST_RATE = 150_000
MOST_MEGABYTES = 2_000

SCHEMA = pipeline.SCHEMA


def measure() -> list[Measurement]:
    """Time loads and exports."""
    folder = Path(tempfile.mkdtemp(dir="."))
    try:
        _write(folder)
        found = {what: _run(what, folder) for what in ("baseline", "load", "merge", "parquet", "export")}
    finally:
        shutil.rmtree(folder)
    bare = found["baseline"]["ms"]
    name, baseline = "1 M nodes and 2 M edges", "Arrow: the same lines to Parquet, no checks"
    bound = ROWS / LEAST_RATE * 1000
    return [
        Measurement(f"load of {name} from JSON lines", found["load"]["ms"], baseline, bare, bound),
        Measurement(f"load of {name}, peak memory", found["load"]["mb"], "the bound", MOST_MEGABYTES, MOST_MEGABYTES, "MB"),
        Measurement("merge of the 1 M nodes again: every one replaced", found["merge"]["ms"], baseline, bare),
        Measurement(f"load of {name} from Arrow", found["parquet"]["ms"], baseline, bare),
        Measurement(f"export of {name}", found["export"]["ms"], baseline, bare),
        *pipeline.measure(),
    ]


def _write(folder: Path) -> None:
    rng = Random(7)
    with (
        (folder / "all.jsonl").open("w") as both,
        (folder / "nodes.jsonl").open("w") as nodes,
        (folder / "edges.jsonl").open("w") as edges,
    ):
        for number in range(NODES):
            data = {
                "name": f"person{number}",
                "age": number % 90,
                "email": f"p{number}@example.org",
                "bio": f"some text about the person {number}",
                "born": f"19{number % 100:02}-01-{1 + number % 28:02}",
            }
            line = json.dumps({"type": "Person", "data": data}) + "\n"
            both.write(line)
            nodes.write(line)
        for number in range(EDGES):
            ends = {"from": f"person{rng.randrange(NODES)}", "to": f"person{rng.randrange(NODES)}"}
            data = {"since": f"2020-01-{1 + number % 28:02}", "weight": number / 7}
            line = json.dumps({"edge": "Knows", **ends, "data": data}) + "\n"
            both.write(line)
            edges.write(line)


def _run(what: str, folder: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.load", what, str(folder)]
    found: dict[str, float] = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return found


def _measured(run: Callable[[], object]) -> None:
    started = time.perf_counter()
    run()
    taken = (time.perf_counter() - started) * 1000
    print(json.dumps({"ms": taken, "mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))


def _baseline(folder: Path) -> None:
    import pyarrow as pa
    import pyarrow.json as pj
    import pyarrow.parquet as pq

    person = pa.struct(
        [("name", pa.string()), ("age", pa.int32()), ("bio", pa.string()), ("born", pa.string()), ("email", pa.string())]
    )
    knows = pa.struct([("since", pa.string()), ("weight", pa.float64())])
    schemas = {
        "nodes": pa.schema([("type", pa.string()), ("data", person)]),
        "edges": pa.schema([("edge", pa.string()), ("from", pa.string()), ("to", pa.string()), ("data", knows)]),
    }

    def run() -> None:
        for name, schema in schemas.items():
            options = pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior="error")
            table = pj.read_json(folder / f"{name}.jsonl", parse_options=options).flatten()
            pq.write_table(
                table.rename_columns([n.removeprefix("data.") for n in table.column_names]), folder / f"{name}.parquet"
            )

    _measured(run)


def _graph(folder: Path, what: str) -> None:
    import omnigraph as og

    match what:
        case "load":
            g = og.init(folder / "graph", schema=SCHEMA)
            _measured(lambda: g.load(folder / "all.jsonl", mode="append"))
        case "merge":
            g = og.open(folder / "graph")
            _measured(lambda: g.load(folder / "nodes.jsonl"))
        case "parquet":
            import pyarrow.parquet as pq

            g = og.init(folder / "second", schema=SCHEMA)
            frames = {
                "Person": pq.read_table(folder / "nodes.parquet").drop_columns(["type"]),
                "Knows": pq.read_table(folder / "edges.parquet").drop_columns(["edge"]),
            }
            _measured(lambda: g.load(frames, mode="append"))
        case _:
            g = og.open(folder / "graph")
            _measured(lambda: g.export(folder / "out.jsonl"))
    g.close()


if __name__ == "__main__":
    chosen, place = sys.argv[1], Path(sys.argv[2])
    if chosen == "baseline":
        _baseline(place)
    else:
        _graph(place, chosen)
