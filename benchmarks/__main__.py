"""Run every benchmark and record what was measured."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

from benchmarks import (
    embedding,
    first_question,
    history,
    language,
    load,
    memory,
    mixed_load,
    mutations,
    policy,
    queries,
    server,
    startup,
    storage,
    tables,
    vectors,
    writes,
)
from benchmarks.measuring import Measurement, machine

RESULTS = Path(__file__).parent / "results"
SUITES = {
    "embedding": embedding.measure,
    "first question": first_question.measure,
    "history": history.measure,
    "language": language.measure,
    "load": load.measure,
    "memory": memory.measure,
    "mixed load": mixed_load.measure,
    "mutations": mutations.measure,
    "policy": policy.measure,
    "queries": queries.measure,
    "server": server.measure,
    "startup": startup.measure,
    "storage": storage.measure,
    "tables": tables.measure,
    "vectors": vectors.measure,
    "writes": writes.measure,
}


def main() -> None:
    """Run the suites named on the command line, or all of them."""
    parser = argparse.ArgumentParser("python -m benchmarks", description=__doc__)
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=f"what to run (all of it by default): {', '.join(SUITES)}")
    chosen = parser.parse_args().suites or list(SUITES)
    if unknown := [name for name in chosen if name not in SUITES]:
        parser.error(f"there is no suite {unknown[0]}; choose from {', '.join(SUITES)}")
    RESULTS.mkdir(exist_ok=True)
    late: list[str] = []
    for number, name in enumerate(chosen, 1):
        print(f"[{number}/{len(chosen)}] {name} …", file=sys.stderr, flush=True)
        begun = time.monotonic()
        measured: list[Measurement] = SUITES[name]()
        for m in measured:
            print(m)
            late += [] if m.within_bound else [m.name]
        record = {"machine": machine(), "measurements": [m.to_json() for m in measured]}
        (RESULTS / f"{name.replace(' ', '_')}.json").write_text(json.dumps(record, indent=2) + "\n")
        print(f"[{number}/{len(chosen)}] {name}: {time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)
    if late:
        sys.exit(f"beyond their bound: {', '.join(late)}")


if __name__ == "__main__":
    main()
