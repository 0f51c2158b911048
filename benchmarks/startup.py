"""How long the command line takes to answer. The baseline is an interpreter that does nothing."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.measuring import Measurement, median_ms

EXAMPLE = Path(__file__).parent.parent / "examples" / "company-memory"
COMMAND = str(Path(sys.executable).parent / "omnigraph")
ONE_ROW = 'query one() { match { $p: Person { slug: "amara-okoye" } } return { $p.name } }'


def measure() -> list[Measurement]:
    """Time whole processes."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}

    def run(*command: str) -> float:
        return median_ms(lambda: subprocess.run(command, env=environment, capture_output=True, check=True), repeats=15)

    baseline = run(sys.executable, "-c", "pass")
    name = "python -c pass"
    lint = [COMMAND, "lint", "--schema", str(EXAMPLE / "schema.pg"), "--query", str(EXAMPLE / "queries" / "search.gq")]
    with tempfile.TemporaryDirectory() as folder:
        graph = f"{folder}/memory.omni"
        for line in (
            ["init", graph, "--schema", str(EXAMPLE / "schema.pg")],
            ["load", graph, "--data", str(EXAMPLE / "data.jsonl"), "--mode", "append"],
        ):
            subprocess.run([COMMAND, *line], env=environment, capture_output=True, check=True)
        query = [COMMAND, "query", "--store", graph, "-e", ONE_ROW]
        return [
            Measurement("omnigraph --help", run(COMMAND, "--help"), name, baseline, 150.0),
            Measurement("omnigraph version", run(COMMAND, "version"), name, baseline, 150.0),
            Measurement("omnigraph lint of 7 queries", run(*lint), name, baseline),
            Measurement("omnigraph query of one row", run(*query), name, baseline, 350.0),
        ]
