"""Run every benchmark and record what was measured."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from benchmarks import history, language, load, mutations, queries, startup, storage, tables
from benchmarks.measuring import Measurement, machine

RESULTS = Path(__file__).parent / "results"
SUITES = {
    "history": history.measure,
    "language": language.measure,
    "load": load.measure,
    "mutations": mutations.measure,
    "queries": queries.measure,
    "startup": startup.measure,
    "storage": storage.measure,
    "tables": tables.measure,
}


def main() -> None:
    """Run the suites named on the command line, or all of them."""
    RESULTS.mkdir(exist_ok=True)
    late: list[str] = []
    for name in sys.argv[1:] or SUITES:
        measured: list[Measurement] = SUITES[name]()
        for m in measured:
            print(m)
            late += [] if m.within_bound else [m.name]
        record = {"machine": machine(), "measurements": [m.to_json() for m in measured]}
        (RESULTS / f"{name}.json").write_text(json.dumps(record, indent=2) + "\n")
    if late:
        sys.exit(f"beyond their bound: {', '.join(late)}")


if __name__ == "__main__":
    main()
