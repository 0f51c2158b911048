"""What a command that asks one question imports and compiles: counted, because times depend on the machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.surfaces.calling import NAMES

WITHOUT = (
    *(f"omnigraph.{name}" for name in ("pipeline", "spark", "catalog.migration", "storage.reclaiming", "storage.rewriting")),
    *(f"omnigraph.engine.{name}" for name in ("analytics", "inspect", "blobs.settling", "schema.apply")),
    *(f"omnigraph.engine.{name}" for name in ("export.lines", "export.subgraph", "history.merge", "history.past")),
    *(f"omnigraph.engine.{name}" for name in ("load.read", "load.run.request", "upkeep.embedding", "upkeep.reconcile", "write")),
    *("omnigraph.storage.commits.publisher", "omnigraph.engine.execution.explain"),
    *("pandas", "polars", "pyspark", "rich", "yaml", "asyncio", "multiprocessing"),
)
"""What has nothing to do with a read. `storage.rewriting.derived` and `indexes` describe what tables have."""

ALLOWED = ("omnigraph.storage.rewriting", "omnigraph.storage.rewriting.derived", "omnigraph.storage.rewriting.indexes")
MOST = 240
"""Modules of ours that a query imports at most. 285 before those that only writes need were left for later."""

PROGRAM = """
import json, sys
from omnigraph.surfaces.cli import quick_start
quick_start.begin()
from omnigraph.surfaces.cli.main import run
code = run(sys.argv[1:])
print(json.dumps({"code": code, "modules": sorted(sys.modules)}), file=sys.stderr)
quick_start.end(code)
"""


def started(cache: Path, *arguments: str) -> dict[str, Any]:
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(cache), "HOME": str(cache)}  # nobody's own settings
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments], env=environment, capture_output=True, text=True, check=False
    )
    told: dict[str, Any] = json.loads(ran.stderr.splitlines()[-1])
    assert told["code"] == 0, ran.stderr
    return told


def test_a_query_imports_what_it_needs(people: Path, tmp_path: Path) -> None:
    imported = started(tmp_path / "cache", "query", "--store", str(people), "-e", NAMES)["modules"]
    assert [m for m in imported if any(m == w or m.startswith(f"{w}.") for w in WITHOUT) and m not in ALLOWED] == []
    assert len([m for m in imported if m.startswith("omnigraph")]) <= MOST


def test_help_imports_little(tmp_path: Path) -> None:
    imported = started(tmp_path / "cache", "--help")["modules"]
    assert [m for m in imported if m.split(".")[0] in ("lance", "numpy", "pyarrow", "rich", "yaml", "msgspec")] == []
    assert len([m for m in imported if m.startswith("omnigraph")]) <= 30
