"""`omnigraph load` as a process of its own, by this process and by Spark: the same graph, words and exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.engine.load.loading import EVERYTHING, comparable, graph, written

pytestmark = pytest.mark.slow

RECORDS: list[object] = [
    *({"type": "Thing", "data": {"name": f"t{n}", "i32": n}} for n in range(50)),
    *({"edge": "Near", "from": f"t{n}", "to": f"t{n + 1}"} for n in range(49)),
]
WRONG: list[object] = [
    "nonsense",
    {"type": "Thing", "data": {"name": "big", "i32": 1000}},
    {"edge": "Near", "from": "t0", "to": "big"},
]


def omnigraph(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "omnigraph", *arguments]
    environment = {**os.environ, "TMPDIR": str(folder)}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_load_by_either_engine(tmp_path: Path) -> None:
    """By Spark with a report beside; the path of the data is relative, and Spark's own words stay out of the terminal."""
    here, there = graph(tmp_path, EVERYTHING), graph(tmp_path, EVERYTHING)
    written(tmp_path / "all.jsonl", [*RECORDS, *WRONG])
    names = [Path(g.store.place.uri).name for g in (here, there)]
    refused = omnigraph(tmp_path, "load", names[0], "--data", "all.jsonl", "--mode", "merge", "--engine", "auto")
    assert refused.returncode == 1
    assert "all.jsonl:100: " in refused.stderr
    assert comparable(here) == []
    told = []
    for name, engine in zip(names, ("auto", "spark"), strict=True):
        given = ("load", name, "--data", "all.jsonl", "--mode", "merge", "--engine", engine, "--quarantine", f"{engine}.jsonl")
        ran = omnigraph(tmp_path, *given, "--json", "--quiet")
        assert (ran.returncode, ran.stderr) == (0, "")
        said = json.loads(ran.stdout)
        told.append((said["nodes"], said["edges"], said["total_entities"], said["quarantined"], said["commit"]["operation"]))
    assert (
        told[0]
        == told[1]
        == ([{"name": "Thing", "entities_loaded": 50}], [{"name": "Near", "entities_loaded": 49}], 99, 3, "load")
    )
    assert (tmp_path / "auto.jsonl").read_text() == (tmp_path / "spark.jsonl").read_text()
    assert comparable(here) == comparable(there)
